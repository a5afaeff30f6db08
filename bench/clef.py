#!/usr/bin/env python3
"""The methods on clef, C by three-fold cross-validation on the training rows.

    python bench/clef.py --program build/margrove --data ../shared/data/clef [--methods flat-svm]

The columns of the set are already standardised by the means and deviations of the training rows;
nothing else is done to them. Prints the chosen C, micro- and macro-F1 on the test rows, the mean
micro-F1 in the folds, and CPU seconds (user + system, all threads) of the whole search with its
final training.
"""

import argparse
import json
import pathlib
import tempfile

from measured_runs import measured_run

RUNS = {
    "flat-svm": ("flat-svm", ["--loss", "hinge"], "0.01,0.03,0.1,0.3,1"),
    "flat-svm, squared hinge": (
        "flat-svm",
        ["--loss", "squared-hinge"],
        "0.001,0.003,0.01,0.03,0.1,0.3,1",
    ),
    "flat-svm, Crammer-Singer": ("flat-svm", ["--multiclass", "crammer-singer"], "0.01,0.03,0.1"),
    "flat-lr": ("flat-lr", [], "0.1,0.3,1,3,10"),
    "hsvm": ("hsvm", [], "0.01,0.03,0.1,0.3"),
    "nhsvm, power:2": ("nhsvm", ["--alpha", "power:2"], "0.03,0.1,0.3,1"),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--program", required=True)
    parser.add_argument("--data", required=True, type=pathlib.Path)
    parser.add_argument("--methods", nargs="+", choices=list(RUNS), default=list(RUNS))
    arguments = parser.parse_args()
    data = arguments.data
    print("| method | C | micro-F1 | macro-F1 | micro-F1 in the folds | CPU s |")
    print("|---|---|---|---|---|---|")
    for name in arguments.methods:
        method, options, grid = RUNS[name]
        with tempfile.TemporaryDirectory() as directory:
            model = str(pathlib.Path(directory) / "model")
            command = [arguments.program, "tune", "--method", method, *options, "--quiet"]
            command += ["--grid", f"C={grid}", "--folds", "3"]
            command += ["--hierarchy", str(data / "hierarchy.txt"), str(data / "train.svm"), model]
            tuned = measured_run(command)
            chosen = next(line for line in tuned.output.splitlines() if line.endswith("*")).split()
            evaluate = [arguments.program, "evaluate", "--json", "--quiet"]
            metrics = json.loads(measured_run([*evaluate, model, str(data / "test.svm")]).output)
        print(
            f"| {name} | {chosen[0]} | {metrics['micro_f1']:.4f} | {metrics['macro_f1']:.4f} | "
            f"{chosen[1]} | {tuned.cpu:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
