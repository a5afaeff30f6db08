#!/usr/bin/env python3
"""Offsets of labels, shrunk towards 0, in decisions of rows with several labels: are they worth it?

    bench/label_offsets.py DATA SET ... [--normalize]

DATA is a folder with a folder for each set (train.svm, test.svm). FlatSVC at its defaults is
trained on four fifths of the rows in turn; on the scores s of the others, p = 1 / (1 + exp(-(a s +
b + o_l))) is fitted with a penalty strength / 2 * sum o_l^2. The decision is the threshold on s +
o_l / a with the best micro-F1. `cross` is its micro-F1 where even rows use the offsets of odd ones
and vice versa, by which the strength would be chosen; inf is without offsets. Then micro-F1,
macro-F1 and instance F1 on test rows. --normalize gives rows unit length.
"""

import argparse
import pathlib

import numpy as np
import scipy.sparse as sp
from margrove import FlatSVC
from numpy.typing import NDArray
from sklearn.model_selection import KFold
from sklearn.preprocessing import normalize

STRENGTHS = (np.inf, 1000, 100, 30, 10, 3, 1, 0.3)
Matrix = NDArray[np.float64]
Sets = NDArray[np.bool_]


def read(path: pathlib.Path) -> tuple[list[set[str]], sp.csr_matrix]:
    sets: list[set[str]] = []
    entries: list[tuple[int, int, float]] = []
    for i, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        labels, *cells = line.split("#")[0].split()
        sets.append(set(labels.split(",")))
        entries += [(i, int(j), float(v)) for j, v in (cell.split(":") for cell in cells)]
    rows, columns, values = zip(*entries, strict=True)
    return sets, sp.csr_matrix((values, (rows, columns)))


def scores(X: sp.csr_matrix, Y: Sets, other: sp.csr_matrix) -> Matrix:
    """Of labels without training rows -1."""
    fitted = FlatSVC(decision="zero").fit(X, [set(np.flatnonzero(row).tolist()) for row in Y])
    found = np.full((other.shape[0], Y.shape[1]), -1.0)
    found[:, fitted.classes_] = fitted.decision_function(other)
    return found


def offsets(S: Matrix, Y: Sets, strength: float) -> Matrix:
    """o_l / a by Newton's method."""
    a, b, o = 1.0, 0.0, np.zeros(S.shape[1])
    if np.isinf(strength):
        return o

    def loss(a: float, b: float, o: Matrix) -> float:
        z = a * S + b + o
        return float((np.logaddexp(0, z) - Y * z).sum() + strength / 2 * o @ o)

    for _ in range(60):
        p = 1 / (1 + np.exp(-np.clip(a * S + b + o, -35, 35)))
        weight, residual = p * (1 - p) + 1e-12, Y - p
        gradient, curvature = residual.sum(0) - strength * o, weight.sum(0) + strength
        by_a, by_b = (weight * S).sum(0), weight.sum(0)
        mixed = by_a.sum() - (by_a * by_b / curvature).sum()
        hessian = np.array(
            [
                [(weight * S * S).sum() - (by_a**2 / curvature).sum(), mixed],
                [mixed, weight.sum() - (by_b**2 / curvature).sum()],
            ]
        )
        right = np.array(
            [
                (residual * S).sum() - (by_a * gradient / curvature).sum(),
                residual.sum() - (by_b * gradient / curvature).sum(),
            ]
        )
        step_a, step_b = np.linalg.solve(hessian + 1e-9 * np.eye(2), right)
        step_o = (gradient - by_a * step_a - by_b * step_b) / curvature
        before, length = loss(a, b, o), 1.0
        while length > 1e-6 and loss(a + length * step_a, b + length * step_b,
                                     o + length * step_o) > before:  # fmt: skip
            length /= 2
        a, b, o = a + length * step_a, b + length * step_b, o + length * step_o
        if before - loss(a, b, o) < 1e-7 * before:
            break
    return o / a


def best_threshold(S: Matrix, Y: Sets) -> tuple[float, float]:
    """The threshold with the best micro-F1, and this."""
    order = np.argsort(-S.ravel(), kind="stable")
    hits = np.cumsum(Y.ravel()[order])
    f1 = 2 * hits / (np.arange(1, S.size + 1) + Y.sum())
    best = int(f1.argmax())
    ends = S.ravel()[order[[best, min(best + 1, S.size - 1)]]]
    return float(ends.mean()), float(f1[best])


def f1_scores(chosen: Sets, Y: Sets, missing: int) -> str:
    both = chosen & Y
    micro = 2 * both.sum() / (chosen.sum() + Y.sum() + missing)
    of_labels = 2 * both.sum(0) / np.maximum(chosen.sum(0) + Y.sum(0), 1)
    of_rows = 2 * both.sum(1) / np.maximum(chosen.sum(1) + Y.sum(1), 1)
    return f"{micro:.4f} / {of_labels[Y.any(0)].mean():.4f} / {of_rows.mean():.4f}"


def run(data: pathlib.Path, name: str, is_normalized: bool) -> None:
    (sets, X), (test_sets, T) = (read(data / name / f"{part}.svm") for part in ("train", "test"))
    width = max(X.shape[1], T.shape[1])
    X.resize(X.shape[0], width)
    T.resize(T.shape[0], width)
    if is_normalized:
        X, T = normalize(X), normalize(T)
    names = sorted(set.union(*sets))
    Y, truth = (np.array([[n in row for n in names] for row in of]) for of in (sets, test_sets))
    missing = sum(len(row.difference(names)) for row in test_sets)
    S = np.zeros(Y.shape)
    for training, held_out in KFold(5, shuffle=True, random_state=0).split(X):
        S[held_out] = scores(X[training], Y[training], X[held_out])
    of_test = scores(X, Y, T)
    for strength in STRENGTHS:
        moved = np.empty_like(S)
        for part in (slice(0, None, 2), slice(1, None, 2)):
            other = slice(1 - part.start, None, 2)
            moved[part] = S[part] + offsets(S[other], Y[other], strength / 2)
        cross = best_threshold(moved, Y)[1]
        o = offsets(S, Y, strength)
        chosen = of_test + o > best_threshold(S + o, Y)[0]
        chosen[np.arange(len(chosen)), (of_test + o).argmax(1)] = True
        cells = f1_scores(chosen, truth, missing)
        print(f"| `{name}` | {strength:g} | {cross:.4f} | {cells} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--normalize", action="store_true")
    arguments = parser.parse_args()
    print("| set | strength | cross | test: micro / macro / instance F1 |\n|---|---|---|---|")
    for name in arguments.sets:
        run(arguments.data, name, arguments.normalize)


if __name__ == "__main__":
    main()
