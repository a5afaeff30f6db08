"""Multinomial logistic regression: multiclass="softmax" of the logistic methods."""

from pathlib import Path
from typing import Any

import margrove
import numpy as np
import pytest
from margrove import FlatLogisticRegression, HRLogisticRegression
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax
from sklearn.linear_model import LogisticRegression

TREE = [("animals", "cat"), ("animals", "dog"), ("plants", "fern"), ("plants", "moss")]
LABELS = ["cat", "dog", "fern", "moss"]


@pytest.fixture(name="rows")
def fixture_rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    means = rng.normal(size=(4, 6))
    places = rng.integers(4, size=120)
    return means[places] + rng.normal(size=(120, 6)), np.array(LABELS)[places]


def exact(**options: Any) -> dict[str, Any]:
    return {"multiclass": "softmax", "scale": "none", "bias": 0, "tolerance": 1e-6, **options}


def test_it_is_the_multinomial_regression_of_scikit_learn(
    rows: tuple[np.ndarray, np.ndarray],
) -> None:
    X, y = rows
    ours = FlatLogisticRegression(C=0.7, **exact()).fit(X, y)
    theirs = LogisticRegression(C=0.7, fit_intercept=False, tol=1e-8, max_iter=1000).fit(X, y)
    assert list(ours.classes_) == list(theirs.classes_)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=2e-3)
    assert ours.report_["stop"] == "converged"


def test_paths_share_weights_and_reach_the_optimum(rows: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = rows
    own = np.array([LABELS.index(label) for label in y])
    above = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
    on_path = np.hstack([np.eye(4), above])  # of each label: its own node, and the one above
    C = 0.7

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        V = flat.reshape(6, X.shape[1])
        scores = X @ V.T @ on_path.T
        value = 0.5 * (V**2).sum() + C * (
            logsumexp(scores, axis=1).sum() - scores[range(120), own].sum()
        )
        slopes = softmax(scores, axis=1)
        slopes[range(120), own] -= 1
        return value, (V + C * on_path.T @ slopes.T @ X).ravel()

    optimum = minimize(loss, np.zeros(36), jac=True, method="L-BFGS-B", options={"gtol": 1e-9})
    model = HRLogisticRegression(hierarchy=TREE, C=C, **exact()).fit(X, y)
    assert model.report_["primal"] == pytest.approx(optimum.fun, rel=1e-5)
    assert model.report_["dual"] <= optimum.fun * (1 + 1e-6)
    probabilities = softmax(X @ optimum.x.reshape(6, -1).T @ on_path.T, axis=1)
    np.testing.assert_allclose(model.predict_proba(X), probabilities, atol=2e-3)


def test_row_weights_count(rows: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = rows
    twice = FlatLogisticRegression(C=0.7, **exact()).fit(np.vstack([X, X]), np.hstack([y, y]))
    weighted = FlatLogisticRegression(C=0.7, **exact()).fit(X, y, sample_weight=np.full(120, 2.0))
    np.testing.assert_allclose(twice.predict_proba(X), weighted.predict_proba(X), atol=2e-3)


def test_two_labels_and_an_intercept(rows: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = rows
    places = np.isin(y, ["cat", "dog"])
    model = FlatLogisticRegression(multiclass="softmax").fit(X[places], y[places])
    assert model.score(X[places], y[places]) > 0.7
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1, rtol=1e-5)


@pytest.mark.parametrize("C", [0.1, 1.0])
def test_rows_with_large_values_are_learned_as_well(C: float) -> None:
    """The part of the weights that all labels share must stay small beside the others."""
    rng = np.random.default_rng(5)
    means = rng.normal(size=(4, 5))
    places = rng.integers(4, size=600)
    X = 1000 * (means[places] + rng.normal(size=(600, 5)))
    scores = {
        multiclass: FlatLogisticRegression(C=C, multiclass=multiclass, scale="none")
        .fit(X, places)
        .score(X, places)
        for multiclass in ("ovr", "softmax")
    }
    assert scores["softmax"] >= scores["ovr"] - 0.01


def test_a_warm_start_says_that_it_keeps_nothing(rows: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = rows
    model = FlatLogisticRegression(multiclass="softmax", warm_start=True).fit(X, y)
    with pytest.warns(UserWarning, match="has options with which none is kept, such as multiclass"):
        model.fit(X, y)


def test_a_model_of_a_file_answers_alike(
    rows: tuple[np.ndarray, np.ndarray], tmp_path: Path
) -> None:
    X, y = rows
    model = HRLogisticRegression(hierarchy=TREE, multiclass="softmax").fit(X, y)
    model.save(tmp_path / "model")
    loaded = margrove.load(tmp_path / "model")
    np.testing.assert_array_equal(model.predict_proba(X), loaded.predict_proba(X))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"decision": "scut"}, "option decision is scut, but must be argmax where multiclass is"),
        ({"intercept_penalty": 0}, "intercept_penalty is 0, but must be > 0 where multiclass is"),
        ({"match_names": True}, "option match_names is given, but multiclass is softmax"),
        ({"partial_labels": True}, "option partial_labels is given, but multiclass is softmax"),
    ],
)
def test_options_of_one_vs_rest_are_refused(
    rows: tuple[np.ndarray, np.ndarray], options: dict[str, Any], message: str
) -> None:
    X, y = rows
    with pytest.raises(ValueError, match=message):
        FlatLogisticRegression(multiclass="softmax", **options).fit(X, y)


def test_label_sets_are_refused(rows: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = rows
    sets = [{a, b} for a, b in zip(y, np.roll(y, 1), strict=True)]
    with pytest.raises(ValueError, match="needs one per row"):
        FlatLogisticRegression(multiclass="softmax").fit(X, sets)
    with pytest.raises(ValueError, match="needs one per row"):
        HRLogisticRegression(hierarchy=TREE, multiclass="softmax").fit(X, sets)
