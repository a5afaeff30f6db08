#!/usr/bin/env python3
"""The first model from files as people have them: one command each, beside scikit-learn's defaults.

    bench/own_data.py PROGRAM DATA [packages] [makupalat] [tibkat] [genes]

PROGRAM is the margrove program, DATA the folder of makupalat and tibkat. The rows of `packages` are
made from `apt-cache dumpavail` of a Debian system: the description of a package, and the path of
its section and kind (programs, development files, documentation, ...), so that equal names stand
below many parents; `genes` is generated in the form of the Gene Ontology. The peer is LinearSVC
with its defaults on TfidfVectorizer's (on standardised columns for `genes`), one class per path, or
one classifier per label where rows have several; and HiClass with the same classifiers where rows
have one path and it is installed (tools/requirements-bench.txt). All figures are on held-out rows.
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
from sklearn.preprocessing import MultiLabelBinarizer, StandardScaler
from sklearn.svm import LinearSVC

KINDS = {"-dev": "development", "-doc": "documentation", "-data": "data", "-common": "data",
         "-dbg": "debugging", "-perl": "Perl modules", "-java": "Java libraries"}  # fmt: skip
MOST_PACKAGES = 25_000
MOST_TITLES = 20_000
NUM_TERMS, NUM_GENES, NUM_MEASUREMENTS = 300, 4_000, 60

WORDS = ["--word-ngrams", "1", "--char-ngrams", "none"]  # the terms of the peers
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

    def measured(
        self, train: list[str], test: Path, options: tuple[str, ...] = ()
    ) -> dict[str, Any]:
        """Trains with one command, and evaluates the model."""
        model = str(self.folder / "model")
        begin = time.monotonic()
        command = [self.program, "train", *train, model]
        print("  margrove", *command[1:], flush=True)
        subprocess.run(command, check=True, capture_output=True)
        seconds = time.monotonic() - begin
        evaluate = [self.program, "evaluate", model, str(test), "--json", *options]
        told = subprocess.run(evaluate, check=True, capture_output=True, text=True)
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

    def hiclass(self, train: Rows, test: Rows) -> None:
        try:
            from hiclass import LocalClassifierPerParentNode
        except ModuleNotFoundError:
            print("    HiClass: skipped, not installed")
            return
        begin = time.monotonic()
        vectorizer = TfidfVectorizer()
        X = vectorizer.fit_transform([text for text, _ in train])
        paths = np.array([labels[0].split("/") for _, labels in train])
        model = LocalClassifierPerParentNode(local_classifier=LinearSVC(), n_jobs=1).fit(X, paths)
        answers = model.predict(vectorizer.transform([text for text, _ in test]))
        truth = np.array([labels[0].split("/") for _, labels in test])
        figures = {"accuracy": (answers == truth).all(axis=1).mean()}
        self.print_line("HiClass", figures | {"seconds": time.monotonic() - begin}, ["accuracy"])

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
        options = ["--text-column", "description", *WORDS, "--path-columns", "section,kind"]
        for method in ("nhsvm", "flat-svm"):
            train = ["--method", method, *options, str(self.folder / "train.csv")]
            figures = self.measured(train, self.folder / "test.csv")
            self.print_line(method, figures, ["accuracy"])
        as_rows = {n: [(r[0], [f"{r[1]}/{r[2]}"]) for r in part] for n, part in parts.items()}
        self.print_line("LinearSVC", self.peer(as_rows["train"], as_rows["test"]), ["accuracy"])
        self.hiclass(as_rows["train"], as_rows["test"])

    def makupalat(self, data: Path) -> None:
        def rows(name: str) -> Rows:
            lines = (data / "makupalat" / name).read_text(encoding="utf-8").splitlines()
            pairs = [line.rpartition("\t") for line in lines]
            return [(text, re.findall(r"<([^>]*)>", labels)) for text, _, labels in pairs]

        print("makupalat: documents of Annif, a vocabulary in SKOS")
        vocabulary = ["--hierarchy", str(data / "makupalat" / "ykl.ttl")]
        options = ["--text", *WORDS, *vocabulary, "--unknown-labels", "drop", "--language", "fi"]
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
            return [(r["title"], [r["ddc"][0][:3]]) for r in records
                    if r["language"] == "en" and r["ddc"] and r["ddc"][0][:3].isdigit()
                    ]  # fmt: skip

        train, test = rows("train.jsonl.gz")[:MOST_TITLES], rows("dev.jsonl.gz")
        for name, part in (("train", train), ("test", test)):
            with (self.folder / f"{name}.jsonl").open("w", encoding="utf-8") as file:
                for title, labels in part:
                    print(json.dumps({"title": title, "ddc": labels[0]}), file=file)
        num_codes = len({labels[0] for _, labels in train})
        print(f"tibkat: {len(train)} rows of JSON lines, {num_codes} Dewey numbers of three "
              "digits, whose prefixes are the hierarchy")  # fmt: skip
        columns = ["--text-column", "title", *WORDS, "--label-column", "ddc"]
        for method in ("nhsvm", "flat-svm"):
            options = [*columns, *(["--hierarchy-from", "codes"] if method == "nhsvm" else [])]
            command = ["--method", method, *options, str(self.folder / "train.jsonl")]
            self.print_line(
                method, self.measured(command, self.folder / "test.jsonl"), ["accuracy"]
            )
        self.print_line("LinearSVC", self.peer(train, test), ["accuracy"])

    def genes(self, _: Path) -> None:
        ancestors, terms, measured = write_genes(self.folder)
        print("genes: an ontology in OBO, annotations in GAF, measurements in CSV (generated)")
        files = ["--hierarchy", str(self.folder / "go.obo"), "--annotations"]
        files += [str(self.folder / "genes.gaf"), "--id-column", "gene"]
        files += ["--numeric-columns", "m*"]
        held_out = ("--annotations", str(self.folder / "genes.gaf"))
        for method in ("flat-lr", "hr-lr"):
            train = ["--method", method, *files, str(self.folder / "genes-train.csv")]
            figures = self.measured(train, self.folder / "genes-test.csv", held_out)
            self.print_line(method, figures, ["hierarchical_f1", "micro_f1"])
        begin = time.monotonic()
        cut = NUM_GENES * 4 // 5
        binarizer = MultiLabelBinarizer(classes=range(NUM_TERMS))
        Y = binarizer.fit_transform([closed(own, ancestors) for own in terms])
        scaler = StandardScaler().fit(measured[:cut])
        occurring = np.flatnonzero(Y[:cut].any(axis=0) & ~Y[:cut].all(axis=0))
        model = OneVsRestClassifier(LinearSVC()).fit(
            scaler.transform(measured[:cut]), Y[:cut, occurring]
        )
        chosen = np.zeros_like(Y[cut:])
        chosen[:, Y[:cut].all(axis=0)] = 1
        chosen[:, occurring] = model.predict(scaler.transform(measured[cut:]))
        figures = {"hierarchical_f1": f1_score(Y[cut:], chosen, average="micro", zero_division=0)}
        seconds = {"seconds": time.monotonic() - begin}
        self.print_line("LinearSVC, all terms", figures | seconds, ["hierarchical_f1"])


def closed(own: list[int], ancestors: list[set[int]]) -> set[int]:
    """The terms and all terms above them."""
    return set(own).union(*(ancestors[term] for term in own))


def write_genes(folder: Path) -> tuple[list[set[int]], list[list[int]], np.ndarray[Any, Any]]:
    """Writes go.obo, genes.gaf, genes-train.csv and genes-test.csv.

    Returns the ancestors of each term, the terms of each gene, and its measurements: noise and a
    direction of each of its terms and of their ancestors.
    """
    rng = np.random.default_rng(0)
    parents = [
        sorted({int(p) for p in rng.integers(0, t, size=rng.integers(1, 3))}) if t > 0 else []
        for t in range(NUM_TERMS)
    ]
    ancestors: list[set[int]] = []
    for above in parents:
        ancestors.append(set(above).union(*(ancestors[p] for p in above)))
    chance = 1 / (1 + np.arange(NUM_TERMS))[::-1] ** 0.5
    terms = [
        sorted({int(t) for t in rng.choice(NUM_TERMS, rng.integers(1, 4), p=chance / chance.sum())})
        for _ in range(NUM_GENES)
    ]
    directions = rng.normal(size=(NUM_TERMS, NUM_MEASUREMENTS))
    scales = 10 ** rng.uniform(-2, 3, NUM_MEASUREMENTS)
    measured = np.array([
        rng.normal(size=NUM_MEASUREMENTS) + sum(directions[t] for t in closed(own, ancestors))
        for own in terms
    ]) * scales  # fmt: skip
    with (folder / "go.obo").open("w", encoding="utf-8") as file:
        print("format-version: 1.2", file=file)
        for t, above in enumerate(parents):
            print(f"\n[Term]\nid: GO:{t:07}\nname: term {t}", file=file)
            for p in above:
                print(f"is_a: GO:{p:07} ! term {p}", file=file)
    with (folder / "genes.gaf").open("w", encoding="utf-8") as file:
        for gene, own in enumerate(terms):
            for t in own:
                cells = ["DB", f"g{gene}", "symbol", "involved_in", f"GO:{t:07}", "REF", "EXP", "",
                         "P", "", "", "gene", "taxon:1", "20260101", "DB"]  # fmt: skip
                print(*cells, sep="\t", file=file)
    cut = NUM_GENES * 4 // 5
    for name, part in (("train", range(cut)), ("test", range(cut, NUM_GENES))):
        with (folder / f"genes-{name}.csv").open("w", encoding="utf-8", newline="") as csv_file:
            writer = csv.writer(csv_file)
            writer.writerow(["gene", *(f"m{k}" for k in range(NUM_MEASUREMENTS))])
            writer.writerows([f"g{gene}", *map(repr, map(float, measured[gene]))] for gene in part)
    return ancestors, terms, measured


def main() -> None:
    program, data, *names = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(str(Path(program).resolve()), Path(scratch))
        sets: dict[str, Callable[[Path], None]] = {
            "packages": bench.packages, "makupalat": bench.makupalat, "tibkat": bench.tibkat,
            "genes": bench.genes,
        }  # fmt: skip
        for name in names or list(sets):
            sets[name](Path(data))


if __name__ == "__main__":
    main()
