"""Rows with named columns, given to models that the program trained on CSV."""

import csv
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from margrove import FlatSVC, TextFeatures, load

PROGRAM = Path(__file__).resolve().parents[2] / "build" / "margrove"
COLUMNS = ["title", "price", "weight", "colour", "label"]


def items() -> list[dict[str, Any]]:
    """Garden tools and books, of which some lack a weight or a colour."""
    random = np.random.default_rng(7)
    rows: list[dict[str, Any]] = []
    for i in range(80):
        is_book = i % 2 == 0
        words = ["novel", "poems", "atlas"] if is_book else ["spade", "rake", "hose"]
        rows.append(
            {
                "title": f"{random.choice(words)} of the {random.choice(['old', 'new'])} kind",
                "price": float(np.float32(random.normal(10 if is_book else 30, 8))),
                "weight": None if i % 5 == 0 else int(random.integers(1, 9)),
                "colour": None if i % 7 == 0 else str(random.choice(["red", "green"])),
                "label": "book" if is_book else "tool",
            }
        )
    return rows


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    folder = tmp_path_factory.mktemp("records")
    rows = items()
    with open(folder / "rows.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    columns = ["--text-column", "title", "--text-weights", "title=2"]
    columns += ["--numeric-columns", "price,weight"]
    columns += ["--categorical-columns", "colour", "--label-column", "label"]
    train = [str(PROGRAM), "train", "--method", "flat-svm", *columns, "--C", "0.1"]
    subprocess.run(
        [*train, str(folder / "rows.csv"), str(folder / "model")], check=True, capture_output=True
    )
    return folder, rows


def scores_of_program(folder: Path) -> np.ndarray:
    command = [str(PROGRAM), "predict", "--scores", str(folder / "model"), str(folder / "rows.csv")]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return np.array([float(line.split()[0].split(":")[1]) for line in printed.splitlines()])


def as_frame(package: str) -> Callable[[dict[str, list[Any]]], Any]:
    def frame(columns: dict[str, list[Any]]) -> Any:
        module = pytest.importorskip(package)
        return module.table(columns) if package == "pyarrow" else module.DataFrame(columns)

    return frame


def as_mappings(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    rows = [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    return [{name: cell for name, cell in row.items() if cell is not None} for row in rows]


def as_lists(columns: dict[str, list[Any]]) -> list[list[Any]]:
    return [list(cells) for cells in zip(*(columns[name] for name in COLUMNS[:-1]), strict=True)]


FORMS: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "pandas": as_frame("pandas"),
    "nullable pandas": lambda columns: as_frame("pandas")(columns).convert_dtypes(),
    "polars": as_frame("polars"),
    "pyarrow": as_frame("pyarrow"),
    "mapping": lambda columns: columns,
    "mappings": as_mappings,
    "lists": as_lists,
    "array": lambda columns: np.array(as_lists(columns), dtype=object),
}


@pytest.mark.parametrize("form", FORMS)
def test_scores_are_those_of_the_program(form: str, trained: Any) -> None:
    folder, rows = trained
    model = load(folder / "model")
    X = FORMS[form]({name: [row[name] for row in rows] for name in reversed(COLUMNS)})
    difference = model.decision_function(X)
    positions = (difference > 0).astype(int)
    np.testing.assert_array_equal(model.predict(X), model.classes_[positions])
    _, best = model.top_k(X, 1)
    np.testing.assert_allclose(best[:, 0], scores_of_program(folder), rtol=1e-4)


def test_explanations_name_columns(trained: Any) -> None:
    folder, rows = trained
    explanation = load(folder / "model").explain(rows[:1])
    names = {part.feature for node in explanation[0].nodes for part in node.strongest}
    assert "price" in names
    assert names & {"weight is missing", "colour = red", "colour = green", "novel", "'atla'"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"price": "dear"},
            "column 'price' is 'dear' in row 1, but must be a number, or empty where",
        ),
        ({"price": 1e300}, "column 'price' is 1e.300 in row 1, but must fit a 32-bit float"),
        ({"colour": ["red", "green"]}, "column 'colour' has a list"),
    ],
)
def test_a_wrong_cell_is_named(change: dict[str, Any], message: str, trained: Any) -> None:
    folder, rows = trained
    wrong = [rows[0], rows[1] | change]
    with pytest.raises(ValueError, match=message):
        load(folder / "model").predict(wrong)


def test_missing_columns_and_wrong_shapes_are_named(trained: Any) -> None:
    folder, _ = trained
    model = load(folder / "model")
    with pytest.raises(ValueError, match="it has no column 'price', which the model needs"):
        model.predict({"title": ["novel"], "weight": [1], "colour": ["red"]})
    with pytest.raises(ValueError, match="row 0 has none of the columns 'title', 'price'"):
        model.predict([{"titel": "novel"}])
    with pytest.raises(
        ValueError, match="column 'title' is 'novel', but must have a value per row"
    ):
        model.predict({"title": "novel", "price": 3, "weight": 1, "colour": "red"})
    with pytest.raises(ValueError, match="X has a text per row, but must be a frame"):
        model.predict(["novel", "poems"])
    with pytest.raises(ValueError, match="X is str, but must be a frame"):
        model.predict("novel")
    with pytest.raises(ValueError, match=r"has the shape \(2, 3\), but must be a frame"):
        model.predict(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="row 1 has 3 values, but row 0 has 4"):
        model.predict([["novel", 1, 2, "red"], ["novel", 1, 2]])
    with pytest.raises(ValueError, match="column 'price' has 1 rows, but the columns before"):
        model.predict({"title": ["a", "b"], "price": [1], "weight": [1, 2], "colour": ["", ""]})
    with pytest.raises(ValueError, match="X is int, but must be a frame"):
        model.predict(3)


def test_a_model_of_one_text_column_takes_texts(trained: Any, tmp_path: Path) -> None:
    folder, rows = trained
    command = [str(PROGRAM), "train", "--method", "flat-svm", "--text-column", "title"]
    command += ["--label-column", "label", str(folder / "rows.csv"), str(tmp_path / "model")]
    subprocess.run(command, check=True, capture_output=True)
    model = load(tmp_path / "model")
    texts = [row["title"] for row in rows]
    assert model.predict(texts).tolist() == [row["label"] for row in rows]
    assert model.predict([]).tolist() == []


def test_values_may_be_missing_from_every_mapping(trained: Any) -> None:
    folder, _ = trained
    model = load(folder / "model")
    rows = [{"title": "novel"}, {"title": "rake", "price": None}]
    assert model.predict(rows).tolist() == model.predict([*rows, {"price": 1}])[:2].tolist()


def test_models_of_documents_take_a_column_but_not_one_text(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    (tmp_path / "rows").write_text("dog\tbarks\ncat\tpurrs\n" * 5, encoding="utf-8")
    command = [str(PROGRAM), "train", "--method", "flat-svm", "--text", str(tmp_path / "rows")]
    subprocess.run([*command, str(tmp_path / "model")], check=True, capture_output=True)
    model = load(tmp_path / "model")
    frame = pandas.DataFrame({"text": ["barks", "purrs"], "n": [1, 2]})
    assert model.predict(frame["text"]).tolist() == ["dog", "cat"]
    assert model.predict(frame[["text"]]).tolist() == ["dog", "cat"]
    assert TextFeatures(char_ngrams="none").fit_transform(frame[["text"]]).shape == (2, 2)
    with pytest.raises(ValueError, match="X is one text, but must be a list of texts"):
        model.predict("barks")
    with pytest.raises(ValueError, match="X has 2 columns, but must be a list of texts"):
        TextFeatures().fit(frame)
    with pytest.raises(ValueError, match=r"X\[1\] is 3, but must be a text"):
        model.predict(["barks", 3])


def test_names_of_features_are_those_of_the_file(
    trained: tuple[Path, list[dict[str, Any]]], tmp_path: Path
) -> None:
    model = load(trained[0] / "model")
    names = model.get_feature_names_out().tolist()
    assert len(names) == model.coef_.shape[1]
    assert {"novel", "price", "weight is missing", "colour = red"} <= set(names)
    (tmp_path / "texts").write_text("a\tred rose\nb\tblue bell\n" * 10)
    train = [str(PROGRAM), "train", "--method", "flat-svm", "--text", "--char-ngrams", "none"]
    subprocess.run(
        [*train, "--word-ngrams", "1", str(tmp_path / "texts"), str(tmp_path / "model")],
        check=True,
        capture_output=True,
    )
    texts = load(tmp_path / "model")
    assert sorted(texts.get_feature_names_out()) == ["bell", "blue", "red", "rose"]
    assert texts.coef_.shape == (1, 4)


def test_names_of_features_are_those_of_a_frame(tmp_path: Path) -> None:
    rows = np.eye(4, dtype=np.float32)
    fitted = FlatSVC().fit(rows, [0, 1, 0, 1])
    assert fitted.get_feature_names_out().tolist() == ["x0", "x1", "x2", "x3"]
    assert fitted.get_feature_names_out(list("abcd")).tolist() == ["a", "b", "c", "d"]
    with pytest.raises(ValueError, match="input_features should have length"):
        fitted.get_feature_names_out(["a"])
    fitted.save(tmp_path / "model")
    assert load(tmp_path / "model").get_feature_names_out().tolist() == ["x0", "x1", "x2", "x3"]
    pandas = pytest.importorskip("pandas")
    framed = FlatSVC().fit(pandas.DataFrame(rows, columns=list("abcd")), [0, 1, 0, 1])
    assert framed.get_feature_names_out().tolist() == ["a", "b", "c", "d"]
