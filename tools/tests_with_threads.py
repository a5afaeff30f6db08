#!/usr/bin/env python3
"""Prints the option of ctest that chooses the tests of a build that start threads.

usage: tools/tests_with_threads.py BUILD RECORD

RECORD has a line "NAME THREADS" for each test that `make test` has run (tests/support/
thread_starts.cpp); of several lines the last counts. A test is left out only if it started no
thread there: what has no line is chosen.
"""

import json
import subprocess
import sys
from pathlib import Path

FILTER = "--gtest_filter="


def tests_of(build: Path) -> list[str]:
    """Their names in the order of ctest's numbers, as gtest calls them."""
    shown = subprocess.run(
        ["ctest", "--show-only=json-v1"], cwd=build, capture_output=True, text=True, check=True
    )
    commands = [test.get("command", []) for test in json.loads(shown.stdout)["tests"]]
    return [
        next((word.removeprefix(FILTER) for word in command if word.startswith(FILTER)), "")
        for command in commands
    ]


def threads_of(record: Path) -> dict[str, int]:
    if not record.exists():
        return {}
    lines = (line.rpartition(" ") for line in record.read_text().splitlines())
    return {name: int(threads) for name, _, threads in lines}


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    tests, threads = tests_of(Path(sys.argv[1])), threads_of(Path(sys.argv[2]))
    chosen = [str(k) for k, name in enumerate(tests, start=1) if threads.get(name, 1) > 0]
    print("-I " + ",".join(["0", "0", "0", *chosen]))


if __name__ == "__main__":
    main()
