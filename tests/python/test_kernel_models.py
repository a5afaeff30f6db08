"""Kernel features of a kernel that another estimator has learned."""

import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from margrove import shards
from margrove.classifiers import HSVC, NHSVC, FlatSVC, KernelRidgeClassifier, load
from margrove.kernel_classifiers import AverageMKLClassifier, SPNMKLClassifier
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV

ROOT = Path(__file__).resolve().parents[2]
NYSTROEM = "nystroem:60"


def rings(num_rows: int, seed: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Three rings around a point, in columns of different sizes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, num_rows)
    angle = rng.uniform(0, 2 * np.pi, num_rows)
    radius = 1 + y + rng.uniform(-0.25, 0.25, num_rows)
    X = np.stack([radius * np.cos(angle), 50 * radius * np.sin(angle) + 200], axis=1)
    return X.astype(np.float32), y


def run_program(folder: Path, *arguments: str) -> None:
    program = os.environ.get("MARGROVE", str(ROOT / "build" / "margrove"))
    subprocess.run([program, *arguments], cwd=folder, check=True, capture_output=True)


def learned(**options: Any) -> SPNMKLClassifier:
    return SPNMKLClassifier(**options).fit(*rings(100, 3))


@pytest.mark.parametrize("estimator", [FlatSVC, NHSVC])
def test_estimators_take_a_fitted_one_or_its_file(estimator: type, tmp_path: Path) -> None:
    X, y = rings(300, 1)
    test_X, test_y = rings(150, 2)
    kernel = learned()
    model = estimator(kernel_features=NYSTROEM, kernel_model=kernel).fit(X, y)
    assert model.score(test_X, test_y) > 0.9
    assert model.n_features_in_ == 2
    assert model.model_.kernel_features == (NYSTROEM, 0.0)
    kernel.save(tmp_path / "kernel")
    of_file = estimator(kernel_features=NYSTROEM, kernel_model=tmp_path / "kernel").fit(X, y)
    scores = model.decision_function(test_X)
    np.testing.assert_array_equal(of_file.decision_function(test_X), scores)
    (tmp_path / "kernel").unlink()
    model.save(tmp_path / "model")
    read = load(tmp_path / "model")
    np.testing.assert_array_equal(read.decision_function(test_X), scores)
    again = clone(read).fit(X, y)  # the file of the model has the kernel
    np.testing.assert_array_equal(again.decision_function(test_X), scores)


def test_products_of_features_are_values_of_the_kernel() -> None:
    X, y = rings(80, 1)
    kernel = learned()
    model = FlatSVC(kernel_features="nystroem:80", kernel_model=kernel).fit(X, y)
    phi = model._rows(X)[3].reshape(80, 80)
    np.testing.assert_allclose(phi @ phi.T, kernel.kernel_values(X), atol=2e-3)


def test_the_program_makes_the_same_model(tmp_path: Path) -> None:
    X, y = rings(200, 1)
    lines = (f"{label} 1:{a!s} 2:{b!s}\n" for label, (a, b) in zip(y, X, strict=True))
    (tmp_path / "train").write_text("".join(lines))
    kernel = learned()
    kernel.save(tmp_path / "kernel")
    run_program(tmp_path, "train", "--method", "flat-svm", "--quiet", "--C", "3",
                "--kernel-features", NYSTROEM, "--kernel-model", "kernel", "train",
                "model")  # fmt: skip
    model = FlatSVC(C=3, kernel_features=NYSTROEM, kernel_model=kernel, threads=2).fit(X, y)
    read = load(tmp_path / "model")
    np.testing.assert_array_equal(read.decision_function(X), model.decision_function(X))


def test_shards_partial_fit_weights_and_searches_take_one(tmp_path: Path) -> None:
    X, y = rings(300, 1)
    kernel = learned()
    plain = FlatSVC(kernel_features=NYSTROEM, kernel_model=kernel)
    whole = plain.fit(X, y).decision_function(X)
    parts = shards.fit(FlatSVC(kernel_features=NYSTROEM, kernel_model=kernel), X, y, shards=2)
    np.testing.assert_array_equal(parts.decision_function(X), whole)
    assert plain.fit(X, y, sample_weight=np.full(300, 2.0)).score(X, y) > 0.9
    step = HSVC(solver="sgd", kernel_features=NYSTROEM, kernel_model=kernel)
    for _ in range(3):
        for part in np.array_split(np.arange(300), 3):
            step.partial_fit(X[part], y[part], classes=[0, 1, 2])
    assert step.score(X, y) > 0.8
    kernel.save(tmp_path / "kernel")
    for given in (tmp_path / "kernel", FrozenEstimator(kernel)):
        estimator = FlatSVC(kernel_features=NYSTROEM, kernel_model=given)
        assert GridSearchCV(estimator, {"C": [1.0, 10.0]}, cv=2).fit(X, y).score(X, y) > 0.9


def test_texts_get_the_terms_of_the_model() -> None:
    texts = ["red apple", "red car", "green pear", "old bus"] * 3
    y = ["fruit", "car"] * 6
    kernel = AverageMKLClassifier().fit(texts, y)
    model = FlatSVC(kernel_features="nystroem:4", kernel_model=kernel).fit(texts, y)
    assert model.score(texts, y) == 1
    assert model.model_.vocabulary == kernel.model_.vocabulary


COLUMNS: dict[str, Any] = {"numeric": ["x", "z"], "categorical": "kind"}


def columns_of_rings(num_rows: int, seed: int) -> dict[str, Any]:
    X, y = rings(num_rows, seed)
    kinds = np.array(["odd", "even"])[y % 2]
    return {"y": y.astype(str), "x": X[:, 0], "z": X[:, 1], "kind": kinds}


@pytest.fixture
def of_columns(tmp_path: Path) -> Path:
    """The folder of a model of named columns, "kernel", and of the file "train" with more rows."""
    for name, columns in (("few", columns_of_rings(100, 3)), ("train", columns_of_rings(200, 1))):
        rows = zip(*columns.values(), strict=True)
        lines = ["y,x,z,kind", *(",".join(map(str, row)) for row in rows)]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
    run_program(tmp_path, "train", "--method", "spn-mkl", "--quiet", "--label-column", "y",
                "--numeric-columns", "x,z", "--categorical-columns", "kind", "few.csv",
                "kernel")  # fmt: skip
    return tmp_path


def test_columns_of_frames_make_the_model_of_the_program(of_columns: Path) -> None:
    run_program(of_columns, "train", "--method", "flat-svm", "--quiet", "--C", "3",
                "--kernel-features", NYSTROEM, "--kernel-model", "kernel", "--label-column", "y",
                "--numeric-columns", "x,z", "--categorical-columns", "kind", "train.csv",
                "model")  # fmt: skip
    frame = columns_of_rings(200, 1)
    y = pd.Series(frame.pop("y"), name="y")
    kernel = of_columns / "kernel"
    estimator = FlatSVC(C=3, kernel_features=NYSTROEM, kernel_model=kernel, **COLUMNS)
    scores = estimator.fit(pd.DataFrame(frame), y).decision_function(frame)
    read = load(of_columns / "model")
    np.testing.assert_array_equal(read.decision_function(frame), scores)
    assert estimator.model_.record_selection == read.model_.record_selection
    assert estimator.feature_names_in_.tolist() == ["x", "z", "kind"]
    parts = shards.fit(clone(estimator), frame, y, shards=2)
    np.testing.assert_array_equal(parts.decision_function(frame), scores)
    again = clone(read).fit(frame, y)  # with the kernel and the columns of the file
    assert again.score(frame, y) == estimator.score(frame, y) > 0.9


def test_paths_and_patterns_of_columns_are_those_of_the_estimator(of_columns: Path) -> None:
    frame = columns_of_rings(200, 1)
    frame["path"] = [f"all > {label}" for label in frame.pop("y")]
    estimator = NHSVC(
        path="path", kernel_features=NYSTROEM, kernel_model=of_columns / "kernel", numeric="*",
        categorical="kind",
    )  # fmt: skip
    weights = np.full(200, 2.0)
    estimator.fit(frame, sample_weight=weights).save(of_columns / "model")
    assert estimator.score(frame) > 0.9
    predicted = load(of_columns / "model").predict(frame)
    assert list(predicted) == list(estimator.predict(frame))


def test_wrong_columns_for_a_kernel_are_named(of_columns: Path) -> None:
    frame = columns_of_rings(60, 1)
    X, y = rings(60, 1)

    def refuses(message: str, rows: Any = frame, **parameters: Any) -> None:
        given: dict[str, Any] = {"kernel_model": of_columns / "kernel"} | parameters
        with pytest.raises(ValueError, match=message):
            FlatSVC(kernel_features=NYSTROEM, **given).fit(rows, y)

    name = r"kernel_model \S+/kernel"
    refuses(f"X: the rows have the columns x, kind, but {name} takes x, z, kind", numeric="x",
            categorical="kind")  # fmt: skip
    refuses(f"{name} takes the columns x, z, kind, which text, numeric, categorical and", X)
    refuses("vector_share is given, but rows get the preprocessing of", vector_share=0.5, **COLUMNS)
    refuses(f"option scale is given, but rows get the preprocessing of {name}", scale="none",
            **COLUMNS)  # fmt: skip
    refuses("X: the rows are records, but kernel_model SPNMKLClassifier takes", numeric="x",
            kernel_model=learned())  # fmt: skip


def test_what_is_wrong_is_named() -> None:
    X, y = rings(60, 1)
    kernel = learned()

    def refuses(message: str, rows: Any = X, **parameters: Any) -> None:
        given = {"kernel_features": "nystroem:5", "kernel_model": kernel} | parameters
        with pytest.raises(ValueError, match=message):
            FlatSVC(**given).fit(rows, y)

    wrong = "option kernel_model is SPNMKLClassifier, but kernel_features is "
    refuses(wrong + "none", kernel_features="none")
    refuses(wrong + "fourier:5; it must be nystroem:N", kernel_features="fourier:5")
    refuses("option kernel_gamma is 1, but is for a Gaussian kernel", kernel_gamma=1.0)
    own = "is given, but rows get the preprocessing of kernel_model SPNMKLClassifier"
    refuses(f"option scale {own}", scale="none")
    refuses(f"text_features {own}", text_features=object())
    refuses("X has 3 features, but kernel_model SPNMKLClassifier takes 2", np.ones((60, 3)))
    refuses("FlatSVC: its method is flat-svm, but option", kernel_model=FlatSVC().fit(X, y))
    refuses(
        "FlatSVC: its method is flat-svm with features of a Gaussian kernel",
        kernel_model=FlatSVC(kernel_features="nystroem:5").fit(X, y),
    )
    refuses("kernel_model is a SPNMKLClassifier that is not fitted", kernel_model=clone(kernel))
    refuses("kernel_model is of type int, but must be the path", kernel_model=3)
    K = kernel.kernel_values(X)
    given = AverageMKLClassifier(kernel="precomputed").fit(K, y)
    refuses("kernel values: kernel kernel is given", K, kernel_model=given)
    assert "kernel_model" not in KernelRidgeClassifier().get_params()
