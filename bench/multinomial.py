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
import json
import os
import pathlib
import tempfile
from typing import Any

from hierarchy_tables import PREPROCESSING
from measured_runs import measured_run

SETS = ["clef", "clinc150", "lshtc-small-rdf", "lshtc-small-valtrain"]
METHODS = ["flat-lr", "hr-lr"]
KINDS = ["ovr", "softmax"]
METRICS = ["accuracy", "macro_f1", "hierarchical_f1"]


def measure(program: str, folder: pathlib.Path, method: str, model: pathlib.Path) -> dict[str, Any]:
    """Metrics and seconds of the kind that is the model's name, whose predictions are written."""
    options = ["--method", method, "--multiclass", model.name]
    options += ["--hierarchy", str(folder / "hierarchy.txt"), *PREPROCESSING.get(folder.name, [])]
    run = measured_run(
        [program, "train", *options, "--quiet", str(folder / "train.svm"), str(model)]
    )
    test = [str(model), str(folder / "test.svm")]
    answers = model.with_suffix(".answers")
    measured_run([program, "predict", "--quiet", *test, "--output", str(answers)])
    metrics: dict[str, Any] = json.loads(
        measured_run([program, "evaluate", "--json", "--quiet", *test]).output
    )
    values = run.values()
    return metrics | {"answers": answers, "seconds": run.cpu, "stop": values["stop"]}


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
        for method in METHODS:
            with tempfile.TemporaryDirectory() as work:
                results = [
                    measure(given.program, folder, method, pathlib.Path(work) / kind)
                    for kind in KINDS
                ]
                command = [given.program, "compare", "--json", str(folder / "test.svm")]
                answers = [str(result["answers"]) for result in results]
                test = json.loads(measured_run([*command, *answers]).output)["micro_sign_test"]
            for kind, result in zip(KINDS, results, strict=True):
                cells = [*(f"{result[metric]:.4f}" for metric in METRICS)]
                cells.append(f"{result['seconds']:.1f}" + "*" * (result["stop"] != "converged"))
                print(f"| `{name}` | {method}, {kind} | {' | '.join(cells)} | ", end="")
                is_last = kind == KINDS[-1]
                print(
                    f"{test['second_better']:,} : {test['first_better']:,}, p = "
                    f"{test['p_value']:.2g} |" if is_last else "|", flush=True
                )  # fmt: skip


if __name__ == "__main__":
    main()
