"""AutoClassifier: the choice of method and options."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from margrove import AutoClassifier, load
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

ROOT = Path(__file__).resolve().parents[2]
LIMITED = """
import warnings
import numpy as np, scipy.sparse as sp
from margrove import AutoClassifier
random = np.random.default_rng(0)
labels = random.integers(100, size=4000)
columns = np.column_stack([labels, random.integers(100, 5000, size=(4000, 20))])
X = sp.csr_matrix((np.ones(columns.size), columns.ravel(), np.arange(4001) * 21), (4000, 5000))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    chosen = AutoClassifier(time_limit_seconds=30).fit(X, labels)
for warning in caught:
    print(warning.message)
print(chosen.candidates_[0]["verdict"])
"""
EDGES = [("animal", "dog"), ("animal", "cat"), ("plant", "oak"), ("plant", "rose")]
LEAVES = np.array(["cat", "dog", "oak", "rose"])


def rows(count: int = 80, seed: int = 0, noise: float = 0.3) -> tuple[NDArray[Any], NDArray[Any]]:
    """Rows whose label can be read off two columns."""
    random = np.random.default_rng(seed)
    labels = random.integers(4, size=count)
    X = np.column_stack([labels // 2 * 2 - 1, labels % 2 * 2 - 1]) + random.normal(
        scale=noise, size=(count, 2)
    )
    return X, LEAVES[labels]


def products(count: int, seed: int) -> tuple[NDArray[Any], NDArray[Any]]:
    random = np.random.default_rng(seed)
    X = random.choice([-1.0, 1.0], size=(count, 2))
    return X + random.normal(scale=0.2, size=X.shape), np.where(X[:, 0] == X[:, 1], "same", "other")


@parametrize_with_checks([AutoClassifier()])  # type: ignore[untyped-decorator]
def test_passes_the_checks_of_scikit_learn(estimator: AutoClassifier, check: Any) -> None:
    check(estimator)


def test_chooses_the_simplest_of_equals_and_explains() -> None:
    X, y = rows()
    chosen = AutoClassifier(hierarchy=EDGES).fit(X, y)
    assert chosen.score(X, y) > 0.95
    assert chosen.metric_ == "accuracy"
    first = chosen.candidates_[0]
    assert first["method"] == "flat-svm"
    assert first["verdict"] == "chosen"
    assert set(first["options"]) == {"loss", "C"}
    assert chosen.reason_.startswith("flat-svm --loss squared-hinge --C")
    assert {"hr-lr", "nhsvm", "top-down-svm", "level-svm"} <= {
        row["method"] for row in chosen.candidates_
    }
    for row in chosen.candidates_:
        assert row["rows"] == 64
        assert row["seconds"] > 0
        assert row["trials"] > 0
        assert row["standard_error"] >= 0


def test_counts_seconds_of_the_processor_if_asked_to() -> None:
    X, y = products(200, 1)
    chosen = AutoClassifier(time="cpu", time_limit_seconds=1000).fit(X, y)
    assert chosen.candidates_[0]["method"] in ("kernel-ridge", "average-mkl")
    with pytest.raises(ValueError, match="option time is 'sun', but must be one of wall, cpu"):
        AutoClassifier(time="sun").fit(X, y)


def test_chooses_a_kernel_for_a_product_of_signs() -> None:
    X, y = products(200, 1)
    chosen = AutoClassifier(random_state=5).fit(X, y)
    assert chosen.candidates_[0]["method"] in ("kernel-ridge", "average-mkl")
    assert chosen.score(*products(100, 2)) > 0.9
    assert ("nhsvm", "it needs a hierarchy") in chosen.left_out_


def test_takes_sparse_rows_and_label_sets() -> None:
    X, y = rows()
    several = [{label, "rose"} if k % 3 == 0 else {label} for k, label in enumerate(y)]
    chosen = AutoClassifier(hierarchy=EDGES).fit(sp.csr_matrix(X), several)
    assert chosen.metric_ == "micro_f1"
    assert all(isinstance(labels, set) for labels in chosen.predict(sp.csr_matrix(X)))
    indicator = np.array([[label in labels for label in LEAVES] for labels in several], dtype=int)
    assert AutoClassifier(metric="hamming_loss").fit(X, indicator).predict(X).shape == (80, 4)


@pytest.mark.parametrize("metric", ["au_prc", "f_max", "ndcg_at_3"])
def test_chooses_by_metrics_of_scores(metric: str) -> None:
    X, y = rows(noise=0.8)
    several = [{label, "rose"} if k % 3 == 0 else {label} for k, label in enumerate(y)]
    chosen = AutoClassifier(metric=metric, hierarchy=EDGES).fit(X, several)
    assert chosen.metric_ == metric
    for row in chosen.candidates_:
        assert 0.3 < row["score"] <= 1
        assert row["standard_error"] >= 0


def test_the_random_state_decides_the_choice() -> None:
    X, y = rows(noise=0.8)

    def scores(random_state: Any, threads: int = 1) -> list[float]:
        chosen = AutoClassifier(random_state=random_state, threads=threads).fit(X, y)
        return [row["score"] for row in chosen.candidates_]

    assert scores(3) == scores(3, threads=2)
    assert scores(3) != scores(4)
    assert scores(np.random.RandomState(1)) == scores(np.random.RandomState(1))


def test_the_model_can_be_saved_and_loaded(tmp_path: Any) -> None:
    X, y = rows()
    chosen = AutoClassifier().fit(X, y)
    chosen.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert type(loaded).__name__ == "FlatSVC"
    assert (loaded.predict(X) == chosen.predict(X)).all()


def test_limits_and_errors() -> None:
    X, y = rows()
    with pytest.raises(ValueError, match="metric is 'joy', but must be one of accuracy"):
        AutoClassifier(metric="joy").fit(X, y)
    with pytest.raises(ValueError, match="scale is 'big'"):
        AutoClassifier(scale="big").fit(X, y)
    with pytest.raises(ValueError, match="no method can be tried"):
        AutoClassifier(memory_limit=1e-9).fit(X, y)
    with pytest.raises(TimeoutError, match="the time limit ended the search before any candidate"):
        AutoClassifier(time_limit_seconds=1e-9).fit(X, y)


def test_the_time_limit_is_held_with_a_warning() -> None:
    # By a clock that advances by calls, so that the limit comes after the same work everywhere.
    clock = ROOT / "build" / "tests" / "libcounted_clock.so"
    out = subprocess.check_output(
        [sys.executable, "-c", LIMITED], text=True,
        env=os.environ | {"LD_PRELOAD": str(clock), "COUNTED_CLOCK": "1000"},
    )  # fmt: skip
    assert "the time limit ended the search early" in out
    assert out.splitlines()[-1] == "chosen"


def test_a_callback_that_raises_ends_the_search() -> None:
    X, y = rows()

    def stop(**report: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        clone(AutoClassifier()).set_params(progress=stop).fit(X, y)
