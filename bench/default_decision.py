#!/usr/bin/env python3
"""The decisions instance, threshold and auto of rows with several labels, as a table.

    bench/default_decision.py PROGRAM DATA [SET ...] [--methods flat-svm ...] [--seconds 300]

DATA is a folder with a folder for each set, as for bench/automatic_choice.py, whose sets and
methods these are. Cells hold micro-F1 / macro-F1 / instance F1 on test rows at the methods'
defaults; the last column names the rule that auto took. --seconds is the wall time after which a
training ends.
"""

import argparse
import json
import pathlib
import subprocess

from automatic_choice import FLAT, HIERARCHICAL, Bench, has_hierarchy, print_row

RULES = ("instance", "threshold", "auto")
METHODS = FLAT | {name: HIERARCHICAL[name] for name in ("hr-svm", "hr-lr")}
METRICS = ("micro_f1", "macro_f1", "instance_f1")


class Decisions(Bench):
    """Trainings on one set."""

    def command(self, *parts: str) -> str:
        command = [self.arguments.program, *parts]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def metrics(self, options: list[str], rule: str) -> dict[str, float]:
        """Of a training with the rule, whose model stays."""
        limit = ["--time-limit-seconds", str(self.arguments.seconds), "--quiet"]
        self.command("train", *options, *self.options, "--decision", rule, *limit, self.train,
                     self.model)  # fmt: skip
        told = self.command("evaluate", self.model, self.test, "--json")
        found: dict[str, float] = json.loads(told)
        return found

    def scores(self, options: list[str], rule: str) -> str:
        found = self.metrics(options, rule)
        return " / ".join(f"{found[metric]:.4f}" for metric in METRICS)

    def rule(self) -> str:
        facts = (line.split() for line in self.command("info", self.model).splitlines())
        return next(fact[-1] for fact in facts if fact and fact[0] == "decision")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--seconds", type=float, default=300)
    arguments = parser.parse_args()
    print_row("set", "method", *RULES, "taken")
    print("|" + "---|" * (len(RULES) + 3))
    for name in arguments.sets:
        bench = Decisions(arguments, name, 0)
        for method in arguments.methods:
            if method in HIERARCHICAL and not has_hierarchy(name):
                continue
            cells = [bench.scores(METHODS[method], rule) for rule in RULES]
            print_row(f"`{name}`", method, *cells, bench.rule())


if __name__ == "__main__":
    main()
