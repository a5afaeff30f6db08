"""coef_ and intercept_ are those of decision_function."""

from typing import Any

import margrove
import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectFromModel

TREE = [("r", "u"), ("r", "v"), ("u", "a"), ("u", "b"), ("v", "c"), ("v", "d")]
DAG = [*TREE, ("v", "b")]


def rows(num_columns: int = 9, *, is_sparse: bool = False) -> tuple[Any, NDArray[Any]]:
    random = np.random.default_rng(0)
    y = random.choice(list("abcd"), 120)
    X = random.normal(size=(120, num_columns))
    X[:, 0] += (y == "a") + 2 * (y == "c")
    return (sp.csr_array(np.where(np.abs(X) > 1.2, X, 0)) if is_sparse else X), y


def assert_agrees(model: Any, X: Any) -> None:
    scores = X @ model.coef_.T + model.intercept_
    if sp.issparse(scores):
        scores = scores.toarray()
    decision = model.decision_function(X)
    np.testing.assert_allclose(np.reshape(scores, decision.shape), decision, atol=2e-5)


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize(
    "model",
    [
        margrove.FlatSVC(),
        margrove.FlatSVC(scale="standard"),
        margrove.FlatSVC(bias=0, scale="none"),
        margrove.FlatLogisticRegression(intercept_penalty=0),
        margrove.NHSVC(hierarchy=TREE),
        margrove.NHSVC(hierarchy=DAG),
        margrove.HRSVC(hierarchy=TREE),
        margrove.HSVC(hierarchy=DAG),
        margrove.LevelSVC(hierarchy=TREE),
        margrove.LevelSVC(hierarchy=DAG, bias=0, scale="none"),
    ],
)
def test_scores_are_products_with_the_coefficients(model: Any, is_sparse: bool) -> None:
    X, y = rows(is_sparse=is_sparse)
    model.fit(X, y)
    assert model.coef_.shape == (4, 9)
    assert model.intercept_.shape == (4,)
    assert_agrees(model, X)


def test_two_classes_have_one_row_as_in_scikit_learn() -> None:
    X, y = rows()
    model = margrove.FlatSVC().fit(X, y == "a")
    assert model.coef_.shape == (1, 9)
    assert model.intercept_.shape == (1,)
    assert_agrees(model, X)


def test_weights_that_are_stored_sparsely_give_a_sparse_array() -> None:
    X, y = rows(400, is_sparse=True)
    model = margrove.FlatSVC().fit(X, y).compressed(keep=0.05)
    assert sp.issparse(model.coef_)
    assert_agrees(model, X)


def test_models_of_several_labels_have_one_row_per_class() -> None:
    X, y = rows()
    sets = [[each, "d"] if each != "d" else ["d"] for each in y]
    model = margrove.FlatSVC().fit(X, sets)
    assert model.coef_.shape == (4, 9)
    assert_agrees(model, X)


def test_feature_selection_of_scikit_learn_takes_them() -> None:
    X, y = rows()
    chosen = SelectFromModel(margrove.FlatSVC(), max_features=1, threshold=-np.inf).fit(X, y)
    assert chosen.get_support()[0]


def test_models_without_them_say_so() -> None:
    X, y = rows()
    assert not hasattr(margrove.FlatSVC(), "coef_")
    with pytest.raises(NotFittedError):
        _ = margrove.FlatSVC().coef_
    model = margrove.TopDownSVC(hierarchy=TREE).fit(X, y)
    with pytest.raises(AttributeError, match=r"^coef_: the model is of method top-down-svm"):
        _ = model.coef_
