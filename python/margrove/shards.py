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
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TypeVar

from margrove import _core
from margrove._base import Classifier
from margrove._trainer import trained_by

__all__ = ["count", "fit", "merge", "train_here", "train_shard", "unfinished"]

Estimator = TypeVar("Estimator", bound=Classifier)
Engine = Callable[[str], object]
DEFAULT_SHARDS = 16
# Arguments of _core.train, and the parameters of estimators that set them.
_NOT_OFFERED = {
    "expect_all": "partial_fit",
    "start_weights": "start",
    "calibration": "calibration",
    "time_limit_seconds": "time_limit_seconds",
    "start": "warm_start",
    "keep_state": "warm_start",
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
    engine: Engine = train_here,
    shards: int = DEFAULT_SHARDS,
    work: str | Path | None = None,
) -> Estimator:
    """`estimator.fit(X, y, sample_weight)` in shards, with the same result bit for bit.

    engine: is called with the folder and must leave no shard unfinished. work: the folder, which
    all processes must see; a folder with finished shards of the same training continues it. Without
    it, a folder for temporary files is made and removed. Raises ValueError for methods whose labels
    are trained together, and for estimators with calibration, a time limit or a warm start.
    """
    if shards < 1:
        raise ValueError(f"shards is {shards}, but must be >= 1")
    weights = () if sample_weight is None else (sample_weight,)
    with in_shards(engine, shards, lambda: _folder(work)):
        return estimator.fit(X, y, *weights)


@contextlib.contextmanager
def in_shards(
    engine: Engine, shards: int, folder: Callable[[], AbstractContextManager[str]]
) -> Iterator[None]:
    """Within the block, estimators are trained in shards, each in a folder that `folder` opens."""

    def train(**given: Any) -> _core.Model:
        _refuse(given)
        del given["callback"]
        threads = given.pop("threads")
        with folder() as path:
            try:
                _core.plan_shards(path, shards, **given)
                engine(path)
                return merge(path, threads)
            finally:
                _training.cache_clear()  # its rows would stay in memory

    with trained_by(train):
        yield


def _refuse(given: dict[str, Any]) -> None:
    """Removes the arguments that shards do not offer, or raises ValueError."""
    keeps_for_sgd = given["options"].get("solver") == "sgd"  # for partial_fit
    for argument, name in _NOT_OFFERED.items():
        value = given.pop(argument, None)
        # Where a search for terms has taken all of the time, the limit is 0.
        if value or (argument == "time_limit_seconds" and value is not None):
            by_solver = argument == "keep_state" and keeps_for_sgd
            raise ValueError(
                f"method {given['method']}: {'solver=sgd' if by_solver else name} is given, but "
                "shards do not offer it"
            )


def _folder(work: str | Path | None) -> AbstractContextManager[str]:
    return new_folder(None) if work is None else contextlib.nullcontext(str(Path(work).absolute()))


def new_folder(parent: Path | None) -> AbstractContextManager[str]:
    """A folder below `parent`, or for temporary files, which is removed at the end."""
    # An error of the removal would hide the reason why a training ends.
    return tempfile.TemporaryDirectory(
        prefix="margrove-shards-", dir=parent, ignore_cleanup_errors=True
    )


def processes(*, workers: int | None = None, threads: int = 1) -> AbstractContextManager[Engine]:
    """The engine of `workers` processes (None: one per core) on this machine, with so many threads
    each."""
    for name, value in (("workers", workers), ("threads", threads)):
        if value is not None and value < 1:
            raise ValueError(f"{name} is {value}, but must be >= 1")
    engine = functools.partial(_train_in_processes, workers=workers, threads=threads)
    return contextlib.nullcontext(engine)


def _train_in_processes(folder: str, *, workers: int | None, threads: int) -> None:
    import joblib

    pool = joblib.Parallel(n_jobs=-1 if workers is None else workers, backend="loky")
    try:
        pool(joblib.delayed(_train_alone)(folder, s, threads) for s in unfinished(folder))
    except BrokenProcessPool as error:
        raise OSError(f"{folder}: a process died while it trained a shard") from error


def _train_alone(folder: str, shard: int, threads: int) -> None:
    try:
        train_shard(folder, shard, threads)
    finally:
        _training.cache_clear()  # the process outlives the training
