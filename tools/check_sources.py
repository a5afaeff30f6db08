#!/usr/bin/env python3
"""Rules for the sources that no compiler or linter checks.

Errors: the library (all of src/ and include/ but the command line) prints, exits, or draws from the
standard library's random distributions, which differ between implementations; a header without
`#pragma once`; in src/, include/ and python/ a function of more than 60 lines (docstrings do not
count) without a comment `Longer than 60 lines: REASON` on the line before it; in tests/ anything
that reads the time, because a busy machine changes it (counted_clock.py and counted_seconds.hpp
advance by calls); a constant of a source file of src/ that has the name of a constant of a header,
which it would hide from files that are compiled with it; a decision by the kind of rows outside
DECIDE_BY_KIND, because front ends pass rows of any kind on in the same way. Warnings: files of more
than 500 lines.
"""

import ast
import re
import sys
from pathlib import Path

MOST_LINES = 500
MOST_FUNCTION_LINES = 60
REASON = re.compile(rf"(?://|#) Longer than {MOST_FUNCTION_LINES} lines: \w+")
COMMENT_OR_TEXT = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"'
    r"|'(?:\\.|[^'\\\n])'|^\s*#(?:[^\n]*\\\n)*[^\n]*",
    re.S | re.M,
)
TYPE_OR_VALUE = re.compile(r"\b(?:class|struct|enum|union|namespace)\b[^()]*$|[=,(]\s*$")
FORBIDDEN = [
    (re.compile(r"std::(cout|cerr|clog)\b|\b(?:std::)?f?printf\s*\(|\bputs\s*\("), "prints"),
    (re.compile(r"\b(?:std::)?(?:quick_)?exit\s*\(|\b(?:std::)?(?:abort|terminate)\s*\("), "exits"),
    (re.compile(r"std::\w+_distribution\b|std::mt19937|std::random_device"), "std random numbers"),
    (re.compile(r"#\s*pragma\s+omp\s+(?!simd\b)"), "OpenMP threads (use margrove/executor.hpp)"),
    (re.compile(r"\bsetlocale\s*\("), "changes the locale"),
]

READS_TIME = re.compile(
    r"\btime\.(?:time|monotonic|perf_counter|process_time)(?:_ns)?\b|\bgetrusage\b|\btimeit\b"
    r"|\bos\.times\b|\b(?:steady|system|high_resolution)_clock\b|\bstd::clock\b"
)


# Where kinds are declared: docs/adding_a_kind_of_rows.md.
KIND_OF_ROWS = re.compile(r"(?<!\bkind = )(?<!\bkind\()\bRowKind::")  # but for rows that are made
DECIDE_BY_KIND = {"include/margrove/examples.hpp", "src/data/row_formats.cpp"}


def decisions_by_kind(file: Path, text: str) -> list[str]:
    """The decisions by the kind of rows in a file that may make none, one line each."""
    if file.as_posix() in DECIDE_BY_KIND:
        return []
    return [
        f"{file}:{number}: decides by the kind of rows, which DECIDE_BY_KIND alone may"
        for number, line in enumerate(text.splitlines(), start=1)
        if KIND_OF_ROWS.search(without_comments(line))
    ]


def without_comments(line: str) -> str:
    """The code of a line; a // inside a string literal also ends it, which does no harm here."""
    return line.split("//", 1)[0]


def errors_in(file: Path, text: str) -> list[str]:
    """The errors of one library file, one line each."""
    found = []
    if file.suffix == ".hpp" and "#pragma once" not in text:
        found.append(f"{file}: no #pragma once")
    for number, line in enumerate(text.splitlines(), start=1):
        code = without_comments(line)
        found += [
            f"{file}:{number}: the library {what}" for rule, what in FORBIDDEN if rule.search(code)
        ]
    return found


def cpp_functions(text: str) -> list[tuple[int, int]]:
    """First and last line of each function with a body; lambdas belong to theirs."""
    code = COMMENT_OR_TEXT.sub(lambda match: "\n" * match[0].count("\n"), text)
    found: list[tuple[int, int]] = []
    depth, head, begin, outside = 0, 0, 0, -1  # outside: the depth around the open function, or -1
    for position, character in enumerate(code):
        if character not in "{};":
            continue
        before = code[head:position]
        if character == "{":
            if outside < 0 and ")" in before and not TYPE_OR_VALUE.search(before):
                outside, begin = depth, position - len(before.lstrip())
            depth += 1
        elif character == "}":
            depth -= 1
            if depth == outside:
                lines = (code.count("\n", 0, begin) + 1, code.count("\n", 0, position) + 1)
                found.append(lines)
                outside = -1
        head = position + 1
    return found


def python_functions(text: str) -> list[tuple[int, int]]:
    """First and last line of each function, without its docstring."""
    found: list[tuple[int, int]] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno:
            documented = ast.get_docstring(node, clean=False)
            lines = 0 if documented is None else documented.count("\n") + 1
            found.append((node.lineno, node.end_lineno - lines))
    return found


def long_functions(file: Path, text: str) -> list[str]:
    """Functions above MOST_FUNCTION_LINES lines without a reason."""
    lines = text.splitlines()
    functions = python_functions(text) if file.suffix == ".py" else cpp_functions(text)
    return [
        f"{file}:{first}: a function of {last - first + 1} lines: shorten it, or say before it "
        f"'Longer than {MOST_FUNCTION_LINES} lines: REASON'"
        for first, last in functions
        if last - first >= MOST_FUNCTION_LINES and not REASON.search(lines[first - 2])
    ]


CONSTANT = re.compile(r"^(?:inline )?constexpr [\w:<>, ]+?\b(k[A-Z]\w*)", re.M)


def hidden_constants(texts: dict[Path, str]) -> list[str]:
    """The errors of all sources and headers of the library together."""
    headers = {
        name: file
        for file, text in texts.items() if file.suffix == ".hpp" for name in CONSTANT.findall(text)
    }  # fmt: skip
    return [
        f"{file}: the constant {name} has the name of one of {headers[name]}"
        for file, text in texts.items() if file.suffix == ".cpp"
        for name in CONSTANT.findall(text) if name in headers
    ]  # fmt: skip


def main() -> int:
    root = Path(__file__).resolve().parent.parent
    errors: list[str] = []
    library: dict[Path, str] = {}
    for folder in ("include", "src", "tests", "bench", "python", "tools"):
        for path in sorted((root / folder).rglob("*")):
            file = path.relative_to(root)
            if path.suffix not in {".hpp", ".cpp", ".py"} or not path.is_file():
                continue
            text = path.read_text(encoding="utf-8")
            lines = text.count("\n")
            if lines > MOST_LINES:
                print(f"warning: {file}: {lines} lines, more than {MOST_LINES}", file=sys.stderr)
            if folder == "tests":
                errors += [
                    f"{file}:{number}: a test reads the time: count calls instead"
                    for number, line in enumerate(text.splitlines(), start=1)
                    if READS_TIME.search(line)
                ]
            if folder in {"include", "src", "python"}:
                errors += long_functions(file, text)
                errors += decisions_by_kind(file, text)
            if folder in {"include", "src"}:
                library[file] = text
            if folder in {"include", "src"} and file.parts[:2] != ("src", "cli"):
                errors += errors_in(file, text)
    errors += hidden_constants(library)
    for line in errors:
        print(line, file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
