"""The weights of linear models as coefficients of classes."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from margrove import _core


class Linear:
    """`coef_` and `intercept_`: `X @ coef_.T + intercept_` is `decision_function(X)`."""

    classes_: NDArray[Any]
    model_: _core.Model
    _form: str
    _label_of_class: NDArray[np.int64]

    @property
    def coef_(self) -> Any:
        """The coefficients, (classes, features); with two classes one row, as in scikit-learn.

        In a hierarchy they are the sums over the nodes from the root down to the class. A
        numpy.ndarray, or a scipy.sparse.csr_array where the model stores its weights sparsely. For
        columns before scaling. They are computed at each use, in O(nodes x features) or in the time
        that sparse weights take. AttributeError for models that are not linear.
        """
        sums, weights, bias, _ = self._linear_parts("coef_")
        rows = (sums @ (weights[:-1] if bias > 0 else weights).T).astype(np.float32)
        return self._by_class(sp.csr_array(rows) if sp.issparse(rows) else rows)

    @property
    def intercept_(self) -> NDArray[np.float32]:
        """The intercepts, (classes,), or (1,) with two classes; -inf for a class that is never
        predicted. AttributeError for models that are not linear."""
        sums, weights, bias, is_predicted = self._linear_parts("intercept_")
        last = weights[[-1]]
        own = bias * (last.toarray() if sp.issparse(last) else last).ravel()
        intercepts = np.where(is_predicted, sums @ own, -np.inf).astype(np.float32)
        return np.asarray(self._by_class(intercepts))

    def _linear_parts(self, name: str) -> tuple[sp.csr_array, Any, float, NDArray[np.bool_]]:
        """The nodes above each class, U (features, then the intercept if the bias is not 0; one
        column per node), the bias, and which classes are ever predicted."""
        check_is_fitted(self)
        try:
            weights, bias, edges, label_of_node, candidates, _ = self.model_.linear_parts
        except ValueError as error:
            raise AttributeError(f"{name}: {error}") from error
        if not isinstance(weights, np.ndarray):
            columns, pointers, indices, values = weights
            shape = (len(pointers) - 1, columns)
            weights = sp.csr_array((values, indices, pointers), shape=shape)
        node_of_label = np.full(len(self.model_.labels), -1, dtype=np.int64)
        node_of_label[label_of_node[candidates]] = candidates
        nodes = node_of_label[self._label_of_class]
        sums = _paths(edges, len(label_of_node))[np.maximum(nodes, 0)]
        return sums, weights, bias, nodes >= 0

    def _by_class(self, values: Any) -> Any:
        if self._form in ("single", "paths") and len(self.classes_) == 2:
            return values[[1]] - values[[0]]
        return values


def _paths(edges: NDArray[np.uint32], num_nodes: int) -> sp.csr_array:
    """(nodes, nodes): one where the column's node is the row's node or lies above it."""
    parents = sp.csr_array(
        (np.ones(len(edges), dtype=np.float32), (edges[:, 1], edges[:, 0])),
        shape=(num_nodes, num_nodes),
    )
    above = sp.eye_array(num_nodes, dtype=np.float32, format="csr")
    step = above
    while (step := step @ parents).nnz:
        above = above + step
    above.data[:] = 1  # nodes of a DAG count once, however many ways lead up to them
    return sp.csr_array(above)
