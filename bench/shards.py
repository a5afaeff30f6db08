#!/usr/bin/env python3
"""Training in shards against one process: bytes that move, memory and CPU time.

    python bench/shards.py --program build/margrove --shards 8 -- --method flat-svm ROWS

Everything after -- is what `train` takes before MODEL. For 1, 2 and 4 concurrent tasks of one
thread, the table has the sum of the processes' memory, in which pages that they share count once
(proportional set size, sampled every 50 ms). Models must be equal. Prints a Markdown table.
"""

import argparse
import contextlib
import re
import resource
import subprocess
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple


class Measured(NamedTuple):
    cpu_seconds: float  # of all processes
    megabytes: float  # largest sum over the processes at one moment


def proportional_kilobytes(pid: int) -> int:
    with contextlib.suppress(OSError):
        text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
        if found := re.search(r"^Pss: +(\d+) kB", text, re.MULTILINE):
            return int(found[1])
    return 0  # it has ended


def run(commands: Iterable[list[str]], at_once: int = 1) -> Measured:
    """Runs the commands, so many at a time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    waiting, most = list(commands), 0
    running: list[subprocess.Popen[bytes]] = []
    while waiting or running:
        while waiting and len(running) < at_once:
            running.append(
                subprocess.Popen(
                    waiting.pop(0), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
                )
            )
        most = max(most, sum(proportional_kilobytes(task.pid) for task in running))
        time.sleep(0.05)
        for task in running:
            if task.poll() not in (None, 0):
                raise SystemExit(f"{task.args!r} ended with {task.returncode}")
        running = [task for task in running if task.returncode is None]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Measured(cpu, most / 1024)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default="build/margrove")
    parser.add_argument("--shards", default=8, type=int)
    parser.add_argument("train", nargs="+", help="options of train and the file of rows")
    given = parser.parse_args()
    program, shards = given.program, str(given.shards)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model, merged, work = (str(folder / each) for each in ("model", "merged", "work"))
        one_thread = ["--threads", "1"]
        one = run([[program, "train", *one_thread, *given.train, model]])
        print(f"| | CPU seconds | MB of memory | MB read | MB written |\n|{'---|' * 5}")
        model_size = Path(model).stat().st_size / 1e6

        def line(what: str, measured: Measured, read: float, written: float) -> None:
            print(
                f"| {what} | {measured.cpu_seconds:.1f} | {measured.megabytes:.0f} | {read:.1f} | "
                f"{written:.1f} |",
                flush=True,
            )

        rows = Path(given.train[-1]).stat().st_size / 1e6
        line("`train`, one thread", one, rows, model_size)
        plan = run([[program, "plan-shards", "--shards", shards, *given.train, work]])
        data = (Path(work) / "data.safetensors").stat().st_size / 1e6
        line("`plan-shards`", plan, rows, data)
        for at_once in (1, 2, 4):
            for shard in Path(work).glob("shard-*"):
                shard.unlink()
            tasks = run(
                ([program, "train-shard", *one_thread, work, str(s)] for s in range(given.shards)),
                at_once,
            )
            written = sum(path.stat().st_size for path in Path(work).glob("shard-*")) / 1e6
            line(
                f"all {shards} `train-shard`, {at_once} at once",
                tasks,
                data * given.shards,
                written,
            )
        line(
            "`merge-shards`",
            run([[program, "merge-shards", work, merged]]),
            data + written,
            model_size,
        )
        if Path(model).read_bytes() != Path(merged).read_bytes():
            raise SystemExit("the models differ")


if __name__ == "__main__":
    main()
