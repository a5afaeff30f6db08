"""Columns of any scale: `scale` of the estimators."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from margrove import (
    HSVC,
    NHSVC,
    FlatLogisticRegression,
    FlatSVC,
    LevelSVC,
    LpMKLClassifier,
    TopDownSVC,
    load,
    load_liblinear,
)
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, RobustScaler, StandardScaler, normalize
from sklearn.svm import LinearSVC


def wine() -> tuple[Any, Any]:
    X, y = load_wine(return_X_y=True)
    return X.astype(np.float32), y


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("data", [load_wine, load_breast_cancer])
@pytest.mark.parametrize(
    ("own", "peer"),
    [(FlatSVC(), LinearSVC(random_state=0)), (FlatLogisticRegression(), LogisticRegression())],
    ids=["svm", "lr"],
)
def test_raw_columns_are_learned_as_well_as_by_scikit_learn(data: Any, own: Any, peer: Any) -> None:
    X, y = data(return_X_y=True)
    assert cross_val_score(own, X, y).mean() >= cross_val_score(peer, X, y).mean() - 0.005


@pytest.mark.parametrize(
    ("scale", "scaler"),
    [("standard", StandardScaler()), ("max-abs", MaxAbsScaler())],
    ids=["standard", "max-abs"],
)
def test_a_scale_is_what_scikit_learn_calls_so(scale: str, scaler: Any) -> None:
    X, y = wine()
    own = FlatSVC(scale=scale, tolerance=1e-6).fit(X, y).decision_function(X)
    piped = make_pipeline(scaler, FlatSVC(scale="none", tolerance=1e-6)).fit(X, y)
    np.testing.assert_allclose(own, piped.decision_function(X), atol=2e-3)


def test_robust_has_the_medians_of_scikit_learn() -> None:
    X, y = wine()
    own = FlatSVC(scale="robust").fit(X, y)
    pointers, columns, values = (own.model_.preprocess(csr(X))[k] for k in (1, 2, 3))
    scaled = sp.csr_array((values, columns, pointers), shape=X.shape).toarray()
    theirs = RobustScaler(unit_variance=True).fit_transform(X)
    np.testing.assert_allclose(scaled, theirs, atol=0.1)


def csr(X: Any) -> Any:
    from margrove._arrays import csr_of

    return csr_of(X)


def test_a_pipeline_with_a_scaler_is_the_same_as_before() -> None:
    X, y = wine()
    scaled = StandardScaler().fit_transform(X)
    assert FlatSVC().fit(scaled, y).model_.preprocessing == "none"
    assert FlatSVC().fit(X, y).model_.preprocessing == "scale"
    assert cross_val_score(make_pipeline(StandardScaler(), FlatSVC()), X, y).mean() > 0.95


def test_sparse_rows_stay_sparse() -> None:
    rows = sp.random_array((60, 40), density=0.1, rng=np.random.default_rng(0), format="csr")
    X = (1000 * rows).astype(np.float32)
    y = np.arange(60) % 3
    assert FlatSVC().fit(X, y).model_.preprocessing == "none"
    model = FlatSVC(scale="standard").fit(X, y)
    assert model.model_.preprocessing == "scale"
    assert len(model.model_.preprocess(csr(X))[2]) == X.nnz


def test_sparse_counts_whose_rows_differ_in_length_become_unit_rows() -> None:
    rng = np.random.default_rng(0)
    lengths = rng.uniform(0.05, 0.8, size=(60, 1))
    X = sp.csr_array((rng.random((60, 40)) < lengths).astype(np.float32))
    y = np.arange(60) % 3
    own = FlatSVC(tolerance=1e-6).fit(X, y)
    assert own.model_.preprocessing == "normalize"
    units = sp.csr_array(normalize(X))
    other = FlatSVC(scale="none", tolerance=1e-6).fit(units, y)
    np.testing.assert_allclose(own.decision_function(X), other.decision_function(units), atol=1e-4)


def test_an_unknown_scale_is_refused() -> None:
    X, y = wine()
    with pytest.raises(ValueError, match="option scale is 'log', but must be one of auto, none"):
        FlatSVC(scale="log").fit(X, y)


@pytest.mark.parametrize(
    "model", [FlatSVC(), FlatLogisticRegression(bias=0), NHSVC(), TopDownSVC(), LevelSVC()]
)
def test_explanations_add_up_in_the_units_of_the_columns(model: Any) -> None:
    X, y = wine()
    model.fit(X, y)
    for x, explanation in zip(X[:5], model.explain(X[:5], num_features=100), strict=True):
        for node in explanation.nodes:
            parts = node.strongest
            assert sum(part.score for part in parts) == pytest.approx(node.score, abs=1e-5)
            for part in parts:
                value = part.weight * (part.value - part.centre)
                assert part.score == pytest.approx(value, abs=1e-4)
                if part.feature != "(intercept)":
                    assert part.value == pytest.approx(x[part.feature], rel=1e-5)
    assert "(centre " in str(explanation)


def test_files_keep_the_scale_and_liblinear_takes_raw_columns(tmp_path: Any) -> None:
    X, y = wine()
    model = FlatSVC().fit(X, y)
    model.save(tmp_path / "model")
    scores = model.decision_function(X)
    assert (load(tmp_path / "model").decision_function(X) == scores).all()
    model.export_liblinear(tmp_path / "liblinear")
    imported = load_liblinear(tmp_path / "liblinear").decision_function(X)
    np.testing.assert_allclose(imported, scores, atol=1e-3)


def test_onnx_takes_raw_columns() -> None:
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    X, y = wine()
    model = FlatSVC().fit(X, y)
    session = runtime.InferenceSession(
        model.to_onnx().SerializeToString(), providers=["CPUExecutionProvider"]
    )
    _, scores = session.run(["label", "scores"], {"X": X})
    np.testing.assert_allclose(scores, model.decision_function(X), atol=1e-3)


def test_a_weight_is_a_repetition_of_raw_columns_too() -> None:
    X, y = wine()
    weights = np.arange(len(y)) % 3
    weighted = FlatSVC().fit(X, y, sample_weight=weights)
    repeated = FlatSVC().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert (weighted.decision_function(X) == repeated.decision_function(X)).all()


def test_partial_fit_keeps_the_scale_of_its_first_rows() -> None:
    X, y = wine()
    model = HSVC(solver="sgd").partial_fit(X[::2], y[::2], classes=[0, 1, 2])
    first = model.model_.preprocess(csr(X))[3]
    model.partial_fit(10 * X[1::2], y[1::2])
    assert (model.model_.preprocess(csr(X))[3] == first).all()


def test_kernels_of_a_network_see_the_columns_as_they_are() -> None:
    X, y = wine()
    assert LpMKLClassifier().fit(X, y).model_.preprocessing == "scale"
    network = {"kernels": {"rbf": {"type": "gaussian", "width": 100}}, "shape": "one-layer"}
    assert LpMKLClassifier(network=network).fit(X, y).model_.preprocessing == "none"
