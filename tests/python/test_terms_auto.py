"""The search for terms that TextFeatures(terms="auto") asks for."""

import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from margrove import NHSVC, AutoClassifier, FlatSVC, TextFeatures, _core
from sklearn.base import clone

PROGRAM = Path(__file__).resolve().parents[2] / "build" / "margrove"
STEMS = ["walk", "talk", "jump", "work", "play", "call", "look", "help"]
ENDS = {
    "noun": "er",
    "verb": "ing",
}  # they decide; ascending, as the program numbers labels as they come
TEXTS = [f"they {stem}{end}" for stem in STEMS for end in ENDS.values()]
LABELS = [label for _ in STEMS for label in ENDS]


def chosen(model: Any) -> tuple[str, str]:
    (only,) = (each for each in model.terms_ if each["chosen"])
    return only["word_ngrams"], only["char_ngrams"]


@pytest.mark.parametrize("estimator", [FlatSVC(), NHSVC(), AutoClassifier(time_limit_seconds=None)])
def test_terms_are_those_of_the_best_candidate(estimator: Any) -> None:
    searched = clone(estimator).set_params(text_features=TextFeatures(terms="auto"))
    searched.fit(TEXTS, LABELS)
    assert [set(each) for each in searched.terms_] == [
        {"word_ngrams", "char_ngrams", "score", "chosen"}
    ] * 5
    words, characters = chosen(searched)
    assert characters != "none"
    best = max(each["score"] for each in searched.terms_)
    assert searched.terms_[0]["score"] <= 0.5 < best
    terms = TextFeatures(terms="given", word_ngrams=words, char_ngrams=characters)
    given = clone(estimator).set_params(text_features=terms).fit(TEXTS, LABELS)
    assert not hasattr(given, "terms_")
    np.testing.assert_array_equal(searched.decision_function(TEXTS), given.decision_function(TEXTS))


def test_the_choice_is_that_of_the_program(tmp_path: Path) -> None:
    lines = (f"{label}\t{text}\n" for label, text in zip(LABELS, TEXTS, strict=True))
    (tmp_path / "rows").write_text("".join(lines), encoding="utf-8")
    options = ["--text", "--terms", "auto", "--C", "2", "--stop-words", "stop"]
    (tmp_path / "stop").write_text("they\n", encoding="utf-8")
    done = subprocess.run(
        [PROGRAM, "train", "--quiet", "--method", "flat-svm", *options, "rows", "model"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    )
    terms = TextFeatures(terms="auto", stop_words=["they"])
    model = FlatSVC(C=2, text_features=terms).fit(TEXTS, LABELS)
    match = re.search(r"(?m)^terms\tword-ngrams (\S+), char-ngrams (\S+)$", done.stdout)
    assert match is not None
    assert chosen(model) == match.groups()
    model.save(tmp_path / "ours")
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "model").read_bytes()


def test_an_automatic_choice_searches_by_default() -> None:
    texts, labels = TEXTS * 63, LABELS * 63
    estimator = AutoClassifier(time_limit_seconds=None)
    searched = clone(estimator).set_params(text_features=TextFeatures(terms="auto"))
    asked = searched.fit(texts, labels).decision_function(TEXTS)
    for terms in (None, TextFeatures()):
        model = clone(estimator).set_params(text_features=terms).fit(texts, labels)
        assert model.terms_ == searched.terms_
        np.testing.assert_array_equal(model.decision_function(TEXTS), asked)
    for terms in (TextFeatures(terms="given"), TextFeatures(word_ngrams="1")):
        model = clone(estimator).set_params(text_features=terms).fit(texts, labels)
        assert not hasattr(model, "terms_")
    assert not hasattr(clone(estimator).fit(TEXTS, LABELS), "terms_")  # few rows
    numbers = clone(estimator).fit(np.eye(16, dtype=np.float32), LABELS)
    assert not hasattr(numbers, "terms_")


def test_a_search_that_does_not_end_in_its_share_of_the_time_leaves_the_default_terms(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = _core.search_terms

    def unfinished(*args: Any, **options: Any) -> Any:
        chosen, _, seconds = real(*args, **options)
        return chosen, [], seconds

    monkeypatch.setattr(_core, "search_terms", unfinished)
    with pytest.warns(UserWarning, match="the search for terms did not end in its share"):
        model = AutoClassifier(text_features=TextFeatures(terms="auto")).fit(TEXTS, LABELS)
    assert model.terms_ == []


def test_columns_of_frames_are_searched() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"words": TEXTS, "size": [len(text) for text in TEXTS]})
    terms = TextFeatures(terms="auto")
    model = FlatSVC(text="words", numeric="size", text_features=terms).fit(frame, LABELS)
    assert chosen(model)[1] != "none"
    assert model.score(frame, LABELS) == 1


def test_weights_of_rows_count_in_the_search() -> None:
    model = FlatSVC(text_features=TextFeatures(terms="auto"))
    weights = [1.0 if label == "verb" else 0.0 for label in LABELS]
    model.fit(TEXTS, LABELS, sample_weight=weights)
    assert {each["score"] for each in model.terms_} == {0.5}  # every answer is "verb"
    assert chosen(model) == ("1", "none")  # of equals the cheapest


def test_progress_and_the_time_limit_are_those_of_the_estimator() -> None:
    reports: list[dict[str, Any]] = []
    terms = TextFeatures(terms="auto")
    FlatSVC(text_features=terms, progress=lambda **report: reports.append(report)).fit(
        TEXTS, LABELS
    )
    assert reports[0]["stage"] == "tune"
    with pytest.raises(TimeoutError, match="the time limit ended"):
        FlatSVC(text_features=terms, time_limit_seconds=0.0).fit(TEXTS, LABELS)


def test_an_error_of_the_progress_function_ends_the_search() -> None:
    def fail(**report: Any) -> None:
        raise RuntimeError("no more")

    model = FlatSVC(text_features=TextFeatures(terms="auto"), progress=fail)
    with pytest.raises(RuntimeError, match="no more"):
        model.fit(TEXTS, LABELS)


def test_what_cannot_be_searched_is_refused() -> None:
    for fit in (TextFeatures(terms="auto").fit, TextFeatures(terms="auto").fit_transform):
        with pytest.raises(ValueError, match="terms is 'auto', but TextFeatures by itself"):
            fit(TEXTS, LABELS)
    for name in ("word_ngrams", "char_ngrams"):
        terms = TextFeatures(terms="auto").set_params(**{name: "2"})
        with pytest.raises(ValueError, match=f"which chooses {name}, but option {name} is given"):
            FlatSVC(text_features=terms).fit(TEXTS, LABELS)
    with pytest.raises(ValueError, match="terms is 'best', but must be"):
        FlatSVC(text_features=TextFeatures(terms="best")).fit(TEXTS, LABELS)
    with pytest.raises(ValueError, match="text_features is given, but X has no texts"):
        FlatSVC(text_features=TextFeatures(terms="auto")).fit([[1.0], [2.0]], ["a", "b"])
    terms = TextFeatures(terms="auto")
    with pytest.raises(ValueError, match="it has 15 rows, but must have 16"):
        FlatSVC(text_features=terms).fit(TEXTS, LABELS[:-1])
