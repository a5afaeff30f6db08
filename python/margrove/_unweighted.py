"""The base class of estimators whose method takes no row weights and needs two rows."""

from typing import Any, TypeVar

from margrove._base import Classifier

Self = TypeVar("Self", bound="Unweighted")


class Unweighted(Classifier):
    """A classifier whose `fit` takes no `sample_weight`."""

    _weighs_rows = False

    def fit(self: Self, X: Any, y: Any = None) -> Self:  # type: ignore[override]
        """Trains on rows X and the labels of each. Raises ValueError for wrong data or options."""
        if getattr(X, "shape", (2,))[0] == 1:
            raise ValueError(f"{self._method}: X has 1 sample, but must have at least 2")
        return super().fit(X, y)
