#!/usr/bin/env python3
"""Names of labels as evidence: option match_names against rows alone.

    bench/label_names.py PROGRAM DATA [makupalat] [wordnet] [clinc150] [intents]

PROGRAM is the margrove program, DATA the folder of the data sets. Each line is one training, on all
training rows or on every eighth, and its answers on held-out rows. `intents` are those of clinc150
as labels that are their own names, with 3, 5, 10 and all 100 training rows of each. `recall@5` is
the share of the true labels with so many training rows (their number in brackets) that are among
the first five answers.
"""

import argparse
import json
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from measured_runs import measured_run

BANDS = [(0, 0), (1, 1), (2, 5), (6, 20), (21, 10**9)]
METRICS = ["precision_at_1", "precision_at_5", "ndcg_at_10", "micro_f1", "macro_f1"]
Rows = list[tuple[list[str], str]]  # labels and text


class Bench:
    def __init__(self, program: str, folder: Path, methods: list[str]) -> None:
        self.program, self.folder, self.methods = program, folder, methods

    def compare(self, options: list[str], train: Rows, test: Rows) -> None:
        count = Counter(label for labels, _ in train for label in labels)
        print(f"  {len(train)} training rows, {len(test)} test rows")
        files = self.written("train", train), self.written("test", test)
        for method in self.methods:
            for name, switch in {
                "rows alone": "--match-names=false",
                "names": "--match-names",
            }.items():
                self.line(f"{method}, {name}", ["--method", method, switch, *options], files, test,
                          count)  # fmt: skip

    def line(
        self, name: str, options: list[str], files: tuple[str, str], test: Rows, count: Counter[str]
    ) -> None:
        model = str(self.folder / "model")
        run = measured_run([self.program, "train", "--quiet", *options, files[0], model])
        metrics = json.loads(self.told("evaluate", "--quiet", "--json", model, files[1]))
        top = self.told("predict", "--quiet", "--top", "5", model, files[1]).splitlines()
        answers = [set(line.replace(",", "\t").split("\t")) for line in top]
        figures = ", ".join(f"{key} {metrics[key]:.3f}" for key in METRICS if key in metrics)
        recall = ", ".join(recall_of(test, answers, count, *band) for band in BANDS)
        fitted = {k: v for k, v in run.values().items() if k in ("name_weight", "unseen_score")}
        print(f"  {name}: {figures}; recall@5 {recall}; {fitted}; {run.cpu:.0f} CPU s, "
              f"{run.megabytes:.0f} MB", flush=True)  # fmt: skip

    def told(self, *arguments: str) -> str:
        done = subprocess.run(
            [self.program, *arguments], check=True, capture_output=True, text=True
        )
        return done.stdout

    def written(self, name: str, rows: Rows) -> str:
        path = self.folder / name
        lines = (f"{','.join(labels)}\t{text}\n" for labels, text in rows)
        path.write_text("".join(lines), encoding="utf-8")
        return str(path)


def recall_of(
    test: Rows, answers: list[set[str]], count: Counter[str], least: int, most: int
) -> str:
    """Of labels with so many training rows."""
    found = [
        label in answer
        for (labels, _), answer in zip(test, answers, strict=True)
        for label in labels
        if least <= count[label] <= most
    ]
    name = f"{least}" if least == most else f"{least}-{most}" if most < 10**9 else f"{least}+"
    return f"{name} ({len(found)}) {sum(found) / max(len(found), 1):.3f}"


def makupalat(bench: Bench, data: Path) -> None:
    print("makupalat: Finnish descriptions of web pages with concepts of YKL")

    def rows(part: str) -> Rows:
        lines = (data / "makupalat" / f"{part}.tsv").read_text(encoding="utf-8").splitlines()
        pairs = (line.rsplit("\t", 1) for line in lines)
        return [(uris.replace("<", "").replace(">", "").split(), text) for text, uris in pairs]

    vocabulary = ["--hierarchy", str(data / "makupalat" / "ykl.ttl"), "--language", "fi"]
    options = ["--text", *vocabulary, "--unknown-labels", "drop"]
    train, test = rows("train"), rows("validate") + rows("test")
    for step in (1, 8):
        bench.compare(options, train[::step], test)


def rows_of(folder: Path, part: str) -> Rows:
    """Rows of a set whose labels stand in files of rows."""
    labels = (folder / f"{part}.svm").read_text().splitlines()
    texts = (folder / f"{part}.txt").read_text(encoding="utf-8").splitlines()
    return [
        (line.split()[0].split(","), " ".join(text.split()))
        for line, text in zip(labels, texts, strict=True)
    ]


def edges_of(folder: Path) -> list[list[str]]:
    return [line.split() for line in (folder / "hierarchy.txt").read_text().splitlines()]


def names_of(folder: Path) -> dict[str, str]:
    lines = (folder / "labels.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.split("\t") for line in lines)


def intents(bench: Bench, data: Path) -> None:
    print("clinc150: intents as labels")
    folder = data / "clinc150"
    names = names_of(folder)
    tree = bench.folder / "tree"
    tree.write_text("".join(f"{names[p]} {names[c]}\n" for p, c in edges_of(folder)))
    train, test = (
        [([names[label] for label in labels], text) for labels, text in rows_of(folder, part)]
        for part in ("train", "test")
    )
    for most in (3, 5, 10, 100):
        seen: Counter[str] = Counter()
        few = []
        for labels, text in train:
            seen.update(labels)
            if seen[labels[0]] <= most:
                few.append((labels, text))
        bench.compare(["--text", "--hierarchy", str(tree)], few, test)


def beside(bench: Bench, data: Path, name: str) -> None:
    """A set whose labels stand in files of rows and have names in labels.txt."""
    print(f"{name}: names of labels.txt as an ontology")
    edges = edges_of(data / name)
    terms = ["format-version: 1.2\n"]
    for node, text in names_of(data / name).items():
        parents = "".join(f"is_a: {parent}\n" for parent, child in edges if child == node)
        terms.append(f"\n[Term]\nid: {node}\nname: {text.replace('_', ' ')}\n{parents}")
    ontology = bench.folder / "labels.obo"
    ontology.write_text("".join(terms), encoding="utf-8")
    train, test = rows_of(data / name, "train"), rows_of(data / name, "test")
    for step in (1, 8):
        bench.compare(["--text", "--hierarchy", str(ontology)], train[::step], test)


def main() -> None:
    sets: dict[str, Callable[[Bench, Path], None]] = {
        "makupalat": makupalat,
        "wordnet": lambda bench, data: beside(bench, data, "wordnet-nouns"),
        "clinc150": lambda bench, data: beside(bench, data, "clinc150"),
        "intents": intents,
    }
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("data", type=Path)
    parser.add_argument("sets", nargs="*", default=list(sets))
    parser.add_argument("--methods", nargs="+", default=["flat-svm", "flat-lr"])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(str(Path(given.program).resolve()), Path(scratch), given.methods)
        for name in given.sets:
            sets[name](bench, given.data)


if __name__ == "__main__":
    main()
