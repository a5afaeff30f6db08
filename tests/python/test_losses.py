"""margrove.losses: losses, maxima and gradients against the enumeration of all labellings."""

import threading
import time
from typing import Any

import numpy as np
import pytest
from margrove.losses import (
    Chain,
    LabelPaths,
    LabelSets,
    MultiClass,
    PairwiseField,
    ProjectiveTrees,
    SpanningTrees,
    TopK,
    structured_loss,
)
from own_losses import CASES, DAG, PROBLEMS, TREE, best_labelling, leaves, of_example, of_sets

SIZE = 12


def draw(name: str, dtype: Any = np.float64, seed: int = 0) -> tuple[Any, Any, Any]:
    scores, truth, lengths = PROBLEMS[name].draw(np.random.default_rng(seed), SIZE)
    return tuple(each.astype(dtype) for each in scores), truth, lengths


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("name", "surrogate"), CASES)
def test_losses_and_maxima_are_those_of_all_labellings(
    name: str, surrogate: str, dtype: Any
) -> None:
    problem = PROBLEMS[name]
    scores, truth, lengths = draw(name, dtype)
    loss, y_star, dscores = structured_loss(
        scores, truth, problem.output, surrogate, lengths=lengths, max_bans=100
    )
    assert loss.dtype == dtype
    assert all(
        d.dtype == dtype and d.shape == s.shape for d, s in zip(dscores, scores, strict=True)
    )
    assert (loss > 0).any()
    for i in range(SIZE):
        n = None if lengths is None else lengths[i]
        own = truth[i] if n is None else truth[i][:n]
        value, y = best_labelling(problem, surrogate, of_example(name, scores, i), own)
        assert loss[i] == pytest.approx(value, rel=2e-5, abs=2e-5)
        assert tuple(np.atleast_1d(y_star[i]).tolist()[:n]) == y
        assert n is None or (y_star[i][n:] == -1).all()


@pytest.mark.parametrize("counted", ["leaves", "nodes"])
def test_label_sets_of_a_dag_are_exact_for_margin_rescaling(counted: str) -> None:
    problem = of_sets(LabelSets(DAG, loss=counted))
    scores, truth, _ = problem.draw(np.random.default_rng(5), SIZE)
    loss, y_star, dscores = structured_loss(scores, truth, problem.output)
    for i in range(SIZE):
        value, y = best_labelling(problem, "margin", (scores[0][i],), truth[i])
        assert loss[i] == pytest.approx(value, rel=2e-5, abs=2e-5)
        assert tuple(y_star[i].tolist()) == y
        assert (dscores[0][i] == np.subtract(y, truth[i])).all()


@pytest.mark.parametrize(("name", "surrogate"), CASES)
def test_gradients_are_differences_of_losses(name: str, surrogate: str) -> None:
    problem = PROBLEMS[name]
    scores, truth, lengths = draw(name, seed=1)

    def total(*changed: Any) -> float:
        sum_of_all = 0.0
        for i in range(SIZE):
            own = truth[i] if lengths is None else truth[i][: lengths[i]]
            sum_of_all += best_labelling(
                problem, surrogate, of_example(name, changed, i), own
            )[0]  # fmt: skip
        return sum_of_all

    dscores = structured_loss(
        scores, truth, problem.output, surrogate, lengths=lengths, max_bans=100
    ).dscores
    random = np.random.default_rng(2)
    assert any(d.any() for d in dscores)
    for _ in range(4):
        direction = [random.normal(size=each.shape) for each in scores]
        step = 1e-5
        ahead = total(*(s + step * d for s, d in zip(scores, direction, strict=True)))
        back = total(*(s - step * d for s, d in zip(scores, direction, strict=True)))
        slope = sum(float(np.sum(g * d)) for g, d in zip(dscores, direction, strict=True))
        assert slope == pytest.approx((ahead - back) / (2 * step), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("name", PROBLEMS)
def test_threads_do_not_change_a_bit(name: str) -> None:
    scores, truth, lengths = draw(name, np.float32)
    how: Any = {"output": PROBLEMS[name].output, "surrogate": "slack", "lengths": lengths}
    one = structured_loss(scores, truth, **how)
    three = structured_loss(scores, truth, **how, threads=3)
    assert one.loss.tobytes() == three.loss.tobytes()
    assert one.y_star.tobytes() == three.y_star.tobytes()
    for a, b in zip(one.dscores, three.dscores, strict=True):
        assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize(("name", "surrogate"), CASES)
def test_a_start_changes_no_loss(name: str, surrogate: str) -> None:
    scores, truth, lengths = draw(name)
    how: Any = {"output": PROBLEMS[name].output, "surrogate": surrogate, "lengths": lengths}
    how["max_bans"] = 100
    cold = structured_loss(scores, truth, **how)
    of_other_scores = structured_loss(draw(name, seed=7)[0], truth, **how).y_star
    some = cold.y_star.copy()
    some[::2] = -1  # without a start
    for start in (cold.y_star, of_other_scores, some, truth):
        given = np.asarray(start)
        warm = structured_loss(scores, truth, start=given, **how)
        assert warm.loss == pytest.approx(cold.loss, rel=1e-6, abs=1e-9)
        assert (warm.y_star == cold.y_star).all()


def test_a_start_at_the_maximum_saves_calls() -> None:
    # A search that begins at the maximum has only to confirm it, and evaluates psi less often.
    scores, truth, lengths = draw("chain")

    class Counted:
        calls = 0

        def value(self, m: float, g: float) -> float:
            type(self).calls += 1
            return g * (1 + m) if m > -1 else 0.0

        def derivative_m(self, m: float, g: float) -> float:
            return g if m > -1 else 0.0

        def derivative_g(self, m: float, g: float) -> float:
            return max(0.0, 1 + m)

    calls = []
    start = None
    for _ in range(2):
        Counted.calls = 0
        found = structured_loss(
            scores,
            truth,
            Chain(),
            Counted(),
            "convex-hull",
            lengths=lengths,
            max_bans=0,
            start=start,
        )
        calls.append(Counted.calls)
        start = found.y_star
    assert calls[1] < calls[0]


@pytest.mark.parametrize(
    ("start", "error", "message"),
    [
        ([[0.0] * 3] * 3, TypeError, "start is of type float64"),
        ([[0] * 3] * 2, ValueError, r"start: shape is \(2, 3\), but must be \(3, 3\)"),
        (
            [[0, 3, 0]] * 3,
            ValueError,
            r"start of example 0: number 1 is 3, but must be in \[0, 3\)",
        ),
        ([[-1] * 3, [0, -1, 0], [-1] * 3], ValueError, "start of example 1: number 1 is -1"),
    ],
)
def test_wrong_starts_are_named(start: Any, error: type[Exception], message: str) -> None:
    scores = (np.zeros((3, 3, 3)), np.zeros((3, 3)))
    with pytest.raises(error, match=message):
        structured_loss(scores, [[0] * 3] * 3, Chain(), "slack", start=start)


@pytest.mark.parametrize("search", ["binary", "bisecting", "convex-hull"])
def test_searches_for_slack_rescaling_find_at_most_the_maximum(search: str) -> None:
    scores, truth, lengths = draw("chain")
    how: Any = {"surrogate": "slack", "lengths": lengths}
    best = structured_loss(scores, truth, PROBLEMS["chain"].output, max_bans=100, **how).loss
    found = structured_loss(scores, truth, PROBLEMS["chain"].output, search=search, **how).loss
    assert (found <= best + 1e-9).all()
    assert found.sum() > 0.8 * best.sum()


@pytest.mark.parametrize(("max_bans", "tolerance"), [(0, 0.0), (10, 0.1), (0, 0.1)])
def test_less_exact_searches_find_nearly_the_maximum(max_bans: int, tolerance: float) -> None:
    scores, truth, lengths = draw("trees")
    how: Any = {"surrogate": "slack", "lengths": lengths}
    best = structured_loss(scores, truth, ProjectiveTrees(), max_bans=100, **how).loss
    found = structured_loss(
        scores, truth, ProjectiveTrees(), max_bans=max_bans, tolerance=tolerance, **how
    ).loss
    assert (found <= best + 1e-9).all()
    assert found.sum() > 0.9 * best.sum()


@pytest.mark.parametrize("name", ["field", "chain", "trees", "sets"])
def test_angular_search_finds_the_maximum(name: str) -> None:
    scores, truth, lengths = draw(name)
    how: Any = {"output": PROBLEMS[name].output, "surrogate": "slack", "lengths": lengths}
    best = structured_loss(scores, truth, search="convex-hull", max_bans=100, **how).loss
    found = structured_loss(scores, truth, search="angular", **how).loss
    assert found == pytest.approx(best, rel=2e-3)


@pytest.mark.parametrize("problem", [PROBLEMS["all trees"], of_sets(LabelSets(DAG))])
def test_angular_search_needs_the_best_labelling_of_every_loss(problem: Any) -> None:
    scores, truth, lengths = problem.draw(np.random.default_rng(0), SIZE)
    with pytest.raises(ValueError, match="no oracle with bounds on the slope; use convex-hull"):
        structured_loss(scores, truth, problem.output, "slack", "angular", lengths=lengths)


def test_scores_may_be_one_array_or_a_tuple_shared_or_not() -> None:
    scores, truth, _ = draw("multi-class")
    one, several = (structured_loss(each, truth, MultiClass()) for each in (scores[0], scores))
    assert (one.dscores == several.dscores[0]).all()
    emissions, transitions = np.zeros((3, 4, 2)), np.ones((2, 2))
    truth = np.zeros((3, 4), dtype=int)
    shared = structured_loss((emissions, transitions), truth, Chain())
    own = structured_loss((emissions, np.stack([transitions] * 3)), truth, Chain())
    assert (shared.loss == own.loss).all()
    assert (shared.dscores[1] == own.dscores[1].sum(axis=0)).all()


def test_arrays_of_torch_layout_and_order_are_taken() -> None:
    scores, truth, _ = draw("multi-class")
    strided = np.asfortranarray(np.repeat(scores[0], 2, axis=1))[:, ::2]
    assert (structured_loss(strided, truth, MultiClass()).loss > 0).any()
    same = structured_loss(strided, truth.astype(np.uint8), MultiClass())
    assert (same.loss == structured_loss(scores, truth, MultiClass()).loss).all()


def test_an_empty_batch_has_no_losses() -> None:
    result = structured_loss(np.zeros((0, 3)), np.zeros(0, dtype=int), MultiClass())
    assert result.loss.shape == (0,)
    assert result.dscores.shape == (0, 3)


def test_in_label_sets_leaves_imply_the_nodes_above() -> None:
    output = LabelSets(TREE)
    scores = np.random.default_rng(0).normal(size=(1, len(output.hierarchy.nodes)))
    truth = np.zeros((1, scores.shape[1]), dtype=int)
    leaf = leaves(output)[0]
    truth[0, leaf] = 1
    closed = truth.copy()
    for _ in range(3):
        for parent, child in output.hierarchy.edges:
            nodes = output.hierarchy.nodes
            closed[0, nodes.index(parent)] |= closed[0, nodes.index(child)]
    a, b = (structured_loss(scores, each, output) for each in (truth, closed))
    assert a.loss == b.loss
    assert (a.dscores == b.dscores).all()


def test_other_python_threads_run_meanwhile() -> None:
    arcs, ticks, done = np.zeros((4, 151, 151)), [0], threading.Event()
    arcs[:] = np.random.default_rng(0).normal(size=arcs.shape)
    truth = np.tile(np.arange(150), (4, 1))

    def tick() -> None:
        while not done.is_set():
            ticks[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    most = 0
    for _ in range(20):  # a busy machine may give the thread no time during some of them
        before = ticks[0]
        structured_loss(arcs, truth, ProjectiveTrees(), "slack")
        most = max(most, ticks[0] - before)
        if most >= 5:
            break
    done.set()
    thread.join()
    assert most >= 5  # at most 1 or 2 with the lock held


BATCH = np.zeros((2, 3, 3))
WRONG: list[tuple[Any, Any, Any, dict[str, Any], type[Exception], str]] = [
    (BATCH, [[0] * 3] * 2, Chain(), {}, ValueError, "there are 1 arrays, but must be emissions"),
    (
        BATCH[0],
        [0, 3, 1],
        MultiClass(),
        {},
        ValueError,
        r"truth of example 1 is 3, but must be the number of a class, 0 to 2",
    ),
    (
        BATCH[0],
        [0, 1, 2],
        MultiClass(np.array([[0, -1, 1], [1, 0, 1], [1, 1, 0]])),
        {},
        ValueError,
        "the cost of class 1 where class 0 is the true one is -1, but must be finite and >= 0",
    ),
    (BATCH[0], [0, 1], MultiClass(), {}, ValueError, r"truth: shape is \(2,\), but must be \(3,\)"),
    (BATCH[0], [0.0, 1, 2], MultiClass(), {}, TypeError, "truth is of type float64"),
    (BATCH, [0, 1], MultiClass(), {}, ValueError, r"scores: shape is \(2, 3, 3\)"),
    (BATCH[0].astype(int), [0] * 3, MultiClass(), {}, TypeError, "scores: type is int64"),
    (
        BATCH[0] * np.nan,
        [0] * 3,
        MultiClass(),
        {},
        ValueError,
        "scores of example 0: score 0 is nan",
    ),
    (BATCH[0], [0] * 3, MultiClass(np.zeros((2, 2))), {}, ValueError, "costs: shape is"),
    (BATCH[0], [0] * 3, MultiClass(-np.ones((3, 3))), {}, ValueError, "cost"),
    (BATCH[0], [0] * 3, MultiClass, {}, TypeError, "output is of type type"),
    (BATCH[0], [0] * 3, MultiClass(), {"lengths": [1]}, ValueError, "lengths: MultiClass has none"),
    (BATCH[0], [0] * 3, MultiClass(), {"surrogate": "x"}, ValueError, "option surrogate is 'x'"),
    (BATCH[0], [0] * 3, MultiClass(), {"surrogate": "micro-f1"}, ValueError, "micro-f1"),
    (BATCH[0], [0] * 3, MultiClass(), {"search": "x"}, ValueError, "search"),
    (BATCH[0], [0] * 3, MultiClass(), {"max_bans": -1}, ValueError, "max_bans is -1"),
    (BATCH[0], [0] * 3, MultiClass(), {"tolerance": -1}, ValueError, "tolerance is -1"),
    (BATCH[0], [0] * 3, MultiClass(), {"tolerance": np.nan}, ValueError, "tolerance is nan"),
    (
        (BATCH, BATCH[0]),
        [[0, 1, 2], [0, 3, 1]],
        Chain(),
        {},
        ValueError,
        r"truth of example 1: number 1 is 3, but must be in \[0, 3\)",
    ),
    (
        (BATCH, BATCH[0]),
        [[0] * 3] * 2,
        Chain(),
        {"lengths": [3, 4]},
        ValueError,
        r"lengths: that of example 1 is 4, but must be in \[1, 3\]",
    ),
    ((BATCH, BATCH[0]), [[0] * 3] * 2, Chain(), {"lengths": [3]}, ValueError, "lengths: shape is"),
    ((BATCH, BATCH[0]), [[0] * 3] * 2, Chain(3), {}, ValueError, "outside_tag is 3"),
    ((BATCH, np.zeros((3, 2))), [[0] * 3] * 2, Chain(), {}, ValueError, "transitions: shape is"),
    (
        (BATCH, BATCH[0]),
        [[0] * 3] * 2,
        Chain(),
        {"surrogate": "normalized-difference"},
        ValueError,
        "must be enumerated",
    ),
    (
        (BATCH, BATCH[0]),
        [[0] * 3] * 2,
        Chain(),
        {"surrogate": "slack", "search": "sarawagi"},
        ValueError,
        "needs the slacks",
    ),
    (BATCH, [[0, 0], [0, 1]], ProjectiveTrees(), {}, ValueError, "sentence 0 has 2 roots"),
    (BATCH, [[2, 1], [0, 1]], ProjectiveTrees(), {}, ValueError, "sentence 0 has 0 roots"),
    (BATCH, [[2, 1], [0, 1]], SpanningTrees(), {}, ValueError, "sentence 0 has 0 roots"),
    (
        np.zeros((1, 4, 4)),
        [[2, 1, 0]],
        SpanningTrees(),
        {},
        ValueError,
        "word 1 of sentence 0 is on or below a cycle",
    ),
    (BATCH[0], [[1, 1, 0], [1, 0, 0], [1, 1, 0]], TopK(2), {}, ValueError, "1 has 1 labels, but"),
    (BATCH[0], [[1, 1, 2]] * 3, TopK(2), {}, ValueError, "number 2 is 2, but must be in"),
    (BATCH[0], [[1, 1, 1]] * 3, TopK(4), {}, ValueError, "k is 4, but must be between 1 and"),
    (BATCH[0], [5] * 3, LabelPaths([("a", "b"), ("a", "c")], inner=True), {}, ValueError, "a node"),
    (BATCH[:, :2], [[0, 1]] * 2, ProjectiveTrees(), {}, ValueError, r"arcs: shape is \(2, 2, 3\)"),
    (
        BATCH + np.inf,
        [[0, 1]] * 2,
        ProjectiveTrees(),
        {},
        ValueError,
        "arcs of example 0: that from 0 to 1 has score inf",
    ),
    (
        (BATCH[0], BATCH[0] * np.nan),
        [[0] * 3] * 3,
        PairwiseField(),
        {},
        ValueError,
        "pairs of example 0: that of 0 and 1 has score nan",
    ),
    (
        (BATCH[0], BATCH[0]),
        [[0, 2, 0]] * 3,
        PairwiseField(),
        {},
        ValueError,
        r"truth of example 0: number 1 is 2, but must be in \[0, 2\)",
    ),
    (BATCH[0], [0] * 3, LabelPaths(TREE), {}, ValueError, r"must be \(examples, 8\)"),
    (np.zeros((1, 8)), [0], LabelPaths(TREE), {}, ValueError, "must be the number of a leaf"),
    (np.zeros((1, 8)), [[0] * 8], LabelSets(TREE), {}, ValueError, "example 0 has no leaf"),
]


@pytest.mark.parametrize(("scores", "truth", "output", "how", "error", "message"), WRONG)
def test_wrong_input_is_named(
    scores: Any, truth: Any, output: Any, how: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        structured_loss(scores, truth, output, **how)


def test_arcs_of_all_trees_may_cross() -> None:
    heads = np.array([[3, 4, 0, 3]])  # 1 <- 3 and 2 <- 4
    with pytest.raises(ValueError, match="cross, but the tree must be projective"):
        structured_loss(np.zeros((1, 5, 5)), heads, ProjectiveTrees())
    assert structured_loss(np.zeros((1, 5, 5)), heads, SpanningTrees()).loss == 4


def test_a_choice_has_at_least_one_label() -> None:
    with pytest.raises(ValueError, match="k is 0, but must be >= 1"):
        TopK(0)


@pytest.mark.parametrize("output", [LabelPaths, LabelSets])
def test_hierarchies_and_losses_are_checked_when_an_output_is_made(output: Any) -> None:
    with pytest.raises(ValueError, match="edge 'b' 'a' closes the cycle a > b > a"):
        output([("a", "b"), ("b", "a")])
    with pytest.raises(ValueError, match=r"loss is 'x', but must be ('hamming', 'n|'leaves' or)"):
        output(TREE, loss="x")


def test_a_node_without_a_leaf_below_it_is_no_label_set() -> None:
    output = LabelSets(TREE)
    ends = leaves(output)
    truth = np.zeros((1, 8), dtype=int)
    truth[0, ends[-1]] = 1
    truth[0, output.hierarchy.nodes.index("b")] = 1
    with pytest.raises(ValueError, match="but no leaf below it"):
        structured_loss(np.zeros((1, 8)), truth, output)
