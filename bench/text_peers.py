#!/usr/bin/env python3
"""Peers on the same terms of texts: LinearSVC, omikuji, and the tfidf of Annif.

    PYTHONPATH=build/python bench/text_peers.py DATA [makupalat] [tibkat-en] [--terms words default]

DATA is the folder of the data sets. TextFeatures makes the terms once; each line is one method on
them, with its defaults, one core. omikuji is measured as Parabel (its default) and as Bonsai with
the parameters of Annif's documentation, where it is installed (tools/requirements-bench.txt).
`tfidf of Annif` is the method of that backend: the texts of a concept together are one document,
and a concept's score is the cosine to it. All figures are on held-out rows: P@1, nDCG@10 and the
mean of the rows' F1 of the five best labels. Labels that no training row has count as missed.
"""

import argparse
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from margrove import FlatSVC, TextFeatures
from numpy.typing import NDArray
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC
from text_features import tibkat_rows

TERMS: dict[str, dict[str, Any]] = {
    "words": {"word_ngrams": "1", "char_ngrams": "none"},
    "default": {},
}
MOST = 10  # labels of a ranking

Rows = list[tuple[list[str], str]]  # labels and text
Ranking = list[list[int]]  # of each row the best labels, the best first


def makupalat(data: Path) -> tuple[Rows, Rows]:
    def rows(part: str) -> Iterator[tuple[list[str], str]]:
        for line in (data / "makupalat" / part).read_text(encoding="utf-8").splitlines():
            text, _, labels = line.partition("\t")
            yield labels.split(), text

    vocabulary = (data / "makupalat" / "ykl.ttl").read_text(encoding="utf-8")
    names = re.findall(r"^ykl:(\S+) a skos:Concept", vocabulary, re.MULTILINE)
    known = {f"<http://urn.fi/URN:NBN:fi:au:ykl:{name}>" for name in names}
    parts = (
        [([label for label in labels if label in known], text) for labels, text in rows(part)]
        for part in ("train.tsv", "test.tsv")
    )
    train, test = ([row for row in part if row[0]] for part in parts)
    return train, test


def tibkat(data: Path) -> tuple[Rows, Rows]:
    train, test = (
        [([label], text) for label, text in tibkat_rows(data, part, "en", is_long=False)]
        for part in ("train.jsonl.gz", "dev.jsonl.gz")
    )
    return train, test


def best(scores: NDArray[Any]) -> Ranking:
    """Of the label of each column."""
    order = np.argsort(-scores, axis=1, kind="stable")[:, :MOST]
    return [[int(label) for label in row] for row in order]


def of_margrove(X: Any, Y: Any, X_test: Any) -> Ranking:
    return best(np.asarray(FlatSVC(threads=1).fit(X, Y).decision_function(X_test)))


def of_linear_svc(X: Any, Y: Any, X_test: Any) -> Ranking:
    X, X_test = (
        sp.csr_array((part.data, part.indices.astype(np.int32), part.indptr.astype(np.int32)),
                     shape=part.shape)
        for part in (X, X_test)
    )  # fmt: skip
    return best(OneVsRestClassifier(LinearSVC()).fit(X, Y.astype(int)).decision_function(X_test))


def of_annif_tfidf(X: Any, Y: Any, X_test: Any) -> Ranking:
    concepts = normalize(sp.csr_matrix(Y).T @ sp.csr_matrix(X))
    return best((sp.csr_matrix(X_test) @ concepts.T).toarray())


def of_omikuji(X: Any, Y: Any, X_test: Any, **parameters: Any) -> Ranking:
    import omikuji

    hyper = omikuji.Model.default_hyper_param()
    for name, value in parameters.items():
        setattr(hyper, name, value)
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        print(X.shape[0], X.shape[1], Y.shape[1], file=file)
        for i in range(X.shape[0]):
            labels = ",".join(map(str, np.flatnonzero(Y[i])))
            row = X[[i]]
            cells = (f"{j}:{v:.6g}" for j, v in zip(row.indices, row.data, strict=True))
            print(labels, *cells, file=file)
        file.flush()
        model = omikuji.Model.train_on_data(file.name, hyper, n_threads=1)
    rows = (X_test[[i]] for i in range(X_test.shape[0]))
    return [
        [
            label
            for label, _ in model.predict(
                list(zip(row.indices.tolist(), row.data.tolist(), strict=True)), top_k=MOST
            )
        ]
        for row in rows
    ]


def of_bonsai(X: Any, Y: Any, X_test: Any) -> Ranking:
    return of_omikuji(X, Y, X_test, cluster_balanced=False, cluster_k=100, max_depth=3)


METHODS: dict[str, Callable[[Any, Any, Any], Ranking]] = {
    "margrove, flat-svm": of_margrove,
    "omikuji, Parabel": of_omikuji,
    "omikuji, Bonsai": of_bonsai,
    "tfidf of Annif": of_annif_tfidf,
    "LinearSVC, one-vs-rest": of_linear_svc,
}


def figures(ranking: Ranking, truth: list[set[int]], counts: list[int]) -> tuple[float, ...]:
    """P@1, nDCG@10 and F1@5; `counts` has the labels of each row, those never trained included."""
    discounts = 1 / np.log2(np.arange(2, MOST + 2))
    first, gains, f1 = [], [], []
    for row, labels, count in zip(ranking, truth, counts, strict=True):
        hits = np.array([label in labels for label in row] + [False] * (MOST - len(row)))
        first.append(float(hits[0]))
        gains.append(float(hits @ discounts / discounts[: min(count, MOST)].sum()))
        f1.append(2 * hits[:5].sum() / (min(5, len(row)) + count))
    return float(np.mean(first)), float(np.mean(gains)), float(np.mean(f1))


def compare(train: Rows, test: Rows, terms: list[str]) -> None:
    names = sorted({label for labels, _ in train for label in labels})
    number = {name: k for k, name in enumerate(names)}
    Y = np.zeros((len(train), len(names)), np.uint8)
    for i, (labels, _) in enumerate(train):
        Y[i, [number[label] for label in labels]] = 1
    truth = [{number[label] for label in labels if label in number} for labels, _ in test]
    counts = [len(set(labels)) for labels, _ in test]
    for name in terms:
        features = TextFeatures(**TERMS[name])
        X = features.fit_transform([text for _, text in train])
        X_test = features.transform([text for _, text in test])
        print(f"  {name}: {X.shape[0]} rows, {X.shape[1]} terms, {len(names)} labels", flush=True)
        for method, ranked in METHODS.items():
            begin = time.process_time()
            try:
                ranking = ranked(X, Y, X_test)
            except ImportError as error:
                print(f"    {method}: not measured, {error}")
                continue
            seconds = time.process_time() - begin
            values = ", ".join(f"{value:.3f}" for value in figures(ranking, truth, counts))
            print(f"    {method}: {values}; {seconds:.0f} CPU s", flush=True)


def main() -> None:
    sets = {"makupalat": makupalat, "tibkat-en": tibkat}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("sets", nargs="*", default=list(sets))
    parser.add_argument("--terms", nargs="+", choices=list(TERMS), default=list(TERMS))
    given = parser.parse_args()
    for name in given.sets:
        print(f"{name}: P@1, nDCG@10, F1@5", flush=True)
        compare(*sets[name](given.data), given.terms)


if __name__ == "__main__":
    main()
