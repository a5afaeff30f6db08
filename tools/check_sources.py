#!/usr/bin/env python3
"""Rules for the sources that no compiler or linter knows.

Errors: the library (all of src/ and include/ but the command line) prints, exits, or draws from the
standard library's random distributions, which differ between implementations; a header without
`#pragma once`. Warnings: files of more than 500 lines.
"""

import re
import sys
from pathlib import Path

MOST_LINES = 500
FORBIDDEN = [
    (re.compile(r"std::(cout|cerr|clog)\b|\b(?:std::)?f?printf\s*\(|\bputs\s*\("), "prints"),
    (re.compile(r"\b(?:std::)?(?:quick_)?exit\s*\(|\b(?:std::)?(?:abort|terminate)\s*\("), "exits"),
    (re.compile(r"std::\w+_distribution\b|std::mt19937|std::random_device"), "std random numbers"),
    (re.compile(r"#\s*pragma\s+omp\s+(?!simd\b)"), "OpenMP threads (use margrove/executor.hpp)"),
    (re.compile(r"\bsetlocale\s*\("), "changes the locale"),
]


def without_comments(line: str) -> str:
    """The code of a line; a // inside a string literal also ends it, which these rules can bear."""
    return line.split("//", 1)[0]


def errors_in(file: Path, text: str) -> list[str]:
    """What is wrong in one library file, one line each."""
    found = []
    if file.suffix == ".hpp" and "#pragma once" not in text:
        found.append(f"{file}: no #pragma once")
    for number, line in enumerate(text.splitlines(), start=1):
        code = without_comments(line)
        found += [
            f"{file}:{number}: the library {what}" for rule, what in FORBIDDEN if rule.search(code)
        ]
    return found


def main() -> int:
    root = Path(__file__).resolve().parent.parent
    errors: list[str] = []
    for folder in ("include", "src", "tests", "bench", "python", "tools"):
        for path in sorted((root / folder).rglob("*")):
            file = path.relative_to(root)
            if path.suffix not in {".hpp", ".cpp", ".py"} or not path.is_file():
                continue
            text = path.read_text(encoding="utf-8")
            lines = text.count("\n")
            if lines > MOST_LINES:
                print(f"warning: {file}: {lines} lines, more than {MOST_LINES}", file=sys.stderr)
            if folder in {"include", "src"} and file.parts[:2] != ("src", "cli"):
                errors += errors_in(file, text)
    for line in errors:
        print(line, file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
