"""Files of fitted estimators, and smaller copies of their models."""

import os
from copy import copy
from typing import TYPE_CHECKING, Any, TypeVar

from sklearn.utils.validation import check_is_fitted

from margrove import _core

Self = TypeVar("Self", bound="Stored")


class Stored:
    """Writes the model of an estimator, as it is or compressed."""

    if TYPE_CHECKING:
        model_: _core.Model
        report_: dict[str, Any]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model in the format of `margrove train`; `margrove predict` reads it."""
        check_is_fitted(self)
        self.model_.save(os.fspath(path))

    def compressed(self: Self, *, keep: float = 1.0, precision: str = "int8") -> Self:
        """A fitted copy whose model is smaller as a file, and in memory if weights are left out.

        keep: share of the weights that is kept, the largest ones, in (0, 1]. precision: how a
        weight is stored: "float32", "bfloat16" or "int8" (a multiple of its feature's step).
        Intercepts and the temperature of probabilities stay as they are. Its `report_` has no gap,
        as that of the fit no longer holds.
        Measure the copy on rows that were not fitted before you rely on it; `margrove compress`
        chooses `keep` that way. Linear models only; ValueError for others.
        """
        check_is_fitted(self)
        smaller = copy(self)
        smaller.model_ = self.model_.compressed(keep, precision)
        smaller.report_ = smaller.model_.report
        return smaller

    def export_liblinear(self, path: str | os.PathLike[str]) -> None:
        """Writes a flat model with integer classes in the format of LIBLINEAR."""
        check_is_fitted(self)
        self.model_.export_liblinear(os.fspath(path))
