"""Estimators that can continue an earlier fit."""

import warnings
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.metaestimators import available_if

from margrove._base import Classifier
from margrove._kernel_models import kernel_model_of
from margrove._labels import classes_of, read_targets

Self = TypeVar("Self", bound="Incremental")


class Continued(Classifier):
    """Estimators with `warm_start`, which keep the final state of the solver in memory."""

    warm_start: bool

    def _continuation(self) -> dict[str, Any]:
        if not self.warm_start:
            return {}
        if hasattr(self, "model_") and not self.model_.has_state:
            warnings.warn(
                "warm_start: the model keeps no state of its training, as it is from a file, was "
                "fitted without warm_start or has options with which none is kept, such as "
                "multiclass='softmax'; the training starts anew",
                UserWarning,
                stacklevel=3,
            )
        return {"start": getattr(self, "model_", None), "keep_state": True}


def _takes_steps(estimator: Any) -> bool:
    if estimator.solver == "sgd":
        return True
    raise AttributeError(
        f"partial_fit: solver is {estimator.solver!r}, but must be 'sgd': the others need all "
        "rows at once"
    )


class Incremental(Continued):
    """Estimators with `partial_fit` if the solver is stochastic."""

    solver: str

    def _continuation(self) -> dict[str, Any]:
        return super()._continuation() or {"keep_state": self.solver == "sgd"}

    def _require_incremental(self) -> None:
        """Raises ValueError for parameters that need all rows."""
        if self._selection() is not None:
            raise ValueError(
                "text, numeric, categorical, vector_columns and path are for fit: partial_fit does "
                "not see all rows, from which features are made; TextFeatures(hash_features=N) in "
                "its own step gives the same columns for any rows"
            )
        if self.calibration != 0:
            raise ValueError(
                f"calibration is {self.calibration}, but must be 0 for partial_fit, which holds "
                "out no rows: call calibrate with other rows"
            )
        if isinstance(self.class_weight, str):
            raise ValueError(
                f"class_weight is {self.class_weight!r}, but must be None or a dict for "
                "partial_fit, which does not see all rows"
            )

    @available_if(_takes_steps)  # type: ignore[untyped-decorator]
    def partial_fit(
        self: Self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """One more pass of the stochastic solver, over these rows.

        X: as in `fit`. y: one label per row. classes: all labels that any call will have; needed in
        the first call, unless `fit` with solver="sgd" came before, whose classes are kept. `C`
        weights the losses as if every pass had as many rows as the first call. k calls with all
        rows thus equal `fit` with epochs=k; for batches of n of N rows, multiply the C of `fit` by
        N / n. The objective in `report_` is that of the last rows. Memory: the model and twice the
        dense weights. Raises ValueError for wrong data, for a label that is not in `classes`, and
        if the hierarchy, the node weights or the loss have changed since the first call.
        """
        self._require_incremental()
        goes_on = (
            hasattr(self, "model_")
            and self.model_.has_state
            and self.model_.options["solver"] == "sgd"
        )
        if not goes_on and classes is None:
            raise ValueError(
                "classes must be passed on the first call to partial_fit."
                if not hasattr(self, "model_")
                else "there is no run to continue, only a model (from a file, or of solver "
                "'bcfw'); with classes, partial_fit starts anew"
            )
        given = None if classes is None else classes_of(np.unique(np.asarray(classes)))
        all_classes = self.classes_ if goes_on else given
        assert all_classes is not None
        if given is not None and not np.array_equal(given, all_classes):
            raise ValueError(
                f"classes: they are {list(classes)}, but must be those of the first call, "
                f"{all_classes.tolist()}"
            )
        X, y = self._numbers(X, y, reset=not goes_on)
        kernel = kernel_model_of(self.kernel_model)
        if kernel is not None:
            self._kernel = kernel
            num_columns, pointers, columns, values = self._for_kernel(X, *kernel)
            X = sp.csr_array((values, columns, pointers), (X.shape[0], num_columns))
        targets = read_targets(y)
        place = {label: number for number, label in enumerate(all_classes.tolist())}
        unknown = next((label for label in targets.classes.tolist() if label not in place), None)
        if unknown is not None:
            raise ValueError(f"y: label is {unknown!r}, but must be one of `classes`")
        number = np.array([place[label] for label in targets.classes.tolist()], dtype=np.uint32)
        rows, sets, weights = self._weighted(
            X, (targets.pointers, number[targets.positions]), all_classes, sample_weight
        )
        hierarchy = targets.hierarchy(self.hierarchy)
        model = self._train(
            rows,
            sets,
            all_classes,
            hierarchy,
            weights,
            epochs=1,
            start=self.model_ if goes_on else None,
            keep_state=True,
            expect_all=True,
        )
        self._adopt(model, "single", all_classes, hierarchy)
        self._raise_kept()
        return self
