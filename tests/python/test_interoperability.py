"""Models in the formats of others."""

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from margrove import (
    HRSVC,
    HSVC,
    NHSVC,
    Classifier,
    FlatLogisticRegression,
    FlatSVC,
    load_liblinear,
)

PROGRAM = Path(__file__).resolve().parents[2] / "build" / "margrove"
EDGES = [(9, 8), (8, 0), (8, 1), (9, 2), (2, 3), (2, 4)]  # depths 1 and 2, rows at inner 2


def rows() -> tuple[sp.csr_array, Any]:
    random = np.random.default_rng(0)
    y = random.integers(0, 5, 150)
    X = random.normal(size=(150, 8)) * (random.random((150, 8)) < 0.5)
    X[np.arange(150), y] += 2
    return sp.csr_array(X.astype(np.float32)), y


@pytest.mark.parametrize(
    "model",
    [
        FlatSVC(),
        FlatLogisticRegression(bias=0),
        NHSVC(hierarchy=EDGES, bias=2),
        HSVC(hierarchy=EDGES),
        HRSVC(hierarchy=EDGES),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("texts", [False, True], ids=["numbers", "texts"])
def test_onnx_scores_and_labels_are_ours(model: Classifier, texts: bool) -> None:
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    X, y = rows()
    if texts:
        names = np.array(["zero", "one", "two", "three", "four"])
        y = names[y]
        if model.hierarchy is not None:
            name = {8: "eight", 9: "nine"} | dict(enumerate(names.tolist()))
            model.set_params(hierarchy=[(name[p], name[c]) for p, c in EDGES])
    model.fit(X, y)
    session = runtime.InferenceSession(
        model.to_onnx().SerializeToString(), providers=["CPUExecutionProvider"]
    )
    label, scores = session.run(["label", "scores"], {"X": X.toarray()})
    np.testing.assert_allclose(scores, model.decision_function(X), atol=1e-5, rtol=1e-5)
    assert (np.asarray(label) == model.predict(X)).all()


def test_onnx_says_what_it_cannot_hold() -> None:
    pytest.importorskip("onnx")
    X, y = rows()
    dag = NHSVC(hierarchy=[(8, 0), (8, 1), (7, 1), (7, 2), (7, 3), (7, 4)]).fit(X, y)
    with pytest.raises(ValueError, match="1 nodes have several parents, but must have one"):
        dag.to_onnx()
    several = FlatSVC().fit(X, [{0}, {1, 2}] * 75)
    with pytest.raises(ValueError, match="gives label sets, but must give each row one label"):
        several.to_onnx()


@pytest.mark.parametrize("classes", [5, 2])
@pytest.mark.parametrize("bias", [0.0, 1.0])
@pytest.mark.parametrize("made", [FlatSVC, FlatLogisticRegression])
def test_liblinear_reads_our_model_and_we_read_its(
    made: type[Classifier], bias: float, classes: int, tmp_path: Path
) -> None:
    liblinear = pytest.importorskip("liblinear.liblinearutil")
    X, y = rows()
    y = y % classes
    ours = made(bias=bias).fit(X, y)
    path = str(tmp_path / "ours")
    ours.export_liblinear(path)
    theirs = liblinear.load_model(path)
    cells = [
        dict(zip((X.indices[a:b] + 1).tolist(), X.data[a:b].tolist(), strict=True))
        for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)
    ]
    labels, _, values = liblinear.predict(y.tolist(), cells, theirs, "-q")
    np.testing.assert_array_equal(labels, ours.predict(X))
    scores = ours.decision_function(X)
    values = np.array(values)
    expected = values if classes > 2 else -values[:, 0] * (1 if theirs.label[0] == 0 else -1)
    np.testing.assert_allclose(scores, expected, atol=1e-5)

    trained = liblinear.train(y.tolist(), cells, f"-s 1 -q -B {bias if bias else -1}")
    liblinear.save_model(str(tmp_path / "theirs"), trained)
    labels, _, _ = liblinear.predict(y.tolist(), cells, trained, "-q")
    imported = load_liblinear(tmp_path / "theirs")
    assert isinstance(imported, FlatSVC)
    assert imported.loss == "squared-hinge"
    np.testing.assert_array_equal(imported.predict(X), labels)


def test_the_program_converts_both_ways(tmp_path: Path) -> None:
    X, y = rows()
    model = FlatSVC(scale="none").fit(X, y)  # scaled columns are folded into the weights
    model.save(tmp_path / "model")
    for verb, source, target in (("export", "model", "text"), ("import", "text", "again")):
        subprocess.run([PROGRAM, verb, source, target], cwd=tmp_path, check=True)
    again = FlatSVC.load(tmp_path / "again")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
