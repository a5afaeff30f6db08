"""What y may be: the same rows in any container mean the same, and missing labels are left out."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from margrove import NHSVC, FlatLogisticRegression, FlatSVC, KernelRidgeClassifier
from margrove._labels import read_targets

PATHS = [["animal", "dog"], ["animal", "cat"], ["plant", "oak"], ["plant", "oak", "red"]]
X = np.array([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0], [1.0, 0, 1.0]])


def column(rows: list[Any]) -> Any:
    array = np.empty(len(rows), dtype=object)
    array[:] = rows
    return array


CONTAINERS = {
    "list": list,
    "tuple": tuple,
    "Series": pd.Series,
    "array": column,
    "Polars": pl.Series,
    "PyArrow": pa.array,
}


@pytest.mark.parametrize("name", CONTAINERS)
@pytest.mark.parametrize("rows", [PATHS, ["a", "b", "a", "c"], [1, 2, 1, 3]], ids=str)
def test_rows_mean_the_same_in_every_container(name: str, rows: list[Any]) -> None:
    expected, found = read_targets(rows), read_targets(CONTAINERS[name](rows))
    assert found.form == expected.form
    assert found.classes.tolist() == expected.classes.tolist()
    assert found.pointers.tolist() == expected.pointers.tolist()
    assert found.positions.tolist() == expected.positions.tolist()
    assert found.edges == expected.edges


def test_a_column_of_split_paths_is_paths() -> None:
    frame = pd.DataFrame({"category": ["a > b", "a > c", "d"]})
    assert read_targets(frame.category.str.split(" > ")).form == "paths"
    assert read_targets(pd.Series([("a", "b"), ("a", "c")])).form == "paths"
    assert read_targets(pd.Series([{"a", "b"}, {"c"}])).form == "sets"


MISSING = [None, float("nan"), pd.NA, pd.NaT, "", "  ", np.float32("nan")]


@pytest.mark.parametrize("missing", MISSING, ids=repr)
@pytest.mark.parametrize("container", [list, column, pd.Series], ids=["list", "array", "Series"])
def test_missing_labels_are_left_out_with_a_warning(missing: Any, container: Any) -> None:
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(60, 3))
    labels: list[Any] = [["a", "b", "c"][k] for k in rows.argmax(axis=1)]
    plain = [k for k in range(60) if k % 7]
    holes = [label if k % 7 else missing for k, label in enumerate(labels)]
    for estimator in (FlatSVC(), FlatLogisticRegression(), KernelRidgeClassifier()):
        with pytest.warns(UserWarning, match="9 of 60 rows have no label and were left out"):
            estimator.fit(rows, container(holes))
        with_holes = estimator.predict(rows)
        score = estimator.score(rows, container(holes))
        without = estimator.fit(rows[plain], [labels[k] for k in plain])
        assert with_holes.tolist() == without.predict(rows).tolist()
        assert score == without.score(rows[plain], [labels[k] for k in plain])


def test_missing_paths_are_left_out() -> None:
    with pytest.warns(UserWarning, match="1 of 5 rows have no label"):
        model = NHSVC().fit(np.vstack([X, X[:1]]), [*PATHS, None])
    assert model.predict(X) == NHSVC().fit(X, PATHS).predict(X)


def test_labels_that_are_all_missing_are_an_error() -> None:
    with pytest.raises(ValueError, match="y: every label is missing"):
        FlatSVC().fit(X, [None, None, None, float("nan")])


@pytest.mark.parametrize(
    ("y", "hierarchy"),
    [
        ([["a", "b"], ["c"], ["a"], ["c"]], {"r": ["a", "b", "c"]}),
        ([["a", "b"], [], ["a"], ["c"]], None),
        ([("a", "b"), (), ("a",), ("c",)], None),
        ([["a", "b"], [None, "b"], ["a"], ["c"]], None),
    ],
)
def test_messages_on_lists_say_that_they_are_paths_and_that_several_labels_are_sets(
    y: Any, hierarchy: Any
) -> None:
    with pytest.raises(
        ValueError,
        match=r"rows of y that are lists or tuples are paths from a root down to the label: give "
        r"several labels of a row as a set, \{'a', 'b'\}$",
    ):
        FlatSVC(hierarchy=hierarchy).fit(np.eye(4), y)
