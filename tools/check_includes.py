#!/usr/bin/env python3
"""Fails on an include that points against the order of the library's parts.

A part may include itself and the parts of earlier ranks; two parts of one rank know nothing of each
other. The order is the one of docs/architecture.md.
"""

import re
import sys
from pathlib import Path

ORDER = [
    ["base"],
    ["data"],
    ["labels"],
    ["loss"],
    ["oracle"],
    ["search"],
    ["solver"],
    ["kernel"],
    ["model"],
    ["io", "eval"],
    ["cli", "python"],
]
RANKS = {part: rank for rank, parts in enumerate(ORDER) for part in parts}
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]margrove/([a-z_]+)/([^">]+)[">]')


def part_of(path: Path) -> str | None:
    """The part that a source file belongs to, by the folder it is in."""
    parts = path.parts
    if parts[:2] == ("include", "margrove") and len(parts) > 3:
        return parts[2]
    if parts[0] == "src" and len(parts) > 2:
        return parts[1]
    return "python" if parts[0] == "python" else None


def violations(root: Path, files: list[Path]) -> list[str]:
    """What is wrong, one line each; paths relative to `root`."""
    found = []
    for file in files:
        part = part_of(file)
        if part is None:
            continue
        if part not in RANKS:
            found.append(f"{file}: part '{part}' is not in the order of the parts")
            continue
        lines = (root / file).read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines, start=1):
            match = INCLUDE.match(line)
            if match is None or match[1] == part:
                continue
            target = match[1]
            if target not in RANKS:
                found.append(f"{file}:{number}: unknown part '{target}'")
            elif RANKS[target] >= RANKS[part]:
                found.append(f"{file}:{number}: {part} must not include {target}/{match[2]}")
    return found


def sources(root: Path) -> list[Path]:
    """The C++ files that the order binds, relative to `root`."""
    files: list[Path] = []
    for folder in ("include", "src", "python"):
        for suffix in ("*.hpp", "*.cpp"):
            files += sorted(path.relative_to(root) for path in (root / folder).rglob(suffix))
    return files


def main() -> int:
    root = Path(__file__).resolve().parent.parent
    found = violations(root, sources(root))
    for line in found:
        print(line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
