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


@dataclass(frozen=True, slots=True)
class HeadScore:
    """A word that another one may depend on, and the score of the arc from it."""

    number: int  # in the sentence, from 1; 0: the root, which is no word
    word: str
    score: float

    def __str__(self) -> str:
        return f"{self.number} {self.word if self.number > 0 else '(root)'}"


@dataclass(frozen=True, slots=True)
class WordExplanation:
    """The parts of the score of a word's answer in a tree, and its best alternatives."""

    word: str
    head: HeadScore
    relation: str
    relation_score: float | None  # None where relations follow from a table
    head_includes_relation: bool  # whether the score of the head's arc contains the relation's
    other_heads: tuple[HeadScore, ...]  # the best first
    other_relations: tuple[tuple[str, float], ...]  # names and scores, the best first


@dataclass(frozen=True, slots=True)
class SentenceExplanation:
    """The words of a sentence, in their order. Its text is what `margrove explain` prints."""

    words: tuple[WordExplanation, ...]

    @classmethod
    def of(cls, words: Any) -> "SentenceExplanation":
        """Of what the library returns."""
        return cls(
            tuple(
                WordExplanation(
                    word,
                    HeadScore(*head),
                    relation,
                    score,
                    includes,
                    tuple(HeadScore(*other) for other in heads),
                    tuple(relations),
                )
                for word, head, relation, score, includes, heads, relations in words
            )
        )

    def __str__(self) -> str:
        lines = []
        for number, each in enumerate(self.words, 1):
            line = f"{number} {each.word}: head {each.head}, relation {each.relation}"
            line += f"; arc {each.head.score:+.6g}"
            if each.relation_score is not None:
                part = "of which" if each.head_includes_relation else "and"
                line += f", {part} relation {each.relation_score:+.6g}"
            lines.append(line)
            if each.other_heads:
                others = (f"{head} {head.score:+.6g}" for head in each.other_heads)
                lines.append(f"  other heads: {', '.join(others)}")
            if each.other_relations:
                others = (f"{name} {score:+.6g}" for name, score in each.other_relations)
                lines.append(f"  other relations: {', '.join(others)}")
        return "\n".join(lines)


def explain(model: Any, X: Any, label: Any = None, *, num_features: int = 5) -> list[Any]:
    """An `Explanation` of each row: the score of its best label (or of `label`) as a sum over nodes
    and features. Of a parser, a `SentenceExplanation` of each sentence, with `num_features` other
    heads and relations of each word.

    `model` is a fitted estimator, or a Pipeline or a search that ends with one: earlier steps of a
    Pipeline transform X, and features have the names that they give (`get_feature_names_out`).
    Raises ValueError for other models.
    """
    estimator, rows, names = unwrapped(model, X)
    return estimator._explained(rows, label, num_features, names)
