"""Estimator.compressed(): smaller copies of linear models."""

import pickle
from pathlib import Path

import margrove as mg
import numpy as np
import pytest
from numpy.typing import NDArray


def rows(classes: int = 40, seed: int = 3) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    y = np.arange(400) % classes
    X = rng.normal(scale=0.3, size=(len(y), 60)).astype(np.float32)
    X[np.arange(len(y)), y] += 3
    return X, y


@pytest.mark.parametrize("precision", ["float32", "bfloat16", "int8"])
def test_answers_are_kept_and_the_file_is_smaller(tmp_path: Path, precision: str) -> None:
    X, y = rows()
    model = mg.FlatSVC().fit(X, y)
    smaller = model.compressed(keep=0.5, precision=precision)
    np.testing.assert_array_equal(smaller.predict(X), model.predict(X))
    model.save(tmp_path / "model")
    smaller.save(tmp_path / "small")
    assert (tmp_path / "small").stat().st_size < (tmp_path / "model").stat().st_size
    for again in (mg.load(tmp_path / "small"), pickle.loads(pickle.dumps(smaller))):
        np.testing.assert_array_equal(again.decision_function(X), smaller.decision_function(X))


def test_the_model_itself_stays(tmp_path: Path) -> None:
    X, y = rows()
    model = mg.FlatSVC().fit(X, y)
    before = model.decision_function(X)
    smaller = model.compressed(keep=0.1)
    np.testing.assert_array_equal(model.decision_function(X), before)
    assert np.isfinite(model.report_["relative_gap"])
    assert np.isnan(smaller.report_["relative_gap"])
    assert smaller.get_params() == model.get_params()


def test_intercepts_are_kept_as_they_are() -> None:
    X, y = rows()
    model = mg.FlatSVC(scale="none").fit(X, y)
    smaller = model.compressed(keep=0.01)
    at_zero = np.zeros((1, X.shape[1]), dtype=np.float32)
    np.testing.assert_array_equal(
        smaller.decision_function(at_zero), model.decision_function(at_zero)
    )


def test_hierarchical_models_can_be_compressed() -> None:
    X, y = rows(classes=4)
    hierarchy = [("left", 0), ("left", 1), ("right", 2), ("right", 3)]
    for estimator in (mg.NHSVC, mg.HRSVC, mg.TopDownSVC, mg.LabelTreesSVC, mg.LevelSVC):
        model = estimator(hierarchy=hierarchy).fit(X, y)
        smaller = model.compressed(keep=0.5)
        assert smaller.score(X, y) >= model.score(X, y) - 0.01


def test_wrong_arguments_and_models_without_weights_are_refused() -> None:
    X, y = rows(classes=4)
    model = mg.FlatSVC().fit(X, y)
    with pytest.raises(ValueError, match=r"option keep is 0, but must be in \(0, 1\]"):
        model.compressed(keep=0)
    with pytest.raises(ValueError, match="option precision is 'int4'"):
        model.compressed(precision="int4")
    kernels = mg.AverageMKLClassifier().fit(X, y)
    with pytest.raises(ValueError, match="cannot be compressed, but only linear models of rows"):
        kernels.compressed()
