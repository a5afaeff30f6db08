"""Conversion between the labels of users and the names and numbers of models."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from margrove import _core
from margrove._types import Sets
from margrove._unicode import first_fault, require_unicode
from margrove.hierarchy import Hierarchy, pairs_of_paths

# How the labels of a row are given and returned: one label; a row of a dense or sparse 0/1 matrix;
# a set; a path from a root down to the label.
Form = Literal["single", "indicator", "sparse", "sets", "paths"]


@dataclass(frozen=True)
class PathForm:
    """The form of paths in y and in predictions."""

    row: type  # of a path: tuple, list or np.ndarray
    width: int | None  # short paths are filled up to it with empty texts; None: they are not
    names: Mapping[str, Any]  # of each node, if nodes are told apart by their paths
    separator: str | None = None  # paths are texts, whose names are joined by it
    dtype: np.dtype[Any] | None = None  # of an array of numbers; NaN or "" fills short paths

    def write(self, paths: list[list[Any]]) -> Any:
        """Paths of nodes in this form."""
        if self.separator is not None:
            return np.array([self._text(path) for path in paths], dtype=object)
        named = [[self.names.get(node, node) for node in path] for path in paths]
        missing = "" if self.dtype is None or self.dtype.kind != "f" else np.nan
        is_full = True
        if self.width is not None:
            width = max([self.width, *map(len, named)])
            is_full = missing != "" or all(len(path) == width for path in named)
            named = [path + [missing] * (width - len(path)) for path in named]
        if self.row is np.ndarray:
            array = np.array(named, dtype=object)
            return array.astype(self.dtype) if self.dtype is not None and is_full else array
        return [self.row(path) for path in named]

    def read(self, paths: Any) -> Any:
        """The names of paths in this form."""
        if self.separator is None:
            return paths
        return [_core.split_path(text, self.separator) for text in paths]

    def _text(self, path: list[Any]) -> str:
        """The names joined; with backslashes only where they would be read as other names."""
        assert self.separator is not None
        names = [str(self.names.get(node, node)) for node in path]
        text = self.separator.join(names)
        if not names or _core.split_path(text, self.separator) == names:
            return text
        return path_id(names, self.separator)


@dataclass(frozen=True)
class Targets:
    """y as classes and, for each row, the positions of its labels among them."""

    form: Form
    classes: NDArray[Any]
    pointers: NDArray[np.int64]
    positions: NDArray[np.uint32]
    edges: tuple[tuple[Any, Any], ...] = ()  # of paths
    path_form: PathForm | None = None

    def meant(self, unlabelled: str) -> "Targets":
        """The same as sets if rows without a label have the empty set ("keep"). Raises ValueError
        for paths then."""
        if unlabelled != "keep":
            return self
        if self.form == "paths":
            raise ValueError(
                "unlabelled is 'keep', which makes label sets, but y has a path for each row; give "
                "the last node of each path as y, and the hierarchy"
            )
        return replace(self, form="sets") if self.form == "single" else self

    def hierarchy(self, given: Any) -> Hierarchy | None:
        """The given hierarchy, whose edges paths must use, or else the hierarchy of the paths."""
        if given is None:
            return Hierarchy.of_pairs(self.edges) if self.form == "paths" else None
        hierarchy = Hierarchy.of(given)
        self._require_nodes(hierarchy, given)
        known = {(str(p), str(c)) for p, c in hierarchy.edges}
        for parent, child in self.edges:
            if parent is not None and (str(parent), str(child)) not in known:
                raise ValueError(
                    f"y: a path goes from {parent!r} to {child!r}, which must be an edge of the "
                    f"hierarchy{self._sets_instead()}"
                )
        return hierarchy

    def in_hierarchy(self, given: Any) -> tuple["Targets", Hierarchy | None]:
        """The targets with nodes instead of their alternative ids, and `hierarchy(given)`."""
        if given is None:
            return self, self.hierarchy(None)
        known = Hierarchy.of(given)
        targets = self.as_nodes(known)
        targets._require_nodes(known, given)
        return targets, targets.hierarchy(known)

    def as_nodes(self, hierarchy: Hierarchy | None) -> "Targets":
        """The same with nodes instead of their alternative ids. Columns of matrices keep theirs."""
        pairs = hierarchy.alternatives if hierarchy is not None else ()
        node_of = {str(other): node for other, node in pairs}
        labels = self.classes.tolist()
        if self.form not in ("single", "sets") or not any(
            str(label) in node_of for label in labels
        ):
            return self
        nodes = [node_of.get(str(label), label) for label in labels]
        rows = [
            {nodes[position] for position in self.positions[begin:end].tolist()}
            for begin, end in pairwise(self.pointers)
        ]
        return replace(_from_sets(rows), form=self.form)

    def _require_nodes(self, hierarchy: Hierarchy, given: Any) -> None:
        """Raises ValueError for the first label that is no node of the hierarchy."""
        nodes = {str(node) for node in hierarchy.nodes}
        unknown = [k for k, label in enumerate(self.classes.tolist()) if str(label) not in nodes]
        places = np.flatnonzero(np.isin(self.positions, unknown))
        if places.size == 0:
            return
        row = int(np.searchsorted(self.pointers, places[0], side="right")) - 1
        label = self.classes.tolist()[self.positions[places[0]]]
        source = f" {os.fspath(given)}" if isinstance(given, str | os.PathLike) else ""
        raise ValueError(
            f"y: row {row}: label is {label!r}, but must be a node of the hierarchy{source}; add "
            "it there, or leave the row out"
        )

    def _sets_instead(self) -> str:
        return sets_instead(self.path_form.row) if self.path_form is not None else ""

    def to_core(self) -> Sets:
        """The labels for the extension."""
        return self.pointers, self.positions

    def first_row_of(self, position: int) -> int:
        """The first row with a class."""
        place = int(np.flatnonzero(self.positions == position)[0])
        return int(np.searchsorted(self.pointers, place, side="right")) - 1

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
    """Sorted labels as an array; an array of objects if they have no common order."""
    labels = list(labels)
    try:
        ordered = sorted(labels)
    except TypeError:
        ordered = sorted(labels, key=lambda label: (type(label).__name__, str(label)))
    return array_of(ordered)


def array_of(labels: list[Any]) -> NDArray[Any]:
    """An array with the type of the labels, or of objects if they have several types."""
    if len({type(label) for label in labels}) <= 1:
        return np.array(labels)
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array


def _from_sets(y: Sequence[Any]) -> Targets:
    sets = [set(row) for row in y]
    classes = classes_of(set().union(*sets))
    position = {label: i for i, label in enumerate(classes.tolist())}
    sizes = np.array([0, *(len(labels) for labels in sets)], dtype=np.int64)
    flat = [position[label] for labels in sets for label in labels]
    return Targets("sets", classes, np.cumsum(sizes), np.array(flat, dtype=np.uint32))


def _are_paths(y: Any) -> bool:
    """Whether the rows of y are paths: tuples, lists with texts, rows of an array or frame of
    texts, or of whole numbers other than 0 and 1."""
    if isinstance(y, list | tuple):
        if not len(y) or not all(isinstance(row, list | tuple) for row in y):
            return False
        if all(isinstance(row, tuple) for row in y):
            return any(isinstance(cell, str) or cell not in (0, 1) for row in y for cell in row)
        return any(isinstance(cell, str) for row in y for cell in row)
    if hasattr(y, "columns") and hasattr(y, "to_numpy"):
        y = y.to_numpy()
    if not isinstance(y, np.ndarray) or y.ndim != 2 or y.shape[1] < 2:
        return False
    if y.dtype == object:
        has_text = any(isinstance(cell, str) for row in y for cell in row)
        return has_text or _are_numbers_of_paths(y)
    return y.dtype.kind in "UST" or (y.dtype.kind in "iuf" and _are_numbers_of_paths(y))


def sets_instead(row: type) -> str:
    """The end of a message on paths that may be meant as label sets; empty for arrays."""
    if row is np.ndarray:
        return ""
    return (
        "; rows of y that are lists or tuples are paths from a root down to the label: give "
        "several labels of a row as a set, {'a', 'b'}"
    )


def _are_numbers_of_paths(y: NDArray[Any]) -> bool:
    """Whether an array has whole numbers other than 0 and 1, or NaN for levels that are missing."""
    try:
        numbers = y.astype(np.float64)
    except (TypeError, ValueError):
        return False
    present = numbers[~np.isnan(numbers)]
    is_whole = np.isfinite(present).all() and (present == np.floor(present)).all()
    return bool(is_whole and not np.isin(present, (0, 1)).all())


SEPARATOR = " > "


def path_id(names: Sequence[Any], separator: str = SEPARATOR) -> str:
    """The id of a node that is identified by its path, as in `margrove train --path-columns`."""
    mark = _mark_of(separator)
    texts = [str(name) for name in names]
    return separator.join(text.replace("\\", "\\\\").replace(mark, f"\\{mark}") for text in texts)


def _mark_of(separator: str) -> str:
    """The character of the separator that names have to escape."""
    return (separator.lstrip(" \t") or separator)[0]


def name_of_path_id(node: str, separator: str = SEPARATOR) -> str:
    """The last name of the path."""
    escaped = rf"\\([\\{re.escape(_mark_of(separator))}])"
    return re.sub(escaped, r"\1", node.rsplit(separator, 1)[-1])


def are_path_ids(edges: Sequence[tuple[Any, Any]], separator: str = SEPARATOR) -> bool:
    """Whether the nodes of the edges (parent, child) are ids of paths."""
    return bool(edges) and all(str(c).startswith(f"{p}{separator}") for p, c in edges)


def _rows_of_paths(y: Any) -> tuple[Any, PathForm]:
    """The rows and their form, without names."""
    if not isinstance(y, list | tuple):
        rows = y.to_numpy() if hasattr(y, "to_numpy") else y
        width = rows.shape[1]
        dtype = rows.dtype if rows.dtype.kind in "iuf" else None
        if rows.dtype.kind == "f":  # whole numbers, in an array that needs NaN
            rows = [[None if np.isnan(cell) else int(cell) for cell in row] for row in rows]
        return rows, PathForm(np.ndarray, width, {}, dtype=dtype)
    row = tuple if all(isinstance(path, tuple) for path in y) else list
    is_table = row is list and len({len(path) for path in y}) == 1
    return y, PathForm(row, len(y[0]) if is_table else None, {})


def targets_of_paths(y: Any, separator: str = SEPARATOR, *, by_name: bool = False) -> Targets:
    """Paths as classes and positions; nodes are paths, or (by_name) names."""
    rows, form = _rows_of_paths(y)
    paths: list[list[Any]] = []
    try:
        edges = dict.fromkeys(pairs_of_paths(rows, "y", paths))
    except ValueError as error:
        raise ValueError(f"{error}{sets_instead(form.row)}") from None
    empty = next((number for number, path in enumerate(paths) if not path), None)
    if empty is not None:
        raise ValueError(f"y: row {empty} is empty, but must be a path{sets_instead(form.row)}")
    names: dict[str, Any] = {}
    if not by_name:
        known: dict[tuple[Any, ...], list[str]] = {}
        for number, path in enumerate(paths):
            key = tuple(path)
            if key not in known:
                known[key] = [path_id(path[: n + 1], separator) for n in range(len(path))]
                names.update(zip(known[key], path, strict=True))
            paths[number] = known[key]
        edges = dict.fromkeys(pair for path in known.values() for pair in pairwise([None, *path]))
    classes = classes_of({path[-1] for path in paths})
    position = {label: i for i, label in enumerate(classes.tolist())}
    positions = np.array([position[path[-1]] for path in paths], dtype=np.uint32)
    pointers = np.arange(len(paths) + 1, dtype=np.int64)
    form = replace(form, names=names)
    return Targets("paths", classes, pointers, positions, tuple(edges), form)


def is_missing(label: Any) -> bool:
    """Whether a label is None, NaN, NA, NaT or blank text."""
    if isinstance(label, str):
        return not label.strip()
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(label, np.datetime64):
        return bool(np.isnat(label))
    return isinstance(label, float | np.floating) and bool(np.isnan(label))


def _as_given(y: Any) -> Any:
    """y as a list, if it is a column of collections or has missing values; otherwise y itself. A
    list, a tuple, a Series and an array of the same rows so mean the same."""
    if (
        sp.issparse(y)
        or isinstance(y, str)
        or getattr(y, "ndim", 1) != 1
        or not hasattr(y, "__len__")
    ):
        return y
    if isinstance(y, np.ndarray) and y.dtype.kind in "biu":
        return y
    if isinstance(y, list | tuple):
        rows = list(y)
    else:  # Series of pandas and Polars, arrays of NumPy and PyArrow
        listed = next((n for n in ("to_pylist", "to_list", "tolist") if hasattr(y, n)), None)
        if listed is None or hasattr(y, "columns"):
            return y
        rows = list(getattr(y, listed)())
    rows = [row.tolist() if isinstance(row, np.ndarray) and row.ndim == 1 else row for row in rows]
    is_special = any(
        isinstance(row, list | tuple | set | frozenset) or is_missing(row) for row in rows
    )
    # Numbers in an array of objects are labels, too, which scikit-learn would not take.
    is_special |= getattr(y, "dtype", None) == np.dtype(object) and {*map(type, rows)} == {int}
    return (tuple(rows) if isinstance(y, tuple) else rows) if is_special else y


def rows_with_labels(y: Any) -> NDArray[np.int64] | None:
    """The rows whose label is not missing; None if none is."""
    y = _as_given(y)
    if not isinstance(y, list | tuple) or not any(is_missing(row) for row in y):
        return None
    return np.array([k for k, row in enumerate(y) if not is_missing(row)], dtype=np.int64)


def read_targets(y: Any, *, paths_by_name: bool = False) -> Targets:
    """y as classes and positions. The nodes of paths are identified by their paths, or by their
    names if paths_by_name. Rows whose label is missing have none. Raises ValueError for targets
    that are not classes."""
    y = _as_given(y)
    present = rows_with_labels(y)
    if present is None:
        return _checked(_read_present(y, paths_by_name=paths_by_name))
    if not present.size:
        raise ValueError("y: every label is missing, but must be there in some rows")
    targets = _read_present([y[k] for k in present.tolist()], paths_by_name=paths_by_name)
    sizes = np.zeros(len(y), dtype=np.int64)
    sizes[present] = np.diff(targets.pointers)
    return _checked(replace(targets, pointers=np.concatenate([[0], np.cumsum(sizes)])))


def _checked(targets: Targets) -> Targets:
    """The same. Raises ValueError for a label that is no Unicode, naming its row."""
    labels = targets.classes.tolist()
    fault = first_fault(labels)
    if fault is not None:
        has_row = bool(np.any(targets.positions == fault))
        place = f"row {targets.first_row_of(fault)}: label" if has_row else f"column {fault}"
        require_unicode(labels[fault], f"y: {place}")
    return targets


def _read_present(y: Any, *, paths_by_name: bool) -> Targets:
    if _are_paths(y):
        return targets_of_paths(y, by_name=paths_by_name)
    if _are_sets(y):
        return _from_sets(y)
    check_classification_targets(y)
    kind = type_of_target(y)
    if kind == "multiclass-multioutput":
        raise ValueError(
            "y: its rows have several numbers other than 0 and 1; give sets of labels, {1, 2}, or "
            "paths as tuples, (1, 2), or as an array"
        )
    if kind != "multilabel-indicator":
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
    """Predictions in the form of y."""
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
    """The classes of a model from a file: integers if all names are integers, else strings."""
    try:
        numbers = [int(name) for name in names]
    except ValueError:
        return np.array(names)
    if [str(number) for number in numbers] != list(names):
        return np.array(names)
    return np.array(numbers)


def may_be_plural(y: Any) -> bool:
    """Whether y may hold more than one label per row; y itself is checked later."""
    shape: tuple[int, ...] = getattr(y, "shape", ())  # frames of Polars have no ndim
    if sp.issparse(y) or (len(shape) == 2 and shape[1] > 1):
        return True
    if isinstance(y, list | tuple) or np.dtype(object) is getattr(y, "dtype", None):
        return any(isinstance(row, set | frozenset | list | tuple | np.ndarray) for row in y)
    return False
