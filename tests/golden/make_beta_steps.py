#!/usr/bin/env python3
"""Writes tests/golden/beta_steps.json: weight problems of small networks and their minima.

    min_{beta >= 0}  sum_m a_m / g_m(beta) + sum_v c_v beta_v^{p_v}

is a geometric program for every p_v > 0; CVXPY solves it with Clarabel, a generic conic solver. The
C++ tests of beta_step.hpp must find the same values. Run again only to add cases:
    .venv/bin/python tests/golden/make_beta_steps.py
"""

import json
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np

# The exponents of each path's product nodes: those of a layer share 1 / layers.
SHAPES: dict[str, list[dict[int, float]]] = {
    # b7 (b0 K + b1 K) + b8 (b2 K + b3 K) o (b4 K + b5 K + b6 K): Figure 1 of [SPN]
    "figure 1": [
        *({k: 1 / 2, 7: 1 / 2} for k in (0, 1)),
        *({i: 1 / 4, j: 1 / 4, 8: 1 / 2} for i in (2, 3) for j in (4, 5, 6)),
    ],
    # b3 s + b4 s o s, s = b0 K + b1 K + b2 K; the two orders of a product are two paths
    "square": [
        *({k: 1 / 2, 3: 1 / 2} for k in range(3)),
        *(
            {k: 1 / 2, 4: 1 / 2} if k == j else {k: 1 / 4, j: 1 / 4, 4: 1 / 2}
            for k in range(3)
            for j in range(3)
        ),
    ],
    # a chain of three layers, b4 (b2 (b0 + b1) + b3 b1) + b5
    "three layers": [
        {0: 1 / 3, 2: 1 / 3, 4: 1 / 3},
        {1: 1 / 3, 2: 1 / 3, 4: 1 / 3},
        {1: 1 / 3, 3: 1 / 3, 4: 1 / 3},
        {5: 1.0},
    ],
}


def solve(case: dict[str, Any]) -> float:
    beta = cp.Variable(len(case["p"]), pos=True)
    objective: Any = 0
    for path, term in zip(case["paths"], case["terms"], strict=True):
        g: Any = 1
        for v, exponent in path:
            g = g * beta[v] ** exponent
        objective += term / g
    for v, (c, p) in enumerate(zip(case["penalties"], case["p"], strict=True)):
        objective += c * beta[v] ** p
    problem = cp.Problem(cp.Minimize(objective))
    problem.solve(gp=True, solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    assert problem.status == cp.OPTIMAL, problem.status
    return float(problem.value)


def main() -> None:
    random = np.random.default_rng(1)
    cases = []
    for shape, paths in SHAPES.items():
        size = 1 + max(v for path in paths for v in path)
        for kind, lowest, highest in (("p >= 1", 1.0, 3.0), ("p < 1", 0.3, 0.9), ("any p", 0.3, 3)):
            for _ in range(3):
                penalties = np.zeros(size)
                for path in paths:
                    for v, exponent in path.items():
                        penalties[v] += 0.3 * exponent
                case = {
                    "name": f"{shape}, {kind}",
                    "paths": [list(path.items()) for path in paths],
                    "terms": np.exp(2 * random.normal(size=len(paths))).tolist(),
                    "penalties": penalties.tolist(),
                    "p": random.uniform(lowest, highest, size).tolist(),
                }
                cases.append(case | {"minimum": solve(case)})
    target = Path(__file__).with_name("beta_steps.json")
    target.write_text(json.dumps(cases) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
