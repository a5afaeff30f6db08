"""Primal and lower bound of the two kinds of problems whose regulariser is itself minimised over:
the shared norm (shared-svm) and kernel weights (spn-mkl, lp-mkl, simple-mkl, average-mkl)."""

import json
from pathlib import Path

import cvxpy as cp
import numpy as np
from scipy.optimize import linprog

from tools.convex_bounds import SCORE_ROUNDING, Array, primal, score_rounding
from tools.gap_objectives import LinearParts, loss_weight, matrix, paths_or_sets, read_rows
from tools.model_reader import Model

# The shared norm: min over U and alpha >= 0 with path sums <= 1 of sum_n |U_n|^2 / (2 alpha_n) and
# the losses. Multipliers a of the losses' pieces give the lower bound
# sum a g - 1/2 max_alpha sum_n alpha_n |sum a A|^2_n, a linear programme.


def shared_norm(model: Model, data: Path) -> tuple[float, float, float]:
    """(primal of the model, lower bound of the minimum, rounding of the losses)."""
    if model.option("cost_matrix"):
        raise ValueError("cost matrices are not written out here")
    parts = LinearParts(model, data)
    has_sets = any(len(labels) != 1 for labels in parts.sets)
    loss = "leaves" if has_sets else model.option("task_loss")
    at_model = paths_or_sets(parts, loss, "margin", has_sets)
    paths = np.zeros((len(parts.graph.leaves), parts.num_nodes))
    for row, leaf in enumerate(parts.graph.leaves):
        paths[row, list(parts.graph.above(leaf))] = 1
    if np.any(paths @ parts.alpha > 1 + 1e-9):
        raise AssertionError("a path sum of the model's node weights exceeds 1")
    own_alpha = parts.alpha
    parts.alpha = np.ones(parts.num_nodes)  # the pieces' coefficients of U itself
    pieces = paths_or_sets(parts, loss, "margin", has_sets).examples
    features = parts.X.shape[1]
    U = cp.Variable((features, parts.num_nodes))
    alpha = cp.Variable(parts.num_nodes, nonneg=True)
    slack = cp.Variable(len(pieces), nonneg=True)
    flat = cp.vec(U, order="C")
    hinges = [each.A @ flat + each.g <= slack[i] for i, each in enumerate(pieces)]
    norms = sum(cp.quad_over_lin(U[:, n], alpha[n]) for n in range(parts.num_nodes))
    weight = pieces[0].weight
    problem = cp.Problem(
        cp.Minimize(0.5 * norms + weight * cp.sum(slack)), [*hinges, paths @ alpha <= 1]
    )
    try:
        problem.solve(solver=cp.CLARABEL)
    except cp.error.SolverError as error:
        raise ValueError("the other solver fails") from error
    offset, direction = 0.0, np.zeros(features * parts.num_nodes)
    for hinge, each in zip(hinges, pieces, strict=True):
        multipliers = np.maximum(hinge.dual_value, 0)
        multipliers *= min(1.0, weight / max(float(multipliers.sum()), 1e-300))
        offset += float(multipliers @ each.g)
        direction += multipliers @ each.A
    squares = (direction.reshape(features, -1) ** 2).sum(axis=0)
    largest = linprog(-squares, A_ub=paths, b_ub=np.ones(len(paths)), bounds=(0, None))
    parts.alpha = own_alpha
    lower = offset + 0.5 * float(largest.fun)
    examples, v = at_model.examples, at_model.v
    return primal(examples, v), lower, score_rounding(examples, v)


# Kernels ----------------------------------------------------------------------------------------


class KernelProblem:
    """One Gaussian kernel of trace n per width, weighted; one classifier per class, or one."""

    def __init__(self, model: Model, data: Path) -> None:
        self.model = model
        self.method = model.metadata["method"]
        rows = read_rows(data)
        X = matrix(model, rows, int(model.metadata["kernel.num_features"]), 0)
        labels = model.texts("labels")
        classes = [labels[k] for k in model.tensors["kernel.label_of_class"]]
        positive = classes[1:] if len(classes) == 2 else classes
        self.y = np.array([[1.0 if row[0] == [c] else -1.0 for row in rows] for c in positive])
        names = model.texts("kernel.names")
        kernels = json.loads(model.metadata["kernel.network"])["kernels"]
        if any(each["type"] != "gaussian" or model.option("network") for each in kernels.values()):
            raise ValueError("networks other than the default are not written out here")
        if not names:
            raise ValueError("no kernel has weight")
        medians = {name: float(each["width"].split()[0]) for name, each in kernels.items()}
        unit = model.tensors["kernel.widths"][0] / medians[names[0]]
        distances = ((X[:, None] - X[None]) ** 2).sum(axis=2)
        self.K = [np.exp(-distances / (2 * (unit * m) ** 2)) for m in medians.values()]
        given = dict(zip(names, model.tensors["kernel.paths.weights"], strict=True))
        self.weights = np.array([given.get(name, 0.0) for name in medians])
        self.u = np.zeros(self.y.shape)
        kept = np.flatnonzero([self.is_support(X, i) for i in range(len(X))])
        self.u[:, kept] = model.tensors["kernel.u"]
        self.biases = model.tensors["kernel.biases"]
        self.C = loss_weight(model)

    def is_support(self, X: Array, i: int) -> bool:
        """Rows are support vectors in order; here all of them are, or the model is refused."""
        if len(self.model.tensors["kernel.support.row_pointers"]) - 1 != len(X):
            raise ValueError("a row is no support vector")
        return i < len(X)

    def penalty(self) -> tuple[float, float]:
        """(weight, exponent) of the sum over kernel weights in the objective of spn-mkl."""
        return float(self.model.option("weight_penalty")), float(self.model.option("p"))

    def norms(self, u: Array) -> Array:
        return np.array([float(np.einsum("ci,ij,cj", u, K, u)) for K in self.K])

    def primal(self) -> float:
        K = sum(w * K for w, K in zip(self.weights, self.K, strict=True))
        margins = self.y * (self.u @ K + self.biases[:, None])
        total = 0.5 * float(self.weights @ self.norms(self.u))
        total += self.C * float(np.maximum(0, 1 - margins).sum())
        if self.method == "spn-mkl":
            strength, p = self.penalty()
            total += strength * float((self.weights**p).sum())
        return total

    def rounding(self) -> float:
        """Of the losses, where coefficients and kernels are 32-bit numbers."""
        K = sum(w * K for w, K in zip(self.weights, self.K, strict=True))
        return SCORE_ROUNDING * self.C * float((np.abs(self.u) @ K).sum())

    def dual(self, u: Array) -> float:
        """The lower bound that any u with 0 <= y u <= C and sums 0 gives."""
        linear, q = float((self.y * u).sum()), self.norms(u)
        if self.method == "average-mkl":
            return linear - 0.5 * float(q.mean())
        if self.method == "spn-mkl":
            strength, p = self.penalty()
            if p == 1:
                return linear * min(1.0, float(np.sqrt(2 * strength / q.max())))
            beta = (q / (2 * strength * p)) ** (1 / (p - 1))
            return linear - float((beta * q / 2 - strength * beta**p).sum())
        p = 1.0 if self.method == "simple-mkl" else float(self.model.option("p"))
        return linear - 0.5 * float(np.linalg.norm(q, np.inf if p == 1 else p / (p - 1)))

    def solve(self) -> Array:
        u = cp.Variable(self.y.shape)
        factors = [np.linalg.cholesky(K + 1e-9 * np.eye(len(K))) for K in self.K]
        q = cp.hstack([cp.sum_squares(u @ L) for L in factors])
        linear = cp.sum(cp.multiply(self.y, u))
        box = cp.multiply(self.y, u)
        limits = [box >= 0, box <= self.C, cp.sum(u, axis=1) == 0]
        if self.method == "average-mkl":
            goal = linear - cp.sum(q) / (2 * len(self.K))
        elif self.method == "spn-mkl":
            strength, p = self.penalty()
            if p == 1:
                goal = linear
                limits.append(q <= 2 * strength)
            else:
                e = p / (p - 1)
                factor = (1 - 1 / p) * (1 / (2**e * (strength * p) ** (1 / (p - 1))))
                goal = linear - factor * cp.sum(cp.power(q, e))
        else:
            p = 1.0 if self.method == "simple-mkl" else float(self.model.option("p"))
            goal = linear - cp.pnorm(q, "inf" if p == 1 else p / (p - 1)) / 2
        try:
            cp.Problem(cp.Maximize(goal), limits).solve(solver=cp.CLARABEL)
        except (cp.error.SolverError, cp.error.DCPError) as error:
            raise ValueError("the other solver fails") from error
        if u.value is None:
            raise ValueError("the other solver finds nothing")
        return self.feasible(np.array(u.value))

    def feasible(self, u: Array) -> Array:
        """The box, and sums 0 by shrinking the side that is too large."""
        a = np.clip(self.y * u, 0, self.C)
        for row, signs in zip(a, self.y, strict=True):
            sums = {sign: row[signs == sign].sum() for sign in (1, -1)}
            least = min(sums.values())
            for sign, total in sums.items():
                row[signs == sign] *= least / total if total > 0 else 0
        found: Array = a * self.y
        return found


def kernel(model: Model, data: Path) -> tuple[float, float, float]:
    """(primal of the model, lower bound of the minimum, rounding of the losses)."""
    problem = KernelProblem(model, data)
    bounds = [problem.dual(problem.feasible(problem.u)), problem.dual(problem.solve())]
    return problem.primal(), max(bounds), problem.rounding()
