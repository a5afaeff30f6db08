#!/usr/bin/env python3
"""HR's table on one data set: flat, recursive and top-down methods, C by cross-validation.

bench/clef_table.py --program build/margrove --data clef [--methods hr-svm hr-lr] [--alpha RULE]

For each method `margrove tune --folds 3` over C = 1e-3 ... 1e3 on train.svm, then the scores on
test.svm, and for the recursive methods `margrove compare` against the flat ones. The grid is
printed in full; models and predictions go to --output.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile
import time
from typing import Any

from measured_runs import same_loss

GRID = "C=0.001,0.01,0.1,1,10,100,1000"
METHODS = ("flat-svm", "hr-svm", "flat-lr", "hr-lr", "top-down-svm")
FLAT = {"hr-svm": "flat-svm", "hr-lr": "flat-lr"}


class Table:
    """One program on one data set."""

    def __init__(self, arguments: argparse.Namespace, output: pathlib.Path) -> None:
        self.program = arguments.program
        self.data = arguments.data
        self.grid = arguments.grid
        self.options = arguments.options
        self.output = output

    def run(self, *arguments: Any) -> str:
        command = [self.program, *map(str, arguments)]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout

    def row(self, method: str, more: list[str]) -> str:
        """Tunes, trains, predicts; the row of the table. The grid goes before it."""
        model = self.output / f"{method}.model"
        start = time.time()
        printed = self.run(
            *("tune", "--method", method, "--hierarchy", self.data / "hierarchy.txt"),
            *(
                "--grid",
                self.grid,
                "--folds",
                3,
                "--quiet",
                *same_loss(method, self.options),
                *more,
            ),
            *(self.data / "train.svm", model),
        )
        lines = printed.splitlines()
        points = [line for line in lines[1:] if "(" in line]
        print(f"\n{method}: C and micro-F1 of each, mean (folds)")
        print("\n".join(f"    {line}" for line in points), flush=True)
        best = next(line.split("\t")[0] for line in points if line.endswith("*"))
        fit = dict(line.split("\t") for line in lines if line.count("\t") == 1)
        self.run("predict", model, self.data / "test.svm", "--output", self.output / method)
        scores = json.loads(self.run("evaluate", model, self.data / "test.svm", "--json"))
        gap = f"{float(fit['relative_gap']):.1e}" if "relative_gap" in fit else "-"
        return (
            f"| {method} | {best} | {100 * scores['macro_f1']:.2f} | "
            f"{100 * scores['micro_f1']:.2f} | {100 * scores['hierarchical_f1']:.2f} | "
            f"{fit['stop']}, {gap} | {time.time() - start:.0f} |"
        )

    def comparison(self, method: str, flat: str) -> str:
        tests = json.loads(
            self.run(
                *("compare", self.data / "test.svm", self.output / method, self.output / flat),
                "--json",
            )
        )
        cells = [
            f"{test['first_better']} : {test['second_better']}, p = {test['p_value']:.2g}"
            for test in tests.values()
        ]
        return f"| {method} against {flat} | {cells[0]} | {cells[1]} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--data", required=True, type=pathlib.Path)
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--grid", default=GRID)
    parser.add_argument("--alpha", default="uniform", help="rule of the hr-* methods")
    parser.add_argument("--output", type=pathlib.Path, help="folder of models and predictions")
    parser.add_argument("--options", nargs=argparse.REMAINDER, default=[], help="for every method")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        output = arguments.output or pathlib.Path(directory)
        output.mkdir(parents=True, exist_ok=True)
        table = Table(arguments, output)
        rows = []
        for method in arguments.methods:
            more = ["--alpha", arguments.alpha] if method in FLAT else []
            rows.append(table.row(method, more))
        print("\n| method | C | macro-F1 % | micro-F1 % | hierarchical F1 % | stop, gap | s |")
        print("|---|---|---|---|---|---|---|")
        print("\n".join(rows))
        pairs = [
            (method, flat)
            for method, flat in FLAT.items()
            if (output / method).exists() and (output / flat).exists()
        ]
        if pairs:
            print("\n| | sign test (micro), better : worse | Wilcoxon test (macro) |")
            print("|---|---|---|")
            print("\n".join(table.comparison(*pair) for pair in pairs))


if __name__ == "__main__":
    main()
