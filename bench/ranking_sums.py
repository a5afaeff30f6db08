#!/usr/bin/env python3
"""What sums of scores add to the ranking of one-vs-rest on titles with 25,000 labels.

    PYTHONPATH=build/python bench/ranking_sums.py DATA [--step 6] [--C 0.25 0.12 0.06] [--rows 2000]

DATA holds yso-finna-en. Every step-th training row is taken, single words in at least 3 titles are
the terms, and the first rows of dev.tsv are measured, so that all figures were seen when the sums
were chosen. To the scores of flat-svm, a weight times each of these is added:
  centroids      the cosine of a row and the mean of a label's rows
  log of rows    the logarithm of the number of a label's rows
  nearest rows   the share of a label among the nearest training rows, by cosine
  labels beside  beside centroids: the share of rows with a label among those with each of the best
                 five, times the latter's probability 1 / (1 + exp(-4 (score + .3)))
"""

import argparse
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from library_peers import indicator, yso_rows
from margrove import FlatSVC, TextFeatures
from numpy.typing import NDArray
from ranking_metrics import hits_of, ndcg, precision
from sklearn.preprocessing import normalize

PLACES = 10
NEAREST = 50

Scores = NDArray[np.float32]


def best(scores: Scores, count: int = PLACES) -> NDArray[np.int64]:
    """The labels with the highest scores, the best first."""
    top = np.argpartition(-scores, count, axis=1)[:, :count]
    order = np.argsort(-np.take_along_axis(scores, top, 1), axis=1, kind="stable")
    return np.asarray(np.take_along_axis(top, order, 1), np.int64)


def dense(product: Any) -> Scores:
    return np.asarray(product.todense(), np.float32)


def nearest_rows(X: Any, Y: Any, X_test: Any) -> Scores:
    """The shares of labels among the NEAREST rows, weighed by their cosines."""
    similar = sp.csr_matrix(X_test @ X.T)
    kept = []
    for begin, end in zip(similar.indptr[:-1], similar.indptr[1:], strict=True):
        own = np.arange(begin, end)
        if len(own) > NEAREST:
            own = own[np.argpartition(-similar.data[own], NEAREST)[:NEAREST]]
        kept.append(own)
    at = np.concatenate(kept)
    rows = np.repeat(np.arange(len(kept)), [len(own) for own in kept])
    votes = sp.csr_matrix((similar.data[at], (rows, similar.indices[at])), shape=similar.shape)
    return dense(normalize(votes, norm="l1") @ Y)


def labels_beside(scores: Scores, Y: Any) -> Scores:
    together = sp.csr_matrix(Y.T @ Y)
    together.setdiag(0)
    together = sp.diags(1 / np.asarray(Y.sum(axis=0)).ravel()) @ together
    top = best(scores, 5)
    chances = np.zeros_like(scores)
    probability = 1 / (1 + np.exp(-4 * (np.take_along_axis(scores, top, 1) + 0.3)))
    np.put_along_axis(chances, top, probability, 1)
    return dense(sp.csr_matrix(chances) @ together)


def sums(X: Any, Y: Any, X_test: Any, C: float) -> Iterator[tuple[str, Scores]]:
    """The name and the scores of each sum."""
    start = time.process_time()
    model = FlatSVC(C=C, threads=1, tolerance=0.01, decision="zero").fit(X, Y)
    print(f"C = {C:g}: {time.process_time() - start:.0f} CPU s", flush=True)
    flat = dense(X_test @ sp.csr_matrix(model.coef_).T) + model.intercept_.astype(np.float32)
    yield "flat-svm", flat
    centroids = dense(X_test @ normalize(Y.T @ X).T)
    yield "centroids alone", centroids
    for weight in (0.25, 0.5, 1):
        yield f"+ {weight:g} centroids", flat + weight * centroids
    counts = np.log(np.asarray(Y.sum(axis=0)).ravel()).astype(np.float32)
    for weight in (-0.02, 0.02):
        yield f"+ {weight:g} log of rows", flat + weight * counts
    near = nearest_rows(X, Y, X_test)
    for weight in (1, 2, 4):
        yield f"+ {weight:g} nearest rows", flat + weight * near
    both = flat + 0.25 * centroids
    beside = labels_beside(both, Y)
    for weight in (0.3, 1, 2):
        yield f"+ 0.25 centroids + {weight:g} labels beside", both + weight * beside


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--step", type=int, default=6)
    parser.add_argument("--C", type=float, nargs="+", default=[0.25, 0.12, 0.06])
    parser.add_argument("--rows", type=int, default=2000)
    given = parser.parse_args()
    folder = given.data / "yso-finna-en"
    train = list(islice(yso_rows(folder / "train.tsv.gz"), 0, None, given.step))
    test = list(islice(yso_rows(folder / "dev.tsv.gz"), given.rows))
    features = TextFeatures(word_ngrams="1", char_ngrams="none", min_document_frequency=3)
    X = sp.csr_matrix(features.fit_transform([text for _, text in train]))
    X_test = sp.csr_matrix(features.transform([text for _, text in test]))
    names = sorted({label for labels, _ in train for label in labels})
    number = {label: k for k, label in enumerate(names)}
    Y = indicator([labels for labels, _ in train], number)
    more = number | {
        label: len(number) for labels, _ in test for label in labels if label not in number
    }
    truth = indicator([labels for labels, _ in test], more)
    sizes = np.array([len(set(labels)) for labels, _ in test])
    print(f"{X.shape[0]} rows, {X.shape[1]} terms, {len(names)} labels: P@1, nDCG@10, F1@5")
    for C in given.C:
        for name, scores in sums(X, Y, X_test, C):
            hits = hits_of(best(scores), truth)
            f1 = float((2 * hits[:, :5].sum(axis=1) / (5 + sizes)).mean())
            print(f"  {name}: {precision(hits, 1):.4f} {ndcg(hits, sizes, PLACES):.4f} {f1:.4f}",
                  flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
