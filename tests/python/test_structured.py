"""StructuredSVC: sentences with tags, and label sets of rows."""

import pickle
import subprocess
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from margrove import StructuredSVC, load
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold

PROGRAM = Path(__file__).resolve().parents[2] / "build" / "margrove"
SENTENCES = [["the", "dog", "barks"], ["a", "cat", "sleeps"], ["the", "cat", "barks"], ["dogs"]] * 5
TAGS = [["D", "N", "V"], ["D", "N", "V"], ["D", "N", "V"], ["N"]] * 5


def test_tags_of_sentences_are_learned() -> None:
    model = StructuredSVC().fit(SENTENCES, TAGS)
    assert model.predict([["a", "dog", "sleeps"], ["cat"]]) == [["D", "N", "V"], ["N"]]
    assert model.score(SENTENCES, TAGS) == 1.0
    assert model.classes_.tolist() == ["D", "N", "V"]
    again = pickle.loads(pickle.dumps(model))
    assert again.predict(SENTENCES) == TAGS


def test_sentences_and_the_program_make_the_same_model(tmp_path: Path) -> None:
    lines = []
    for words, tags in zip(SENTENCES, TAGS, strict=True):
        lines += [f"{w}\tlength:{len(w)}\t{t}" for w, t in zip(words, tags, strict=True)] + [""]
    (tmp_path / "train").write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = [str(PROGRAM), "train", "--quiet", "--method", "structured", "train", "model"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    columns = [[(word, f"length:{len(word)}") for word in words] for words in SENTENCES]
    model = StructuredSVC().fit(columns, TAGS)
    model.save(tmp_path / "ours")
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "model").read_bytes()
    loaded = load(tmp_path / "model")
    assert isinstance(loaded, StructuredSVC)
    assert loaded.predict(columns) == model.predict(columns)


def test_tags_of_sentences_are_evaluated() -> None:
    model = StructuredSVC().fit(SENTENCES, TAGS)
    some, truth = SENTENCES[:4], [["D", "N", "V"], ["D", "N", "X"], ["D", "V", "N"], ["N"]]
    with pytest.warns(UserWarning, match=r"not know the tags of 1 of 10 words \('X'\); they co"):
        found = model.evaluate(some, truth)
    assert found == {"token_accuracy": 0.7, "sentence_accuracy": 0.5}
    spans = [[{"D": "O", "N": "B-a", "V": "B-b"}[tag] for tag in tags] for tags in TAGS]
    found = StructuredSVC().fit(SENTENCES, spans).evaluate(SENTENCES, spans)
    assert found == dict.fromkeys(
        ("token_accuracy", "sentence_accuracy", "span_precision", "span_recall", "span_f1"), 1.0
    )
    with pytest.raises(ValueError, match="sentence 1 has 2 tags, but must have 3"):
        model.evaluate(some, [truth[0], truth[1][:2], *truth[2:]])
    with pytest.raises(ValueError, match="y is None"):
        model.evaluate(some, None)
    rows = StructuredSVC(model="multilabel-field").fit(np.eye(3), [["a"], ["b"], ["a", "b"]])
    with pytest.raises(ValueError, match=r"evaluate is for sentences, but .* margrove.metrics has"):
        rows.evaluate(np.eye(3), [["a"], ["b"], ["a", "b"]])


def test_any_text_is_a_token() -> None:
    model = StructuredSVC().fit(SENTENCES, TAGS)
    odd = [["-DOCSTART-", "New York", "#", "# x"], [" "], ["dog"]]
    assert [len(tags) for tags in model.predict(odd)] == [4, 1, 1]
    own = StructuredSVC().fit([["-DOCSTART-"], ["# x", "New York"]] * 3, [["A"], ["B", "C"]] * 3)
    assert own.predict([["-DOCSTART-"], ["# x", "New York"]]) == [["A"], ["B", "C"]]


@pytest.mark.parametrize(
    ("word", "arc", "message"),
    [
        ({"form": "a", "pos": "N"}, (0, "root"), "it is {'form': 'a', 'pos': 'N'}, but must be a"),
        ({"a", "b"}, (0, "root"), "but must be a text"),
        ([], (0, "root"), r"it is \[\], but must be a text"),
        ("a", (0.5, "root"), "the head is 0.5, but must be a whole number"),
        ("a", ("x", "root"), "the head is 'x', but must be a whole number"),
        ("a", (0, ("root",)), r"the relation is \('root',\), but must be a text"),
    ],
)
def test_wrong_words_and_arcs_name_their_place(word: Any, arc: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"sentence 0, word 0: .*{message}"):
        StructuredSVC(model="dependency").fit([[word]], [[arc]])


def test_series_and_arrays_of_sentences_are_lists_of_them() -> None:
    pd = pytest.importorskip("pandas")
    X, y = np.empty(len(SENTENCES), object), np.empty(len(SENTENCES), object)
    X[:], y[:] = SENTENCES, TAGS
    for given, answers in ((X, y), (pd.Series(SENTENCES), pd.Series(TAGS)), (tuple(SENTENCES), y)):
        model = StructuredSVC().fit(given, answers)
        assert model.predict(given) == TAGS
        assert model.score(given, answers) == 1.0
    with pytest.raises(ValueError, match="X: it is a generator, but model='chain' must have a"):
        StructuredSVC().fit((sentence for sentence in SENTENCES), TAGS)


def test_what_is_for_rows_says_so() -> None:
    model = StructuredSVC().fit(SENTENCES, TAGS)
    for call in (model.decision_function, lambda X: model.top_k(X, 1)):
        with pytest.raises(ValueError, match="fitted on sentences, which predict, evaluate,"):
            call(SENTENCES)
    with pytest.raises(ValueError, match=r"^a model of method structured and kind chain"):
        model.explain(SENTENCES)
    with pytest.raises(ValueError, match=r"^label is .D., which is for rows, but the estim"):
        model.explain(SENTENCES, "D")
    searched = GridSearchCV(StructuredSVC(), {"C": [0.01, 0.1]}, cv=KFold(2))
    assert searched.fit(SENTENCES, TAGS).best_score_ > 0.9


def test_whole_heads_may_be_floats() -> None:
    model = StructuredSVC(model="dependency").fit([["a", "b"]], [[(2.0, "x"), (0.0, "root")]])
    assert model.predict([["a", "b"]]) == [[(2, "x"), (0, "root")]]


def test_pairs_are_no_tags_and_scores_need_all_answers() -> None:
    with pytest.raises(ValueError, match=r"y: sentence 0, token 0: the tag is \(0, 'root'\), but"):
        StructuredSVC().fit([["a"]], [[(0, "root")]])
    model = StructuredSVC().fit(SENTENCES, TAGS)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.score(SENTENCES, TAGS[:1])
    with pytest.raises(ValueError, match="y: sentence 0 has 1 answers, but must have 3"):
        model.score(SENTENCES[:1], [["D"]])


def several() -> tuple[Any, Any]:
    random = np.random.default_rng(0)
    Y = (random.random((120, 3)) < 0.5).astype(int)
    Y[:, 2] = Y[:, 0] & Y[:, 1]  # what a pair of labels says of a third
    X = random.normal(size=(120, 3)) * 0.3
    X[:, :2] += 2 * Y[:, :2] - 1
    return X.astype(np.float32), Y


def test_label_sets_of_rows_use_what_pairs_say() -> None:
    X, Y = several()
    model = StructuredSVC(model="multilabel-field", C=10).fit(X, Y)
    predicted = model.predict(X)
    assert predicted.shape == Y.shape
    assert model.score(X, Y) > 0.9


@pytest.mark.parametrize(
    ("model", "X", "y", "message"),
    [
        ("chain", np.eye(3), [["a"]] * 3, "X: it is an array, but model='chain' must have"),
        ("chain", [], [], "X: there are no sentences"),
        ("chain", [["a"], []], [["T"], []], "X: sentence 1 must be a sequence of at least one"),
        ("chain", ["a b"], [["T", "T"]], "X: sentence 0 is the text 'a b', but must be a sequence"),
        ("chain", pd.DataFrame({"x": ["a"]}), [["T"]], "X: it is a DataFrame, but model='chain'"),
        ("chain", [["a"]], [["T", "T"]], "y: sentence 0 has 2 tags, but must have 1"),
        ("chain", [["a\tb"]], [["T"]], "X: sentence 0, token 0: .* must be a text without"),
        ("dependency", np.eye(3), [[]] * 3, "X: it is an array, but model='dependency' must have"),
        ("dependency", [["a"]], [[]], "y: sentence 0 has 0 arcs, but must have 1"),
        ("dependency", [[["a"] * 6]], [[(0, "root")]], "sentence 0, word 0: .* at most 5 texts"),
        (
            "dependency",
            [["a\n"]],
            [[(0, "root")]],
            "X: sentence 0, token 0: .* must be a text without",
        ),
        ("dependency", [["a"]], [[(2, "root")]], "head is 2, but the sentence has 1 words"),
    ],
)
def test_wrong_sentences_are_named(model: str, X: Any, y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        StructuredSVC(model=model).fit(X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hash_bits": 12}, r"hash_bits is given, but model chain .*; dependency does"),
        (
            {"model": "hierarchy", "min_feature_count": 2},
            r"min_feature_count is given, but model hierarchy .*; chain does",
        ),
        ({"model": "lattice"}, r"model is 'lattice', but must be one of chain, "),
    ],
)
def test_options_of_another_model_are_errors_that_name_it(
    options: dict[str, Any], message: str
) -> None:
    model = StructuredSVC(**options)
    with pytest.raises(ValueError, match=message):
        model.fit(*((SENTENCES, TAGS) if model.model == "chain" else several()))


WORDS = [
    [("dogs", "dog", "NOUN"), ("bark", "bark", "VERB")],
    [("the", "the", "DET"), ("dog", "dog", "NOUN"), ("eats", "eat", "VERB"), "fish"],
]
ARCS = [[(2, "nsubj"), (0, "root")], [(2, "det"), (3, "nsubj"), (0, "root"), (3, "obj")]]


@pytest.mark.parametrize("relations", ["joint", "separate", "table"])
def test_parsers_learn_heads_and_relations_in_memory(relations: str) -> None:
    model = StructuredSVC(model="dependency", hash_bits=12, relations=relations, C=1)
    model.fit(WORDS * 4, ARCS * 4)
    assert model.predict(WORDS) == ARCS
    assert model.score(WORDS, ARCS) == 1.0
    again = pickle.loads(pickle.dumps(model))
    assert again.predict(WORDS) == ARCS
    wrong = [[(2, "nsubj"), (0, "root")], [(2, "det"), (3, "nsubj"), (0, "root"), (3, "iobj")]]
    assert model.score(WORDS, wrong) == pytest.approx(5 / 6)
    with pytest.warns(UserWarning, match=r"the relations of 1 of 6 words \('iobj'\)"):
        assert model.evaluate(WORDS, wrong) == pytest.approx({"uas": 1.0, "las": 5 / 6})


def test_parsers_of_the_program_load_and_predict(tmp_path: Path) -> None:
    lines = ["1\tdogs\t_\tN\tN\t_\t2\tsubj\t_\t_", "2\tbark\t_\tV\tV\t_\t0\troot\t_\t_", ""]
    (tmp_path / "train").write_text("\n".join(lines) + "\n", encoding="utf-8")
    words = "train --quiet --method structured --model dependency --hash-bits 10 train model"
    subprocess.run([str(PROGRAM), *words.split()], cwd=tmp_path, check=True, capture_output=True)
    loaded = load(tmp_path / "model")
    assert (loaded.model, loaded.hash_bits) == ("dependency", 10)
    assert loaded.predict([[("dogs", "_", "N", "N"), ("bark", "_", "V", "V")]]) == [
        [(2, "subj"), (0, "root")]
    ]


def test_training_starts_from_a_model_or_its_file(tmp_path: Path) -> None:
    X, Y = several()
    problems: list[tuple[dict[str, Any], Any, Any]] = [
        ({"model": "chain", "decision": "argmax"}, SENTENCES, TAGS),
        ({"model": "dependency", "hash_bits": 12}, WORDS * 4, ARCS * 4),
        ({"model": "multilabel-field", "decision": "argmax"}, X, Y),
    ]
    for options, examples, truth in problems:
        model = StructuredSVC(**options, solver="bcfw", tolerance=1e-3, C=1)
        first = clone(model).fit(examples, truth)
        first.save(tmp_path / "model")
        for start in (first, tmp_path / "model"):
            second = clone(model).fit(examples, truth, start=start)
            assert second.report_["stop"] == "converged"
            # One pass of sgd ends nearer to the optimum than without a start.
            sgd = clone(model).set_params(solver="sgd", max_passes=1)
            anew = clone(sgd).fit(examples, truth).report_["primal"]
            assert clone(sgd).fit(examples, truth, start=start).report_["primal"] < anew
    with pytest.raises(TypeError, match="start is of type int, but must be a fitted estimator"):
        StructuredSVC().fit(SENTENCES, TAGS, start=3)
    with pytest.raises(ValueError, match="start is a model of kind field, which model chain"):
        StructuredSVC().fit(SENTENCES, TAGS, start=first)
    with pytest.raises(ValueError, match="model hierarchy does not offer it"):
        StructuredSVC(model="hierarchy").fit(X, Y, start=first)


def test_answers_obey_the_form_of_tags() -> None:
    sentences = [["Ann", "Lee", "sleeps"], ["Rome", "sleeps"]] * 8
    tags = [["B-P", "I-P", "O"], ["B-L", "O"]] * 8
    new = [["sleeps", "Lee"], ["Lee", "Lee"]]
    options: dict[str, Any] = {"C": 10, "decision": "argmax", "max_passes": 200}
    free = StructuredSVC(constraints="none", **options).fit(sentences, tags).predict(new)
    assert free[0] == ["O", "I-P"]
    obeying = StructuredSVC(**options).fit(sentences, tags).predict(new)
    assert all(sentence[0][0] != "I" for sentence in obeying)
    assert obeying[0][1] != "I-P" or obeying[0][0] == "B-P"


def test_what_sentences_do_not_have_is_no_attribute() -> None:
    model = StructuredSVC(max_passes=5).fit(SENTENCES, TAGS)
    assert not hasattr(model, "predict_proba")
    assert "predict" in dir(model)
    for name in dir(model):
        getattr(model, name, None)  # raises nothing but AttributeError


def test_subgradients_end_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = StructuredSVC(max_passes=1000).fit(SENTENCES * 5, TAGS * 5)
    assert model.report_["stop"] == "settled"
    assert model.report_["passes"] < 1000


def test_decision_is_tuned_for_the_metric_and_kept() -> None:
    random = np.random.default_rng(1)
    Y = (random.random((200, 3)) < 0.35).astype(int)  # hard to tell from X: none is the best guess
    X = (random.normal(size=(200, 3)) + 0.8 * Y).astype(np.float32)
    argmax = StructuredSVC(model="multilabel-field", decision="argmax").fit(X, Y)
    tuned = StructuredSVC(model="multilabel-field").fit(X, Y)
    assert tuned.predict(X).sum() > argmax.predict(X).sum()
    np.testing.assert_array_equal(tuned.decision_function(X), argmax.decision_function(X))
    exact = StructuredSVC(model="multilabel-field", decision_metric="accuracy").fit(X, Y)
    assert (exact.predict(X) != tuned.predict(X)).any()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(tuned)).predict(X), tuned.predict(X))
    with pytest.raises(ValueError, match="decision is 'zero', but must be one of auto, argmax"):
        StructuredSVC(model="multilabel-field", decision="zero").fit(X, Y)


def test_surrogate_micro_f1_is_for_label_sets_of_hierarchies() -> None:
    X, Y = several()
    edges = [("all", 0), ("all", 1), ("all", 2)]
    sets = [{int(k) for k in np.flatnonzero(row)} or {2} for row in Y]
    model = StructuredSVC(model="hierarchy", surrogate="micro-f1", hierarchy=edges, C=10)
    fitted = model.fit(X, sets)
    assert fitted.report_["relative_gap"] <= 0.01
    assert fitted.score(X, sets) > 0.6
