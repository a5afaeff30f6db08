"""Who does what: learns the worth of worker i at job j from assignments that experts made.

x[i, j] are numbers about a pair, y[i] is the job of worker i. f(x, y) = sum_i <w, x[i, y_i]>, the
loss counts the workers with a wrong job. Both are sums over pairs, so that the Hungarian algorithm
finds the best of all n! assignments.
"""

import numpy as np
from margrove.structured import StructuredSVM
from scipy.optimize import linear_sum_assignment


class Assignment:
    def joint_feature(self, x, y):
        return x[np.arange(len(y)), y].sum(axis=0)

    def loss(self, y, y_hat):
        return np.sum(y != y_hat)

    def argmax(self, x, w, truth, w_m, w_g):
        worth = w_m * (x @ w)
        if truth is not None:
            worth = worth + w_g
            worth[np.arange(len(truth)), truth] -= w_g
        return linear_sum_assignment(worth, maximize=True)[1]


def projects(size, seed):
    random = np.random.default_rng(seed)
    X = random.normal(size=(size, 8, 8, 5))
    worth = X @ [2.0, -1.0, 1.0, 0.5, 0.0] + 0.5 * random.normal(size=(size, 8, 8))
    return X, [linear_sum_assignment(each, maximize=True)[1] for each in worth]


X, y = projects(100, seed=1)
X_test, y_test = projects(200, seed=2)
model = StructuredSVM(Assignment(), C=0.01).fit(X, y)
print(f"direction of w: {np.round(model.coef_ / model.coef_[0], 1) + 0.0}")
print(f"wrong jobs of 8: {-model.score(X_test, y_test):.2f}")
print(f"gap {model.report_['relative_gap']:.1e}, certified: {model.report_['certified']}")
