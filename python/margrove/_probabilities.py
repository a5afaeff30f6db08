"""Probabilities of labels and nodes, and predictions that use them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import update_wrapper
from itertools import pairwise
from types import MethodType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from margrove import _core
from margrove._types import Csr, Sets
from margrove.hierarchy import Hierarchy


@dataclass(frozen=True, slots=True)
class Calibration:
    """Probabilities are softmax(score / temperature).

    Where rows have several labels, that of each label is 1 / (1 + exp(-z)) with z = score /
    temperature + shift; scores of kernel ridge regression, which are estimates p, are first
    log(p / (1 - p)).
    """

    temperature: float
    num_rows: int
    # Expected calibration error of the most probable label, each half with the temperature and the
    # shift of the other half.
    error: float
    error_before: float  # with temperature 1, without shift
    shift: float = 0.0


def _gives_probabilities(estimator: "Probabilistic") -> bool:
    form = estimator._form if hasattr(estimator, "model_") else None
    if form == "sentences":
        raise AttributeError(
            f"this {type(estimator).__name__} is fitted on sentences and gives no probabilities"
        )
    if form not in (None, "single", "paths"):
        gives_some = estimator.model_.gives_probabilities
    else:
        is_calibrated = estimator.calibration > 0 or estimator.calibration_ is not None
        gives_some = estimator._logistic or is_calibrated
    if gives_some:
        return True
    raise AttributeError(
        f"this {type(estimator).__name__} gives no probabilities: set calibration to the share of "
        "rows to hold out for it, for example 0.2, or call calibrate() with other rows"
    )


class _WithProbabilities:
    """Makes a method that only estimators with probabilities have, as available_if of scikit-learn
    does, whose own message would not say how to get them."""

    def __init__(self, method: Callable[..., Any]) -> None:
        update_wrapper(self, method)  # type: ignore[arg-type]
        self._method = method

    def __get__(self, estimator: Any, owner: type) -> Any:
        if estimator is None:
            return self._method
        _gives_probabilities(estimator)
        return MethodType(self._method, estimator)


class Probabilistic:
    """Probabilities of estimators that predict one label per row."""

    _logistic: ClassVar[bool] = False  # scores are log odds: probabilities without calibration

    if TYPE_CHECKING:
        calibration: float
        threads: int
        classes_: NDArray[Any]
        hierarchy_: Hierarchy | None
        model_: _core.Model
        _form: str
        _label_of_class: NDArray[np.int64]
        _node_of_label: NDArray[Any]

        def _rows(self, X: Any) -> Csr: ...
        def _sets_of(self, X: Any, y: Any) -> tuple[Csr, Sets]: ...

    @property
    def calibration_(self) -> Calibration | None:
        """The calibration of a fitted model; None without one."""
        found = self.model_.calibration if hasattr(self, "model_") else None
        return None if found is None else Calibration(*found)

    def calibrate(self, X: Any, y: Any = None, sample_weight: Any = None) -> "Probabilistic":
        """Fits the temperature, and the shift where rows have several labels, on rows that `fit`
        did not see; `calibration_` has them and the errors. Rows count by their weights, >= 0."""
        check_is_fitted(self)
        rows, sets = self._sets_of(X, y)
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(
                sample_weight, rows[1][1:], dtype=np.float64, ensure_non_negative=True
            )
        self.model_.calibrate(rows, sets, weights, self.threads)
        return self

    @_WithProbabilities
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probabilities, one column per class.

        They sum to one, unless rows have several labels: each label then has a probability of its
        own, and kernel ridge regression gives that of the label or one below it.
        """
        rows = self._rows(X)
        return self.model_.probabilities(rows, False, self.threads)[:, self._label_of_class]

    @_WithProbabilities
    def predict_node_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability that the label is the node or below it, one column per node of `nodes_`.

        On a tree, the probabilities of the nodes at a depth and of the labels above it sum to one.
        Of rows with several labels, the probability that some label is the node or below it, where
        labels are independent of each other given the row; with kernel ridge regression its
        estimate for the node. It is never larger than that of a parent.
        """
        rows = self._rows(X)
        return self.model_.probabilities(rows, True, self.threads)

    @property
    def nodes_(self) -> NDArray[Any]:
        """All labels of the hierarchy and the data, inner nodes included, in the model's order."""
        return self._node_of_label

    def _check_one_label(self, what: str) -> None:
        if self._form not in ("single", "paths"):
            raise ValueError(f"{what}: rows have several labels, but must have one")

    def _confident(self, X: Any, min_confidence: float) -> Any:
        """The deepest nodes with at least the given probability; None where no root has it. Of rows
        with several labels the set of all of them."""
        if not 0 <= min_confidence <= 1:
            raise ValueError(f"min_confidence is {min_confidence}, but must be in [0, 1]")
        _gives_probabilities(self)
        if self._form not in ("single", "paths"):
            if self._form != "sets":
                raise ValueError(
                    "stop='inner': the labels of fit were an indicator matrix, which has no "
                    "columns for inner nodes; give sets"
                )
            pointers, lowest = self.model_.lowest_confident(
                self._rows(X), min_confidence, self.threads
            )
            found = self._node_of_label[lowest]
            return [set(found[begin:end].tolist()) for begin, end in pairwise(pointers.tolist())]
        chosen = self.model_.confident(self._rows(X), min_confidence, self.threads)
        nodes: NDArray[Any] = self._node_of_label[chosen]
        if (chosen < 0).any():
            nodes = nodes.astype(object)
            nodes[chosen < 0] = None
        return nodes

    def _cheapest(self, X: Any, cost: Any, stop: str) -> NDArray[Any]:
        """The labels, or nodes, of the least expected cost."""
        self._check_one_label("cost")
        _gives_probabilities(self)
        choices = self._label_of_class if stop == "leaf" else np.arange(len(self._node_of_label))
        if isinstance(cost, str):
            if cost != "path":
                raise ValueError(f"cost is {cost!r}, but must be 'path' or a matrix")
            expected = self._path_costs(X)[:, choices]
        else:
            matrix = np.asarray(cost, dtype=np.float64)
            shape = (len(self.classes_), len(choices))
            if matrix.shape != shape:
                names = "classes_" if stop == "leaf" else "nodes_"
                raise ValueError(
                    f"cost has the shape {matrix.shape}, but must have {shape}: a row for each of "
                    f"classes_ (the truth) and a column for each of {names} (the prediction)"
                )
            expected = self.predict_proba(X) @ matrix
        cheapest: NDArray[Any] = self._node_of_label[choices[np.argmin(expected, axis=1)]]
        return cheapest

    def _path_costs(self, X: Any) -> NDArray[np.float64]:
        """The expected number of nodes on one of the two paths only, for each predicted node.

        E|A(y) - A(n)| + E|A(n) - A(y)| = sum_m p_m + |A(n)| - 2 sum over m in A(n) of p_m.
        """
        probabilities = self.model_.probabilities(self._rows(X), True, self.threads)
        above = _ancestor_matrix(len(self._node_of_label), self.model_.edges)
        sizes = np.asarray(above.sum(axis=1)).ravel()
        total = probabilities.sum(axis=1, keepdims=True)
        costs: NDArray[np.float64] = total + sizes - 2 * (above @ probabilities.T).T
        return costs


def _ancestor_matrix(num_nodes: int, edges: NDArray[np.uint32]) -> sp.csr_array:
    """Row n has a 1 for each node of A(n)."""
    ones = np.ones(len(edges))
    up = sp.csr_array((ones, (edges[:, 1], edges[:, 0])), shape=(num_nodes, num_nodes))
    closed = sp.eye_array(num_nodes, format="csr")
    step = up
    while step.nnz:  # once for each level
        closed = closed + step
        step = step @ up
    closed.data[:] = 1
    return closed
