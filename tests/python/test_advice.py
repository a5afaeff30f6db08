"""What estimators say to those who give them something else than they mean."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from margrove import HRSVC, NHSVC, AutoClassifier, FlatSVC, TextFeatures, load
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline

PROGRAM = Path(__file__).resolve().parents[2] / "build" / "margrove"


def test_unknown_labels_are_named_with_their_row_from_0_and_the_hierarchy(tmp_path: Path) -> None:
    X = np.eye(2)[[0, 0, 0, 1]]  # equal rows are merged before training
    y = ["cat", "cat", "cat", "oak"]
    message = "^y: row 3: label is 'oak', but must be a node of the hierarchy; add it there"
    for estimator in (NHSVC, HRSVC, AutoClassifier):
        with pytest.raises(ValueError, match=message):
            estimator(hierarchy=[("animal", "cat"), ("animal", "dog")]).fit(X, y)
        with pytest.raises(ValueError, match=r"y: row 1: label is 'oak'"):
            estimator(hierarchy={"cat": "animal"}).fit(X, [{"cat"}, {"cat", "oak"}, {"cat"}, set()])
    tree = tmp_path / "tree.txt"
    tree.write_text("animal cat\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"must be a node of the hierarchy \S*tree\.txt; add it"):
        NHSVC(hierarchy=tree).fit(X, y)


def test_columns_of_texts_are_sent_to_what_takes_them() -> None:
    pandas = pytest.importorskip("pandas")
    texts, y = ["red apple", "fast car"] * 3, ["fruit", "car"] * 3
    frame = pandas.DataFrame({"price": [1.0, 2.0] * 3, "title": texts})
    for estimator in (FlatSVC, AutoClassifier):
        name = estimator.__name__
        takes = rf"make_pipeline\(ColumnTransformer\(\[\.\.\.\]\), {name}\(\)\) takes columns"
        with pytest.raises(ValueError, match=f"X: column 'title' has texts, .*{takes}"):
            estimator().fit(frame, y)
        with pytest.raises(ValueError, match=f"X has texts, such as 'red apple', .*{takes}"):
            estimator().fit(frame.to_numpy(), y)
    model = FlatSVC().fit(np.eye(6), y)
    takes = r"fit\(texts, y\) takes texts"
    for X in (texts, np.array(texts), np.array(texts, dtype=object), pandas.Series(texts)):
        with pytest.raises(ValueError, match=f"X has texts, such as 'red apple', .*{takes}"):
            model.predict(X)
    with pytest.raises(ValueError, match="Expected 2D array"):
        model.predict([1.0, 2.0])
    # What the messages name does what they say.
    columns = ColumnTransformer([("title", TextFeatures(), "title")], remainder="passthrough")
    assert make_pipeline(columns, FlatSVC(C=10)).fit(frame, y).score(frame, y) == 1
    assert make_pipeline(TextFeatures(), FlatSVC(C=10)).fit(texts, y).score(texts, y) == 1


def test_a_row_without_any_column_of_the_model_is_named(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("title,price,kind\n" + "red apple,1,fruit\nfast car,9,car\n" * 3)
    model_path = tmp_path / "model"
    columns = "--text-column title --numeric-columns price --label-column kind --quiet"
    command: list[str | Path] = [
        PROGRAM,
        "train",
        "--method",
        "flat-svm",
        *columns.split(),
        table,
        model_path,
    ]
    subprocess.run(command, check=True, capture_output=True)
    model = load(model_path)
    message = "X: row 1 has none of the columns 'title', 'price', but must have at least one"
    with pytest.raises(ValueError, match=message):
        model.predict([{"title": "apple"}, {"titel": "car"}])
    assert model.predict([{"title": "apple"}, {"price": 9}]).tolist() == ["fruit", "car"]


def test_estimators_without_probabilities_say_how_to_get_them() -> None:
    X, y = np.eye(4), ["a", "b", "a", "b"]
    for name in ("predict_proba", "predict_node_proba"):
        model = FlatSVC().fit(X, y)
        assert not hasattr(model, name)
        with pytest.raises(AttributeError, match="this FlatSVC gives no probabilities: set calib"):
            getattr(model, name)(X)
        assert hasattr(FlatSVC(calibration=0.2), name)
        assert getattr(FlatSVC, name).__doc__
        assert getattr(FlatSVC(calibration=0.2), name).__name__ == name
