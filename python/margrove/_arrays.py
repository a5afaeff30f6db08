"""Conversion of matrices for the extension, and merging of equal rows."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from margrove import _core
from margrove._types import Csr, Sets


def csr_of(X: Any) -> Csr:
    """The arrays of a checked float32 matrix; a canonical CSR matrix is not copied."""
    rows = X if sp.issparse(X) else sp.csr_array(X)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    if rows.shape[1] > np.iinfo(np.int32).max:
        raise ValueError(f"X: it has {rows.shape[1]} columns, but must have fewer than 2**31")
    return (
        rows.shape[1],
        rows.indptr.astype(np.int64, copy=False),
        rows.indices.astype(np.int32, copy=False),
        rows.data,
    )


def require_finite(X: Any, where: str = "") -> None:
    """Raises ValueError for NaN and infinity in an array of floats, as the program does."""
    values = X.data if sp.issparse(X) else X
    if getattr(values, "dtype", np.dtype(object)).kind != "f":
        return
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(np.sum(values, dtype=np.float64)) or np.isfinite(values).all():
            return
        rows = sp.csr_array(X).astype(np.float32)
    try:
        _core.check_rows(csr_of(rows))
    except ValueError as error:
        raise ValueError(f"{where}{error}") from None


def merge_equal_rows(
    X: Csr, labels: Sets, weights: NDArray[np.float64] | None
) -> tuple[Csr, Sets, NDArray[np.float64] | None]:
    """Merges equal rows into one with the sum of their weights."""
    merged = _core.merge_equal_rows(X, labels, weights)
    if merged is None:
        return X, labels, weights
    rows, weights = merged
    num_columns, pointers, columns, values = X
    selected = sp.csr_array((values, columns, pointers), shape=(len(pointers) - 1, num_columns))
    pointers, positions = labels
    lengths = np.diff(pointers)[rows]
    first = pointers[rows]
    new_pointers = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    places = np.arange(new_pointers[-1]) + np.repeat(first - new_pointers[:-1], lengths)
    return csr_of(selected[rows]), (new_pointers, positions[places]), weights


def with_all_places(
    counts: NDArray[np.int64], classes: NDArray[np.int64], scores: NDArray[np.float32]
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The ranked classes of rows, of which row i has counts[i], with as many places for each row as
    the longest has. The places that a row lacks get classes of other rows, ascending, with the
    score -inf."""
    known = np.unique(classes)
    shape = (len(counts), int(counts.max()))
    all_classes, all_scores = np.empty(shape, classes.dtype), np.full(shape, -np.inf, scores.dtype)
    begin = 0
    for row, count in enumerate(counts.tolist()):
        own = classes[begin : begin + count]
        all_classes[row, :count] = own
        all_classes[row, count:] = np.setdiff1d(known, own)[: shape[1] - count]
        all_scores[row, :count] = scores[begin : begin + count]
        begin += count
    return all_classes.ravel(), all_scores.ravel()
