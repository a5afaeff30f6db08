"""Engines that train the estimators of a block in shards."""

import contextlib
import inspect
import operator
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from margrove.shards import DEFAULT_SHARDS, Engine, in_shards, new_folder, processes

Session = AbstractContextManager[Engine]  # what an engine needs while the block runs


def cluster(
    engine: str | Engine = "ray",
    *,
    shards: int = DEFAULT_SHARDS,
    work: str | Path | None = None,
    **options: Any,
) -> AbstractContextManager[None]:
    """Within `with margrove.cluster("ray"):`, each `fit` is trained on a cluster of Ray.

    The result is that of one machine, bit for bit. The `fit` may be that of a pipeline, a search or
    a cross-validation. engine: "ray", with the options address, threads, retries and progress of
    `margrove.ray.train_shards` and further ones of ray.init (an open session is used as it is; one
    that the block starts ends with it); "processes" of this machine, with the options workers
    (None: one per core) and threads (of each); or a function, the engine of `margrove.shards.fit`.
    shards: of each training. work: a folder that all machines see, which is needed for more than
    one; each training has its own folder below it, which is removed at its end. A block within
    another one replaces its engine. It does not reach other threads and processes, such as those of
    `n_jobs`, which train by themselves. Raises ValueError here for wrong options, and in `fit` for
    methods whose labels are trained together, and with calibration, a time limit, a warm start or
    `partial_fit`.
    """
    shards = operator.index(shards)
    if shards < 1:
        raise ValueError(f"shards is {shards}, but must be >= 1")
    session = _session_of(engine, options)
    parent = None if work is None else Path(work).absolute()
    if parent is not None:
        parent.mkdir(parents=True, exist_ok=True)
    return _within(session, shards, parent)


@contextlib.contextmanager
def _within(session: Session, shards: int, parent: Path | None) -> Iterator[None]:
    with session as engine, in_shards(engine, shards, lambda: new_folder(parent)):
        yield


def _session_of(engine: str | Engine, options: dict[str, Any]) -> Session:
    if callable(engine):
        _check_names("that is a function", options, [])
        return contextlib.nullcontext(engine)
    if engine == "ray":
        from margrove import ray

        return ray.session(**options)
    if engine == "processes":
        _check_names("'processes'", options, list(inspect.signature(processes).parameters))
        return processes(**options)
    raise ValueError(
        f"engine is {engine!r}, but must be 'ray', 'processes' or a function of a folder"
    )


def _check_names(engine: str, options: dict[str, Any], names: list[str]) -> None:
    for name in options:
        if name not in names:
            offered = ", ".join(["shards", "work", *names])
            raise ValueError(f"{name} is no option of the engine {engine}, which has: {offered}")
