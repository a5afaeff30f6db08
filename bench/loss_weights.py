#!/usr/bin/env python3
"""Scores on test rows with C around its default, as a table.

    bench/loss_weights.py PROGRAM DATA [SET ...] [--methods flat-svm ...] [--seconds 100]

DATA is a folder with a folder for each set, as for bench/automatic_choice.py, whose sets, metrics
and methods these are. A column for each factor of the default of C. --seconds is the wall time
after which a training ends; its score is then in brackets.
"""

import argparse
import json
import pathlib
import subprocess

from automatic_choice import REPEATS, Bench, methods_of, print_row

FACTORS = (0.1, 0.3, 1, 3, 10)


class Scores(Bench):
    """Trainings on one set."""

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--methods", nargs="+")
    parser.add_argument("--seconds", type=float, default=100)
    arguments = parser.parse_args()
    print_row("set", "method", "default C", *(f"C × {factor:g}" for factor in FACTORS))
    print("|" + "---|" * (len(FACTORS) + 3))
    for name in arguments.sets:
        repeats = range(REPEATS if name.startswith("uci-") else 1)
        benches = [Scores(arguments, name, repeat) for repeat in repeats]
        for method, options in methods_of(name).items():
            if method in ("kernel-ridge", "average-mkl"):
                continue
            if arguments.methods and method not in arguments.methods:
                continue
            defaults = [bench.default_C(options) for bench in benches]
            cells = []
            for factor in FACTORS:
                runs = [
                    bench.score(options, factor * C)
                    for bench, C in zip(benches, defaults, strict=True)
                ]
                mean = sum(score for score, _ in runs) / len(runs)
                converged = all(is_converged for _, is_converged in runs)
                cells.append(f"{mean:.3f}" if converged else f"({mean:.3f})")
            print_row(f"`{name}`", method, f"{defaults[0]:g}", *cells)


if __name__ == "__main__":
    main()
