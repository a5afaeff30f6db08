#!/usr/bin/env python3
"""The logistic methods one-vs-rest, their default, beside the softmax of all scores.

bench/multinomial.py --program build/margrove [--data FOLDER] [--sets clef clinc150 ...]

FOLDER (or MARGROVE_DATA) holds the sets, each with train.svm, test.svm and hierarchy.txt, of which
each row has one label; counts become tf-idf. All other options stay at their defaults, so that
nothing is tuned on test rows. Accuracy, macro-F1 and hierarchical F1 of the test rows, CPU seconds
of training, with a star where it did not converge, and the sign test of `margrove compare` over the
rows that only one of the two answers rightly, softmax first.
"""

import argparse
import os
import pathlib
import tempfile

from hierarchy_tables import PREPROCESSING
from measured_runs import sign_test, train_and_measure

SETS = ["clef", "clinc150", "lshtc-small-rdf", "lshtc-small-valtrain"]
METHODS = ["flat-lr", "hr-lr"]
KINDS = ["ovr", "softmax"]
METRICS = ["accuracy", "macro_f1", "hierarchical_f1"]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--program", default="build/margrove")
    parser.add_argument(
        "--data", type=pathlib.Path, default=os.environ.get("MARGROVE_DATA", "../shared/data")
    )
    parser.add_argument("--sets", nargs="+", default=SETS)
    given = parser.parse_args()
    print("| set | method | accuracy | macro-F1 | hierarchical F1 | CPU s | right with one only |")
    print("|---|---|---|---|---|---|---|")
    for name in given.sets:
        folder = pathlib.Path(given.data) / name
        files = folder / "train.svm", folder / "test.svm"
        for method in METHODS:
            with tempfile.TemporaryDirectory() as work:
                models = [pathlib.Path(work) / kind for kind in KINDS]
                results = []
                for model in models:
                    options = ["--method", method, "--multiclass", model.name]
                    options += ["--hierarchy", str(folder / "hierarchy.txt")]
                    options += PREPROCESSING.get(name, [])
                    results.append(train_and_measure(given.program, options, *files, model))
                test = sign_test(given.program, files[1], models)
            for kind, (run, metrics) in zip(KINDS, results, strict=True):
                cells = [f"{metrics[metric]:.4f}" for metric in METRICS]
                cells.append(f"{run.cpu:.1f}" + "*" * (run.values()["stop"] != "converged"))
                print(f"| `{name}` | {method}, {kind} | {' | '.join(cells)} | ", end="")
                is_last = kind == KINDS[-1]
                print(
                    f"{test['second_better']:,} : {test['first_better']:,}, p = "
                    f"{test['p_value']:.2g} |" if is_last else "|", flush=True
                )  # fmt: skip


if __name__ == "__main__":
    main()
