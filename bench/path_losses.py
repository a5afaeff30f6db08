#!/usr/bin/env python3
"""Losses, intercepts and learned variances of machines whose weights are sums along paths.

    bench/path_losses.py DATA losses [--sets clef clinc150] [--C 0.3 1 3 10] [--rows 1500]
                         [--below NODE] [--node-weights leaves maxmin]
    bench/path_losses.py DATA variances [--sets clef] [--rounds 6]
                         [--groups level parent parent-column]

DATA is a folder with a folder for each set, which holds train.svm, test.svm and hierarchy.txt; each
row with one label counts, and each node below its first parent only. Counts of lshtc-* become
tf-idf. The weights of a label are the sum of those of the nodes on its path, the root left out.
The machines are written here in Python, on SciPy and scikit-learn, which must be installed; they
show whether the program would gain by them. Weights are dense, so large sets need much memory:
`--below` keeps the labels below a node only, and `--rows` about so many training rows, at equal
distances.

`losses` trains multi-class machines by at most 250 iterations of L-BFGS. The loss of a row is its
largest violation (`hinge`) or the square of this (`squared hinge`). A softmax of temperature 0.05
smooths the maximum, because L-BFGS may fail where labels tie. The margin is the square root of the
sum of the node weights of the nodes on one of two paths only. Node weights: `leaves` (a flat
machine), `maxmin`, as in docs/notation.md, or `uniform`, 1 each. Intercepts belong to the leaves
and are `free`, or to the nodes and are `regularised` as other weights are. A fifth of the training
rows chooses C.

`variances` trains multinomial logistic regression with a Gaussian prior on the weights of nodes and
learns the precisions, which are inverse variances, by empirical Bayes, as hierarchical Bayesian
logistic regression does with diagonal covariances. Each round sets the precision of each group to
MacKay's estimate and trains again. Its Laplace approximation has a curvature that is diagonal in
columns and labels, so that only the nodes of a path depend on each other. Groups are the nodes of a
`level`, the children of a `parent`, or the weights of these for each column (`parent-column`). The
first lines have one precision for all weights; rounds start at the last of these. Intercepts always
have precision 0.1. The table has the mean negative log-likelihood of test rows with labels seen in
training, and the median precision of each level, top level first, at which the weights of the line
were trained.
"""

import argparse
import pathlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from automatic_choice import print_row
from margrove.metrics import hierarchical_precision_recall_f1
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split
from stacked_scores import read

Array = NDArray[np.float64]
Labels = NDArray[np.int_]
Objective = Callable[[Array], tuple[float, Array]]  # value and derivatives

SETS = {"losses": ["clef", "clinc150"], "variances": ["clef"]}
LOSS_COLUMNS = ["set", "loss", "node weights", "intercepts", "C", "held-out accuracy", "accuracy",
                "macro-F1", "hierarchical F1"]  # fmt: skip
VARIANCE_COLUMNS = ["set", "variances", "round", "accuracy", "macro-F1", "negative log-likelihood",
                    "median precision of each level"]  # fmt: skip
VALUES_OF_C = {"clef": (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)}
OTHER_VALUES_OF_C = (0.3, 1.0, 3.0, 10.0)
LOSSES = ("hinge", "squared hinge")
NODE_WEIGHTS = ("leaves", "maxmin", "uniform")
INTERCEPTS = ("regularised", "free")
TEMPERATURE = 0.05  # of the smoothed maximum
DENSE = 0.2  # matrices with a larger share of values are stored without gaps, which is faster
FIXED_PRECISIONS = (10.0, 5.0, 3.0)
INTERCEPT_PRECISION = 0.1
GROUPS = ("level", "parent", "parent-column")


class Rows:
    """A data set: rows, labels, and the first parent of each node."""

    def __init__(
        self, data: pathlib.Path, name: str, below: int | None = None, limit: int | None = None
    ) -> None:
        found = read(data, name)
        self.above: dict[int, int] = {}
        for parent, child in found.tree:
            self.above.setdefault(child, parent)
        train, test = (
            np.flatnonzero([below is None or below in self.path(label) for label in y.tolist()])
            for y in (found.y, found.truth)
        )
        train = train[:: max(1, len(train) // limit) if limit else 1]
        X, X_test = found.X[train], found.tested[test]
        columns = np.unique(X.indices)
        X, X_test = X[:, columns], X_test[:, columns]
        is_dense = X.nnz > DENSE * X.shape[0] * X.shape[1]
        self.name = name
        self.X, self.X_test = (X.toarray(), X_test.toarray()) if is_dense else (X, X_test)
        self.y: Labels = found.y[train]
        self.y_test: Labels = found.truth[test]

    def path(self, label: int) -> list[int]:
        """The nodes from a label up to below the root."""
        nodes = [label]
        while nodes[-1] in self.above:
            nodes.append(self.above[nodes[-1]])
        return nodes[:-1] or nodes

    def metrics(self, answers: Labels) -> tuple[float, float, float]:
        """Accuracy, macro-F1 and hierarchical F1 of the answers to test rows."""
        labels = np.union1d(self.y, self.y_test)
        macro = f1_score(self.y_test, answers, average="macro", labels=labels, zero_division=0)
        tree = [(parent, child) for child, parent in self.above.items()]
        hierarchical = hierarchical_precision_recall_f1(self.y_test, answers, hierarchy=tree)[2]
        return float((answers == self.y_test).mean()), float(macro), hierarchical


class Tree:
    """The paths of the labels of some rows: `on_path` is 1 where a node is on that of a label."""

    def __init__(self, rows: Rows, y: Labels) -> None:
        self.labels: Labels = np.unique(y)
        paths = [rows.path(label) for label in self.labels.tolist()]
        self.nodes = sorted({node for path in paths for node in path})
        place = {node: k for k, node in enumerate(self.nodes)}
        pairs = [(place[node], leaf) for leaf, path in enumerate(paths) for node in path]
        shape = (len(self.nodes), len(paths))
        self.on_path = sp.csr_matrix((np.ones(len(pairs)), np.array(pairs).T), shape=shape)
        self.leaves = np.array([place[path[0]] for path in paths])
        self.depth = np.array([len(rows.path(node)) - 1 for node in self.nodes])
        self.parent = np.array([rows.above.get(node, -1) for node in self.nodes])

    def node_weights(self, rule: str) -> Array:
        if rule == "maxmin":
            return self._maxmin()
        weights = np.full(len(self.nodes), 0.0 if rule == "leaves" else 1.0)
        weights[self.leaves] = 1
        return weights

    def _maxmin(self) -> Array:
        """Raises all weights together; freezes the nodes of a path when its sum is 1; repeats."""
        weights = np.zeros(len(self.nodes))
        rising = np.ones(len(self.nodes), dtype=bool)
        while rising.any():
            count = self.on_path.T @ rising.astype(float)
            level = np.full(len(count), np.inf)
            np.divide(1 - self.on_path.T @ weights, count, out=level, where=count > 0)
            is_full = (level <= level.min() * (1 + 1e-9)).astype(float)
            frozen = rising & (self.on_path @ is_full > 0)
            weights[frozen] = level.min()
            rising &= ~frozen
        return weights


def minimum(objective: Objective, start: Array, **options: float) -> Array:
    found = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
    return np.asarray(found.x, dtype=float)


def transposed_product(G: Any, X: Any) -> Array:
    """Gᵀ X, where X may be sparse."""
    return np.asarray(X.T @ G).T


class PathMachine:
    """min 1/2 Σ |u_n|² + C Σ loss, with weights √α_n u_n of node n. Optimises u."""

    def __init__(self, rows: Rows, tree: Tree, loss: str, rule: str, intercepts: str) -> None:
        self.tree, self.loss, self.is_free = tree, loss, intercepts == "free"
        alpha = tree.node_weights(rule)
        self.scaled = sp.diags(np.sqrt(alpha)) @ tree.on_path
        shared = (self.scaled.T @ self.scaled).toarray()
        own = np.diag(shared)
        self.margin = np.sqrt(np.maximum(own[:, None] + own - 2 * shared, 0))
        self.shape = (len(alpha), rows.X.shape[1])
        self.size = len(alpha) * rows.X.shape[1]

    def leaf_parts(self, u: Array) -> tuple[Array, Array]:
        """Weights and intercepts of the leaves."""
        W, b = self.scaled.T @ u[: self.size].reshape(self.shape), u[self.size :]
        return W, b if self.is_free else self.scaled.T @ b

    def loss_and_slopes(self, violations: Array, y: Labels) -> tuple[float, Array]:
        """The sum of the losses of rows, and its derivatives by scores."""
        rows = np.arange(len(y))
        logs = log_softmax(violations / TEMPERATURE, axis=1)
        largest = -TEMPERATURE * logs[rows, y]  # smoothed, as y has violation 0
        slopes = np.exp(logs)
        slopes[rows, y] -= 1
        if self.loss == "hinge":
            return float(largest.sum()), slopes
        return float(largest @ largest), 2 * largest[:, None] * slopes

    def fit(self, X: Any, labels: Labels, C: float) -> "PathMachine":
        y = np.searchsorted(self.tree.labels, labels)
        rows = np.arange(len(y))
        total = self.size + self.scaled.shape[1 if self.is_free else 0]
        end = self.size if self.is_free else total  # of what is regularised

        def objective(u: Array) -> tuple[float, Array]:
            W, b = self.leaf_parts(u)
            scores = X @ W.T + b
            violations = scores - scores[rows, y][:, None] + self.margin[y]
            loss, G = self.loss_and_slopes(violations, y)
            by_b = G.sum(axis=0)
            by_weights = (self.scaled @ transposed_product(G, X)).ravel()
            by_u = C * np.concatenate([by_weights, by_b if self.is_free else self.scaled @ by_b])
            by_u[:end] += u[:end]
            return C * loss + 0.5 * float(u[:end] @ u[:end]), by_u

        self.u = minimum(objective, np.zeros(total), maxiter=250, ftol=1e-7, maxcor=15)
        return self

    def predict(self, X: Any) -> Labels:
        W, b = self.leaf_parts(self.u)
        best: Labels = self.tree.labels[np.argmax(X @ W.T + b, axis=1)]
        return best


def measure_losses(rows: Rows, rules: Sequence[str], values_of_C: Sequence[float]) -> None:
    train, held_out = train_test_split(np.arange(len(rows.y)), test_size=0.2, random_state=0)
    some, every = Tree(rows, rows.y[train]), Tree(rows, rows.y)
    for method in [(loss, rule, b) for loss in LOSSES for rule in rules for b in INTERCEPTS]:
        accuracies: dict[float, float] = {}
        for C in values_of_C:
            machine = PathMachine(rows, some, *method).fit(rows.X[train], rows.y[train], C)
            answers = machine.predict(rows.X[held_out])
            accuracies[C] = float((answers == rows.y[held_out]).mean())
        best = max(accuracies, key=accuracies.__getitem__)
        machine = PathMachine(rows, every, *method).fit(rows.X, rows.y, best)
        figures = [accuracies[best], *rows.metrics(machine.predict(rows.X_test))]
        print_row(f"`{rows.name}`", *method, f"{best:g}", *(f"{x:.4f}" for x in figures))


def with_ones(X: Any) -> Any:
    ones = np.ones((X.shape[0], 1))
    return sp.hstack([X, ones], format="csr") if sp.issparse(X) else np.hstack([X, ones])


class Softmax:
    """Multinomial logistic regression with a precision for each weight; the last column is 1."""

    def __init__(self, rows: Rows) -> None:
        self.rows, self.tree = rows, Tree(rows, rows.y)
        X, self.X_test = with_ones(rows.X), with_ones(rows.X_test)
        self.squares = X.multiply(X) if sp.issparse(X) else X**2
        self.X: Any = X.astype(np.float32)  # halves the time of training
        self.y = np.searchsorted(self.tree.labels, rows.y)
        self.shape = (len(self.tree.nodes), X.shape[1])

    def log_probabilities(self, V: Array, X: Any) -> Any:
        W = (self.tree.on_path.T @ V).astype(X.dtype)
        return log_softmax(np.asarray(X @ W.T), axis=1)

    def fit(self, precision: Array, start: Array, iterations: int) -> Array:
        rows = np.arange(len(self.y))
        P = np.exp(self.log_probabilities(start, self.X)).astype(float)
        scale = 1 / np.sqrt(precision + self.curvature(P @ self.tree.on_path.T))

        def objective(u: Array) -> tuple[float, Array]:
            V = u.reshape(self.shape) * scale
            logs = self.log_probabilities(V, self.X)
            G = np.exp(logs)
            G[rows, self.y] -= 1
            by_V = self.tree.on_path @ transposed_product(G, self.X) + precision * V
            loss = -float(logs[rows, self.y].sum(dtype=float))
            return loss + 0.5 * float((precision * V * V).sum()), (by_V * scale).ravel()

        limits = {"maxiter": iterations, "ftol": 1e-9, "gtol": 1e-3, "maxcor": 20}
        return minimum(objective, (start / scale).ravel(), **limits).reshape(self.shape) * scale

    def curvature(self, P: Array) -> Array:
        """Σ p (1 - p) x² over rows, for each column of P and of X."""
        return transposed_product(P * (1 - P), self.squares)

    def variances(self, V: Array, precision: Array) -> Array:
        """Of the weights by Laplace's approximation, for each column by itself."""
        A = self.tree.on_path.toarray()
        P = np.exp(self.log_probabilities(V, self.X)).astype(float)
        found = np.empty(self.shape)
        for column, h in enumerate(self.curvature(P).T):
            inverse = np.linalg.inv(np.diag(precision[:, column]) + (A * h) @ A.T)
            found[:, column] = np.diag(inverse)
        return found

    def groups(self, kind: str) -> Labels:
        """The number of the group of each weight but the intercepts."""
        by_node = self.tree.depth if kind == "level" else self.tree.parent
        _, number = np.unique(by_node, return_inverse=True)
        width = self.shape[1] - 1
        columns = np.arange(width) if kind == "parent-column" else np.zeros(width, dtype=int)
        return np.asarray(number[:, None] * width + columns)

    def learned(self, V: Array, precision: Array, group: Labels) -> Array:
        """MacKay's precisions: determined weights of a group over the sum of their squares."""
        determined = 1 - (precision * self.variances(V, precision))[:, :-1]
        number = np.bincount(group.ravel(), determined.ravel())
        squares = np.bincount(group.ravel(), (V[:, :-1] ** 2).ravel())
        precision = precision.copy()
        precision[:, :-1] = np.clip((number + 2e-3) / (squares + 2e-6), 1e-3, 1e5)[group]
        return precision

    def show(self, kind: str, name: str, V: Array, precision: Array) -> None:
        logs = self.log_probabilities(V, self.X_test)
        labels, y = self.tree.labels, self.rows.y_test
        known = np.flatnonzero(np.isin(y, labels))
        figures = [*self.rows.metrics(labels[logs.argmax(axis=1)])[:2]]
        figures += [-float(logs[known, np.searchsorted(labels, y[known])].mean())]
        depth = self.tree.depth
        medians = [np.median(precision[depth == k, :-1]) for k in range(depth.max() + 1)]
        print_row(f"`{self.rows.name}`", kind, name, *(f"{x:.4f}" for x in figures),
                  ", ".join(f"{median:.3g}" for median in medians))  # fmt: skip


def measure_variances(rows: Rows, kinds: list[str], rounds: int) -> None:
    model = Softmax(rows)
    for fixed in FIXED_PRECISIONS:
        start = np.full(model.shape, fixed)
        start[:, -1] = INTERCEPT_PRECISION
        first = model.fit(start, np.zeros(model.shape), 300)
        model.show(f"one, {fixed:g}", "", first, start)
    for kind in kinds:
        V, precision, group = first, start, model.groups(kind)
        for number in range(1, rounds + 1):
            precision = model.learned(V, precision, group)
            V = model.fit(precision, V, 150)
            model.show(kind, str(number), V, precision)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("question", choices=list(SETS))
    parser.add_argument("--sets", nargs="+", help="if not given: clef, and clinc150 for losses")
    parser.add_argument("--C", nargs="+", type=float)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--below", type=int)
    parser.add_argument("--node-weights", nargs="+", choices=NODE_WEIGHTS, default=NODE_WEIGHTS)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--groups", nargs="+", choices=GROUPS, default=GROUPS)
    given = parser.parse_args()
    header = LOSS_COLUMNS if given.question == "losses" else VARIANCE_COLUMNS
    print_row(*header)
    print_row(*["---"] * len(header))
    for name in given.sets or SETS[given.question]:
        rows = Rows(given.data, name, given.below, given.rows)
        if given.question == "losses":
            values_of_C = given.C or VALUES_OF_C.get(name, OTHER_VALUES_OF_C)
            measure_losses(rows, given.node_weights, values_of_C)
        else:
            measure_variances(rows, given.groups, given.rounds)


if __name__ == "__main__":
    main()
