#!/usr/bin/env python3
"""Scores of several methods added up with weights from held-out rows.

    bench/stacked_scores.py DATA [--sets clef clinc150] [--methods level-svm nhsvm flat-lr]

DATA is the folder of the data sets. All methods have their defaults, except that nhsvm has the node
weights of a stack, maxmin. In three folds of the training rows, each is trained on two and scores
the third; the weights, one for each method and not negative, maximise the likelihood of the labels
of these rows under the softmax of the sum. They then add up the scores of the methods trained on
all rows. Each line is a method or a sum of two or more: accuracy, macro-F1 and hierarchical F1 on
the test rows, and accuracy on the held-out ones.
"""

import argparse
import io
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import margrove
import numpy as np
import scipy.sparse as sp
from hierarchy_tables import kept_rows
from scipy.optimize import minimize
from sklearn.datasets import load_svmlight_file
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import f1_score
from sklearn.preprocessing import normalize

FOLDS = 3
MOST_SCORES = 40_000_000  # of all held-out rows and labels on which the weights are fitted


class Centroids:
    """The cosine of a row and the mean of a label's rows."""

    def fit(self, X: Any, y: np.ndarray) -> "Centroids":
        self.classes_, places = np.unique(y, return_inverse=True)
        shape = (len(self.classes_), len(y))
        of_label = sp.csr_matrix((np.ones(len(y)), (places, np.arange(len(y)))), shape=shape)
        self.means = normalize(of_label @ normalize(X))
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        scores = normalize(X) @ self.means.T
        return np.asarray(scores.toarray() if sp.issparse(scores) else scores)


METHODS: dict[str, Callable[[Any], Any]] = {
    "level-svm": lambda tree: margrove.LevelSVC(hierarchy=tree, stack="none"),
    "nhsvm": lambda tree: margrove.NHSVC(hierarchy=tree, alpha="maxmin"),
    "hsvm": lambda tree: margrove.HSVC(hierarchy=tree),
    "hr-lr": lambda tree: margrove.HRLogisticRegression(hierarchy=tree),
    "flat-lr": lambda _: margrove.FlatLogisticRegression(),
    "flat-lr softmax": lambda _: margrove.FlatLogisticRegression(multiclass="softmax"),
    "hr-lr softmax": lambda tree: margrove.HRLogisticRegression(
        hierarchy=tree, multiclass="softmax"
    ),
    "crammer-singer": lambda _: margrove.FlatSVC(multiclass="crammer-singer"),
    "flat-svm": lambda _: margrove.FlatSVC(),
    "centroids": lambda _: Centroids(),
}


@dataclass
class Rows:
    X: Any
    y: np.ndarray
    tested: Any
    truth: np.ndarray
    tree: list[tuple[int, int]]


def read(data: Path, name: str) -> Rows:
    """One-label rows of a set; the LSHTC sets get tf-idf."""
    parts = []
    for part in ("train.svm", "test.svm"):
        lines = kept_rows(data / name / part, single_label=True)
        parts.append("".join(lines).encode())
    width = max(int(cell.split(b":")[0]) for text in parts for cell in text.split() if b":" in cell)
    loaded = [load_svmlight_file(io.BytesIO(text), n_features=width) for text in parts]
    (X, y), (tested, truth) = loaded
    if name.startswith("lshtc"):
        tfidf = TfidfTransformer(sublinear_tf=True).fit(X)
        X, tested = tfidf.transform(X), tfidf.transform(tested)
    edges = (data / name / "hierarchy.txt").read_text(encoding="utf-8").splitlines()
    tree = [(int(edge.split()[0]), int(edge.split()[1])) for edge in edges if edge.strip()]
    return Rows(X, y.astype(int), tested, truth.astype(int), tree)


def scores_of(model: Any, X: Any, labels: np.ndarray) -> np.ndarray:
    """A column for each of the labels; labels without training rows have the least score of all."""
    own = model.decision_function(X).astype(np.float32)
    all_labels = np.full((X.shape[0], len(labels)), own.min(), np.float32)
    places = np.searchsorted(labels, np.asarray(model.classes_).astype(int))
    all_labels[:, places] = own
    return all_labels


def folds_of(y: np.ndarray) -> np.ndarray:
    """The fold of each row; those of a label take turns."""
    fold = np.empty(len(y), int)
    fold[np.argsort(y, kind="stable")] = np.arange(len(y)) % FOLDS
    return fold


def held_out_scores(rows: Rows, method: str, labels: np.ndarray) -> np.ndarray:
    fold = folds_of(rows.y)
    scores = np.empty((len(rows.y), len(labels)), np.float32)
    for k in range(FOLDS):
        model = METHODS[method](rows.tree).fit(rows.X[fold != k], rows.y[fold != k])
        scores[fold == k] = scores_of(model, rows.X[fold == k], labels)
    return scores


def fitted_weights(scores: list[np.ndarray], places: np.ndarray) -> np.ndarray:
    step = max(1, scores[0].size // MOST_SCORES)
    parts = [part[::step] for part in scores]
    own = places[::step]
    rows = np.arange(len(own))

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        total = sum(w * part for w, part in zip(weights, parts, strict=True))
        total = total - total.max(1, keepdims=True)
        odds = np.exp(total)
        sums = odds.sum(1)
        value = (np.log(sums) - total[rows, own]).mean()
        slopes = [((odds * part).sum(1) / sums - part[rows, own]).mean() for part in parts]
        return float(value), np.array(slopes)

    start = np.full(len(scores), 1 / len(scores))
    bounds = [(0, None)] * len(scores)
    found = minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B")
    return np.asarray(found.x)


class Tree:
    """Ancestors of nodes, without the roots."""

    def __init__(self, edges: list[tuple[int, int]]) -> None:
        self.parents: dict[int, list[int]] = {}
        for parent, child in edges:
            self.parents.setdefault(child, []).append(parent)
        self.known: dict[int, frozenset[int]] = {}

    def at_or_above(self, node: int) -> frozenset[int]:
        if node not in self.parents:
            return frozenset()
        if node not in self.known:
            above = [self.at_or_above(parent) for parent in self.parents[node]]
            self.known[node] = frozenset({node}).union(*above)
        return self.known[node]

    def f1(self, truth: np.ndarray, predicted: np.ndarray) -> float:
        pairs = [
            (self.at_or_above(a), self.at_or_above(b))
            for a, b in zip(truth, predicted, strict=True)
        ]
        return float(np.mean([2 * len(a & b) / (len(a) + len(b)) for a, b in pairs]))


def measure(data: Path, name: str, methods: list[str]) -> None:
    rows = read(data, name)
    tree = Tree(rows.tree)
    labels = np.unique(rows.y)
    places = np.searchsorted(labels, rows.y)
    held_out, test = {}, {}
    for method in methods:
        test[method] = scores_of(
            METHODS[method](rows.tree).fit(rows.X, rows.y), rows.tested, labels
        )
        held_out[method] = held_out_scores(rows, method, labels)
    for size in range(1, len(methods) + 1):
        for chosen in itertools.combinations(methods, size):
            weights = np.ones(1)
            if size > 1:
                weights = fitted_weights([held_out[each] for each in chosen], places)
            sums = [
                sum(w * scores[each] for w, each in zip(weights, chosen, strict=True))
                for scores in (test, held_out)
            ]
            predicted, own = (labels[np.argmax(each, axis=1)] for each in sums)
            macro = f1_score(rows.truth, predicted, average="macro", zero_division=0)
            figures = [
                np.mean(predicted == rows.truth), macro, tree.f1(rows.truth, predicted),
                np.mean(own == rows.y),
            ]  # fmt: skip
            told = " + ".join(
                f"{w:.2f} {each}" if size > 1 else each
                for w, each in zip(weights, chosen, strict=True)
            )
            print(
                f"| `{name}` | {told} | " + " | ".join(f"{f:.4f}" for f in figures), "|", flush=True
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", nargs="+", default=["clef", "clinc150"])
    parser.add_argument(
        "--methods", nargs="+", choices=list(METHODS), default=["level-svm", "nhsvm", "flat-lr"]
    )
    arguments = parser.parse_args()
    for name in arguments.sets:
        measure(arguments.data, name, arguments.methods)


if __name__ == "__main__":
    main()
