"""margrove.metrics: against scikit-learn, HiClass's formulas, and by hand."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import margrove
import numpy as np
import pytest
from margrove import metrics
from sklearn.metrics import average_precision_score, log_loss, ndcg_score

TREE = {"animal": ["cat", "dog"], "plant": ["oak", "rose"], "cat": ["lion", "tiger"]}
MARGROVE = os.environ.get("MARGROVE", "build/margrove")


def random_case(seed: int, rows: int = 40, columns: int = 12) -> tuple[Any, Any]:
    """A 0/1 matrix without empty rows, and scores that know something of it."""
    random = np.random.default_rng(seed)
    truth = (random.random((rows, columns)) < 0.2).astype(int)
    truth[np.arange(rows), random.integers(0, columns, rows)] = 1
    return truth, truth + random.normal(size=truth.shape)


# Sets --------------------------------------------------------------------------------------------


def test_hierarchical_f1_by_hand() -> None:
    truth, predicted = ["lion", "oak"], ["tiger", "oak"]
    # Closed: {animal, cat, lion} and {animal, cat, tiger} share 2; {plant, oak} shares 2.
    assert metrics.hierarchical_f1(truth, predicted, hierarchy=TREE) == pytest.approx(8 / 10)
    values = metrics.hierarchical_precision_recall_f1(truth, predicted, hierarchy=TREE)
    assert values == pytest.approx((4 / 5, 4 / 5, 8 / 10))
    by_row = metrics.hierarchical_f1(truth, predicted, hierarchy=TREE, average="instance")
    assert by_row == pytest.approx((4 / 6 + 1) / 2)
    by_node = metrics.hierarchical_f1(truth, predicted, hierarchy=TREE, average="macro")
    assert by_node == pytest.approx(4 / 5)  # lion has 0; animal, cat, plant, oak have 1


def hiclass_f1(y_true: Any, y_pred: Any, average: str) -> float:
    """The formulas of hiclass.metrics 5: levels are sets without empty cells."""

    def micro(truth: Any, predicted: Any) -> float:
        pairs = [({*t} - {""}, {*p} - {""}) for t, p in zip(truth, predicted, strict=True)]
        common = sum(len(t & p) for t, p in pairs)
        precision = common / sum(len(p) for _, p in pairs)
        recall = common / sum(len(t) for t, _ in pairs)
        return 2 * precision * recall / (precision + recall) if common else 0.0

    if average == "micro":
        return micro(y_true, y_pred)
    return float(np.mean([micro([t], [p]) for t, p in zip(y_true, y_pred, strict=True)]))


def test_hierarchical_f1_is_that_of_hiclass() -> None:
    names = [("a", "a1", "a11"), ("a", "a1", "a12"), ("a", "a2", ""), ("b", "b1", "b11")]
    names += [("b", "", ""), ("c", "c1", "")]
    random = np.random.default_rng(3)
    for _ in range(5):
        truth, predicted = (np.array(names)[random.integers(0, 6, 30)] for _ in range(2))
        micro = metrics.hierarchical_f1(truth, predicted)
        assert micro == pytest.approx(hiclass_f1(truth, predicted, "micro"))
        macro = metrics.hierarchical_f1(truth, predicted, average="instance")
        assert macro == pytest.approx(hiclass_f1(truth, predicted, "macro"))


def test_distance_and_lca_by_hand() -> None:
    def both(truth: Any, predicted: Any) -> Any:
        distance = metrics.tree_distance([truth], [predicted], hierarchy=TREE)
        return distance, metrics.lca_f1([truth], [predicted], hierarchy=TREE)

    assert both("lion", "lion") == (0, 1)
    assert both("lion", "tiger") == (2, pytest.approx(2 / 4))  # {lion, cat}, {tiger, cat}
    assert both("lion", "animal") == (2, pytest.approx(2 / 4))  # {lion, cat, animal}, {animal}
    assert both("lion", "oak") == (5, pytest.approx(2 / 7))  # by way of the top above the roots
    assert both("lion", "unknown") == (4, pytest.approx(2 / 6))
    # Sets: lion is there, oak misses rose by 2 edges and rose oak.
    assert both({"lion", "oak"}, {"lion", "rose"})[0] == (0 + 2 + 0 + 2) / 4


def test_distance_in_a_dag_leads_up_and_down() -> None:
    edges = [("top", "a"), ("top", "b"), ("a", "x"), ("b", "x"), ("b", "y")]
    assert metrics.tree_distance(["x"], ["y"], hierarchy=edges) == 2
    assert metrics.tree_distance(["a"], ["b"], hierarchy=edges) == 2  # over top, not over x
    assert metrics.tree_distance([{"x"}, set()], [set(), set()], hierarchy=edges) == 1


def test_accuracy_by_level_by_hand() -> None:
    truth, predicted = ["lion", "lion", "oak", "animal"], ["lion", "dog", "rose", "cat"]
    levels = metrics.accuracy_by_level(truth, predicted, hierarchy=TREE)
    assert levels.tolist() == pytest.approx([1, 1 / 3, 1 / 2])


def test_bootstrap_interval_holds_the_value_and_shrinks() -> None:
    random = np.random.default_rng(0)
    truth = random.integers(0, 3, 400)
    predicted = np.where(random.random(400) < 0.8, truth, 0)
    value = float(np.mean(truth == predicted))
    low, high = metrics.bootstrap_interval("accuracy", truth, predicted)
    assert low < value < high
    assert high - low == pytest.approx(2 * 1.96 * np.sqrt(value * (1 - value) / 400), rel=0.15)
    assert (low, high) == metrics.bootstrap_interval("accuracy", truth, predicted)
    narrow = metrics.bootstrap_interval("accuracy", truth, predicted, level=0.5)
    assert low < narrow[0] < narrow[1] < high
    constant = metrics.bootstrap_interval("macro_f1", truth, truth, n_resamples=20)
    assert constant == (1, 1)
    three = np.repeat(["a", "b", "c"], [1, 1, 4])
    assert metrics.bootstrap_interval("macro_f1", three, three) == (1, 1)


# Scores ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_node_scores_without_hierarchy_are_those_of_scikit_learn(seed: int) -> None:
    truth, scores = random_case(seed)
    scores = np.round(scores, 1)  # with ties
    for average in ("micro", "macro", "weighted"):
        expected = average_precision_score(truth, scores, average=average)
        assert metrics.au_prc(truth, scores, average=average) == pytest.approx(expected)


def test_node_scores_of_a_hierarchy_are_those_of_closed_sets_and_largest_scores() -> None:
    random = np.random.default_rng(7)
    leaves, nodes = ["dog", "oak", "rose", "lion", "tiger"], ["animal", "plant", "cat"]
    truth = [set(np.array(leaves)[random.random(5) < 0.4].tolist()) for _ in range(50)]
    scores = random.normal(size=(50, 5))
    above = {"dog": ["animal"], "oak": ["plant"], "rose": ["plant"]}
    above |= {name: ["animal", "cat"] for name in ("lion", "tiger")}
    closed = [{*row, *(a for leaf in row for a in above[leaf])} for row in truth]
    matrix = np.array([[name in row for name in leaves + nodes] for row in closed], dtype=int)
    below = [[k for k, leaf in enumerate(leaves) if node in above[leaf]] for node in nodes]
    wide = np.hstack([scores, *(scores[:, columns].max(1, keepdims=True) for columns in below)])
    for average in ("micro", "macro", "weighted"):
        found = metrics.au_prc(truth, scores, classes=leaves, hierarchy=TREE, average=average)
        assert found == pytest.approx(average_precision_score(matrix, wide, average=average))
    found = metrics.au_prc(truth, scores, classes=leaves, hierarchy=TREE, ignore_nodes=["animal"])
    kept = [k for k, name in enumerate(leaves + nodes) if name != "animal"]
    expected = average_precision_score(matrix[:, kept], wide[:, kept], average="micro")
    assert found == pytest.approx(expected)
    rooted = [("root", "animal"), ("root", "plant")]
    rooted += [(parent, child) for parent, children in TREE.items() for child in children]
    one_root = metrics.au_prc(truth, scores, classes=leaves, hierarchy=rooted)
    assert one_root == metrics.au_prc(truth, scores, classes=leaves, hierarchy=TREE)
    assert metrics.f_max(truth, scores, classes=leaves, hierarchy=TREE) == pytest.approx(
        brute_f_max(matrix, wide)
    )


def brute_f_max(truth: Any, scores: Any) -> float:
    best = 0.0
    for threshold in np.unique(scores):
        chosen = scores >= threshold
        some = chosen.any(1)
        hits = (chosen & (truth == 1)).sum(1)
        precision = (hits[some] / chosen[some].sum(1)).mean()
        has_truth = truth.any(1)
        recall = (hits[has_truth] / truth[has_truth].sum(1)).mean()
        if precision + recall > 0:
            best = max(best, 2 * precision * recall / (precision + recall))
    return best


def test_a_label_without_score_is_below_everything() -> None:
    # Pairs by score: (2, right), (1, wrong), then two of "c", one of them right.
    found = metrics.au_prc([{"a", "c"}, set()], [[2.0], [1.0]], classes=["a"], hierarchy=None)
    assert found == pytest.approx(0.5 * 1 + 0.5 * 2 / 4)


@pytest.mark.parametrize("seed", range(3))
def test_rankings_are_those_of_scikit_learn(seed: int) -> None:
    truth, scores = random_case(seed)
    order = np.argsort(-scores, axis=1)
    for k in (1, 3, 10):
        found = metrics.ndcg_at_k(truth, scores, k=k)
        assert found == pytest.approx(ndcg_score(truth, scores, k=k))
        hits = np.take_along_axis(truth, order[:, :k], 1).sum(1)
        sizes = truth.sum(1)
        assert metrics.precision_at_k(truth, scores, k=k) == pytest.approx((hits / k).mean())
        assert metrics.recall_at_k(truth, scores, k=k) == pytest.approx((hits / sizes).mean())
        assert metrics.f1_at_k(truth, scores, k=k) == pytest.approx((2 * hits / (k + sizes)).mean())


def test_r_precision_by_hand() -> None:
    truth = [{"a", "b"}, {"c"}, set()]
    scores = [[3, 1, 2], [0, 0, 1], [1, 1, 1]]
    assert metrics.r_precision(truth, scores, classes=["a", "b", "c"]) == (0.5 + 1) / 2


def test_psp_is_that_of_the_formula() -> None:
    truth, scores = random_case(5)
    training, _ = random_case(6, rows=100)
    counts = training.sum(0)
    inverse = 1 + (np.log(100) - 1) * 2.5**0.55 * (counts + 1.5) ** -0.55
    for k in (1, 3):
        best = np.argsort(-scores, axis=1)[:, :k]
        reached = (np.take_along_axis(truth, best, 1) * inverse[best]).sum()
        largest = np.sort(truth * inverse, axis=1)[:, ::-1][:, :k].sum()
        found = metrics.psp_at_k(truth, scores, y_train=training, k=k)
        assert found == pytest.approx(reached / largest)


# Confidence --------------------------------------------------------------------------------------


def test_expected_calibration_error_by_hand() -> None:
    found = metrics.expected_calibration_error(
        [0, 0, 1, 1], [0, 1, 1, 1], [0.9, 0.9, 0.3, 0.3], n_bins=10
    )
    assert found == pytest.approx(0.5 * abs(0.5 - 0.9) + 0.5 * abs(1 - 0.3))


def test_risk_coverage_by_hand() -> None:
    curve = metrics.risk_coverage(["a", "a", "b", "b"], ["a", "b", "b", "a"], [4, 1, 3, 1])
    assert curve.coverage.tolist() == [0.25, 0.5, 0.75, 1]
    assert curve.risk.tolist() == pytest.approx([0, 0, 1 / 3, 2 / 4])  # ties share their errors
    assert curve.area == pytest.approx(np.mean([0, 0, 1 / 3, 2 / 4]))


# The same as the program -------------------------------------------------------------------------


def evaluate(folder: Path) -> Any:
    """What the program says of the model and the rows in a folder."""
    command = [MARGROVE, "evaluate", "--json", "--quiet", str(folder / "model")]
    done = subprocess.run([*command, str(folder / "test")], capture_output=True, check=True)
    return json.loads(done.stdout)


def test_values_are_those_of_the_program(tmp_path: Path) -> None:
    random = np.random.default_rng(2)
    leaves = ["dog", "oak", "rose", "lion", "tiger"]
    edges = [(p, c) for p, children in TREE.items() for c in children]
    centres = random.normal(size=(5, 4))
    chosen = [np.flatnonzero(random.random(5) < 0.35) for _ in range(80)]
    X = np.array([centres[c].sum(0) for c in chosen]) + random.normal(size=(80, 4))
    X = X.astype(np.float32)
    y = [{leaves[k] for k in c} for c in chosen]
    model = margrove.HRLogisticRegression(hierarchy=edges).fit(X[:50], y[:50])
    model.save(tmp_path / "model")
    lines = [
        ",".join(sorted(labels)) + "".join(f" {j + 1}:{v:.9g}" for j, v in enumerate(x))
        for x, labels in zip(X[50:], y[50:], strict=True)
    ]
    (tmp_path / "test").write_text("\n".join(lines) + "\n", encoding="utf-8")
    program = evaluate(tmp_path)
    truth, predicted = y[50:], model.predict(X[50:])
    scores = model.decision_function(X[50:])
    columns: Any = {"classes": model.classes_}
    tree: Any = {"hierarchy": edges}
    found = {
        "hierarchical_f1": metrics.hierarchical_f1(truth, predicted, **tree),
        "lca_f1": metrics.lca_f1(truth, predicted, **tree),
        "tree_distance": metrics.tree_distance(truth, predicted, **tree),
        "accuracy_level_2": metrics.accuracy_by_level(truth, predicted, **tree)[1],
        "precision_at_3": metrics.precision_at_k(truth, scores, k=3, **columns),
        "r_precision": metrics.r_precision(truth, scores, **columns),
        "au_prc": metrics.au_prc(truth, scores, **columns, **tree),
        "f_max": metrics.f_max(truth, scores, **columns, **tree),
    }
    assert found == pytest.approx({name: program[name] for name in found}, abs=1e-12)


def test_losses_of_the_program_are_those_of_scikit_learn(tmp_path: Path) -> None:
    random = np.random.default_rng(4)
    y = random.integers(0, 4, 300)
    X = (np.eye(4)[y] + random.normal(scale=0.7, size=(300, 4))).astype(np.float32)
    model = margrove.FlatSVC(calibration=0.3).fit(X[:200], y[:200])
    model.save(tmp_path / "model")
    lines = [
        f"{label}" + "".join(f" {j + 1}:{v:.9g}" for j, v in enumerate(x))
        for x, label in zip(X[200:], y[200:], strict=True)
    ]
    (tmp_path / "test").write_text("\n".join(lines) + "\n", encoding="utf-8")
    program = evaluate(tmp_path)
    p, predicted = model.predict_proba(X[200:]), model.predict(X[200:])
    assert program["log_loss"] == pytest.approx(log_loss(y[200:], p))
    assert program["brier"] == pytest.approx(((p - np.eye(4)[y[200:]]) ** 2).sum(1).mean())
    error = metrics.expected_calibration_error(y[200:], predicted, p.max(1))
    assert program["ece"] == pytest.approx(error)
    area = metrics.risk_coverage(y[200:], predicted, p.max(1)).area
    assert program["risk_coverage_area"] == pytest.approx(area)


# Errors ------------------------------------------------------------------------------------------

UNKNOWN: Any = "x"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.hierarchical_f1(["a"], ["a", "b"]), "y_pred: it has 2 rows"),
        (lambda: metrics.hierarchical_f1([], []), "y: it has no rows"),
        (lambda: metrics.hierarchical_f1(["a"], ["a"], average=UNKNOWN), "average is 'x'"),
        (lambda: metrics.au_prc([[1, 0]], [[1, 2]], average=UNKNOWN), "average is 'x'"),
        (lambda: metrics.lca_f1(["a"], ["a"], hierarchy=[("a", "b"), ("b", "a")]), "cycle"),
        (lambda: metrics.precision_at_k([[1, 0]], [[1, 2]], k=0), "k is 0"),
        (lambda: metrics.precision_at_k(["a", "b"], [[1], [2]]), "classes: they are not given"),
        (lambda: metrics.precision_at_k(["a"], [[1, 2]], classes=["a"]), "classes: there are 1"),
        (lambda: metrics.precision_at_k(["a"], [[1, 2]], classes=["a", "a"]), "different ones"),
        (lambda: metrics.precision_at_k([[1, 0]], [1, 2]), r"y_score: its shape is \(2,\)"),
        (
            lambda: metrics.ndcg_at_k([[1, 0], [0, 1]], [[1, 2], [0, float("nan")]], k=1),
            "y_score: row 1 has nan in column 1, but must have numbers",
        ),
        (lambda: metrics.au_prc([[1, 0]], [[1, np.nan]]), "row 0 has nan in column 1"),
        (lambda: metrics.au_prc([[1, 0]], [[1, 2]], ignore_nodes=["x"]), "ignore_nodes: 'x'"),
        (lambda: metrics.psp_at_k([[1, 0]], [[1, 2]], y_train=[[1, 0]]), "training rows is 1"),
        (lambda: metrics.bootstrap_interval("x", ["a"], ["a"]), "metric is 'x'"),
        (
            lambda: metrics.bootstrap_interval("lca_f1", ["a"], ["a"], n_resamples=0),
            "of resamples",
        ),
        (lambda: metrics.bootstrap_interval("lca_f1", ["a"], ["a"], level=1), "level is 1"),
        (lambda: metrics.expected_calibration_error([1], [1], [1.5]), "confidence: that of row 0"),
        (lambda: metrics.expected_calibration_error([1], [1], [1], n_bins=0), "n_bins is 0"),
        (lambda: metrics.risk_coverage([1], [1], [np.nan]), "confidence"),
        (lambda: metrics.risk_coverage([1], [1], [1, 2]), r"confidence: its shape is \(2,\)"),
    ],
)
def test_errors_name_what_is_wrong(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
