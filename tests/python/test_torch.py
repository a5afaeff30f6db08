"""margrove.torch: gradients by torch.autograd.gradcheck, and the manners of a module."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install torch")

import margrove.losses  # noqa: E402
import margrove.torch  # noqa: E402
from margrove.losses import Chain, MultiClass, ProjectiveTrees, structured_loss  # noqa: E402
from margrove.torch import LogLikelihoodLoss, PerturbedLoss, StructuredLoss  # noqa: E402
from own_losses import CASES, PROBLEMS, best_labelling, of_example  # noqa: E402

SIZE = 5


def draw(name: str, dtype: Any = torch.float64, seed: int = 3) -> tuple[Any, Any, Any]:
    scores, truth, lengths = PROBLEMS[name].draw(np.random.default_rng(seed), SIZE)
    return [torch.tensor(s, dtype=dtype, requires_grad=True) for s in scores], truth, lengths


@pytest.mark.parametrize(("name", "surrogate"), CASES)
def test_gradcheck(name: str, surrogate: str) -> None:
    scores, truth, lengths = draw(name)
    loss = StructuredLoss(PROBLEMS[name].output, surrogate, reduction="none", max_bans=100)
    in_single = "sets" in name  # whose scores are rounded to single precision
    assert torch.autograd.gradcheck(
        lambda *parts: loss(parts, truth, lengths),
        scores,
        eps=2e-3 if in_single else 1e-6,
        atol=2e-2 if in_single else 1e-4,
    )


@pytest.mark.parametrize(("name", "surrogate"), CASES)
def test_the_gradient_is_that_of_the_maximum_of_all_labellings(name: str, surrogate: str) -> None:
    scores, truth, lengths = draw(name)
    problem = PROBLEMS[name]
    loss = StructuredLoss(problem.output, surrogate, reduction="sum", max_bans=100)
    value = loss(scores, truth, lengths)
    value.backward()
    plain = [each.detach().numpy() for each in scores]

    def total(parts: list[Any]) -> float:
        every = 0.0
        for i in range(SIZE):
            y = truth[i] if lengths is None else truth[i][: lengths[i]]
            every += best_labelling(problem, surrogate, of_example(name, parts, i), y)[0]
        return every

    assert value.item() == pytest.approx(total(plain), rel=1e-5)
    random, step = np.random.default_rng(4), 1e-5
    direction = [random.normal(size=each.shape) for each in plain]
    ahead = total([s + step * d for s, d in zip(plain, direction, strict=True)])
    back = total([s - step * d for s, d in zip(plain, direction, strict=True)])
    slope = sum(float((s.grad.numpy() * d).sum()) for s, d in zip(scores, direction, strict=True))
    assert slope == pytest.approx((ahead - back) / (2 * step), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("name", sorted(set(PROBLEMS) - {"field"}))
def test_gradcheck_of_log_likelihoods(name: str) -> None:
    scores, truth, lengths = draw(name)
    loss = LogLikelihoodLoss(PROBLEMS[name].output, reduction="none")
    assert torch.autograd.gradcheck(lambda *parts: loss(parts, truth, lengths), scores)


@pytest.mark.parametrize("name", PROBLEMS)
def test_gradcheck_of_perturbed_losses(name: str) -> None:
    scores, truth, lengths = draw(name)
    loss = PerturbedLoss(PROBLEMS[name].output, seed=1, samples=5, reduction="none")
    assert torch.autograd.gradcheck(lambda *parts: loss(parts, truth, lengths), scores)


def test_noise_is_that_of_the_generator_of_torch_unless_there_is_a_seed() -> None:
    scores, truth, _ = draw("multi-class")
    drawn, seeded = PerturbedLoss(MultiClass()), PerturbedLoss(MultiClass(), seed=3)
    torch.manual_seed(0)
    first, second = drawn(scores, truth), drawn(scores, truth)
    torch.manual_seed(0)
    assert drawn(scores, truth) == first != second
    assert seeded(scores, truth) == seeded(scores, truth)


def test_reductions_and_weights_of_examples() -> None:
    scores, truth, lengths = draw("chain")
    every = StructuredLoss(Chain(), reduction="none")(scores, truth, lengths)
    assert every.shape == (SIZE,)
    total = StructuredLoss(Chain(), reduction="sum")(scores, truth, lengths)
    mean = StructuredLoss(Chain())(scores, truth, lengths)
    assert total.item() == pytest.approx(every.sum().item())
    assert mean.item() == pytest.approx(every.mean().item())
    weights = torch.arange(float(SIZE), dtype=torch.float64)
    (weights * every).sum().backward()
    plain = [each.detach().numpy() for each in scores]
    expected = np.zeros((3, 3))
    for i in range(SIZE):
        parts = plain[0][i : i + 1], *plain[1:]
        own = structured_loss(parts, truth[i : i + 1], Chain(), lengths=lengths[i : i + 1])
        expected += i * own.dscores[1]
        assert scores[0].grad[i].numpy() == pytest.approx(i * own.dscores[0][0])
    assert scores[1].grad.numpy() == pytest.approx(expected)


def test_only_scores_that_need_a_gradient_get_one() -> None:
    scores, truth, lengths = draw("chain")
    fixed = scores[1].detach()
    StructuredLoss(Chain())((scores[0], fixed), truth, lengths).backward()
    assert scores[0].grad is not None
    assert fixed.grad is None


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_lower_precision(dtype: Any) -> None:
    scores, truth, _ = draw("multi-class", dtype)
    loss = StructuredLoss(MultiClass(), "slack")(scores[0], torch.tensor(truth))
    assert loss.dtype == torch.float32
    loss.backward()
    assert scores[0].grad.dtype == dtype
    assert scores[0].grad.any()


def test_scores_of_two_types() -> None:
    scores, truth, lengths = draw("chain")
    single = scores[1].detach().float().requires_grad_()
    StructuredLoss(Chain())((scores[0], single), truth, lengths).backward()
    assert single.grad.dtype == torch.float32
    assert single.grad.any()


def test_a_layer_is_trained() -> None:
    torch.manual_seed(0)
    X = torch.randn(60, 6, 4)
    truth = (X[..., 0] + X[..., 1].roll(1, dims=1) > 0).long()
    layer, transitions = torch.nn.Linear(4, 2), torch.nn.Parameter(torch.zeros(2, 2))
    loss = StructuredLoss(Chain(), "slack", threads=2)
    optimizer = torch.optim.Adam([*layer.parameters(), transitions], lr=0.05)
    history = []
    for _ in range(40):
        optimizer.zero_grad()
        value = loss((layer(X), transitions), truth)
        value.backward()
        optimizer.step()
        history.append(value.item())
    assert history[-1] < 0.7 * history[0]


def changed(scores: list[Any], seed: int) -> list[Any]:
    random = np.random.default_rng(seed)
    return [s.detach() + 0.3 * torch.tensor(random.normal(size=s.shape)) for s in scores]


@pytest.mark.parametrize(("name", "surrogate"), CASES)
def test_keys_change_no_loss(name: str, surrogate: str) -> None:
    scores, truth, lengths = draw(name)
    loss = StructuredLoss(PROBLEMS[name].output, surrogate, reduction="none", max_bans=100)
    keys = np.random.default_rng(0).permutation(SIZE) + 2
    for epoch in range(3):
        now = changed(scores, epoch)
        losses = loss(now, truth, lengths, keys=keys)
        assert torch.allclose(losses, loss(now, truth, lengths), rtol=1e-6)


def test_searches_begin_with_the_last_maximum_of_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    starts = []

    def evaluate(*arguments: Any) -> Any:
        starts.append(arguments[5])
        return original(*arguments)

    original = margrove.losses.evaluate
    monkeypatch.setattr(margrove.torch, "evaluate", evaluate)
    loss = StructuredLoss(Chain(), "slack")
    scores = (torch.randn(4, 5, 3), torch.randn(3, 3))
    truth = np.zeros((4, 5), int)
    loss(scores, truth)
    loss(scores, truth, [5, 5, 5, 5], keys=torch.tensor([7, 0, 2, 1]))
    loss((scores[0][:, :4], scores[1]), truth[:, :4], [3, 4, 2, 4], keys=[9, 10**15, 3, 4])
    loss(scores, truth, [5, 4, 5, 2], keys=[0, 10**15, -6, 3])
    maxima = structured_loss(tuple(s.numpy() for s in scores), truth, Chain(), "slack").y_star
    assert starts[0] is None
    assert (starts[1] == -1).all()
    assert (starts[2] == -1).all()
    assert starts[3][0].tolist() == maxima[1].tolist()
    assert (starts[3][1][:4] >= 0).all()
    assert starts[3][1][4] == -1
    assert (starts[3][2] == -1).all()
    assert (starts[3][3] >= 0).tolist() == [True, True, False, False, False]
    again = pickle.loads(pickle.dumps(loss))
    again(scores, truth, keys=[0, 1, 2, 3])
    assert (starts[4] == -1).all()


def test_an_example_of_another_length_or_with_other_classes_has_no_maximum_yet() -> None:
    random = torch.Generator().manual_seed(0)
    loss, same = StructuredLoss(Chain(), "slack"), StructuredLoss(Chain(), "slack")
    for tokens, tags in ((3, 4), (5, 4), (2, 4), (5, 3), (5, 4)):
        scores = (
            torch.randn(1, tokens, tags, generator=random),
            torch.randn(tags, tags, generator=random),
        )
        truth = torch.arange(tokens)[None] % tags
        assert loss(scores, truth, keys=[0]) == same(scores, truth)
    trees, plain = (StructuredLoss(ProjectiveTrees(), "slack") for _ in range(2))
    for words, length in ((5, 4), (4, 4), (6, 4), (6, 6)):  # padded, and longer in the end
        arcs = torch.randn(1, words + 1, words + 1, generator=random)
        heads = torch.full((1, words), -1)
        heads[0, :length] = torch.arange(length)
        assert trees(arcs, heads, [length], keys=[0]) == plain(arcs, heads, [length])
    with pytest.raises(ValueError, match=r"lengths: shape is \(2,\), but must be \(1,\)"):
        trees(arcs, heads, [6, 6], keys=[0])


def test_wrong_keys_are_errors() -> None:
    loss = StructuredLoss(Chain(), "slack")
    scores, truth = (torch.zeros(2, 3, 3), torch.zeros(3, 3)), np.zeros((2, 3), int)
    with pytest.raises(TypeError, match="keys are of type float64, but must be of integers"):
        loss(scores, truth, keys=[0.5, 1])
    with pytest.raises(ValueError, match=r"keys: shape is \(3,\), but must be \(2,\)"):
        loss(scores, truth, keys=[0, 1, 2])


def test_a_module_is_copied_pickled_and_printed() -> None:
    scores, truth, lengths = draw("chain")
    loss = StructuredLoss(Chain(1), "beta:0.5")
    value = loss(scores, truth, lengths)
    for other in (copy.deepcopy(loss), pickle.loads(pickle.dumps(loss))):
        assert other(scores, truth, lengths) == value
    assert "Chain(outside_tag=1), surrogate='beta:0.5'" in str(loss)
    assert str(LogLikelihoodLoss(Chain())) == "LogLikelihoodLoss(Chain(outside_tag=0))"
    assert "sigma=0.5, samples=10, seed=3" in str(PerturbedLoss(Chain(), sigma=0.5, seed=3))


def test_wrong_arguments_are_errors() -> None:
    scores, truth, _ = draw("multi-class")
    with pytest.raises(ValueError, match="reduction is 'max'"):
        StructuredLoss(MultiClass(), reduction="max")
    with pytest.raises(TypeError, match="scores: type is ndarray, but must be"):
        StructuredLoss(MultiClass())(scores[0].detach().numpy(), truth)
    with pytest.raises(TypeError, match="scores: type is int64"):
        StructuredLoss(MultiClass())(scores[0].long(), truth)
    with pytest.raises(ValueError, match="truth: shape"):
        StructuredLoss(MultiClass())(scores[0], truth[:-1])


@pytest.mark.parametrize(
    ("layer", "options", "error"),
    [
        (StructuredLoss, {"surrogate": "x"}, "option surrogate is 'x'"),
        (StructuredLoss, {"search": "x"}, "option search is 'x'"),
        (StructuredLoss, {"max_bans": -1}, "option max_bans is -1, but must be >= 0"),
        (StructuredLoss, {"tolerance": 1.0}, r"option tolerance is 1, but must be in \[0, 1\)"),
        (LogLikelihoodLoss, {"threads": -1}, "threads is -1"),
        (PerturbedLoss, {"sigma": 0.0}, "option sigma is 0, but must be finite and > 0"),
        (PerturbedLoss, {"samples": 0}, "option samples is 0, but must be >= 1"),
        (PerturbedLoss, {"seed": -1}, "option seed is -1"),
    ],
)
def test_wrong_settings_are_errors_when_a_layer_is_made(
    layer: Any, options: dict[str, Any], error: str
) -> None:
    with pytest.raises(ValueError, match=error):
        layer(MultiClass(), **options)
    with pytest.raises(TypeError, match="output is of type str, but must be one of"):
        layer("chain")


def test_a_layer_without_a_seed_draws_none_when_it_is_made() -> None:
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    PerturbedLoss(MultiClass())
    assert torch.equal(torch.rand(3), expected)
