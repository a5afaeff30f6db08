"""Training time of recursive regularisation beside that of the flat methods.

    python3 bench/recursive_time.py DATA SET... [--margrove build/margrove] [--threads 1,2]

DATA/SET holds train.svm and hierarchy.txt. Every method stops at the same relative duality gap; the
gap reached is in the table. Methods alternate within the run. CPU seconds of the whole program,
reading included; wall seconds for more than one thread.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import tempfile
import time
from pathlib import Path

METHODS = ("flat-svm", "hr-svm", "flat-lr", "hr-lr")
COUNTS = ("lshtc-small-rdf",)  # sets of raw counts, which become tf-idf features


def measure(args: argparse.Namespace, folder: Path, method: str, threads: int) -> dict[str, float]:
    """One training run: its clocks, and what the program reports."""
    options = ["--tolerance", "0.001", "--max-passes", "1000000", "--decision", "argmax"]
    options += ["--threads", str(threads), "--quiet"]
    options += ["--time-limit-seconds", str(args.time_limit_seconds)]
    if method.startswith("hr-"):
        options += ["--hierarchy", str(folder / "hierarchy.txt")]
    if folder.name in COUNTS:
        options.append("--tfidf")
    with tempfile.TemporaryDirectory() as directory:
        files = [str(folder / "train.svm"), os.path.join(directory, "model")]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.monotonic()
        run = subprocess.run(
            [args.margrove, "train", "--method", method, *options, *files],
            check=True,
            capture_output=True,
            text=True,
        )
        wall = time.monotonic() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    report = dict(line.split("\t") for line in run.stdout.splitlines() if "\t" in line)
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    gap = report.get("relative_gap")
    return {
        "cpu": cpu,
        "wall": wall,
        "gap": float(gap) if gap is not None else float("nan"),
        "finished": float(report.get("stop") == "converged"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--margrove", default="build/margrove")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--time-limit-seconds", type=float, default=600.0)
    args = parser.parse_args()
    threads = [int(count) for count in args.threads.split(",")]
    print("| set | method | threads | CPU s | wall s | relative gap | CPU / flat |")
    print("|---|---|---|---|---|---|---|")
    for name in args.sets:
        for count in threads:
            flat = 0.0
            for method in METHODS:
                got = measure(args, args.data / name, method, count)
                if method.startswith("flat"):
                    flat = got["cpu"]
                mark = "" if got["finished"] else " (time limit)"
                print(
                    f"| {name} | {method} | {count} | {got['cpu']:.2f}{mark} | {got['wall']:.2f} "
                    f"| {got['gap']:.1e} | {got['cpu'] / flat:.2f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
