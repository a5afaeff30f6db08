#!/usr/bin/env python3
"""Vectors of texts beside their terms: option vectors against terms alone.

    bench/text_vectors.py PROGRAM DATA [clinc150] [tibkat] [tibkat3] [--model MODEL] [--paths]

PROGRAM is the margrove program, DATA the folder of the data sets, MODEL what `--vectors` takes.
The sets are short questions with 150 intents, and English titles with their Dewey numbers: the
first six characters of these, or three digits. Each line is one training with the options of the
line. All figures are on held-out rows. CPU seconds are those of the training command; the vectors
are made before, which the first line of a set measures. The lines `scikit-learn` are LinearSVC on
the same terms (TfidfVectorizer) and vectors. With --paths, `flat-svm` also learns the first digits
of the numbers, and a number's score gets a share of the scores of its first digits.
"""

import argparse
import json
import re
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from margrove import FlatSVC, TextFeatures
from margrove.vectors import TextEncoder
from measured_runs import measured_run
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_union
from sklearn.svm import LinearSVC
from text_features import PEERS, Rows, lines_beside, tibkat_rows, written

FLAT = ["--method", "flat-svm"]
CODES = ["--hierarchy-from", "codes"]
TREE = ["--method", "nhsvm", "--alpha", "maxmin", "--C", "1", *CODES]
VECTORS = ["--vectors", "MODEL"]
LINES: dict[str, list[str]] = {
    "flat-svm, terms": FLAT,
    "flat-svm, terms and vectors": [*FLAT, *VECTORS],
    "flat-svm, terms and vectors, share .5": [*FLAT, *VECTORS, "--vector-share", "0.5"],
    "flat-svm, terms and vectors, share .85": [*FLAT, *VECTORS, "--vector-share", "0.85"],
    "level-svm, terms and vectors": ["--method", "level-svm", *CODES, *VECTORS],
    "nhsvm, terms": TREE,
    "nhsvm, terms and vectors": [*TREE, *VECTORS],
    "hr-svm, terms and vectors": ["--method", "hr-svm", *CODES, *VECTORS],
    "top-down-svm, terms and vectors": ["--method", "top-down-svm", *CODES, *VECTORS],
}


def numbers_of(data: Path, part: str, length: int) -> Rows:
    """English titles with so many characters of their first Dewey number."""
    rows = tibkat_rows(data, part, "en", is_long=False, length=None)
    numbers = (label for label, _ in rows)
    return [
        (number[:length].rstrip("."), text)
        for number, (_, text) in zip(numbers, rows, strict=True)
        if re.fullmatch(r"\d{3}(\.\d+)?", number)
    ]


def clinc(data: Path, part: str) -> Rows:
    return lines_beside(data / "clinc150", "test" if part.startswith("dev") else "train")


def compare_peer(train: Rows, test: Rows, encoder: TextEncoder, share: float) -> None:
    terms = PEERS["one or two words and 4 characters"]
    begin = time.process_time()
    vectorizer = make_union(*(TfidfVectorizer(sublinear_tf=True, min_df=2, **t) for t in terms))
    for name, part in (("train", train), ("test", test)):
        texts = [text for _, text in part]
        X = vectorizer.fit_transform(texts) if name == "train" else vectorizer.transform(texts)
        E = encoder.encode(texts) * np.sqrt(share)
        rows = sp.hstack([X * np.sqrt((1 - share) / len(terms)), sp.csr_array(E)]).tocsr()
        if name == "train":
            model = LinearSVC().fit(rows, [label for label, _ in part])
            seconds = time.process_time() - begin
        else:
            right = np.mean(model.predict(rows) == np.array([label for label, _ in part]))
            print(f"  scikit-learn, terms and vectors: accuracy {right:.4f}; {seconds:.0f} CPU s",
                  flush=True)  # fmt: skip


def first_digits(number: str) -> list[str]:
    digits = number.replace(".", "")
    return [f"{digits[:k]}*" for k in range(1, min(len(digits), 3) + 1)]


def compare_paths(train: Rows, test: Rows, model: str) -> None:
    """Sums of the scores of a number and of its one, two and three first digits."""
    texts = TextFeatures(vectors=model)
    sets = [{number, *first_digits(number)} for number, _ in train]
    machine = FlatSVC(text_features=texts).fit([text for _, text in train], sets)
    scores = machine.decision_function([text for _, text in test])
    column = {str(name): j for j, name in enumerate(machine.classes_)}
    numbers = sorted({number for number, _ in train})
    right = np.array([number for number, _ in test])
    of_numbers = scores[:, [column[number] for number in numbers]]
    above = np.zeros_like(of_numbers)
    for j, number in enumerate(numbers):
        above[:, j] = scores[:, [column[d] for d in first_digits(number)]].sum(axis=1)
    for share in (0, 0.05, 0.1, 0.2, 0.3):
        best = np.array(numbers)[(of_numbers + share * above).argmax(axis=1)]
        print(f"  flat-svm with {share} of the first digits: accuracy {np.mean(best == right):.4f}",
              flush=True)  # fmt: skip


def compare(
    program: str, folder: Path, model: str, train: Rows, test: Rows, has_tree: bool
) -> None:
    with TextEncoder(model) as encoder:
        begin = time.process_time()
        for part in (train, test):
            encoder.encode([text for _, text in part])
        seconds = time.process_time() - begin
        print(f"  {len(train)} training rows, {len({label for label, _ in train})} labels, "
              f"{len(test)} test rows; vectors: {seconds:.0f} CPU s", flush=True)  # fmt: skip
        files = written(train, folder / "train"), written(test, folder / "test")
        for name, listed in LINES.items():
            if CODES[0] in listed and not has_tree:
                continue
            options = [model if option == "MODEL" else option for option in listed]
            result = str(folder / "model")
            run = measured_run(
                [program, "train", "--quiet", "--text", *options, str(files[0]), result]
            )
            told = measured_run([program, "evaluate", result, str(files[1]), "--json"])
            metrics = json.loads(told.output)
            print(f"  {name}: accuracy {metrics['accuracy']:.4f}; {run.cpu:.0f} CPU s, "
                  f"{Path(result).stat().st_size / 1e6:.0f} MB", flush=True)  # fmt: skip
        compare_peer(train, test, encoder, share=0.7)


def main() -> None:
    sets = {
        "clinc150": (clinc, False),
        "tibkat": (lambda data, part: numbers_of(data, part, 6), True),
        "tibkat3": (lambda data, part: numbers_of(data, part, 3), True),
    }
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("data", type=Path)
    parser.add_argument("sets", nargs="*", default=list(sets))
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--paths", action="store_true")
    given = parser.parse_args()
    for name in given.sets:
        rows, has_tree = sets[name]
        print(name)
        with tempfile.TemporaryDirectory() as scratch:
            program = str(Path(given.program).resolve())
            train, test = (rows(given.data, part) for part in ("train.jsonl.gz", "dev.jsonl.gz"))
            compare(program, Path(scratch), given.model, train, test, has_tree)
            if has_tree and given.paths:
                compare_paths(train, test, given.model)


if __name__ == "__main__":
    main()
