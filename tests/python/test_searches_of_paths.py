"""Searches and cross-validation of scikit-learn with paths as y."""

from collections.abc import Callable
from itertools import zip_longest
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from margrove import NHSVC, FlatSVC, metrics
from sklearn.metrics import make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)

RAGGED = [("a",), ("a", "x"), ("a", "y"), ("b", "x"), ("b", "z", "q")]
EVEN = [("a", "x"), ("a", "y"), ("b", "x"), ("b", "z")]


def rows(paths: list[tuple[str, ...]]) -> tuple[np.ndarray, list[tuple[str, ...]]]:
    """Rows that tell their paths, and these."""
    draw = np.random.default_rng(0)
    kinds = np.tile(np.arange(len(paths)), 60 // len(paths))
    X = np.eye(5)[kinds] + draw.normal(size=(len(kinds), 5)) / 10
    return X, [paths[kind] for kind in kinds]


def objects(y: Any) -> np.ndarray:
    array = np.empty(len(y), dtype=object)
    array[:] = y
    return array


def filled(y: Any) -> list[list[str]]:
    """Short paths filled up to the longest."""
    return [list(row) for row in zip(*zip_longest(*y, fillvalue=""), strict=True)]


def lists(y: Any) -> list[list[str]]:
    return [list(path) for path in y]


COLLECTIONS: dict[str, Callable[[Any], Any]] = {
    "tuples": list,
    "lists": lists,
    "tuple of tuples": tuple,
    "Series of tuples": pd.Series,
    "Series of lists": lambda y: pd.Series(lists(y)),
    "array of tuples": objects,
    "array of lists": lambda y: objects(lists(y)),
}
TABLES: dict[str, Callable[[Any], Any]] = {
    "lists": filled,
    "array": lambda y: np.array(filled(y)),
    "array of objects": lambda y: np.array(filled(y), dtype=object),
    "pandas": lambda y: pd.DataFrame(filled(y)),
    "polars": lambda y: pl.DataFrame(filled(y), orient="row"),
}


def search(X: Any, y: Any, cv: Any) -> GridSearchCV:
    grid = {"C": [0.01, 1]}
    found = GridSearchCV(NHSVC(threads=1), grid, cv=cv, error_score="raise").fit(X, y)
    assert found.best_estimator_._form == "paths"
    return found


@pytest.mark.parametrize("paths", [RAGGED, EVEN], ids=["ragged", "even"])
@pytest.mark.parametrize("form", COLLECTIONS)
def test_collections_of_paths_with_given_folds(form: str, paths: Any) -> None:
    X, given = rows(paths)
    y = COLLECTIONS[form](given)
    texts = [" > ".join(path) for path in given]
    stratified = list(StratifiedKFold(3).split(X, texts))
    for cv in (KFold(3, shuffle=True, random_state=0), stratified):
        found = search(X, y, cv)
        assert found.best_score_ == 1
        assert [tuple(path) for path in found.predict(X[:5])] == given[:5]
        assert cross_val_score(NHSVC(threads=1), X, y, cv=cv).tolist() == [1, 1, 1]
        assert cross_validate(NHSVC(threads=1), X, y, cv=cv)["test_score"].tolist() == [1, 1, 1]


@pytest.mark.parametrize("paths", [RAGGED, EVEN], ids=["ragged", "even"])
@pytest.mark.parametrize("form", TABLES)
def test_tables_of_paths_with_any_folds(form: str, paths: Any) -> None:
    X, given = rows(paths)
    y = TABLES[form](given)
    for cv in (3, KFold(3)):
        assert search(X, y, cv).best_score_ == 1
        assert cross_val_score(NHSVC(threads=1), X, y, cv=cv).tolist() == [1, 1, 1]
        assert cross_validate(NHSVC(threads=1), X, y, cv=cv)["test_score"].tolist() == [1, 1, 1]
        assert cross_val_predict(NHSVC(threads=1), X, y, cv=cv).tolist() == filled(given)


def test_paths_of_texts_are_classes_of_their_own_folds() -> None:
    """A path never becomes the set of its names, which every row here has."""
    X = np.eye(2)[[0, 1] * 10]
    y = [("a", "b"), ("b", "a")] * 10
    model = FlatSVC(threads=1)
    predicted = cross_val_predict(model, X, np.array(y), cv=2)
    assert predicted.tolist() == lists(y)
    assert cross_val_score(model, X, y, cv=KFold(2)).tolist() == [1, 1]


def test_scorers_of_the_package_take_paths() -> None:
    X, y = rows(RAGGED)
    scoring = make_scorer(metrics.hierarchical_f1)
    found = cross_val_score(NHSVC(threads=1), X, y, cv=KFold(3), scoring=scoring)
    assert found.tolist() == [1, 1, 1]


def test_what_scikit_learn_refuses_is_as_documented() -> None:
    """If these pass one day, docs/python.md can promise more."""
    X, y = rows(RAGGED)
    with pytest.raises(ValueError, match="legacy multi-label"):
        cross_val_score(NHSVC(), X, y, cv=3)
    with pytest.raises(ValueError, match="inhomogeneous"):
        cross_val_predict(NHSVC(threads=1), X, y, cv=KFold(3))
    with pytest.raises(ValueError, match="multiclass-multioutput"):
        cross_val_score(NHSVC(), X, np.array(filled(y)), cv=StratifiedKFold(3))
