"""The forms in which a hierarchy of labels may be given."""

import math
import os
import warnings
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from margrove import _core
from margrove._types import Edges
from margrove._unicode import first_fault, require_unicode

Pair = tuple[Any, Any]


@dataclass(frozen=True)
class Hierarchy:
    """Nodes and (parent, child) edges: a tree, a forest or a directed acyclic graph.

    `alternatives` are pairs (alternative id, node), as OBO has them (`alt_id`): labels with such
    ids stand for their nodes. Models keep them. `names` are the names of each node, one a line, or
    empty: what `match_names` compares texts with; `with_names` sets them.
    """

    nodes: tuple[Any, ...]
    edges: tuple[Pair, ...]
    alternatives: tuple[Pair, ...] = ()
    names: tuple[str, ...] = field(default=(), compare=False, repr=False)

    @classmethod
    def of(cls, given: Any) -> "Hierarchy":
        """A hierarchy from one of these forms:

        - a file's path: lines `parent child`, paths `A > B > C`, OBO or SKOS (Turtle, N-Triples,
          RDF/XML);
        - an edge list: pairs (parent, child), also an array of two columns;
        - a dict: child -> parent (None for roots), or parent -> list, tuple or set of children;
        - a networkx DiGraph whose edges point from parents to children;
        - a pandas or Polars frame of paths: a row is a path from a root, one column per level,
          missing or empty cells after its end. A name must not have two parents, because labels
          name nodes. Paths as `y` allow it; an edge list makes one node of them;
        - a sequence of paths, at least one of which has three or more names: the same.

        Raises ValueError for anything else. Cycles are found when training starts.
        """
        if isinstance(given, Hierarchy):
            return given
        if isinstance(given, str | os.PathLike):
            return cls.read(given)
        if isinstance(given, Mapping):
            return cls.of_pairs(_pairs_of_mapping(given))
        if hasattr(given, "is_directed"):
            if not given.is_directed():
                raise ValueError("hierarchy: the graph is undirected, but must be a DiGraph")
            return cls.of_pairs(given.edges(), given.nodes())
        is_frame = hasattr(given, "columns")
        if is_frame or isinstance(given, Iterable):
            rows = list(_rows_of_frame(given) if is_frame else given)
            has_paths = is_frame or _are_paths(rows)
            return cls.of_pairs(
                (_pairs_of_unambiguous_paths if has_paths else _checked_pairs)(rows)
            )
        raise ValueError(
            f"hierarchy: it is a {type(given).__name__}, but must be a path, an edge list, a dict, "
            "a DiGraph or a frame of paths"
        )

    @classmethod
    def read(
        cls, path: str | os.PathLike[str], part_of: bool = False, language: str = ""
    ) -> "Hierarchy":
        """A hierarchy from a file, as `of` reads it; of OBO with the edges of the relationship
        part_of, too, if part_of is true; of SKOS with the names in a language such as "fi"."""
        names, edges, alternatives, messages, of_nodes = _core.read_hierarchy(
            os.fspath(path), part_of, language
        )
        for message in messages:
            warnings.warn(message, UserWarning, stacklevel=2)
        pairs = tuple((names[p], names[c]) for p, c in edges)
        others = tuple((other, names[n]) for other, n in alternatives)
        return cls(tuple(names), pairs, others, tuple(of_nodes))

    @classmethod
    def of_pairs(cls, pairs: Iterable[Pair], nodes: Iterable[Any] = ()) -> "Hierarchy":
        """From pairs (parent, child); the parent of a root is None. Repeated pairs count once."""
        edges: dict[Pair, None] = {}
        seen: dict[Hashable, None] = dict.fromkeys(map(_plain, nodes))
        for pair in pairs:
            parent, child = map(_plain, pair)
            for node in (parent, child):
                if not _missing(node):
                    seen.setdefault(node)
            if not _missing(parent):
                edges.setdefault((parent, child))
        return cls(tuple(seen), tuple(edges))

    @classmethod
    def of_names(cls, names: Mapping[Any, str | Iterable[str]]) -> "Hierarchy":
        """Labels without edges and their names, for `match_names` where there is no hierarchy: a
        dict label -> name or list of names, which may be empty. It must have all labels of `y`, and
        may have others."""
        return cls.of_pairs((), names).with_names(names)

    def with_names(self, names: Mapping[Any, str | Iterable[str]]) -> "Hierarchy":
        """The same with other names: a dict node -> name or names. The nodes that it lacks keep
        theirs. Raises ValueError for a label that is no node."""
        number = {str(node): k for k, node in enumerate(self.nodes)}
        of_nodes = list(self.names) or [""] * len(self.nodes)
        for label, given in names.items():
            node = number.get(str(_plain(label)))
            if node is None:
                raise ValueError(
                    f"hierarchy: names are given for {label!r}, which must be a node of it"
                )
            several = [given] if isinstance(given, str) else list(given)
            wrong = next((name for name in several if not isinstance(name, str)), None)
            if wrong is not None:
                raise ValueError(f"hierarchy: a name of {label!r} is {wrong!r}, but must be a str")
            of_nodes[node] = "\n".join(several)
        return replace(self, names=tuple(of_nodes))

    def parents(self) -> dict[Any, list[Any]]:
        """The parents of every node."""
        above: dict[Any, list[Any]] = {node: [] for node in self.nodes}
        for parent, child in self.edges:
            above[child].append(parent)
        return above

    def to_core(self) -> Edges:
        """Names, edges and alternative ids for the extension."""
        number = {node: i for i, node in enumerate(self.nodes)}
        edges = np.array([(number[p], number[c]) for p, c in self.edges], dtype=np.uint32)
        fault = first_fault(self.nodes)
        if fault is not None:
            require_unicode(self.nodes[fault], f"hierarchy: node {fault}")
        unknown = next((node for _, node in self.alternatives if node not in number), None)
        if unknown is not None:
            raise ValueError(
                f"hierarchy: an alternative id stands for {unknown!r}, which is no node"
            )
        alternatives = [(str(other), number[node]) for other, node in self.alternatives]
        return [str(node) for node in self.nodes], edges.reshape(-1, 2), alternatives


def read_annotations(
    path: str | os.PathLike[str], evidence: Iterable[str] = (), aspects: Iterable[str] = ()
) -> dict[str, list[str]]:
    """The terms of objects such as genes, from a gene annotation file (GAF).

    evidence: only annotations with these codes, such as "EXP". aspects: only terms of these
    aspects, letters of F, P and C. Empty: all. Annotations that say NOT are left out, and so are
    malformed lines, with a warning that counts them.
    """
    if isinstance(evidence, str):
        raise ValueError(f"evidence: it is {evidence!r}, but must be a list of codes")
    terms, messages = _core.read_annotations(os.fspath(path), list(evidence), "".join(aspects))
    for message in messages:
        warnings.warn(message, UserWarning, stacklevel=2)
    return terms


class Paths:
    """Ancestors of labels, parents before children."""

    def __init__(self, hierarchy: Hierarchy | None) -> None:
        self._parents = {} if hierarchy is None else hierarchy.parents()
        self._known: dict[Any, list[Any]] = {}

    def of(self, labels: Sequence[Any]) -> list[Any]:
        found: dict[Any, None] = {}
        for label in labels:
            found.update(dict.fromkeys(self._above(label)))
        return list(found)

    def _above(self, label: Any) -> list[Any]:
        if label not in self._known:
            above: dict[Any, None] = {}
            for parent in self._parents.get(label, ()):
                above.update(dict.fromkeys(self._above(parent)))
            self._known[label] = [*above, label]
        return self._known[label]


def _plain(value: Any) -> Any:
    """A NumPy scalar as a Python value, so that 3 and np.int64(3) have the same text."""
    return value.item() if isinstance(value, np.generic) else value


def _missing(value: Any) -> bool:
    return value is None or value == "" or (isinstance(value, float) and math.isnan(value))


def _rows_of_frame(frame: Any) -> Iterable[Any]:
    """The rows of a Polars or pandas frame."""
    rows: Iterable[Any] = frame.iter_rows() if hasattr(frame, "iter_rows") else frame.to_numpy()
    return rows


def _are_paths(rows: Sequence[Any]) -> bool:
    """Whether the rows are paths and not edges; paths of two nodes are the same as edges."""
    if not all(isinstance(row, list | tuple | np.ndarray) for row in rows):
        return False
    return any(len(row) > 2 for row in rows)


def _checked_pairs(given: Iterable[Any]) -> Iterator[Pair]:
    for number, edge in enumerate(given):
        if isinstance(edge, str) or not hasattr(edge, "__len__") or len(edge) != 2:
            raise ValueError(
                f"hierarchy: edge {number} is {edge!r}, but must be a pair (parent, child)"
            )
        if any(_missing(_plain(node)) for node in edge):
            raise ValueError(f"hierarchy: edge {number} is {edge!r}, but must name two nodes")
        yield edge[0], edge[1]


def _pairs_of_mapping(given: Mapping[Any, Any]) -> Iterator[Pair]:
    for key, value in given.items():
        if isinstance(value, list | tuple | set | frozenset):
            yield None, key
            for child in value:
                yield key, child
        else:
            yield value, key


def _pairs_of_unambiguous_paths(rows: Iterable[Iterable[Any]]) -> Iterator[Pair]:
    """The pairs of paths in which every name is one node."""
    places: dict[Any, tuple[Any, int]] = {}
    for number, row in enumerate(rows):
        for parent, child in pairs_of_paths([row], first=number):
            known, earlier = places.setdefault(child, (parent, number))
            if known != parent:
                below = "a root" if known is None else f"below {known!r}"
                raise ValueError(
                    f"hierarchy: {child!r} is {below} in row {earlier} and "
                    f"{'a root' if parent is None else f'below {parent!r}'} in row {number}; give "
                    "the paths as y, where they are different nodes, or an edge list, where they "
                    "are one"
                )
            yield parent, child


def pairs_of_paths(
    rows: Iterable[Iterable[Any]],
    source: str = "hierarchy",
    paths: list[list[Any]] | None = None,
    first: int = 0,
) -> Iterator[Pair]:
    """The pairs (parent, child) of paths with missing or empty cells below their ends; a root's
    parent is None. The paths themselves are appended to `paths`. Rows count from `first`."""
    for number, row in enumerate(rows, first):
        cells = [_plain(cell) for cell in row]
        path = [cell for cell in cells if not _missing(cell)]
        if path != cells[: len(path)]:
            raise ValueError(f"{source}: row {number} is {cells}, but must be a path without gaps")
        if paths is not None:
            paths.append(path)
        if path:
            yield None, path[0]
            yield from pairwise(path)
