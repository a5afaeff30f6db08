#!/usr/bin/env python3
"""Weights of levels and of nodes from held-out rows, for methods that score every node.

    bench/level_weights.py DATA [--sets clef clinc150 lshtc-small-rdf] [--methods hr-svm nhsvm]

DATA is the folder of the data sets; rows with one label count. Methods have their defaults,
level-svm no stack. A leaf's score is the sum of v_n s_n(x) + c_n over the nodes n on its path below
the root. s_n is the score of n in the model file; in hr-* what its classifier adds to its parent's.
`own` is the method's decision, v = 1 and c = 0. `level weights` are one v >= 0 and one c for each
level (docs/notation.md), by the likelihood of held-out rows under the softmax; shown are those
above the leaves, from the top, relative to that of leaves. `node weights` are v_n = v_level +
delta_n, the penalty ridge / 2 sum(delta_n^2), scores of leaves having standard deviation 1.

Three folds of the training rows are each scored by a model of the others; rows whose label these
lack are left out. Weights from two folds give the held-out accuracy on the third, and the
likelihood that chooses the ridge. Last, the test rows that only this decision or only `own` hits.
"""

import argparse
from pathlib import Path
from typing import Any

import margrove
import numpy as np
import scipy.sparse as sp
import stacked_scores
from automatic_choice import print_row
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.metrics import f1_score
from stacked_scores import FOLDS, Rows, Tree, folds_of

Scores = list[np.ndarray]  # of nodes; what is added to those of leaves; the positions of labels
METHODS = {each: stacked_scores.METHODS[each] for each in ("hr-lr", "hsvm", "level-svm")} | {
    "hr-svm": lambda tree: margrove.HRSVC(hierarchy=tree),
    "nhsvm": lambda tree: margrove.NHSVC(hierarchy=tree),
}
RIDGES = {"nhsvm": [100.0, 10.0, 1.0], "level-svm": [100.0, 10.0, 1.0]}
MOST_SCORES = 2_000_000  # of rows and labels in a fit; of more, every so many rows
LEVEL_RIDGE = 1e-6  # of the mean over rows, as in level-svm


class Paths:
    """`above` is 1 where a node is on a label's path; `of_nodes` gives v and c of nodes."""

    def __init__(self, tree: Tree, labels: np.ndarray) -> None:
        paths = [tree.at_or_above(label) for label in labels.tolist()]
        nodes = sorted(set().union(*paths))
        self.above = sp.csr_array([[np.float32(n in path) for path in paths] for n in nodes])
        depth = [np.inf if n in labels else len(tree.at_or_above(n)) for n in nodes]
        level = np.unique(depth, return_inverse=True)[1]
        self.labels, self.nodes, self.num_levels = labels, np.array(nodes), level.max() + 1
        of_level = sp.csr_array(np.eye(self.num_levels)[level])
        blocks = [[of_level, None, sp.eye_array(len(nodes))], [None, of_level, None]]
        self.of_nodes = sp.block_array(blocks, format="csr")


def scores_of(model: Any, X: Any, y: np.ndarray, paths: Paths) -> Scores:
    _, weights, bias, _ = model._linear_parts("weights")
    names = np.array(model.model_.labels).astype(int)[model.model_.linear_parts[3]]
    U = sp.csr_array(weights) @ sp.csr_array(names[:, None] == paths.nodes, dtype=np.float32)
    nodes = (sp.csr_array(X) @ U[:-1]).toarray() + bias * U[[-1]].toarray()
    is_known = np.isin(paths.labels, np.asarray(model.classes_).astype(int))
    added = np.tile(np.where(is_known, 0, -1e9).astype(np.float32), (len(y), 1))
    return [nodes.astype(np.float32), added, np.searchsorted(paths.labels, y)]


def held_out_scores(rows: Rows, method: str, paths: Paths) -> tuple[Scores, np.ndarray]:
    """The scores and the folds of the rows whose label is in the other folds."""
    fold, parts = folds_of(rows.y), []
    for k in range(FOLDS):
        model = METHODS[method](rows.tree).fit(rows.X[fold != k], rows.y[fold != k])
        nodes, added, y = scores_of(model, rows.X[fold == k], rows.y[fold == k], paths)
        is_known = added[np.arange(len(y)), y] == 0
        parts.append([nodes[is_known], added[is_known], y[is_known], np.full(is_known.sum(), k)])
    *joined, folds = (np.concatenate(each) for each in zip(*parts, strict=True))
    return joined, folds


def log_probabilities(theta: np.ndarray, scores: Scores, paths: Paths) -> np.ndarray:
    v, c = np.split((paths.of_nodes @ theta).astype(np.float32), 2)
    return np.asarray(log_softmax((scores[0] * v + c) @ paths.above + scores[1], axis=1))


def fitted(scores: Scores, paths: Paths, ridges: list[float]) -> list[np.ndarray]:
    """The parameters of `own`, of `level weights`, and of `node weights` by each ridge."""
    scores = [each[:: max(1, scores[1].size // MOST_SCORES)] for each in scores]
    num, rows, y = paths.num_levels, np.arange(len(scores[2])), scores[2]

    def objective(theta: np.ndarray, ridge: np.ndarray) -> tuple[float, np.ndarray]:
        logs = log_probabilities(theta, scores, paths)
        slopes = np.exp(logs)
        slopes[rows, y] -= 1
        by_c = slopes @ paths.above.T
        by_nodes = np.concatenate([np.einsum("ij,ij->j", by_c, scores[0]), by_c.sum(axis=0)])
        loss = -float(logs[rows, y].mean(dtype=float)) + 0.5 * float(ridge @ theta**2)
        return loss, paths.of_nodes.T @ by_nodes / len(rows) + ridge * theta

    found = [np.repeat([1.0, 0.0], [num, num + len(paths.nodes)])]
    for each in [None, *ridges]:
        delta, iterations = ((0, 0), 100) if each is None else ((None, None), 25)
        ridge = np.repeat([LEVEL_RIDGE, (each or 0) / len(rows)], [2 * num, len(paths.nodes)])
        bounds = [(0, None)] * num + [(None, None)] * num + [delta] * len(paths.nodes)
        found.append(minimize(objective, found[-1], ridge, "L-BFGS-B", True, bounds=bounds,
                              options={"maxiter": iterations, "ftol": 1e-7}).x)  # fmt: skip
    return found


def measure(rows: Rows, name: str, method: str) -> None:
    tree, ridges = Tree(rows.tree), RIDGES.get(method, [])
    paths = Paths(tree, np.unique(rows.y))
    held_out, fold = held_out_scores(rows, method, paths)
    test = scores_of(METHODS[method](rows.tree).fit(rows.X, rows.y), rows.tested, rows.truth, paths)
    scale = (held_out[0] @ paths.above).std()
    held_out[0], test[0] = held_out[0] / scale, test[0] / scale
    right, likelihood = np.zeros((2, 2 + len(ridges)))
    for k in range(FOLDS):
        part, others = ([each[kept] for each in held_out] for kept in (fold == k, fold != k))
        for j, theta in enumerate(fitted(others, paths, ridges)):
            logs = log_probabilities(theta, part, paths)
            right[j] += (logs.argmax(axis=1) == part[2]).sum() / len(fold)
            likelihood[j] += logs[np.arange(len(logs)), part[2]].sum()
    found, num = fitted(held_out, paths, ridges), paths.num_levels
    v = ", ".join(f"{each:.2f}" for each in found[1][: num - 1] / found[1][num - 1])
    names = ["own", f"level weights {v}", *(f"node weights, ridge {each:g}" for each in ridges)]
    answers = [paths.labels[log_probabilities(each, test, paths).argmax(1)] for each in found]
    is_right = [each == rows.truth for each in answers]
    for j in [0, 1, 2 + int(np.argmax(likelihood[2:]))] if ridges else [0, 1]:
        macro = f1_score(rows.truth, answers[j], average="macro", zero_division=0)
        figures = [right[j], is_right[j].mean(), macro, tree.f1(rows.truth, answers[j])]
        beside = f"{(is_right[j] > is_right[0]).sum()} : {(is_right[0] > is_right[j]).sum()}"
        print_row(f"`{name}`", method, names[j], *(f"{x:.4f}" for x in figures), beside)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", nargs="+", default=["clef", "clinc150", "lshtc-small-rdf"])
    parser.add_argument("--methods", nargs="+", choices=sorted(METHODS), default=sorted(METHODS))
    given = parser.parse_args()
    print_row("set", "method", "decision", "held-out accuracy", "accuracy", "macro-F1",
              "hierarchical F1", "better : worse than own")  # fmt: skip
    print_row(*["---"] * 8)
    for name in given.sets:
        for method in given.methods:
            measure(stacked_scores.read(given.data, name), name, method)


if __name__ == "__main__":
    main()
