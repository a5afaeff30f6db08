#!/usr/bin/env python3
"""Fails on an include against the order of the library's parts, or of a private in a public header.

A part may include itself and the parts before it; parts of one rank do not include each other. The
order is that of docs/architecture.md. A public header is in include/margrove, belongs to the part
that PUBLIC names, and includes public headers only.
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
    ["report"],
    ["api", "serve"],
    ["cli", "python"],
]
RANKS = {part: rank for rank, parts in enumerate(ORDER) for part in parts}

# The part of each public header: the first that has the types of its declarations, even if a later
# part implements it.
PUBLIC = {
    "api": "base",
    "errors": "base",
    "executor": "base",
    "control": "base",
    "options": "base",
    "csr_matrix": "data",
    "dataset": "data",
    "examples": "data",
    "label_codec": "data",
    "hierarchy_reader": "data",
    "svmlight_reader": "data",
    "text_reader": "data",
    "stop_words": "data",
    "text_encoder": "data",
    "tfidf": "data",
    "writers": "data",
    "label_graph": "hierarchy",
    "node_weights": "hierarchy",
    "point_loss_kind": "linear",
    "common_options": "model",
    "decision_kind": "model",
    "linear_estimators": "methods",
    "partial_labels_option": "methods",
    "path_estimators": "methods",
    "kernel_estimators": "methods",
    "estimators": "methods",
    "surrogates": "structured",
    "oracle": "structured",
    "structured": "structured",
    "task_loss": "outputs",
    "metrics": "model",
    "model": "api",
    "results": "data",
    "selection": "eval",
    "sentences": "data",
    "significance": "eval",
    "training": "api",
    "margrove": "api",
}

INCLUDE = re.compile(r'^\s*#\s*include\s*"([a-z_/]+/[^"]+\.hpp)"')


def is_public(path: Path) -> bool:
    """Whether a file is a public header."""
    return path.parts[:2] == ("include", "margrove")


def part_of(path: Path) -> str | None:
    """The part that a source file belongs to: by its folder, or by PUBLIC."""
    if is_public(path):
        return PUBLIC.get(path.stem, path.stem)
    if path.parts[0] == "src" and len(path.parts) > 2:
        return path.parts[1]
    return "python" if path.parts[0] == "python" else None


def target_of(included: str) -> str:
    """The part that an include names."""
    folder, _, rest = included.partition("/")
    return PUBLIC.get(Path(rest).stem, rest) if folder == "margrove" else folder


def violations(root: Path, files: list[Path]) -> list[str]:
    """The violations, one line each; paths are relative to `root`."""
    found = []
    for file in files:
        part = part_of(file)
        if part is None:
            continue
        if part not in RANKS:
            found.append(f"{file}: '{part}' is not in the order of the parts")
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
                found.append(f"{file}:{number}: unknown part '{target}'")
            elif target != part and RANKS[target] >= RANKS[part]:
                found.append(f"{file}:{number}: {part} must not include {match[1]}")
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
