#!/usr/bin/env python3
"""Lets one call of the system fail after the other while the program trains and predicts.

usage: tools/inject_failures.py PROGRAM LIBRARY [--most N] [--only REGEX] [--jobs N]

LIBRARY is the test library fail_at (tests/support/fail_at.cpp). For every command of COMMANDS it
counts the calls of malloc, open, read, write, fsync, rename and thread creation; then the command
runs once for each of them, which fails, and again with all later calls of that kind failing. With
--most N at most N calls of each kind and command are tried, evenly spread; 0 tries all.

However a run ends, it ends within a time limit with a documented exit code and a message, the file
that it writes is the old one or the complete new one, and nothing lies beside it. The exit code is
1 if a run did otherwise.
"""

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

TIME_LIMIT_SECONDS = 60
OUT_OF_MEMORY = "out of memory"
OLD = b"what was there before\n"

# Files of the commands.
INPUTS = {
    "rows": "a 1:1 2:0.5\nb 1:0.2 2:1\na 1:1.1\nb 2:1\nc 3:1\nc 1:0.1 3:0.9\n",
    "numbered": "1 1:1 2:0.5\n2 1:0.2 2:1\n3 3:1\n",
    "sets": "a 1:1 2:0.5\nb 1:0.2 2:1\na,c 1:1.1 3:1\nb,c 2:1 3:1\nc 3:1\nb 1:0.1 2:0.9\n",
    "tree": "r n\nn a\nn b\nr c\n",
    "dag": "r n\nr m\nn a\nn b\nm b\nm c\n",
    "tags": "w1 O\nw2 B-x\n\nw2 B-x\nw3 O\nw1 O\n\n",
    "table.csv": "t,n,c,l\nred apple,1,u,a\nblue sky,,v,b\nred sky,2,u,a\nblue sea,5,v,b\n",
}


@dataclass(frozen=True)
class Command:
    """Arguments, in which OUT is the file that is written, and those that make its inputs."""

    arguments: str
    before: str = ""


PREDICTIONS = (
    ("train --method flat-svm rows model", "rows"),
    ("train --method average-mkl rows model", "rows"),
    ("train --method spn-mkl rows model", "rows"),
    ("train --method structured tags model", "tags"),
)
COMMANDS = [
    Command("train --method flat-svm rows OUT"),
    Command("train --method flat-lr --decision scut --decision-folds 2 sets OUT"),
    Command("train --method nhsvm --hierarchy tree rows OUT"),
    Command("train --method nhsvm --hierarchy dag sets OUT"),
    Command("train --method hr-lr --hierarchy tree --calibration 0.3 rows OUT"),
    Command("train --method top-down-svm --hierarchy tree rows OUT"),
    Command("train --method level-svm --hierarchy dag sets OUT"),
    Command("train --method average-mkl rows OUT"),
    Command("train --method lp-mkl rows OUT"),
    Command("train --method simple-mkl rows OUT"),
    Command("train --method spn-mkl rows OUT"),
    Command("train --method kernel-ridge rows OUT"),
    Command("train --method structured tags OUT"),
    Command("train --method structured --model multilabel-field sets OUT"),
    Command(
        "train --method flat-svm --text-column t --numeric-columns n --categorical-columns c"
        " --label-column l table.csv OUT"
    ),
    *(Command(f"predict --output OUT model {data}", before) for before, data in PREDICTIONS),
    Command("evaluate --per-label OUT model rows", PREDICTIONS[0][0]),
    Command("report --output OUT model rows", PREDICTIONS[0][0]),
    Command("compress --output OUT model rows", PREDICTIONS[0][0]),
    Command("explain --svg OUT model", PREDICTIONS[2][0]),
    Command("export model OUT", "train --method flat-svm numbered model"),
    Command("tune --method hsvm --hierarchy tree --grid C=1,2 --folds 2 rows OUT"),
    Command("auto rows OUT"),
]

READ_ROWS = {0, 1, 3}
READ_MODELS = {0, 1, 3, 4}
DOCUMENTED = {"train": READ_ROWS, "tune": READ_ROWS, "auto": READ_ROWS}  # others: READ_MODELS
# Verbs without these options.
NOT_QUIET = {"export"}


@dataclass(frozen=True)
class Ended:
    code: int | None  # None: did not end in time
    message: str


class Attack:
    """One command in a folder of its own."""

    def __init__(self, program: Path, library: Path, command: Command) -> None:
        self.program = program
        self.library = library
        self.command = command
        self.verb = command.arguments.split()[0]
        with tempfile.TemporaryDirectory() as name:
            folder = self.prepared(Path(name))
            ended = self.run(folder, {"FAIL_AT_COUNTS": str(folder / "counts")})
            if ended.code != 0:
                raise RuntimeError(f"{command.arguments} fails by itself: {ended.message}")
            lines = (folder / "counts").read_text().splitlines()
            self.counts = {line.split()[0]: int(line.split()[1]) for line in lines}
            self.new = (folder / "OUT").read_bytes()

    def prepared(self, folder: Path) -> Path:
        for name, text in INPUTS.items():
            (folder / name).write_text(text)
        if self.command.before:
            arguments = [str(self.program), *shlex.split(self.command.before)]
            subprocess.run(arguments, cwd=folder, check=True, capture_output=True)
        (folder / "OUT").write_bytes(OLD)
        return folder

    def run(self, folder: Path, environment: dict[str, str]) -> Ended:
        arguments = shlex.split(self.command.arguments)
        if self.verb not in NOT_QUIET:
            arguments += ["--quiet", "--threads", "2"]
        try:
            done = subprocess.run(
                [str(self.program), *arguments],
                cwd=folder,
                env=os.environ | {"LD_PRELOAD": str(self.library)} | environment,
                capture_output=True,
                timeout=TIME_LIMIT_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Ended(None, "")
        return Ended(done.returncode, done.stderr.decode(errors="replace").strip())

    def points(self, most: int) -> Iterator[str]:
        """Which calls fail: "kind:number", with a + all from there on."""
        for kind, count in self.counts.items():
            tried = count if most == 0 else min(count, most)
            for k in range(tried):
                number = 1 + k * count // tried
                yield f"{kind}:{number}"
                if most == 0 or k % 4 == 0:
                    yield f"{kind}:{number}+"

    def faults(self, folder: Path, ended: Ended, point: str, before: set[str]) -> Iterator[str]:
        if ended.code is None:
            yield f"does not end within {TIME_LIMIT_SECONDS} s"
        elif ended.code not in DOCUMENTED.get(self.verb, READ_MODELS):
            yield f"exit code {ended.code}: {ended.message[-200:]}"
        # Of all later calls, also the message's may fail.
        elif ended.code != 0 and not ended.message and not point.endswith("+"):
            yield f"exit code {ended.code} without a message"
        elif ended.code == 1 and OUT_OF_MEMORY not in ended.message and not point.endswith("+"):
            yield f"exit code 1: {ended.message[-200:]}"
        content = (folder / "OUT").read_bytes()
        if content not in (OLD, self.new):
            yield f"a file of {len(content)} bytes is neither the old one nor the new one"
        elif ended.code == 0 and content != self.new:
            yield "exit code 0, but the file is the old one"
        beside = {path.name for path in folder.iterdir()} - before
        if beside:
            yield f"left behind: {', '.join(sorted(beside))}"

    def attempt(self, point: str) -> list[str]:
        """What is wrong with the run in which this call fails."""
        with tempfile.TemporaryDirectory() as name:
            folder = self.prepared_fast(Path(name))
            before = {path.name for path in folder.iterdir()}
            ended = self.run(folder, {"FAIL_AT": point})
            return list(self.faults(folder, ended, point, before))

    def prepared_fast(self, folder: Path) -> Path:
        """As prepared(), with the model that an earlier call trained."""
        if not self.command.before:
            return self.prepared(folder)
        if not hasattr(self, "model"):
            with tempfile.TemporaryDirectory() as first:
                self.model = (self.prepared(Path(first)) / "model").read_bytes()
        for name, text in INPUTS.items():
            (folder / name).write_text(text)
        (folder / "model").write_bytes(self.model)
        (folder / "OUT").write_bytes(OLD)
        return folder


def attack(attempt: Attack, most: int, pool: ThreadPoolExecutor) -> tuple[int, list[str]]:
    """(runs, what was wrong) of one command."""
    points = list(attempt.points(most))
    results = pool.map(attempt.attempt, points)
    wrong = [
        f"FAIL_AT={point} {attempt.command.arguments}: {fault}"
        for point, faults in zip(points, results, strict=True)
        for fault in faults
    ]
    return len(points), wrong


def main() -> int:
    parser = argparse.ArgumentParser(description="lets calls of the system fail")
    parser.add_argument("program", type=Path)
    parser.add_argument("library", type=Path)
    parser.add_argument("--most", type=int, default=0, metavar="N", help="calls of a kind; 0: all")
    parser.add_argument("--only", type=re.compile, default=re.compile(""), metavar="REGEX")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="runs at once")
    given = parser.parse_args()
    runs: Counter[str] = Counter()
    wrong: list[str] = []
    with ThreadPoolExecutor(given.jobs) as pool:
        for command in COMMANDS:
            if not given.only.search(command.arguments):
                continue
            attempt = Attack(given.program.resolve(), given.library.resolve(), command)
            count, found = attack(attempt, given.most, pool)
            runs[command.arguments] = count
            wrong += found
            print(f"{command.arguments}: {count} runs, {len(found)} wrong", flush=True)
    for line in wrong:
        print(line)
    print(f"inject_failures: {sum(runs.values())} runs, {len(wrong)} wrong")
    return 1 if wrong or not runs else 0


if __name__ == "__main__":
    sys.exit(main())
