"""Estimators within pipelines, searches and ensembles of scikit-learn, and errors in callbacks."""

import pickle
from typing import Any

import margrove
import numpy as np
import pytest
from margrove import (
    NHSVC,
    AverageMKLClassifier,
    FlatLogisticRegression,
    FlatSVC,
    LpMKLClassifier,
    SPNMKLClassifier,
    TextFeatures,
    load,
)
from sklearn.ensemble import VotingClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import LinearSVC

TEXTS = ["red rose", "blue bell", "red tulip", "blue iris"] * 10
FLOWERS = ["warm", "cold"] * 20


def rows() -> tuple[Any, Any]:
    random = np.random.default_rng(0)
    X = random.normal(size=(90, 4))
    return X, np.array(["a", "b", "c"])[(X[:, 0] > 0).astype(int) + (X[:, 1] > 0)]


def test_explanations_of_a_pipeline_name_the_features_of_its_steps() -> None:
    words = TextFeatures(word_ngrams="1", char_ngrams="none")
    pipeline = make_pipeline(words, FlatSVC()).fit(TEXTS, FLOWERS)
    strongest = margrove.explain(pipeline, TEXTS[:2], num_features=1)
    assert [each.label for each in strongest] == ["warm", "cold"]
    assert [each.nodes[0].strongest[0].feature for each in strongest] == ["red", "blue"]
    own = pipeline[-1].explain(pipeline[:-1].transform(TEXTS[:2]))
    assert [each.score for each in own] == [each.score for each in strongest]
    assert margrove.explain(pipeline, TEXTS[:1], "cold")[0].label == "cold"
    page = margrove.report(pipeline, TEXTS, FLOWERS)
    assert '"red"' in page
    assert '"tulip"' in page


def test_searches_and_steps_without_names_are_explained() -> None:
    X, y = rows()
    steps = make_pipeline(StandardScaler(), SelectKBest(k=2), FlatSVC())
    search = GridSearchCV(steps, {"flatsvc__C": [0.1, 1]}, cv=2).fit(X, y)
    names = {part.feature for part in margrove.explain(search, X[:1])[0].nodes[0].strongest}
    assert names == {"x0", "x1", "(intercept)"}
    plain = make_pipeline(FunctionTransformer(lambda x: x), FlatSVC()).fit(X, y)
    features = [part.feature for part in margrove.explain(plain, X[:1])[0].nodes[0].strongest]
    assert set(features) <= {0, 1, 2, 3, "(intercept)"}
    model = FlatSVC().fit(X, y)
    assert margrove.explain(model, X[:3]) == model.explain(X[:3])
    assert margrove.report(make_pipeline(model), X, y) == margrove.report(model, X, y)
    with pytest.raises(ValueError, match="model is LinearSVC, but must be a fitted estimator of"):
        margrove.explain(LinearSVC().fit(X, y), X)


@pytest.mark.parametrize("voting", ["hard", "soft"])
def test_ensembles_vote(voting: str) -> None:
    X, y = rows()
    members = [("a", FlatLogisticRegression()), ("b", FlatSVC(calibration=0.2))]
    assert VotingClassifier(members, voting=voting).fit(X, y).score(X, y) > 0.7


@pytest.mark.parametrize("error", [KeyError("enough"), KeyboardInterrupt()])
def test_an_error_in_a_callback_keeps_the_model_so_far(error: BaseException) -> None:
    calls: list[str] = []

    def fail_later(stage: str, **_: Any) -> None:
        calls.append(stage)
        if len(calls) > 3:
            raise error

    X, y = rows()
    hierarchy = [("r", "a"), ("r", "b"), ("r", "c")]
    machine = NHSVC(hierarchy=hierarchy, tolerance=1e-9, progress=fail_later, calibration=0.2)
    with pytest.raises(type(error)):
        machine.fit(X, y)
    assert len(calls) == 4
    assert machine.report_["stop"] == "interrupted"
    assert machine.predict(X).shape == y.shape
    pickle.loads(pickle.dumps(machine.set_params(progress=False)))
    with pytest.raises(AttributeError, match="gives no probabilities"):
        machine.set_params(calibration=0).predict_proba(X)


def test_a_callback_ends_the_calibration_by_false() -> None:
    X, y = rows()
    machine = FlatSVC(calibration=0.2, progress=lambda stage, **_: stage != "calibration")
    with pytest.warns(UserWarning, match="an interruption came before calibration, which the mo"):
        machine.fit(X, y)
    assert machine.calibration_ is None
    assert machine.report_["stop"] == "converged"


def test_a_callback_ends_the_training_by_false() -> None:
    X, y = rows()
    assert FlatSVC(progress=lambda **_: False).fit(X, y).report_["stop"] == "interrupted"
    assert FlatSVC(progress=lambda **_: None).fit(X, y).report_["stop"] == "converged"


def test_kernel_machines_give_probabilities_once_they_are_calibrated() -> None:
    X, y = rows()
    machine = LpMKLClassifier().fit(X[:60], y[:60]).calibrate(X[60:], y[60:])
    assert np.allclose(machine.predict_proba(X).sum(axis=1), 1)
    parts = {"left": X[:, :2], "right": X[:, 2:]}
    for kind in (SPNMKLClassifier, AverageMKLClassifier):
        held_out = kind(calibration=0.2).fit(parts, y)
        assert np.allclose(held_out.predict_proba(parts).sum(axis=1), 1)
        calibration = held_out.calibration_
        assert calibration is not None
        assert 0 < calibration.num_rows < len(y)
    members = [("lp", LpMKLClassifier(calibration=0.2)), ("flat", FlatLogisticRegression())]
    assert VotingClassifier(members, voting="soft").fit(X, y).score(X, y) > 0.7


def test_warm_start_of_a_loaded_model_starts_anew_and_says_so(tmp_path: Any) -> None:
    X, y = rows()
    FlatSVC().fit(X, y).save(tmp_path / "model")
    loaded = load(tmp_path / "model").set_params(warm_start=True)
    with pytest.warns(UserWarning, match="warm_start: the model keeps no state of its training"):
        loaded.fit(X, y)
    assert loaded.report_["passes"] == FlatSVC().fit(X, y).report_["passes"]


def test_a_call_of_the_class_restores_models_as_skops_does_it(tmp_path: Any) -> None:
    pipeline = make_pipeline(TextFeatures(), FlatSVC()).fit(TEXTS, FLOWERS)
    for fitted in (pipeline[0].fitted_, pipeline[1].model_):
        kind, arguments = fitted.__reduce__()
        assert kind is type(fitted)
        assert kind(*arguments).__reduce__() == fitted.__reduce__()
    copied = pickle.loads(pickle.dumps(pipeline))
    assert copied.predict(TEXTS).tolist() == FLOWERS
    with pytest.raises(margrove.ModelFileError):
        type(pipeline[1].model_)(b"no model")
    skops = pytest.importorskip("skops.io")
    stored = skops.dumps(pipeline)
    restored = skops.loads(stored, trusted=skops.get_untrusted_types(data=stored))
    assert restored.predict(TEXTS).tolist() == FLOWERS
