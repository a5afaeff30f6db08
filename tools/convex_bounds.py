"""Upper and lower bounds of small convex problems of large-margin learning, from first principles.

A problem is min 1/2 |v|^2 + sum_i C_i max_k psi(A_i v, g_i)_k. Its bounds come from cutting planes:
every tangent of psi lies below it, and any multipliers of tangents that sum to C_i give the lower
bound of Fenchel duality. The solver, Clarabel, only proposes points and multipliers; both bounds
are computed here, so that an inaccurate solution makes them loose, not wrong.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import clarabel
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import erfc

Array = NDArray[np.float64]
SCORE_ROUNDING = 3e-7  # of each score, relative to the absolute values in its sum
Psi = Callable[[Array, Array], tuple[Array, Array]]  # (h, g) -> values, derivatives by h


def affine(slope: Callable[[Array], Array], offset: Callable[[Array], Array]) -> Psi:
    return lambda h, g: (slope(g) * h + offset(g), slope(g) + 0 * h)


def squared_hinge(h: Array, _: Array) -> tuple[Array, Array]:
    return np.maximum(0, 1 + h) ** 2, 2 * np.maximum(0, 1 + h)


def logistic(h: Array, g: Array) -> tuple[Array, Array]:
    return g * np.logaddexp(0, h), g * np.exp(-np.logaddexp(0, -h))


def probability(h: Array, g: Array) -> tuple[Array, Array]:
    """prob-convex: 2 g Phi(h / sqrt(2 g / pi)) for h <= 0, its tangent above."""
    root = np.sqrt(g)
    z = np.minimum(h, 0) * np.sqrt(np.pi) / (2 * root)
    return (
        np.where(h > 0, g + root * h, g * erfc(-z)),
        np.where(h > 0, root, root * np.exp(-z * z)),
    )


def surrogate(name: str) -> Psi:
    """The surrogate of that name (docs/notation.md); ValueError for one that is not convex."""
    kind, _, parameters = name.partition(":")
    if kind == "beta":
        beta = float(parameters)
        return affine(lambda g: g**beta, lambda g: g)
    if kind == "generalised":
        power, a = (float(text) for text in parameters.split(","))
        return affine(lambda g: g**power, lambda g: g**a)
    known: dict[str, Psi] = {
        "margin": affine(np.ones_like, lambda g: g),
        "slack": affine(lambda g: g, lambda g: g),
        "log": logistic,
        "prob-convex": probability,
        "normalized-difference": affine(lambda g: 1 / g, np.ones_like),
    }
    if kind not in known:
        raise ValueError(f"surrogate {name} is not convex or not known here")
    return known[kind]


@dataclass
class Example:
    """C max over k of psi(A v, g)_k, and of 0, the value of the true labelling."""

    weight: float
    A: Array
    g: Array
    psi: Psi
    has_zero: bool = True

    def value(self, v: Array) -> float:
        best = float(np.max(self.psi(self.A @ v, self.g)[0], initial=-np.inf))
        return self.weight * (max(best, 0.0) if self.has_zero else best)

    def tangents(self, v: Array, all_pieces: bool) -> tuple[Array, Array]:
        """(rows a, numbers b) with psi >= a v + b, of all pieces or of the largest one."""
        h = self.A @ v
        values, slopes = self.psi(h, self.g)
        chosen = np.arange(len(h)) if all_pieces else np.argsort(values)[-1:]
        rows = slopes[chosen, None] * self.A[chosen]
        return rows, values[chosen] - slopes[chosen] * h[chosen]


class LogSumExp(Example):
    """C log(1 + sum over k of exp(A v)_k), where the 1 is that of the true labelling."""

    def value(self, v: Array) -> float:
        return self.weight * float(np.logaddexp.reduce(np.append(self.A @ v, 0.0)))

    def tangents(self, v: Array, all_pieces: bool) -> tuple[Array, Array]:
        value = self.value(v) / self.weight
        row = np.exp(self.A @ v - value) @ self.A
        return row[None], np.array([value - row @ v])


@dataclass
class Bounds:
    lower: float = -np.inf
    upper: float = np.inf
    point: Array = field(default_factory=lambda: np.zeros(0))


def primal(examples: list[Example], v: Array) -> float:
    return 0.5 * float(v @ v) + sum(example.value(v) for example in examples)


def score_rounding(examples: list[Example], v: Array) -> float:
    """Of the losses, where v and the pieces are 32-bit numbers."""
    return SCORE_ROUNDING * sum(
        each.weight * float(np.max(np.abs(each.A) @ np.abs(v), initial=0)) for each in examples
    )


def solve_master(
    size: int, weights: Array, rows: Array, numbers: Array, owner: NDArray[np.int64]
) -> tuple[Array, Array]:
    """min 1/2 |v|^2 + weights' xi with xi_owner >= rows v + numbers: v and the multipliers."""
    examples = len(weights)
    P = sparse.diags(np.concatenate([np.ones(size), np.zeros(examples)]), format="csc")
    picks = sparse.csc_matrix(
        (np.ones(len(owner)), (np.arange(len(owner)), owner)), shape=(len(owner), examples)
    )
    A = sparse.hstack([sparse.csc_matrix(rows), -picks], format="csc")
    settings: Any = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_iter = 200
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    q = np.concatenate([np.zeros(size), weights])
    cones = [clarabel.NonnegativeConeT(len(owner))]
    found = clarabel.DefaultSolver(sparse.triu(P).tocsc(), q, A, -numbers, cones, settings).solve()
    return np.array(found.x)[:size], np.array(found.z)


def feasible(multipliers: Array, weights: Array, owner: NDArray[np.int64]) -> Array:
    """Multipliers >= 0 that sum to the weight of each example."""
    positive = np.maximum(multipliers, 0) + 1e-300
    sums = np.bincount(owner, positive, minlength=len(weights))
    scaled: Array = positive * (weights / sums)[owner]
    return scaled


def dual(multipliers: Array, rows: Array, numbers: Array) -> float:
    direction = multipliers @ rows
    return float(multipliers @ numbers - 0.5 * direction @ direction)


def bounds(examples: list[Example], size: int, gap: float, max_rounds: int = 80) -> Bounds:
    """Bounds of the minimum that are at most gap * upper apart, if max_rounds suffice."""
    weights = np.array([example.weight for example in examples])
    rows = [np.zeros((0, size))]
    numbers = [np.zeros(0)]
    owner = [np.zeros(0, dtype=np.int64)]
    found = Bounds(point=np.zeros(size))
    v = np.zeros(size)
    for turn in range(max_rounds):
        for i, example in enumerate(examples):
            a, b = example.tangents(v, all_pieces=turn == 0)
            if turn == 0 and example.has_zero:
                a, b = np.vstack([a, np.zeros(size)]), np.append(b, 0.0)
            rows.append(a)
            numbers.append(b)
            owner.append(np.full(len(b), i))
        now = primal(examples, v)
        if now < found.upper:
            found.upper, found.point = now, v
        if found.upper - found.lower <= gap * abs(found.upper):
            break
        R, N, owners = np.vstack(rows), np.concatenate(numbers), np.concatenate(owner)
        v, multipliers = solve_master(size, weights, R, N, owners)
        found.lower = max(found.lower, dual(feasible(multipliers, weights, owners), R, N))
    return found
