"""Training time of recursive regularisation beside that of the flat methods.

    python3 bench/recursive_time.py DATA SET... [--margrove build/margrove] [--threads 1,2]
                                    [--methods flat-svm,hr-svm] [--rows 0.25,0.5,1]

DATA/SET holds train.svm and hierarchy.txt. Every method stops at the same relative duality gap; the
gap reached is in the table. Methods alternate within the run. CPU seconds of the whole program,
reading included; wall seconds for more than one thread; the largest resident memory. With --rows
every second or fourth row is kept, and the whole hierarchy.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

from measured_runs import measured_run, same_loss

METHODS = ("flat-svm", "hr-svm", "flat-lr", "hr-lr")
COUNTS = ("lshtc-small-rdf",)  # sets of raw counts, which become tf-idf features


def measure(
    args: argparse.Namespace, folder: Path, rows: Path, method: str, threads: int
) -> dict[str, float]:
    """One training run: its clocks, and what the program reports."""
    options = ["--tolerance", str(args.tolerance), "--max-passes", "1000000"]
    options += ["--decision", "argmax", "--C", str(args.C)]
    options += ["--threads", str(threads), "--quiet"]
    options += ["--time-limit-seconds", str(args.time_limit_seconds)]
    if method.startswith("hr-"):
        options += ["--hierarchy", str(folder / "hierarchy.txt")]
    if folder.name in COUNTS:
        options.append("--tfidf")
    with tempfile.TemporaryDirectory() as directory:
        files = [str(rows), os.path.join(directory, "model")]
        run = measured_run(
            [args.margrove, "train", "--method", method, *same_loss(method, options), *files]
        )
    report = run.values()
    gap = report.get("relative_gap")
    return {
        "cpu": run.cpu,
        "megabytes": run.megabytes,
        "wall": run.wall,
        "gap": float(gap) if gap is not None else float("nan"),
        "finished": float(report.get("stop") == "converged"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--margrove", default="build/margrove")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--rows", default="1", help="shares of the rows")
    parser.add_argument("--tolerance", type=float, default=0.001)
    parser.add_argument("--C", type=float, default=1.0)
    parser.add_argument("--time-limit-seconds", type=float, default=600.0)
    args = parser.parse_args()
    print("| set | rows | method | threads | CPU s | wall s | MB | relative gap | CPU / flat |")
    print("|---" * 9 + "|")
    with tempfile.TemporaryDirectory() as scratch:
        for name in args.sets:
            for share in args.rows.split(","):
                rows = kept_rows(args.data / name / "train.svm", float(share), Path(scratch))
                table(args, args.data / name, rows)


def kept_rows(path: Path, share: float, scratch: Path) -> Path:
    """A file of that share of the rows, evenly spaced."""
    if share == 1:
        return path
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = scratch / "train.svm"
    kept.write_text("".join(lines[:: round(1 / share)]), encoding="utf-8")
    return kept


def table(args: argparse.Namespace, folder: Path, rows: Path) -> None:
    with rows.open(encoding="utf-8") as lines:
        count = sum(1 for _ in lines)
    for threads in args.threads.split(","):
        flat = float("nan")
        for method in args.methods.split(","):
            got = measure(args, folder, rows, method, int(threads))
            if method.startswith("flat"):
                flat = got["cpu"]
            mark = "" if got["finished"] else " (time limit)"
            print(
                f"| {folder.name} | {count} | {method} | {threads} | {got['cpu']:.2f}{mark} "
                f"| {got['wall']:.2f} | {got['megabytes']:.0f} | {got['gap']:.1e} "
                f"| {got['cpu'] / flat:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
