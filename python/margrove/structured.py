"""Structured SVMs with models of your own: docs/own_models.md.

A model is any object with the three methods of `Model`. `StructuredSVM` fits its weights, with a
surrogate of the library or any object with the methods of `Surrogate`.
"""

import warnings
from typing import Any, Protocol, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from margrove import _core
from margrove._options import option_text
from margrove._progress import Progress, receiver
from margrove._trainer import require_no_shards

__all__ = ["Model", "StructuredSVM", "Surrogate"]

Self = TypeVar("Self", bound="StructuredSVM")


class Model(Protocol):
    """What `StructuredSVM` needs of a model. There is no need to derive from this class.

    x is an example and y a labelling, of any type; labellings are compared with ==, arrays by their
    elements. The score is f(x, y) = <w, joint_feature(x, y)>. Further methods are optional:

    - `argmax_without(x, w, truth, w_m, w_g, banned)`: as `argmax`, but without the labellings of
      the list `banned`; None if no other is left.
    - `k_best(x, w, truth, w_m, w_g, k)`: a list of the k best labellings, best first, or of all if
      there are fewer. It serves in place of `argmax_without`.
    - `constrained_argmax(x, w, truth, w_m, w_g, bounds)`: as `argmax`, over the labellings for
      which `bounds.contain(1 + f(x, y) - f(x, truth), loss(truth, y))`; None if there is none.
      `bounds` has the numbers `lower` and `upper`, of which loss / (1 + f - f) is between, whether
      these are strict, `lower_strict` and `upper_strict`, and `floor`: labellings at which
      w_m (f(x, y) - f(x, truth)) + w_g loss(truth, y) is not above it may be left out.
    """

    def joint_feature(self, x: Any, y: Any) -> Any:
        """phi(x, y): an array of numbers or a sparse row, of the same length for all x and y."""

    def loss(self, y: Any, y_hat: Any) -> float:
        """The task loss of predicting y_hat where y is true: >= 0, and 0 for y itself."""

    def argmax(self, x: Any, w: NDArray[np.float64], truth: Any, w_m: float, w_g: float) -> Any:
        """The labelling y, of all, with the largest w_m f(x, y) + w_g loss(truth, y).

        In training both weights are positive. For prediction w_m is 1, w_g is 0, truth is None.
        The maximum must be exact, because the duality gap rests on it. w cannot be changed; copy it
        to keep it, because later calls overwrite it.
        """


class Surrogate(Protocol):
    """What `StructuredSVM` and `structured_loss` need of a surrogate psi(m, g) of your own.

    m is the margin violation f(x, y) - f(x, truth), g the task loss, >= 0; at the truth itself psi
    is 0, whatever `value` says. There is no need to derive from this class. Where psi is >= 0, it
    must increase with m and with g and be quasi-concave: between two points at least the smaller of
    their values, as searches assume. Both and the derivatives are checked on a grid before
    training. Further members are optional:

    - `slope(g)` and `offset(g)`, where psi is affine in m, value = slope(g) m + offset(g): they
      allow the solver bcfw.
    - `is_convex`: True where psi is convex in m, which allows cutting planes.
    - `in_domain(m, g)`: whether psi has these properties there, if not wherever it is >= 0 and
      g > 0, such as False for g > 1.
    """

    def value(self, m: float, g: float) -> float:
        """psi(m, g), finite."""

    def derivative_m(self, m: float, g: float) -> float:
        """d psi / d m."""

    def derivative_g(self, m: float, g: float) -> float:
        """d psi / d g, at g > 0."""


class StructuredSVM(BaseEstimator):
    """Fits the weights of a model of your own: min ||w||^2 / 2 + C sum_i max_y psi(m, g).

    m = f(x_i, y) - f(x_i, y_i) is the margin violation, g the model's loss, psi the surrogate.

    Attributes after `fit`: `coef_`, the weights w, and `report_`: stop, passes, oracle_calls,
    primal, dual, relative_gap, and certified (whether the gap is proven).

    Parameters
    ----------
    model : Any
        an object with the methods `joint_feature`, `loss` and `argmax`; see `Model`
    surrogate : str | Surrogate, default "margin"
        function of margin violation and task loss: margin, slack, generalised:BETA,A, beta:BETA,
        log, prob, prob-convex, or an object with the methods of `Surrogate`
    search : str, default "auto"
        how the most violating labelling is found: margin, sarawagi, binary, bisecting, angular,
        convex-hull; auto: margin for margin rescaling, otherwise convex-hull
    solver : str, default "auto"
        bcfw (block-coordinate Frank-Wolfe), cutting-plane and one-slack stop at a duality gap, sgd
        (averaged stochastic subgradients) after its passes; auto: bcfw where the surrogate is
        affine in the margin, otherwise sgd
    max_bans : int | str, default "auto"
        maximum number of rounds in which convex-hull search bans labellings to make a fractional
        optimum integral; the model needs `argmax_without` or `k_best` for it; auto: 10, and 0 by
        sgd
    search_tolerance : float | str, default "auto"
        allowed error of a search: of the maximum, relative, for convex-hull; of the logarithm of
        lambda for sarawagi, binary and bisecting; auto: 0.01 for convex-hull by sgd and for binary
        and bisecting, 0.1 for sarawagi, otherwise 0
    search_calls : int | str, default "auto"
        maximum number of calls of `argmax` in one search; auto: 1000 for convex-hull and angular,
        50 for sarawagi, binary and bisecting
    convex_passes : int | str, default "auto"
        prob by sgd: number of first passes that train with its convex extension prob-convex, as
        prob is flat where margins are badly violated; auto: half of max_passes, and 0 from the
        weights of an earlier model
    learning_rate : float | str, default "auto"
        sgd: size of the first step; later ones fall, step t to rate / (1 + rate t / (C n)) with n
        examples; auto: C, and C / 11 from the weights of an earlier model
    C : float, default 1.0
        loss weight: the objective is the regulariser plus C times the sum of the losses [> 0]
    tolerance : float, default 0.01
        relative duality gap at which bcfw and cutting planes stop; sgd stops where two passes lower
        the objective by no more than this share [> 0]
    max_passes : int, default 50
        maximum number of passes over the examples [>= 1]
    seed : int, default 0
        seed of the order of the examples [>= 0]
    threads : int, default 1
        number of threads that call the model, 0: one per core; the result does not depend on it,
        and it helps only where the model's methods release the global interpreter lock
    time_limit_seconds : float | None, default None
        time after which training ends with the weights so far and a ConvergenceWarning
    progress : bool | Callable, default False
        True for a tqdm bar, or a function that gets each report by keyword; an exception in it
        ends the training
    """

    coef_: NDArray[np.float64]
    report_: dict[str, Any]

    def __init__(
        self,
        model: Any,
        *,
        surrogate: Any = "margin",
        search: str = "auto",
        solver: str = "auto",
        max_bans: int | str = "auto",
        search_tolerance: float | str = "auto",
        search_calls: int | str = "auto",
        convex_passes: int | str = "auto",
        learning_rate: float | str = "auto",
        C: float = 1.0,
        tolerance: float = 0.01,
        max_passes: int = 50,
        seed: int = 0,
        threads: int = 1,
        time_limit_seconds: float | None = None,
        progress: Progress = False,
    ) -> None:
        self.model = model
        self.surrogate = surrogate
        self.search = search
        self.solver = solver
        self.max_bans = max_bans
        self.search_tolerance = search_tolerance
        self.search_calls = search_calls
        self.convex_passes = convex_passes
        self.learning_rate = learning_rate
        self.C = C
        self.tolerance = tolerance
        self.max_passes = max_passes
        self.seed = seed
        self.threads = threads
        self.time_limit_seconds = time_limit_seconds
        self.progress = progress

    def fit(self: Self, X: Any, y: Any, *, start: Any = None) -> Self:
        """Trains on the examples X and their labellings y, sequences of the same length.

        start: weights to start from, an array or a fitted StructuredSVM. sgd begins at them; the
        other solvers begin with the labellings that violate them most, and reach the same optimum
        as without a start.

        Raises ValueError and TypeError for wrong options and for wrong values of the model's
        methods, naming the example; exceptions of these methods are passed on as they are.
        """
        require_no_shards("StructuredSVM")
        for name in ("joint_feature", "loss", "argmax"):
            if not callable(getattr(self.model, name, None)):
                raise TypeError(
                    f"model is of type {type(self.model).__name__}, which has no method {name}; "
                    "see margrove.structured.Model"
                )
        names = [row[0] for row in _core.structured_options() if row[0] != "surrogate"]
        options = {name: option_text(getattr(self, name)) for name in names}
        with receiver(self.progress) as callback:
            weights, self.report_ = _core.train_structured(
                self.model,
                list(X),
                list(y),
                self.surrogate,
                options,
                _read_feature,
                _are_equal,
                self.threads,
                self.time_limit_seconds,
                callback,
                _read_start(start),
            )
        self.coef_ = weights.astype(np.float64)
        self._warn()
        return self

    def _warn(self) -> None:
        stop, gap = self.report_["stop"], self.report_["relative_gap"]
        if stop in ("pass_limit", "time_limit"):
            reason = "max_passes" if stop == "pass_limit" else "time_limit_seconds"
            state = "" if np.isnan(gap) else f" at a relative gap of {gap:.2g}"
            warnings.warn(f"{reason} ended training{state}", ConvergenceWarning, stacklevel=3)
        if not np.isnan(gap) and not self.report_["certified"]:
            warnings.warn(
                "some searches were not exact, so that the gap may be larger than reported; more "
                "of those by convex-hull are with a larger max_bans",
                UserWarning,
                stacklevel=3,
            )

    def predict(self, X: Any) -> list[Any]:
        """The labelling with the highest score of each example."""
        check_is_fitted(self, "coef_")
        return [self.model.argmax(x, self.coef_, None, 1.0, 0.0) for x in X]

    def score(self, X: Any, y: Any) -> float:
        """Minus the mean task loss, so that more is better."""
        predicted = self.predict(X)
        check_consistent_length(predicted, y)
        losses = [self.model.loss(a, b) for a, b in zip(y, predicted, strict=True)]
        return -float(np.mean(losses))


def _read_start(start: Any) -> NDArray[np.float32] | None:
    """The weights of an array or of a fitted estimator, as _core takes them."""
    if start is None:
        return None
    if isinstance(start, StructuredSVM):
        check_is_fitted(start, "coef_")
        start = start.coef_
    weights = np.asarray(start)
    if weights.dtype.kind not in "biuf":
        raise TypeError(f"start is of type {type(start).__name__}, but must be an array of numbers")
    if weights.ndim != 1 or not np.isfinite(weights).all():
        raise ValueError(
            f"start has shape {weights.shape}, but must have one axis, and only finite numbers"
        )
    return np.ascontiguousarray(weights, dtype=np.float32)


def _read_feature(value: Any, example: int) -> Any:
    """What joint_feature returned, as _core takes it."""
    if sp.issparse(value):
        row = sp.csr_array(value.reshape(1, -1) if value.ndim == 1 else value)
        if row.shape[0] != 1:
            raise ValueError(
                f"joint_feature of example {example} is a sparse matrix of shape {row.shape}, but "
                "must have one row"
            )
        if row.dtype.kind not in "biuf":
            raise TypeError(_not_numbers(example, row.dtype))
        if not row.has_canonical_format:
            row = row.copy()
            row.sum_duplicates()
        return row.shape[1], row.indices.astype(np.int64), row.data.astype(np.float64)
    try:
        array = np.asarray(value)
    except ValueError:  # ragged lists
        raise TypeError(_not_numbers(example, type(value).__name__)) from None
    if array.dtype.kind not in "biuf":
        raise TypeError(_not_numbers(example, array.dtype if array.ndim else type(value).__name__))
    if array.ndim != 1:
        raise ValueError(
            f"joint_feature of example {example} has shape {array.shape}, but must have one axis"
        )
    return np.ascontiguousarray(array, dtype=np.float64)


def _not_numbers(example: int, kind: object) -> str:
    return (
        f"joint_feature of example {example} is of type {kind}, but must be an array of numbers or "
        "a sparse row"
    )


def _are_equal(a: Any, b: Any) -> bool:
    """Whether two labellings are the same; arrays are compared by their elements."""
    if a is b:
        return True
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(a, b)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        pairs = zip(a, b, strict=False)
        return len(a) == len(b) and all(_are_equal(each, other) for each, other in pairs)
    return bool(a == b)
