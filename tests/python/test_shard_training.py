"""Training in shards: the bits of one machine, reruns after a loss, and messages for mistakes."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from margrove import (
    HSVC,
    FlatLogisticRegression,
    FlatSVC,
    LabelTreesSVC,
    LevelSVC,
    TopDownSVC,
    shards,
)
from numpy.typing import NDArray

EDGES = [(f"n{k // 4}", f"leaf{k}") for k in range(40)]
LEVELS = [(f"n{k // 4}", k) for k in range(40)]


def single_labels(seed: int = 1) -> tuple[NDArray[np.float32], NDArray[Any]]:
    random = np.random.default_rng(seed)
    y = random.integers(0, 40, 400)
    X = random.normal(size=(400, 30)).astype(np.float32)
    X[np.arange(400), y % 30] += 2.0
    return X, np.array([f"leaf{k}" for k in y])


def several_labels(seed: int = 2) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    random = np.random.default_rng(seed)
    Y = (random.random((300, 40)) < 0.06).astype(np.int64)
    Y[:, 0] = 1
    X = (Y @ random.normal(size=(40, 25)) + random.normal(size=(300, 25))).astype(np.float32)
    return X, Y


def state_of(estimator: Any) -> bytes:
    state: bytes = estimator.model_.__reduce__()[1][0]
    return state


ESTIMATORS = {
    "hinge": (FlatSVC(), single_labels),
    "squared-hinge": (FlatSVC(loss="squared-hinge", tolerance=1e-5), single_labels),
    "logistic": (FlatLogisticRegression(C=3), single_labels),
    "hinge, tuned decision": (FlatSVC(), several_labels),
    "logistic, thresholds": (FlatLogisticRegression(decision="scut"), several_labels),
    "logistic, shrunk thresholds": (FlatLogisticRegression(decision="shrunk"), several_labels),
    "top-down": (TopDownSVC(hierarchy=EDGES), single_labels),
    "top-down, greedy": (TopDownSVC(hierarchy=EDGES, beam=1, loss="squared-hinge"), single_labels),
    "label trees": (LabelTreesSVC(max_leaves=2), single_labels),
    "label trees, tuned decision": (LabelTreesSVC(max_leaves=2, trees=2), several_labels),
    "levels": (LevelSVC(hierarchy=EDGES, multiclass="ovr"), single_labels),
    "levels, tuned decision": (LevelSVC(hierarchy=LEVELS), several_labels),
}


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("number", [1, 2, 4, 1000])
def test_the_model_has_the_bits_of_one_machine(name: str, number: int) -> None:
    estimator, data = ESTIMATORS[name]
    X, y = data()
    plain = state_of(estimator.fit(X, y))
    assert state_of(shards.fit(estimator, X, y, shards=number)) == plain


def test_row_weights_and_merged_rows_are_those_of_fit() -> None:
    X, y = single_labels()
    X, y = np.concatenate([X, X[:50]]), np.concatenate([y, y[:50]])
    weights = np.linspace(0, 2, len(y))
    plain = state_of(FlatSVC().fit(X, y, weights))
    assert state_of(shards.fit(FlatSVC(), X, y, weights, shards=3)) == plain


def test_a_rerun_trains_only_what_is_missing_or_damaged(tmp_path: Path) -> None:
    X, y = single_labels()
    plain = state_of(FlatSVC().fit(X, y))
    seen: list[list[int]] = []

    def engine(folder: str) -> None:
        seen.append(shards.unfinished(folder))
        shards.train_here(folder)

    def fit() -> bytes:
        return state_of(shards.fit(FlatSVC(), X, y, shards=3, work=tmp_path, engine=engine))

    assert fit() == plain
    (tmp_path / "shard-00001.safetensors").unlink()
    damaged = tmp_path / "shard-00002.safetensors"
    content = bytearray(damaged.read_bytes())
    content[-1] ^= 1
    damaged.write_bytes(content)
    assert fit() == plain
    assert fit() == plain
    assert seen == [[0, 1, 2], [1, 2], []]


def test_a_killed_engine_is_continued(tmp_path: Path) -> None:
    X, y = single_labels()

    def dies(folder: str) -> None:
        shards.train_shard(folder, 1)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        shards.fit(FlatSVC(), X, y, shards=3, work=tmp_path, engine=dies)
    finished = tmp_path / "shard-00001.safetensors"
    before = finished.stat().st_mtime_ns
    again = shards.fit(FlatSVC(), X, y, shards=3, work=tmp_path)
    assert state_of(again) == state_of(FlatSVC().fit(X, y))
    assert finished.stat().st_mtime_ns == before


def test_certificates_of_shards_add_up(tmp_path: Path) -> None:
    X, y = single_labels()
    machine = shards.fit(FlatSVC(), X, y, shards=3, work=tmp_path)
    summaries = [shards.train_shard(tmp_path, s) for s in range(3)]
    assert sum(s["labels"] for s in summaries) == 40
    assert sum(s["primal"] for s in summaries) == pytest.approx(machine.report_["primal"])
    assert sum(s["dual"] for s in summaries) == pytest.approx(machine.report_["dual"])
    assert all(
        s["bytes"] == (tmp_path / f"shard-{k:05}.safetensors").stat().st_size
        for k, s in enumerate(summaries)
    )


def planned(tmp_path: Path) -> Path:
    X, y = single_labels()
    shards.fit(FlatSVC(), X, y, shards=3, work=tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("estimator", "seed", "number"), [(FlatSVC(C=2), 1, 3), (FlatSVC(), 9, 3), (FlatSVC(), 1, 2)]
)
def test_a_folder_of_another_training_is_refused(
    tmp_path: Path, estimator: FlatSVC, seed: int, number: int
) -> None:
    X, y = single_labels(seed)
    with pytest.raises(ValueError, match="the folder holds the shards of another training"):
        shards.fit(estimator, X, y, shards=number, work=planned(tmp_path))


def test_missing_damaged_and_exchanged_shards_are_named(tmp_path: Path) -> None:
    folder = planned(tmp_path)
    first, second = (folder / f"shard-0000{k}.safetensors" for k in (0, 1))
    content = first.read_bytes()
    first.write_bytes(second.read_bytes())
    with pytest.raises(ValueError, match=r"shard-00000.*another number"):
        shards.merge(folder)
    first.write_bytes(content[:-4] + b"abcd")
    with pytest.raises(ValueError, match=r"shard-00000.*the file is damaged"):
        shards.merge(folder)
    first.unlink()
    with pytest.raises(ValueError, match="1 of 3 shards are not trained: 0"):
        shards.merge(folder)
    with pytest.raises(ValueError, match="shard is 3, but must be below 3"):
        shards.train_shard(folder, 3)


def test_damaged_data_are_refused(tmp_path: Path) -> None:
    data = planned(tmp_path) / "data.safetensors"
    content = data.read_bytes()
    data.write_bytes(content[:-4] + b"abcd")
    with pytest.raises(ValueError, match=r"data.safetensors.*the file is damaged"):
        shards.unfinished(tmp_path)
    data.unlink()
    with pytest.raises(ValueError, match=re.escape(f"{data}: cannot be read: No such file")):
        shards.unfinished(tmp_path)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (HSVC(hierarchy=EDGES), "method hsvm with these options cannot be trained in shards"),
        (FlatSVC(multiclass="crammer-singer"), "cannot be trained in shards"),
        (FlatLogisticRegression(multiclass="softmax"), "cannot be trained in shards"),
        (FlatSVC(calibration=0.2), "calibration is given, but shards do not offer it"),
        (FlatSVC(time_limit_seconds=9), "time_limit_seconds is given, but shards do not offer it"),
        (FlatSVC(warm_start=True), "warm_start is given, but shards do not offer it"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_what_shards_cannot_do_is_refused(estimator: Any, message: str) -> None:
    X, y = single_labels()
    with pytest.raises(ValueError, match=message):
        shards.fit(estimator, X, y)


def test_at_least_one_shard_is_needed() -> None:
    X, y = single_labels()
    with pytest.raises(ValueError, match="shards is 0, but must be >= 1"):
        shards.fit(FlatSVC(), X, y, shards=0)
