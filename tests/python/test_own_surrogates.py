"""Surrogates of users in margrove.structured, margrove.losses and margrove.torch."""

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest
from margrove.losses import MultiClass, structured_loss
from margrove.structured import StructuredSVM
from own_losses import PROBLEMS
from sklearn.base import clone
from test_own_models import AllLabellings, WithKBest, objective, subsets


class Slack:
    """(m + 1) g, as the library's, with all optional members."""

    def value(self, m: float, g: float) -> float:
        return (m + 1) * g

    def derivative_m(self, m: float, g: float) -> float:
        return g

    def derivative_g(self, m: float, g: float) -> float:
        return m + 1

    def slope(self, g: float) -> float:
        return g

    def offset(self, g: float) -> float:
        return g

    def in_domain(self, m: float, g: float) -> bool:
        return m >= -1


class Log:
    """g log(1 + exp m), as the library's."""

    is_convex = True

    def value(self, m: float, g: float) -> float:
        return g * (m + math.log1p(math.exp(-m)) if m > 0 else math.log1p(math.exp(m)))

    def derivative_m(self, m: float, g: float) -> float:
        return g / (1 + math.exp(-m))

    def derivative_g(self, m: float, g: float) -> float:
        return self.value(m, 1)


class SquaredSlack:
    """max(0, m + 1)^2 g, which the library does not have."""

    is_convex = True

    def value(self, m: float, g: float) -> float:
        return max(0.0, m + 1) ** 2 * g

    def derivative_m(self, m: float, g: float) -> float:
        return 2 * max(0.0, m + 1) * g

    def derivative_g(self, m: float, g: float) -> float:
        return max(0.0, m + 1) ** 2


class Sigmoid:
    """g / (1 + exp -m), which is not convex in m."""

    def value(self, m: float, g: float) -> float:
        return g / (1 + math.exp(-m))

    def derivative_m(self, m: float, g: float) -> float:
        return self.value(m, g) / (1 + math.exp(m))

    def derivative_g(self, m: float, g: float) -> float:
        return self.value(m, 1)


def without(*names: str, of: type = Slack, **others: Any) -> Any:
    """An object like one of `of`, without some of its members and with others."""
    members = {k: v for k, v in vars(of).items() if not k.startswith("__") and k not in names}
    return type("Changed", (), members | others)()


@pytest.mark.parametrize(
    ("own", "name", "solver"),
    [
        (Slack(), "slack", "bcfw"),
        (Slack(), "slack", "one-slack"),
        (Slack(), "slack", "sgd"),
        (Log(), "log", "cutting-plane"),
        (Log(), "log", "auto"),
    ],
)
def test_the_functions_of_a_surrogate_train_as_it_does(own: Any, name: str, solver: str) -> None:
    X, Y = subsets()
    how: Any = {"solver": solver, "C": 0.2, "tolerance": 1e-3, "max_passes": 200}
    expected = StructuredSVM(WithKBest(), surrogate=name, **how).fit(X, Y)
    found = StructuredSVM(WithKBest(), surrogate=own, **how).fit(X, Y)
    assert found.report_["stop"] == expected.report_["stop"]
    assert (found.report_["stop"] == "converged") == expected.report_["certified"]
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-6, atol=1e-9)
    assert found.report_["certified"] == expected.report_["certified"]


def test_a_new_surrogate_has_a_certified_optimum() -> None:
    X, Y = subsets()
    how: Any = {"surrogate": SquaredSlack(), "C": 0.1, "max_bans": 50}
    model = StructuredSVM(
        WithKBest(), solver="cutting-plane", tolerance=1e-4, max_passes=1000, **how
    ).fit(X, Y)
    assert model.report_["stop"] == "converged"
    assert model.report_["certified"]

    def value(w: Any) -> float:
        return objective(WithKBest(), w, X, Y, 0.1, SquaredSlack().value)

    assert value(model.coef_) == pytest.approx(model.report_["primal"], rel=1e-5)
    random = np.random.default_rng(0)
    for _ in range(20):
        assert value(model.coef_ + 0.05 * random.normal(size=15)) > value(model.coef_)
    by_sgd = StructuredSVM(WithKBest(), solver="sgd", max_passes=50, tolerance=1e-9, **how)
    by_sgd.fit(X, Y)
    assert value(by_sgd.coef_) < 1.05 * value(model.coef_)


def test_sgd_trains_a_surrogate_that_is_not_convex_from_the_first_pass_on() -> None:
    values = []

    class Seen(Sigmoid):
        def derivative_m(self, m: float, g: float) -> float:
            values.append(g)
            return super().derivative_m(m, g)

    X, Y = subsets()
    how: Any = {"solver": "sgd", "C": 0.2, "max_passes": 1}
    one = StructuredSVM(WithKBest(), surrogate=Seen(), **how).fit(X, Y)
    assert len(values) > 112 + len(X)  # beyond those of the check
    zero = objective(WithKBest(), np.zeros(15), X, Y, 0.2, Sigmoid().value)
    assert objective(WithKBest(), one.coef_, X, Y, 0.2, Sigmoid().value) < zero


def test_threads_and_a_clone_give_the_same_bits() -> None:
    X, Y = subsets()
    model = StructuredSVM(WithKBest(), surrogate=Log(), solver="cutting-plane", C=0.2).fit(X, Y)
    for other in (clone(model), clone(model).set_params(threads=3)):
        assert other.fit(X, Y).coef_.tobytes() == model.coef_.tobytes()
    assert pickle.loads(pickle.dumps(model)).coef_.tobytes() == model.coef_.tobytes()


@pytest.mark.parametrize(
    "name",
    ["multi-class", "costs", "chain", "trees", "all trees", "field", "top k", "paths", "sets"],
)
def test_losses_of_scores_are_those_of_the_surrogate(name: str) -> None:
    problem = PROBLEMS[name]
    scores, truth, lengths = problem.draw(np.random.default_rng(1), 6)
    for own, built_in in ((Log(), "log"), (Slack(), "slack")):
        how: Any = {"lengths": lengths, "max_bans": 50}
        expected = structured_loss(scores, truth, problem.output, built_in, **how)
        found = structured_loss(scores, truth, problem.output, own, threads=2, **how)
        np.testing.assert_allclose(found.loss, expected.loss, rtol=1e-9)
        np.testing.assert_array_equal(found.y_star, expected.y_star)


def test_a_layer_of_torch_takes_them_and_checks_them_once() -> None:
    torch = pytest.importorskip("torch", reason="needs PyTorch: pip install torch")
    from margrove.torch import StructuredLoss

    calls = []

    class Counted(Log):
        def in_domain(self, m: float, g: float) -> bool:
            calls.append((m, g))
            return True

    scores = torch.randn(4, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    truth = [0, 1, 2, 0]
    expected = StructuredLoss(MultiClass(), "log")(scores, truth).item()
    layer = StructuredLoss(MultiClass(), Counted())
    assert layer(scores, truth).item() == pytest.approx(expected)
    once = len(calls)
    assert once > 0
    assert layer(scores, truth).item() == pytest.approx(expected)
    assert len(calls) == once
    assert copy.deepcopy(layer)(scores, truth).item() == pytest.approx(expected)
    scores.requires_grad_()
    assert torch.autograd.gradcheck(lambda s: layer(s, truth), scores)
    layer.surrogate = "margin"
    assert layer(scores, truth).item() == StructuredLoss(MultiClass())(scores, truth).item()
    pickle.loads(pickle.dumps(StructuredLoss(MultiClass(), Log())))


WRONG: list[tuple[Any, type[Exception], str]] = [
    (3, TypeError, "surrogate is of type int, which is no name and has no method value"),
    (None, TypeError, "surrogate is of type NoneType"),
    ("squared", ValueError, "surrogate is 'squared', but must be one of margin, slack"),
    (without("derivative_g"), TypeError, "has no method derivative_g"),
    (without("offset"), ValueError, "one of slope and offset, but must have both or none"),
    (without(value=lambda *_: "x"), TypeError, "surrogate: value returned a value of type str"),
    (without(value=lambda *_: math.nan), ValueError, "value at m = .* is nan, but must be finite"),
    (without(in_domain=lambda *_: np.False_), ValueError, "its domain holds no point with m from"),
    (without(is_convex="yes"), TypeError, "surrogate: is_convex is of type str, but must be bool"),
    (
        without(derivative_m=lambda _, m, g: 2 * g),
        ValueError,
        "derivative_m at m = .*, but difference quotients of value are",
    ),
    (without("in_domain", in_domain=lambda *_: True), ValueError, "must increase with m and with"),
    (without(of=Sigmoid, is_convex=True), ValueError, "is_convex says that it is convex in m"),
]


@pytest.mark.parametrize(("surrogate", "error", "message"), WRONG)
def test_what_is_no_surrogate_is_an_error(
    surrogate: Any, error: type[Exception], message: str
) -> None:
    X, Y = subsets()
    with pytest.raises(error, match=message):
        StructuredSVM(AllLabellings(), surrogate=surrogate).fit(X, Y)
    with pytest.raises(error, match=message):
        structured_loss(np.zeros((1, 3)), [0], MultiClass(), surrogate)


@pytest.mark.parametrize(
    ("surrogate", "solver", "message"),
    [
        (without("slope", "offset"), "bcfw", "surrogate custom is not affine in the margin"),
        (without("slope", "offset"), "one-slack", "surrogate custom is not convex in the margin"),
    ],
)
def test_a_solver_needs_members_that_say_more(surrogate: Any, solver: str, message: str) -> None:
    X, Y = subsets()
    with pytest.raises(ValueError, match=message):
        StructuredSVM(AllLabellings(), surrogate=surrogate, solver=solver).fit(X, Y)
    with pytest.raises(ValueError, match="search is 'angular', which serves slack rescaling only"):
        StructuredSVM(AllLabellings(), surrogate=surrogate, search="angular").fit(X, Y)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("after", [0, 5_000])
def test_exceptions_of_functions_are_passed_on(threads: int, after: int) -> None:
    error = RuntimeError("mine")
    calls = []

    def value(_: Any, m: float, g: float) -> float:
        calls.append(0)
        if len(calls) > after:
            raise error
        return (m + 1) * g

    own = without(value=value)
    X, Y = subsets()
    how: Any = {"solver": "sgd", "max_passes": 500, "tolerance": 1e-12, "threads": threads}
    with pytest.raises(RuntimeError) as caught:
        StructuredSVM(WithKBest(), surrogate=own, **how).fit(X, Y)
    assert caught.value is error
    calls.clear()
    scores = np.zeros((300, 80))
    with pytest.raises(RuntimeError) as caught:
        structured_loss(scores, [0] * 300, MultiClass(), own, threads=threads)
    assert caught.value is error
