#!/usr/bin/env python3
"""Runs what the documentation shows.

In README.md and docs/**/*.md, fenced blocks that open with ```sh run or ```python run are executed,
the blocks of one file one after the other in one scratch directory, with build/margrove on PATH and
the environment .venv active. A block that opens with ```text output must equal what the run block
before it printed to standard output; a line `...` stands for any lines and `…` for any characters
within a line. A block in `sh run demo-data` is skipped, with a note, where demo-data/ is absent.
A block that opens with ```cpp of=PATH (or another language) must equal that file of the repository,
which is compiled or run elsewhere; --quote writes the files into such blocks. One with part-of=PATH
must be some lines of the file.

usage: tools/check_docs.py [--quote] [FILE...]
"""

import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TIME_LIMIT_SECONDS = 120


@dataclass
class Block:
    """A fenced block: what follows the opening backticks, its text, the line it opens on."""

    info: list[str]
    text: str
    line: int


def blocks_of(markdown: str) -> list[Block]:
    """The fenced blocks of a page in order."""
    blocks: list[Block] = []
    lines = markdown.splitlines()
    opened: int | None = None
    for number, line in enumerate(lines):
        if not line.startswith("```"):
            continue
        if opened is None:
            opened = number
        elif line.strip() == "```":
            body = "".join(line + "\n" for line in lines[opened + 1 : number])
            blocks.append(Block(lines[opened][3:].split(), body, opened + 1))
            opened = None
    return blocks


def matches(shown: str, printed: str) -> bool:
    """Whether `printed` is what the page shows, up to its wildcards and trailing blanks."""
    pattern = ""
    for line in shown.splitlines():
        if line.strip() == "...":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*".join(re.escape(part) for part in line.rstrip().split("…")) + r" *\n"
    text = "".join(line.rstrip() + "\n" for line in printed.splitlines())
    return re.fullmatch(pattern, text) is not None


def quoted_file(block: Block) -> Path | None:
    """The file that a block quotes whole."""
    paths = [word.removeprefix("of=") for word in block.info if word.startswith("of=")]
    return ROOT / paths[0] if paths else None


def wrong_quotes(page: Path) -> list[str]:
    """The blocks that differ from the files they quote."""
    errors = []
    for block in blocks_of(page.read_text(encoding="utf-8")):
        parts = [
            word.removeprefix("part-of=") for word in block.info if word.startswith("part-of=")
        ]
        if parts and block.text not in (ROOT / parts[0]).read_text(encoding="utf-8"):
            errors.append(f"{page.relative_to(ROOT)}:{block.line}: {parts[0]} has no such lines")
        file = quoted_file(block)
        if file is not None and (not file.is_file() or file.read_text("utf-8") != block.text):
            errors.append(
                f"{page.relative_to(ROOT)}:{block.line}: {file.relative_to(ROOT)} differs; "
                "tools/check_docs.py --quote copies it"
            )
    return errors


def quote_files(page: Path) -> None:
    """Writes the files into the blocks that quote them."""
    lines = page.read_text(encoding="utf-8").splitlines()
    for block in reversed(blocks_of(page.read_text(encoding="utf-8"))):
        file = quoted_file(block)
        if file is not None:
            end = block.line + block.text.count("\n")
            lines[block.line : end] = file.read_text(encoding="utf-8").splitlines()
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")


def command_of(block: Block) -> list[str]:
    """The program that runs a block given as its last argument."""
    if block.info[0] == "python":
        return [str(ROOT / ".venv/bin/python"), "-c", block.text]
    return ["bash", "-euo", "pipefail", "-c", block.text]


def check_page(page: Path) -> tuple[int, list[str]]:
    """How many blocks of a page ran, and what was wrong."""
    environment = dict(os.environ)
    environment["PATH"] = f"{ROOT}/build:{ROOT}/.venv/bin:{environment['PATH']}"
    environment["MARGROVE_ROOT"] = str(ROOT)
    errors = wrong_quotes(page)
    runs = 0
    printed: str | None = None
    with tempfile.TemporaryDirectory() as scratch:
        for block in blocks_of(page.read_text(encoding="utf-8")):
            place = f"{page.relative_to(ROOT)}:{block.line}"
            if block.info[:2] == ["text", "output"]:
                if printed is not None and not matches(block.text, printed):
                    errors.append(f"{place}: the command printed\n{printed}")
                continue
            if block.info[1:2] != ["run"]:
                continue
            printed = None
            if "demo-data" in block.info and not (ROOT / "demo-data").is_dir():
                print(f"check_docs: {place} skipped: no demo-data")
                continue
            run = subprocess.run(
                command_of(block),
                cwd=scratch,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=TIME_LIMIT_SECONDS,
                check=False,
            )
            runs += 1
            if run.returncode != 0:
                errors.append(f"{place}: exit code {run.returncode}\n{run.stdout}{run.stderr}")
                break
            printed = run.stdout
    return runs, errors


def main() -> int:
    arguments = sys.argv[1:]
    quotes = arguments[:1] == ["--quote"]
    pages = [Path(name).resolve() for name in arguments[quotes:]]
    if not pages:
        pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    total = 0
    failed = False
    for page in pages:
        if quotes:
            quote_files(page)
            continue
        runs, errors = check_page(page)
        total += runs
        for error in errors:
            failed = True
            print(f"check_docs: {error}", file=sys.stderr)
    if quotes:
        return 0
    print(f"check_docs: {total} documented commands ran{'' if not failed else ', some FAILED'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
