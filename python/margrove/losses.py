"""Losses of given scores, such as those of a neural network, and their gradients.

f(y) sums the scores of the parts of y, such as the tags and the pairs of tags of a sentence.
Structured: max_y psi(f(y) - f(truth), L(truth, y)) with the task loss L of the output and the
surrogate psi. Log-likelihood: log sum_y exp f(y) - f(truth). Perturbed: the mean of
max_y f(y) - f(truth) over scores with noise. docs/own_models.md has examples.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from margrove import _core
from margrove.hierarchy import Hierarchy

__all__ = [
    "BestLabellings",
    "Chain",
    "LabelPaths",
    "LabelSets",
    "LossGradient",
    "Marginals",
    "MultiClass",
    "PairwiseField",
    "ProjectiveTrees",
    "SmoothLoss",
    "SpanningTrees",
    "TopK",
    "best_labellings",
    "log_likelihood_loss",
    "marginals",
    "perturbed_loss",
    "structured_loss",
]

# As _core takes them: settings() makes them.
_Settings = tuple[str, int, Any, str, int, float, float, int, int]
_Losses = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any], NDArray[np.int64] | None]
_Block = tuple[NDArray[Any], NDArray[Any]]


class LossGradient(NamedTuple):
    """What `structured_loss` returns."""

    loss: NDArray[Any]  # one per example
    y_star: NDArray[np.int64]  # the maxima, in the form of the truth; the truth where the loss is 0
    dscores: Any  # the gradient of the sum of the losses, in the form of the scores


class SmoothLoss(NamedTuple):
    """What `log_likelihood_loss` and `perturbed_loss` return."""

    loss: NDArray[Any]  # one per example
    dscores: Any  # the gradient of the sum of the losses, in the form of the scores


class Marginals(NamedTuple):
    """What `marginals` returns, with p(y) = exp f(y) / sum_y exp f(y)."""

    log_partition: NDArray[Any]  # log sum_y exp f(y) of each example
    probabilities: Any  # of the parts that have the scores, a block for each example


class BestLabellings(NamedTuple):
    """What `best_labellings` returns."""

    score: NDArray[Any]  # f(y) of each example
    y: NDArray[np.int64]  # in the form of the truth


class _Output:
    """A kind of output: the shapes of its scores and the call of the library."""

    _names: tuple[str, ...] = ("scores",)
    _optional = 0  # how many of the last arrays may be left out
    _has_lengths = False
    _padding = -1  # of y_star behind the length

    def _shapes(self, first: tuple[int, ...]) -> list[tuple[int, ...]]:
        """The shape of each array for one example, from that of the first array."""
        raise NotImplementedError

    def _width(self, shapes: list[tuple[int, ...]]) -> int | None:
        """How many numbers a labelling has; None if it is one number."""
        return shapes[0][0]

    def _num_classes(self, first: tuple[int, ...]) -> int:
        """Of each number of a labelling, where that does not follow from the length."""
        return first[-1]

    def _run(
        self,
        settings: _Settings,
        losses: _Losses,
        lengths: NDArray[np.int64] | None,
        blocks: list[_Block],
    ) -> None:
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class MultiClass(_Output):
    """One of K classes. scores: (examples, K). truth: (examples), the numbers of the classes.

    costs: (K, K), the cost of predicting the class of the column where that of the row is true, >=
    0, and 0 on the diagonal; None: 1 for every wrong class.
    """

    costs: Any = None

    def _shapes(self, first: tuple[int, ...]) -> list[tuple[int, ...]]:
        return [first] if len(first) == 1 else []

    def _width(self, shapes: list[tuple[int, ...]]) -> int | None:
        return None

    def _run(self, settings: Any, losses: Any, lengths: Any, blocks: Any) -> None:
        edges = np.empty((0, 2), dtype=np.uint32)
        costs = None
        if self.costs is not None:
            costs = np.ascontiguousarray(self.costs, dtype=np.float64)
            size = blocks[0][1].shape[1]
            if costs.shape != (size, size):
                raise ValueError(f"costs: shape is {costs.shape}, but must be {(size, size)}")
        _core.path_losses(settings, losses, blocks[0], edges, "zero-one", False, costs)


@dataclass(frozen=True, eq=False)
class Chain(_Output):
    """A tag for each of T tokens; the task loss counts the wrong tags.

    scores: emissions (examples, T, K) and transitions (K, K), a row for each earlier tag; after
    them, if given, those of the first and of the last tag, (K) each. truth: (examples, T).
    The surrogate micro-f1 does not count the tag `outside_tag`.
    """

    outside_tag: int = 0

    _names = ("emissions", "transitions", "start", "end")
    _optional = 2
    _has_lengths = True

    def _shapes(self, first: tuple[int, ...]) -> list[tuple[int, ...]]:
        tags = first[-1]
        return [first, (tags, tags), (tags,), (tags,)] if len(first) == 2 else []

    def _run(self, settings: Any, losses: Any, lengths: Any, blocks: Any) -> None:
        num_tags = blocks[0][1].shape[2]
        if not 0 <= self.outside_tag < num_tags:
            raise ValueError(f"outside_tag is {self.outside_tag}, but must be in [0, {num_tags})")
        ends = [*blocks[2:], None, None][:2]
        _core.chain_losses(settings, losses, lengths, self.outside_tag, *blocks[:2], *ends)


class _Trees(_Output):
    _has_lengths = True
    _names = ("arcs",)
    _is_projective: bool

    def _shapes(self, first: tuple[int, ...]) -> list[tuple[int, ...]]:
        return [first] if len(first) == 2 and first[0] == first[1] >= 2 else []

    def _width(self, shapes: list[tuple[int, ...]]) -> int | None:
        return shapes[0][0] - 1

    def _num_classes(self, first: tuple[int, ...]) -> int:
        return 0

    def _run(self, settings: Any, losses: Any, lengths: Any, blocks: Any) -> None:
        _core.tree_losses(settings, losses, lengths, self._is_projective, *blocks)


@dataclass(frozen=True, eq=False)
class ProjectiveTrees(_Trees):
    """Projective dependency trees of n words with one root; the task loss counts wrong heads.

    scores: (examples, n + 1, n + 1), a row for each head, with the arcs to the words; words
    count from 1, and 0 is the root. truth: (examples, n), the heads of the words.
    """

    _is_projective = True


@dataclass(frozen=True, eq=False)
class SpanningTrees(_Trees):
    """All dependency trees of n words with one root, whose arcs may cross.

    The task loss, scores and truth are those of `ProjectiveTrees`.
    """

    _is_projective = False


@dataclass(frozen=True, eq=False)
class PairwiseField(_Output):
    """Any set of K labels; the task loss counts the labels in one of the two sets only.

    scores: labels (examples, K) and pairs (K, K): that of labels k < l which are both in the set is
    in row k, column l; the other entries are not used. truth: (examples, K), 0 or 1.
    """

    _names = ("labels", "pairs")

    def _shapes(self, first: tuple[int, ...]) -> list[tuple[int, ...]]:
        return [first, first * 2] if len(first) == 1 else []

    def _run(self, settings: Any, losses: Any, lengths: Any, blocks: Any) -> None:
        _core.field_losses(settings, losses, *blocks)


@dataclass(frozen=True, eq=False)
class TopK(_Output):
    """Exactly k of n labels; the task loss counts the labels in one of the two sets only.

    scores: (examples, n). truth: (examples, n), 0 or 1, with k ones.
    """

    k: int

    _names = ("labels",)

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ValueError(f"k is {self.k}, but must be >= 1")

    def _shapes(self, first: tuple[int, ...]) -> list[tuple[int, ...]]:
        return [first] if len(first) == 1 else []

    def _run(self, settings: Any, losses: Any, lengths: Any, blocks: Any) -> None:
        _core.choice_losses(settings, losses, self.k, blocks[0])


@dataclass(frozen=True, eq=False)
class _OfHierarchy(_Output):
    hierarchy: Any
    loss: str

    _losses: ClassVar[tuple[str, ...]]  # the values of loss

    def __post_init__(self) -> None:
        object.__setattr__(self, "hierarchy", Hierarchy.of(self.hierarchy))
        if self.loss not in self._losses:
            *some, last = map(repr, self._losses)
            raise ValueError(f"loss is {self.loss!r}, but must be {', '.join(some)} or {last}")
        _core.check_hierarchy(self.hierarchy.to_core())

    def _edges(self) -> NDArray[np.uint32]:
        return self.hierarchy.to_core()[1]  # type: ignore[no-any-return]

    def _shapes(self, first: tuple[int, ...]) -> list[tuple[int, ...]]:
        return [(len(self.hierarchy.nodes),)]


@dataclass(frozen=True, eq=False)
class LabelPaths(_OfHierarchy):
    """A leaf of a hierarchy, or with `inner` any node; f sums the scores of the nodes on its path.

    hierarchy: in any form that `Hierarchy.of` takes. scores: (examples, nodes), in the order of
    `output.hierarchy.nodes`. truth: (examples), the number of the node in this order. loss:
    "hamming", the number of nodes on one of the two paths only, "normalized", its square root, or
    "zero-one".
    """

    loss: str = "hamming"
    inner: bool = False

    _losses = ("hamming", "normalized", "zero-one")

    def _width(self, shapes: list[tuple[int, ...]]) -> int | None:
        return None

    def _run(self, settings: Any, losses: Any, lengths: Any, blocks: Any) -> None:
        edges = self._edges()
        _core.path_losses(settings, losses, blocks[0], edges, self.loss, self.inner, None)


@dataclass(frozen=True, eq=False)
class LabelSets(_OfHierarchy):
    """A set of leaves with all nodes above them; f sums the scores of its nodes.

    hierarchy and scores: as for `LabelPaths`; `structured_loss` rounds scores to single precision.
    truth: (examples, nodes), 0 or 1, at least one leaf; the nodes above may be left out. loss:
    whether the task loss counts the "leaves" or the "nodes" in one of the two sets only. Only
    hierarchies in which no node has two parents have a log-likelihood.
    """

    loss: str = "leaves"

    _losses = ("leaves", "nodes")
    _padding = 0

    def _run(self, settings: Any, losses: Any, lengths: Any, blocks: Any) -> None:
        _core.label_set_losses(settings, losses, blocks[0], self._edges(), self.loss == "nodes")


def structured_loss(
    scores: Any,
    truth: Any,
    output: _Output,
    surrogate: Any = "margin",
    search: str = "auto",
    *,
    lengths: Any = None,
    max_bans: int = 10,
    tolerance: float = 0.0,
    threads: int = 1,
    start: Any = None,
) -> LossGradient:
    """The losses of a batch, their maxima y* and the gradient in the scores.

    scores: an array, or a tuple of those that `output` names, of float32 or float64, which are not
    copied if they are contiguous. Each has one block per example, or a single block without the
    first axis for all of them (not the first array). lengths: tokens or words of each example where
    `output` is padded. surrogate, search, max_bans: as for `StructuredSVM`, with micro-f1 for
    chains, fields, label sets and sets of k labels, and normalized-difference for classes, paths
    and sets of k labels. tolerance: the allowed relative error of the maximum in convex-hull
    search; 0: none. Where two labellings are maximal, dscores is a subgradient. threads: 0 for one
    per core; the result does not depend on it, and other Python threads run meanwhile. start:
    labellings that searches with several calls begin with, in the form of truth, such as the
    maxima y_star at earlier scores of the same examples, which take the fewer calls the nearer they
    are; a labelling that begins with -1 is none. Raises ValueError and TypeError, naming the
    example, for wrong arrays.
    """
    how = settings(
        "structured",
        threads,
        surrogate=surrogate,
        search=search,
        max_bans=max_bans,
        tolerance=tolerance,
    )
    losses, best, gradients, shared = evaluate(scores, truth, output, how, lengths, start)
    return LossGradient(losses, best, _in_form_of(scores, _summed(gradients, shared)))


def log_likelihood_loss(
    scores: Any, truth: Any, output: _Output, *, lengths: Any = None, threads: int = 1
) -> SmoothLoss:
    """-log p(truth) of each example of a batch, p(y) = exp f(y) / sum_y exp f(y), and its gradient.

    The sum over all labellings is exact: softmax over classes and paths, forward-backward of
    chains, inside-outside of projective trees, the matrix-tree theorem, and recursions over label
    sets and sets of k labels. Fields and label sets of hierarchies with several parents have none.
    Arguments and errors are those of `structured_loss`.
    """
    how = settings("log-likelihood", threads)
    losses, _, gradients, shared = evaluate(scores, truth, output, how, lengths)
    return SmoothLoss(losses, _in_form_of(scores, _summed(gradients, shared)))


def perturbed_loss(
    scores: Any,
    truth: Any,
    output: _Output,
    *,
    sigma: float = 1.0,
    samples: int = 10,
    seed: int = 0,
    lengths: Any = None,
    threads: int = 1,
) -> SmoothLoss:
    """The perturbed Fenchel-Young loss of each example of a batch, and its gradient.

    It is the mean over `samples` of max_y f(y) - f(truth) where normal noise of deviation `sigma`
    is added to every score; it smooths the loss of the structured perceptron and needs only the
    best labelling. Each example has a sequence of random numbers of its own, which follows from
    `seed` and its place in the batch. The other arguments are those of `structured_loss`.
    """
    how = settings("perturbed", threads, sigma=sigma, samples=samples, seed=seed)
    losses, _, gradients, shared = evaluate(scores, truth, output, how, lengths)
    return SmoothLoss(losses, _in_form_of(scores, _summed(gradients, shared)))


def marginals(scores: Any, output: _Output, *, lengths: Any = None, threads: int = 1) -> Marginals:
    """log sum_y exp f(y), and the probability of each part of a labelling.

    Parts are what has a score, such as an arc; where examples share scores, such as the transitions
    of chains, it is the expected number of times that the part occurs in each example. Arguments
    are those of `log_likelihood_loss`.
    """
    how = settings("marginals", threads)
    sums, _, probabilities, _ = evaluate(scores, None, output, how, lengths)
    return Marginals(sums, _in_form_of(scores, probabilities))


def best_labellings(
    scores: Any, output: _Output, *, lengths: Any = None, threads: int = 1
) -> BestLabellings:
    """max_y f(y) and its y: what a trained model predicts. Ties go to a fixed labelling.

    Arguments are those of `structured_loss`.
    """
    score, y, _, _ = evaluate(scores, None, output, settings("best", threads), lengths)
    return BestLabellings(score, y)


def settings(
    task: str,
    threads: int,
    *,
    surrogate: Any = "margin",
    search: str = "auto",
    max_bans: int = 10,
    tolerance: float = 0.0,
    sigma: float = 1.0,
    samples: int = 1,
    seed: int = 0,
) -> _Settings:
    """What `evaluate` computes."""
    if not 0 <= seed < 2**64:
        raise ValueError(f"option seed is {seed}, but must be in [0, 2^64)")
    return task, threads, surrogate, search, max_bans, tolerance, sigma, samples, seed


def _summed(gradients: list[NDArray[Any]], shared: list[bool]) -> list[NDArray[Any]]:
    return [g.sum(axis=0) if one else g for g, one in zip(gradients, shared, strict=True)]


def _in_form_of(scores: Any, arrays: list[NDArray[Any]]) -> Any:
    return tuple(arrays) if isinstance(scores, tuple | list) else arrays[0]


def check_output(output: Any) -> None:
    """Raises TypeError unless the output is one of this module."""
    if not isinstance(output, _Output):
        raise TypeError(
            f"output is of type {type(output).__name__}, but must be one of margrove.losses, such "
            "as Chain()"
        )


def evaluate(
    scores: Any, truth: Any, output: _Output, how: _Settings, lengths: Any, start: Any = None
) -> tuple[NDArray[Any], NDArray[np.int64], list[NDArray[Any]], list[bool]]:
    """Losses, maxima, one gradient block per example, and which arrays all examples share.

    truth may be None where it is not used.
    """
    check_output(output)
    arrays, shared = _checked_scores(scores, output)
    size = arrays[0].shape[0]
    shapes = output._shapes(arrays[0].shape[1:])
    width = output._width(shapes)
    expected = (size,) if width is None else (size, width)
    given = _labellings("truth", np.zeros(expected, int) if truth is None else truth, expected)
    begun = None if start is None else _labellings("start", start, expected)
    if lengths is not None:
        if not output._has_lengths:
            raise ValueError(f"lengths: {type(output).__name__} has none")
        lengths = np.ascontiguousarray(lengths, dtype=np.int64)
        if lengths.shape != (size,):
            raise ValueError(f"lengths: shape is {lengths.shape}, but must be {(size,)}")
    kind = arrays[0].dtype
    losses = np.zeros(size, dtype=kind)
    best = np.full(expected, output._padding, dtype=np.int64)
    gradients = [np.zeros((size, *shape), dtype=kind) for shape in shapes[: len(arrays)]]
    if size > 0:
        output._run(
            how,
            (given, best, losses, begun),
            lengths,
            list(zip(arrays, gradients, strict=True)),
        )
    return losses, best, gradients, shared


def _labellings(name: str, given: Any, shape: tuple[int, ...]) -> NDArray[np.int64]:
    array = np.asarray(given)
    if array.dtype.kind not in "biu":
        raise TypeError(f"{name} is of type {array.dtype}, but must be of integers")
    if array.shape != shape:
        raise ValueError(f"{name}: shape is {array.shape}, but must be {shape}")
    return np.ascontiguousarray(array, dtype=np.int64)


def _checked_scores(scores: Any, output: _Output) -> tuple[list[NDArray[Any]], list[bool]]:
    """The arrays of scores, contiguous and of one type, and which of them all examples share."""
    names = output._names
    given = list(scores) if isinstance(scores, tuple | list) else [scores]
    if not len(names) - output._optional <= len(given) <= len(names):
        raise ValueError(
            f"scores: there are {len(given)} arrays, but must be {', '.join(names)}"
            + (f" (the last {output._optional} may be left out)" if output._optional else "")
        )
    arrays = [np.asarray(each) for each in given]
    for name, array in zip(names, arrays, strict=False):
        if array.dtype not in (np.float32, np.float64):
            raise TypeError(f"{name}: type is {array.dtype}, but must be float32 or float64")
    kind = np.result_type(*arrays)
    first = arrays[0]
    shapes = output._shapes(first.shape[1:]) if first.ndim > 1 else []
    if not shapes or first.shape[1:] != shapes[0] or 0 in shapes[0]:
        wanted = f", but must be (examples, {shapes[0][0]})" if shapes else ""
        raise ValueError(
            f"{names[0]}: shape is {first.shape}{wanted}; see the help of {type(output).__name__}"
        )
    shared = []
    for name, array, shape in zip(names, arrays, shapes, strict=False):
        whole = (first.shape[0], *shape)
        if array.shape not in (shape, whole):
            raise ValueError(f"{name}: shape is {array.shape}, but must be {shape} or {whole}")
        shared.append(array.shape == shape)
    return [np.ascontiguousarray(array, dtype=kind) for array in arrays], shared
