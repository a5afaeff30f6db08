"""Names of labels as evidence: what estimators with the option match_names do beside training."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrove import _core
from margrove._labels import Targets, classes_of_names
from margrove.hierarchy import Hierarchy


def names_to_match(estimator: Any, hierarchy: Hierarchy | None) -> list[str]:
    """The names of the nodes, if an option of the estimator asks for them, or its search may."""
    may_match = estimator._may_match_names or getattr(estimator, "match_names", False)
    if hierarchy is None or not may_match:
        return []
    if len(hierarchy.names) not in (0, len(hierarchy.nodes)):
        raise ValueError(
            f"hierarchy: there are names of {len(hierarchy.names)} nodes, but must be of none or "
            f"all {len(hierarchy.nodes)}"
        )
    return list(hierarchy.names)


def with_unseen(model: _core.Model, targets: Targets, hierarchy: Hierarchy | None) -> NDArray[Any]:
    """The classes of y and then the nodes without rows that the model can answer. Other forms of y
    than labels and sets of them have no place for these."""
    classes = targets.classes
    if hierarchy is None or "unseen_score" not in model.report:
        return classes
    if targets.form not in ("single", "sets"):
        return classes
    known = {str(label) for label in classes}
    node_of_name = {str(node): node for node in hierarchy.nodes}
    unseen = [
        node_of_name[name]
        for name, may in zip(model.labels, model.answerable, strict=True)
        if may and name not in known
    ]
    if classes.dtype.kind in "iu":  # the nodes of files are texts
        unseen = classes_of_names([str(node) for node in unseen]).tolist()
    values = [*classes.tolist(), *unseen]
    is_mixed = len({type(value) for value in values}) > 1
    return np.array(values, dtype=object if is_mixed else None)
