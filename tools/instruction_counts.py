#!/usr/bin/env python3
"""Counts the instructions of training and prediction, and compares them with those of a record.

usage: tools/instruction_counts.py PROGRAM [--record FILE.json] [--baseline FILE.json]
                                   [--only REGEX] [--jobs N]

Times depend on other work of the machine, instructions do not. Each of WORKLOADS runs on one
thread under `valgrind --tool=callgrind`; the instructions of starting the program are subtracted.
With --baseline the ratio to the recorded count is printed, and the exit code is 1 if one is above
1.03 or a workload is on one side only. The exit code is 2 if a workload cannot be run. Counts hold
for one compiler and one set of libraries. The data are those of tools/same_models.py.
"""

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools import sample_data  # noqa: E402

ALLOWED = 1.03  # largest ratio to the baseline
COPIES = 8  # of the test rows, which are few, in the data to predict
START = "start the program"
COLLECTED = re.compile(r"^==\d+== Collected : (\d+)", re.MULTILINE)

Counts = dict[str, int]


@dataclass(frozen=True)
class Workload:
    """A model that is trained on a set; if `predicts`, prediction is counted, too."""

    name: str
    data: str
    options: str
    predicts: bool = False


WORKLOADS = [
    Workload("flat-svm", "tree", "--method flat-svm --tolerance 0.01", predicts=True),
    Workload("flat-lr", "tree", "--method flat-lr --tolerance 0.01"),
    Workload("hsvm", "tree", "--method hsvm --hierarchy tree/hierarchy --tolerance 0.05"),
    Workload(
        "nhsvm on a tree",
        "tree",
        "--method nhsvm --hierarchy tree/hierarchy --tolerance 0.05",
        predicts=True,
    ),
    Workload(
        "nhsvm on a DAG",
        "dag",
        "--method nhsvm --hierarchy dag/hierarchy --C 0.1 --max-passes 3",
        predicts=True,
    ),
    Workload("hr-svm", "tree", "--method hr-svm --hierarchy tree/hierarchy --tolerance 0.1"),
    Workload("hr-lr", "tree", "--method hr-lr --hierarchy tree/hierarchy --tolerance 0.05"),
    Workload(
        "top-down-svm",
        "tree",
        "--method top-down-svm --hierarchy tree/hierarchy --tolerance 0.01",
        predicts=True,
    ),
    Workload(
        "level-svm",
        "tree",
        "--method level-svm --hierarchy tree/hierarchy --tolerance 0.01",
        predicts=True,
    ),
    Workload("chain, bcfw", "chain", "--method structured --max-passes 10", predicts=True),
    Workload(
        "field, slack",
        "field",
        "--method structured --model multilabel-field --surrogate slack --max-passes 2",
        predicts=True,
    ),
    Workload(
        "dependency, sgd",
        "parse",
        "--method structured --model dependency --solver sgd --hash-bits 16 --max-passes 20",
        predicts=True,
    ),
    Workload("spn-mkl", "kernel", "--method spn-mkl --tolerance 0.002", predicts=True),
]


def parse_count(text: str) -> int:
    """The total in the output of callgrind."""
    found = COLLECTED.findall(text)
    if len(found) != 1:
        raise ValueError(f"callgrind printed {len(found)} totals, but must print 1")
    return int(found[0])


class Counter:
    """Runs the program under valgrind in a folder that holds the data sets."""

    def __init__(self, program: Path, folder: Path) -> None:
        self.program = program
        self.folder = folder

    def count(self, *arguments: str) -> int:
        """The instructions of one run of the program, in an environment that is always the same."""
        ended = subprocess.run(
            [
                *("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"),
                *(str(self.program), *arguments),
            ],
            cwd=self.folder,
            env={"PATH": os.defpath, "LC_ALL": "C"},
            capture_output=True,
            text=True,
            check=False,
        )
        if ended.returncode != 0:
            raise RuntimeError(f"{shlex.join(arguments)}: {ended.stderr}")
        return parse_count(ended.stderr)

    def counts(self, workload: Workload, start: int) -> Counts:
        """Training and, if requested, prediction, without the start of the program."""
        model = f"{WORKLOADS.index(workload)}.model"
        common = ("--threads", "1", "--quiet")
        options = shlex.split(workload.options)
        train = self.count("train", *options, *common, f"{workload.data}/train", model)
        counts = {f"train {workload.name}": train - start}
        if workload.predicts:
            predict = self.count("predict", *common, model, f"{workload.data}/many")
            counts[f"predict {workload.name}"] = predict - start
        return counts


def measure(program: Path, data: Path | None, only: re.Pattern[str], jobs: int) -> Counts:
    chosen = [workload for workload in WORKLOADS if only.search(workload.name)]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        sample_data.make_sets(program, data, Path(folder))
        for test in Path(folder).glob("*/test"):
            test.with_name("many").write_bytes(test.read_bytes() * COPIES)
        counter = Counter(program, Path(folder))
        start = counter.count("--version")
        counts: Counts = {START: start}
        for found in pool.map(lambda workload: counter.counts(workload, start), chosen):
            counts |= found
        return counts


def table(counts: Counts, baseline: Counts | None) -> tuple[list[str], bool]:
    """A line for each count, and whether all of them are allowed."""
    lines, allowed = [], True
    for name, count in counts.items():
        line = f"{name:24} {count / 1e6:9.2f} million"
        if baseline is not None and name in baseline:
            ratio = count / baseline[name]
            allowed = allowed and ratio <= ALLOWED
            line += f"  {ratio:.4f}{'  too many' if ratio > ALLOWED else ''}"
        elif baseline is not None:
            allowed = False
            line += "  not in the baseline"
        lines.append(line)
    missing = [name for name in baseline or {} if name not in counts]
    return lines + [f"{name:24} in the baseline only" for name in missing], allowed and not missing


def read_baseline(path: Path, source: str, only: re.Pattern[str]) -> Counts:
    recorded = json.loads(path.read_text(encoding="utf-8"))
    if recorded["data"] != source:
        raise RuntimeError(f"{path} was recorded on {recorded['data']} data, these are {source}")
    counts: Counts = recorded["counts"]
    return {
        name: count
        for name, count in counts.items()
        if name == START or only.search(name.split(" ", 1)[1])
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="counts the instructions of the program's work")
    parser.add_argument("program", type=Path)
    parser.add_argument("--record", type=Path, metavar="FILE", help="write the counts")
    parser.add_argument("--baseline", type=Path, metavar="FILE", help="compare with these counts")
    parser.add_argument("--only", type=re.compile, default=re.compile(""), metavar="REGEX")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="runs at once")
    given = parser.parse_args()
    data = sample_data.shared_data(ROOT)
    source = "generated" if data is None else "public"
    try:
        baseline = read_baseline(given.baseline, source, given.only) if given.baseline else None
        counts = measure(given.program.resolve(), data, given.only, given.jobs)
    except (OSError, RuntimeError, ValueError, subprocess.CalledProcessError) as error:
        print(f"instruction_counts: {error}", file=sys.stderr)
        return 2
    if given.record:
        text = json.dumps({"data": source, "counts": counts}, indent=1)
        given.record.write_text(text, encoding="utf-8")
    lines, allowed = table(counts, baseline)
    print("\n".join(lines))
    return 0 if allowed else 1


if __name__ == "__main__":
    sys.exit(main())
