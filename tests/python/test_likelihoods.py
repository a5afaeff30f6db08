"""Log-likelihoods, marginals, perturbed losses and best labellings of margrove.losses.

Against the enumeration of all labellings and closed forms.
"""

import math
from typing import Any

import numpy as np
import pytest
from margrove.losses import (
    Chain,
    LabelSets,
    MultiClass,
    PairwiseField,
    ProjectiveTrees,
    SpanningTrees,
    TopK,
    best_labellings,
    log_likelihood_loss,
    marginals,
    perturbed_loss,
)
from own_losses import DAG, PROBLEMS, log_partition, of_example
from scipy.special import log_softmax, logsumexp, softmax
from scipy.stats import norm

SIZE = 12
SUMMED = sorted(set(PROBLEMS) - {"field"})


def draw(name: str, dtype: Any = np.float64, seed: int = 0, scale: float = 1.0) -> Any:
    scores, truth, lengths = PROBLEMS[name].draw(np.random.default_rng(seed), SIZE)
    return tuple((scale * each).astype(dtype) for each in scores), truth, lengths


def length(lengths: Any, truth: Any, i: int) -> int:
    return np.atleast_1d(truth[i]).size if lengths is None else int(lengths[i])


def losses(name: str, scores: Any, truth: Any, lengths: Any) -> list[float]:
    """-log p(truth), by enumeration."""
    problem, found = PROBLEMS[name], []
    for i in range(len(truth)):
        own, n = of_example(name, scores, i), length(lengths, truth, i)
        y = tuple(np.atleast_1d(truth[i]).tolist()[:n])
        found.append(log_partition(problem, own, n) - problem.score(own, y))
    return found


@pytest.mark.parametrize("scale", [1.0, 30.0, 1e4])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", SUMMED)
def test_log_likelihoods_are_sums_over_all_labellings(name: str, dtype: Any, scale: float) -> None:
    scores, truth, lengths = draw(name, dtype, scale=scale)
    loss, dscores = log_likelihood_loss(scores, truth, PROBLEMS[name].output, lengths=lengths)
    assert loss.dtype == dtype
    assert all(d.dtype == dtype for d in dscores)
    assert all(d.shape == s.shape for d, s in zip(dscores, scores, strict=True))
    doubles = tuple(each.astype(np.float64) for each in scores)
    expected = losses(name, doubles, truth, lengths)
    rounding = 1e-6 if dtype == np.float32 else 1e-11
    assert loss == pytest.approx(expected, rel=10 * rounding, abs=rounding * scale)


@pytest.mark.parametrize("scale", [1.0, 30.0])
@pytest.mark.parametrize("name", SUMMED)
def test_gradients_are_differences_of_log_likelihoods(name: str, scale: float) -> None:
    scores, truth, lengths = draw(name, seed=1, scale=scale)
    output = PROBLEMS[name].output
    dscores = log_likelihood_loss(scores, truth, output, lengths=lengths).dscores
    random, step = np.random.default_rng(2), 1e-5
    for _ in range(4):
        direction = [random.normal(size=each.shape) for each in scores]
        ahead, back = (
            sum(losses(name, tuple(s + t * d for s, d in pairs), truth, lengths))
            for t in (step, -step)
            for pairs in [list(zip(scores, direction, strict=True))]
        )
        slope = sum(float(np.sum(g * d)) for g, d in zip(dscores, direction, strict=True))
        assert slope == pytest.approx((ahead - back) / (2 * step), rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("scale", [1.0, 300.0, 1e4])
@pytest.mark.parametrize("name", ["trees", "all trees"])
def test_marginals_of_arcs_are_sums_over_trees(name: str, scale: float) -> None:
    (arcs,), _, lengths = draw(name, seed=3, scale=scale)
    problem = PROBLEMS[name]
    sums, found = marginals(arcs, problem.output, lengths=lengths)
    for i in range(SIZE):
        n = lengths[i]
        expected = np.zeros((5, 5))
        total = log_partition(problem, (arcs[i],), n)
        assert sums[i] == pytest.approx(total)
        for heads in problem.labellings(n):
            probability = math.exp(problem.score((arcs[i],), heads) - total)
            expected[list(heads), np.arange(1, n + 1)] += probability
        assert found[i] == pytest.approx(expected, abs=1e-9)


def test_classes_have_the_softmax() -> None:
    (scores,), truth, _ = draw("multi-class")
    loss, dscores = log_likelihood_loss(scores, truth, MultiClass())
    assert loss == pytest.approx(-log_softmax(scores, axis=1)[np.arange(SIZE), truth])
    assert dscores + np.eye(5)[truth] == pytest.approx(softmax(scores, axis=1))
    assert marginals(scores, MultiClass()).log_partition == pytest.approx(logsumexp(scores, axis=1))


def chain_by_logarithms(emissions: Any, transitions: Any) -> float:
    forward = emissions[0]
    for each in emissions[1:]:
        forward = each + logsumexp(forward[:, None] + transitions, axis=0)
    return float(logsumexp(forward))


@pytest.mark.parametrize("masked", [-50.0, -1e4, -1e9])
def test_long_chains_with_forbidden_transitions(masked: float) -> None:
    random = np.random.default_rng(0)
    emissions = 20 * random.normal(size=(3, 200, 7))
    transitions = np.where(random.random((7, 7)) < 0.6, masked, random.normal(size=(7, 7)))
    sums, (tags, pairs) = marginals((emissions, transitions), Chain())
    expected = [chain_by_logarithms(each, transitions) for each in emissions]
    assert sums == pytest.approx(expected, rel=1e-12)
    assert tags.sum(axis=2) == pytest.approx(np.ones((3, 200)))
    assert pairs.sum(axis=2) == pytest.approx(tags[:, :-1].sum(axis=1), abs=1e-9)
    assert pairs.sum(axis=1) == pytest.approx(tags[:, 1:].sum(axis=1), abs=1e-9)


def test_a_path_may_lead_through_tags_that_seem_impossible() -> None:
    emissions = np.zeros((1, 3, 3))
    emissions[0, 1] = [0.0, 0.0, -2000.0]
    emissions[0, 2] = [0.0, 0.0, 5000.0]
    transitions = np.array([[0.0, 0.0, -9000.0], [0.0, 0.0, -9000.0], [0.0, 0.0, 0.0]])
    transitions[0, 1] = 600.0
    sums, (tags, pairs) = marginals((emissions, transitions), Chain())
    assert sums == pytest.approx([chain_by_logarithms(emissions[0], transitions)], rel=1e-13)
    assert tags[0].argmax(axis=1).tolist() == [2, 2, 2]
    assert pairs[0, 2, 2] == pytest.approx(2.0)


def log_determinant(arcs: Any) -> float:
    """Of all trees with one root, by the Laplacian whose first row has the roots [Koo2007]."""
    weights = np.exp(arcs[1:, 1:])
    np.fill_diagonal(weights, 0.0)
    laplacian = np.diag(weights.sum(axis=0)) - weights
    laplacian[0] = np.exp(arcs[0, 1:])
    return float(np.linalg.slogdet(laplacian)[1])


@pytest.mark.parametrize("words", [2, 10, 40, 120])
def test_all_trees_have_the_determinant_of_the_laplacian(words: int) -> None:
    arcs = 2 * np.random.default_rng(words).normal(size=(2, words + 1, words + 1))
    sums, found = marginals(arcs, SpanningTrees())
    assert sums == pytest.approx([log_determinant(each) for each in arcs], rel=1e-10)
    assert found.sum(axis=1)[:, 1:] == pytest.approx(np.ones((2, words)))
    assert found[:, 0].sum(axis=1) == pytest.approx([1.0, 1.0])
    step, random = 1e-5, np.random.default_rng(0)
    direction = random.normal(size=arcs[0].shape)
    ahead, back = (log_determinant(arcs[0] + t * direction) for t in (step, -step))
    slope = float((found[0] * direction).sum())
    assert slope == pytest.approx((ahead - back) / (2 * step), rel=1e-5)


def test_all_trees_are_summed_where_the_laplacian_is_singular() -> None:
    arcs = np.full((1, 5, 5), -200.0)
    arcs[0, 1, 2] = arcs[0, 2, 1] = arcs[0, 3, 4] = arcs[0, 4, 3] = 0.0  # two cycles
    arcs[0, 0, 1:] = [-300.0, -310.0, -305.0, -301.0]
    total = log_partition(PROBLEMS["all trees"], (arcs[0],), 4)
    sums, found = marginals(arcs, SpanningTrees())
    assert sums == pytest.approx([total], rel=1e-14)
    assert found.sum(axis=1)[0, 1:] == pytest.approx(np.ones(4), rel=1e-12)


@pytest.mark.parametrize("scale", [1.0, 40.0])
@pytest.mark.parametrize("output", [ProjectiveTrees(), SpanningTrees()])
def test_long_sentences(output: Any, scale: float) -> None:
    words = 130
    arcs = scale * np.random.default_rng(0).normal(size=(1, words + 1, words + 1))
    sums, found = marginals(arcs, output)
    best = best_labellings(arcs, output)
    assert sums > best.score
    assert found.sum(axis=1)[0, 1:] == pytest.approx(np.ones(words), rel=1e-9)
    assert found[0, 0].sum() == pytest.approx(1.0)
    step = 1e-4
    direction = np.random.default_rng(1).normal(size=arcs.shape)
    ahead, back = (marginals(arcs + t * direction, output).log_partition for t in (step, -step))
    slope = float((found * direction).sum())
    assert slope == pytest.approx(float(((ahead - back) / (2 * step))[0]), rel=1e-4)


@pytest.mark.parametrize("name", PROBLEMS)
def test_best_labellings_are_those_of_all(name: str) -> None:
    scores, truth, lengths = draw(name, seed=4)
    problem = PROBLEMS[name]
    found, y = best_labellings(scores, problem.output, lengths=lengths)
    for i in range(SIZE):
        own, n = of_example(name, scores, i), length(lengths, truth, i)
        expected = max(problem.labellings(n), key=lambda each: problem.score(own, each))
        assert tuple(np.atleast_1d(y[i]).tolist()[:n]) == expected
        assert found[i] == pytest.approx(problem.score(own, expected))


def test_the_best_tree_has_one_root() -> None:
    arcs = np.zeros((1, 6, 6))
    arcs[0, 0] = 100.0
    heads = best_labellings(arcs, SpanningTrees()).y[0]
    assert (heads == 0).sum() == 1


def test_two_classes_have_the_closed_form_of_the_perturbed_loss() -> None:
    scores, truth = np.array([[0.3, -0.4]] * 50_000), np.zeros(50_000, dtype=int)
    loss, dscores = perturbed_loss(scores, truth, MultiClass(), sigma=0.8, samples=4)
    d, deviation = 0.7, 0.8 * math.sqrt(2)
    of_maximum = -d * norm.cdf(-d / deviation) + deviation * norm.pdf(d / deviation)
    assert loss.mean() == pytest.approx(of_maximum, abs=4 * loss.std() / math.sqrt(50_000))
    wrong = dscores[:, 1]
    assert wrong.mean() == pytest.approx(
        norm.cdf(-d / deviation), abs=4 * wrong.std() / math.sqrt(50_000)
    )


@pytest.mark.parametrize("name", PROBLEMS)
def test_gradients_are_differences_of_perturbed_losses(name: str) -> None:
    scores, truth, lengths = draw(name, seed=5)
    how: Any = {"truth": truth, "output": PROBLEMS[name].output, "lengths": lengths, "seed": 7}
    loss, dscores = perturbed_loss(scores, **how)
    assert (loss >= 0).all()
    assert loss.any()
    random, step = np.random.default_rng(2), 1e-6
    direction = [random.normal(size=each.shape) for each in scores]
    ahead, back = (
        perturbed_loss(
            tuple(s + t * d for s, d in zip(scores, direction, strict=True)), **how
        ).loss.sum()
        for t in (step, -step)
    )
    slope = sum(float(np.sum(g * d)) for g, d in zip(dscores, direction, strict=True))
    assert slope == pytest.approx((ahead - back) / (2 * step), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("name", PROBLEMS)
def test_without_noise_the_perturbed_loss_is_that_of_the_perceptron(name: str) -> None:
    scores, truth, lengths = draw(name, seed=6)
    problem = PROBLEMS[name]
    how: Any = {"lengths": lengths, "sigma": 1e-12, "samples": 1}
    loss = perturbed_loss(scores, truth, problem.output, **how).loss
    best = best_labellings(scores, problem.output, lengths=lengths).score
    for i in range(SIZE):
        own, n = of_example(name, scores, i), length(lengths, truth, i)
        of_truth = problem.score(own, tuple(np.atleast_1d(truth[i]).tolist()[:n]))
        assert loss[i] == pytest.approx(best[i] - of_truth, abs=1e-9)


def test_noise_depends_on_the_seed_alone() -> None:
    scores, truth, lengths = draw("chain", np.float32)
    how: Any = {"truth": truth, "output": Chain(), "lengths": lengths}
    assert (perturbed_loss(scores, **how).loss == perturbed_loss(scores, **how).loss).all()
    assert (perturbed_loss(scores, **how).loss != perturbed_loss(scores, seed=1, **how).loss).any()


@pytest.mark.parametrize("task", [log_likelihood_loss, perturbed_loss])
@pytest.mark.parametrize("name", SUMMED)
def test_threads_do_not_change_a_bit(name: str, task: Any) -> None:
    scores, truth, lengths = draw(name, np.float32)
    one, three = (
        task(scores, truth, PROBLEMS[name].output, lengths=lengths, threads=n) for n in (1, 3)
    )
    assert one.loss.tobytes() == three.loss.tobytes()
    for a, b in zip(one.dscores, three.dscores, strict=True):
        assert a.tobytes() == b.tobytes()


def test_scores_that_examples_share_have_marginals_of_each_example() -> None:
    random = np.random.default_rng(0)
    emissions, transitions = random.normal(size=(3, 4, 2)), random.normal(size=(2, 2))
    sums, (tags, pairs) = marginals((emissions, transitions), Chain(), lengths=[4, 2, 1])
    assert pairs.shape == (3, 2, 2)
    assert pairs.sum(axis=(1, 2)) == pytest.approx([3.0, 1.0, 0.0])
    assert tags.sum(axis=(1, 2)) == pytest.approx([4.0, 2.0, 1.0])
    assert (tags[1, 2:] == 0).all()
    assert sums.shape == (3,)


def test_empty_batches() -> None:
    empty = np.zeros((0, 3))
    assert log_likelihood_loss(empty, np.zeros(0, dtype=int), MultiClass()).loss.shape == (0,)
    assert best_labellings(empty, TopK(2)).y.shape == (0, 3)


ROWS = np.zeros((2, 3))


@pytest.mark.parametrize(
    ("task", "how", "message"),
    [
        (
            log_likelihood_loss,
            {"scores": (ROWS, np.zeros((3, 3))), "truth": [[0] * 3] * 2, "output": PairwiseField()},
            "log-likelihood: the sum over all label sets of a field of pairs cannot be computed",
        ),
        (
            log_likelihood_loss,
            {"scores": np.zeros((1, 7)), "truth": [[1] * 7], "output": LabelSets(DAG)},
            "log-likelihood: the hierarchy of the label sets has a node with two parents",
        ),
        (
            marginals,
            {"scores": np.zeros((1, 7)), "output": LabelSets(DAG)},
            "log-likelihood: the hierarchy of the label sets has a node with two parents",
        ),
        (
            log_likelihood_loss,
            {"scores": ROWS, "truth": [0, 3], "output": MultiClass()},
            "truth of example 1 is 3, but must be the number of a class",
        ),
        (
            log_likelihood_loss,
            {"scores": ROWS * np.nan, "truth": [0, 1], "output": MultiClass()},
            "scores of example 0: score 0 is nan",
        ),
        (
            perturbed_loss,
            {"scores": ROWS, "truth": [0, 1], "output": MultiClass(), "sigma": 0.0},
            "option sigma is 0, but must be finite and > 0",
        ),
        (
            perturbed_loss,
            {"scores": ROWS, "truth": [0, 1], "output": MultiClass(), "samples": 0},
            "option samples is 0, but must be >= 1",
        ),
        (
            perturbed_loss,
            {"scores": ROWS, "truth": [0, 1], "output": MultiClass(), "seed": -1},
            "option seed is -1, but must be in",
        ),
        (best_labellings, {"scores": ROWS, "output": TopK(4)}, "k is 4, but must be between 1 and"),
    ],
)
def test_wrong_input_is_named(task: Any, how: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        task(**how)
