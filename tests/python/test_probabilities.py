"""Probabilities, predictions that use them, and labels given as paths."""

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from margrove import (
    HRSVC,
    NHSVC,
    FlatLogisticRegression,
    FlatSVC,
    Hierarchy,
    HRLogisticRegression,
    KernelRidgeClassifier,
    load,
)
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

PROGRAM = Path(__file__).resolve().parents[2] / "build" / "margrove"
# Depths 1, 2 and 3; rows end at the inner label "tree", too.
EDGES = [
    *(("life", "plant"), ("life", "animal"), ("plant", "moss"), ("plant", "tree")),
    *(("tree", "oak"), ("tree", "fir")),
]
LABELS = np.array(["animal", "moss", "tree", "oak", "fir"])


def rows(count: int, seed: int) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    y = random.integers(0, 5, count)
    X = random.normal(size=(count, 6)) * 1.2
    X[np.arange(count), y] += 2
    return (np.round(X * 64) / 64).astype(np.float32), LABELS[y]


@pytest.fixture(scope="module")
def model() -> NHSVC:
    return NHSVC(hierarchy=EDGES, calibration=0.25).fit(*rows(600, 0))


def test_sum_to_one_at_every_level_of_an_uneven_hierarchy(model: NHSVC) -> None:
    X, _ = rows(50, 1)
    ends = dict(zip(model.classes_, model.predict_proba(X).T, strict=True))
    nodes = dict(zip(model.nodes_, model.predict_node_proba(X).T, strict=True))
    np.testing.assert_allclose(sum(ends.values()), 1)
    np.testing.assert_allclose(nodes["life"], 1)
    np.testing.assert_allclose(nodes["plant"] + nodes["animal"], 1)
    np.testing.assert_allclose(nodes["moss"] + nodes["tree"] + ends["animal"], 1)
    inner = ends["tree"] + ends["animal"] + ends["moss"]
    np.testing.assert_allclose(nodes["oak"] + nodes["fir"] + inner, 1)


def test_temperature_makes_held_out_rows_likelier(model: NHSVC) -> None:
    X, y = rows(2000, 2)
    fitted = model.calibration_
    assert fitted is not None
    assert fitted.num_rows == pytest.approx(150, abs=5)
    logits = np.log(model.predict_proba(X)) * fitted.temperature
    plain = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    assert log_loss(y, model.predict_proba(X)) < log_loss(y, plain)
    assert fitted.error < fitted.error_before


def test_calibrating_on_other_rows_finds_the_same_temperature(model: NHSVC) -> None:
    other = NHSVC(hierarchy=EDGES).fit(*rows(600, 0))
    assert not hasattr(other, "predict_proba")
    found = other.calibrate(*rows(3000, 3)).calibration_
    assert found is not None
    assert model.calibration_ is not None
    assert found.temperature == pytest.approx(model.calibration_.temperature, rel=0.25)


def test_files_and_the_program_keep_probabilities(model: NHSVC, tmp_path: Path) -> None:
    X, y = rows(30, 4)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    lines = [
        f"{label} " + " ".join(f"{j + 1}:{float(v)!r}" for j, v in enumerate(row))
        for row, label in zip(X, y, strict=True)
    ]
    (tmp_path / "rows").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def run(*arguments: str) -> list[str]:
        command = [str(PROGRAM), "predict", "--quiet", *arguments, "model", "rows"]
        done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
        return done.stdout.split("\n")[:-1]

    best = [line.rsplit(":", 1) for line in run("--probabilities")]
    assert [label for label, _ in best] == model.predict(X).tolist()
    expected = model.predict_proba(X).max(axis=1)
    np.testing.assert_allclose([float(p) for _, p in best], expected, rtol=1e-6)
    inner = model.predict(X, stop="inner", min_confidence=0.8)
    assert run("--min-confidence", "0.8") == inner.tolist()
    paths = model.predict_paths(X)
    assert run("--paths") == [",".join(path) for path in paths]
    train = [str(PROGRAM), "train", "--quiet", "--method", "flat-svm", "--calibration", "0.3"]
    done = subprocess.run([*train, "rows", "flat"], cwd=tmp_path, check=True, capture_output=True)
    assert done.returncode == 0
    flat = FlatSVC(calibration=0.3).fit(X, y)
    assert load(tmp_path / "flat").calibration_ == flat.calibration_
    highest = flat.predict_proba(X).max(axis=1)
    least = float(np.round(np.median(highest), 4))
    sure = highest >= least
    assert 0 < sure.sum() < len(sure)
    chosen = flat.predict(X, stop="inner", min_confidence=least)
    assert [label is not None for label in chosen] == sure.tolist()
    assert (chosen[sure] == flat.predict(X)[sure]).all()
    arguments = [str(PROGRAM), "predict", "--quiet", "--min-confidence", str(least), "flat"]
    done = subprocess.run([*arguments, "rows"], cwd=tmp_path, check=True, capture_output=True)
    assert done.stdout.decode().split("\n")[:-1] == [label or "" for label in chosen]
    assert flat.predict_paths(X, stop="inner", min_confidence=least) == [
        [] if label is None else [label] for label in chosen
    ]


def test_inner_nodes_are_predicted_where_leaves_are_not_sure(model: NHSVC) -> None:
    X, y = rows(500, 5)
    above = Hierarchy.of(EDGES).parents()
    last = 0.0
    for confidence in (0.0, 0.5, 0.7, 0.9, 1.01 - 0.01):
        labels = model.predict(X, stop="inner", min_confidence=confidence)
        right = []
        for label, truth in zip(labels, y, strict=True):
            path = [truth]
            while above[path[-1]]:
                path.append(above[path[-1]][0])
            right.append(label in path)
        assert np.mean(right) >= max(confidence - 0.05, last - 0.02)
        last = float(np.mean(right))
    assert set(model.predict(X, stop="inner", min_confidence=1.0)) <= {"life", *LABELS, "plant"}


def test_least_expected_cost(model: NHSVC) -> None:
    X, _ = rows(200, 6)
    np.testing.assert_array_equal(model.predict(X, cost=1 - np.eye(5)), model.predict(X))
    ends = model.predict_proba(X)
    parents = Hierarchy.of(EDGES).parents()

    def closed(label: str) -> set[str]:
        return {label}.union(*(closed(parent) for parent in parents[label]))

    costs = np.array([[len(closed(a) ^ closed(b)) for b in model.nodes_] for a in model.classes_])
    expected = model.nodes_[np.argmin(np.round(ends @ costs, 9), axis=1)]
    np.testing.assert_array_equal(model.predict(X, cost="path", stop="inner"), expected)
    np.testing.assert_array_equal(model.predict(X, cost=costs, stop="inner"), expected)
    never_fir = np.where(model.classes_ == "fir", 1e9, 1.0) * np.ones((5, 1)) - np.eye(5)
    assert "fir" not in model.predict(X, cost=never_fir)


@pytest.mark.parametrize(
    "two_classes",
    [
        FlatLogisticRegression(C=0.7),
        HRLogisticRegression(hierarchy=[("both", 0), ("both", 1)], C=0.7),
    ],
)
def test_logistic_regression_of_two_classes_has_its_own_probabilities(two_classes: Any) -> None:
    # They were those of scores twice as large: .58 where scikit-learn has a log loss of .49.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    truth = 1 / (1 + np.exp(-(X @ [1.5, -1, 0.5, 0] + 0.3)))
    y = (rng.random(3000) < truth).astype(int)
    p = two_classes.fit(X[:1500], y[:1500]).predict_proba(X[1500:])
    peer = LogisticRegression(C=0.7).fit(X[:1500], y[:1500]).predict_proba(X[1500:])
    np.testing.assert_allclose(p, peer, atol=0.005)
    assert log_loss(y[1500:], p) < 0.49
    # A temperature that is fitted finds about the same.
    fitted = two_classes.calibrate(X[1500:], y[1500:]).calibration_
    assert fitted.temperature == pytest.approx(2, rel=0.1)


@pytest.mark.parametrize("kind", [FlatSVC, FlatLogisticRegression, KernelRidgeClassifier])
@pytest.mark.parametrize("are_sets", [False, True])
def test_a_row_of_weight_two_calibrates_like_two_rows(kind: Any, are_sets: bool) -> None:
    X, y = rows(400, 7)
    sets = [{label, "wet"} if x[5] > 0 else {label} for x, label in zip(X, y, strict=True)]
    labels = np.array(sets, dtype=object) if are_sets else y
    fitted = kind().fit(X[:200], labels[:200])
    weights = np.arange(200) % 3
    twice = np.repeat(np.arange(200, 400), weights)
    weighted = fitted.calibrate(X[200:], labels[200:], sample_weight=weights).calibration_
    repeated = fitted.calibrate(X[twice], labels[twice]).calibration_
    plain = fitted.calibrate(X[200:], labels[200:]).calibration_
    assert weighted.temperature == pytest.approx(repeated.temperature, rel=1e-6)
    assert weighted.shift == pytest.approx(repeated.shift, rel=1e-6)
    assert weighted.error_before == pytest.approx(repeated.error_before, rel=1e-6)
    assert weighted.num_rows == np.count_nonzero(weights)
    assert weighted.temperature != pytest.approx(plain.temperature, rel=1e-4)
    with pytest.raises(ValueError, match=r"sample_weight.shape == \(3,\)"):
        fitted.calibrate(X, y, sample_weight=[1, 2, 3])
    with pytest.raises(ValueError, match="Negative values"):
        fitted.calibrate(X, y, sample_weight=np.full(400, -1))


def test_rows_that_are_held_out_count_by_their_weights() -> None:
    X, y = rows(600, 8)
    weights = (np.arange(600) % 2).astype(float)
    wrong = np.where(weights == 0, np.roll(y, 1), y)
    fitted = FlatSVC(calibration=0.3).fit(X, wrong, sample_weight=weights)
    plain = FlatSVC(calibration=0.3).fit(X, wrong)
    assert fitted.calibration_ is not None
    assert plain.calibration_ is not None
    assert fitted.calibration_.num_rows < 0.6 * plain.calibration_.num_rows  # without weight 0


def test_a_time_limit_before_the_first_pass_leaves_nothing_to_calibrate() -> None:
    X, y = rows(600, 9)
    with pytest.raises(TimeoutError, match="before the end of the first pass; there is no model"):
        FlatSVC(calibration=0.3, time_limit_seconds=1e-9).fit(X, y)


@pytest.mark.parametrize("kind", [FlatSVC, FlatLogisticRegression, HRSVC, KernelRidgeClassifier])
def test_label_sets_can_be_calibrated(kind: Any) -> None:
    X, y = rows(400, 7)
    sets = [{label, "wet"} if x[5] > 0 else {label} for x, label in zip(X, y, strict=True)]
    tree = {"hierarchy": [*EDGES, ("life", "wet")]}
    fitted = kind(calibration=0.3, **tree).fit(X[:200], sets[:200])
    made = fitted.calibration_
    assert made.temperature > 0
    assert 50 <= made.num_rows <= 70
    scores = fitted.decision_function(X).astype(np.float64)
    if kind is KernelRidgeClassifier:
        inside = np.clip(scores, 1e-6, 1 - 1e-6)
        scores = np.log(inside / (1 - inside))
    p = fitted.predict_proba(X)
    z = scores / made.temperature + made.shift
    np.testing.assert_allclose(p, 1 / (1 + np.exp(-z)), rtol=1e-4, atol=1e-9)
    nodes = dict(zip(fitted.nodes_, fitted.predict_node_proba(X).T, strict=True))
    for parent, child in tree["hierarchy"]:
        assert (nodes[parent] >= nodes[child] - 1e-12).all()
    # Held-out leaves are as frequent as they are probable.
    leaves = [label for label in fitted.classes_ if label in ("oak", "fir", "wet")]
    truth = np.array([[label in row for label in leaves] for row in sets[200:]])
    assert abs(p[200:, np.isin(fitted.classes_, leaves)].mean() - truth.mean()) < 0.06
    # Other rows give another fit, and a model that was trained without can be calibrated.
    later = kind(**tree).fit(X[:200], sets[:200]).calibrate(X[200:], sets[200:])
    assert later.calibration_.num_rows == 200
    assert later.predict_proba(X).shape == p.shape


def test_several_labels_have_probabilities_of_their_own() -> None:
    X, y = rows(100, 7)
    sets = [{label, "wet"} if x[5] > 0 else {label} for x, label in zip(X, y, strict=True)]
    fitted = FlatLogisticRegression().fit(X, sets)
    p = fitted.predict_proba(X)
    np.testing.assert_allclose(np.log(p / (1 - p)), fitted.decision_function(X), rtol=1e-4)


@pytest.mark.parametrize(
    "made", [FlatLogisticRegression(hierarchy=EDGES), HRLogisticRegression(hierarchy=EDGES),
             KernelRidgeClassifier(hierarchy=EDGES)],
)  # fmt: skip
def test_nodes_of_several_labels_have_coherent_probabilities(made: Any) -> None:
    X, y = rows(200, 7)
    sets = [{label, "oak"} if x[5] > 0 else {label} for x, label in zip(X, y, strict=True)]
    fitted = made.fit(X, sets)
    nodes = fitted.predict_node_proba(X)
    assert nodes.min() >= 0
    assert nodes.max() <= 1
    place = {node: k for k, node in enumerate(fitted.nodes_)}
    for parent, child in EDGES:
        assert (nodes[:, place[parent]] >= nodes[:, place[child]] - 1e-12).all()
    labels = dict(zip(fitted.classes_, fitted.predict_proba(X).T, strict=True))
    for leaf in ("animal", "moss", "oak", "fir"):
        np.testing.assert_allclose(nodes[:, place[leaf]], labels[leaf], atol=1e-12)
    if not isinstance(made, KernelRidgeClassifier):  # labels are independent
        absent = np.prod([1 - labels[n] for n in ("moss", "tree", "oak", "fir")], axis=0)
        np.testing.assert_allclose(nodes[:, place["plant"]], 1 - absent, atol=1e-9)
    children = {node: {c for p, c in EDGES if p == node} for node in place}
    for row, answer in zip(nodes, fitted.predict(X, stop="inner", min_confidence=0.7), strict=True):
        is_sure = {node for node, k in place.items() if row[k] >= 0.7}
        assert answer == {n for n in is_sure if not is_sure.intersection(children[n])}


def test_sets_without_probabilities_say_so() -> None:
    X, y = rows(60, 7)
    sets = [{label, "wet"} if x[5] > 0 else {label} for x, label in zip(X, y, strict=True)]
    with pytest.raises(AttributeError, match="this FlatSVC gives no probabilities: set cal"):
        FlatSVC().fit(X, sets).predict_proba(X)
    indicators = np.array([["wet" in labels, "oak" in labels] for labels in sets]).astype(int)
    fitted = FlatLogisticRegression().fit(X, indicators)
    with pytest.raises(ValueError, match="an indicator matrix, which has no columns for inner"):
        fitted.predict(X, stop="inner")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"stop": "root"}, "stop is 'root', but must be 'leaf' or 'inner'"),
        ({"stop": "inner", "min_confidence": 2}, "min_confidence is 2, but must be in"),
        ({"cost": "tree"}, "cost is 'tree', but must be 'path' or a matrix"),
        ({"cost": np.eye(3)}, r"cost has the shape \(3, 3\), but must have \(5, 5\)"),
    ],
)
def test_wrong_arguments_are_named(model: NHSVC, arguments: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        model.predict(rows(2, 8)[0], **arguments)


def test_without_calibration_the_way_to_get_one_is_told() -> None:
    X, y = rows(60, 9)
    with pytest.raises(AttributeError, match="set calibration to the share of rows"):
        FlatSVC().fit(X, y).predict(X, stop="inner")
    with pytest.raises(ValueError, match=r"calibration is 1.5, but must be in \[0, 1\)"):
        FlatSVC(calibration=1.5).fit(X, y)


# Paths --------------------------------------------------------------------------------------------


def paths_of(y: Any) -> list[tuple[str, ...]]:
    parents = Hierarchy.of(EDGES).parents()

    def path(label: str) -> tuple[str, ...]:
        return (*path(parents[label][0]), label) if parents[label] else (label,)

    return [path(label) for label in y]


def test_paths_are_labels_and_bring_their_hierarchy() -> None:
    X, y = rows(200, 10)
    named = HRSVC(hierarchy=EDGES).fit(X, y)
    tuples = HRSVC().fit(X, paths_of(y))
    assert tuples.hierarchy_ is not None
    edges = {tuple(node.split(" > ")[-1] for node in edge) for edge in tuples.hierarchy_.edges}
    assert edges == set(EDGES)
    column = [named.classes_.tolist().index(node.split(" > ")[-1]) for node in tuples.classes_]
    np.testing.assert_allclose(
        tuples.decision_function(X), named.decision_function(X)[:, column], atol=1e-3
    )
    assert tuples.predict(X) == paths_of(named.predict(X))
    assert tuples.predict_paths(X) == named.predict_paths(X)
    assert tuples.score(X, paths_of(y)) == named.score(X, y)

    table = np.array([path + ("",) * (4 - len(path)) for path in paths_of(y)], dtype=object)
    rowed = HRSVC().fit(X, table)
    predicted = rowed.predict(X)
    assert predicted.shape == (200, 4)
    assert [tuple(c for c in row if c) for row in predicted] == tuples.predict(X)
    assert rowed.score(X, table) == named.score(X, y)


def shops(count: int, seed: int) -> tuple[Any, list[list[str]]]:
    """Columns say shop and part; both shops have a part of the same name."""
    rng = np.random.default_rng(seed)
    paths = [["Books", "Accessories"], ["Phones", "Accessories"], ["Phones", "Cases > new"]]
    chosen = [paths[k] for k in rng.integers(3, size=count)]
    words = ["Books", "Phones", "Accessories", "Cases > new"]
    X = np.array([[float(word in path) for word in words] for path in chosen], dtype=np.float32)
    return X + rng.normal(0, 0.1, X.shape).astype(np.float32), chosen


@pytest.mark.parametrize("made", [FlatSVC, HRSVC, NHSVC])
def test_equal_names_under_different_parents_are_different_nodes(made: Any) -> None:
    X, y = shops(120, 1)
    model = made(C=10).fit(X, y)
    assert model.predict(X) == y
    assert model.score(X, y) == 1
    swapped = [["Phones" if shop == "Books" else "Books", part] for shop, part in y]
    assert model.score(X, swapped) == 0
    assert model.classes_.tolist() == [
        "Books > Accessories", "Phones > Accessories", "Phones > Cases \\> new"
    ]  # fmt: skip
    assert model.predict_paths(X) == y
    assert len(model.hierarchy_.edges) == 3
    assert made(C=10).fit(X, [tuple(path) for path in y]).predict(X) == [tuple(p) for p in y]
    table = np.array(y, dtype=object)
    predicted = made(C=10).fit(X, table).predict(X)
    assert isinstance(predicted, np.ndarray)
    np.testing.assert_array_equal(predicted, table)


def test_frames_of_paths_tell_equal_names_apart() -> None:
    pandas = pytest.importorskip("pandas")
    X, y = shops(60, 2)
    frame = pandas.DataFrame(y, columns=["shop", "part"])
    frame.loc[0] = ["Garden", None]
    model = FlatSVC(C=100).fit(X, frame)
    assert set(model.classes_) >= {"Garden", "Books > Accessories", "Phones > Accessories"}
    np.testing.assert_array_equal(model.predict(X[1:]), np.array(y[1:], dtype=object))


def test_short_lists_are_filled_up_as_they_were() -> None:
    X = np.eye(2, dtype=np.float32).repeat(4, axis=0)
    table = [["a", "b"]] * 4 + [["c", ""]] * 4
    assert FlatSVC(C=10).fit(X, table).predict(X) == table
    ragged = [["a", "b"]] * 4 + [["c"]] * 4
    assert FlatSVC(C=10).fit(X, ragged).predict(X) == ragged


def test_the_program_gives_the_same_ids_to_paths(tmp_path: Path) -> None:
    X, y = shops(60, 3)
    lines = [",".join([*map(str, x), *path]) for x, path in zip(X.tolist(), y, strict=True)]
    (tmp_path / "rows.csv").write_text("\n".join(["p,q,r,s,shop,part", *lines]), encoding="utf-8")
    options = ["--method", "flat-svm", "--numeric-columns", "p,q,r,s"]
    options += ["--path-columns", "shop,part"]
    files = [str(tmp_path / "rows.csv"), str(tmp_path / "model")]
    subprocess.run([PROGRAM, "train", *options, *files], check=True, capture_output=True)
    loaded = load(tmp_path / "model")
    ours = FlatSVC().fit(X, y)
    assert loaded.classes_.tolist() == ours.classes_.tolist()
    np.testing.assert_allclose(loaded.decision_function(X), ours.decision_function(X), atol=1e-2)


def test_a_model_from_a_file_knows_paths_and_can_be_calibrated(tmp_path: Path) -> None:
    X, y = shops(120, 4)
    FlatLogisticRegression().fit(X, y).save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.predict(X) == [list(path) for path in y]
    calibration = loaded.calibrate(X, y).calibration_
    assert calibration is not None
    assert calibration.num_rows == 120


def test_paths_outside_the_hierarchy_are_refused() -> None:
    X, y = rows(20, 11)
    wrong = [("life", "tree"), *paths_of(y)[1:]]
    with pytest.raises(ValueError, match="a path goes from 'life' to 'tree', which must be"):
        NHSVC(hierarchy=EDGES).fit(X, wrong)
    with pytest.raises(ValueError, match="y: row 3 is empty, but must be a path"):
        NHSVC().fit(X, [*paths_of(y)[:3], (), *paths_of(y)[4:]])
    with pytest.raises(ValueError, match=r"y: row 0 .* must be a path without gaps"):
        NHSVC().fit(X, [("life", "", "fir"), *paths_of(y)[1:]])


def test_nodes_of_rows_with_several_labels_have_probabilities() -> None:
    X, y = rows(200, 5)
    sets = [{label, "oak"} if k % 3 == 0 else {label} for k, label in enumerate(y.tolist())]
    model = HRLogisticRegression(hierarchy=EDGES).fit(X, sets)
    labels = dict(zip(model.classes_, model.predict_proba(X).T, strict=True))
    nodes = dict(zip(model.nodes_, model.predict_node_proba(X).T, strict=True))
    assert np.allclose(nodes["oak"], labels["oak"])
    below = {"tree": ["tree", "oak", "fir"], "plant": ["moss", "tree", "oak", "fir"]}
    below["life"] = [*below["plant"], "animal"]
    for node, names in below.items():
        none = np.prod([1 - labels[name] for name in names], axis=0)
        assert np.allclose(nodes[node], 1 - none)
    with pytest.raises(AttributeError, match="gives no probabilities: set calibration to the"):
        FlatSVC(hierarchy=EDGES).fit(X, sets).predict_node_proba(X)
