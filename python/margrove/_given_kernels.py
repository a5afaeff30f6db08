"""Kernels that users give as matrices or as functions, in place of columns of features."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from margrove import _core
from margrove._records import num_rows_of

Function = Callable[[Any, Any], Any]
# "precomputed": X has the values. A function, or several by name, gives those of two sets of rows.
Kernels = Literal["precomputed"] | Function | Mapping[str, Function] | None
Ranges = Sequence[tuple[str, int, int]]

ONLY = "kernel"  # the name of a single kernel


def functions_of(kernel: Kernels) -> dict[str, Function]:
    """The functions by name; none for matrices. Raises ValueError for what is neither."""
    if isinstance(kernel, str):
        if kernel != "precomputed":
            raise ValueError(f"kernel is {kernel!r}, but must be 'precomputed' or a function")
        return {}
    functions = dict(kernel) if isinstance(kernel, Mapping) else {ONLY: kernel}
    for name, function in functions.items():
        if not callable(function):
            raise ValueError(f"kernel {name!r} is {function!r}, but must be a function")
    return functions  # type: ignore[return-value]


def values_of(function: Function, name: str, A: Any, B: Any) -> NDArray[np.float32]:
    """K(a, b) for rows a of A and b of B."""
    values = np.asarray(function(A, B), dtype=np.float32)
    shape = num_rows_of(A), num_rows_of(B)
    if values.shape != shape:
        raise ValueError(
            f"kernel {name!r} gave an array of shape {values.shape}, but must give {shape}"
        )
    return values


def check_matrices(matrices: Mapping[str, Any]) -> None:
    """Raises ValueError unless each is a square matrix, for training."""
    for name, matrix in matrices.items():
        shape = np.shape(matrix)
        if len(shape) != 2 or shape[0] != shape[1]:
            raise ValueError(
                f"X: kernel {name!r} has the shape {shape}, but must have a row and a column for "
                "each training row"
            )


def network_of(ranges: Ranges, *, are_views: bool) -> str:
    """The sum of the kernels, one for each range of columns, which may be a view of its name."""
    kernels = {
        name: {"type": "given"}
        | ({"view": name} if are_views else {"columns": f"{begin + 1}-{end}"})
        for name, begin, end in ranges
    }
    return json.dumps({"kernels": kernels, "shape": "one-layer"})


def support_of(model: _core.Model, ranges: Ranges) -> NDArray[np.int64]:
    """The training rows that the model refers to."""
    _, pointers, columns, _ = model.kernel_support
    _, begin, end = ranges[0]
    inside = columns[(begin <= columns) & (columns < end)]
    assert len(inside) == len(pointers) - 1  # each has a 1 in the column of its own row
    return inside.astype(np.int64) - begin


class FunctionRows:
    """The training rows that functions are called with in prediction."""

    def __init__(self, X: Any, support: NDArray[np.int64], ranges: Ranges) -> None:
        self._rows = _safe_indexing(X, support)
        self._support = support
        self._ranges = ranges

    def columns(self, functions: Mapping[str, Function], X: Any) -> sp.csr_array:
        """Rows of kernel values, as the model takes them; 0 in the columns that it does not use."""
        num_rows = num_rows_of(X)
        parts = []
        for name, begin, end in self._ranges:
            values = values_of(functions[name], name, X, self._rows)
            rows = np.repeat(np.arange(num_rows), len(self._support))
            columns = np.tile(self._support, num_rows)
            shape = num_rows, end - begin
            parts.append(sp.csr_array((values.ravel(), (rows, columns)), shape=shape))
        return sp.csr_array(sp.hstack(parts, format="csr"))
