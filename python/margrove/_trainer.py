"""The function that trains the models of estimators, and its replacement for a while."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from margrove import _core

# Trains a model from the arguments of _core.train, by name.
trainer: ContextVar[Callable[..., _core.Model]] = ContextVar("trainer", default=_core.train)


@contextmanager
def trained_by(train: Callable[..., _core.Model]) -> Iterator[None]:
    """Within the block, estimators call `train` instead of _core.train."""
    token = trainer.set(train)
    try:
        yield
    finally:
        trainer.reset(token)


def require_no_shards(what: str) -> None:
    """Raises ValueError within the block of an engine, which cannot train `what`."""
    if trainer.get() is not _core.train:
        raise ValueError(
            f"{what} cannot be trained in shards. {_core.methods_in_shards()} can; train it "
            "outside the block of the engine"
        )
