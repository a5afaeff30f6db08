"""Explanations of predictions: the parts of a score."""

from dataclasses import dataclass
from typing import Any

from margrove._pipelines import unwrapped


@dataclass(frozen=True, slots=True)
class Contribution:
    """A feature's part in a node's score: `score` is `weight * (value - centre)`.

    If columns were scaled, value and weight are those of the unscaled column.
    """

    feature: str | int  # a word, a column's name or its number; "(intercept)"
    value: float
    weight: float
    score: float
    centre: float = 0.0  # of a scaled column


@dataclass(frozen=True, slots=True)
class NodeScore:
    """A node on the path to the label; `itself`: the leaf of an inner label below its node."""

    label: Any
    itself: bool
    score: float
    strongest: tuple[Contribution, ...]  # by the size of their scores


@dataclass(frozen=True, slots=True)
class PathScore:
    """A path of the network: a kernel, or a product of kernels named "a * b"."""

    kernels: str
    weight: float
    score: float


@dataclass(frozen=True, slots=True)
class SourceScore:
    """The part of a score that comes from the kernels of one view or of other columns."""

    source: str  # "view x", "columns 1-20", "all columns", products of them, "(intercept)"
    score: float
    strongest: tuple[PathScore, ...]  # by the size of their scores


@dataclass(frozen=True, slots=True)
class Explanation:
    """A label's score: the sum of its nodes' scores, or of its sources' in kernel models.

    Nodes come from the root down, sources by the size of their scores, the intercept last.
    """

    label: Any
    score: float
    nodes: tuple[NodeScore, ...]
    sources: tuple[SourceScore, ...] = ()

    def __str__(self) -> str:
        lines = [f"label {self.label}: score {self.score:.6g}"]
        for node in self.nodes:
            lines.append(f"  {node.label}{' (itself)' * node.itself}: {node.score:+.6g}")
            lines += [
                f"    {part.score:+.6g}  {part.feature} = {part.value:.6g}"
                + f" (centre {part.centre:.6g})" * (part.centre != 0)
                + f", weight {part.weight:+.6g}"
                for part in node.strongest
            ]
        for source in self.sources:
            lines.append(f"  {source.source}: {source.score:+.6g}")
            lines += [
                f"    {path.score:+.6g}  {path.kernels}, weight {path.weight:.6g}"
                for path in source.strongest
            ]
        return "\n".join(lines)


def explain(model: Any, X: Any, label: Any = None, *, num_features: int = 5) -> list[Explanation]:
    """The score of each row's best label (or of `label`) as a sum over nodes and features.

    `model` is a fitted estimator, or a Pipeline or a search that ends with one: earlier steps of a
    Pipeline transform X, and features have the names that they give (`get_feature_names_out`).
    Raises ValueError for other models.
    """
    estimator, rows, names = unwrapped(model, X)
    return estimator._explained(rows, label, num_features, names)
