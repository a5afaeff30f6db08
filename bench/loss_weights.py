#!/usr/bin/env python3
"""Scores on test rows with C around its default, as a table.

    bench/loss_weights.py PROGRAM DATA [SET ...] [--methods flat-svm ...] [--seconds 100]
                          [--folds 5] [--rows 1000] [--weights 0.1 1 10]

DATA is a folder with a folder for each set, as for bench/automatic_choice.py, whose sets, metrics
and methods these are. Methods of several kernels are measured where --methods names them, also on
the columns mfeat-fac, mfeat-fou, mfeat-kar, mfeat-mor, mfeat-pix and mfeat-zer of mfeat, of which
600 random rows are for training. --rows takes so many random training rows of other sets. A column
for each factor of the default of C, or for each C of --weights. With --folds, scores are those of a
cross-validation on the training rows, and test rows are not used. --seconds is the wall time after
which a training ends; its score is then in brackets.
"""

import argparse
import json
import pathlib
import random
import re
import subprocess

from automatic_choice import REPEATS, Bench, methods_of, print_row

FACTORS = (0.1, 0.3, 1, 3, 10)
OF_KERNELS = ("average-mkl", "simple-mkl", "lp-mkl", "spn-mkl")
MFEAT_TRAINING_ROWS = 600


class Scores(Bench):
    """Trainings on one set."""

    def __init__(self, arguments: argparse.Namespace, name: str, repeat: int) -> None:
        super().__init__(arguments, name, repeat)
        if name.startswith("mfeat-"):
            self.write_mfeat()
        elif arguments.rows:
            lines = pathlib.Path(self.train).read_text(encoding="utf-8").splitlines(keepends=True)
            random.Random(0).shuffle(lines)
            path = pathlib.Path(self.folder.name) / "train"
            path.write_text("".join(lines[: arguments.rows]), encoding="utf-8")
            self.train = str(path)

    def write_mfeat(self) -> None:
        from raw_columns import table_of, write_rows  # which needs NumPy and scikit-learn

        X, y = table_of(pathlib.Path(self.arguments.data), self.name)
        order = list(range(len(y)))
        random.Random(0).shuffle(order)
        folder = pathlib.Path(self.folder.name)
        self.train, self.test = str(folder / "train"), str(folder / "test")
        for path, rows in (
            (self.train, order[:MFEAT_TRAINING_ROWS]),
            (self.test, order[MFEAT_TRAINING_ROWS:]),
        ):
            write_rows(pathlib.Path(path), X[rows], y[rows])

    def command(self, *parts: str) -> str:
        command = [self.arguments.program, *parts]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def default_C(self, options: list[str]) -> float:
        self.train_with(options)
        facts = (line.rsplit(maxsplit=1) for line in self.command("info", self.model).splitlines())
        return next(float(fact[1]) for fact in facts if fact and fact[0].strip() == "option C")

    def train_with(self, options: list[str]) -> bool:
        """Whether training converged."""
        limit = ["--time-limit-seconds", str(self.arguments.seconds)]
        command = ["train", *options, *self.options, *limit, "--quiet", self.train, self.model]
        return "converged" in self.command(*command)

    def score(self, options: list[str], C: float) -> tuple[float, bool]:
        converged = self.train_with([*options, "--C", repr(C)])
        out = json.loads(self.command("evaluate", self.model, self.test, "--json"))
        return out[self.metric], converged

    def fold_scores(self, options: list[str], weights: list[float]) -> list[float]:
        """Means over the folds, one for each C."""
        grid = "C=" + ",".join(map(repr, weights))
        out = self.command(
            "tune", *options, *self.options, "--grid", grid, "--folds", str(self.arguments.folds),
            "--metric", self.metric, "--quiet", self.train, self.model,
        )  # fmt: skip
        found = dict(re.findall(r"^(\S+)\t(\S+) \(", out, re.MULTILINE))
        scores = {float(C): float(score) for C, score in found.items()}
        return [scores[min(scores, key=lambda known: abs(known - C))] for C in weights]


def cells_of(benches: list[Scores], options: list[str], defaults: list[float]) -> list[str]:
    """Means over the benches, one for each factor or weight."""
    given = benches[0].arguments.weights
    weights = [given or [factor * C for factor in FACTORS] for C in defaults]
    pairs = list(zip(benches, weights, strict=True))
    if benches[0].arguments.folds:
        found = [bench.fold_scores(options, own) for bench, own in pairs]
        return [f"{sum(scores) / len(scores):.3f}" for scores in zip(*found, strict=True)]
    cells = []
    for k in range(len(weights[0])):
        runs = [bench.score(options, own[k]) for bench, own in pairs]
        mean = sum(score for score, _ in runs) / len(runs)
        converged = all(is_converged for _, is_converged in runs)
        cells.append(f"{mean:.3f}" if converged else f"({mean:.3f})")
    return cells


def methods_for(name: str, chosen: list[str] | None) -> dict[str, list[str]]:
    """Names and options of the methods to measure."""
    methods = {key: value for key, value in methods_of(name).items() if key != "kernel-ridge"}
    methods |= {key: ["--method", key] for key in OF_KERNELS}
    return {
        key: value
        for key, value in methods.items()
        if (key in chosen if chosen else key not in OF_KERNELS)
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--methods", nargs="+")
    parser.add_argument("--seconds", type=float, default=100)
    parser.add_argument("--folds", type=int, default=0)
    parser.add_argument("--rows", type=int, default=0)
    parser.add_argument("--weights", type=float, nargs="+")
    arguments = parser.parse_args()
    heads = [f"C × {factor:g}" for factor in FACTORS]
    if arguments.weights:
        heads = [f"C = {C:g}" for C in arguments.weights]
    print_row("set", "method", "default C", *heads)
    print("|" + "---|" * (len(heads) + 3))
    for name in arguments.sets:
        repeats = range(REPEATS if name.startswith("uci-") else 1)
        benches = [Scores(arguments, name, repeat) for repeat in repeats]
        for method, options in methods_for(name, arguments.methods).items():
            defaults = [bench.default_C(options) for bench in benches]
            cells = cells_of(benches, options, defaults)
            print_row(f"`{name}`", method, f"{defaults[0]:g}", *cells)


if __name__ == "__main__":
    main()
