"""P@k, nDCG@k and propensity-scored P@k of rankings: one implementation for all systems of a table.

A ranking is an array with a row for each row of the test and a column for each place, the best
label first; -1 is an empty place. `truth` is the sparse 0/1 matrix of the rows' labels, with a
column for every label that a test row has, labels without a training row included: no system can
answer those, and all pay for them alike.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

# The constants of Jain et al. (2016) for data sets that have none of their own.
A, B = 0.55, 1.5


def inverse_propensities(counts: Any, rows: int) -> NDArray[np.float64]:
    """1 / p of each label: how many rows that should have the label stand behind one that has it,
    from the number of training rows with the label."""
    c = (np.log(rows) - 1) * (B + 1) ** A
    return np.asarray(1 + c * (np.asarray(counts, np.float64) + B) ** -A)


def hits_of(ranking: Any, truth: Any) -> NDArray[np.float64]:
    """1 where the label at a place is one of the row's."""
    ranking = np.asarray(ranking)
    rows = np.repeat(np.arange(ranking.shape[0]), ranking.shape[1])
    flat = ranking.ravel()
    found = np.asarray(sp.csr_matrix(truth)[rows, np.maximum(flat, 0)], np.float64).ravel()
    return np.where(flat < 0, 0.0, found).reshape(ranking.shape)


def precision(hits: NDArray[np.float64], k: int) -> float:
    return float(hits[:, :k].sum() / (k * len(hits)))


def ndcg(hits: NDArray[np.float64], sizes: Any, k: int) -> float:
    """The mean over rows; the best possible ranking has min(k, labels of the row) hits."""
    discounts = 1 / np.log2(np.arange(2, k + 2))
    gains = hits[:, :k] @ discounts[: hits.shape[1]]
    best = np.concatenate([[0.0], discounts.cumsum()])[np.minimum(sizes, k)]
    return float((gains / best).mean())


def psp(ranking: Any, truth: Any, inverse: NDArray[np.float64], k: int) -> float:
    """Propensity-scored precision: the sum over rows divided by the largest sum that any ranking
    has, as napkinXC and pyxclib normalise it."""
    ranking, truth = np.asarray(ranking)[:, :k], sp.csr_matrix(truth)
    gained = float((hits_of(ranking, truth) * inverse[np.maximum(ranking, 0)]).sum())
    best = 0.0
    for begin, end in zip(truth.indptr[:-1], truth.indptr[1:], strict=True):
        best += float(np.sort(inverse[truth.indices[begin:end]])[::-1][:k].sum())
    return gained / best


def figures(ranking: Any, truth: Any, inverse: NDArray[np.float64]) -> dict[str, float]:
    """The columns of the tables."""
    truth = sp.csr_matrix(truth)
    hits, sizes = hits_of(ranking, truth), np.diff(truth.indptr)
    values = {f"P@{k}": precision(hits, k) for k in (1, 5)}
    values |= {f"nDCG@{k}": ndcg(hits, sizes, k) for k in (5, 10)}
    return values | {f"PSP@{k}": psp(ranking, truth, inverse, k) for k in (1, 5)}
