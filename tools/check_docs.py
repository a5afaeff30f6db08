#!/usr/bin/env python3
"""Runs the commands of the documentation and compares their output.

In README.md and docs/**/*.md, fenced blocks that open with ```sh run or ```python run are executed.
Pages run side by side, as many as there are cores. A page begins in the root of a fresh copy of the
tree's files, with the environment of the caller but nothing of this tree on its PATH; its blocks
run in order, and each shell block finds the folder and the exported variables that the one before
it left. The lines `make build`, `make library` and `make python` are not run but taken as done: the
copy has links to build/ and .venv/ of this tree, where these leave what they make. A page that
needs the program or the package has to say so.

A block that opens with ```text output must equal what the run block before it printed to standard
output; a line `...` stands for any lines and `…` for any characters within a line.

A block that opens with ```cpp of=PATH (or another language) must equal that file of the repository,
which is compiled or run elsewhere; --quote writes the files into such blocks. One with part-of=PATH
must be some lines of the file.

usage: tools/check_docs.py [--quote] [FILE...]
"""

import itertools
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TIME_LIMIT_SECONDS = 600  # of a block that hangs

# The results of the lines that are not run.
MADE = {
    "make build": "build/margrove",
    "make library": "build/libmargrove.so",
    "make python": "build/python/margrove",
}


@dataclass
class Block:
    """A fenced block: the words after the opening backticks, its text, its first line."""

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
    """Whether `printed` equals the text of the page, up to its wildcards and trailing blanks."""
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


def copy_tree(target: Path) -> None:
    """Copies the files that a clone of this tree would have, and links the build folders."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.check_output(listed, cwd=ROOT, text=True).split("\0"):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    for built in ("build", ".venv"):
        if (ROOT / built).is_dir():
            (target / built).symlink_to(ROOT / built)


class Session:
    """The folder and the environment after the blocks so far."""

    def __init__(self, scratch: Path) -> None:
        """A shell in the root of a fresh copy of the tree; `scratch` is an empty folder."""
        self.folder = scratch / "margrove"
        self.folder.mkdir()
        copy_tree(self.folder)
        self.state = scratch / "state"
        self.environment = dict(os.environ)
        for name in ("VIRTUAL_ENV", "PYTHONPATH"):
            self.environment.pop(name, None)
        outside = [p for p in os.get_exec_path() if not Path(p).is_relative_to(ROOT)]
        self.environment["PATH"] = os.pathsep.join(outside)

    def run(self, block: Block) -> subprocess.CompletedProcess[str]:
        """Runs a block; a shell block changes the folder and the environment of the next."""
        if block.info[0] == "python":
            return self._execute(["env", "python", "-c", block.text])
        lines = block.text.splitlines()
        text = "\n".join(line for line in lines if line not in MADE)
        keep = f"trap '{{ pwd; env -0; }} >{shlex.quote(str(self.state))}' EXIT\n"
        done = self._execute(["bash", "-euo", "pipefail", "-c", keep + text])
        folder, _, variables = self.state.read_text(encoding="utf-8").partition("\n")
        self.folder = Path(folder)
        self.environment = dict(
            variable.split("=", 1) for variable in variables.split("\0") if variable
        )
        return done

    def _execute(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIME_LIMIT_SECONDS,
            check=False,
        )


def not_made(block: Block) -> list[str]:
    """The lines of a block that are not run although their result is missing."""
    lines = block.text.splitlines()
    return [line for line in lines if line in MADE and not (ROOT / MADE[line]).exists()]


def check_page(page: Path) -> tuple[int, list[str]]:
    """The number of blocks of a page that ran, and the errors."""
    blocks = blocks_of(page.read_text(encoding="utf-8"))
    errors = wrong_quotes(page)
    if not any(block.info[1:] == ["run"] for block in blocks):
        return 0, errors
    runs = 0
    printed: str | None = None
    with tempfile.TemporaryDirectory() as scratch:
        session = Session(Path(scratch))
        for block in blocks:
            place = f"{page.relative_to(ROOT)}:{block.line}"
            if block.info == ["text", "output"]:
                if printed is not None and not matches(block.text, printed):
                    errors.append(f"{place}: the command printed\n{printed}")
            elif block.info[1:] == ["run"]:
                if missing := not_made(block):
                    errors.append(f"{place}: call {', '.join(missing)} first")
                    break
                done = session.run(block)
                runs += 1
                if done.returncode != 0:
                    output = done.stdout + done.stderr
                    errors.append(f"{place}: exit code {done.returncode}\n{output}")
                    break
                printed = done.stdout
    return runs, errors


def main() -> int:
    arguments = sys.argv[1:]
    quotes = arguments[:1] == ["--quote"]
    pages = [Path(name).resolve() for name in arguments[quotes:]]
    if not pages:
        pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if quotes:
        for page in pages:
            quote_files(page)
        return 0
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        checked = list(pool.map(check_page, pages))
    total = sum(runs for runs, _ in checked)
    failed = any(errors for _, errors in checked)
    for error in itertools.chain.from_iterable(errors for _, errors in checked):
        print(f"check_docs: {error}", file=sys.stderr)
    print(f"check_docs: {total} documented commands ran{'' if not failed else ', some FAILED'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
