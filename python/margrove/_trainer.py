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
