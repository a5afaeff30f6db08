"""margrove.structured: starts from earlier weights, limits of searches, passes of sgd."""

import itertools
from typing import Any

import numpy as np
import pytest
from margrove.structured import StructuredSVM
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError


class Bits:
    """Three bits by enumeration, with the k best."""

    LABELLINGS = tuple(itertools.product((0, 1), repeat=3))

    def joint_feature(self, x: Any, y: Any) -> Any:
        return np.concatenate([np.outer(y, x).ravel(), np.multiply(y[:-1], y[1:])])

    def loss(self, y: Any, y_hat: Any) -> float:
        return float(np.sum(np.not_equal(y, y_hat)))

    def k_best(self, x: Any, w: Any, truth: Any, w_m: float, w_g: float, k: int) -> Any:
        def value(y: Any) -> float:
            loss = 0.0 if truth is None else self.loss(truth, y)
            return float(w_m * (w @ self.joint_feature(x, y)) + w_g * loss)

        return sorted(self.LABELLINGS, key=value, reverse=True)[:k]

    def argmax(self, x: Any, w: Any, truth: Any, w_m: float, w_g: float) -> Any:
        return self.k_best(x, w, truth, w_m, w_g, 1)[0]


def examples() -> tuple[list[NDArray[np.float64]], list[tuple[int, ...]]]:
    random = np.random.default_rng(0)
    y = [tuple(random.integers(0, 2, size=3).tolist()) for _ in range(40)]
    return [np.array([*labels, 1.0]) + random.normal(size=4) * 0.7 for labels in y], y


@pytest.mark.parametrize("solver", ["bcfw", "cutting-plane", "one-slack"])
def test_a_start_near_the_optimum_takes_fewer_passes_to_it(solver: str) -> None:
    X, y = examples()
    model = StructuredSVM(Bits(), solver=solver, tolerance=1e-3, max_passes=500)
    first = model.fit(X, y)
    weights, report = first.coef_, first.report_
    for start in (weights, first):
        again = StructuredSVM(Bits(), solver=solver, tolerance=1e-3, max_passes=500)
        again.fit(X, y, start=start)
        assert again.report_["stop"] == "converged"
        assert again.report_["certified"]
        assert again.report_["passes"] < report["passes"]
        assert again.report_["primal"] == pytest.approx(report["primal"], rel=2e-3)


def test_sgd_begins_at_the_start() -> None:
    X, y = examples()
    optimum = StructuredSVM(Bits(), solver="bcfw", tolerance=1e-4, max_passes=1000, C=0.05)
    optimum.fit(X, y)
    sgd = StructuredSVM(Bits(), solver="sgd", max_passes=1, C=0.05)
    anew = sgd.fit(X, y).report_["primal"]
    started = sgd.fit(X, y, start=optimum).report_["primal"]
    assert optimum.report_["dual"] < started < anew


def test_wrong_starts_are_errors() -> None:
    X, y = examples()
    model = StructuredSVM(Bits())
    for start, error, message in (
        (np.zeros(3), ValueError, "start of 3 weights, but must be 14"),
        (np.zeros((2, 7)), ValueError, r"start has shape \(2, 7\), but must have one axis"),
        (np.full(14, np.nan), ValueError, "only finite numbers"),
        ("weights", TypeError, "start is of type str, but must be an array of numbers"),
        (StructuredSVM(Bits()), NotFittedError, "not fitted"),
    ):
        with pytest.raises(error, match=message):
            model.fit(X, y, start=start)


def test_limits_of_searches_are_honoured() -> None:
    X, y = examples()
    options: dict[str, Any] = {"surrogate": "prob", "solver": "sgd", "max_passes": 6}

    def calls(**limits: Any) -> int:
        model = StructuredSVM(Bits(), **options, tolerance=1e-9, **limits).fit(X, y)
        return int(model.report_["oracle_calls"])

    assert calls() == calls(max_bans=0)
    assert calls(search_tolerance=0, max_bans=20) > calls(search_tolerance=0, max_bans=0)
    assert calls(search_calls=1) < calls()
    with pytest.raises(ValueError, match=r"search_tolerance is 0.1, but search is margin, which"):
        StructuredSVM(Bits(), search_tolerance=0.1).fit(X, y)
    with pytest.raises(ValueError, match="max_bans is 'few', but must be a whole number"):
        StructuredSVM(Bits(), surrogate="slack", max_bans="few").fit(X, y)


def test_steps_and_convex_passes_of_sgd_are_honoured() -> None:
    X, y = examples()

    def weights(**options: Any) -> np.ndarray:
        model = StructuredSVM(Bits(), surrogate="prob", C=0.2, max_passes=6, **options)
        return np.asarray(model.fit(X, y).coef_)

    by_default = weights()
    np.testing.assert_array_equal(weights(learning_rate=0.2, convex_passes=3), by_default)
    for other in ({"learning_rate": 0.02}, {"convex_passes": 0}):
        assert (weights(**other) != by_default).any(), other
    with pytest.raises(ValueError, match=r"learning_rate is 0.2, but solver is bcfw"):
        StructuredSVM(Bits(), solver="bcfw", learning_rate=0.2).fit(X, y)
    with pytest.raises(ValueError, match="learning_rate is 0, but must be auto or > 0"):
        StructuredSVM(Bits(), surrogate="prob", learning_rate=0).fit(X, y)


def test_sgd_ends_where_the_objective_settles() -> None:
    X, y = examples()
    model = StructuredSVM(Bits(), solver="sgd", max_passes=2000, C=0.1).fit(X, y)
    assert model.report_["stop"] == "settled"
    assert model.report_["passes"] < 2000
    longer = StructuredSVM(Bits(), solver="sgd", max_passes=2000, C=0.1, tolerance=1e-6).fit(X, y)
    assert longer.report_["passes"] > model.report_["passes"]
    assert longer.report_["primal"] < model.report_["primal"] * 1.001
