#!/usr/bin/env python3
"""The first model from files as people have them: one command each, beside scikit-learn's defaults.

    bench/own_data.py PROGRAM DATA [packages] [makupalat] [tibkat]

PROGRAM is the margrove program, DATA the folder of makupalat and tibkat. The rows of `packages` are
made from `apt-cache dumpavail` of a Debian system: the description of a package, and the path of
its section and kind (programs, development files, documentation, ...), so that equal names stand
below many parents. The peer is LinearSVC with its defaults on TfidfVectorizer's, one class per
path, or one classifier per label where rows have several. All figures are on held-out rows.
"""

import csv
import gzip
import json
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import f1_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import MultiLabelBinarizer
from sklearn.svm import LinearSVC

KINDS = {"-dev": "development", "-doc": "documentation", "-data": "data", "-common": "data",
         "-dbg": "debugging", "-perl": "Perl modules", "-java": "Java libraries"}  # fmt: skip
MOST_PACKAGES = 25_000

Rows = list[tuple[str, list[str]]]  # text and labels


def kind_of(package: str) -> str:
    for ending, kind in KINDS.items():
        if package.endswith(ending):
            return kind
    if package.startswith("python3-"):
        return "Python modules"
    return "libraries" if re.match(r"lib.*\d", package) else "programs"


def packages() -> list[tuple[str, str, str]]:
    """Description, section and kind."""
    listed = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, text=True, check=True)
    found = set()
    for paragraph in listed.stdout.split("\n\n"):
        fields = dict(re.findall(r"^(Package|Section|Description): (.*)$", paragraph, re.M))
        if len(fields) == 3:
            section = fields["Section"].rpartition("/")[2]
            found.add((fields["Description"], section, kind_of(fields["Package"])))
    rows = sorted(found)
    random.Random(0).shuffle(rows)
    return rows[:MOST_PACKAGES]


class Bench:
    def __init__(self, program: str, folder: Path) -> None:
        self.program, self.folder = program, folder

    def measured(self, train: list[str], test: Path) -> dict[str, Any]:
        """Trains with one command, and evaluates the model."""
        model = str(self.folder / "model")
        begin = time.monotonic()
        command = [self.program, "train", *train, model]
        print("  margrove", *command[1:], flush=True)
        subprocess.run(command, check=True, capture_output=True)
        seconds = time.monotonic() - begin
        told = subprocess.run([self.program, "evaluate", model, str(test), "--json"], check=True,
                              capture_output=True, text=True)  # fmt: skip
        metrics: dict[str, Any] = json.loads(told.stdout)
        return metrics | {"seconds": seconds}

    def print_line(self, name: str, figures: dict[str, Any], wanted: list[str]) -> None:
        told = ", ".join(f"{key} {figures[key]:.4f}" for key in wanted)
        print(f"    {name}: {told} ({figures['seconds']:.0f} s)", flush=True)

    def peer(self, train: Rows, test: Rows) -> dict[str, Any]:
        """LinearSVC. A label of the test rows that has no training row is missed."""
        begin = time.monotonic()
        vectorizer = TfidfVectorizer()
        X = vectorizer.fit_transform([text for text, _ in train])
        X_test = vectorizer.transform([text for text, _ in test])
        if all(len(labels) == 1 for _, labels in train + test):
            answers = LinearSVC().fit(X, [labels[0] for _, labels in train]).predict(X_test)
            right = np.mean([a == labels[0] for a, (_, labels) in zip(answers, test, strict=True)])
            return {"accuracy": right, "seconds": time.monotonic() - begin}
        binarizer = MultiLabelBinarizer().fit([labels for _, labels in train + test])
        Y = binarizer.transform([labels for _, labels in train])
        known = np.flatnonzero(Y.sum(axis=0))
        model = OneVsRestClassifier(LinearSVC()).fit(X, Y[:, known])
        truth = binarizer.transform([labels for _, labels in test])
        scores = model.decision_function(X_test)
        chosen = np.zeros_like(truth)
        chosen[:, known] = scores > 0
        best = known[np.argmax(scores, axis=1)]
        return {
            "precision_at_1": truth[np.arange(len(test)), best].mean(),
            "micro_f1": f1_score(truth, chosen, average="micro", zero_division=0),
            "seconds": time.monotonic() - begin,
        }

    def packages(self, _: Path) -> None:
        rows = packages()
        cut = len(rows) * 4 // 5
        parts = {"train": rows[:cut], "test": rows[cut:]}
        for name, part in parts.items():
            with (self.folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(["description", "section", "kind"])
                writer.writerows(part)
        print(f"packages: {len(rows)} rows of CSV, {len({r[1:] for r in rows})} paths")
        options = ["--text-column", "description", "--path-columns", "section,kind"]
        for method in ("nhsvm", "flat-svm"):
            train = ["--method", method, *options, str(self.folder / "train.csv")]
            figures = self.measured(train, self.folder / "test.csv")
            self.print_line(method, figures, ["accuracy"])
        as_rows = {n: [(r[0], [f"{r[1]}/{r[2]}"]) for r in part] for n, part in parts.items()}
        self.print_line("LinearSVC", self.peer(as_rows["train"], as_rows["test"]), ["accuracy"])

    def makupalat(self, data: Path) -> None:
        def rows(name: str) -> Rows:
            lines = (data / "makupalat" / name).read_text(encoding="utf-8").splitlines()
            pairs = [line.rpartition("\t") for line in lines]
            return [(text, re.findall(r"<([^>]*)>", labels)) for text, _, labels in pairs]

        print("makupalat: documents of Annif, a vocabulary in SKOS")
        vocabulary = ["--hierarchy", str(data / "makupalat" / "ykl.ttl")]
        options = ["--text", *vocabulary, "--unknown-labels", "drop", "--language", "fi"]
        for method in ("flat-svm", "hr-svm"):
            train = ["--method", method, *options, str(data / "makupalat" / "train.tsv")]
            figures = self.measured(train, data / "makupalat" / "test.tsv")
            self.print_line(method, figures, ["precision_at_1", "micro_f1"])
        figures = self.peer(rows("train.tsv"), rows("test.tsv"))
        self.print_line("LinearSVC", figures, ["precision_at_1", "micro_f1"])

    def tibkat(self, data: Path) -> None:
        def rows(name: str) -> Rows:
            with gzip.open(data / "tibkat" / name, "rt", encoding="utf-8") as file:
                records = [json.loads(line) for line in file]
            return [(r["title"], [short(r["ddc"][0])]) for r in records
                    if r["language"] == "en" and r["ddc"] and r["ddc"][0][:1].isdigit()
                    ]  # fmt: skip

        def short(code: str) -> str:
            return re.sub(r"^(\d+\.\d\d)\d+$", r"\1", code)

        train, test = rows("train.jsonl.gz"), rows("dev.jsonl.gz")
        for name, part in (("train", train), ("test", test)):
            with (self.folder / f"{name}.jsonl").open("w", encoding="utf-8") as file:
                for title, labels in part:
                    print(json.dumps({"title": title, "ddc": labels[0]}), file=file)
        print("tibkat: JSON lines, codes whose prefixes are the hierarchy")
        columns = ["--text-column", "title", "--label-column", "ddc"]
        for method in ("nhsvm", "flat-svm"):
            options = [*columns, *(["--hierarchy-from", "codes"] if method == "nhsvm" else [])]
            command = ["--method", method, *options, str(self.folder / "train.jsonl")]
            self.print_line(
                method, self.measured(command, self.folder / "test.jsonl"), ["accuracy"]
            )
        self.print_line("LinearSVC", self.peer(train, test), ["accuracy"])


def main() -> None:
    program, data, *names = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(str(Path(program).resolve()), Path(scratch))
        sets: dict[str, Callable[[Path], None]] = {
            "packages": bench.packages, "makupalat": bench.makupalat, "tibkat": bench.tibkat
        }  # fmt: skip
        for name in names or list(sets):
            sets[name](Path(data))


if __name__ == "__main__":
    main()
