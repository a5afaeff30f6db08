"""Columns of frames named by parameters of estimators, against the program and pipelines."""

import csv
import pickle
import subprocess
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import margrove
import numpy as np
import pytest
from margrove import NHSVC, AutoClassifier, FlatSVC, Hierarchy, StructuredSVC, TextFeatures, _core
from margrove import AverageMKLClassifier as AverageMKL
from margrove._records import texts_of
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

PROGRAM = Path(__file__).resolve().parents[2] / "build" / "margrove"


def products() -> dict[str, list[Any]]:
    """Goods of two departments, both of which have accessories; some lack a price or a colour."""
    random = np.random.default_rng(3)
    words = {
        ("Phones", "Accessories"): ["case", "strap", "holder"],
        ("Phones", "Chargers"): ["charger", "cable", "plug"],
        ("Books", "Accessories"): ["bookmark", "lamp", "cover"],
        ("Books", "A >= B"): ["novel", "poems", "atlas"],
    }
    rows = []
    for i in range(96):
        department, shelf = list(words)[i % 4]
        picked = random.choice(words[department, shelf], 2)
        rows.append(
            {
                "title": " ".join(picked) + (" für Bücher" if department == "Books" else ""),
                "price": None if i % 9 == 0 else float(i % 4 + random.integers(0, 3)),
                "size": float(np.float32(random.normal())),
                "colour": None if i % 7 == 0 else str(random.choice(["red", "green"])),
                "department": department,
                "shelf": shelf,
                "category": f"{department} > {shelf}",
            }
        )
    return {name: [row[name] for row in rows] for name in rows[0]}


def as_frame(package: str) -> Callable[[dict[str, list[Any]]], Any]:
    def frame(columns: dict[str, list[Any]]) -> Any:
        module = pytest.importorskip(package)
        return module.table(columns) if package == "pyarrow" else module.DataFrame(columns)

    return frame


def as_mappings(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


FORMS: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "pandas": as_frame("pandas"),
    "polars": as_frame("polars"),
    "pyarrow": as_frame("pyarrow"),
    "mapping": dict,
    "mappings": as_mappings,
}
FEATURES: dict[str, Any] = {"text": "title", "numeric": ["price", "size"], "categorical": "colour"}


@pytest.fixture(scope="module")
def by_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the products and the program's model of them."""
    folder = tmp_path_factory.mktemp("columns")
    columns = products()
    with open(folder / "rows.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    selection = ["--text-column", "title", "--numeric-columns", "price,size"]
    selection += ["--categorical-columns", "colour", "--path-columns", "department,shelf"]
    subprocess.run(
        [PROGRAM, "train", "--method", "nhsvm", *selection, "rows.csv", "model"],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    return folder


@pytest.mark.parametrize("form", FORMS)
def test_the_model_is_that_of_the_program(form: str, by_program: Path) -> None:
    X = FORMS[form](products())
    model = NHSVC(**FEATURES, path=["department", "shelf"]).fit(X)
    program = margrove.load(by_program / "model")
    assert model.classes_.tolist() == program.classes_.tolist()
    np.testing.assert_array_equal(model.decision_function(X), program.decision_function(X))
    assert model.feature_names_in_.tolist() == ["title", "price", "size", "colour"]
    assert model.n_features_in_ == program.n_features_in_ == 4
    assert model.get_feature_names_out().tolist() == program.get_feature_names_out().tolist()


def test_the_program_reads_files_with_the_columns_of_a_model(by_program: Path) -> None:
    model = NHSVC(**FEATURES, path=["department", "shelf"]).fit(products())
    model.save(by_program / "from_python.model")
    outputs = [
        subprocess.run(
            [PROGRAM, "predict", "--show", "name", "--quiet", name, "rows.csv"],
            cwd=by_program,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.split("\n")
        for name in ("model", "from_python.model")
    ]
    assert outputs[0] == outputs[1]
    assert outputs[0][0] == "Accessories"
    evaluated = subprocess.run(
        [PROGRAM, "evaluate", "--json", "--quiet", "from_python.model", "rows.csv"],
        cwd=by_program,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert f'"accuracy":{model.score(products())}' in evaluated


def test_equal_names_under_two_parents_are_two_classes_and_keep_the_form_of_the_paths() -> None:
    frame = FORMS["pandas"](products())
    truth = frame[["department", "shelf"]].to_numpy()
    levels = NHSVC(text="title", path=["department", "shelf"]).fit(frame)
    assert sorted(levels.classes_) == sorted(
        ["Books > A \\>= B", "Books > Accessories", "Phones > Accessories", "Phones > Chargers"]
    )
    np.testing.assert_array_equal(levels.predict(frame), truth)
    assert levels.predict_paths(frame[:1]) == [["Phones", "Accessories"]]
    texts = NHSVC(text="title", path="category").fit(frame)
    assert texts.predict(frame).tolist() == frame["category"].tolist()
    assert texts.predict_paths(frame[3:4]) == [["Books", "A >= B"]]
    assert levels.score(frame) == texts.score(frame) == 1.0
    # The labels may also be given to score, as texts or as they come back.
    only_titles = frame[["title"]]
    assert texts.score(only_titles, frame["category"]) == 1.0
    assert texts.score(only_titles, texts.predict(frame)) == 1.0
    assert levels.score(only_titles, truth) == 1.0


def test_another_separator_is_kept_in_model_files(tmp_path: Path) -> None:
    columns = products()
    columns["category"] = [text.replace(" > ", "/") for text in columns["category"]]
    model = NHSVC(text="title", path="category", separator="/").fit(columns)
    model.save(tmp_path / "model")
    loaded = margrove.load(tmp_path / "model")
    assert loaded.predict(columns).tolist() == columns["category"]
    assert loaded.get_params()["separator"] == "/"
    assert loaded.score(columns) == 1.0


def test_paths_are_found_in_a_given_hierarchy_by_their_names() -> None:
    columns = products()
    columns["leaf"] = [text.replace(" > ", "/") for text in columns["category"]]
    edges = sorted(set(zip(columns["department"], columns["leaf"], strict=True)))
    model = NHSVC(hierarchy=edges, text="title", path=["department", "leaf"]).fit(columns)
    assert isinstance(model.hierarchy_, Hierarchy)
    assert sorted(model.classes_) == sorted(leaf for _, leaf in edges)
    assert model.predict(columns)[0].tolist() == ["Phones", "Phones/Accessories"]


def test_one_column_of_text_is_what_a_pipeline_makes_of_it() -> None:
    columns = products()
    options: dict[str, Any] = {"word_ngrams": "1-2", "stop_words": ["für"]}
    named = FlatSVC(text="title", text_features=TextFeatures(**options))
    named.fit(columns, columns["department"])
    steps = make_pipeline(TextFeatures(**options), FlatSVC())
    steps.fit(columns["title"], columns["department"])
    np.testing.assert_array_equal(
        named.decision_function(columns["title"]), steps.decision_function(columns["title"])
    )
    assert "für" not in named.get_feature_names_out()


def test_searches_reach_columns_and_options_of_terms() -> None:
    frame = FORMS["pandas"](products())
    assert cross_val_score(NHSVC(text="title", path="category"), frame, cv=3).min() > 0.9
    model = FlatSVC(text="title", text_features=TextFeatures())
    grid = {"text_features__char_ngrams": ["none", "3"], "numeric": [None, "*"]}
    frame = frame[["title", "price", "size", "department"]]
    search = GridSearchCV(model, grid, cv=2, error_score="raise")
    search.fit(frame.drop(columns="department"), frame["department"])
    assert search.best_score_ > 0.9
    clone(search.best_estimator_)


def test_patterns_stand_for_columns() -> None:
    columns = {name: products()[name] for name in ("title", "price", "size", "department")}
    model = FlatSVC(text="t*", numeric="*")
    with pytest.raises(ValueError, match="column 'department' is 'Phones' in row 0"):
        model.fit(columns, columns["department"])
    labels = columns.pop("department")
    model.fit(columns, labels)
    assert model.feature_names_in_.tolist() == ["title", "price", "size"]
    with pytest.raises(ValueError, match=r"X: no column is left for 'x\*' of option text_column"):
        FlatSVC(text="x*").fit(columns, labels)


def test_counted_columns_of_text_come_back_from_files(tmp_path: Path) -> None:
    columns = products()
    model = FlatSVC(text={"title": 3, "shelf": 1}).fit(columns, columns["department"])
    model.save(tmp_path / "model")
    loaded = margrove.load(tmp_path / "model")
    assert loaded.get_params()["text"] == {"title": 3, "shelf": 1}
    np.testing.assert_array_equal(
        loaded.decision_function(columns), model.decision_function(columns)
    )


def test_row_weights_stand_for_repetitions_of_rows() -> None:
    columns = products()
    weights = np.arange(96) % 3 + 1
    rows = np.repeat(np.arange(96), weights)
    repeated = {name: [cells[i] for i in rows] for name, cells in columns.items()}
    # Terms are counted in the rows as they are, so that only numbers and categories are equal.
    model = FlatSVC(numeric="size", categorical="colour")
    weighted = clone(model).fit(columns, columns["department"], weights)
    model.fit(repeated, repeated["department"])
    np.testing.assert_array_equal(
        weighted.decision_function(columns), model.decision_function(columns)
    )


def test_automatic_choice_takes_columns() -> None:
    columns = products()
    model = AutoClassifier(**FEATURES, path=["department", "shelf"]).fit(columns)
    assert model.score(columns) == 1.0
    assert model.predict(columns)[0].tolist() == ["Phones", "Accessories"]
    assert "atlas" in model.get_feature_names_out().tolist()


def test_fitted_estimators_hold_no_rows_and_can_be_pickled() -> None:
    columns = products()
    for model in (FlatSVC(**FEATURES), AutoClassifier(**FEATURES)):
        model.fit(columns, columns["department"])
        restored = pickle.loads(pickle.dumps(model))
        assert restored.predict(columns).tolist() == model.predict(columns).tolist()
        assert "_record_rows" not in vars(model)


def test_reports_and_calibration_find_the_labels_in_path_columns() -> None:
    columns = products()
    model = NHSVC(text="title", path="category").fit(columns)
    assert model.calibrate(columns).calibration_ is not None
    page = margrove.report(model, columns, None)
    assert "bookmark" in page


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (
            FlatSVC(path="category"),
            "path names the labels, but one of text, numeric, categorical and vec",
        ),
        (FlatSVC(text="heading"), "X: it has no column 'heading', which the model needs"),
        (FlatSVC(text=["title", "title"]), "text has 'title' twice"),
        (FlatSVC(text=3), "text is 3, but must be a name of a column or several"),
        (FlatSVC(numeric=[3]), "numeric has 3, but must have names of columns"),
        (FlatSVC(text={"title": 0}), "text: 'title' counts 0 times, but must count a whole"),
        (
            FlatSVC(text="title").set_params(text_features="1-2"),
            "text_features is '1-2', but must be a Te",
        ),
        (
            FlatSVC(numeric="size", text_features=TextFeatures()),
            "text_features is given, but text names no column",
        ),
        (
            StructuredSVC(text="title"),
            "text, numeric, categorical, vector_columns and path are for ro",
        ),
    ],
)
def test_wrong_columns_are_named(estimator: Any, message: str) -> None:
    columns = products()
    labels = None if estimator.path else columns["department"]
    with pytest.raises(ValueError, match=message):
        estimator.fit(columns, labels)


def test_paths_and_labels_exclude_each_other() -> None:
    columns = products()
    model = NHSVC(text="title", path="category")
    with pytest.raises(ValueError, match=r"path names columns of X with the labels, but y is giv"):
        model.fit(columns, columns["category"])
    with pytest.raises(ValueError, match="requires y to be passed"):
        NHSVC(text="title").fit(columns)
    with pytest.raises(ValueError, match="X: it has no column 'kind', which path names"):
        NHSVC(text="title", path="kind").fit(columns)
    columns["category"][5] = ""
    with pytest.raises(ValueError, match="y: row 5 is empty, but must be a path"):
        model.fit(columns)
    with pytest.raises(ValueError, match=r"separator is '', but must have a character"):
        clone(model).set_params(separator="").fit(columns)
    with pytest.raises(ValueError, match="inconsistent numbers"):
        FlatSVC(text="title").fit(columns, ["a", "b"])


def test_partial_fit_takes_no_columns() -> None:
    model = NHSVC(text="title", solver="sgd")
    with pytest.raises(
        ValueError, match="text, numeric, categorical, vector_columns and path are for fit"
    ):
        model.partial_fit(products(), ["a"], classes=["a"])


def test_kernel_estimators_say_that_they_take_arrays() -> None:
    assert "text" not in AverageMKL().get_params()


# Texts of Arrow ----------------------------------------------------------------------------------


def arrow_columns() -> list[tuple[str, Any, list[str]]]:
    """(what, the column, its texts): chunks, slices, missing texts, both widths of offsets."""
    pa = pytest.importorskip("pyarrow")
    texts = ["the cat", "", "die Müller", "a dog 日本", "x" * 300, "cat dog"]
    with_missing = [*texts[:2], None, *texts[3:]]
    known = [text or "" for text in with_missing]
    columns = []
    for name, kind in (("string", pa.string()), ("large_string", pa.large_string())):
        columns.append((name, pa.array(texts, kind), texts))
        columns.append((f"{name} missing", pa.array(with_missing, kind), known))
        columns.append((f"{name} slice", pa.array(with_missing, kind)[1:5], known[1:5]))
        chunks = pa.chunked_array([pa.array(texts[:2], kind), [], with_missing[2:]], kind)
        columns.append((f"{name} chunks", chunks, known))
    return columns


def test_texts_of_arrow_are_those_of_lists() -> None:
    for what, column, texts in arrow_columns():
        ours, theirs = TextFeatures(), TextFeatures()
        rows, expected = ours.fit_transform(column), theirs.fit_transform(texts)
        assert ours.fitted_.vocabulary == theirs.fitted_.vocabulary, what
        np.testing.assert_array_equal(rows.toarray(), expected.toarray(), what)


def test_texts_of_arrow_are_not_copied() -> None:
    pa = pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    text = "a sentence of some length about nothing " * 50
    column = pa.array([text] * 10_000, pa.large_string())  # 20 MB
    frames = [
        pa.table({"text": column}),
        pd.DataFrame({"text": pd.Series(column, dtype=pd.ArrowDtype(pa.large_string()))}),
    ]
    labels = [i % 2 for i in range(len(column))]
    for frame in frames:
        chunks: Any = texts_of(
            frame[["text"]] if hasattr(frame, "iloc") else frame.select(["text"])
        )
        assert chunks[0][2].ctypes.data == column.buffers()[2].address
        tracemalloc.start()
        words = TextFeatures(word_ngrams="1", char_ngrams="none")  # few columns, small results
        model = FlatSVC(text="text", text_features=words, max_passes=2).fit(frame, labels)
        model.predict(frame)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 4_000_000


def test_wrong_buffers_and_texts_are_refused() -> None:
    pa = pytest.importorskip("pyarrow")
    wrong = pa.StringArray.from_buffers(
        2, pa.py_buffer(np.array([0, 3, 5], np.int32)), pa.py_buffer(b"cat\xff\xfe")
    )
    with pytest.raises(ValueError, match="X: row 1 of a column of Arrow is not UTF-8"):
        TextFeatures().fit(wrong)
    offsets, text = np.array([0, 9, 3], np.int32), np.frombuffer(b"cat", np.uint8)
    numbers, vectors = np.empty((0, 2), np.float32), np.empty((2, 0), np.float32)
    with pytest.raises(ValueError, match="X: row 0 of a column of Arrow has bytes 0 to 9, but th"):
        _core.Records([(None, offsets, text, 0, 2)], numbers, [], vectors, [])
    with pytest.raises(ValueError, match="X: a column of Arrow has buffers that are too short for"):
        _core.Records([(None, offsets, text, 1, 2)], numbers, [], vectors, [])
    with pytest.raises(ValueError, match=r"X: row 1 is .*, but must be a text of Unicode"):
        TextFeatures().fit(["a", "\ud800"])
