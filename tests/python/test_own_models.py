"""margrove.structured: models of users, against built-in ones and against all labellings."""

import itertools
import math
import pickle
import signal
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from margrove import HSVC, StructuredSVC, _core
from margrove.structured import StructuredSVM
from numpy.typing import NDArray
from own_models import Chain, MultiClass, letter_features
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV

# Models ------------------------------------------------------------------------------------------


class ChainWithKBest(Chain):
    """The k best of all taggings, which are few because the sequences are short."""

    def k_best(self, x: Any, w: Any, truth: Any, w_m: float, w_g: float, k: int) -> Any:
        K, d = self.K, x.shape[1]
        Y = np.array(list(itertools.product(range(K), repeat=len(x))))
        nodes, pairs = x @ w[: d * K].reshape(d, K), w[d * K : -2 * K].reshape(K, K)
        score = nodes[np.arange(len(x)), Y].sum(axis=1) + pairs[Y[:, :-1], Y[:, 1:]].sum(axis=1)
        score += w[-2 * K : -K][Y[:, 0]] + w[-K:][Y[:, -1]]
        value = w_m * score + w_g * (np.array(truth) != Y).sum(axis=1)
        return [tuple(Y[j].tolist()) for j in np.argsort(-value, kind="stable")[:k]]


class AllLabellings:
    """Subsets of four parts by enumeration, with all optional methods."""

    LABELLINGS = tuple(itertools.product((0, 1), repeat=4))

    def joint_feature(self, x: Any, y: Any) -> Any:
        pairs = np.multiply(y[:-1], y[1:])
        return np.concatenate([np.outer(y, x).ravel(), pairs])

    def loss(self, y: Any, y_hat: Any) -> float:
        return float(np.sum(np.not_equal(y, y_hat)))

    def ranked(self, x: Any, w: Any, truth: Any, w_m: float, w_g: float) -> list[Any]:
        def value(y: Any) -> float:
            loss = 0.0 if truth is None else self.loss(truth, y)
            return float(w_m * (w @ self.joint_feature(x, y)) + w_g * loss)

        return sorted(self.LABELLINGS, key=value, reverse=True)

    def argmax(self, x: Any, w: Any, truth: Any, w_m: float, w_g: float) -> Any:
        return self.ranked(x, w, truth, w_m, w_g)[0]


class WithKBest(AllLabellings):
    def k_best(self, x: Any, w: Any, truth: Any, w_m: float, w_g: float, k: int) -> Any:
        return self.ranked(x, w, truth, w_m, w_g)[:k]


class WithBans(AllLabellings):
    def argmax_without(
        self, x: Any, w: Any, truth: Any, w_m: float, w_g: float, banned: list[Any]
    ) -> Any:
        left = [y for y in self.ranked(x, w, truth, w_m, w_g) if y not in banned]
        return left[0] if left else None


class WithBounds(AllLabellings):
    def constrained_argmax(
        self, x: Any, w: Any, truth: Any, w_m: float, w_g: float, bounds: Any
    ) -> Any:
        def is_within(y: Any) -> bool:
            m = w @ (self.joint_feature(x, y) - self.joint_feature(x, truth))
            return bool(bounds.contain(1 + m, self.loss(truth, y)))

        return next(filter(is_within, self.ranked(x, w, truth, w_m, w_g)), None)


# Data --------------------------------------------------------------------------------------------


def classes(seed: int = 0) -> tuple[NDArray[np.float32], list[int], NDArray[np.float64]]:
    random = np.random.default_rng(seed)
    y = random.integers(0, 4, size=60)
    X = (random.normal(size=(60, 5)) + np.eye(4, 5)[y]).astype(np.float32)
    costs = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0))) ** 1.5
    costs[0, 3] = 9
    return X, y.tolist(), costs


def sentences(seed: int = 0, size: int = 25) -> tuple[list[str], list[tuple[int, ...]]]:
    random = np.random.default_rng(seed)
    words, Y = [], []
    for _ in range(size):
        y = np.cumsum(random.integers(0, 2, size=random.integers(1, 6))) % 3
        letters = np.where(random.random(len(y)) < 0.7, y, random.integers(0, 5, size=len(y)))
        words.append("".join("abcde"[k] for k in letters))
        Y.append(tuple(y.tolist()))
    return words, Y


def subsets(seed: int = 0, size: int = 20) -> tuple[list[Any], list[tuple[int, ...]]]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(size, 3))
    Y = (X @ random.normal(size=(3, 4)) + random.normal(size=(size, 4)) > 0).astype(int)
    return list(X), [tuple(row) for row in Y.tolist()]


PSI: dict[str, Callable[[float, float], float]] = {
    "margin": lambda m, g: m + g,
    "slack": lambda m, g: (m + 1) * g,
    "beta:0.5": lambda m, g: m * math.sqrt(g) + g,
    "log": lambda m, g: g * math.log1p(math.exp(m)),
    "prob": lambda m, g: g * math.erfc(-m * math.sqrt(math.pi / g) / 2),
    "prob-convex": lambda m, g: PSI["prob"](min(m, 0), g) + math.sqrt(g) * max(m, 0),
}


def objective(model: Any, w: Any, X: Any, Y: Any, C: float, surrogate: Any) -> float:
    """||w||^2 / 2 + C sum_i max_y psi over all labellings; psi is a function or its name."""
    psi = PSI[surrogate] if isinstance(surrogate, str) else surrogate
    total = 0.0
    for x, y in zip(X, Y, strict=True):
        of_truth = w @ model.joint_feature(x, y)
        total += max(
            psi(w @ model.joint_feature(x, z) - of_truth, model.loss(y, z)) if z != y else 0.0
            for z in model.LABELLINGS
        )
    return float(w @ w / 2 + C * total)


# The same problems as built-in methods ------------------------------------------------------------


@pytest.mark.parametrize("solver", ["bcfw", "cutting-plane", "one-slack"])
def test_multi_class_with_costs_has_the_optimum_of_crammer_singer(
    tmp_path: Path, solver: str
) -> None:
    X, y, costs = classes()
    lines = [",0,1,2,3"] + [",".join([str(k), *map(str, row)]) for k, row in enumerate(costs)]
    (tmp_path / "costs.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    how: Any = {"C": 0.3, "tolerance": 1e-3, "max_passes": 2000}
    built_in = HSVC(cost_matrix=str(tmp_path / "costs.csv"), bias=0, scale="none", **how).fit(X, y)
    own = StructuredSVM(MultiClass(costs), solver=solver, **how).fit(X.astype(np.float64), y)
    assert built_in.report_["stop"] == own.report_["stop"] == "converged"
    assert own.report_["certified"]
    theirs, ours = built_in.report_, own.report_
    assert ours["dual"] <= theirs["primal"] * (1 + 1e-6)
    assert theirs["dual"] <= ours["primal"] * (1 + 1e-6)
    assert ours["primal"] == pytest.approx(theirs["primal"], rel=2e-3)


@pytest.mark.parametrize(("surrogate", "C"), [("margin", 0.05), ("slack", 0.05)])
def test_a_chain_has_the_optimum_of_the_built_in_one(surrogate: str, C: float) -> None:
    words, Y = sentences()
    X = [letter_features(sentence, "abcde").astype(float) for sentence in words]
    how: Any = {"C": C, "tolerance": 2e-3, "max_passes": 3000, "surrogate": surrogate}
    built_in = StructuredSVC(
        model="chain", decision="argmax", solver="bcfw", word_pairs=False, **how
    )
    built_in.fit([list(sentence) for sentence in words], [[f"t{k}" for k in y] for y in Y])
    own = StructuredSVM(ChainWithKBest(3), **how).fit(X, Y)
    theirs, ours = built_in.report_, own.report_
    assert theirs["stop"] == ours["stop"] == "converged"
    assert ours["certified"]
    assert not theirs["warnings"]
    assert ours["dual"] <= theirs["primal"] * (1 + 1e-6)
    assert theirs["dual"] <= ours["primal"] * (1 + 1e-6)
    assert ours["primal"] == pytest.approx(theirs["primal"], rel=4e-3)


def test_the_primal_is_the_objective_at_the_weights() -> None:
    X, Y = subsets()
    for surrogate in ("margin", "slack", "beta:0.5"):
        own = StructuredSVM(WithKBest(), surrogate=surrogate, C=0.2, tolerance=1e-3, max_passes=500)
        own.fit(X, Y)
        assert own.report_["certified"], surrogate
        value = objective(WithKBest(), own.coef_, X, Y, 0.2, surrogate)
        assert value == pytest.approx(own.report_["primal"], rel=1e-5), surrogate


# Solvers and searches -----------------------------------------------------------------------------

HOW = [
    ("bcfw", "margin", "margin", AllLabellings),
    ("cutting-plane", "margin", "margin", AllLabellings),
    ("one-slack", "margin", "margin", AllLabellings),
    ("bcfw", "convex-hull", "slack", WithKBest),
    ("bcfw", "convex-hull", "slack", WithBans),
    ("bcfw", "angular", "slack", WithBounds),
    ("cutting-plane", "angular", "slack", WithBounds),
    ("cutting-plane", "convex-hull", "slack", WithKBest),
    ("cutting-plane", "convex-hull", "log", WithKBest),
    ("bcfw", "convex-hull", "beta:0.5", WithBans),
]


@pytest.mark.parametrize(("solver", "search", "surrogate", "model"), HOW)
def test_exact_searches_give_the_optimum(
    solver: str, search: str, surrogate: str, model: type
) -> None:
    X, Y = subsets()
    own = StructuredSVM(
        model(), solver=solver, search=search, surrogate=surrogate, C=0.2, max_passes=1000,
        max_bans=50 if search == "convex-hull" else "auto", tolerance=1e-3,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore" if search == "angular" else "error", "some searches")
        own.fit(X, Y)
    is_exact = search != "angular"  # which stops at 0.999 of the maximum
    assert own.report_["certified"] == is_exact
    assert own.report_["stop"] == ("converged" if is_exact else "stalled")
    reference = StructuredSVM(
        WithKBest(), solver="cutting-plane", surrogate=surrogate, C=0.2, max_passes=1000,
        max_bans="auto" if surrogate == "margin" else 50, tolerance=1e-4,
    ).fit(X, Y)  # fmt: skip
    best = objective(model(), reference.coef_, X, Y, 0.2, surrogate)
    value = objective(model(), own.coef_, X, Y, 0.2, surrogate)
    assert best * (1 - 2e-4) <= value <= best * (1 + 2e-3)
    assert own.report_["dual"] <= best * (1 + 1e-6)


@pytest.mark.parametrize("search", ["sarawagi", "binary", "bisecting", "convex-hull"])
def test_searches_that_are_not_exact_say_so(search: str) -> None:
    X, Y = subsets()
    own = StructuredSVM(
        AllLabellings(), solver="cutting-plane", search=search, surrogate="slack", C=0.2,
        max_passes=300,
    )  # fmt: skip
    with pytest.warns(UserWarning, match="some searches were not exact"):
        own.fit(X, Y)
    assert not own.report_["certified"]
    zero = objective(AllLabellings(), np.zeros(15), X, Y, 0.2, "slack")
    assert objective(AllLabellings(), own.coef_, X, Y, 0.2, "slack") < 0.9 * zero


@pytest.mark.parametrize("surrogate", ["margin", "slack", "log", "prob", "prob-convex"])
def test_sgd_lowers_the_objective_of_every_surrogate(surrogate: str) -> None:
    X, Y = subsets()
    own = StructuredSVM(AllLabellings(), solver="sgd", surrogate=surrogate, C=0.2).fit(X, Y)
    assert own.report_["stop"] in ("epochs_done", "settled")
    assert 2 < own.report_["passes"] <= 50
    zero = objective(AllLabellings(), np.zeros(15), X, Y, 0.2, surrogate)
    assert objective(AllLabellings(), own.coef_, X, Y, 0.2, surrogate) < 0.9 * zero


def test_threads_do_not_change_a_bit() -> None:
    X, Y = subsets()
    how: Any = {"surrogate": "slack", "C": 0.2, "solver": "cutting-plane"}
    one = StructuredSVM(WithKBest(), **how).fit(X, Y)
    three = StructuredSVM(WithKBest(), threads=3, **how).fit(X, Y)
    assert one.coef_.tobytes() == three.coef_.tobytes()


def test_sparse_and_dense_features_and_other_types_give_the_same_bits() -> None:
    X, Y = subsets()

    def trained(convert: Any) -> bytes:
        class Converted(AllLabellings):
            def joint_feature(self, x: Any, y: Any) -> Any:
                return convert(super().joint_feature(np.round(x, 2), y).astype(np.float32))

            def ranked(self, x: Any, w: Any, truth: Any, w_m: float, w_g: float) -> list[Any]:
                return AllLabellings().ranked(np.round(x, 2).astype(np.float32), w, truth, w_m, w_g)

        return bytes(StructuredSVM(Converted(), C=0.2).fit(X, Y).coef_.tobytes())

    dense = trained(lambda phi: phi)
    assert trained(sp.csr_array) == dense
    assert trained(sp.csr_matrix) == dense
    assert trained(lambda phi: phi.astype(np.float64)) == dense
    assert trained(list) == dense
    assert trained(lambda phi: np.repeat(phi, 2)[::2]) == dense


def test_labellings_may_be_arrays() -> None:
    class Arrays(WithKBest):
        def ranked(self, x: Any, w: Any, truth: Any, w_m: float, w_g: float) -> list[Any]:
            return [np.array(y) for y in super().ranked(x, w, truth, w_m, w_g)]

    X, Y = subsets()
    how: Any = {"surrogate": "slack", "C": 0.2}
    own = StructuredSVM(Arrays(), **how).fit(X, [np.array(y) for y in Y])
    tuples = StructuredSVM(WithKBest(), **how).fit(X, Y)
    assert own.coef_.tobytes() == tuples.coef_.tobytes()
    assert [tuple(y.tolist()) for y in own.predict(X)] == tuples.predict(X)


# Manners of scikit-learn --------------------------------------------------------------------------


def test_a_fitted_estimator_is_pickled_with_its_model_and_cloned_without_weights() -> None:
    X, y, costs = classes()
    own = StructuredSVM(MultiClass(costs), C=0.1).fit(X.astype(float), y)
    again = pickle.loads(pickle.dumps(own))
    assert again.predict(X) == own.predict(X)
    assert again.report_ == own.report_
    fresh = clone(own).set_params(C=2.0, model__costs=costs * 2)
    assert fresh.get_params()["C"] == 2.0
    assert fresh.model is not own.model
    assert own.model.costs is costs
    with pytest.raises(NotFittedError):
        fresh.predict(X)


def test_the_score_is_minus_the_mean_loss() -> None:
    X, y, costs = classes()
    own = StructuredSVM(MultiClass(costs), C=0.1).fit(X.astype(float), y)
    losses = [costs[a, b] for a, b in zip(y, own.predict(X), strict=True)]
    assert own.score(X, y) == pytest.approx(-np.mean(losses))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        own.score(X, y[:-1])


def test_a_grid_search_chooses_options() -> None:
    X, Y = subsets()
    search = GridSearchCV(StructuredSVM(WithKBest()), {"C": [1e-6, 0.1]}, cv=2).fit(X, Y)
    assert search.best_score_ == max(search.cv_results_["mean_test_score"]) < 0
    again = StructuredSVM(WithKBest(), **search.best_params_).fit(X, Y)
    assert search.best_estimator_.coef_.tobytes() == again.coef_.tobytes()


def test_options_are_those_of_the_library() -> None:
    parameters = StructuredSVM(AllLabellings()).get_params(deep=False)
    for name, _, default, *_ in _core.structured_options():
        value = parameters[name]
        assert (float(default) if isinstance(value, float) else default) == (
            value if isinstance(value, float) else str(value)
        ), name


# Progress, limits, errors -------------------------------------------------------------------------


def test_progress_is_reported_and_its_exception_ends_training() -> None:
    X, Y = subsets()
    reports: list[dict[str, Any]] = []
    StructuredSVM(AllLabellings(), progress=lambda **report: reports.append(report)).fit(X, Y)
    assert {report["stage"] for report in reports} >= {"bcfw"}

    def fail(**_: Any) -> None:
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        StructuredSVM(AllLabellings(), progress=fail).fit(X, Y)


def test_limits_end_training_with_the_weights_so_far() -> None:
    X, Y = subsets()
    with pytest.warns(ConvergenceWarning, match="time_limit_seconds ended training"):
        own = StructuredSVM(
            AllLabellings(), C=100, tolerance=1e-9, max_passes=10**6, time_limit_seconds=0.3
        ).fit(X, Y)
    assert own.report_["stop"] == "time_limit"
    assert len(own.predict(X)) == len(X)
    with pytest.warns(ConvergenceWarning, match="max_passes ended training at a relative gap of"):
        StructuredSVM(AllLabellings(), C=10, max_passes=1, tolerance=1e-9).fit(X, Y)


def test_ctrl_c_ends_training() -> None:
    X, Y = subsets()
    own = StructuredSVM(AllLabellings(), C=100, tolerance=1e-9, max_passes=10**6)
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        own.fit(X, Y)
    timer.join()
    assert not hasattr(own, "coef_")


def model_with(**methods: Any) -> Any:
    return type("Broken", (AllLabellings,), methods)()


BROKEN: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"loss": lambda *_: -1.0}, ValueError, "loss of example 0 is -1, but must be finite and >= 0"),
    ({"loss": lambda *_: np.nan}, ValueError, "loss of example 0 is nan, but must be finite"),
    ({"loss": lambda *_: 1.0}, ValueError, "loss of example 0 is 1 at the true labelling"),
    ({"loss": lambda *_: "x"}, TypeError, "loss of example 0 returned a value of type str"),
    ({"loss": lambda *_: None}, TypeError, "loss of example 0 returned a value of type NoneType"),
    (
        {"joint_feature": lambda _, x, y: np.full(3, np.inf)},
        ValueError,
        "joint_feature of example 0: value 0 is inf, but must be finite",
    ),
    (
        {"joint_feature": lambda _, x, y: np.ones((2, 3))},
        ValueError,
        r"joint_feature of example 0 has shape \(2, 3\), but must have one axis",
    ),
    (
        {"joint_feature": lambda _, x, y: sp.csr_array(np.ones((2, 3)))},
        ValueError,
        r"joint_feature of example 0 is a sparse matrix of shape \(2, 3\)",
    ),
    (
        {"joint_feature": lambda _, x, y: np.ones(1 + y[0])},
        ValueError,
        r"joint_feature of example \d+ has \d values, but must have \d as that of example 0",
    ),
    (
        {"joint_feature": lambda _, x, y: np.ones(0)},
        ValueError,
        "joint_feature of example 0 has no values",
    ),
    (
        {"joint_feature": lambda _, x, y: ["a", "b"]},
        TypeError,
        "joint_feature of example 0 is of type <U1, but must be an array of numbers",
    ),
    (
        {"joint_feature": lambda _, x, y: [[1], [2, 3]]},
        TypeError,
        "joint_feature of example 0 is of type list, but must be an array of numbers",
    ),
    (
        {"joint_feature": lambda _, x, y: None},
        TypeError,
        "joint_feature of example 0 is of type NoneType, but must be an array of numbers",
    ),
    (
        {"joint_feature": lambda _, x, y: sp.csr_array(np.ones((1, 3)) * 1j)},
        TypeError,
        "joint_feature of example 0 is of type complex128",
    ),
    (
        {"argmax": lambda *_: None},
        TypeError,
        r"argmax of example \d+ returned None, but must return a labelling",
    ),
]


@pytest.mark.parametrize(("methods", "error", "message"), BROKEN)
def test_wrong_values_of_methods_are_named(
    methods: dict[str, Any], error: type[Exception], message: str
) -> None:
    X, Y = subsets()
    with pytest.raises(error, match=message):
        StructuredSVM(model_with(**methods)).fit(X, Y)


def test_an_argmax_that_is_worse_than_the_truth_is_an_error() -> None:
    class Worst(AllLabellings):
        def argmax(self, x: Any, w: Any, truth: Any, w_m: float, w_g: float) -> Any:
            return self.ranked(x, w, truth, w_m, w_g)[-1 if np.any(w) else 0]

    X, Y = subsets()
    with pytest.raises(ValueError, match=r"argmax of example \d+ returned a labelling with"):
        StructuredSVM(Worst()).fit(X, Y)


class OwnError(Exception):
    pass


@pytest.mark.parametrize("name", ["loss", "joint_feature", "argmax", "k_best"])
@pytest.mark.parametrize("threads", [1, 3])
def test_exceptions_of_methods_are_passed_on(name: str, threads: int) -> None:
    error = OwnError("mine")

    def fail(*_: Any) -> None:
        raise error

    X, Y = subsets()
    how: Any = {"surrogate": "slack", "solver": "cutting-plane", "C": 10, "threads": threads}
    with pytest.raises(OwnError) as caught:
        StructuredSVM(model_with(**{name: fail}), **how).fit(X, Y)
    assert caught.value is error


def test_wrong_answers_of_optional_methods_are_named() -> None:
    X, Y = subsets()
    how: Any = {"surrogate": "slack", "C": 1.0}
    cases: list[Any] = [
        ({"k_best": lambda *_: 3}, TypeError, "k_best of example .* a value of type int"),
        ({"k_best": lambda *a: [None]}, TypeError, "k_best of example .* a list with None"),
        (
            {"k_best": lambda self, x, w, y, m, g, k: [self.argmax(x, w, y, m, g)] * k},
            ValueError,
            "k_best of example .* the same labelling twice",
        ),
        (
            {"argmax_without": lambda self, x, w, y, m, g, banned: banned[0]},
            ValueError,
            "argmax_without of example .* was to leave out",
        ),
    ]
    for methods, error, message in cases:
        with pytest.raises(error, match=message):
            StructuredSVM(model_with(**methods), **how).fit(X, Y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"C": 0}, "C is 0"),
        ({"solver": "newton"}, "solver is 'newton'"),
        ({"surrogate": "micro-f1"}, "micro-f1"),
        ({"surrogate": "slack", "search": "margin"}, "search is 'margin'"),
        ({"surrogate": "slack", "search": "enumeration"}, "search is 'enumeration'"),
        ({"surrogate": "slack", "search": "angular"}, "no oracle with bounds on the slope"),
        ({"surrogate": "prob", "solver": "bcfw"}, "solver is 'bcfw'"),
    ],
)
def test_options_that_do_not_go_together_are_errors(options: dict[str, Any], message: str) -> None:
    X, Y = subsets()
    with pytest.raises(ValueError, match=message):
        StructuredSVM(AllLabellings(), **options).fit(X, Y)


def test_wrong_examples_and_models_are_errors() -> None:
    X, Y = subsets()
    with pytest.raises(ValueError, match="y: it has 19 labellings, but must have 20"):
        StructuredSVM(AllLabellings()).fit(X, Y[:-1])
    with pytest.raises(ValueError, match="X: there are no examples"):
        StructuredSVM(AllLabellings()).fit([], [])
    with pytest.raises(TypeError, match="model is of type int, which has no method joint_feature"):
        StructuredSVM(3).fit(X, Y)


def test_weights_given_to_the_model_cannot_be_changed_and_may_be_kept() -> None:
    kept = []

    class Greedy(AllLabellings):
        def argmax(self, x: Any, w: Any, truth: Any, w_m: float, w_g: float) -> Any:
            with pytest.raises(ValueError, match="read-only"):
                w[0] = 1.0
            kept.append(w)
            return super().argmax(x, w, truth, w_m, w_g)

    X, Y = subsets()
    own = StructuredSVM(Greedy()).fit(X, Y)
    del own
    assert np.isfinite(kept[0]).all()
