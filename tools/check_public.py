#!/usr/bin/env python3
"""Counts the names in the public headers, and fails if there are more than the limit.

Counted are the names of types, functions, concepts and constants that include/margrove declares in
namespace margrove; overloads count once, and margrove::detail, which is not for users, not at all.
With a path to the shared library, its dynamic symbols must belong to these names, or to detail.

usage: tools/check_public.py [--list] [--library FILE]
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 150

COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|^\s*#[^\n]*', re.S | re.M)
TYPE = re.compile(
    r"\b(?:class|struct|enum class|enum|concept|using)\s+(?:\w+\s+)*?(\w+)\s*(?:$|[:=])"
)
FUNCTION = re.compile(r"\b(operator\W+|[A-Za-z_]\w*)\s*\(")
CONSTANT = re.compile(r"\b(?:constexpr|const|extern)\b.*?\b(\w+)\s*(?:$|[={])")
TEMPLATE_HEAD = re.compile(r"\btemplate\s*<")


def without_template_heads(text: str) -> str:
    """A declaration without `template <...>` and a `requires` clause before it."""
    while match := TEMPLATE_HEAD.search(text):
        depth, end = 1, match.end()
        while depth > 0:
            depth += {"<": 1, ">": -1}.get(text[end], 0)
            end += 1
        text = text[: match.start()] + text[end:]
    return re.sub(r"^\s*requires\s+[\w:]+(?:<[^>]*>)?\s", " ", text)


def name_of(declaration: str) -> str | None:
    """The name that a declaration at namespace scope gives; None for specialisations."""
    if "<>" in declaration.replace(" ", "") and "template" in declaration:
        return None
    text = " ".join(without_template_heads(declaration).replace(" final", "").split())
    match = TYPE.search(text) or FUNCTION.search(text) or CONSTANT.search(text)
    return match[1].strip() if match else None


def declarations(text: str) -> list[str]:
    """The declarations directly in `namespace margrove`, each up to its body or semicolon."""
    text = COMMENT_OR_TEXT.sub(" ", text)
    start = re.search(r"\bnamespace margrove\b[^{]*\{", text)
    if start is None:
        return []
    found, depth, opened = [], 0, start.end()
    parentheses = 0  # of parameters, whose defaults may be {}
    for position in range(start.end(), len(text)):
        character = text[position]
        if depth == 0 and character in "()":
            parentheses += 1 if character == "(" else -1
        if parentheses > 0:
            continue
        if character == "{" or (character == ";" and depth == 0):
            if depth == 0:
                found.append(text[opened:position].strip())
            depth += character == "{"
        elif character == "}":
            depth -= 1
            if depth < 0:
                break
        if depth == 0 and character in ";}":
            opened = position + 1
    return [each for each in found if each and not each.startswith("namespace")]


def public_names(root: Path) -> dict[str, list[str]]:
    """The names of each public header."""
    names: dict[str, list[str]] = {}
    seen: set[str] = set()
    for path in sorted((root / "include" / "margrove").glob("*.hpp")):
        own = [name_of(each) for each in declarations(path.read_text(encoding="utf-8"))]
        new = sorted({name for name in own if name is not None} - seen)
        seen.update(new)
        names[path.name] = new
    return names


def unknown_symbols(library: Path, names: set[str]) -> list[str]:
    """Dynamic symbols whose name in margrove is not one of `names`."""
    lines = subprocess.run(
        ["nm", "-DC", "--defined-only", str(library)], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    symbols = [line.split(maxsplit=2)[2] for line in lines]
    owner = re.compile(r"(?:(?:typeinfo|typeinfo name|vtable) for )?margrove::(\w+)")
    found = []
    for symbol in symbols:
        match = owner.match(symbol)
        if match is None or match[1] not in names:
            found.append(symbol)
    return found


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--list", action="store_true", help="print the names of each header")
    parser.add_argument("--library", type=Path, help="the shared library")
    arguments = parser.parse_args()
    names = public_names(ROOT)
    total = sum(len(each) for each in names.values())
    if arguments.list:
        for header, own in names.items():
            print(f"{header}: {len(own)}: {' '.join(own)}")
        print(f"{total} public names in {len(names)} headers")
    failed = total > LIMIT
    if failed:
        print(
            f"include/margrove declares {total} names, but at most {LIMIT} are allowed",
            file=sys.stderr,
        )
    if arguments.library:
        public = {name for own in names.values() for name in own} | {"detail"}
        for name in unknown_symbols(arguments.library, public):
            failed = True
            print(f"{arguments.library}: must not export {name}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
