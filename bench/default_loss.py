#!/usr/bin/env python3
"""The loss that flat-svm has by default: the squared hinge beside the hinge.

bench/default_loss.py --program build/margrove [--data FOLDER] [--sets clef clinc150 ...]

FOLDER (or MARGROVE_DATA) holds the sets, each with train.svm and test.svm; counts become tf-idf.
All other options stay at their defaults, so that nothing is tuned on test rows. Micro-F1 and
macro-F1 of the test rows, CPU seconds of training, and the sign test of `margrove compare` over
the decisions on which the two models differ.
"""

import argparse
import json
import os
import pathlib
import tempfile
from typing import Any

from hierarchy_tables import PREPROCESSING
from measured_runs import measured_run

SETS = [
    *("clef", "clinc150", "lshtc-small-rdf", "lshtc-small-valtrain", "wordnet-nouns-min3"),
    *("rcv1-subsets", "scene", "yeast", "debtags"),
]
LOSSES = ["hinge", "squared-hinge"]


def measure(program: str, folder: pathlib.Path, loss: str, answers: pathlib.Path) -> dict[str, Any]:
    """Metrics and seconds of one loss; the predictions are written to `answers`."""
    model = answers.with_suffix(".model")
    options = ["--method", "flat-svm", "--loss", loss, *PREPROCESSING.get(folder.name, [])]
    command = [program, "train", *options, "--threads", "1", "--quiet"]
    run = measured_run([*command, str(folder / "train.svm"), str(model)])
    test = [str(model), str(folder / "test.svm")]
    measured_run([program, "predict", "--quiet", *test, "--output", str(answers)])
    evaluate = [program, "evaluate", "--json", "--quiet", *test]
    metrics: dict[str, Any] = json.loads(measured_run(evaluate).output)
    return metrics | {"seconds": run.cpu}


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
        with tempfile.TemporaryDirectory() as work:
            answers = [pathlib.Path(work) / loss for loss in LOSSES]
            results = [
                measure(given.program, folder, loss, file)
                for loss, file in zip(LOSSES, answers, strict=True)
            ]
            command = [given.program, "compare", "--json", str(folder / "test.svm")]
            test = json.loads(measured_run([*command, *map(str, answers)]).output)
        cells = [f"{r[metric]:.4f}" for metric in ("micro_f1", "macro_f1") for r in results]
        cells += [f"{r['seconds']:.1f}" for r in results]
        test = test["micro_sign_test"]
        cells.append(
            f"{test['first_better']:,} : {test['second_better']:,}, p = {test['p_value']:.2g}"
        )
        print(f"| `{name}` | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
