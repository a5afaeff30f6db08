#!/usr/bin/env python3
"""What the hierarchy adds by default, beside flat methods whose C is tuned.

bench/default_hierarchy.py --program build/margrove [--data FOLDER] [--sets clef clinc150 ...]
                           [--methods level-svm] [--flat-methods flat-svm flat-lr] [--models FOLDER]

FOLDER (or MARGROVE_DATA) holds the sets. The hierarchical methods get the hierarchy and no other
option but those after a comma (level-svm,--match-names=false); of the flat ones, C is chosen by
`margrove tune` on a fifth of the training rows, in the grid 0.1, 0.3, 1, 3, 10, for flat-lr 1, 3,
10, 30, 100, 300, and for its softmax .03, .1 ... 100. Crammer-Singer and the softmax are flat
methods where every row has one label. Rows of tibkat are English
titles with the first six characters of their Dewey number; of wordnet-nouns, rows with one label
count. A line is the metrics of the test rows, the recall of labels with 2 to 5 training rows, and
CPU seconds, those of tune included. Each hierarchical model is then tested against each flat one by
`margrove compare --flat`: rows that one of the two answers better, with the sign test, and the
Wilcoxon test of hierarchical F1. With --models, models are kept in that folder, and those that are
there are not trained again.
"""

import argparse
import csv
import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hierarchy_tables import PREPROCESSING, kept_rows
from measured_runs import measured_run
from text_features import tibkat_rows

FLAT = {
    "flat-svm": ["--method", "flat-svm", "--grid", "C=0.1,0.3,1,3,10"],
    "crammer-singer": [
        *("--method", "flat-svm", "--multiclass", "crammer-singer"),
        *("--grid", "C=0.1,0.3,1,3,10"),
    ],
    "flat-lr": ["--method", "flat-lr", "--grid", "C=1,3,10,30,100,300"],
    "softmax": [
        *("--method", "flat-lr", "--multiclass", "softmax"),
        *("--grid", "C=0.03,0.1,0.3,1,3,10,30,100"),
    ],
}
SETS = [
    *("clef", "clinc150", "lshtc-small-rdf", "lshtc-small-valtrain", "wordnet-nouns"),
    *("rcv1-subsets", "makupalat", "tibkat"),
]
LABEL_SETS = {"rcv1-subsets", "makupalat"}


@dataclass
class Rows:
    """The files of a set, and the options with which they are read."""

    train: Path
    test: Path
    options: list[str] = field(default_factory=list)
    hierarchy: list[str] = field(default_factory=list)


def written(rows: list[tuple[str, str]], path: Path) -> Path:
    path.write_text("".join(f"{label}\t{text}\n" for label, text in rows), encoding="utf-8")
    return path


def rows_of(name: str, data: Path, folder: Path) -> Rows:
    own = data / name
    if name == "makupalat":
        options = ["--text", "--unknown-labels", "drop"]
        hierarchy = ["--hierarchy", str(own / "ykl.ttl"), "--language", "fi"]
        return Rows(own / "train.tsv", own / "test.tsv", options, hierarchy)
    if name == "tibkat":
        train, test = (
            written(
                [
                    (code.rstrip("."), text)
                    for code, text in tibkat_rows(data, part, "en", is_long=False, length=6)
                ],
                folder / f"tibkat.{part}",
            )
            for part in ("train.jsonl.gz", "dev.jsonl.gz")
        )
        return Rows(train, test, ["--text"], ["--hierarchy-from", "codes"])
    hierarchy = ["--hierarchy", str(own / "hierarchy.txt")]
    if name == "wordnet-nouns":
        train, test = folder / f"{name}.train", folder / f"{name}.test"
        for path, part in ((train, "train.svm"), (test, "test.svm")):
            path.write_text("".join(kept_rows(own / part, single_label=True)), encoding="utf-8")
        return Rows(train, test, [], hierarchy)
    return Rows(own / "train.svm", own / "test.svm", PREPROCESSING.get(name, []), hierarchy)


class Bench:
    def __init__(self, program: str, name: str, rows: Rows, folder: Path) -> None:
        self.program, self.name, self.rows, self.folder = program, name, rows, folder

    def tuned(self, method: str) -> Path:
        options = [*FLAT[method], *self.rows.options, *self.rows.hierarchy]
        return self.trained(method, ["tune", *options, "--holdout", "0.2"])

    def by_default(self, method: str) -> Path:
        name, *own = method.split(",")
        options = ["--method", name, *own, *self.rows.options, *self.rows.hierarchy]
        return self.trained(method, ["train", *options])

    def trained(self, method: str, command: list[str]) -> Path:
        model = self.folder / f"{self.name}.{method}"
        seconds = "kept"
        if not model.exists():
            run = measured_run(
                [self.program, *command, "--quiet", str(self.rows.train), str(model)]
            )
            seconds = f"{run.cpu:.0f}"
        self.line(method, model, seconds)
        return model

    def line(self, method: str, model: Path, seconds: str) -> None:
        bands = model.with_suffix(".bands")
        told = measured_run(
            [self.program, "evaluate", "--json", "--quiet", "--train", str(self.rows.train),
             "--per-frequency", str(bands), str(model), str(self.rows.test)]
        ).output  # fmt: skip
        metrics: dict[str, Any] = json.loads(told)
        first = "micro_f1" if self.name in LABEL_SETS else "accuracy"
        figures = " | ".join(
            f"{metrics[key]:.4f}" for key in (first, "macro_f1", "hierarchical_f1")
        )
        print(f"| `{self.name}` | {method} | {figures} | {recall_of_few(bands)} | {seconds} |",
              flush=True)  # fmt: skip

    def compare(self, hierarchical: Path, flat: Path) -> None:
        command = [self.program, "compare", "--flat", "--json", str(self.rows.test)]
        command += [str(hierarchical), str(flat)]
        compared = json.loads(measured_run(command).output)
        rows, nearer = compared["rows_sign_test"], compared["rows_wilcoxon"]
        names = [path.name.split(".", 1)[1] for path in (hierarchical, flat)]
        print(f"  {names[0]} : {names[1]}: rows answered better {rows['first_better']} : "
              f"{rows['second_better']}, p = {rows['p_value']:.2g}; hierarchical F1 "
              f"p = {nearer['p_value']:.2g}", flush=True)  # fmt: skip


def recall_of_few(bands: Path) -> str:
    """Of labels with two to five training rows, and how many true ones there are."""
    with bands.open(encoding="utf-8", newline="") as file:
        line = next(line for line in csv.DictReader(file) if line["training_rows"] == "2-5")
    return f"{float(line['recall']):.3f} of {line['support']}" if line["support"] != "0" else ""


def measure(program: str, name: str, data: Path, folder: Path, given: argparse.Namespace) -> None:
    bench = Bench(program, name, rows_of(name, data, folder), folder)
    flat = [
        bench.tuned(method)
        for method in given.flat_methods
        if method not in ("crammer-singer", "softmax") or name not in LABEL_SETS
    ]
    for method in given.methods:
        model = bench.by_default(method)
        for other in flat:
            bench.compare(model, other)


def folders(kept: Path | None) -> Iterator[Path]:
    if kept is not None:
        kept.mkdir(parents=True, exist_ok=True)
        yield kept
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--program", default="build/margrove")
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("MARGROVE_DATA", "../shared/data")
    )
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--methods", nargs="*", default=["level-svm"])
    parser.add_argument("--flat-methods", nargs="*", default=list(FLAT), choices=list(FLAT))
    parser.add_argument("--models", type=Path, help="folder in which models are kept")
    given = parser.parse_args()
    print("| set | method | accuracy, or micro-F1 of label sets | macro-F1 | hierarchical F1 "
          "| recall, 2-5 rows | CPU s |")  # fmt: skip
    print("|---|---|---|---|---|---|---|")
    for folder in folders(given.models):
        for name in given.sets:
            measure(given.program, name, given.data, folder, given)


if __name__ == "__main__":
    main()
