"""Hierarchies of labels, as models keep them."""

from collections.abc import Iterable, Sequence


class Graph:
    """Nodes with all their ancestors, themselves included."""

    def __init__(self, num_nodes: int, edges: Iterable[Sequence[int]]) -> None:
        self.parents: list[list[int]] = [[] for _ in range(num_nodes)]
        inner = set()
        for parent, child in edges:
            self.parents[child].append(int(parent))
            inner.add(int(parent))
        self.leaves = [n for n in range(num_nodes) if n not in inner]

    def above(self, node: int) -> frozenset[int]:
        found = {node}
        waiting = [node]
        while waiting:
            for parent in self.parents[waiting.pop()]:
                if parent not in found:
                    found.add(parent)
                    waiting.append(parent)
        return frozenset(found)

    def above_all(self, nodes: Iterable[int]) -> frozenset[int]:
        return frozenset().union(*map(self.above, nodes))

    def levels(self) -> list[int]:
        """The depth of inner nodes (here always below 62), and one level for all leaves."""
        leaves = set(self.leaves)
        inner = {n: self.depth(n) for n in range(len(self.parents)) if n not in leaves}
        last = max(inner.values(), default=-1) + 1
        return [inner.get(n, last) for n in range(len(self.parents))]

    def depth(self, node: int) -> int:
        """Edges of the longest path from a root."""
        return max((self.depth(parent) + 1 for parent in self.parents[node]), default=0)
