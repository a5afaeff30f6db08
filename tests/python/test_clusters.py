"""Estimators within the block of an engine: the bits of one machine, and messages for mistakes."""

import asyncio
import os
import re
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import margrove
import numpy as np
import pytest
from margrove import (
    HSVC,
    AutoClassifier,
    FlatLogisticRegression,
    FlatSVC,
    LevelSVC,
    SPNMKLClassifier,
    StructuredSVC,
    TextFeatures,
    TopDownSVC,
    shards,
)
from margrove.structured import StructuredSVM
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from test_shard_training import EDGES, several_labels, single_labels, state_of

TEXTS = ["red shoe", "blue hat", "green shoe", "red hat", "old blue shoe", "new hat"] * 2
KINDS = ["shoe", "hat", "shoe", "hat", "shoe", "hat"] * 2
CAN = (
    "flat-svm, flat-lr and level-svm with multiclass ovr (in a stack centroids at most), "
    "top-down-svm and label-trees can"
)


class Engine:
    """Trains in this process, and keeps the folders and their numbers of shards."""

    def __init__(self) -> None:
        self.folders: list[str] = []
        self.counts: list[int] = []

    def __call__(self, folder: str) -> None:
        self.folders.append(folder)
        self.counts.append(shards.count(folder))
        shards.train_here(folder)


def model_of(fitted: Any) -> bytes:
    """The bytes of a fitted estimator, or of the last step of a pipeline or search."""
    fitted = getattr(fitted, "best_estimator_", fitted)
    return state_of(fitted[-1] if hasattr(fitted, "steps") else fitted)


def frame() -> list[dict[str, Any]]:
    return [{"title": title, "price": float(k % 5)} for k, title in enumerate(TEXTS)]


TRAININGS: dict[str, tuple[Callable[[], Any], Callable[[], tuple[Any, Any]]]] = {
    "one-vs-rest": (FlatSVC, single_labels),
    "label sets": (lambda: FlatLogisticRegression(decision="scut"), several_labels),
    "top-down": (lambda: TopDownSVC(hierarchy=EDGES), single_labels),
    "levels": (lambda: LevelSVC(hierarchy=EDGES, multiclass="ovr"), single_labels),
    "pipeline": (lambda: make_pipeline(StandardScaler(), FlatSVC()), single_labels),
    "search": (lambda: GridSearchCV(FlatSVC(), {"C": [0.1, 1.0]}, cv=2), single_labels),
    "texts": (
        lambda: FlatSVC(text_features=TextFeatures(char_ngrams="3")),
        lambda: (TEXTS, KINDS),
    ),
    "frames": (lambda: FlatSVC(text="title", numeric="price"), lambda: (frame(), KINDS)),
}


@pytest.mark.parametrize("name", TRAININGS)
def test_every_fit_of_the_block_has_the_bits_of_one_machine(name: str) -> None:
    make, data = TRAININGS[name]
    X, y = data()
    plain = model_of(make().fit(X, y))
    engine = Engine()
    with margrove.cluster(engine, shards=3):
        fitted = make().fit(X, y)
    assert model_of(fitted) == plain
    trainings = 5 if name == "search" else 1
    assert len(set(engine.folders)) == len(engine.folders) == trainings
    assert not any(Path(folder).exists() for folder in engine.folders)


def test_row_weights_and_cross_validations_are_those_of_one_machine() -> None:
    X, y = single_labels()
    weights = np.linspace(0, 2, len(y))
    plain = state_of(FlatSVC().fit(X, y, sample_weight=weights))
    scores = cross_val_score(FlatSVC(), X, y, cv=2)
    engine = Engine()
    with margrove.cluster(engine):
        assert state_of(FlatSVC().fit(X, y, sample_weight=weights)) == plain
        np.testing.assert_array_equal(cross_val_score(FlatSVC(), X, y, cv=2), scores)
    assert len(engine.folders) == 3


def test_processes_train_the_bits_of_one_machine(tmp_path: Path) -> None:
    X, y = single_labels()
    plain = state_of(FlatSVC().fit(X, y))
    work = tmp_path / "deep" / "work"
    with margrove.cluster("processes", workers=2, shards=3, work=work):
        assert state_of(FlatSVC().fit(X, y)) == plain
        assert state_of(FlatSVC().fit(X, y)) == plain
    assert list(work.iterdir()) == []


def test_a_process_that_dies_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = single_labels()
    monkeypatch.setattr(shards, "_train_alone", kill_this_process)
    with (
        margrove.cluster("processes", workers=2, work=tmp_path),
        pytest.raises(OSError, match="a process died while it trained a shard"),
    ):
        FlatSVC().fit(X, y)
    assert list(tmp_path.iterdir()) == []


def kill_this_process(*_: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_an_inner_block_replaces_the_engine_until_its_end() -> None:
    X, y = single_labels()
    outer, inner = Engine(), Engine()
    with margrove.cluster(outer, shards=3):
        FlatSVC().fit(X, y)
        with margrove.cluster(inner, shards=2):
            FlatSVC().fit(X, y)
        FlatSVC().fit(X, y)
    FlatSVC().fit(X, y)
    assert (outer.counts, inner.counts) == ([3, 3], [2])


def test_an_error_ends_the_block_and_removes_its_folders(tmp_path: Path) -> None:
    X, y = single_labels()

    def dies(folder: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), margrove.cluster(dies, work=tmp_path):
        FlatSVC().fit(X, y)
    assert list(tmp_path.iterdir()) == []
    FlatSVC().fit(X, y)


def test_other_threads_and_tasks_keep_their_own_engine() -> None:
    X, y = single_labels()
    engines = [Engine(), Engine()]

    async def fit(engine: Engine, number: int) -> None:
        with margrove.cluster(engine, shards=number):
            await asyncio.sleep(0)  # the other one enters its block
            await asyncio.to_thread(FlatSVC().fit, X, y)

    async def both() -> None:
        await asyncio.gather(fit(engines[0], 2), fit(engines[1], 3))

    asyncio.run(both())
    assert [engine.counts for engine in engines] == [[2], [3]]
    with margrove.cluster(engines[0]):
        thread = threading.Thread(target=lambda: FlatSVC().fit(X, y))
        thread.start()
        thread.join()
    assert len(engines[0].counts) == 1


def sentences() -> tuple[Any, Any]:
    return [["the", "dog"], ["a", "cat"]], [["D", "N"], ["D", "N"]]


REFUSED: dict[str, tuple[Any, Callable[[], tuple[Any, Any]], str]] = {
    "hsvm": (HSVC(hierarchy=EDGES), single_labels, "method hsvm with these options"),
    "softmax": (FlatLogisticRegression(multiclass="softmax"), single_labels, "method flat-lr with"),
    "kernels": (SPNMKLClassifier(), single_labels, "method spn-mkl with these options"),
    "sentences": (StructuredSVC(), sentences, "method structured cannot be trained in shards"),
    "auto": (AutoClassifier(), single_labels, "AutoClassifier, which tries many methods, cannot"),
    "own models": (StructuredSVM(None), sentences, "StructuredSVM cannot be trained in shards"),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("door", ["block", "shards.fit"])
def test_other_methods_are_refused_with_those_that_can(name: str, door: str) -> None:
    estimator, data, message = REFUSED[name]
    X, y = data()
    engine = Engine()

    def fit_in_block() -> None:
        with margrove.cluster(engine):
            estimator.fit(X, y)

    fit = fit_in_block if door == "block" else lambda: shards.fit(estimator, X, y, engine=engine)
    with pytest.raises(ValueError, match=f"{re.escape(message)}.*{re.escape(CAN)}"):
        fit()
    assert engine.folders == []


@pytest.mark.parametrize(
    ("train", "what"),
    [
        (lambda X, y: FlatSVC(calibration=0.2).fit(X, y), "flat-svm: calibration"),
        (lambda X, y: FlatSVC(time_limit_seconds=9).fit(X, y), "flat-svm: time_limit_seconds"),
        (lambda X, y: FlatSVC(time_limit_seconds=0).fit(X, y), "flat-svm: time_limit_seconds"),
        (lambda X, y: FlatSVC(warm_start=True).fit(X, y), "flat-svm: warm_start"),
        (lambda X, y: HSVC(hierarchy=EDGES, solver="sgd").fit(X, y), "hsvm: solver=sgd"),
        (
            lambda X, y: HSVC(hierarchy=EDGES, solver="sgd").partial_fit(X, y, np.unique(y)),
            "hsvm: partial_fit",
        ),
    ],
    ids=["calibration", "time limit", "no time", "warm start", "sgd", "partial_fit"],
)
def test_what_shards_do_not_offer_is_refused(train: Callable[..., Any], what: str) -> None:
    X, y = single_labels()
    message = f"method {what} is given, but shards do not offer it"
    with margrove.cluster(Engine()), pytest.raises(ValueError, match=message):
        train(X, y)


@pytest.mark.parametrize(
    ("engine", "options", "message"),
    [
        ("dask", {}, "engine is 'dask', but must be 'ray', 'processes' or a function of a folder"),
        ("processes", {"shards": 0}, "shards is 0, but must be >= 1"),
        ("processes", {"workers": 0}, "workers is 0, but must be >= 1"),
        ("processes", {"threads": 0}, "threads is 0, but must be >= 1"),
        (
            "processes",
            {"address": "auto"},
            "address is no option of the engine 'processes', which has: shards, work, workers, "
            "threads",
        ),
        (Engine(), {"workers": 2}, "workers is no option of the engine that is a function"),
    ],
)
def test_wrong_options_are_refused_before_the_block(
    engine: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        margrove.cluster(engine, **options)


def test_a_file_is_no_folder_for_the_work(tmp_path: Path) -> None:
    file = tmp_path / "work"
    file.touch()
    with pytest.raises(FileExistsError, match="work"):
        margrove.cluster("processes", work=file)
