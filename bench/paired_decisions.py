#!/usr/bin/env python3
"""The decision shrunk beside instance and threshold, with paired tests, as a table.

    bench/paired_decisions.py PROGRAM DATA [SET ...] [--methods flat-svm ...] [--seconds 300]

DATA is a folder with a folder for each set, as for bench/automatic_choice.py, whose sets and
methods these are. Cells of rules hold micro-F1 / macro-F1 / hierarchical F1 on test rows at the
methods' defaults. Then shrunk against the better one of the others in micro-F1 on test rows, an
advantage that a choice on training rows does not have: the decisions (row, label) that only one of
the two has right, with the p of the sign test, and the p of the difference in micro-F1 if rows swap
their answers at random (2,000 times). --seconds is the wall time after which a training ends.
"""

import argparse
import json
import pathlib
import tempfile

import numpy as np
from automatic_choice import HIERARCHICAL, has_hierarchy, print_row
from default_decision import METHODS as DEFAULT_METHODS
from default_decision import Decisions

RULES = ("instance", "threshold", "shrunk")
METHODS = DEFAULT_METHODS | {"level-svm": HIERARCHICAL["level-svm"]}
METRICS = ("micro_f1", "macro_f1", "hierarchical_f1")
SWAPS = 2000

Sets = list[set[str]]


def read_sets(lines: list[str]) -> Sets:
    return [set(filter(None, line.split(" ")[0].split(","))) for line in lines]


def p_of_swaps(truth: Sets, first: Sets, second: Sets) -> float:
    """Of the difference in micro-F1, two-sided."""
    hits = np.array([[len(answer & true) for answer, true in zip(answers, truth, strict=True)]
                     for answers in (first, second)])  # fmt: skip
    sizes = np.array([[len(answer) for answer in answers] for answers in (first, second)])
    wanted = sum(map(len, truth))

    def difference(swapped: np.ndarray) -> float:
        a, b = np.where(swapped, hits[1], hits[0]), np.where(swapped, hits[0], hits[1])
        c, d = np.where(swapped, sizes[1], sizes[0]), np.where(swapped, sizes[0], sizes[1])
        return float(2 * a.sum() / (c.sum() + wanted) - 2 * b.sum() / (d.sum() + wanted))

    random = np.random.default_rng(0)
    least = abs(difference(np.zeros(len(truth), dtype=bool))) - 1e-12
    others = [difference(random.random(len(truth)) < 0.5) for _ in range(SWAPS)]
    return (1 + sum(abs(other) >= least for other in others)) / (1 + SWAPS)


class PairedDecisions(Decisions):
    """Trainings on one set, and what they answer."""

    def row(self, method: str) -> None:
        found, answers = {}, {}
        for rule in RULES:
            found[rule] = self.metrics(METHODS[method], rule)
            answers[rule] = self.command("predict", self.model, self.test)
        cells = [" / ".join(f"{found[rule][metric]:.4f}" for metric in METRICS)
                 for rule in RULES]  # fmt: skip
        other = max(RULES[:2], key=lambda rule: found[rule]["micro_f1"])
        print_row(f"`{self.name}`", method, *cells, other, *self.tests(answers, other))

    def tests(self, answers: dict[str, str], other: str) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            paths = [str(pathlib.Path(folder) / rule) for rule in ("shrunk", other)]
            for path, rule in zip(paths, ("shrunk", other), strict=True):
                pathlib.Path(path).write_text(answers[rule], encoding="utf-8")
            result = json.loads(self.command("compare", self.test, *paths, "--json"))
        test = result["micro_sign_test"]
        truth = read_sets(pathlib.Path(self.test).read_text(encoding="utf-8").splitlines())
        sets = [read_sets(answers[rule].splitlines()) for rule in ("shrunk", other)]
        return [f"{test['first_better']:.0f} : {test['second_better']:.0f}",
                f"{test['p_value']:.1g}", f"{p_of_swaps(truth, *sets):.1g}"]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--seconds", type=float, default=300)
    arguments = parser.parse_args()
    heads = ("set", "method", *RULES, "against", "right only", "p", "p of swaps")
    print_row(*heads)
    print("|" + "---|" * len(heads))
    for name in arguments.sets:
        bench = PairedDecisions(arguments, name, 0)
        for method in arguments.methods:
            if method not in HIERARCHICAL or has_hierarchy(name):
                bench.row(method)


if __name__ == "__main__":
    main()
