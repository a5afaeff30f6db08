"""Labels, paths and tags come back as they were given; what cannot be one is named."""

import pickle
import warnings
from pathlib import Path
from typing import Any

import margrove
import numpy as np
import pytest
from margrove import NHSVC, FlatSVC, StructuredSVC, TextFeatures, metrics
from margrove._base import Classifier

WORDS = [["we", "saw"], ["an", "owl"]] * 5
NUMBERS = [[0, 0], [0, 1]] * 5


def test_tags_that_are_numbers_come_back_as_numbers(tmp_path: Path) -> None:
    model = StructuredSVC(threads=1).fit(WORDS, NUMBERS)
    assert model.predict(WORDS[:2]) == [[0, 0], [0, 1]]
    assert {type(tag) for tags in model.predict(WORDS) for tag in tags} == {int}
    assert model.score(WORDS, NUMBERS) == 1
    assert model.score(WORDS, [[str(tag) for tag in tags] for tags in NUMBERS]) == 1
    assert model.classes_.tolist() == [0, 1]
    model.save(tmp_path / "m")
    assert margrove.load(tmp_path / "m").predict(WORDS[:2]) == [[0, 0], [0, 1]]
    floats = StructuredSVC(threads=1).fit(WORDS, [np.array(tags) / 2 for tags in NUMBERS])
    assert floats.predict(WORDS[:2]) == [[0.0, 0.0], [0.0, 0.5]]


def test_relations_that_are_numbers_come_back_as_numbers() -> None:
    trees = [[(2, 7), (0, 8)]] * 10
    model = StructuredSVC(model="dependency", threads=1, hash_bits=8).fit(WORDS, trees)
    assert model.predict(WORDS[:1]) == [[(2, 7), (0, 8)]]
    assert model.score(WORDS, trees) == 1


@pytest.mark.parametrize("missing", [None, float("nan"), np.nan, " ", ""])
def test_missing_tags_are_refused_with_their_place(missing: Any) -> None:
    with pytest.raises(ValueError, match=r"^y: sentence 0, token 1: the tag is .*must be there"):
        StructuredSVC().fit(WORDS, [["O", missing], ["O", "B"]] * 5)
    arcs = [[(2, "a"), (0, "root")], [(2, missing), (0, "root")]] * 5
    with pytest.raises(ValueError, match=r"^y: sentence 1, word 0: the relation is .*must be"):
        StructuredSVC(model="dependency").fit(WORDS, arcs)


def test_wrong_answers_are_refused_with_their_place() -> None:
    with pytest.raises(
        ValueError, match="sentence 1, token 1: the tag is '1', and there is 1, but"
    ):
        StructuredSVC().fit(WORDS[:2], [[0, 1], [0, "1"]])
    for arc, message in [
        (None, r"^y: sentence 0, word 0: it is None, but must be a pair \(head, relation\)"),
        ("ab", r"it is 'ab', but must be a pair"),
        ((None, "a"), "word 0: the head is None, but must be there"),
    ]:
        with pytest.raises(ValueError, match=message):
            StructuredSVC(model="dependency").fit(WORDS[:1], [[arc, (0, "root")]])


def estimators() -> list[type[Classifier]]:
    exported = [getattr(margrove, name) for name in margrove.__all__]
    made = {each for each in exported if isinstance(each, type) and hasattr(each, "_method")}
    return sorted(made, key=lambda each: each.__name__)


@pytest.mark.parametrize("made", estimators())
def test_every_estimator_gives_numbers_back(made: type[Classifier], tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    y = np.repeat([7, -3, 10], 12)
    X = (rng.normal(size=(36, 4)) + 4 * np.eye(4)[np.repeat([0, 1, 2], 12)]).astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = made()
        if "hierarchy" in model.get_params():
            model.set_params(hierarchy=[(1, 7), (1, -3), (2, 10)])
        if made is StructuredSVC:
            model.set_params(model="multilabel-field")
        model.fit(X, y)
        predicted = model.predict(X)
        if isinstance(predicted[0], set):
            predicted = np.array([min(labels) for labels in predicted])
        assert model.classes_.tolist() == [-3, 7, 10]
        assert np.asarray(predicted).dtype.kind == "i"
        assert np.mean(predicted == y) > 0.9
        model.save(tmp_path / "m")
        assert margrove.load(tmp_path / "m").classes_.tolist() == [-3, 7, 10]


def test_paths_of_numbers_come_back_as_numbers() -> None:
    X = np.eye(4, dtype=np.float32)[[0, 1, 2] * 4]
    rows = [(1, 2), (1, 3), (4, 5)] * 4
    given: list[Any] = [rows, np.array(rows), np.array(rows, dtype=float)]
    for y in given:
        predicted = NHSVC().fit(X, y).predict(X)
        assert type(predicted) is type(y)
        assert np.array_equal(predicted, y)
        if isinstance(y, np.ndarray):
            assert predicted.dtype == y.dtype
    short = np.array([[1, 2], [1, 3], [4, np.nan]] * 4)
    model = NHSVC().fit(X, short)
    assert np.array_equal(model.predict(X), short, equal_nan=True)
    assert model.predict_paths(X)[:3] == [[1, 2], [1, 3], [4]]
    assert model.score(X, short) == 1


def test_numbers_that_are_neither_paths_nor_sets_are_refused() -> None:
    X = np.eye(2, dtype=np.float32)
    with pytest.raises(
        ValueError, match="y: its rows have several numbers other than 0 and 1; giv"
    ):
        FlatSVC().fit(X, [[1, 2], [1, 3]])
    with pytest.raises(ValueError, match="Unknown label type"):
        FlatSVC().fit(X, np.array([[0.2, 0.8], [2, 1]]))


def test_metrics_of_paths_take_numbers() -> None:
    truth, predicted = np.array([[1, 2], [1, 3]]), np.array([[1, 2], [1, 4]])
    expected = metrics.hierarchical_f1(truth.astype(str), predicted.astype(str))
    for kind in (int, float, object):
        assert metrics.hierarchical_f1(truth.astype(kind), predicted.astype(kind)) == expected
        assert metrics.lca_f1(truth.astype(kind), predicted) == metrics.lca_f1(truth, predicted)
    pairs = [tuple(row) for row in truth.tolist()], [tuple(row) for row in predicted.tolist()]
    assert metrics.hierarchical_f1(*pairs) == expected
    with pytest.raises(ValueError, match="y: its rows have several numbers other than 0 and 1"):
        metrics.hierarchical_f1(truth.tolist(), predicted.tolist())


DICTS = [
    [{"word": w, "short": len(w) < 3, "length": len(w)} for w in s.split()]
    for s in ("we saw it", "an owl sat", "the fox ran", "my owl hid")
] * 5
TAGS = [["O", "O", "O"], ["O", "B", "O"], ["O", "B", "O"], ["O", "B", "O"]] * 5


def test_values_of_dicts_are_features(tmp_path: Path) -> None:
    model = StructuredSVC(threads=1).fit(DICTS, TAGS)
    assert model.score(DICTS, TAGS) == 1
    owl = {"word": "owl", "short": False, "length": 3}
    it = {"word": "it", "short": True, "length": 2}
    assert model.predict([[it, owl, it]]) != model.predict([[it, it, it]])
    marked = [[dict(d, BOS=True) if i == 0 else d for i, d in enumerate(s)] for s in DICTS]
    of_marked = StructuredSVC(threads=1).fit(marked, TAGS)
    assert of_marked.score(marked, TAGS) == 1
    turned = [[dict(reversed(token.items())) for token in sentence] for sentence in marked]
    assert of_marked.predict(turned) == of_marked.predict(marked)
    more = [[{**token, "new": "x"} for token in sentence] for sentence in marked]
    assert of_marked.predict(more) == of_marked.predict(marked)
    assert pickle.loads(pickle.dumps(of_marked)).predict(marked) == of_marked.predict(marked)
    of_marked.save(tmp_path / "m")
    assert margrove.load(tmp_path / "m").predict(marked) == of_marked.predict(marked)
    with pytest.raises(ValueError, match=r"^X: tokens are no dicts, but must be as in fit"):
        margrove.load(tmp_path / "m").predict([["a"]])


def test_numbers_of_dicts_that_are_no_floats_are_numbers() -> None:
    """1e-50 is below the least float, and was a text."""
    X = [[{"a": 1e-50}, {"a": 1.0}], [{"a": 1.0}, {"a": 1e-50}]] * 5
    model = StructuredSVC(threads=1).fit(X, [["no", "yes"], ["yes", "no"]] * 5)
    assert model.predict([[{"a": 0}, {"a": 1e-60}]]) == model.predict([[{}, {}]])


def test_texts_of_dicts_that_look_like_numbers_are_texts() -> None:
    hours = [[{"at": "9:30"}, {"at": "9:45"}], [{"at": "9:45"}, {"at": "9:30"}]] * 10
    tags = [["a", "b"], ["b", "a"]] * 10
    assert StructuredSVC(threads=1).fit(hours, tags).score(hours, tags) == 1


def test_wrong_tokens_are_refused_with_their_place() -> None:
    wrong: list[tuple[Any, str]] = [
        ([[{"a": 1}, "b"]], "^sentence 0, token 1 is 'b', but must be a dict as the first token"),
        ([["b", {"a": 1}]], "^sentence 0, token 1 is {'a': 1}, but must be a text, a sequence of"),
        ([["b", 3]], "^sentence 0, token 1 is 3, but must be a text"),
        ([[["b", 3]]], r"^sentence 0, token 0 is \['b', 3\], but must be a text"),
        ([[{"a": [1]}, {}]], r"^sentence 0, token 0: feature 'a' is \[1\], but must be a text, a"),
        ([[{"a": np.inf}, {}]], "feature 'a' is inf, but must be a text, a finite number"),
        ([[{"a": "x\ty"}, {}]], "^X: sentence 0, token 0: a column is .*without tabs, line"),
    ]
    for X, message in wrong:
        with pytest.raises(ValueError, match=message):
            StructuredSVC().fit(X, [["t"] * len(sentence) for sentence in X])
    of_dicts = StructuredSVC(threads=1).fit(DICTS, TAGS)
    with pytest.raises(ValueError, match=r"^X: tokens are no dicts, but must be as in fit"):
        of_dicts.predict([["a", "b"]])
    of_texts = StructuredSVC(threads=1).fit(WORDS, NUMBERS)
    with pytest.raises(ValueError, match=r"^X: tokens are dicts, but must be texts or sequences"):
        of_texts.predict(DICTS)


LONE = "a cat \ud83d"


def test_lone_surrogates_are_refused_with_their_place() -> None:
    X = np.eye(3, dtype=np.float32)
    texts = ["an owl", LONE, "a fox"]
    fitted = TextFeatures().fit(["an owl"])
    model = FlatSVC(text="t").fit({"t": ["an owl", "a fox"]}, ["x", "y"])
    frame = {"c": ["x", LONE, "x"]}
    runs: list[tuple[Any, str]] = [
        (lambda: TextFeatures().fit(texts), "^X: row 1 is 'a cat .ud83d', but must be a text of"),
        (lambda: fitted.transform(texts), "^X: row 1 is "),
        (lambda: model.predict({"t": texts}), "^X: row 1 is "),
        (lambda: TextFeatures(stop_words=["a", LONE]).fit(texts[:1]), r"^stop_words\[1\] is "),
        (lambda: FlatSVC(categorical="c").fit(frame, [1, 2, 1]), "^X: column 'c' in row 1 is "),
        (lambda: FlatSVC().fit(X, texts), "^y: row 1: label is 'a cat .ud83d', which has a lone"),
        (lambda: FlatSVC().fit(X, [{"a"}, {"b"}, {LONE}]), "^y: row 2: label is "),
        (lambda: NHSVC().fit(X, [("a", "b"), ("a", LONE), ("c", "d")]), "^y: row 1: "),
        (lambda: NHSVC(hierarchy=[("r", LONE), ("r", "a"), ("r", "b")]).fit(
            X, ["a", "b", "a"]), "^hierarchy: node 1 is "),
        (lambda: metrics.hierarchical_f1(texts, texts), "^y: row 1: label is "),
        (lambda: StructuredSVC().fit([["a", LONE]], [["x", "y"]]),
         "^sentence 0, token 1: a text is "),
        (lambda: StructuredSVC().fit([["a", "b"]], [["x", LONE]]),
         "^y: sentence 0, token 1: the tag is "),
    ]  # fmt: skip
    for run, message in runs:
        with pytest.raises(ValueError, match=message):
            run()
