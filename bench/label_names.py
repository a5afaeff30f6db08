#!/usr/bin/env python3
"""Names of labels as evidence: option match_names against rows alone.

    bench/label_names.py PROGRAM DATA

PROGRAM is the margrove program, DATA the folder of the data sets, of which `makupalat` has a
vocabulary with names. Each line is one training of flat-svm or flat-lr on all training rows, or on
a part of them, and its answers on the rows of validate.tsv and test.tsv together. `recall@5` is the
share of the true labels with so many training rows that are among the first five answers.
"""

import argparse
import collections
import json
import subprocess
import tempfile
from pathlib import Path

from measured_runs import measured_run

BANDS = [(0, 0), (1, 1), (2, 5), (6, 20), (21, 10**9)]


def labels_of(line: str) -> list[str]:
    return line.rsplit("\t", 1)[1].replace("<", "").replace(">", "").split()


def compare(program: str, vocabulary: Path, train: list[str], test: Path, folder: Path) -> None:
    rows, model = folder / "rows", str(folder / "model")
    rows.write_text("".join(train), encoding="utf-8")
    count = collections.Counter(label for line in train for label in labels_of(line))
    truth = [labels_of(line) for line in test.read_text(encoding="utf-8").splitlines()]
    print(f"  {len(train)} training rows, {len(truth)} test rows")
    options = ["--format", "annif", "--hierarchy", str(vocabulary), "--language", "fi"]
    for method in ("flat-svm", "flat-lr"):
        for name, more in {"rows alone": [], "match_names": ["--match-names"]}.items():
            given = [*options, *more, "--unknown-labels", "drop", "--quiet"]
            run = measured_run(
                [program, "train", "--method", method, *given, str(rows), model]
            )
            told = run_of(program, "evaluate", "--quiet", "--json", model, str(test))
            metrics = json.loads(told)
            top = run_of(program, "predict", "--quiet", "--top", "5", model, str(test))
            answers = [set(line.replace(",", "\t").split("\t")) for line in top.splitlines()]
            recall = [recall_of(truth, answers, count, *band) for band in BANDS]
            wanted = ["precision_at_1", "precision_at_5", "ndcg_at_10", "micro_f1", "macro_f1"]
            figures = ", ".join(f"{key} {metrics[key]:.3f}" for key in wanted if key in metrics)
            fitted = {key: value for key, value in run.values().items() if key.endswith("_weight")}
            print(f"  {method}, {name}: {figures}; recall@5 {', '.join(recall)}; {fitted}; "
                  f"{run.cpu:.0f} CPU s, {run.megabytes:.0f} MB", flush=True)  # fmt: skip


def run_of(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def recall_of(
    truth: list[list[str]],
    answers: list[set[str]],
    count: collections.Counter[str],
    least: int,
    most: int,
) -> str:
    """Of labels with so many training rows."""
    found = [
        label in answer
        for labels, answer in zip(truth, answers, strict=True)
        for label in labels
        if least <= count[label] <= most
    ]
    name = f"{least}" if least == most else f"{least}-{most}" if most < 10**9 else f"{least}+"
    return f"{name} ({len(found)}) {sum(found) / max(len(found), 1):.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("data", type=Path)
    given = parser.parse_args()
    program, data = str(Path(given.program).resolve()), given.data / "makupalat"
    parts = {
        part: (data / f"{part}.tsv").read_text(encoding="utf-8").splitlines(keepends=True)
        for part in ("train", "validate", "test")
    }
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        test = folder / "test"
        test.write_text("".join([*parts["validate"], *parts["test"]]), encoding="utf-8")
        print("makupalat: Finnish descriptions of web pages with concepts of YKL")
        for step in (1, 8):
            compare(program, data / "ykl.ttl", parts["train"][::step], test, folder)


if __name__ == "__main__":
    main()
