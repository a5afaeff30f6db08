"""Vectors that rows have beside a sparse matrix."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

_ROWS_TOGETHER = 1024


def with_vectors(X: Any, vectors: Any, share: float = 0.7) -> sp.csr_array:
    """The columns of a sparse X and those of a dense array of the same rows, side by side.

    Returns a CSR array of float32. Its first columns are those of X, times sqrt(1 - share). Its
    last ones are the vectors, each scaled to the norm sqrt(share); zeros stay as explicit entries,
    so that all rows have these columns, which the linear solvers notice and treat as a dense array.
    Where rows of X have norm 1, as TextFeatures makes them, rows of the result have, too, and
    `share` is the share of the vector in the squared norm. Rows of X are not scaled to norm 1 here.
    A row of X without entries keeps its vector, and a vector of zeros stays zero.

    A row of the result depends on that row alone: call it with the rows of `predict` as with those
    of `fit`.

    X: a sparse matrix or what can be made one. vectors: an array of numbers, or a file of NumPy
    that `numpy.load` has opened. share: in (0, 1). Raises ValueError if the numbers of rows differ,
    and for vectors that are not finite numbers of float32.
    """
    if not 0 < share < 1:
        raise ValueError(f"share is {share!r}, but must be in (0, 1)")
    rows = sp.csr_array(X, dtype=np.float32)
    if sp.issparse(vectors):
        raise ValueError("vectors: it is sparse, but must be a dense array")
    E = np.asarray(vectors)
    for name, matrix in (("X", rows), ("vectors", E)):
        if matrix.ndim != 2:
            raise ValueError(
                f"{name}: it has the shape {matrix.shape}, but must have two dimensions, rows and "
                "columns"
            )
    if len(E) != rows.shape[0]:
        raise ValueError(f"vectors: it has {len(E)} rows, but must have {rows.shape[0]} as X")
    pointers = np.arange(len(E) + 1, dtype=np.int64) * E.shape[1]
    columns = np.tile(np.arange(E.shape[1], dtype=np.int32), len(E))
    block = sp.csr_array((_scaled(E, share**0.5).ravel(), columns, pointers), shape=E.shape)
    return sp.csr_array(sp.hstack([rows * np.float32((1 - share) ** 0.5), block], format="csr"))


def _scaled(E: NDArray[Any], norm: float) -> NDArray[np.float32]:
    """Rows of this norm. The sums are those of the program, in its order, to the last bit."""
    scaled = np.empty(E.shape, dtype=np.float32)
    for begin in range(0, len(E), _ROWS_TOGETHER):
        with np.errstate(over="ignore"):
            narrow = E[begin : begin + _ROWS_TOGETHER].astype(np.float32)
        if not np.isfinite(narrow).all():
            i, j = np.argwhere(~np.isfinite(narrow))[0]
            raise ValueError(
                f"vectors[{begin + i}, {j}] is {E[begin + i, j]}, but must be a number that fits a "
                "32-bit float, not NaN or infinity"
            )
        wide = narrow.astype(np.float64)
        squares = np.zeros(len(wide))
        for column in wide.T:
            squares += column * column
        factors = np.divide(norm, np.sqrt(squares), out=np.zeros(len(wide)), where=squares > 0)
        scaled[begin : begin + len(wide)] = factors[:, None] * wide
    return scaled
