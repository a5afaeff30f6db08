"""What rows without a label mean: the parameter `unlabelled`."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from margrove import _core, classifiers, kernel_classifiers, shards
from margrove.automatic import AutoClassifier
from margrove.classifiers import (
    HSVC,
    NHSVC,
    Classifier,
    FlatLogisticRegression,
    FlatSVC,
    KernelRidgeClassifier,
    StructuredSVC,
)
from sklearn.base import clone

COUNT = "rows have no label and were left out"


def corner_rows() -> tuple[np.ndarray[Any, Any], list[str | None]]:
    """Rows of a and b far from each other, and rows without a label far from both."""
    corners = {"a": (8.0, 0.0), "b": (0.0, 8.0), None: (-8.0, -8.0)}
    labels = ["a", "b", None] * 15
    noise = np.random.default_rng(3).normal(size=(45, 2))
    return np.array([corners[label] for label in labels]) + noise, labels


X, Y = corner_rows()
SETS = [set() if label is None else {label} for label in Y]
SEVERAL = [{"a", "b"} if k % 9 == 0 else labels for k, labels in enumerate(SETS)]
X_SEVERAL = X + 8 * np.array([[0, k % 9 == 0] for k in range(len(X))])
TAKING: list[Callable[..., Classifier]] = [
    FlatSVC,
    FlatLogisticRegression,
    KernelRidgeClassifier,
    lambda **given: StructuredSVC(model="multilabel-field", **given),
    AutoClassifier,
]
ESTIMATORS = [
    made
    for module in (classifiers, kernel_classifiers)
    for made in vars(module).values()
    if isinstance(made, type) and issubclass(made, Classifier) and "_method" in vars(made)
]


def missing(fill: Any) -> list[Any]:
    return [fill if label is None else label for label in Y]


def columns() -> list[Any]:
    texts = [np.array(missing(None), dtype=object), pd.Series(Y), pl.Series(Y)]
    return [Y, tuple(Y), missing(float("nan")), missing(""), missing(pd.NA), *texts]


# Answers with at least one label (docs/formats.md).
NEVER_EMPTY = (KernelRidgeClassifier,)


def assert_right(model: Classifier) -> None:
    answers = model.predict(X)
    for answer, labels in zip(answers, SETS, strict=True):
        assert answer == labels or (not labels and isinstance(model, NEVER_EMPTY))


def test_every_method_that_takes_them_is_tested() -> None:
    taking = {"flat-svm", "flat-lr", "kernel-ridge", "structured"}
    assert taking <= {made._method for made in ESTIMATORS}
    assert len(ESTIMATORS) == len(_core.methods())
    for made in ESTIMATORS:
        estimator = made(unlabelled="keep")
        if made is StructuredSVC:
            estimator.set_params(model="hierarchy")
        if made._method in taking - {"structured"}:
            assert_right(estimator.fit(X, Y))
            continue
        message = f"unlabelled is keep, but method {made._method} takes no rows without a label"
        with pytest.raises(ValueError, match=message):
            estimator.fit(X, Y)


@pytest.mark.parametrize("made", TAKING)
@pytest.mark.parametrize("y", columns(), ids=lambda y: type(y).__name__)
def test_keep_learns_them_as_empty_sets(made: Callable[..., Classifier], y: Any) -> None:
    model = made(unlabelled="keep").fit(X, y)
    assert_right(model)
    assert model.score(X, y) == (2 / 3 if isinstance(model, NEVER_EMPTY) else 1)
    assert model.classes_.tolist() == ["a", "b"]
    assert clone(model).unlabelled == "keep"


def test_keep_takes_numbers_and_rows_without_holes() -> None:
    numbers = np.array([{"a": 1.0, "b": 2.0, None: np.nan}[label] for label in Y])
    model = FlatSVC(unlabelled="keep").fit(X, numbers)
    assert model.predict(X) == [{1.0}, {2.0}, set()] * 15
    full = np.array([k for k, label in enumerate(Y) if label])
    model = FlatSVC(unlabelled="keep").fit(X[full], [Y[k] for k in full])
    assert model.predict(X[full]) == [SETS[k] for k in full]


def test_frames_of_columns_keep_them() -> None:
    frame = pd.DataFrame({"x": X[:, 0], "y": X[:, 1], "label": Y})
    for table in (frame, pl.from_pandas(frame)):
        for made in (FlatSVC, AutoClassifier):
            model = made(unlabelled="keep", numeric=["x", "y"])
            assert model.fit(table, table["label"]).predict(table) == SETS


@pytest.mark.parametrize("made", [*TAKING, HSVC, NHSVC])
def test_drop_leaves_them_out_where_a_row_has_several(made: Callable[..., Classifier]) -> None:
    full = [k for k, labels in enumerate(SEVERAL) if labels]
    count = len(SEVERAL) - len(full)
    dropping = made(unlabelled="drop", scale="none")
    indicator = np.array([["a" in labels, "b" in labels] for labels in SEVERAL], dtype=int)
    for y in (SEVERAL, indicator, sp.csr_array(indicator)):
        with pytest.warns(UserWarning, match=f"{count} of 45 {COUNT}"):
            dropping.fit(X_SEVERAL, y)
    with pytest.warns(UserWarning, match=f"{count} of 45 {COUNT}"):
        dropping.fit(X_SEVERAL, SEVERAL)
    if not isinstance(dropping, AutoClassifier):  # which splits the rows otherwise
        without = clone(dropping).set_params(unlabelled="auto")
        without.fit(X_SEVERAL[full], [SEVERAL[k] for k in full])
        assert np.array_equal(
            dropping.decision_function(X_SEVERAL), without.decision_function(X_SEVERAL)
        )
    assert set() not in dropping.predict(X_SEVERAL[full])


@pytest.mark.parametrize("made", ESTIMATORS)
def test_drop_and_auto_are_the_same_where_rows_have_one_label(made: type[Classifier]) -> None:
    answers = []
    for unlabelled in ("auto", "drop"):
        estimator = made(unlabelled=unlabelled)
        if made is StructuredSVC:
            estimator.set_params(model="multilabel-field")
        with pytest.warns(UserWarning, match=f"15 of 45 {COUNT}"):
            answers.append(estimator.fit(X, Y).predict(X).tolist())
    assert answers[0] == answers[1]
    assert set(answers[0]) == {"a", "b"}


def test_equal_rows_of_weights_stay_sets() -> None:
    model = FlatSVC(unlabelled="keep").fit(
        np.vstack([X, X]), Y + Y, sample_weight=np.ones(2 * len(Y))
    )
    assert model.predict(X) == SETS
    model = FlatSVC(unlabelled="keep", class_weight="balanced").fit(X, Y)
    assert model.predict(X) == SETS


def test_shards_are_one_training() -> None:
    for unlabelled, y in (("keep", Y), ("drop", SEVERAL)):
        whole, parts = FlatSVC(unlabelled=unlabelled), FlatSVC(unlabelled=unlabelled)
        if unlabelled == "drop":
            with pytest.warns(UserWarning, match=COUNT):
                whole.fit(X, y)
            with pytest.warns(UserWarning, match=COUNT):
                shards.fit(parts, X, y, shards=2)
        else:
            whole.fit(X, y)
            shards.fit(parts, X, y, shards=2)
        assert np.array_equal(whole.decision_function(X), parts.decision_function(X))
        assert whole.predict(X) == parts.predict(X)


def test_what_has_no_meaning_is_refused() -> None:
    with pytest.raises(ValueError, match="option unlabelled is 'some', but must be one of auto"):
        FlatSVC(unlabelled="some").fit(X, Y)
    with pytest.raises(ValueError, match="option unlabelled is 'some', but must be one of auto"):
        AutoClassifier(unlabelled="some").fit(X, Y)
    with pytest.raises(ValueError, match="'keep', which makes label sets, but y has a path for"):
        FlatSVC(unlabelled="keep").fit(X[:3], [("a", "b"), ("a", "c"), None])
    for unlabelled in ("drop", "keep"):
        with pytest.raises(ValueError, match=f"unlabelled is '{unlabelled}', which is for rows"):
            StructuredSVC(model="chain", unlabelled=unlabelled).fit([["Ann"]], [["B"]])
    with pytest.raises(ValueError, match="where multiclass is crammer-singer; methods that do"):
        FlatSVC(unlabelled="keep", multiclass="crammer-singer").fit(X, Y)
