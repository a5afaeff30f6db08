"""Between the labels that users have and the names and numbers that models have."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from margrove._types import Sets

# How the labels of a row are given and returned: one label; a row of a dense or sparse 0/1 matrix;
# a set.
Form = Literal["single", "indicator", "sparse", "sets"]


@dataclass(frozen=True)
class Targets:
    """y as classes and, of each row, the positions of its labels among them."""

    form: Form
    classes: NDArray[Any]
    pointers: NDArray[np.int64]
    positions: NDArray[np.uint32]

    def to_core(self) -> Sets:
        """As the extension takes them."""
        return self.pointers, self.positions

    @property
    def num_rows(self) -> int:
        """Rows of y."""
        return len(self.pointers) - 1


def _are_sets(y: Any) -> bool:
    """Whether y is a sequence of label sets rather than a matrix of 0 and 1."""
    if sp.issparse(y) or isinstance(y, str) or not len(y):
        return False
    if isinstance(y, np.ndarray) and (y.ndim != 1 or y.dtype != object):
        return False
    rows = list(y)
    if any(isinstance(row, set | frozenset) for row in rows):
        return True
    if not all(isinstance(row, list | tuple) for row in rows):
        return False
    return len({len(row) for row in rows}) > 1 or any(isinstance(v, str) for r in rows for v in r)


def classes_of(labels: Any) -> NDArray[Any]:
    """Sorted labels as an array: of objects where they have no common order."""
    labels = list(labels)
    try:
        ordered = sorted(labels)
    except TypeError:
        ordered = sorted(labels, key=lambda label: (type(label).__name__, str(label)))
    if len({type(label) for label in ordered}) <= 1:
        return np.array(ordered)
    array = np.empty(len(ordered), dtype=object)
    array[:] = ordered
    return array


def _from_sets(y: Sequence[Any]) -> Targets:
    sets = [set(row) for row in y]
    classes = classes_of(set().union(*sets))
    position = {label: i for i, label in enumerate(classes.tolist())}
    sizes = np.array([0, *(len(labels) for labels in sets)], dtype=np.int64)
    flat = [position[label] for labels in sets for label in labels]
    return Targets("sets", classes, np.cumsum(sizes), np.array(flat, dtype=np.uint32))


def read_targets(y: Any) -> Targets:
    """Raises ValueError for targets that are not classes."""
    if _are_sets(y):
        return _from_sets(y)
    check_classification_targets(y)
    if type_of_target(y) != "multilabel-indicator":
        classes, positions = np.unique(y, return_inverse=True)
        pointers = np.arange(len(positions) + 1, dtype=np.int64)
        return Targets("single", classes, pointers, positions.astype(np.uint32))
    names = getattr(y, "columns", None)
    matrix = sp.csr_array(y)
    matrix.eliminate_zeros()
    classes = np.arange(matrix.shape[1]) if names is None else np.asarray(names)
    return Targets(
        "sparse" if sp.issparse(y) else "indicator",
        classes,
        matrix.indptr.astype(np.int64),
        matrix.indices.astype(np.uint32),
    )


def write_targets(form: Form, classes: NDArray[Any], sets: Sets) -> Any:
    """Predictions in the form in which y was given."""
    pointers, positions = sets
    if form == "single":
        return classes[positions]
    if form == "sets":
        labels = classes[positions].tolist()
        return [set(labels[begin:end]) for begin, end in pairwise(pointers)]
    ones = np.ones(len(positions), dtype=np.int64)
    shape = (len(pointers) - 1, len(classes))
    matrix = sp.csr_matrix((ones, positions.astype(np.int32), pointers), shape=shape)
    return matrix if form == "sparse" else matrix.toarray()


def classes_of_names(names: Sequence[str]) -> NDArray[Any]:
    """The classes of a model from a file: whole numbers where all names are such, else strings."""
    try:
        numbers = [int(name) for name in names]
    except ValueError:
        return np.array(names)
    if [str(number) for number in numbers] != list(names):
        return np.array(names)
    return np.array(numbers)
