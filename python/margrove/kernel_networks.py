"""Networks of kernels for the kernel classifiers."""

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["KernelNetwork"]


class KernelNetwork:
    """Builds a sum-product network; `build` gives the dict that `network=` takes.

        b = KernelNetwork()
        colour = b.kernel("colour", type="gaussian", view="colour", widths=[0.5, 1])
        shape = b.kernel("shape", type="linear", view="shape")
        either = b.sum(colour, shape)
        both = b.product(b.sum(colour), b.sum(shape), name="both", p=1.5)
        network = b.build(b.sum(b.product(either), both))

    Sums and products alternate, and the root is a sum. Every call returns the name of its node,
    which may be used several times. Product nodes have the weights that are learned; `p` is the
    exponent of their penalty (None: that of the estimator). docs/spn_mkl.md lists the fields of
    kernels and the named shapes. `fit` raises ValueError for a wrong network.
    """

    def __init__(self) -> None:
        self._kernels: dict[str, dict[str, Any]] = {}
        self._nodes: dict[str, dict[str, Any]] = {}

    def kernel(self, name: str, **fields: Any) -> str:
        """A kernel, or a family of kernels if `widths` or `degrees` lists several values."""
        self._require_new(name)
        self._kernels[name] = fields
        return name

    def sum(self, *children: str, name: str | None = None) -> str:
        """A sum node. A kernel among the children is a product with that kernel only."""
        return self._add("sum", children, name, {})

    def product(self, *children: str, name: str | None = None, p: float | None = None) -> str:
        """A product node: the entry-wise product of its children, times the node's weight."""
        return self._add("product", children, name, {} if p is None else {"p": p})

    def build(self, root: str) -> dict[str, Any]:
        """The network below `root`."""
        return {"kernels": dict(self._kernels), "nodes": dict(self._nodes), "root": root}

    def _add(
        self, kind: str, children: Sequence[str], name: str | None, fields: Mapping[str, Any]
    ) -> str:
        name = f"{kind} {len(self._nodes) + 1}" if name is None else name
        self._require_new(name)
        for child in children:
            if child not in self._kernels and child not in self._nodes:
                raise ValueError(f"network: {name!r} has the child {child!r}, which does not exist")
        self._nodes[name] = {kind: list(children), **fields}
        return name

    def _require_new(self, name: str) -> None:
        if name in self._kernels or name in self._nodes:
            raise ValueError(f"network: two nodes are called {name!r}, but names must differ")

    @staticmethod
    def one_layer(kernels: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """Plain multiple kernel learning: a sum of kernels."""
        return {"kernels": dict(kernels), "shape": "one-layer"}

    @staticmethod
    def groups(
        kernels: Mapping[str, Mapping[str, Any]], groups: Mapping[str, Sequence[str]]
    ) -> dict[str, Any]:
        """Composite kernels: weights of groups, and of kernels within each."""
        named = {name: list(members) for name, members in groups.items()}
        return {"kernels": dict(kernels), "shape": "groups", "groups": named}

    @staticmethod
    def polynomial(kernels: Mapping[str, Mapping[str, Any]], degree: int) -> dict[str, Any]:
        """Powers of the sum of the kernels, entry by entry, up to `degree`."""
        return {"kernels": dict(kernels), "shape": "polynomial", "degree": degree}

    @classmethod
    def figure1(cls, kernels: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """b8 (b1 K1 + b2 K2) + b9 (b3 K3 + b4 K4) * (b5 K5 + b6 K6 + b7 K7), as in [SPN]."""
        if len(kernels) != 7:
            raise ValueError(f"network: figure 1 has 7 kernels, but {len(kernels)} are given")
        b = cls()
        names = [b.kernel(name, **fields) for name, fields in kernels.items()]
        weighted = [b.product(name, name=f"b{k + 1}") for k, name in enumerate(names)]
        first = b.product(b.sum(*weighted[:2]), name="b8")
        second = b.product(b.sum(*weighted[2:4]), b.sum(*weighted[4:]), name="b9")
        return b.build(b.sum(first, second))
