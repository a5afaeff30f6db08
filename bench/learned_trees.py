#!/usr/bin/env python3
"""What learned trees of labels add to one-vs-rest, and how the scores of a path are best combined.

    PYTHONPATH=build/python bench/learned_trees.py DATA [SET ...] [--trees 3] [--leaf 100] [--C 1]

SET: wordnet-nouns, lshtc-small-rdf or lshtc-small-valtrain. A tree is learned as Parabel does:
the centroids of labels, means of unit rows, are halved by balanced spherical 2-means until a part
has at most --leaf labels, which are the children of its node. Children of a node are trained
one-vs-rest by flat-svm with squared hinge on the rows below it. A label has the product
over its path of
  siblings   exp(4 f_n) / sum_m exp(4 f_m), m among the siblings: what top-down-svm has
  logistic   1 / (1 + exp(-3 f_n))
  loss       exp(-max(0, 1 - f_n)^2): what Parabel and Bonsai have
and of several trees the mean. All paths are searched. Prints P@1, nDCG@5 and nDCG@10 on the test
rows, and the CPU seconds of training.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from library_peers import arrays_of, indicator, with_labels
from margrove import FlatSVC
from numpy.typing import NDArray
from ranking_metrics import hits_of, ndcg, precision
from ranking_sums import best, dense
from sklearn.preprocessing import normalize

SETS = ["wordnet-nouns", "lshtc-small-rdf", "lshtc-small-valtrain"]
ITERATIONS = 20

Scores = NDArray[np.float32]
Labels = NDArray[np.int64]
Step = Callable[[Scores], Scores]  # from margins of siblings to logarithms of their factors


def of_siblings(margins: Scores) -> Scores:
    scaled = 4 * (margins - margins.max(axis=1, keepdims=True))
    return np.asarray(scaled - np.log(np.exp(scaled).sum(axis=1, keepdims=True)), np.float32)


STEPS: dict[str, Step] = {
    "siblings": of_siblings,
    "logistic": lambda margins: -np.log1p(np.exp(-3 * margins)),
    "loss": lambda margins: -(np.maximum(0, 1 - margins) ** 2),
}


def halves(labels: Labels, centroids: Any, random: np.random.Generator) -> list[Labels]:
    """Two parts of about one size, whose labels are similar."""
    own = centroids[labels]
    middles = own[random.choice(len(labels), 2, replace=False)].toarray()
    last = -1.0
    for _ in range(ITERATIONS):
        similar = dense(own @ sp.csr_matrix(middles.T))
        first = np.zeros(len(labels), bool)
        order = np.argsort(similar[:, 1] - similar[:, 0], kind="stable")
        first[order[: len(labels) // 2]] = True
        mean = float(np.where(first, similar[:, 0], similar[:, 1]).mean())
        if mean - last < 1e-4:
            break
        last = mean
        parts = [own[first], own[~first]]
        middles = normalize(np.vstack([np.asarray(part.sum(axis=0)) for part in parts]))
    return [labels[first], labels[~first]]


class Tree:
    """Scores of the labels below each node, trained on the way down."""

    def __init__(self, X: Any, Y: Any, X_test: Any, given: argparse.Namespace, seed: int) -> None:
        self.X, self.Y, self.X_test, self.given = X, sp.csc_matrix(Y), X_test, given
        self.centroids = normalize(Y.T @ normalize(X)).tocsr()
        self.random = np.random.default_rng(seed)
        shape = (X_test.shape[0], Y.shape[1])
        self.scores = {name: np.zeros(shape, np.float32) for name in STEPS}
        self.descend(np.arange(Y.shape[1]))

    def descend(self, labels: Labels) -> None:
        at_leaf = len(labels) <= self.given.leaf
        parts = [np.array([label]) for label in labels]
        if not at_leaf:
            parts = halves(labels, self.centroids, self.random)
        below = np.column_stack([self.Y[:, part].sum(axis=1) > 0 for part in parts])
        rows = np.flatnonzero(below.any(axis=1))
        margins = self.margins(rows, np.asarray(below[rows]))
        for name, step in STEPS.items():
            for part, added in zip(parts, step(margins).T, strict=True):
                self.scores[name][:, part] += added[:, None]
        for part in parts:
            if not at_leaf:
                self.descend(part)

    def margins(self, rows: Labels, below: NDArray[np.bool_]) -> Scores:
        model = FlatSVC(C=self.given.C, loss="squared-hinge", decision="zero", threads=1)
        model.fit(self.X[rows], below.astype(np.int8))
        return dense(self.X_test @ sp.csr_matrix(model.coef_).T) + np.float32(model.intercept_)


def sums(
    X: Any, Y: Any, X_test: Any, given: argparse.Namespace
) -> Iterator[tuple[str, Scores, float]]:
    """The name, the scores and the CPU seconds of training of each row of the table."""
    start = time.process_time()
    model = FlatSVC(C=given.C, loss="squared-hinge", decision="zero", threads=1).fit(X, Y)
    flat = dense(X_test @ sp.csr_matrix(model.coef_).T) + np.float32(model.intercept_)
    yield "flat-svm", flat, time.process_time() - start
    totals = {name: np.zeros_like(flat) for name in STEPS}
    spent = 0.0
    for seed in range(given.trees):
        start = time.process_time()
        tree = Tree(X, Y, X_test, given, seed)
        spent += time.process_time() - start
        for name in STEPS:
            totals[name] += np.exp(tree.scores[name])
            if seed in (0, given.trees - 1):
                yield f"{seed + 1} trees, {name}", totals[name].copy(), spent
    for weight in (0.5, 1, 2):
        mean = np.log(totals["loss"] / given.trees + 1e-4)
        yield f"flat-svm + {weight:g} log of {given.trees} trees, loss", flat + weight * mean, spent


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("sets", nargs="*", default=SETS, metavar="set")
    parser.add_argument("--trees", type=int, default=3)
    parser.add_argument("--leaf", type=int, default=100)
    parser.add_argument("--C", type=float, default=1)
    given = parser.parse_args()
    for name in given.sets:
        X, X_test, train, test = arrays_of(name, given.data)
        X, train = with_labels(X, train, test=False)
        X_test, test = with_labels(X_test, test, test=True)
        number = {
            label: k for k, label in enumerate(sorted({each for row in train for each in row}))
        }
        Y = indicator(train, number)
        for label in sorted({each for row in test for each in row} - set(number)):
            number[label] = len(number)  # that no system can answer
        truth = indicator(test, number)
        sizes = np.diff(truth.indptr)
        print(f"{name}: P@1, nDCG@5, nDCG@10, CPU s")
        for row, scores, seconds in sums(X, Y, X_test, given):
            hits = hits_of(best(scores), truth)
            values = (precision(hits, 1), ndcg(hits, sizes, 5), ndcg(hits, sizes, 10))
            print(f"| {row} | " + " | ".join(f"{v:.4f}" for v in values) + f" | {seconds:.0f} |")


if __name__ == "__main__":
    main()
