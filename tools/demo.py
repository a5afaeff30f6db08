#!/usr/bin/env python3
"""Trains methods on a taxonomy, options chosen on held-out training data, and compares them.

usage: tools/demo.py PROGRAM DATA_DIRECTORY [METHOD...]

DATA_DIRECTORY has train.txt, test.txt and hierarchy.txt; models and predictions are written next to
them. Standard output has three explained predictions, the table, and commands to try next.
"""

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

WORDS = ["--word-ngrams", "1", "--char-ngrams", "none"]  # to save time
HOLDOUT = "0.2"
EXPLAINED_FEATURES = "3"


@dataclass(frozen=True)
class Method:
    """A row of the table: a method, its options, the values to choose from.

    The tolerances are loose, for speed: hsvm with C = 3 loses 0.3 points of accuracy.
        Without grids C is given, and a note below the table gives its origin.
    """

    name: str
    options: tuple[str, ...]
    grids: tuple[str, ...] = ()
    note: str = ""


METHODS = [
    Method("flat-svm", ("--loss", "hinge", "--tolerance", "0.02"), ("C=0.3,1,3",)),
    Method(
        "flat-lr",
        ("--tolerance", "0.1", "--C", "30"),
        note="the better of 10 and 30 on the hold-out",
    ),
    Method("top-down-svm", ("--tolerance", "0.05"), ("C=0.3,1,3",)),
    Method("hr-svm", ("--tolerance", "0.2", "--C", "3"), note="a value of flat-svm's grid"),
    Method("hr-lr", ("--tolerance", "0.4", "--C", "10"), note="one of the two"),
    Method("hsvm", ("--tolerance", "0.1"), ("C=3,10",)),
    Method("nhsvm", ("--tolerance", "0.1"), ("C=1,3", "alpha=power:2,maxmin")),
]


@dataclass(frozen=True)
class Row:
    """The results of one method."""

    method: str
    chosen: str
    accuracy: float
    macro_f1: float
    hierarchical_f1: float
    seconds: float
    megabytes: float


class Demo:
    """One program on one data set."""

    def __init__(self, program: Path, data: Path) -> None:
        self.program = program
        self.data = data

    def run(self, verb: str, *arguments: str | Path) -> str:
        """The verb's standard output; exits with its message if it fails."""
        command = [str(self.program), verb, *map(str, arguments)]
        result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        if result.returncode != 0:
            raise SystemExit(f"demo: exit code {result.returncode} of: {' '.join(command)}")
        return result.stdout

    def training(self, method: Method) -> list[str | Path]:
        hierarchy = self.data / "hierarchy.txt"
        return [
            *("--method", method.name, "--text", "--hierarchy", hierarchy, "--quiet"),
            *WORDS,
            *method.options,
        ]

    def model(self, method: Method) -> Path:
        return self.data / f"{method.name}.model"

    def train(self, method: Method) -> tuple[str, float]:
        """The options, chosen on a hold-out if there is a choice; seconds of the last training."""
        files = (self.data / "train.txt", self.model(method))
        if not method.grids:
            printed = self.run("train", *self.training(method), *files)
            given = method.options[method.options.index("--C") + 1]
            return f"C={given} (given)", seconds_of(printed)
        printed = self.run(
            "tune",
            *self.training(method),
            *("--holdout", HOLDOUT),
            *(argument for grid in method.grids for argument in ("--grid", grid)),
            *files,
        )
        names = printed.splitlines()[0].split("\t")
        best = next(line for line in printed.splitlines() if line.endswith("*")).split("\t")
        chosen = " ".join(f"{name}={value}" for name, value in zip(names, best[:-1], strict=False))
        return chosen, seconds_of(printed)

    def compare(self, method: Method) -> Row:
        """Chooses options if there is a choice, trains on all rows, and evaluates."""
        chosen, seconds = self.train(method)
        metrics = json.loads(
            self.run("evaluate", "--json", "--quiet", self.model(method), self.data / "test.txt")
        )
        return Row(
            method.name,
            chosen,
            metrics["accuracy"],
            metrics["macro_f1"],
            metrics["hierarchical_f1"],
            seconds,
            self.model(method).stat().st_size / 1e6,
        )

    def rows_to_explain(self, method: Method) -> list[int]:
        """From the middle of the test file: two rows that are predicted right and one that is not.

        Rows count from 1.
        """
        predicted = self.run("predict", "--quiet", self.model(method), self.data / "test.txt")
        truth = (self.data / "test.txt").read_text(encoding="utf-8").splitlines()
        pairs = zip(truth, predicted.splitlines(), strict=True)
        hits = [row.split("\t")[0] == label.strip() for row, label in pairs]
        middle = range(len(hits) // 2, len(hits))
        right = [i + 1 for i in middle if hits[i]][:2]
        wrong = [i + 1 for i in middle if not hits[i]][:1]
        return right + wrong

    def explain(self, method: Method) -> str:
        """Documents with the explanations of their labels."""
        documents = (self.data / "test.txt").read_text(encoding="utf-8").splitlines()
        parts = []
        for row in self.rows_to_explain(method):
            explanation = self.run(
                "explain",
                *("--quiet", "--row", str(row), "--features", EXPLAINED_FEATURES),
                self.model(method),
                self.data / "test.txt",
            )
            parts.append(f"{documents[row - 1].split(chr(9), 1)[1]}\n{explanation}")
        return "\n".join(parts)

    def what_next(self, method: Method) -> str:
        """Commands to try next."""
        model, test = self.model(method), self.data / "test.txt"
        return "\n".join(
            [
                "",
                "Try next:",
                f"  {self.program} report {model} {test} --output report.html",
                f"  {self.program} explain --row 7 {model} {test}",
                f"  {self.program} predict --top 3 {model} {test} | head",
                f"  {self.program} train --method {method.name} --help",
            ]
        )


def seconds_of(printed: str) -> float:
    """The training time that train and tune print."""
    return next(
        float(line.split("\t")[1]) for line in printed.splitlines() if line.startswith("seconds\t")
    )


def table(rows: list[Row]) -> str:
    head = f"{'method':<14}{'chosen':<18}{'accuracy':>10}{'macro F1':>10}{'hier. F1':>10}"
    lines = [head + f"{'train s':>9}{'model MB':>10}"]
    lines += [
        f"{r.method:<14}{r.chosen:<18}{r.accuracy:>10.4f}{r.macro_f1:>10.4f}{r.hierarchical_f1:>10.4f}"
        f"{r.seconds:>9.1f}{r.megabytes:>10.1f}"
        for r in rows
    ]
    return "\n".join(lines)


def main() -> int:
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    demo = Demo(Path(sys.argv[1]), Path(sys.argv[2]))
    wanted = sys.argv[3:]
    unknown = set(wanted) - {method.name for method in METHODS}
    if unknown:
        raise SystemExit(f"demo: method is '{unknown.pop()}', but must be one of the table's")
    methods = [method for method in METHODS if not wanted or method.name in wanted]
    rows = []
    for method in methods:
        started = time.monotonic()
        doing = f"choosing from {' '.join(method.grids)}" if method.grids else "training"
        print(f"demo: {method.name}: {doing} ...", file=sys.stderr, flush=True)
        rows.append(demo.compare(method))
        print(f"demo: {method.name}: {time.monotonic() - started:.0f} s", file=sys.stderr)
    print(f"\nThree test documents, explained by {methods[-1].name}:\n")
    print(demo.explain(methods[-1]))
    print(table(rows))
    notes = [f"{method.name}: {method.note}" for method in methods if method.note]
    if notes:
        print("C (given) is not chosen on a hold-out, to save time. " + ". ".join(notes) + ".")
    print(demo.what_next(methods[-1]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
