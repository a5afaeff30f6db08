"""Estimators that are given texts, one for each row."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from margrove import (
    NHSVC,
    AutoClassifier,
    FlatLogisticRegression,
    FlatSVC,
    SPNMKLClassifier,
    TextFeatures,
    load,
    shards,
)
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

PROGRAM = Path(__file__).resolve().parents[2] / "build" / "margrove"
SHOES_AND_HATS = ["red shoe", "blue hat", "green shoe", "red hat", "old blue shoe", "a new hat"]
# No text twice: estimators merge equal rows, and the program merges only those with weights.
TEXTS = [
    f"{text} in {place}" for place in ("york", "kent", "bath", "hull") for text in SHOES_AND_HATS
]
LABELS = ["shoe", "hat"] * 12


def series(texts: list[str]) -> Any:
    return pytest.importorskip("pandas").Series(texts)


def arrow(texts: list[str]) -> Any:
    return pytest.importorskip("pyarrow").array(texts)


def polars(texts: list[str]) -> Any:
    return pytest.importorskip("polars").Series(texts)


FORMS: dict[str, Callable[[list[str]], Any]] = {
    "list": list,
    "tuple": tuple,
    "array": np.array,
    "objects": lambda texts: np.array(texts, dtype=object),
    "pandas": series,
    "polars": polars,
    "pyarrow": arrow,
}


@pytest.mark.parametrize("form", FORMS)
def test_whatever_holds_them_the_model_is_that_of_the_program(form: str, tmp_path: Path) -> None:
    lines = (f"{label}\t{text}\n" for label, text in zip(LABELS, TEXTS, strict=True))
    (tmp_path / "rows").write_text("".join(lines), encoding="utf-8")
    options = ["--text", "--char-ngrams", "3-4", "--max-terms", "40", "--C", "2"]
    subprocess.run(
        [PROGRAM, "train", "--quiet", "--method", "flat-svm", *options, "rows", "model"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    terms = TextFeatures(char_ngrams=(3, 4), max_terms=40)
    model = FlatSVC(C=2, text_features=terms).fit(FORMS[form](TEXTS), LABELS)
    model.save(tmp_path / "ours")
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "model").read_bytes()
    again = load(tmp_path / "ours")
    X = FORMS[form](TEXTS)
    np.testing.assert_array_equal(model.decision_function(X), again.decision_function(X))
    assert model.score(X, LABELS) == again.score(X, LABELS) == 1
    assert model.n_features_in_ == again.n_features_in_ == 40


def test_answers_are_those_of_a_pipeline() -> None:
    alone = NHSVC().fit(TEXTS, LABELS)
    pipeline = make_pipeline(TextFeatures(), NHSVC(scale="none")).fit(TEXTS, LABELS)
    np.testing.assert_array_equal(alone.decision_function(TEXTS), pipeline.decision_function(TEXTS))
    strongest = alone.explain(["shoe"])[0].nodes[-1].strongest
    assert strongest[0].feature in {"shoe", "' sho'", "'shoe'", "'hoe '"}


def test_searches_shards_and_kernels_take_them(tmp_path: Path) -> None:
    grid = {"C": [0.1, 1], "text_features": [None, TextFeatures(char_ngrams="3")]}
    search = GridSearchCV(FlatSVC(), grid, cv=2).fit(TEXTS, LABELS)
    assert search.best_score_ == 1
    assert cross_val_score(FlatSVC(), TEXTS, LABELS, cv=2).min() == 1
    assert SPNMKLClassifier().fit(TEXTS, LABELS).score(TEXTS, LABELS) == 1
    parted = shards.fit(FlatLogisticRegression(), TEXTS, LABELS, shards=2, work=tmp_path)
    whole = FlatLogisticRegression().fit(TEXTS, LABELS)
    np.testing.assert_array_equal(parted.predict_proba(TEXTS), whole.predict_proba(TEXTS))


def test_the_automatic_choice_takes_them(tmp_path: Path) -> None:
    model = AutoClassifier(random_state=1).fit(TEXTS, LABELS)
    assert model.predict(["the shoe", "hats and a hat"]).tolist() == ["shoe", "hat"]
    model.save(tmp_path / "model")
    (tmp_path / "rows").write_text("\tthe shoe\n", encoding="utf-8")
    printed = subprocess.run(
        [PROGRAM, "predict", "--quiet", "model", "rows"],
        cwd=tmp_path, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    assert printed == "shoe\n"


@pytest.mark.parametrize(
    ("model", "X", "message"),
    [
        (FlatSVC(), [*TEXTS[:-1], "!"], "1 text has no term"),
        (FlatSVC(scale="common"), TEXTS, "option scale is common, which is for columns of numbers"),
        (
            FlatSVC().set_params(text_features="3"),
            TEXTS,
            "text_features is '3', but must be a TextFeatures",
        ),
        (
            FlatSVC(text_features=TextFeatures()),
            np.eye(24),
            "text_features is given, but X has no texts, and text names no column",
        ),
        (FlatSVC(), ["\udc80", *TEXTS[1:]], "must be a text of Unicode characters"),
        (FlatSVC(), ["!"] * 24, "none of the 24 texts has a term"),
        (FlatSVC(), TEXTS[1:], "inconsistent numbers of samples"),
    ],
)
def test_what_is_wrong_is_said(model: FlatSVC, X: Any, message: str) -> None:
    if "1 text" in message:
        with pytest.warns(UserWarning, match=message):
            model.fit(X, LABELS)
    else:
        with pytest.raises(ValueError, match=message):
            model.fit(X, LABELS)
