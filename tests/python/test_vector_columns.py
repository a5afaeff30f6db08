"""Vectors that rows already have, in columns of frames, through Python and the program."""

import csv
import json
import pickle
import re
import subprocess
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from margrove import HSVC, AutoClassifier, FlatSVC, TextFeatures, load
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

PROGRAM = Path(__file__).resolve().parents[2] / "build" / "margrove"
RANDOM = np.random.default_rng(5)
LABELS = ["lamp", "sofa", "shoe"] * 12
E = (RANDOM.normal(size=(36, 4)) + 3 * np.eye(3, 4)[[0, 1, 2] * 12]).astype(np.float32)
TITLES = [f"{label} n{k % 7}" for k, label in enumerate(LABELS)]
PRICES = [float(k % 5) for k in range(36)]
LISTS = [row.tolist() for row in E]
COLUMNS: dict[str, list[Any]] = {"title": TITLES, "price": PRICES, "e": LISTS}
WIDE: dict[str, Any] = {"title": TITLES, "price": PRICES}
WIDE |= {f"e{j}": E[:, j].tolist() for j in range(4)}


def frame_of(package: str) -> Callable[[dict[str, Any]], Any]:
    def frame(columns: dict[str, Any]) -> Any:
        module = pytest.importorskip(package)
        return module.table(columns) if package == "pyarrow" else module.DataFrame(columns)

    return frame


def mappings(columns: dict[str, Any]) -> list[dict[str, Any]]:
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


FORMS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "pandas": frame_of("pandas"),
    "arrays in pandas": lambda columns: frame_of("pandas")(columns | {"e": list(E)}),
    "polars": frame_of("polars"),
    "pyarrow": frame_of("pyarrow"),
    "mapping": dict,
    "a matrix in a mapping": lambda columns: columns | {"e": E},
    "mappings": mappings,
}


def program(*arguments: object, code: int = 0) -> str:
    done = subprocess.run(
        [PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


@pytest.fixture
def jsonl(tmp_path: Path) -> Path:
    file = tmp_path / "rows.jsonl"
    lines = (json.dumps(row) for row in mappings(COLUMNS | {"label": LABELS}))
    file.write_text("\n".join(lines) + "\n")
    return file


@pytest.fixture
def table(tmp_path: Path) -> Path:
    file = tmp_path / "rows.csv"
    with open(file, "w", newline="") as out:
        writer = csv.writer(out)
        columns = WIDE | {"label": LABELS}
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return file


@pytest.mark.parametrize("form", FORMS)
def test_all_forms_of_rows_give_the_same_model(form: str) -> None:
    expected = FlatSVC(text="title", vector_columns="e").fit(COLUMNS, LABELS)
    X = FORMS[form](COLUMNS)
    model = FlatSVC(text="title", vector_columns="e").fit(X, LABELS)
    assert model.model_.__reduce__()[1] == expected.model_.__reduce__()[1]
    assert list(model.predict(X)) == LABELS
    assert list(model.feature_names_in_) == ["title", "e"]
    np.testing.assert_array_equal(model.decision_function(X), expected.decision_function(COLUMNS))


def test_columns_by_pattern_are_those_of_a_list(jsonl: Path, table: Path, tmp_path: Path) -> None:
    of_list = FlatSVC(text="title", numeric="price", vector_columns="e").fit(COLUMNS, LABELS)
    by_pattern = FlatSVC(text="title", numeric="*", vector_columns="e*").fit(WIDE, LABELS)
    assert list(by_pattern.feature_names_in_) == ["title", "price", "e0", "e1", "e2", "e3"]
    expected = of_list.decision_function(COLUMNS)
    np.testing.assert_array_equal(by_pattern.decision_function(WIDE), expected)
    options = ["--method", "flat-svm", "--text-column", "title", "--numeric-columns", "price"]
    options += ["--label-column", "label", "--vector-columns"]
    model = tmp_path / "model"
    for file, columns, X in ((jsonl, "e", COLUMNS), (table, "e*", WIDE)):
        program("train", *options, columns, file, model)
        np.testing.assert_array_equal(load(model).decision_function(X), expected)
        assert program("predict", model, file).split() == LABELS


def test_rows_are_terms_and_a_vector_of_the_given_share() -> None:
    model = FlatSVC(text="title", vector_columns="e", vector_share=0.36).fit(COLUMNS, LABELS)
    width, pointers, columns, values = model._rows(COLUMNS)
    assert width == model.model_.num_features
    for i, (begin, end) in enumerate(pairwise(pointers)):
        assert list(columns[end - 4 : end]) == [width - 4, width - 3, width - 2, width - 1]
        block = values[end - 4 : end]
        np.testing.assert_allclose(block, 0.6 * E[i] / np.linalg.norm(E[i]), rtol=1e-5)
        np.testing.assert_allclose(np.linalg.norm(values[begin : end - 4]), 0.8, rtol=1e-5)


def test_a_file_keeps_the_columns_and_the_share(tmp_path: Path) -> None:
    made = FlatSVC(text="title", vector_columns="e", vector_share=0.5).fit(COLUMNS, LABELS)
    file = tmp_path / "model"
    made.save(file)
    info = program("info", file)
    assert "format version             9\n" in info
    assert "e, 4 numbers, share 0.5" in info
    for again in (load(file), pickle.loads(pickle.dumps(made))):
        np.testing.assert_array_equal(
            again.decision_function(COLUMNS), made.decision_function(COLUMNS)
        )
        assert again.vector_columns in ("e", ["e"])
        assert again.vector_share == 0.5
        refitted = clone(again).fit(COLUMNS, LABELS)
        np.testing.assert_array_equal(
            refitted.decision_function(COLUMNS), made.decision_function(COLUMNS)
        )
    explanation = made.explain(COLUMNS)[0]
    assert any("vector of e" in str(part) for part in explanation.nodes[0].strongest), explanation


def test_a_search_chooses_the_share() -> None:
    model = FlatSVC(text="title", vector_columns="e")
    search = GridSearchCV(model, {"vector_share": [0.3, 0.7]}, cv=2, error_score="raise")
    search.fit(FORMS["pandas"](COLUMNS), LABELS)
    assert search.best_params_["vector_share"] in (0.3, 0.7)


def test_other_estimators_take_vectors() -> None:
    model = HSVC(hierarchy={"home": ["lamp", "sofa"], "wear": ["shoe"]}, vector_columns="e")
    assert model.fit(COLUMNS, LABELS).score(COLUMNS, LABELS) > 0.9
    chosen = AutoClassifier(text="title", vector_columns="e", vector_share=0.5)
    assert chosen.fit(COLUMNS, LABELS).score(COLUMNS, LABELS) > 0.9
    terms = TextFeatures(terms="auto")
    both = FlatSVC(text="title", text_features=terms, vector_columns="e").fit(COLUMNS, LABELS)
    assert list(both.predict(COLUMNS)) == LABELS


def test_rows_may_be_few_or_none() -> None:
    model = FlatSVC(text="title", vector_columns="e").fit(COLUMNS, LABELS)
    one = {name: cells[:1] for name, cells in COLUMNS.items()}
    assert list(model.predict(one)) == LABELS[:1]
    none: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    assert len(model.predict(none)) == 0


@pytest.mark.parametrize(
    ("parameters", "change", "message"),
    [
        ({}, {"e": [*LISTS[:-1], [1, 2]]},
         "X: column 'e' has 2 numbers in row 35, but must have 4 as in the first row"),
        ({}, {"e": [*LISTS[:-1], None]},
         "X: column 'e' has no number in row 35, but must have one or a list of them; vectors"),
        ({}, {"e": [*LISTS[:-1], []]}, "X: column 'e' has no number in row 35"),
        ({}, {"e": [*LISTS[:-1], [[1, 2, 3, 4]]]}, "X: column 'e' has no number in row 35"),
        ({}, {"e": [*LISTS[:-1], [1, 2, "x", 4]]},
         "X: column 'e' is 'x' in row 35, but must be a finite number; vectors have no gaps"),
        ({}, {"e": [*LISTS[:-1], "[1, 2]"]}, "X: column 'e' is '[1, 2]' in row 35, but must be a"),
        ({}, {"e": [*LISTS[:-1], [1, 2, float("nan"), 4]]},
         "X: column 'e' is nan in row 35, but must be a finite number"),
        ({}, {"e": np.full((36, 2), np.inf)}, "X: column 'e' is inf in row 0, but must be a fin"),
        ({}, {"e": [*LISTS[:-1], [1, 2, 1e39, 4]]},
         "X: column 'e' is 1e+39 in row 35, but must fit a 32-bit float"),
        ({"vector_columns": "x*"}, {}, "X: no column is left for 'x*' of option vector_columns"),
        ({"vector_columns": "f"}, {}, "X: it has no column 'f', which the model needs"),
        ({"vector_share": 1}, {}, "option vector_share is 1, but must be in (0, 1)"),
        ({"vector_columns": None, "vector_share": 0.5}, {}, "vector_share is given, but vector_"),
        ({"vector_columns": None, "text": None, "vector_share": 0.5}, {},
         "vector_share is given, but vector_columns names no column"),
        ({"text": None, "vector_share": 0.5}, {},
         "vector_share is given, but there are no features beside those of vector_columns"),
        ({"text_features": TextFeatures(vector_share=0.5)}, {},
         "vector_share of text_features is for its own vectors"),
        ({"text_features": TextFeatures(vectors="minilm")}, {},
         "options vectors and vector_columns are both given, but a row has one vector"),
    ],
)  # fmt: skip
def test_wrong_vectors_are_named(
    parameters: dict[str, Any], change: dict[str, Any], message: str
) -> None:
    model = FlatSVC(text="title", vector_columns="e").set_params(**parameters)
    with pytest.raises(ValueError, match=re.escape(message)):
        model.fit(COLUMNS | change, LABELS)


def test_wrong_rows_of_predictions_are_named() -> None:
    model = FlatSVC(text="title", vector_columns="e").fit(COLUMNS, LABELS)
    with pytest.raises(ValueError, match="X: it has no column 'e', which the model needs"):
        model.predict({"title": TITLES})
    with pytest.raises(ValueError, match="column 'e' has 2 numbers, but must have 4 as in trai"):
        model.predict({"title": ["x"], "e": [[1, 2]]})


ROW = {"title": "x", "price": 1, "label": "lamp"}


@pytest.mark.parametrize(
    ("row", "options", "message", "code"),
    [
        ({"e": [1, 2]}, [], ":37:51: column 'e' has 2 numbers, but must have 4 as in the first", 3),
        ({}, [], ":37:1: column 'e' has no number, but must have one or a list of them; vect", 3),
        ({"e": [1, None, 2, 3]}, [], "column 'e' is 'null', but must be a finite number; vec", 3),
        (None, ["--vectors", "minilm"], "options vectors and vector-columns are both given", 2),
        (None, ["--vector-share", "1"], "option vector-share is 1, but must be in (0, 1)", 2),
    ],
)
def test_the_program_names_wrong_vectors(
    jsonl: Path, tmp_path: Path, row: Any, options: list[str], message: str, code: int
) -> None:
    if row is not None:
        with jsonl.open("a") as out:
            print(json.dumps(ROW | row), file=out)
    command = ["train", "--method", "flat-svm", "--text-column", "title", "--label-column", "label"]
    command += ["--vector-columns", "e", *options]
    assert message in program(*command, jsonl, tmp_path / "model", code=code)


def test_the_program_predicts_only_with_vectors(jsonl: Path, tmp_path: Path) -> None:
    model = tmp_path / "model"
    options = ["--method", "flat-svm", "--vector-columns", "e", "--label-column", "label"]
    message = program("train", *options, "--vector-share", "0.5", jsonl, model, code=2)
    assert "option vector-share is given, but there are no features beside the vectors" in message
    program("train", *options, jsonl, model)
    assert program("predict", model, jsonl).split() == load(model).predict(COLUMNS).tolist()
    rows = tmp_path / "new.jsonl"
    for row, message in (
        ({"e": [1, 2]}, "new.jsonl:2:8: column 'e' has 2 numbers, but must have 4 as in training"),
        ({"f": 1}, "new.jsonl:2:1: the record has none of the keys 'e'"),
    ):
        rows.write_text("".join(json.dumps(each) + "\n" for each in ({"e": LISTS[0]}, row)))
        assert message in program("predict", model, rows, code=3)
        out = program("predict", "--on-error", "skip", model, rows)
        assert len(out.split("\n")) == 3
    explained = program("explain", "--row", 1, model, jsonl)
    assert "vector of e = 1, weight" in explained


def test_a_grid_of_the_program_chooses_the_share(jsonl: Path, tmp_path: Path) -> None:
    options = ["--method", "flat-svm", "--text-column", "title", "--vector-columns", "e"]
    options += ["--label-column", "label", "--grid", "vector-share=0.3,0.6", "--folds", "2"]
    assert program("tune", *options, jsonl, tmp_path / "m").startswith(
        "vector_share\tmicro_f1\n0.3"
    )
