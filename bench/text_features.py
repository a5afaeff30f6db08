#!/usr/bin/env python3
"""Terms of texts compared: words, runs of words, runs of characters, and their weights.

    bench/text_features.py PROGRAM DATA [clinc150] [makupalat] [tibkat]

PROGRAM is the margrove program, DATA the folder of the data sets. Each line is one training of
flat-svm with the squared hinge, which is LinearSVC's loss, and the options of the line. All figures
are on held-out rows. CPU seconds are those of the training command, all threads together. The lines
`scikit-learn` are LinearSVC with its defaults on TfidfVectorizer with the same terms, where rows
have one label.
"""

import argparse
import gzip
import json
import re
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.svm import LinearSVC

WORDS = r"(?u)\b\w+\b"
METHOD = ["--method", "flat-svm", "--loss", "squared-hinge"]
CHARACTERS = ["--word-ngrams", "none", "--char-ngrams", "3-5"]
TERMS: dict[str, list[str]] = {
    "words": [],
    "words, BM25": ["--term-weights", "bm25"],
    "words in at least 2 rows": ["--min-document-frequency", "2"],
    "one or two words": ["--word-ngrams", "1-2"],
    "3 to 5 characters": CHARACTERS,
    "words and 3 to 5 characters": ["--char-ngrams", "3-5"],
    "words and 3 to 5 characters, the 50,000 of most rows": [
        "--char-ngrams", "3-5", "--max-terms", "50000",
    ],
    "one or two words and 3 to 5 characters": ["--word-ngrams", "1-2", "--char-ngrams", "3-5"],
    "words, 16,384 hashes": ["--hash-features", "16384"],
    "one or two words and 3 to 5 characters, 65,536 hashes": [
        "--word-ngrams", "1-2", "--char-ngrams", "3-5", "--hash-features", "65536",
    ],
}  # fmt: skip
PEERS: dict[str, dict[str, Any]] = {
    "words": {"ngram_range": (1, 1), "token_pattern": WORDS},
    "one or two words": {"ngram_range": (1, 2), "token_pattern": WORDS},
    "3 to 5 characters": {"ngram_range": (3, 5), "analyzer": "char_wb"},
}

Rows = list[tuple[str, str]]  # label and text


def cpu_seconds(who: int) -> float:
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


class Bench:
    def __init__(self, program: str, folder: Path) -> None:
        self.program, self.model = program, str(folder / "model")

    def compare(self, train: Path, test: Path, options: list[str], wanted: list[str]) -> None:
        for name, terms in TERMS.items():
            begin = cpu_seconds(resource.RUSAGE_CHILDREN)
            command = [self.program, "train", *METHOD, *options, *terms, str(train), self.model]
            subprocess.run(command, check=True, capture_output=True)
            seconds = cpu_seconds(resource.RUSAGE_CHILDREN) - begin
            told = self.told("evaluate", self.model, str(test), "--json")
            metrics = json.loads(told)
            found = re.search(
                r"^(?:vocabulary|hashed terms) +(\d+)", self.told("info", self.model), re.M
            )
            figures = ", ".join(f"{key} {metrics[key]:.4f}" for key in wanted)
            size = Path(self.model).stat().st_size / 1e6
            count = found[1] if found else "no"
            print(f"  {name}: {figures}; {count} terms, {seconds:.0f} CPU s, {size:.0f} MB",
                  flush=True)  # fmt: skip

    def told(self, *arguments: str) -> str:
        done = subprocess.run(
            [self.program, *arguments], check=True, capture_output=True, text=True
        )
        return done.stdout

    def compare_peers(self, train: Rows, test: Rows) -> None:
        for name, terms in PEERS.items():
            begin = time.process_time()
            vectorizer = TfidfVectorizer(sublinear_tf=True, **terms)
            X = vectorizer.fit_transform([text for _, text in train])
            model = LinearSVC().fit(X, [label for label, _ in train])
            seconds = time.process_time() - begin
            answers = model.predict(vectorizer.transform([text for _, text in test]))
            right = np.mean([a == label for a, (label, _) in zip(answers, test, strict=True)])
            print(f"  scikit-learn, {name}: accuracy {right:.4f}; {seconds:.0f} CPU s", flush=True)


def written(rows: Rows, path: Path) -> Path:
    lines = (f"{label}\t{text}\n" for label, text in rows)
    path.write_text("".join(lines), encoding="utf-8")
    return path


def one_label(bench: Bench, folder: Path, train: Rows, test: Rows) -> None:
    print(f"  {len(train)} training rows, {len(test)} test rows")
    files = written(train, folder / "train"), written(test, folder / "test")
    bench.compare(*files, ["--text"], ["accuracy"])
    bench.compare_peers(train, test)


def clinc150(bench: Bench, data: Path, folder: Path) -> None:
    def rows(part: str) -> Rows:
        labels = (data / "clinc150" / f"{part}.svm").read_text().splitlines()
        texts = (data / "clinc150" / f"{part}.txt").read_text(encoding="utf-8").splitlines()
        return [(line.split()[0], text) for line, text in zip(labels, texts, strict=True)]

    print("clinc150: 150 intents of short questions")
    one_label(bench, folder, rows("train"), rows("test"))


def tibkat(bench: Bench, data: Path, folder: Path) -> None:
    def rows(name: str) -> Rows:
        with gzip.open(data / "tibkat" / name, "rt", encoding="utf-8") as file:
            records = [json.loads(line) for line in file]
        return [(r["ddc"][0][:3], " ".join(r["title"].split())) for r in records
                if r["language"] == "en" and r["ddc"] and re.match(r"\d{3}", r["ddc"][0])
                ]  # fmt: skip

    print("tibkat: English titles of a library, Dewey numbers of three digits")
    one_label(bench, folder, rows("train.jsonl.gz"), rows("dev.jsonl.gz"))


def makupalat(bench: Bench, data: Path, _: Path) -> None:
    print("makupalat: Finnish descriptions of web pages, several concepts each")
    vocabulary = ["--hierarchy", str(data / "makupalat" / "ykl.ttl"), "--language", "fi"]
    options = ["--text", *vocabulary, "--unknown-labels", "drop"]
    files = data / "makupalat" / "train.tsv", data / "makupalat" / "test.tsv"
    bench.compare(*files, options, ["precision_at_1", "micro_f1"])


def main() -> None:
    sets: dict[str, Callable[[Bench, Path, Path], None]] = {
        "clinc150": clinc150, "makupalat": makupalat, "tibkat": tibkat
    }  # fmt: skip
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("data", type=Path)
    parser.add_argument("sets", nargs="*", default=list(sets))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(str(Path(given.program).resolve()), Path(scratch))
        for name in given.sets:
            sets[name](bench, given.data, Path(scratch))


if __name__ == "__main__":
    main()
