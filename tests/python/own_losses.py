"""Losses of given scores by the enumeration of all labellings, for tests."""

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from margrove.losses import (
    Chain,
    LabelPaths,
    LabelSets,
    MultiClass,
    PairwiseField,
    ProjectiveTrees,
    SpanningTrees,
    TopK,
)

PSI: dict[str, Callable[[float, float], float]] = {
    "margin": lambda m, g: m + g,
    "slack": lambda m, g: (m + 1) * g,
    "generalised:0.5,1.2": lambda m, g: m * g**0.5 + g**1.2 if g > 0 else 0.0,
    "beta:0.5": lambda m, g: m * math.sqrt(g) + g,
    "log": lambda m, g: g * (max(m, 0) + math.log1p(math.exp(-abs(m)))),
    "prob": lambda m, g: g * math.erfc(-m * math.sqrt(math.pi / g) / 2) if g > 0 else 0.0,
    "prob-convex": lambda m, g: PSI["prob"](min(m, 0), g) + math.sqrt(g) * max(m, 0),
    "micro-f1": lambda m, g: -m / g if g < 0 else 0.0,
    "normalized-difference": lambda m, g: (m / g if g > 0 else 0.0) + 1,
}

TREE = [("a", "b"), ("a", "c"), ("b", "d"), ("b", "e"), ("f", "g"), ("f", "h")]
DAG = [("a", "c"), ("b", "c"), ("b", "d"), ("c", "e"), ("d", "e"), ("d", "f"), ("a", "g")]


class Problem(NamedTuple):
    """A small kind of output: random scores, and all labellings of an example."""

    output: Any
    draw: Callable[[Any, int], tuple[tuple[Any, ...], Any, Any]]  # scores, truths, lengths
    labellings: Callable[[Any], Iterator[tuple[int, ...]]]  # of an example of this length
    score: Callable[[tuple[Any, ...], Any], float]
    counts: Callable[[Any, Any], tuple[float, float, float]]  # loss, |y| + |truth|, H of Micro-F1
    of_surrogate: Callable[[str], bool]


def hamming(y: Any, truth: Any, outside: int = 0) -> tuple[float, float, float]:
    wrong = sum(a != b for a, b in zip(y, truth, strict=True))
    sizes = sum(a != outside for a in y) + sum(b != outside for b in truth)
    both = sum(a == b != outside for a, b in zip(y, truth, strict=True))
    return wrong, sizes, sizes - 2 * both


def of_increasing(name: str) -> bool:
    return name != "normalized-difference"


def of_trees(name: str) -> bool:
    return name not in ("normalized-difference", "micro-f1")


def chain(random: Any, size: int) -> tuple[tuple[Any, ...], Any, Any]:
    lengths = random.integers(1, 5, size=size)
    scores = (
        random.normal(size=(size, 4, 3)),
        random.normal(size=(3, 3)),
        random.normal(size=3),
        random.normal(size=3),
    )
    return scores, random.integers(0, 3, size=(size, 4)), lengths


def chain_score(scores: tuple[Any, ...], y: Any) -> float:
    emissions, transitions, start, end = scores
    total = start[y[0]] + end[y[-1]] + sum(emissions[t, k] for t, k in enumerate(y))
    return float(total + sum(transitions[a, b] for a, b in itertools.pairwise(y)))


def trees_of(length: int) -> Iterator[tuple[int, ...]]:
    for heads in all_trees_of(length):
        if all(is_projective(heads, k) for k in range(1, length + 1)):
            yield heads


def all_trees_of(length: int) -> Iterator[tuple[int, ...]]:
    for heads in itertools.product(range(length + 1), repeat=length):
        if sum(h == 0 for h in heads) != 1:
            continue
        if all(reaches_root(heads, k) for k in range(1, length + 1)):
            yield heads


def reaches_root(heads: tuple[int, ...], word: int) -> bool:
    for _ in heads:
        word = heads[word - 1]
        if word == 0:
            return True
    return False


def is_projective(heads: tuple[int, ...], word: int) -> bool:
    low, high = sorted((word, heads[word - 1]))
    return all(low <= heads[k - 1] <= high for k in range(low + 1, high))


def of_heads(output: Any, trees_of: Callable[[Any], Iterator[tuple[int, ...]]]) -> Problem:
    def draw(random: Any, size: int) -> tuple[tuple[Any, ...], Any, Any]:
        lengths = random.integers(1, 5, size=size)
        truth = np.full((size, 4), -7)
        for i, n in enumerate(lengths):
            every = list(trees_of(n))
            truth[i, :n] = every[random.integers(len(every))]
        return (random.normal(size=(size, 5, 5)),), truth, lengths

    return Problem(
        output,
        draw,
        trees_of,
        lambda scores, y: float(sum(scores[0][h, k + 1] for k, h in enumerate(y))),
        hamming,
        of_trees,
    )


def field(random: Any, size: int) -> tuple[tuple[Any, ...], Any, Any]:
    scores = random.normal(size=(size, 4)), random.normal(size=(size, 4, 4))
    return scores, random.integers(0, 2, size=(size, 4)), None


def field_score(scores: tuple[Any, ...], y: Any) -> float:
    labels, pairs = scores
    y = np.asarray(y)
    return float(labels @ y + y @ np.triu(pairs, 1) @ y)


def of_choices(labels: int, k: int) -> Problem:
    every = [y for y in itertools.product((0, 1), repeat=labels) if sum(y) == k]

    def draw(random: Any, size: int) -> tuple[tuple[Any, ...], Any, Any]:
        truth = np.array(every)[random.integers(len(every), size=size)]
        return (random.normal(size=(size, labels)),), truth, None

    return Problem(
        TopK(k),
        draw,
        lambda _: iter(every),
        lambda scores, y: float(scores[0] @ np.asarray(y)),
        hamming,
        lambda name: True,
    )


COSTS = np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0))) ** 1.5


def one_of(labels: list[int], nodes: int) -> Callable[[Any, int], tuple[tuple[Any, ...], Any, Any]]:
    return lambda random, size: (
        (random.normal(size=(size, nodes)),),
        random.choice(labels, size=size),
        None,
    )


def above(output: Any) -> list[set[int]]:
    """The nodes on the paths to each node, itself included."""
    nodes = output.hierarchy.nodes
    found = [{k} for k in range(len(nodes))]
    for _ in nodes:
        for parent, child in output.hierarchy.edges:
            found[nodes.index(child)] |= found[nodes.index(parent)]
    return found


def leaves(output: Any) -> list[int]:
    parents = {parent for parent, _ in output.hierarchy.edges}
    return [k for k, node in enumerate(output.hierarchy.nodes) if node not in parents]


def of_paths(output: Any, loss: Callable[[int], float]) -> Problem:
    paths = above(output)
    ends = list(range(len(paths))) if output.inner else leaves(output)
    return Problem(
        output,
        one_of(ends, len(paths)),
        lambda _: iter((leaf,) for leaf in ends),
        lambda scores, y: float(sum(scores[0][n] for n in paths[y[0]])),
        lambda y, truth: (loss(len(paths[y[0]] ^ paths[truth[0]])), 0, 0),
        lambda name: name != "micro-f1",
    )


def of_sets(output: Any) -> Problem:
    paths, ends = above(output), leaves(output)
    every = []
    for k in range(1, len(ends) + 1):
        for some in itertools.combinations(ends, k):
            nodes = set().union(*(paths[leaf] for leaf in some))
            every.append(tuple(int(n in nodes) for n in range(len(paths))))
    every = sorted(set(every))
    counted = ends if output.loss == "leaves" else list(range(len(paths)))

    def draw(random: Any, size: int) -> tuple[tuple[Any, ...], Any, Any]:
        truth = np.array(every)[random.integers(len(every), size=size)]
        return (random.normal(size=(size, len(paths))),), truth, None

    return Problem(
        output,
        draw,
        lambda _: iter(every),
        lambda scores, y: float(scores[0] @ np.asarray(y)),
        lambda y, truth: hamming([y[n] for n in counted], [truth[n] for n in counted]),
        of_increasing,
    )


PROBLEMS = {
    "multi-class": Problem(
        MultiClass(),
        one_of(list(range(5)), 5),
        lambda _: iter((k,) for k in range(5)),
        lambda scores, y: float(scores[0][y[0]]),
        lambda y, truth: (float(y != truth), 0, 0),
        lambda name: name != "micro-f1",
    ),
    "costs": Problem(
        MultiClass(COSTS),
        one_of(list(range(5)), 5),
        lambda _: iter((k,) for k in range(5)),
        lambda scores, y: float(scores[0][y[0]]),
        lambda y, truth: (float(COSTS[truth[0], y[0]]), 0, 0),
        lambda name: name != "micro-f1",
    ),
    "chain": Problem(
        Chain(outside_tag=1),
        chain,
        lambda length: itertools.product(range(3), repeat=length),
        chain_score,
        lambda y, truth: hamming(y, truth, outside=1),
        of_increasing,
    ),
    "trees": of_heads(ProjectiveTrees(), trees_of),
    "all trees": of_heads(SpanningTrees(), all_trees_of),
    "field": Problem(
        PairwiseField(),
        field,
        lambda length: itertools.product((0, 1), repeat=length),
        field_score,
        hamming,
        of_increasing,
    ),
    "top k": of_choices(5, 2),
    "all labels but one": of_choices(4, 3),
    "paths": of_paths(LabelPaths(TREE), float),
    "paths to any node": of_paths(LabelPaths(TREE, inner=True), float),
    "paths of a DAG": of_paths(LabelPaths(DAG, loss="normalized"), math.sqrt),
    "sets": of_sets(LabelSets(TREE)),
    "sets below one root": of_sets(LabelSets([("r", "a"), ("r", "b"), ("a", "c"), ("a", "d")])),
    "sets of nodes": of_sets(LabelSets(TREE, loss="nodes")),
}

CASES = [
    (name, surrogate)
    for name, problem in PROBLEMS.items()
    for surrogate in PSI
    if problem.of_surrogate(surrogate)
]


def best_labelling(
    problem: Problem, surrogate: str, scores: tuple[Any, ...], truth: Any
) -> tuple[float, tuple[int, ...]]:
    """max_y psi and its y, by enumeration."""
    truth = tuple(np.atleast_1d(truth).tolist())
    of_truth = problem.score(scores, truth)
    best, y_star = 0.0, truth
    for y in problem.labellings(len(truth)):
        if y == truth:
            continue
        loss, sizes, wrong = problem.counts(y, truth)
        m, g = problem.score(scores, y) - of_truth, loss
        if surrogate == "micro-f1":
            m, g = m + wrong, -sizes
        value = PSI[surrogate](m, g)
        if value > best:
            best, y_star = value, y
    return best, y_star


def log_partition(problem: Problem, scores: tuple[Any, ...], length: int) -> float:
    """log sum_y exp f(y), by enumeration."""
    every = [problem.score(scores, y) for y in problem.labellings(length)]
    high = max(every)
    return high + math.log(sum(math.exp(each - high) for each in every))


def of_example(name: str, scores: Any, i: int) -> tuple[Any, ...]:
    """Its scores."""
    if name == "chain":
        return (scores[0][i], *scores[1:])
    return tuple(each[i] for each in scores)
