#!/usr/bin/env python3
"""Fails on an include that points against the order of the library's rooms, or at a private header.

A room may include itself and the rooms before it; two rooms of one rank know nothing of each other.
The order is the one of docs/architecture.md. A public header, which lies in include/margrove and
belongs to the room named in PUBLIC, includes public headers only: what is installed must be enough.
"""

import re
import sys
from pathlib import Path

ORDER = [
    ["base"],
    ["data"],
    ["numerics"],
    ["hierarchy"],
    ["label_sets"],
    ["structured"],
    ["linear"],
    ["recursive"],
    ["kernel"],
    ["model"],
    ["outputs"],
    ["methods"],
    ["io", "eval"],
    ["api"],
    ["cli", "python"],
]
RANKS = {room: rank for rank, rooms in enumerate(ORDER) for room in rooms}

# The room from which each public header may be included. It is the first that has what the header
# declares in terms of, even where a later room implements it.
PUBLIC = {
    "api": "base",
    "errors": "base",
    "executor": "base",
    "control": "base",
    "options": "base",
    "csr_matrix": "data",
    "dataset": "data",
    "label_codec": "data",
    "hierarchy_reader": "data",
    "svmlight_reader": "data",
    "text_reader": "data",
    "tfidf": "data",
    "writers": "data",
    "label_graph": "hierarchy",
    "node_weights": "hierarchy",
    "point_loss_kind": "linear",
    "common_options": "model",
    "decision_kind": "model",
    "linear_estimators": "methods",
    "path_estimators": "methods",
    "kernel_estimators": "methods",
    "estimators": "methods",
    "surrogates": "structured",
    "oracle": "structured",
    "structured": "structured",
    "task_loss": "outputs",
    "metrics": "model",
    "model": "model",
    "significance": "eval",
    "training": "api",
    "margrove": "api",
}

INCLUDE = re.compile(r'^\s*#\s*include\s*"([a-z_/]+/[^"]+\.hpp)"')


def is_public(path: Path) -> bool:
    """Whether a file is a public header."""
    return path.parts[:2] == ("include", "margrove")


def room_of(path: Path) -> str | None:
    """The room that a source file belongs to: by its folder, or by PUBLIC."""
    if is_public(path):
        return PUBLIC.get(path.stem, path.stem)
    if path.parts[0] == "src" and len(path.parts) > 2:
        return path.parts[1]
    return "python" if path.parts[0] == "python" else None


def target_of(included: str) -> str:
    """The room that an include names."""
    folder, _, rest = included.partition("/")
    return PUBLIC.get(Path(rest).stem, rest) if folder == "margrove" else folder


def violations(root: Path, files: list[Path]) -> list[str]:
    """What is wrong, one line each; paths relative to `root`."""
    found = []
    for file in files:
        room = room_of(file)
        if room is None:
            continue
        if room not in RANKS:
            found.append(f"{file}: '{room}' is not in the order of the rooms")
            continue
        lines = (root / file).read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines, start=1):
            match = INCLUDE.match(line)
            if match is None:
                continue
            target = target_of(match[1])
            if is_public(file) and not match[1].startswith("margrove/"):
                found.append(f"{file}:{number}: a public header must not include {match[1]}")
            elif target not in RANKS:
                found.append(f"{file}:{number}: unknown room '{target}'")
            elif target != room and RANKS[target] >= RANKS[room]:
                found.append(f"{file}:{number}: {room} must not include {match[1]}")
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
