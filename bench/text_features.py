#!/usr/bin/env python3
"""Terms of texts compared: words, runs of words, runs of characters, stems, and their weights.

    bench/text_features.py PROGRAM DATA [clinc150] [makupalat] ... [--only LINE ...]
        [--translations FOLDER]

PROGRAM is the margrove program, DATA the folder of the data sets. Each line is one training of
flat-svm with the options of the line. All figures are on held-out rows. CPU seconds are those of
the training command, all threads together. The lines `scikit-learn` are LinearSVC with its defaults
on TfidfVectorizer with the same terms, where rows have one label.

The sets packages-ja and packages-zh are descriptions of Debian's packages with their sections, of
which `apt-cache dumpavail` knows. They need Translation-ja.bz2 and Translation-zh_CN.bz2 in FOLDER,
from dists/bookworm/main/i18n of a mirror of Debian.
"""

import argparse
import bz2
import gzip
import json
import random
import re
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_union
from sklearn.svm import LinearSVC

WORDS = r"(?u)\b\w+\b"
METHOD = ["--method", "flat-svm"]
WORDS_ONLY = ["--word-ngrams", "1", "--char-ngrams", "none"]
TERMS: dict[str, list[str]] = {
    "words": WORDS_ONLY,
    "words, BM25": [*WORDS_ONLY, "--term-weights", "bm25"],
    "words in at least 2 rows": [*WORDS_ONLY, "--min-document-frequency", "2"],
    "stems": [*WORDS_ONLY, "--stem", "LANGUAGE"],
    "one or two words": ["--char-ngrams", "none"],
    "4 characters": ["--word-ngrams", "none"],
    "3 to 5 characters": ["--word-ngrams", "none", "--char-ngrams", "3-5"],
    "words and 4 characters": ["--word-ngrams", "1"],
    "default: one or two words and 4 characters": [],
    "default, n-grams of one row, too": ["--min-ngram-frequency", "1"],
    "default with stems": ["--stem", "LANGUAGE"],
    "default, the 50,000 of most rows": ["--max-terms", "50000"],
    "one or two words and 3 to 5 characters": ["--char-ngrams", "3-5"],
    "words, 16,384 hashes": [*WORDS_ONLY, "--hash-features", "16384"],
    "default, 65,536 hashes": ["--hash-features", "65536"],
}
PEERS: dict[str, list[dict[str, Any]]] = {
    "words": [{"token_pattern": WORDS}],
    "one or two words": [{"ngram_range": (1, 2), "token_pattern": WORDS}],
    "4 characters": [{"ngram_range": (4, 4), "analyzer": "char_wb"}],
    "one or two words and 4 characters": [
        {"ngram_range": (1, 2), "token_pattern": WORDS},
        {"ngram_range": (4, 4), "analyzer": "char_wb"},
    ],
}  # fmt: skip

Rows = list[tuple[str, str]]  # label and text


def cpu_seconds(who: int) -> float:
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


class Bench:
    def __init__(self, program: str, folder: Path, lines: list[str]) -> None:
        self.program, self.model, self.lines = program, str(folder / "model"), lines

    def compare(
        self, train: Path, test: Path, language: str, options: list[str], wanted: list[str]
    ) -> None:
        for name in self.lines:
            listed = TERMS[name]
            terms = [language if term == "LANGUAGE" else term for term in listed]
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
            parts = [TfidfVectorizer(sublinear_tf=True, **part) for part in terms]
            vectorizer = make_union(*parts)
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


def one_label(bench: Bench, folder: Path, language: str, train: Rows, test: Rows) -> None:
    print(f"  {len(train)} training rows, {len(test)} test rows")
    files = written(train, folder / "train"), written(test, folder / "test")
    bench.compare(*files, language, ["--text"], ["accuracy"])
    if bench.lines == list(TERMS):
        bench.compare_peers(train, test)


def lines_beside(data: Path, part: str) -> Rows:
    """Texts of a set whose labels stand in a file of rows."""
    labels = (data / f"{part}.svm").read_text().splitlines()
    texts = (data / f"{part}.txt").read_text(encoding="utf-8").splitlines()
    return [
        (line.split()[0].split(",")[0], " ".join(text.split()))
        for line, text in zip(labels, texts, strict=True)
    ]


def clinc150(bench: Bench, data: Path, folder: Path) -> None:
    print("clinc150: 150 intents of short questions")
    parts = (lines_beside(data / "clinc150", part) for part in ("train", "test"))
    one_label(bench, folder, "english", *parts)


def wordnet(bench: Bench, data: Path, folder: Path) -> None:
    print("wordnet-nouns: glosses, the first of their hypernyms")
    parts = (lines_beside(data / "wordnet-nouns", part) for part in ("train", "test"))
    one_label(bench, folder, "english", *parts)


def tibkat_rows(
    data: Path, name: str, language: str, *, is_long: bool, length: int | None = 3
) -> Rows:
    """Texts with so many characters of their first Dewey number; None: all."""
    with gzip.open(data / "tibkat" / name, "rt", encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    return [
        (r["ddc"][0][:length], " ".join(f"{r['title']} {r['abstract'] if is_long else ''}".split()))
        for r in records
        if r["language"] == language and r["ddc"] and re.match(r"\d{3}", r["ddc"][0])
    ]


def tibkat(
    bench: Bench, data: Path, folder: Path, language: str, name: str, *, is_long: bool
) -> None:
    kind = "the first 12,000 titles with abstracts" if is_long else "titles"
    print(f"tibkat: {name}, {kind} of a library, Dewey numbers of three digits")
    parts = [
        tibkat_rows(data, part, language, is_long=is_long)[: 12_000 if is_long else None]
        for part in ("train.jsonl.gz", "dev.jsonl.gz")
    ]
    one_label(bench, folder, name, *parts)


def packages(bench: Bench, data: Path, folder: Path, name: str, *, is_long: bool) -> None:
    kind = "descriptions" if is_long else "one-line descriptions"
    print(f"Debian packages: {kind}, {name}, with their sections")
    listed = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, text=True, check=True)
    fields = (
        dict(re.findall(r"^(Package|Section): (.*)$", paragraph, re.M))
        for paragraph in listed.stdout.split("\n\n")
    )
    sections = {each["Package"]: each["Section"] for each in fields if len(each) == 2}
    text = bz2.decompress((data / f"Translation-{name}.bz2").read_bytes()).decode()
    found: dict[str, tuple[str, str]] = {}
    for paragraph in text.split("\n\n"):
        of_package = re.search(r"^Package: (.*)$", paragraph, re.M)
        described = re.search(r"^Description-(?!md5)[^:]*: (.*(?:\n .*)*)", paragraph, re.M)
        if of_package and described and of_package[1] in sections:
            title = described[1].split("\n")[0]
            row = sections[of_package[1]], " ".join((described[1] if is_long else title).split())
            found.setdefault(title, row)
    rows = sorted(found.values())
    random.Random(1).shuffle(rows)
    first = len(rows) * 3 // 4
    one_label(bench, folder, "english", rows[:first], rows[first:])


def makupalat(bench: Bench, data: Path, _: Path) -> None:
    print("makupalat: Finnish descriptions of web pages, several concepts each")
    vocabulary = ["--hierarchy", str(data / "makupalat" / "ykl.ttl"), "--language", "fi"]
    options = ["--text", *vocabulary, "--unknown-labels", "drop"]
    files = data / "makupalat" / "train.tsv", data / "makupalat" / "test.tsv"
    bench.compare(*files, "finnish", options, ["precision_at_1", "ndcg_at_10", "micro_f1"])


def main() -> None:
    sets: dict[str, Callable[[Bench, Path, Path], None]] = {
        "clinc150": clinc150,
        "makupalat": makupalat,
        "wordnet": wordnet,
        "tibkat-en": partial(tibkat, language="en", name="english", is_long=False),
        "tibkat-de": partial(tibkat, language="de", name="german", is_long=False),
        "tibkat-long-en": partial(tibkat, language="en", name="english", is_long=True),
        "tibkat-long-de": partial(tibkat, language="de", name="german", is_long=True),
        "packages-ja": partial(packages, name="ja", is_long=False),
        "packages-long-ja": partial(packages, name="ja", is_long=True),
        "packages-zh": partial(packages, name="zh_CN", is_long=False),
        "packages-long-zh": partial(packages, name="zh_CN", is_long=True),
    }  # fmt: skip
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("data", type=Path)
    of_data = [name for name in sets if not name.startswith("packages")]
    parser.add_argument("sets", nargs="*", default=of_data)
    parser.add_argument("--only", nargs="+", choices=list(TERMS), default=list(TERMS))
    parser.add_argument("--translations", type=Path, default=Path())
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(str(Path(given.program).resolve()), Path(scratch), given.only)
        for name in given.sets:
            is_packages = name.startswith("packages")
            sets[name](bench, given.translations if is_packages else given.data, Path(scratch))


if __name__ == "__main__":
    main()
