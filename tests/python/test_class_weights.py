"""Weights of classes, in the estimators and in the program."""

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from margrove import (
    HSVC,
    NHSVC,
    FlatLogisticRegression,
    FlatSVC,
    KernelRidgeClassifier,
    StructuredSVC,
    load,
)
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.utils.class_weight import compute_sample_weight
from test_estimators import EDGES, ESTIMATORS, PROGRAM

COUNTS = {"cat": 40, "dog": 25, "oak": 10, "rose": 5}


def skewed(seed: int = 0) -> tuple[NDArray[np.float32], NDArray[Any]]:
    """Overlapping classes of different sizes."""
    random = np.random.default_rng(seed)
    y = np.repeat(list(COUNTS), list(COUNTS.values()))
    centres = {label: random.normal(size=6) for label in COUNTS}
    X = np.array([centres[label] + 1.5 * random.normal(size=6) for label in y])
    order = random.permutation(len(y))
    return X[order].astype(np.float32), y[order]


@pytest.mark.parametrize("made", ESTIMATORS)
def test_class_weights_are_row_weights_bit_for_bit(made: Any) -> None:
    X, y = skewed()
    weights = np.random.default_rng(1).uniform(0.5, 2, size=len(y))
    of_class = {"cat": 0.25, "oak": 3, "rose": 1.5}  # dogs weigh 1
    by_hand = weights * np.array([of_class.get(label, 1) for label in y])
    expected = made(hierarchy=EDGES).fit(X, y, sample_weight=by_hand).decision_function(X)
    weighed = made(hierarchy=EDGES, class_weight=of_class).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(weighed.decision_function(X), expected)
    plain = made(hierarchy=EDGES).fit(X, y, sample_weight=weights)
    assert (plain.decision_function(X) != expected).any()
    balanced = made(hierarchy=EDGES, class_weight="balanced").fit(X, y)
    by_hand = compute_sample_weight("balanced", y)
    expected = made(hierarchy=EDGES).fit(X, y, sample_weight=by_hand).decision_function(X)
    np.testing.assert_allclose(balanced.decision_function(X), expected, atol=1e-3)


def test_two_classes_of_logistic_regression_are_those_of_scikit_learn() -> None:
    X, y = skewed()
    y = np.where(np.isin(y, ["cat", "dog"]), "animal", "plant")
    rows = sp.csr_array(X)
    for class_weight in ("balanced", {"plant": 4.0}, None):
        theirs = LogisticRegression(class_weight=class_weight, tol=1e-8, max_iter=1000).fit(X, y)
        ours = FlatLogisticRegression(
            class_weight=class_weight, intercept_penalty=0, scale="none", tolerance=1e-8
        ).fit(rows, y)
        np.testing.assert_allclose(
            ours.decision_function(rows) / 2, theirs.decision_function(X), atol=2e-3
        )


def test_rare_classes_are_found_more_often_with_balanced_weights() -> None:
    X, y = skewed()
    plain = np.mean(FlatSVC(C=0.01).fit(X, y).predict(X) == "rose")
    balanced = np.mean(FlatSVC(C=0.01, class_weight="balanced").fit(X, y).predict(X) == "rose")
    assert balanced > plain


def test_decisions_are_tuned_with_the_weights() -> None:
    X, y = skewed()
    of_class = {"rose": 20.0, "oak": 8.0, "dog": 1.0, "cat": 1.0}
    by_hand = np.array([of_class[label] for label in y])
    sets = [{label} for label in y]

    def tuned(class_weight: Any) -> FlatSVC:
        return FlatSVC(decision="threshold", class_weight=class_weight)

    expected = tuned(None).fit(X, sets, sample_weight=by_hand)
    weighed = tuned(of_class).fit(X, sets)
    assert weighed.predict(X) == expected.predict(X)
    assert weighed.predict(X) != tuned(None).fit(X, sets).predict(X)


def test_classes_that_y_lacks_may_have_weights_where_all_of_y_have() -> None:
    X, y = skewed()
    some = y != "rose"
    complete = {"cat": 1.0, "dog": 2.0, "oak": 3.0}
    expected = FlatSVC(class_weight=complete).fit(X[some], y[some]).decision_function(X)
    more = FlatSVC(class_weight=complete | {"rose": 4.0}).fit(X[some], y[some])
    np.testing.assert_array_equal(more.decision_function(X), expected)
    with pytest.raises(ValueError, match="class_weight: 'roze' is no class of y, and not every"):
        FlatSVC(class_weight={"roze": 2.0}).fit(X, y)


def test_errors_of_class_weights() -> None:
    X, y = skewed()
    for wrong in ("auto", 3, ["balanced"]):
        with pytest.raises(ValueError, match="but must be None, 'balanced' or a dict of classes"):
            FlatSVC(class_weight=wrong).fit(X, y)
    for weight in (-1.0, np.nan):
        with pytest.raises(ValueError, match="class weights: one is"):
            FlatSVC(class_weight={"cat": weight}).fit(X, y)
    with pytest.raises(ValueError, match="y: row 1 has 2 labels, but class weights are for rows"):
        FlatSVC(class_weight="balanced").fit(X, [{"a", "b"}, *({"a"} for _ in y[1:])])
    with pytest.raises(ValueError, match="must be None or a dict for partial_fit"):
        NHSVC(solver="sgd", class_weight="balanced").partial_fit(X, y, classes=list(COUNTS))
    unweighted: list[Any] = [KernelRidgeClassifier, StructuredSVC]
    for made in unweighted:
        with pytest.raises(TypeError, match="class_weight"):
            made(class_weight="balanced")


def test_partial_fit_takes_weights_of_classes() -> None:
    X, y = skewed()
    of_class = {"rose": 5.0}
    weighed = HSVC(solver="sgd", class_weight=of_class).partial_fit(X, y, classes=list(COUNTS))
    by_hand = np.where(y == "rose", 5.0, 1.0)
    expected = HSVC(solver="sgd").partial_fit(X, y, classes=list(COUNTS), sample_weight=by_hand)
    np.testing.assert_array_equal(weighed.decision_function(X), expected.decision_function(X))


@pytest.mark.parametrize("scale", ["none", "auto", "standard"])
def test_the_program_and_python_weigh_alike(tmp_path: Path, scale: str) -> None:
    X, y = skewed()
    lines = [
        " ".join([label, *(f"{j + 1}:{value!r}" for j, value in enumerate(row.tolist()))])
        for label, row in zip(y, X, strict=True)
    ]
    (tmp_path / "train").write_text("\n".join(lines) + "\n")
    (tmp_path / "weights").write_text("rose\t5\noak 2 # twice\n")
    (tmp_path / "edges").write_text("".join(f"{p} {c}\n" for p, c in EDGES))
    for given, of_class in (
        ("balanced", "balanced"),
        ("weights", {"rose": 5.0, "oak": 2.0}),
    ):
        subprocess.run(
            [PROGRAM, "train", "--method", "nhsvm", "--hierarchy", "edges", "--class-weight",
             given, "--scale", scale, "--C", "1", "--tolerance", "1e-6", "--quiet", "train",
             "model"],
            cwd=tmp_path, check=True, capture_output=True,
        )  # fmt: skip
        ours = NHSVC(hierarchy=EDGES, class_weight=of_class, scale=scale, C=1, tolerance=1e-6)
        np.testing.assert_allclose(
            load(tmp_path / "model").decision_function(X),
            ours.fit(X, y).decision_function(X),
            atol=5e-3,
        )
