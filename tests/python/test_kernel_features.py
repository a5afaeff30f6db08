"""Estimators with kernel features."""

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from margrove import shards
from margrove.classifiers import (
    HRSVC,
    HSVC,
    NHSVC,
    FlatLogisticRegression,
    FlatSVC,
    HRLogisticRegression,
    KernelRidgeClassifier,
    LabelTreesSVC,
    LevelSVC,
    SharedSVC,
    StructuredSVC,
    TopDownSVC,
    load,
)
from numpy.typing import NDArray
from sklearn.base import clone

ROOT = Path(__file__).resolve().parents[2]
LINEAR = [FlatSVC, FlatLogisticRegression, HSVC, NHSVC, SharedSVC, HRSVC, HRLogisticRegression]
CHOICES = ["nystroem:60", "fourier:300"]


def rings(num_rows: int, seed: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Three rings around the origin."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, num_rows)
    angle = rng.uniform(0, 2 * np.pi, num_rows)
    radius = 1 + y + rng.uniform(-0.25, 0.25, num_rows)
    X = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return X.astype(np.float32), y


@pytest.mark.parametrize("estimator", [*LINEAR, TopDownSVC, LabelTreesSVC, LevelSVC])
@pytest.mark.parametrize("choice", CHOICES)
def test_linear_estimators_learn_what_is_not_linear(estimator: type, choice: str) -> None:
    X, y = rings(300, 1)
    test_X, test_y = rings(150, 2)
    plain = estimator(C=10, scale="none")
    assert plain.fit(X, y).score(test_X, test_y) < 0.65
    model = clone(plain).set_params(kernel_features=choice, kernel_gamma=1.0).fit(X, y)
    assert model.n_features_in_ == 2
    assert model.score(test_X, test_y) > 0.9


@pytest.mark.parametrize("choice", CHOICES)
def test_the_program_makes_the_same_model(choice: str, tmp_path: Path) -> None:
    X, y = rings(200, 1)
    lines = (f"{label} 1:{a!s} 2:{b!s}\n" for label, (a, b) in zip(y, X, strict=True))
    (tmp_path / "train").write_text("".join(lines))
    program = os.environ.get("MARGROVE", str(ROOT / "build" / "margrove"))
    subprocess.run(
        [program, "train", "--method", "flat-svm", "--quiet", "--C", "3", "--seed", "5",
         "--kernel-features", choice, "train", "model"],
        cwd=tmp_path, check=True, capture_output=True,
    )  # fmt: skip
    model = FlatSVC(C=3, seed=5, kernel_features=choice, threads=2).fit(X, y)
    read = load(str(tmp_path / "model"))
    scores = model.decision_function(X)
    np.testing.assert_array_equal(read.decision_function(X), scores)
    model.save(str(tmp_path / "own"))
    np.testing.assert_array_equal(load(str(tmp_path / "own")).decision_function(X), scores)


def test_partial_fit_keeps_the_features_of_its_first_rows() -> None:
    X, y = rings(300, 1)
    model = HSVC(solver="sgd", kernel_features="nystroem:50", scale="none", kernel_gamma=1.0)
    for _ in range(3):
        for part in np.array_split(np.arange(300), 3):
            model.partial_fit(X[part], y[part], classes=[0, 1, 2])
    assert model.score(X, y) > 0.8


def test_shards_give_the_same_model() -> None:
    X, y = rings(200, 1)
    whole = FlatSVC(kernel_features="nystroem:40").fit(X, y)
    parts = shards.fit(FlatSVC(kernel_features="nystroem:40"), X, y, shards=2)
    np.testing.assert_array_equal(whole.decision_function(X), parts.decision_function(X))


def test_weights_are_not_those_of_columns() -> None:
    X, y = rings(60, 1)
    model = FlatSVC(kernel_features="fourier:20").fit(X, y)
    message = r"the model has weights of kernel features \(option kernel_features fourier:20\)"
    with pytest.raises(AttributeError, match=message):
        _ = model.coef_
    with pytest.raises(ValueError, match=message):
        model.explain(X[:1])
    (explanation,) = model.explain(X[:1], num_features=0)
    assert explanation.label == model.predict(X[:1])[0]


@pytest.mark.parametrize("choice", CHOICES)
def test_loaded_estimators_have_the_parameters(choice: str, tmp_path: Path) -> None:
    X, y = rings(200, 1)
    for given in (0.0, 0.5):
        model = FlatSVC(seed=3, kernel_features=choice, kernel_gamma=given).fit(X, y)
        model.save(tmp_path / "model")
        read = load(tmp_path / "model")
        assert read.kernel_features == choice
        assert model.model_.kernel_features == (choice, read.kernel_gamma)
        assert given in (0, read.kernel_gamma)
        again = clone(read).fit(X, y)
        np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    FlatSVC().fit(X, y).save(tmp_path / "plain")
    read = load(tmp_path / "plain")
    assert (read.kernel_features, read.kernel_gamma) == ("none", 0.0)


def test_fewer_rows_than_landmarks_are_all_landmarks(tmp_path: Path) -> None:
    X, y = rings(30, 1)
    FlatSVC(kernel_features="nystroem:60").fit(X, y).save(tmp_path / "model")
    assert load(tmp_path / "model").kernel_features == "nystroem:30"


@pytest.mark.parametrize("choice", CHOICES)
def test_a_time_limit_ends_the_making_of_features(choice: str) -> None:
    X, y = rings(200, 1)
    message = "X: the time limit ended the preparation of the rows; nothing is trained"
    with pytest.raises(TimeoutError, match=message):
        FlatSVC(kernel_features=choice, time_limit_seconds=1e-9).fit(X, y)


@pytest.mark.parametrize("choice", CHOICES)
def test_ctrl_c_ends_the_making_of_features(choice: str) -> None:
    X, y = rings(200, 1)
    stages = []

    def press(*, stage: str, **_: Any) -> None:
        stages.append(stage)
        if len(stages) == 2:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        FlatSVC(kernel_features=choice, progress=press).fit(X, y)
    assert stages == ["kernel features"] * 2


def test_a_callback_that_says_no_ends_the_making_of_features() -> None:
    X, y = rings(200, 1)
    model = FlatSVC(kernel_features="nystroem:60", progress=lambda **_: False)
    with pytest.raises(TimeoutError, match="an interruption ended the preparation of the rows"):
        model.fit(X, y)


def test_they_are_not_exported(tmp_path: Path) -> None:
    X, y = rings(60, 1)
    model = FlatSVC(kernel_features="fourier:20").fit(X, y)
    has = r"the model has weights of kernel features \(option kernel_features fourier:20\)"
    with pytest.raises(ValueError, match=f"to_onnx: {has}"):
        model.to_onnx()
    with pytest.raises(ValueError, match=f"export to LIBLINEAR: {has}"):
        model.export_liblinear(tmp_path / "exported")


def test_a_compressed_copy_keeps_them(tmp_path: Path) -> None:
    X, y = rings(200, 1)
    model = FlatSVC(C=10, scale="none", kernel_features="nystroem:60", kernel_gamma=1.0).fit(X, y)
    smaller = model.compressed()
    assert smaller.score(X, y) > 0.9
    smaller.save(tmp_path / "smaller")
    read = load(tmp_path / "smaller")
    np.testing.assert_array_equal(read.decision_function(X), smaller.decision_function(X))


def test_what_is_wrong_is_named() -> None:
    X, y = rings(60, 1)
    with pytest.raises(ValueError, match="must be none, nystroem:N or fourier:N"):
        FlatSVC(kernel_features="rbf").fit(X, y)
    with pytest.raises(ValueError, match="the number of features must be from 1 to 65536"):
        FlatSVC(kernel_features="nystroem:0").fit(X, y)
    with pytest.raises(ValueError, match="option kernel_gamma is 1, but kernel_features is none"):
        FlatSVC(kernel_gamma=1.0).fit(X, y)
    with pytest.raises(ValueError, match="option kernel_gamma is -1, but must be >= 0"):
        FlatSVC(kernel_features="nystroem:5", kernel_gamma=-1.0).fit(X, y)
    with pytest.raises(ValueError, match="kernel_features is fourier:60000, but training would"):
        FlatSVC(kernel_features="fourier:60000", memory_limit=0.01).fit(X, y)
    for estimator in (KernelRidgeClassifier, StructuredSVC):
        assert "kernel_features" not in estimator().get_params()
