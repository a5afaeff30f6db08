"""Weights of classes as scikit-learn has them, as factors of row weights."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrove import _core
from margrove._types import Sets


def weigh_by_class(
    class_weight: Any, sets: Sets, classes: NDArray[Any], weights: NDArray[np.float64] | None
) -> NDArray[np.float64] | None:
    """The weight of each row times that of its class."""
    if class_weight is None:
        return weights
    if isinstance(class_weight, Mapping):
        of_class: NDArray[np.float64] | None = _of_mapping(class_weight, classes)
    elif isinstance(class_weight, str) and class_weight == "balanced":
        of_class = None
    else:
        raise ValueError(
            f"class_weight is {class_weight!r}, but must be None, 'balanced' or a dict of classes "
            "and weights"
        )
    weighed: NDArray[np.float64] = _core.weigh_by_class(sets, len(classes), of_class, weights)
    return weighed


def _of_mapping(class_weight: Mapping[Any, float], classes: NDArray[Any]) -> NDArray[np.float64]:
    """A weight for each class, 1 for those that the mapping lacks."""
    labels = classes.tolist()
    unknown = [label for label in class_weight if label not in labels]
    if unknown and not all(label in class_weight for label in labels):
        # Where every class has a weight, others may be left over from rows that are elsewhere.
        raise ValueError(
            f"class_weight: {unknown[0]!r} is no class of y, and not every class of y has a weight"
        )
    return np.array([class_weight.get(label, 1.0) for label in labels], dtype=np.float64)
