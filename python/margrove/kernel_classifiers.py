"""Estimators of kernel classifiers: kernels combined by a network, a norm, or evenly."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from margrove._arrays import require_finite
from margrove._base import Classifier
from margrove._given_kernels import (
    ONLY,
    FunctionRows,
    Kernels,
    check_matrices,
    functions_of,
    network_of,
    support_of,
    values_of,
)
from margrove._options import option_text
from margrove._progress import Progress
from margrove._types import Csr

__all__ = [
    "AverageMKLClassifier",
    "KernelClassifier",
    "LpMKLClassifier",
    "SPNMKLClassifier",
    "SimpleMKLClassifier",
]

Self = TypeVar("Self", bound="KernelClassifier")
Network = str | os.PathLike[str] | Mapping[str, Any] | None
Views = Mapping[str, Sequence[int]] | None
WIDTHS = (0.25, 0.5, 1.0, 2.0, 4.0)


class KernelClassifier(Classifier):
    """The base class of the kernel estimators.

    X is one array or several views of the same rows: a list of arrays (named "view1", "view2",
    ...), or a dict of them by name. The parameter `views` names the columns of one array instead:
    {"colour": (0, 20), "shape": (20, 60)}, side by side from 0 to the last column. The network's
    kernels choose one with {"view": "colour"}.

    `kernel`: "precomputed" for X that holds kernel values: K(train, train) in `fit` and K(test,
    train) in prediction, or a list or dict of such matrices; or a function f(A, B) that gives the
    values for the rows of A and B, or a dict of functions. X is then whatever the functions take.
    Without `network` the kernels are summed; in `network` they have the type "given" and a view
    each ("kernel" if there is only one). Models keep the numbers of their support vectors instead
    of kernel values.

    `scale`: scale of the columns, as in the other estimators. "auto" does not scale if `network` is
    given, because its kernels may have widths for the given values. `calibration`: share of the
    rows that probabilities are fitted to; 0: none. `unlabelled`: rows without a label are left out
    ("auto", "drop"); "keep" is for other estimators.

    Attributes after `fit`, in addition to those of all estimators: `views_`, a dict of column
    ranges (empty for one view), `weights_`, a dict of the product nodes' weights, and `network_`,
    the network with its weights as text; with `kernel`, also `support_`, the training rows that
    predictions need.
    """

    _weighs_rows = False

    hierarchy = None  # kernel methods use none
    views_: dict[str, tuple[int, int]]
    support_: NDArray[np.int64]
    _function_rows: Any
    weights_: dict[str, float]
    network_: str

    def __init__(
        self,
        *,
        C: float | str = 1.0,
        network: Network = None,
        widths: Sequence[float] = WIDTHS,
        tolerance: float = 1e-2,
        svm_tolerance: float = 1e-3,
        max_rounds: int = 500,
        views: Views = None,
        kernel: Kernels = None,
        unlabelled: str = "auto",
        calibration: float = 0.0,
        scale: str = "auto",
        threads: int = 1,
        time_limit_seconds: float | None = None,
        memory_limit: float | None = None,
        progress: Progress = False,
    ) -> None:
        self.C = C
        self.network = network
        self.widths = widths
        self.tolerance = tolerance
        self.svm_tolerance = svm_tolerance
        self.max_rounds = max_rounds
        self.views = views
        self.kernel = kernel
        self.unlabelled = unlabelled
        self.calibration = calibration
        self.scale = scale
        self.threads = threads
        self.time_limit_seconds = time_limit_seconds
        self.memory_limit = memory_limit
        self.progress = progress

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        own = ("views", "kernel")
        return {name: value for name, value in super()._defaults().items() if name not in own}

    def _options(self) -> dict[str, str]:
        options = {name: option_text(getattr(self, name)) for name in self._defaults()}
        if self.kernel is not None and self.network is None:
            options["network"] = network_of(self._ranges, are_views=bool(self._given_views))
        return options

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, str)
        return tags

    def fit(self: Self, X: Any, y: Any = None) -> Self:  # type: ignore[override]
        """Trains on rows X and one label per row. Raises ValueError for wrong data or options."""
        rows, self._ranges = _joined(self._kernel_values(X), self.views)
        self._given_views = [] if self._is_only_kernel(X) else self._ranges
        super().fit(rows, y)
        self._describe()
        if self.kernel is not None:
            self.support_ = support_of(self.model_, self._ranges)
            self._function_rows = None
            if not isinstance(self.kernel, str):
                self._function_rows = FunctionRows(X, self.support_, self._ranges)
        return self

    def _is_only_kernel(self, X: Any) -> bool:
        """Whether all columns are one kernel whose name nobody gave, and so are no view."""
        if self.kernel is None or self.network is not None or isinstance(self.kernel, Mapping):
            return False
        return [name for name, _, _ in self._ranges] == [ONLY] and (
            callable(self.kernel) or not _is_views(X)
        )

    def _kernel_values(self, X: Any) -> Any:
        """X, or the values of the kernels that are given, for training."""
        if self.kernel is None:
            return X
        if self.calibration != 0 or self.scale not in ("auto", "none"):
            raise ValueError(
                "calibration and scale are for rows of features, but X has kernel values; "
                "calibrate(X, y) takes other rows"
            )
        functions = functions_of(self.kernel)
        if functions:
            return {name: values_of(f, name, X, X) for name, f in functions.items()}
        if _is_views(X):
            matrices = _named(X)
        elif self.views is None:
            matrices = {ONLY: X}
        else:
            return X
        check_matrices(matrices)
        return matrices

    def _views_of_X(self) -> list[tuple[str, int, int]]:
        return self._given_views

    def _describe(self) -> None:
        self.views_ = {name: (begin, end) for name, begin, end in self.model_.views}
        lines, _, _, self.weights_ = self.model_.network
        self.network_ = "\n".join(lines)

    def _loaded(self) -> None:
        self._describe()
        self.views = self.views_ or None
        if '"given"' in self.model_.options["network"]:
            self.kernel = "precomputed"

    def _rows(self, X: Any) -> Csr:
        check_is_fitted(self)
        functions = {} if self.kernel is None else functions_of(self.kernel)
        if functions:
            return super()._rows(self._function_rows.columns(functions, X))
        if _is_views(X):
            if isinstance(X, Mapping) and set(X) == set(self.views_):
                X = {name: X[name] for name in self.views_}  # in any order
            X, found = _joined(X, None)
            given = {name: (begin, end) for name, begin, end in found}
            if given != self.views_:
                raise ValueError(f"X: its views are {given}, but must be {self.views_}")
        return super()._rows(X)

    def kernel_values(self, X: Any, other: Any = None) -> NDArray[np.float32]:
        """The learned kernel K(x, z): a row for each x of X, a column for each z of `other`, or X.

        The kernels weighted as `fit` learned it ([SPN]), so that other methods can use it: the
        bound method is a function as `kernel` of these estimators and of `sklearn.svm.SVC` takes,
        and K(train, train) a precomputed kernel. Raises ValueError if a kernel is centred or given,
        whose values are known with training rows only, and if the values would take more memory
        than `memory_limit`.
        """
        check_is_fitted(self)
        rows = self._rows(X)
        others = rows if other is None else self._rows(other)
        return self.model_.kernel_values(rows, others, self.memory_limit, self.threads)

    def draw(self, path: str | os.PathLike[str]) -> None:
        """Draws the network with its weights: SVG, or Graphviz source if `path` ends in .dot."""
        check_is_fitted(self)
        _, dot, svg, _ = self.model_.network
        with open(path, "w", encoding="utf-8") as file:
            file.write(dot if os.fspath(path).endswith(".dot") else svg)


def _is_views(X: Any) -> bool:
    if sp.issparse(X):  # some sparse matrices are mappings, too
        return False
    if isinstance(X, Mapping):
        return True
    return (
        isinstance(X, list | tuple)
        and len(X) > 0
        and all(len(getattr(part, "shape", ())) == 2 for part in X)
    )


def _named(X: Any) -> dict[str, Any]:
    """The views of X by name."""
    return dict(X) if isinstance(X, Mapping) else {f"view{k + 1}": x for k, x in enumerate(X)}


def _joined(X: Any, views: Views) -> tuple[Any, list[tuple[str, int, int]]]:
    """The columns side by side, and the columns of each view."""
    if not _is_views(X):
        return X, [(name, int(begin), int(end)) for name, (begin, end) in (views or {}).items()]
    if views is not None:
        raise ValueError("views: they name columns of one array, but X is several arrays")
    parts = _named(X)
    first, *others = parts
    num_rows = parts[first].shape[0]
    for name in others:
        own = parts[name].shape[0]
        if own != num_rows:
            raise ValueError(f"X: {name}: it has {own} rows, but must have {num_rows} as {first}")
    found: list[tuple[str, int, int]] = []
    for name, part in parts.items():
        require_finite(part, f"X: {name}: ")
        begin = found[-1][2] if found else 0
        found.append((name, begin, begin + part.shape[1]))
    if any(sp.issparse(part) for part in parts.values()):
        return sp.hstack([sp.csr_array(part) for part in parts.values()], format="csr"), found
    return np.hstack([np.asarray(part) for part in parts.values()]), found


class SPNMKLClassifier(KernelClassifier):
    """Kernels combined along a sum-product network, whose weights are learned ([SPN]).

    `network`: a dict as in docs/spn_mkl.md, its JSON text or a file; {"kernels": {...}, "shape":
    "one-layer"} and "groups" are the usual shapes. Without one: Gaussian kernels of `widths`, in
    medians of the distance, on all columns, or a group of them on each view.
    """

    _method = "spn-mkl"

    def __init__(
        self,
        *,
        C: float | str = "auto",
        network: Network = None,
        widths: Sequence[float] = WIDTHS,
        tolerance: float = 1e-2,
        svm_tolerance: float = 1e-3,
        max_rounds: int = 500,
        weight_penalty: float = 1.0,
        p: float = 1.0,
        max_paths: float = 10_000.0,
        views: Views = None,
        kernel: Kernels = None,
        unlabelled: str = "auto",
        calibration: float = 0.0,
        scale: str = "auto",
        threads: int = 1,
        time_limit_seconds: float | None = None,
        memory_limit: float | None = None,
        progress: Progress = False,
    ) -> None:
        super().__init__(
            C=C,
            network=network,
            widths=widths,
            tolerance=tolerance,
            svm_tolerance=svm_tolerance,
            max_rounds=max_rounds,
            views=views,
            kernel=kernel,
            unlabelled=unlabelled,
            calibration=calibration,
            scale=scale,
            threads=threads,
            time_limit_seconds=time_limit_seconds,
            memory_limit=memory_limit,
            progress=progress,
        )
        self.weight_penalty = weight_penalty
        self.p = p
        self.max_paths = max_paths


class LpMKLClassifier(KernelClassifier):
    """Multiple kernel learning with an l_p norm over the network's kernels, whatever its shape."""

    _method = "lp-mkl"

    def __init__(
        self,
        *,
        C: float = 1.0,
        network: Network = None,
        widths: Sequence[float] = WIDTHS,
        tolerance: float = 1e-2,
        svm_tolerance: float = 1e-3,
        max_rounds: int = 500,
        p: float = 2.0,
        views: Views = None,
        kernel: Kernels = None,
        unlabelled: str = "auto",
        calibration: float = 0.0,
        scale: str = "auto",
        threads: int = 1,
        time_limit_seconds: float | None = None,
        memory_limit: float | None = None,
        progress: Progress = False,
    ) -> None:
        super().__init__(
            C=C,
            network=network,
            widths=widths,
            tolerance=tolerance,
            svm_tolerance=svm_tolerance,
            max_rounds=max_rounds,
            views=views,
            kernel=kernel,
            unlabelled=unlabelled,
            calibration=calibration,
            scale=scale,
            threads=threads,
            time_limit_seconds=time_limit_seconds,
            memory_limit=memory_limit,
            progress=progress,
        )
        self.p = p


class SimpleMKLClassifier(KernelClassifier):
    """Multiple kernel learning with an l_1 norm, which selects few of the network's kernels."""

    _method = "simple-mkl"


class AverageMKLClassifier(KernelClassifier):
    """SVMs with the average of the network's kernels: the baseline of the others."""

    _method = "average-mkl"

    def __init__(
        self,
        *,
        C: float = 3.0,
        network: Network = None,
        widths: Sequence[float] = WIDTHS,
        tolerance: float = 1e-2,
        svm_tolerance: float = 1e-3,
        max_rounds: int = 500,
        views: Views = None,
        kernel: Kernels = None,
        unlabelled: str = "auto",
        calibration: float = 0.0,
        scale: str = "auto",
        threads: int = 1,
        time_limit_seconds: float | None = None,
        memory_limit: float | None = None,
        progress: Progress = False,
    ) -> None:
        super().__init__(
            C=C,
            network=network,
            widths=widths,
            tolerance=tolerance,
            svm_tolerance=svm_tolerance,
            max_rounds=max_rounds,
            views=views,
            kernel=kernel,
            unlabelled=unlabelled,
            calibration=calibration,
            scale=scale,
            threads=threads,
            time_limit_seconds=time_limit_seconds,
            memory_limit=memory_limit,
            progress=progress,
        )
