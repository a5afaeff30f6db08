"""Training on a cluster of Ray: `pip install margrove[ray]`.

`python -m margrove.ray FOLDER` trains the unfinished shards of a folder that `margrove plan-shards`
made; `margrove train --engine ray` calls it.
"""

import argparse
import contextlib
import functools
import inspect
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from margrove import shards as _shards

__all__ = ["fit", "train_shards"]

Progress = Callable[[str], object]
_SECONDS_OF_CANCELLING = 10


def _ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise ImportError(
            "margrove.ray needs the package ray: pip install margrove[ray]"
        ) from error
    return ray


@contextlib.contextmanager
def _cluster(address: str | None, options: dict[str, Any]) -> Iterator[Any]:
    """A session on a cluster; the session that the caller has is used and left as it is."""
    ray = _ray()
    if ray.is_initialized():
        yield ray
        return
    if address is None:
        options = {"include_dashboard": False, **options}
    ray.init(address=address, **({"log_to_driver": False} | options))
    try:
        yield ray
    finally:
        ray.shutdown()


class _Meter:
    """Reports shards, gap and the estimated end."""

    def __init__(self, total: int, finished: int, say: Progress | None) -> None:
        self._total = total
        self._finished = finished
        self._at_start = finished
        self._start = time.monotonic()
        self._primal = self._dual = self._seconds = 0.0
        self._bytes = 0
        self._say = say

    def add(self, summary: dict[str, Any]) -> None:
        self._finished += 1
        self._primal += summary["primal"]
        self._dual += summary["dual"]
        self._seconds += summary["seconds"] * summary["threads"]
        self._bytes += summary["bytes"]
        if self._say is None:
            return
        spent = time.monotonic() - self._start
        left = spent / (self._finished - self._at_start) * (self._total - self._finished)
        gap = (self._primal - self._dual) / self._primal if self._primal > 0 else 0.0
        self._say(
            f"ray: {self._finished} of {self._total} shards, gap {gap:.2e}, {spent:.0f} s, "
            f"about {left:.0f} s left"
        )

    def close(self) -> None:
        if self._say is not None and self._finished > self._at_start:
            self._say(
                f"ray: {self._seconds:.1f} thread-seconds of training, "
                f"{self._bytes / 1e6:.2f} MB of weights written"
            )


def train_shards(
    folder: str | Path,
    *,
    address: str | None = None,
    threads: int = 1,
    retries: int = 5,
    progress: bool | Progress = True,
    **init: Any,
) -> None:
    """Trains the unfinished shards of a folder as tasks on Ray.

    address: of the cluster, for example "auto"; None starts one on this machine, or uses the
    session that is open. threads: of each task, which are also the CPUs that Ray sets aside for it.
    retries: how often a task may start anew after its worker has died. progress: True prints a line
    per shard on stderr; a callable takes it. init: further arguments of ray.init. Raises OSError
    after the last retry; finished shards stay in the folder.
    """
    _check(threads, retries)
    folder = str(Path(folder).absolute())
    todo = _shards.unfinished(folder)
    if not todo:
        return
    say = progress if callable(progress) else _to_stderr if progress else None
    total = _shards.count(folder)
    meter = _Meter(total, total - len(todo), say)
    with _cluster(address, init) as ray:
        task = ray.remote(num_cpus=threads, max_retries=retries)(_train_shard)
        names = {
            task.options(name=f"shard {s} of {total}").remote(folder, s, threads): s for s in todo
        }
        waiting = list(names)
        try:
            while waiting:
                done, waiting = ray.wait(waiting, num_returns=1)
                meter.add(_result(ray, done[0], names[done[0]], retries))
        finally:
            for reference in waiting:
                ray.cancel(reference, force=True)
            if waiting:  # until they write no more: the folder may be removed next
                ray.wait(waiting, num_returns=len(waiting), timeout=_SECONDS_OF_CANCELLING)
    meter.close()


def _check(threads: int, retries: int) -> None:
    if threads < 1:
        raise ValueError(f"threads is {threads}, but must be >= 1")
    if retries < 0:
        raise ValueError(f"retries is {retries}, but must be >= 0")


def session(
    *,
    address: str | None = None,
    threads: int = 1,
    retries: int = 5,
    progress: bool | Progress = False,
    **init: Any,
) -> AbstractContextManager[_shards.Engine]:
    """The engine of train_shards() with these arguments, on one session for all its folders."""
    _check(threads, retries)
    known = inspect.signature(_ray().init).parameters
    for name in init:
        if name not in known and not name.startswith("_"):  # which ray.init does not show
            raise ValueError(
                f"{name} is no option of the engine 'ray', which has: shards, work, address, "
                "threads, retries, progress and those of ray.init"
            )
    engine = functools.partial(
        train_shards, address=address, threads=threads, retries=retries, progress=progress, **init
    )
    return _session(engine, address, init)


@contextlib.contextmanager
def _session(
    engine: _shards.Engine, address: str | None, init: dict[str, Any]
) -> Iterator[_shards.Engine]:
    with _cluster(address, init):
        yield engine


def _train_shard(folder: str, shard: int, threads: int) -> dict[str, Any]:
    return _shards.train_shard(folder, shard, threads)


def _result(ray: Any, reference: Any, shard: int, retries: int) -> dict[str, Any]:
    try:
        summary: dict[str, Any] = ray.get(reference)
    except ray.exceptions.OutOfMemoryError as error:
        raise MemoryError(
            f"shard {shard}: its worker had no memory left, {retries + 1} times; use fewer tasks "
            "per machine (more threads for each) or machines with more memory"
        ) from error
    except ray.exceptions.WorkerCrashedError as error:
        raise OSError(f"shard {shard}: its worker died {retries + 1} times") from error
    except ray.exceptions.RayTaskError as error:
        raise error.cause from None
    return summary


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def fit(
    estimator: _shards.Estimator,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    address: str | None = None,
    shards: int = _shards.DEFAULT_SHARDS,
    work: str | Path | None = None,
    threads: int = 1,
    retries: int = 5,
    progress: bool | Progress = False,
    **init: Any,
) -> _shards.Estimator:
    """`estimator.fit(X, y, sample_weight)` on Ray, with the same result bit for bit.

    work: a folder that all machines of the cluster see; it is needed for more than one machine, and
    a second call with it continues the first. shards: number of tasks. The other arguments are
    those of `train_shards`.
    """
    _ray()  # before the data are written
    _check(threads, retries)
    engine = functools.partial(
        train_shards, address=address, threads=threads, retries=retries, progress=progress, **init
    )
    return _shards.fit(estimator, X, y, sample_weight, engine=engine, shards=shards, work=work)


def main() -> int:
    """The command line of `python -m margrove.ray`."""
    parser = argparse.ArgumentParser(prog="python -m margrove.ray", description=__doc__)
    parser.add_argument("folder", help="folder that margrove plan-shards made")
    parser.add_argument("--address", help="address of the cluster; none: one on this machine")
    parser.add_argument("--threads", type=int, default=1, help="threads of each task")
    parser.add_argument("--retries", type=int, default=5, help="after the death of a worker")
    parser.add_argument("--quiet", action="store_true", help="print no progress")
    given = parser.parse_args()
    try:
        train_shards(
            given.folder,
            address=given.address,
            threads=given.threads,
            retries=given.retries,
            progress=not given.quiet,
        )
    except (ImportError, MemoryError, OSError, ValueError) as error:
        print(f"margrove.ray: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
