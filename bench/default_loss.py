#!/usr/bin/env python3
"""The loss that flat-svm has by default: the squared hinge beside the hinge.

bench/default_loss.py --program build/margrove [--data FOLDER] [--sets clef clinc150 ...]

FOLDER (or MARGROVE_DATA) holds the sets, each with train.svm and test.svm; counts become tf-idf.
All other options stay at their defaults, so that nothing is tuned on test rows. Micro-F1 and
macro-F1 of the test rows, CPU seconds of training, and the sign test of `margrove compare` over
the decisions on which the two models differ.
"""

import argparse
import os
import pathlib
import tempfile

from hierarchy_tables import PREPROCESSING
from measured_runs import sign_test, train_and_measure

SETS = [
    *("clef", "clinc150", "lshtc-small-rdf", "lshtc-small-valtrain", "wordnet-nouns-min3"),
    *("rcv1-subsets", "scene", "yeast", "debtags"),
]
LOSSES = ["hinge", "squared-hinge"]


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
    print("| set | micro-F1 | | macro-F1 | | CPU s | | decisions right with one only |")
    print("|---|---|---|---|---|---|---|---|")
    print("| | hinge | squared | hinge | squared | hinge | squared | hinge : squared |")
    for name in given.sets:
        folder = pathlib.Path(given.data) / name
        files = folder / "train.svm", folder / "test.svm"
        with tempfile.TemporaryDirectory() as work:
            models = [pathlib.Path(work) / loss for loss in LOSSES]
            results = []
            for model in models:
                options = ["--method", "flat-svm", "--loss", model.name, "--threads", "1"]
                options += PREPROCESSING.get(name, [])
                results.append(train_and_measure(given.program, options, *files, model))
            test = sign_test(given.program, files[1], models)
        cells = [f"{m[metric]:.4f}" for metric in ("micro_f1", "macro_f1") for _, m in results]
        cells += [f"{run.cpu:.1f}" for run, _ in results]
        cells.append(
            f"{test['first_better']:,} : {test['second_better']:,}, p = {test['p_value']:.2g}"
        )
        print(f"| `{name}` | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
