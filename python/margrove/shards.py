"""Training in shards: pure tasks on the files of one folder, for any engine.

A shard is some blocks of labels of a one-vs-rest or top-down training. `fit` writes the data to a
folder, an engine calls `train_shard` for each shard, which writes its weights there, and `merge`
makes the model, with the bits of one machine. Finished shards stay in the folder, so that a run
which was killed continues with the others. `margrove plan-shards`, `train-shard` and `merge-shards`
do the same.
"""

import contextlib
import functools
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from margrove import _core
from margrove._base import Classifier
from margrove._trainer import trained_by

__all__ = ["count", "fit", "merge", "train_here", "train_shard", "unfinished"]

Estimator = TypeVar("Estimator", bound=Classifier)
DEFAULT_SHARDS = 16
# Arguments of _core.train, and the parameters of estimators that set them.
_NOT_OFFERED = {
    "calibration": "calibration",
    "time_limit_seconds": "time_limit_seconds",
    "start": "warm_start",
    "keep_state": "warm_start",
    "expect_all": "partial_fit",
    "start_weights": "start",
}


@functools.lru_cache(maxsize=1)
def _training(folder: str, _changed: int) -> _core.ShardedTraining:
    """The training in a folder, kept for the next shards of this process."""
    return _core.ShardedTraining(folder)


def _opened(folder: str | Path) -> _core.ShardedTraining:
    data = Path(folder) / "data.safetensors"
    return _training(str(folder), data.stat().st_mtime_ns if data.exists() else 0)


def count(folder: str | Path) -> int:
    """The number of shards of a folder."""
    return _opened(folder).num_shards


def unfinished(folder: str | Path) -> list[int]:
    """The shards of a folder that must be trained yet, damaged ones among them."""
    training = _opened(folder)
    return [s for s in range(training.num_shards) if training.state(s) != "finished"]


def train_shard(folder: str | Path, shard: int, threads: int = 1) -> dict[str, Any]:
    """Trains a shard, unless it is finished, and says what its file holds.

    The result has the keys labels, primal and dual (sums of the labels' certificates), seconds,
    threads and bytes.
    """
    training = _opened(folder)
    training.train(shard, threads, None)
    return training.summary(shard)


def train_here(folder: str | Path, threads: int = 1) -> None:
    """The plainest engine: trains the unfinished shards one after the other in this process."""
    for shard in unfinished(folder):
        train_shard(folder, shard, threads)


def merge(folder: str | Path, threads: int = 0) -> _core.Model:
    """The model of a folder whose shards are all finished; ValueError names those that are not."""
    return _opened(folder).merge(threads)


def fit(
    estimator: Estimator,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    engine: Callable[[str], object] = train_here,
    shards: int = DEFAULT_SHARDS,
    work: str | Path | None = None,
) -> Estimator:
    """`estimator.fit(X, y, sample_weight)` in shards, with the same result bit for bit.

    engine: is called with the folder and must leave no shard unfinished. work: the folder, which
    all processes must see; a folder with finished shards of the same training continues it. Without
    it, a folder for temporary files is made and removed. Raises ValueError for methods whose labels
    are trained together, and for estimators with calibration, a time limit or a warm start.
    """

    def train(**given: Any) -> _core.Model:
        for argument, name in _NOT_OFFERED.items():
            if given.pop(argument, None):
                raise ValueError(f"{name} is given, but shards do not offer it")
        del given["callback"]
        threads = given.pop("threads")
        _core.plan_shards(folder, shards, **given)
        engine(folder)
        return merge(folder, threads)

    if shards < 1:
        raise ValueError(f"shards is {shards}, but must be >= 1")
    with _folder(work) as folder, trained_by(train):
        try:
            return estimator.fit(X, y, sample_weight)
        finally:
            _training.cache_clear()  # its rows would stay in memory


@contextlib.contextmanager
def _folder(work: str | Path | None) -> Iterator[str]:
    if work is not None:
        yield str(Path(work).absolute())
        return
    with tempfile.TemporaryDirectory(prefix="margrove-shards-") as folder:
        yield folder
