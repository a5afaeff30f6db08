"""Grades 0 to 4 from a row of numbers, where a wrong grade costs the square of its distance.

f(x, y) = y <u, x> + sum_k<=y b_k: one direction u for all grades, and a step b_k to each grade.
"""

import numpy as np
from margrove.structured import StructuredSVM


class Grades:
    grades = np.arange(5)
    steps = np.tri(5)[:, 1:]  # row y: the steps up to y

    def joint_feature(self, x, y):
        return np.concatenate([y * x, self.steps[y]])

    def loss(self, y, y_hat):
        return (y - y_hat) ** 2

    def k_best(self, x, w, truth, w_m, w_g, k):
        scores = self.grades * (w[: len(x)] @ x) + self.steps @ w[len(x) :]
        losses = 0 if truth is None else (self.grades - truth) ** 2
        return np.argsort(-(w_m * scores + w_g * losses))[:k].tolist()

    def argmax(self, x, w, truth, w_m, w_g):
        return self.k_best(x, w, truth, w_m, w_g, 1)[0]


def essays(size, seed):
    random = np.random.default_rng(seed)
    X = random.normal(size=(size, 6))
    ability = X @ [1, 1, 0.5, 0.5, 0, 0] + 0.5 * random.normal(size=size)
    return X, np.digitize(ability, [-2, -0.5, 0.5, 2]).tolist()


X, y = essays(300, seed=1)
X_test, y_test = essays(1000, seed=2)
for surrogate in ("margin", "slack"):
    model = StructuredSVM(Grades(), surrogate=surrogate, C=0.1, max_passes=200).fit(X, y)
    print(f"{surrogate}: mean squared distance {-model.score(X_test, y_test):.2f}", end=", ")
    print(f"gap {model.report_['relative_gap']:.0e}, certified: {model.report_['certified']}")
