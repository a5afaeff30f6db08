#!/usr/bin/env python3
"""All methods for label sets of a tree or DAG at their defaults, with paired tests.

    bench/label_set_methods.py PROGRAM DATA [SET ...] [--methods flat-svm ...] [--seconds 300]
                               [--models FOLDER]

DATA is a folder with a folder for each set, as for bench/automatic_choice.py, whose sets these are.
Each method has its default decision: thresholds that held-out rows choose, or an offset for the
methods that are trained on whole sets. A line is the metrics of test rows, the relative gap and the
CPU seconds of training. Each hierarchical method is then tested against flat-svm and flat-lr by
`margrove compare --flat`: rows that one of the two answers better, with the sign test, and the
Wilcoxon test of hierarchical F1. --seconds, of the wall, limit each training; what they end is
a star. With --models, models are kept in that folder, and those that are there are not trained
again.
"""

import argparse
import json
import pathlib
import tempfile

from automatic_choice import SETS as ALL_SETS
from automatic_choice import Bench, has_hierarchy, has_one_label, print_row
from measured_runs import measured_run

FLAT = ("flat-svm", "flat-lr")
HIERARCHICAL = ("level-svm", "hr-svm", "hr-lr", "kernel-ridge", "hsvm", "nhsvm", "shared-svm")
METRICS = ("micro_f1", "macro_f1", "instance_f1", "hierarchical_f1")
SETS = [name for name in ALL_SETS if has_hierarchy(name) and not has_one_label(name)]


class Methods(Bench):
    """The models of one set."""

    def __init__(self, arguments: argparse.Namespace, name: str, folder: pathlib.Path) -> None:
        super().__init__(arguments, name, 0)
        self.models = folder
        self.metrics: dict[str, dict[str, float]] = {}

    def path(self, method: str) -> pathlib.Path:
        return self.models / f"{self.name}.{method}"

    def fit(self, method: str) -> None:
        """The model, and what training told beside it."""
        told = self.path(method).with_name(self.path(method).name + ".json")
        if told.exists():
            return
        limit = ["--time-limit-seconds", str(self.arguments.seconds), "--quiet"]
        run = measured_run(
            [self.arguments.program, "train", "--method", method, *self.options, *limit,
             self.train, str(self.path(method))]
        )  # fmt: skip
        values = run.values()
        told.write_text(json.dumps({"cpu": run.cpu, "stop": values["stop"],
                                    "gap": values.get("relative_gap", "")}))  # fmt: skip

    def show(self, method: str) -> None:
        told = json.loads(self.path(method).with_name(f"{self.name}.{method}.json").read_text())
        found = json.loads(
            measured_run(
                [self.arguments.program, "evaluate", "--json", "--quiet", str(self.path(method)),
                 self.test]
            ).output
        )  # fmt: skip
        gap = f"{float(told['gap']):.0e}" if told["gap"] else ""
        star = "*" if told["stop"] == "time_limit" else ""
        figures = [f"{found[metric]:.4f}" for metric in METRICS]
        print_row(f"`{self.name}`", method + star, *figures, gap, f"{told['cpu']:.1f}",
                  *(self.compared(method, flat) for flat in FLAT))  # fmt: skip

    def compared(self, method: str, flat: str) -> str:
        if method in FLAT or not self.path(flat).exists():
            return ""
        command = [self.arguments.program, "compare", "--flat", "--json", self.test]
        command += [str(self.path(method)), str(self.path(flat))]
        tests = json.loads(measured_run(command).output)
        rows, nearer = tests["rows_sign_test"], tests["rows_wilcoxon"]
        return (
            f"{rows['first_better']} : {rows['second_better']}, p = {rows['p_value']:.1g}; "
            f"hF p = {nearer['p_value']:.1g}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--methods", nargs="+", default=[*FLAT, *HIERARCHICAL])
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--models", type=pathlib.Path)
    arguments = parser.parse_args()
    print_row("set", "method", "micro-F1", "macro-F1", "instance F1", "hierarchical F1", "gap",
              "CPU s", *(f"rows better : worse than {flat}" for flat in FLAT))  # fmt: skip
    print("|" + "---|" * (6 + len(METRICS)))
    with tempfile.TemporaryDirectory() as folder:
        models = arguments.models or pathlib.Path(folder)
        models.mkdir(parents=True, exist_ok=True)
        for name in arguments.sets:
            bench = Methods(arguments, name, models)
            for method in arguments.methods:
                bench.fit(method)
                bench.show(method)


if __name__ == "__main__":
    main()
