"""Estimators that go on from an earlier fit: warm_start and partial_fit."""

import pickle
from typing import Any

import numpy as np
import pytest
from margrove import HRSVC, HSVC, NHSVC, FlatLogisticRegression, FlatSVC
from numpy.typing import NDArray
from sklearn.utils.estimator_checks import parametrize_with_checks

EDGES = [("animal", "dog"), ("animal", "cat"), ("plant", "oak"), ("plant", "rose")]
LEAVES = np.array(["cat", "dog", "oak", "rose"])


def noisy_rows(count: int = 120, seed: int = 3) -> tuple[NDArray[np.float32], NDArray[Any]]:
    """Rows that overlap, so that training takes passes."""
    random = np.random.default_rng(seed)
    y = random.integers(0, 4, count)
    X = random.normal(size=(count, 6)).astype(np.float32)
    X[np.arange(count), y] += 1.0
    return X, LEAVES[y]


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [HSVC(solver="sgd", epochs=30), FlatLogisticRegression(warm_start=True)]
)
def test_scikit_learn_checks_with_steps(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize(
    "estimator",
    [
        FlatSVC(C=3, tolerance=1e-4),
        FlatSVC(C=3, tolerance=1e-4, multiclass="crammer-singer"),
        FlatLogisticRegression(C=3, tolerance=1e-6),
        HSVC(hierarchy=EDGES, C=3, tolerance=1e-4),
        NHSVC(hierarchy=EDGES, C=3, tolerance=1e-4),
    ],
    ids=lambda e: type(e).__name__ + getattr(e, "multiclass", ""),
)
def test_a_second_fit_starts_at_the_first_ones_answer(estimator: Any) -> None:
    X, y = noisy_rows()
    cold = estimator.fit(X, y).report_
    estimator.set_params(warm_start=True).fit(X, y)
    warm = estimator.fit(X, y).report_
    assert warm["passes"] < cold["passes"]
    assert warm["primal"] == pytest.approx(cold["primal"], rel=2e-4)
    # Another C and other rows are trained to their own optimum.
    estimator.set_params(C=1).fit(X[:90], y[:90])
    fresh = type(estimator)(**estimator.get_params()).fit(X[:90], y[:90])
    assert estimator.report_["primal"] == pytest.approx(fresh.report_["primal"], rel=2e-4)


def test_other_node_weights_start_anew() -> None:
    X, y = noisy_rows()
    machine = NHSVC(hierarchy=EDGES, tolerance=1e-5, warm_start=True).fit(X, y)
    machine.set_params(alpha="uniform").fit(X, y)
    fresh = NHSVC(hierarchy=EDGES, tolerance=1e-5, alpha="uniform").fit(X, y)
    assert machine.report_["primal"] == fresh.report_["primal"]


def test_warm_start_with_steps_makes_further_epochs() -> None:
    X, y = noisy_rows()
    machine = HSVC(hierarchy=EDGES, solver="sgd", epochs=2, warm_start=True)
    twice = machine.fit(X, y).fit(X, y).decision_function(X)
    once = HSVC(hierarchy=EDGES, solver="sgd", epochs=4).fit(X, y).decision_function(X)
    np.testing.assert_array_equal(twice, once)


@pytest.mark.parametrize("estimator", [HSVC, NHSVC])
def test_passes_over_all_rows_are_the_epochs_of_fit(estimator: Any) -> None:
    X, y = noisy_rows()
    parts = estimator(hierarchy=EDGES, solver="sgd")
    for _ in range(3):
        parts.partial_fit(X, y, classes=LEAVES)
    whole = estimator(hierarchy=EDGES, solver="sgd", epochs=3).fit(X, y)
    np.testing.assert_array_equal(parts.decision_function(X), whole.decision_function(X))


def test_batches_learn_labels_that_come_late_and_features_that_are_absent_at_first() -> None:
    X, y = noisy_rows(400)
    early = np.flatnonzero((y == "cat") | (y == "dog"))[:50]
    machine = NHSVC(hierarchy=EDGES, solver="sgd", C=10)
    first = X[early].copy()
    first[:, 3] = 0
    machine.partial_fit(first, y[early], classes=LEAVES)
    assert list(machine.classes_) == list(LEAVES)
    random = np.random.default_rng(0)
    for _ in range(12):
        for rows in np.array_split(random.permutation(400), 8):
            machine.partial_fit(X[rows], y[rows])
    whole = NHSVC(hierarchy=EDGES, solver="sgd", C=10).fit(X, y)
    assert machine.score(X, y) > whole.score(X, y) - 0.05


def test_partial_fit_after_a_change_of_structure_is_an_error() -> None:
    X, y = noisy_rows()
    machine = NHSVC(hierarchy=EDGES, solver="sgd").partial_fit(X, y, classes=LEAVES)
    machine.set_params(alpha="uniform")
    with pytest.raises(ValueError, match="the earlier run had another hierarchy"):
        machine.partial_fit(X, y)


def test_partial_fit_names_what_is_wrong() -> None:
    X, y = noisy_rows()
    machine = HSVC(hierarchy=EDGES, solver="sgd")
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        machine.partial_fit(X, y)
    with pytest.raises(ValueError, match=r"label is '?.*rose.*must be one of `classes`"):
        machine.partial_fit(X, y, classes=LEAVES[:3])
    machine.partial_fit(X, y, classes=LEAVES)
    with pytest.raises(ValueError, match="must be those of the first call"):
        machine.partial_fit(X, y, classes=LEAVES[:3])
    with pytest.raises(ValueError, match="5 features"):
        machine.partial_fit(X[:, :5], y)


def test_only_solvers_that_take_rows_one_by_one_have_partial_fit() -> None:
    assert hasattr(HSVC(solver="sgd"), "partial_fit")
    assert not hasattr(HSVC(), "partial_fit")
    assert not hasattr(HRSVC(), "partial_fit")


def test_a_pickled_estimator_starts_anew_and_only_if_told() -> None:
    X, y = noisy_rows()
    machine = HSVC(hierarchy=EDGES, solver="sgd").partial_fit(X, y, classes=LEAVES)
    copy = pickle.loads(pickle.dumps(machine))
    np.testing.assert_array_equal(copy.decision_function(X), machine.decision_function(X))
    with pytest.raises(ValueError, match="no run to continue"):
        copy.partial_fit(X, y)
    copy.partial_fit(X, y, classes=LEAVES)
    np.testing.assert_array_equal(copy.decision_function(X), machine.decision_function(X))


def test_partial_fit_goes_on_from_fit() -> None:
    X, y = noisy_rows()
    machine = HSVC(hierarchy=EDGES, solver="sgd", epochs=2).fit(X, y).partial_fit(X, y)
    whole = HSVC(hierarchy=EDGES, solver="sgd", epochs=3).fit(X, y)
    np.testing.assert_array_equal(machine.decision_function(X), whole.decision_function(X))


def test_partial_fit_does_not_forget_a_fit_of_the_other_solver_in_silence() -> None:
    X, y = noisy_rows()
    machine = HSVC(hierarchy=EDGES, warm_start=True).fit(X, y).set_params(solver="sgd")
    with pytest.raises(ValueError, match="of solver 'bcfw'"):
        machine.partial_fit(X, y)


def test_partial_fit_holds_no_rows_out() -> None:
    X, y = noisy_rows()
    machine = HSVC(hierarchy=EDGES, solver="sgd", calibration=0.2)
    with pytest.raises(ValueError, match=r"calibration is 0\.2, but must be 0 for partial_fit"):
        machine.partial_fit(X, y, classes=LEAVES)


def test_calibration_of_a_warm_fit_does_not_know_the_rows_it_holds_out() -> None:
    X, y = noisy_rows()
    machine = HSVC(hierarchy=EDGES, solver="sgd", calibration=0.3, warm_start=True)
    first = machine.fit(X, y).calibration_
    assert machine.fit(X, y).calibration_ == first
