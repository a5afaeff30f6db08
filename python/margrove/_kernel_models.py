"""The model whose learned kernel the kernel features of an estimator have."""

import os
from typing import Any

from margrove import _core

KernelModel = tuple[_core.Model, str]  # and what messages call it


def kernel_model_of(given: Any) -> KernelModel | None:
    """The model of the parameter kernel_model: a path or a fitted estimator. None for None."""
    if given is None:
        return None
    if isinstance(given, str | os.PathLike):
        path = os.fspath(given)
        return _core.Model.load(path), path
    model = getattr(given, "model_", None)
    name = type(given).__name__
    if isinstance(model, _core.Model):
        return model, name
    if hasattr(given, "fit"):
        raise ValueError(
            f"kernel_model is a {name} that is not fitted; clone, as searches use it, makes copies "
            "that are not: give the path of a saved model, or FrozenEstimator(estimator) of "
            "scikit-learn"
        )
    raise ValueError(
        f"kernel_model is of type {name}, but must be the path of a model or a fitted estimator"
    )
