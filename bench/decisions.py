#!/usr/bin/env python3
"""All decisions of rows with several labels, for flat and recursive methods.

bench/decisions.py --program build/margrove --data DIRECTORY [--methods flat-svm ...]

DIRECTORY has train.svm and test.svm. With hierarchy.txt the recursive methods take it; without one
they run twice: with the labels as a star, and on the graph that joins each label to the one it is
correlated with most in train.svm. C by hold-out on train.svm, under the default decision; a grid of
one value is taken as it is.
"""

import argparse
import json
import math
import pathlib
import subprocess
import tempfile
from collections import Counter
from itertools import combinations
from typing import Any

from measured_runs import same_loss

DECISIONS = ("argmax", "zero", "threshold", "scut", "rcut", "instance")
METHODS = ("flat-svm", "hr-svm", "flat-lr", "hr-lr")
GRID = "C=0.03,0.1,0.3,1,3,10,30"


def label_sets(path: pathlib.Path) -> list[set[str]]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [set(filter(None, line.split(" ", 1)[0].split(","))) for line in lines]


def correlation_pairs(sets: list[set[str]]) -> list[tuple[str, str]]:
    """Each label with the one of the largest phi coefficient, if that is above 0."""
    single = Counter(label for labels in sets for label in labels)
    both = Counter(pair for labels in sets for pair in combinations(sorted(labels), 2))
    n = len(sets)

    def phi(a: str, b: str) -> float:
        p, q = single[a], single[b]
        spread = math.sqrt(p * (n - p) * q * (n - q))
        return (n * both[min(a, b), max(a, b)] - p * q) / spread if spread > 0 else 0.0

    pairs = set()
    for a in sorted(single):
        value, b = max((phi(a, b), b) for b in sorted(single) if b != a)
        if value > 0:
            pairs.add((min(a, b), max(a, b)))
    return sorted(pairs)


class Bench:
    """One program on one data set."""

    def __init__(self, arguments: argparse.Namespace, work: pathlib.Path) -> None:
        self.program = arguments.program
        self.train = arguments.data / "train.svm"
        self.test = arguments.data / "test.svm"
        self.grid = arguments.grid
        self.options = arguments.options
        self.work = work

    def run(self, *arguments: Any) -> str:
        command = [self.program, *map(str, arguments)]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout

    def structures(self, data: pathlib.Path) -> dict[str, list[str]]:
        """Name of a structure -> the options that give it to the recursive methods."""
        if (data / "hierarchy.txt").exists():
            return {"": ["--hierarchy", str(data / "hierarchy.txt")]}
        sets = label_sets(self.train)
        labels = sorted(set().union(*sets))
        star, graph = self.work / "star", self.work / "graph"
        star.write_text("".join(f"centre {label}\n" for label in labels), encoding="utf-8")
        pairs = correlation_pairs(sets)
        graph.write_text("".join(f"{a} {b}\n" for a, b in pairs), encoding="utf-8")
        return {", star": ["--hierarchy", str(star)], ", graph": ["--label-graph", str(graph)]}

    def scores(self, method: str, structure: list[str]) -> tuple[str, dict[str, dict[str, float]]]:
        """The chosen C, and the metrics of each decision."""
        model = self.work / "model"
        common = ["--method", method, *structure, "--quiet", *same_loss(method, self.options)]
        best = self.grid.removeprefix("C=")
        if "," in best:
            printed = self.run(
                *("tune", *common, "--grid", self.grid, "--holdout", 0.2, self.train, model)
            )
            best = next(line.split("\t")[0] for line in printed.splitlines() if line.endswith("*"))
        metrics = {}
        for decision in DECISIONS:
            self.run("train", *common, "--C", best, "--decision", decision, self.train, model)
            metrics[decision] = json.loads(self.run("evaluate", model, self.test, "--json"))
        return best, metrics


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--data", required=True, type=pathlib.Path)
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--grid", default=GRID)
    parser.add_argument("--options", nargs=argparse.REMAINDER, default=[], help="for every method")
    arguments = parser.parse_args()
    print("| method (C) | " + " | ".join(DECISIONS) + " |")
    print("|---" * (len(DECISIONS) + 1) + "|")
    with tempfile.TemporaryDirectory() as directory:
        bench = Bench(arguments, pathlib.Path(directory))
        recursive = bench.structures(arguments.data)
        for method in arguments.methods:
            structures = recursive if method.startswith("hr-") else {"": []}
            for name, structure in structures.items():
                best, metrics = bench.scores(method, structure)
                cells = [
                    f"{100 * m['micro_f1']:.2f} / {100 * m['macro_f1']:.2f} / "
                    f"{100 * m['instance_f1']:.2f}"
                    for m in metrics.values()
                ]
                print(f"| {method}{name} ({best}) | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
