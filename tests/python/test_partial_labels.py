"""Rows whose label is an inner node below which their class lies: partial_labels=True."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from margrove import (
    HRSVC,
    HSVC,
    NHSVC,
    FlatLogisticRegression,
    FlatSVC,
    HRLogisticRegression,
    SharedSVC,
    TopDownSVC,
)
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from test_estimators import EDGES

PARENT = {child: parent for parent, child in EDGES}
LEAVES = ["cat", "dog", "oak", "rose"]


def partly_labelled(count: int = 160, seed: int = 0) -> tuple[sp.csr_array, NDArray[Any]]:
    """Half of the rows have the parent of their class as label."""
    random = np.random.default_rng(seed)
    y = np.array(LEAVES)[random.integers(len(LEAVES), size=count)]
    centres = {label: random.normal(size=6) for label in LEAVES}
    X = np.array([centres[label] + 1.2 * random.normal(size=6) for label in y])
    known = random.uniform(size=count) < 0.5
    labels = np.array([label if k else PARENT[label] for label, k in zip(y, known, strict=True)])
    return sp.csr_array(X.astype(np.float32)), labels


def possible(labels: NDArray[Any], leaf: str) -> NDArray[np.bool_]:
    """The rows that have a sign for the leaf."""
    result: NDArray[np.bool_] = labels != PARENT[leaf]
    return result


def test_one_vs_rest_is_that_of_scikit_learn_without_the_rows_below_whose_label_the_class_is() -> (
    None
):
    X, y = partly_labelled()
    weights = np.random.default_rng(3).uniform(0.5, 2, size=len(y))
    model = FlatLogisticRegression(
        hierarchy=EDGES, partial_labels=True, tolerance=1e-8, scale="none"
    ).fit(X, y, sample_weight=weights)
    scores = model.decision_function(X)
    assert np.isneginf(scores[:, np.isin(model.classes_, ["animal", "plant"])]).all()
    scores = scores[:, np.isin(model.classes_, LEAVES)]
    with_intercept = np.hstack([X.toarray(), np.ones((len(y), 1))])
    for k, leaf in enumerate(LEAVES):
        rows = possible(y, leaf)
        theirs = LogisticRegression(fit_intercept=False, tol=1e-10, max_iter=2000)
        theirs.fit(with_intercept[rows], y[rows] == leaf, sample_weight=weights[rows])
        expected = theirs.decision_function(with_intercept)
        np.testing.assert_allclose(scores[:, k], expected, atol=1e-3)


def test_top_down_trains_the_classifiers_down_to_the_label_and_none_below() -> None:
    X, y = partly_labelled()
    options: dict[str, Any] = {"tolerance": 1e-6, "scale": "none"}
    model = TopDownSVC(hierarchy=EDGES, partial_labels=True, **options).fit(X, y)
    groups = np.array([PARENT.get(label, label) for label in y])
    above = FlatSVC(loss="hinge", **options).fit(X, groups)
    expected = above.predict(X)
    for group in ("animal", "plant"):
        known = (groups == group) & (y != group)
        below = FlatSVC(loss="hinge", **options).fit(X[known], y[known])
        expected = np.where(expected == group, below.predict(X), expected)
    np.testing.assert_array_equal(model.predict(X), expected)


@pytest.mark.parametrize("made", [FlatSVC, FlatLogisticRegression, HRSVC, HRLogisticRegression,
                                  TopDownSVC, HSVC, NHSVC])  # fmt: skip
def test_every_answer_is_a_leaf_and_partial_labels_help(made: Any) -> None:
    X, y = partly_labelled()
    model = made(hierarchy=EDGES, partial_labels=True).fit(X, y)
    assert set(model.predict(X)) <= set(LEAVES)
    as_answers = made(hierarchy=EDGES).fit(X, y)
    assert set(as_answers.predict(X)) & {"animal", "plant"}
    groups = np.array([PARENT.get(label, label) for label in y])
    found = np.array([PARENT[label] for label in model.predict(X)])
    assert np.mean(found == groups) > 0.8


@pytest.mark.parametrize("made", [FlatSVC, HRLogisticRegression, TopDownSVC, HSVC, NHSVC])
def test_rows_with_leaves_give_the_same_model_by_either_meaning(made: Any) -> None:
    X, y = partly_labelled()
    known = np.isin(y, LEAVES)
    scores = [
        made(hierarchy=EDGES, partial_labels=meaning).fit(X[known], y[known]).decision_function(X)
        for meaning in (False, True)
    ]
    np.testing.assert_array_equal(scores[0], scores[1])


def test_a_label_with_one_possible_leaf_is_that_leaf() -> None:
    X, y = partly_labelled()
    kept = y != "rose"  # so that every plant is an oak
    renamed = np.where(y == "plant", "oak", y)
    model = HRSVC(hierarchy=EDGES, partial_labels=True).fit(X[kept], y[kept])
    same = HRSVC(hierarchy=EDGES, partial_labels=True).fit(X[kept], renamed[kept])
    scores = model.decision_function(X)[:, model.classes_ != "plant"]
    np.testing.assert_array_equal(scores, same.decision_function(X))


def test_what_cannot_be_partial_is_refused() -> None:
    X, y = partly_labelled()
    with pytest.raises(ValueError, match="partial_labels is given, which needs a hierarchy"):
        FlatSVC(partial_labels=True).fit(X, y)
    with pytest.raises(ValueError, match="must be argmax where partial_labels is given"):
        FlatSVC(hierarchy=EDGES, partial_labels=True, decision="threshold").fit(X, y)
    with pytest.raises(
        ValueError, match="partial_labels is given, but multiclass is crammer-singer"
    ):
        FlatSVC(hierarchy=EDGES, partial_labels=True, multiclass="crammer-singer").fit(X, y)
    with pytest.raises(ValueError, match="no row has a leaf as label, but one must"):
        HRSVC(hierarchy=EDGES, partial_labels=True).fit(X[:2], ["animal", "plant"])
    with pytest.raises(TypeError, match="partial_labels"):
        SharedSVC(hierarchy=EDGES, partial_labels=True)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="partial_labels is given, but solver sgd"):
        HSVC(hierarchy=EDGES, partial_labels=True, solver="sgd").fit(X, y)
    with pytest.raises(ValueError, match="'normalized-difference', which divides by the task loss"):
        NHSVC(hierarchy=EDGES, partial_labels=True, surrogate="normalized-difference").fit(X, y)
    with pytest.raises(ValueError, match="must be argmax where partial_labels is given"):
        NHSVC(hierarchy=EDGES, partial_labels=True, decision="offset").fit(X, y)


def test_rows_without_any_possible_leaf_are_left_out_with_a_warning() -> None:
    X, y = partly_labelled()
    kept = ~np.isin(y, ["oak", "rose"])
    with pytest.warns(UserWarning, match="rows were left out, because no row has a leaf below"):
        model = HRSVC(hierarchy=EDGES, partial_labels=True).fit(X[kept], y[kept])
    assert set(model.predict(X)) <= {"cat", "dog"}


def few_known(seed: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Rows of which few have a leaf as label, their labels and their leaves: three groups of
    three leaves, whose centres a handful of rows shows badly."""
    random = np.random.default_rng(seed)
    groups, leaves = np.arange(600) % 3, random.integers(3, size=600)
    y = np.array([f"{g}{leaf}" for g, leaf in zip(groups, leaves, strict=True)])
    centres = {name: 1.5 * random.normal(size=20) for name in sorted(set(y))}
    X = np.array([centres[name] + 2.5 * random.normal(size=20) for name in y]).astype(np.float32)
    known = np.zeros(600, dtype=bool)
    for name in centres:
        known[np.flatnonzero(y == name)[:3]] = True
    return X, y, np.where(known, y, np.char.add("g", groups.astype(str)))


@pytest.mark.parametrize("made", [HSVC, NHSVC])
def test_rows_with_partial_labels_help_paths_over_leaving_them_out(made: Any) -> None:
    edges = [(f"g{g}", f"{g}{leaf}") for g in range(3) for leaf in range(3)]
    gains = []
    for seed in range(3):
        X, y, labels = few_known(seed)
        train = np.arange(600) < 400
        known = train & (y == labels)
        alone = made(hierarchy=edges).fit(X[known], y[known])
        both = made(hierarchy=edges, partial_labels=True).fit(X[train], labels[train])
        assert both.report_["stop"] == "converged"
        assert np.all(np.diff([objective for _, objective, _ in both.report_["curve"]]) <= 0)
        gains.append(np.mean(both.predict(X[~train]) == y[~train])
                     - np.mean(alone.predict(X[~train]) == y[~train]))  # fmt: skip
    assert np.mean(gains) > 0.1
    assert np.min(gains) > 0


def test_a_label_above_all_leaves_says_nothing() -> None:
    X, y = partly_labelled()
    edges = [*EDGES, ("all", "animal"), ("all", "plant")]
    kept = np.arange(len(y)) % 5 > 0

    def made() -> NHSVC:
        return NHSVC(hierarchy=edges, partial_labels=True, scale="none")

    with pytest.warns(UserWarning, match="32 of 160 rows were left out, because every leaf is"):
        model = made().fit(X, np.where(kept, y, "all"))
    same = made().fit(X[kept], y[kept])
    columns = np.isin(model.classes_, LEAVES), np.isin(same.classes_, LEAVES)
    np.testing.assert_array_equal(
        model.decision_function(X)[:, columns[0]], same.decision_function(X)[:, columns[1]]
    )


def test_rounds_of_paths_go_on_from_an_earlier_fit() -> None:
    X, y = partly_labelled()
    model = HSVC(hierarchy=EDGES, partial_labels=True, warm_start=True).fit(X, y)
    first = model.report_
    assert len(first["curve"]) >= 2
    again = model.fit(X, y).report_
    assert again["curve"][0][0] < first["passes"]
    assert again["primal"] <= first["primal"] * (1 + 1e-3)
