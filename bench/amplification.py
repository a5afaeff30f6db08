#!/usr/bin/env python3
"""What the worst inputs of every kind cost: memory and CPU time for each byte read.

    MARGROVE=$PWD/build/margrove python bench/amplification.py [--only REGEX]

Prints a Markdown table of the entries of tests/cli/amplification_entries.py: bytes in; largest
memory, less that of a run on a few rows (of a server: that before the request), for each byte in;
CPU seconds; CPU seconds of an input of twice the size for those of the input itself; exit code or
status. Needs Linux.
"""

import argparse
import os
import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "cli"))

from amplification_entries import (
    ENTRIES,
    MEGABYTE,
    REQUESTS,
    Cost,
    answer_cost,
    cost,
    prepare,
    train_server_model,
    trivial,
)
from test_cli import MARGROVE

SHORT = 0.1  # CPU seconds, below which their growth says nothing


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="regular expression of the entries' names")
    parser.add_argument("--messages", action="store_true", help="print the errors as well")
    given = parser.parse_args()
    program = os.path.abspath(MARGROVE)
    print("| input | bytes in | memory : bytes in | CPU s | CPU of twice the bytes | exit code |")
    print("|---|---|---|---|---|---|")

    def show(name: str, once: Cost, twice: Cost, own: int) -> None:
        times = max(0, twice.memory - own) / twice.size
        growth = f"{twice.cpu / once.cpu:.1f}" if once.cpu > SHORT else "-"
        cells = [name, f"{twice.size:,}", f"{times:.1f}", f"{twice.cpu:.2f}", growth, twice.code]
        print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)
        if given.messages and twice.err:
            print("    ", twice.err.strip()[:300].replace("\n", " // "), flush=True)

    for entry in ENTRIES:
        if not re.search(given.only, entry.name):
            continue
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            prepare(folder)
            own = trivial(program, folder)
            once = cost(program, entry, folder, entry.size, counted=False)
            twice = cost(program, entry, folder, 2 * entry.size, counted=False)
        show(entry.name, once, twice, own.memory)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        train_server_model(program, folder)
        for request in REQUESTS:
            if re.search(given.only, title := f"request: {request.name}"):
                once = answer_cost(request, folder, MEGABYTE)
                twice = answer_cost(request, folder, 2 * MEGABYTE)
                show(title, once, twice, 0)


if __name__ == "__main__":
    main()
