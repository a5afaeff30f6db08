#!/usr/bin/env python3
"""A number for each level beside the offset of leaves, in decisions of methods for label sets.

    bench/level_offsets.py DATA SET ... [--methods nhsvm hsvm] [--tolerance 1e-3]

DATA is a folder with a folder for each set (train.svm, test.svm, hierarchy.txt, a tree). Rows get
unit length, C is 1, and the node weights of nhsvm are maxmin. The label set of a row maximises the
sum of the scores of its nodes, where `offset` adds a number to each leaf; here each level has a
number, too, which is added to its nodes. The numbers are found by coordinate search for micro-F1 on
three folds of the training rows by models of the others, with steps from the standard deviation of
the scores down to 1/32 of it. `cross` is the micro-F1 of even rows of each fold with the numbers of
odd ones and vice versa. Then micro-F1, macro-F1 and hierarchical F1 on test rows, the decisions
(row, label) that are right with only the levels and only without, and the p of the difference in
micro-F1 if rows swap their answers at random (2,000 times).
"""

import argparse
import pathlib
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from label_offsets import read
from margrove import HSVC, NHSVC, Hierarchy
from numpy.typing import NDArray
from paired_decisions import p_of_swaps
from sklearn.model_selection import KFold
from sklearn.preprocessing import normalize

METHODS: dict[str, Any] = {"nhsvm": partial(NHSVC, alpha="maxmin"), "hsvm": HSVC}
ROUNDS = 6

Matrix = NDArray[np.float64]
Sets = NDArray[np.bool_]


class Tree:
    """Node scores of rows, and the best label set of each with numbers for leaves and levels."""

    def __init__(self, model: Any, X: sp.csr_matrix, names: list[str]) -> None:
        weights, bias, edges, label_of_node, candidates, _ = model.model_.linear_parts
        if not isinstance(weights, np.ndarray):
            columns, pointers, indices, values = weights
            weights = sp.csr_matrix((values, indices, pointers), shape=(len(pointers) - 1, columns))
            weights = weights.toarray()
        features = len(weights) - (bias > 0)
        self.scores: Matrix = np.asarray(X[:, :features] @ weights[:features], dtype=float)
        if bias > 0:
            self.scores += bias * weights[-1]
        labels = [str(label) for label in model.model_.labels]
        column = {name: k for k, name in enumerate(names)}
        self.leaves = {int(n): column[labels[label_of_node[n]]] for n in candidates}
        self.num_labels = len(names)
        self._order(len(label_of_node), edges)

    def _order(self, num_nodes: int, edges: Any) -> None:
        """Nodes above leaves, parents first, with their children and depths."""
        children: list[list[int]] = [[] for _ in range(num_nodes)]
        parent = np.full(num_nodes, -1)
        for above, below in edges:
            children[above].append(int(below))
            parent[below] = above
        order = [int(n) for n in np.flatnonzero(parent < 0)]
        self.depth = np.zeros(num_nodes, dtype=int)
        for node in order:
            order += children[node]
            self.depth[children[node]] = self.depth[node] + 1
        used = [node in self.leaves for node in range(num_nodes)]
        for node in reversed(order):
            used[node] |= any(used[c] for c in children[node])
        self.order = [node for node in order if used[node]]
        self.children = [[c for c in below if used[c]] for below in children]
        self.roots = [node for node in self.order if parent[node] < 0]

    def part(self, rows: Any) -> "Tree":
        """The same of some of its rows."""
        part = object.__new__(Tree)
        part.__dict__.update(self.__dict__)
        part.scores = self.scores[rows]
        return part

    def best(self, leaf: float, levels: Matrix) -> Sets:
        value: dict[int, Matrix] = {}
        taken: dict[int, Sets] = {}

        def combine(nodes: list[int]) -> tuple[Matrix, Sets]:
            """The sum over those worth more than 0, or the best one."""
            worth = np.stack([value[n] for n in nodes], axis=1)
            chosen = worth > 0
            none = ~chosen.any(axis=1)
            chosen[none, worth[none].argmax(axis=1)] = True
            return (worth * chosen).sum(axis=1), chosen

        for node in reversed(self.order):
            value[node] = self.scores[:, node] + levels[self.depth[node]]
            if node in self.leaves:
                value[node] = value[node] + leaf
            else:
                below, taken[node] = combine(self.children[node])
                value[node] = value[node] + below
        chosen = np.zeros((len(self.scores), self.num_labels), dtype=bool)
        on = dict(zip(self.roots, combine(self.roots)[1].T, strict=True))
        for node in self.order:
            if node in self.leaves:
                chosen[:, self.leaves[node]] = on[node]
            else:
                for k, child in enumerate(self.children[node]):
                    on[child] = on[node] & taken[node][:, k]
        return chosen


def micro_f1(chosen: list[Sets], truth: list[Sets], missing: int = 0) -> float:
    hits = sum(int((c & t).sum()) for c, t in zip(chosen, truth, strict=True))
    return (
        2
        * hits
        / (sum(int(c.sum()) + int(t.sum()) for c, t in zip(chosen, truth, strict=True)) + missing)
    )


def tuned(trees: list[Tree], truth: list[Sets], with_levels: bool) -> tuple[float, Matrix]:
    """The numbers of leaves and levels with the best micro-F1 that a coordinate search finds."""
    depths = 1 + max(int(tree.depth.max()) for tree in trees)
    numbers = np.zeros(1 + depths)
    step = float(np.std(np.concatenate([tree.scores.ravel() for tree in trees])))

    def f1(numbers: Matrix) -> float:
        return micro_f1([tree.best(numbers[0], numbers[1:]) for tree in trees], truth)

    best = f1(numbers)
    for _ in range(ROUNDS):
        for k in range(len(numbers) if with_levels else 1):
            improves = True
            while improves:
                improves = False
                for change in (step, -step):
                    moved = numbers.copy()
                    moved[k] += change
                    value = f1(moved)
                    if value > best + 1e-9:
                        best, numbers, improves = value, moved, True
                        break
        step /= 2
    return float(numbers[0]), numbers[1:]


def cross(trees: list[Tree], truth: list[Sets], with_levels: bool) -> float:
    chosen, right = [], []
    for first in (0, 1):
        own = slice(first, None, 2)
        leaf, levels = tuned([t.part(own) for t in trees], [y[own] for y in truth], with_levels)
        other = slice(1 - first, None, 2)
        chosen += [tree.part(other).best(leaf, levels) for tree in trees]
        right += [y[other] for y in truth]
    return micro_f1(chosen, right)


def ancestors(path: pathlib.Path, names: list[str]) -> Sets:
    """Which nodes below the root are at or above each label."""
    edges = [line.split()[:2] for line in path.read_text(encoding="utf-8").splitlines()]
    parent = {child: above for above, child in edges}
    nodes = {node: k for k, node in enumerate(parent)}
    above = np.zeros((len(names), len(nodes)), dtype=bool)
    for label, name in enumerate(names):
        node = name
        while node in nodes:
            above[label, nodes[node]] = True
            node = parent[node]
    return above


def as_sets(chosen: Sets) -> list[set[str]]:
    return [set(map(str, np.flatnonzero(row))) for row in chosen]


def run(data: pathlib.Path, method: str, tolerance: float) -> None:
    (sets, X), (test_sets, T) = (read(data / f"{part}.svm") for part in ("train", "test"))
    width = max(X.shape[1], T.shape[1])
    X.resize(X.shape[0], width)
    T.resize(T.shape[0], width)
    X, T = normalize(X), normalize(T)
    names = sorted(set.union(*sets))
    Y, truth = (np.array([[n in row for n in names] for row in of]) for of in (sets, test_sets))
    missing = sum(len(row.difference(names)) for row in test_sets)
    hierarchy = Hierarchy.of(str(data / "hierarchy.txt"))

    def tree(rows: Any, other: sp.csr_matrix) -> Tree:
        model = METHODS[method](
            C=1.0, decision="argmax", scale="none", tolerance=tolerance, hierarchy=hierarchy
        )
        return Tree(model.fit(X[rows], [sets[i] for i in rows]), other, names)

    folds = list(KFold(3, shuffle=True, random_state=0).split(X))
    trees, held_out = [tree(a, X[b]) for a, b in folds], [Y[b] for _, b in folds]
    test = tree(np.arange(len(sets)), T)
    above = ancestors(data / "hierarchy.txt", names).astype(np.float32)
    closed_truth = truth @ above > 0
    answers = {}
    for levels in (False, True):
        chosen = answers[levels] = test.best(*tuned(trees, held_out, levels))
        hits = 2 * (chosen & truth).sum(0) / np.maximum(chosen.sum(0) + truth.sum(0), 1)
        cells = [micro_f1([chosen], [truth], missing), hits[truth.any(0)].mean()]
        cells.append(micro_f1([chosen @ above > 0], [closed_truth]))
        numbers = " / ".join(f"{cell:.4f}" for cell in cells)
        cross_f1 = cross(trees, held_out, levels)
        what = "leaves and levels" if levels else "leaves"
        print(f"| `{data.name}` | {method} | {what} | {cross_f1:.4f} | {numbers} |", end="")
        if not levels:
            print(" | |", flush=True)
    right = {levels: answers[levels] == truth for levels in answers}
    only = [int((right[k] & ~right[not k]).sum()) for k in (True, False)]
    p = p_of_swaps(as_sets(truth), as_sets(answers[True]), as_sets(answers[False]))
    print(f" {only[0]} : {only[1]} | {p:.2g} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--tolerance", type=float, default=1e-3)
    arguments = parser.parse_args()
    print(
        "| set | method | numbers of | cross | micro / macro / hierarchical F1 | right only | p |"
    )
    print("|---|---|---|---|---|---|---|")
    for name in arguments.sets:
        for method in arguments.methods:
            run(arguments.data / name, method, arguments.tolerance)


if __name__ == "__main__":
    main()
