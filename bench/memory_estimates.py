#!/usr/bin/env python3
"""The memory that `margrove train` estimates before it trains, for each byte that it then takes.

    bench/memory_estimates.py PROGRAM [--shapes REGEX] [--methods REGEX] [--parts]

PROGRAM is the margrove program. For ten generated shapes of data and every method: the estimate,
divided by the largest resident memory of the process, less that of one that is refused before it
reads. Rows as read count as taken, although estimates leave them out. As a Markdown table; then
the same differences in MB. Training ends early: after 10 passes, 4 epochs, 3 rounds or 20 seconds,
or at a relative gap of .05. A dash stands where a method refuses the shape or the estimate exceeds
1.2 GB, or .25 GB for methods with kernels. Two threads; needs Linux.
"""

import argparse
import json
import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

MOST_GIGABYTES = 1.2
MOST_OF_KERNELS = 0.25  # which take time in proportion to a power of it
THREADS = 2
EARLY = {"max-passes": 10, "epochs": 4, "max-rounds": 3, "tolerance": 0.05}

ZIPF = "zipf --num-rows {} --num-features {} --mean-nonzeros {} --num-labels {} "
SHAPES = {
    "tree": ZIPF.format(8_000, 20_000, 40, 250),
    "tree, many labels": ZIPF.format(8_000, 8_000, 20, 1_500),
    "tree, label sets": ZIPF.format(4_000, 10_000, 30, 120) + "--mean-labels 3",
    "DAG": ZIPF.format(6_000, 15_000, 40, 300) + "--mean-parents 2",
    "DAG, label sets": ZIPF.format(2_000, 10_000, 40, 100) + "--mean-parents 1.5 --mean-labels 3",
    "few wide rows": ZIPF.format(1_000, 150_000, 250, 40),
    "many short rows": ZIPF.format(150_000, 400, 12, 12),
    "few labels": ZIPF.format(30_000, 30_000, 60, 6) + "--branching 3",
    "dense, balanced": "balanced --num-rows 40000 --num-features 50 --depth 3",
    "dense, few rows": "unbalanced --num-rows 3000 --num-features 300 --depth 5",
}

SECONDS = 20  # after which a training ends
WIDTHS = "--widths 1,2,4,8"
CASES = {
    "flat-svm": "",
    "flat-svm, hinge": "--loss hinge",
    "flat-svm, crammer-singer": "--multiclass crammer-singer",
    "flat-lr": "",
    "flat-lr, softmax": "--multiclass softmax",
    "top-down-svm": "",
    "label-trees": "",
    "level-svm": "",
    "level-svm, ovr": "--multiclass ovr",
    "hr-svm": "",
    "hr-svm, alternating": "--solver alternating",
    "hr-lr": "",
    "hr-lr, softmax": "--multiclass softmax",
    "hsvm": "",
    "nhsvm": "",
    "nhsvm, sgd": "--solver sgd",
    "shared-svm": "",
    "shared-svm, sgd": "--solver sgd",
    "spn-mkl": WIDTHS,
    "lp-mkl": WIDTHS,
    "simple-mkl": WIDTHS,
    "average-mkl": WIDTHS,
    "kernel-ridge": "--widths 1,2",
    "structured, hierarchy": "--model hierarchy",
    "structured, multilabel-field": "--model multilabel-field",
}


@dataclass
class Run:
    """Exit code, bytes of the largest resident memory, CPU seconds, and what stderr has."""

    code: int
    peak: int
    cpu: float
    err: str

    def estimate(self) -> int | None:
        """Bytes; none where there was no plan."""
        for line in self.err.splitlines():
            if '"stage":"plan"' in line:
                return int(json.loads(line)["memory_bytes"])
        return None


def run(command: list[str]) -> Run:
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        err = process.stderr.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    cpu = usage.ru_utime + usage.ru_stime
    return Run(process.returncode, 1024 * usage.ru_maxrss, cpu, err)


def early_options(program: str, method: str, options: str) -> list[str]:
    """Those of EARLY that the method has, and that its other options do not exclude."""
    text = subprocess.run(
        [program, "train", "--method", method, "--help"], capture_output=True, text=True, check=True
    ).stdout
    excluded = {"tolerance", "max-passes"} if "sgd" in options else {"epochs"}
    return [
        part
        for name, value in EARLY.items()
        if re.search(rf"^  --{name} ", text, re.MULTILINE) and name not in excluded
        for part in (f"--{name}", str(value))
    ]


def parts_of(command: list[str], estimate: int) -> str:
    """What the refusal of a lower limit says of the parts."""
    limit = ["--memory-limit", str(0.99 * estimate / 1e9)]
    told = run([*command[:-2], *limit, *command[-2:]]).err
    return told[told.find("the parts are") :].strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--shapes", default="", help="regular expression of their names")
    parser.add_argument("--methods", default="", help="regular expression of their names")
    parser.add_argument("--parts", action="store_true", help="print each estimate with its parts")
    given = parser.parse_args()
    program = str(Path(given.program).resolve())
    shapes = [name for name in SHAPES if re.search(given.shapes, name)]
    ratios: dict[str, list[str]] = {}
    peaks: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        rows, hierarchy, model = (f"{scratch}/{name}" for name in ("rows", "hierarchy", "model"))
        for shape in shapes:
            generate = [program, "generate", *SHAPES[shape].split()]
            subprocess.run([*generate, "--hierarchy", hierarchy, rows], check=True)
            # Refused for want of a hierarchy.
            own = run([program, "train", "--method", "hr-svm", rows, model]).peak
            for case, options in CASES.items():
                if not re.search(given.methods, case):
                    continue
                method = case.split(",")[0]
                most = MOST_OF_KERNELS if "--widths" in options else MOST_GIGABYTES
                command = [program, "train", "--method", method, *options.split(),
                           *early_options(program, method, options), "--hierarchy", hierarchy,
                           "--threads", str(THREADS), "--time-limit-seconds", str(SECONDS), rows,
                           model]  # fmt: skip
                limited = [*command[:2], "--memory-limit", str(most), "--log", "json"]
                done = run([*limited, *command[2:]])
                estimate, peak = done.estimate(), done.peak - own
                has_trained = done.code == 0 and estimate is not None
                ratio = f"{estimate / peak:.2f}" if has_trained and estimate else "-"
                ratios.setdefault(case, []).append(ratio)
                peaks.setdefault(case, []).append(f"{peak / 1e6:.0f}" if has_trained else "-")
                if given.parts:
                    why = (
                        parts_of(command, estimate)
                        if has_trained and estimate
                        else done.err.splitlines()[-1][-200:]
                    )
                    print(f"{shape}: {case}: {ratio} of {peak / 1e6:.0f} MB, {done.cpu:.1f} CPU s, "
                          f"{why}", flush=True)  # fmt: skip
    for table in (ratios, peaks):
        print("\n| method | " + " | ".join(shapes) + " |\n" + "|---" * (len(shapes) + 1) + "|")
        for case, cells in table.items():
            print(f"| {case} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
