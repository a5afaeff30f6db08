"""Kernel machines of the Python package, and other programs' answers to the same problems."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from libsvm.svmutil import svm_parameter, svm_problem, svm_train
from margrove import (
    AverageMKLClassifier,
    Classifier,
    KernelNetwork,
    LpMKLClassifier,
    SimpleMKLClassifier,
    SPNMKLClassifier,
    _core,
    load,
)
from margrove._options import option_text
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks
from test_estimators import run_program, write_svmlight

ESTIMATORS: list[type[Classifier]] = [
    SPNMKLClassifier,
    LpMKLClassifier,
    SimpleMKLClassifier,
    AverageMKLClassifier,
]
Matrix = NDArray[np.float64]


def clouds(count: int, classes: int = 2, seed: int = 0) -> tuple[NDArray[Any], NDArray[Any]]:
    """Overlapping clouds in four columns, in quarters, which text files hold exactly."""
    random = np.random.default_rng(seed)
    y = np.arange(count) % classes
    X = random.normal(size=(count, 4))
    X[:, 0] += y
    X[:, 2] += y == 1
    return (np.round(4 * X) / 4).astype(np.float32), y


def gaussian(A: NDArray[Any], B: NDArray[Any], width: float) -> Matrix:
    squares = ((A[:, None].astype(float) - B[None].astype(float)) ** 2).sum(axis=2)
    result: Matrix = np.exp(-squares / (2 * width * width))
    return result


# scikit-learn's conventions -----------------------------------------------------------------------


@parametrize_with_checks([made() for made in ESTIMATORS])  # type: ignore[untyped-decorator]
def test_scikit_learn_accepts(estimator: Any, check: Callable[..., None]) -> None:
    check(estimator)


@pytest.mark.parametrize("made", ESTIMATORS)
def test_parameters_and_defaults_are_those_of_the_registry(made: type[Classifier]) -> None:
    _, _, _, options = next(m for m in _core.methods() if m[0] == made._method)
    ours = {name: option_text(value) for name, value in made._defaults().items()}
    assert list(ours) == [name for name, *_ in options]
    for name, kind, default, *_ in options:
        if kind in ("number", "integer") and default != "auto":
            assert float(ours[name]) == float(default), name
        else:
            assert ours[name] == default, name


@pytest.mark.parametrize("made", ESTIMATORS)
def test_files_are_those_of_the_program(made: type[Classifier], tmp_path: Path) -> None:
    X, y = clouds(60, 3)
    write_svmlight(tmp_path / "train", sp.csr_array(X), y)
    network = {"kernels": {"g": {"type": "gaussian", "widths": [0.5, "median"]}}}
    network["shape"] = "one-layer"  # type: ignore[assignment]
    model = made(network=network).fit(X, y)
    (tmp_path / "network").write_text(json.dumps(network))
    run_program(
        "train", "--method", made._method, "--network", tmp_path / "network", tmp_path / "train",
        tmp_path / "model", "--quiet",
    )  # fmt: skip
    read = load(tmp_path / "model")
    assert type(read) is made
    np.testing.assert_array_equal(read.decision_function(X), model.decision_function(X))
    assert read.weights_ == model.weights_
    model.save(tmp_path / "ours")
    out = run_program("predict", tmp_path / "ours", tmp_path / "train")
    assert out.split() == [str(label) for label in model.predict(X)]


# Views --------------------------------------------------------------------------------------------


def test_views_as_list_dict_sparse_and_columns_are_the_same(tmp_path: Path) -> None:
    X, y = clouds(80, 3)
    network = {
        "kernels": {
            "g": {"type": "gaussian", "view": "view1", "widths": ["0.5 median", "median"]},
            "l": {"type": "linear", "view": "view2"},
        },
        "root": {"sum": [{"product": [{"sum": ["g"]}, "l"], "name": "both"}, "g"]},
    }
    a, b = X[:, :2], X[:, 2:]
    model = SPNMKLClassifier(network=network).fit([a, b], y)
    assert model.views_ == {"view1": (0, 2), "view2": (2, 4)}
    scores = model.decision_function([a, b])
    by_name = SPNMKLClassifier(network=network).fit({"view1": a, "view2": sp.csr_array(b)}, y)
    np.testing.assert_array_equal(by_name.decision_function({"view2": b, "view1": a}), scores)
    columns = SPNMKLClassifier(network=network, views={"view1": (0, 2), "view2": (2, 4)})
    np.testing.assert_array_equal(columns.fit(X, y).decision_function(X), scores)
    np.testing.assert_array_equal(model.decision_function(X), scores)
    model.save(tmp_path / "model")
    read = load(tmp_path / "model")
    np.testing.assert_array_equal(read.decision_function([a, b]), scores)
    assert read.views == model.views_


def test_views_without_a_network_are_groups() -> None:
    X, y = clouds(80)
    model = SPNMKLClassifier(widths=[1, 2]).fit({"left": X[:, :2], "right": X[:, 2:]}, y)
    assert {"left", "right"} <= set(model.weights_)
    assert "right/gaussian/2: gaussian" in model.network_
    assert model.score({"left": X[:, :2], "right": X[:, 2:]}, y) > 0.7


def test_views_that_do_not_fit_are_named() -> None:
    X, y = clouds(40)
    model = SPNMKLClassifier().fit([X[:, :2], X[:, 2:]], y)
    with pytest.raises(ValueError, match=r"X: its views are .*view1.*, but must be"):
        model.predict([X[:, :3], X[:, 3:]])
    with pytest.raises(ValueError, match="view2: it has 39 rows, but must have 40 as view1"):
        SPNMKLClassifier().fit([X, X[1:]], y)
    with pytest.raises(ValueError, match="they name columns of one array"):
        SPNMKLClassifier(views={"a": (0, 4)}).fit([X, X], y)
    with pytest.raises(ValueError, match=r"views: they end at column 3, but X has 4"):
        SPNMKLClassifier(views={"a": (0, 3)}).fit(X, y)
    with pytest.raises(ValueError, match=r"view 'b': its columns \[3, 4\) must begin at 2"):
        SPNMKLClassifier(views={"a": (0, 2), "b": (3, 4)}).fit(X, y)


def test_columns_can_be_searched_over_like_any_estimator() -> None:
    X, y = clouds(60)
    search = GridSearchCV(
        SPNMKLClassifier(views={"a": (0, 2), "b": (2, 4)}, widths=[1]), {"C": [0.1, 1]}, cv=2
    ).fit(X, y)
    assert search.best_params_["C"] in (0.1, 1)


# Networks -----------------------------------------------------------------------------------------

SEVEN = {f"k{k}": {"type": "gaussian", "width": float(k + 1)} for k in range(7)}


def test_built_networks_are_those_written_by_hand() -> None:
    X, y = clouds(60)
    b = KernelNetwork()
    near, far = b.kernel("near", type="gaussian", widths=[0.5, 1]), b.kernel("far", type="linear")
    shared = b.sum(near, name="shared")
    single = b.product(shared, name="single")
    both = b.product(shared, b.sum(far), name="both", p=1.5)
    built = b.build(b.sum(single, both))
    near_sum = {"sum": ["near"]}
    by_hand = {
        "kernels": {
            "near": {"type": "gaussian", "widths": [0.5, 1]},
            "far": {"type": "linear"},
        },
        "nodes": {"shared": near_sum},
        "root": {"sum": [
            {"product": ["shared"], "name": "single"},
            {"product": ["shared", {"sum": ["far"]}], "name": "both", "p": 1.5},
        ]},
    }  # fmt: skip
    first, second = (SPNMKLClassifier(network=n, C=3).fit(X, y) for n in (built, by_hand))
    assert first.report_["primal"] == second.report_["primal"]
    assert first.weights_["both"] == second.weights_["both"]


def test_shapes_have_the_nodes_of_the_program() -> None:
    X, y = clouds(60)
    for network, nodes in [
        (KernelNetwork.one_layer(SEVEN), 7),
        (KernelNetwork.groups(SEVEN, {"a": ["k0", "k1"], "b": ["k2", "k3", "k4", "k5", "k6"]}), 9),
        (KernelNetwork.polynomial(dict(list(SEVEN.items())[:3]), 2), 5),
        (KernelNetwork.figure1(SEVEN), 9),
    ]:
        assert len(SPNMKLClassifier(network=network).fit(X, y).weights_) == nodes
    with pytest.raises(ValueError, match="figure 1 has 7 kernels, but 1 are given"):
        KernelNetwork.figure1({"k": {"type": "linear"}})


def test_a_time_limit_that_leaves_no_classifiers_is_an_error() -> None:
    X, y = clouds(300)
    with pytest.raises(TimeoutError, match="the time limit ended what comes before training"):
        AverageMKLClassifier(time_limit_seconds=1e-9).fit(X, y)


def test_wrong_networks_are_named() -> None:
    b = KernelNetwork()
    b.kernel("k", type="linear")
    with pytest.raises(ValueError, match="two nodes are called 'k'"):
        b.kernel("k", type="cosine")
    with pytest.raises(ValueError, match="'sum 1' has the child 'l', which does not exist"):
        b.sum("l")
    X, y = clouds(20)
    b.kernel("j", type="cosine")
    model = SPNMKLClassifier(network=b.build(b.sum("k")))
    with pytest.raises(ValueError, match="network: kernel 'j' is not below the root"):
        model.fit(X, y)


# Explanations -------------------------------------------------------------------------------------


def test_explanations_add_up_over_sources_and_paths(tmp_path: Path) -> None:
    X, y = clouds(80, 3)
    model = SPNMKLClassifier(widths=[1, 2]).fit([X[:, :2], X[:, 2:]], y)
    scores = model.decision_function(X)
    for k, explanation in enumerate(model.explain([X[:3, :2], X[:3, 2:]], 1, num_features=9)):
        assert explanation.label == 1
        assert explanation.score == pytest.approx(scores[k, 1], abs=1e-5)
        assert sum(s.score for s in explanation.sources) == pytest.approx(explanation.score)
        for source in explanation.sources[:-1]:
            assert sum(p.score for p in source.strongest) == pytest.approx(source.score)
        assert {s.source for s in explanation.sources} == {
            "view view1", "view view2", "(intercept)",
        }  # fmt: skip
        assert "view view1: " in str(explanation)
    model.draw(tmp_path / "n.svg")
    model.draw(tmp_path / "n.dot")
    assert (tmp_path / "n.svg").read_text().startswith("<svg")
    assert (tmp_path / "n.dot").read_text().startswith("digraph")
    with pytest.raises(ValueError, match=r"gives the rows weights, but method .* takes none"):
        _core.train(
            "spn-mkl", {}, (1, np.array([0, 1, 2]), np.array([0, 0], np.int32),
            np.array([1, 2], np.float32)), (np.array([0, 1, 2]), np.array([0, 1], np.uint32)),
            ["a", "b"], None, np.ones(2), 1, None, None, 0.0, None,
        )  # fmt: skip
    with pytest.raises(ValueError, match="a model of method flat-svm has no network"):
        _ = load_flat().network


def load_flat() -> _core.Model:
    from margrove import FlatSVC

    X, y = clouds(20)
    return FlatSVC().fit(X, y).model_


# Other programs' answers --------------------------------------------------------------------------


def precise(**options: Any) -> dict[str, Any]:
    return {"tolerance": 1e-8, "svm_tolerance": 1e-9, "max_rounds": 5000} | options


def factor(K: Matrix) -> Matrix:
    """L with L L' = K."""
    values, vectors = np.linalg.eigh(K)
    result: Matrix = vectors * np.sqrt(np.maximum(values, 0))
    return result


def network_optimum(
    kernels: list[Matrix],
    paths: list[tuple[list[int], dict[int, float]]],
    signs: Matrix,
    p: list[float],
) -> tuple[float, Matrix]:
    """The objective of a network by a conic solver, as one convex problem in w, b and beta.

    paths: (kernels, {product: exponent of its weight}); signs: a column of +-1 for each machine.
    """
    weight_penalty, C = 0.3, 2.0
    n, machines = signs.shape
    beta = cp.Variable(len(p), nonneg=True)
    b = cp.Variable(machines)
    f: Any = np.ones((n, 1)) @ cp.reshape(b, (1, machines), order="C")
    objective: Any = 0
    for chosen, exponents in paths:
        L = factor(np.prod([kernels[k] for k in chosen], axis=0))
        w = cp.Variable((n, machines))
        g = cp.geo_mean(
            cp.hstack([beta[v] for v in exponents]), [round(8 * e) for e in exponents.values()]
        )
        objective += cp.quad_over_lin(cp.vec(w, order="C"), g) / 2
        objective += weight_penalty * sum(e * cp.power(beta[v], p[v]) for v, e in exponents.items())
        f = f + L @ w
    objective += C * cp.sum(cp.pos(1 - cp.multiply(signs, f)))
    problem = cp.Problem(cp.Minimize(objective))
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    assert problem.status == cp.OPTIMAL
    return float(problem.value), np.asarray(beta.value)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("p", [1.0, 1.5, 2.0])
def test_network_reaches_the_optimum_of_a_generic_convex_solver(classes: int, p: float) -> None:
    X, y = clouds(24, classes, seed=3)
    kernels = {
        "a": {"type": "gaussian", "width": 1.0, "scaling": "none"},
        "b": {"type": "gaussian", "width": 3.0, "scaling": "none", "columns": "1-2"},
        "c": {"type": "gaussian", "width": 1.0, "scaling": "none", "columns": "3-4"},
    }
    matrices = [gaussian(X, X, 1), gaussian(X[:, :2], X[:, :2], 3), gaussian(X[:, 2:], X[:, 2:], 1)]
    # (beta_a a + beta_b b) beta_top + beta_ab (beta_b b) o (beta_c c): shared node b
    network = {
        "kernels": kernels,
        "nodes": {"pa": {"product": ["a"]}, "pb": {"product": ["b"]}, "pc": {"product": ["c"]}},
        "root": {"sum": [
            {"product": [{"sum": ["pa", "pb"]}], "name": "top"},
            {"product": [{"sum": ["pb"]}, {"sum": ["pc"]}], "name": "both", "p": 2.0},
        ]},
    }  # fmt: skip
    names = ["pa", "pb", "pc", "top", "both"]
    paths = [
        ([0], {0: 0.5, 3: 0.5}),
        ([1], {1: 0.5, 3: 0.5}),
        ([1, 2], {1: 0.25, 2: 0.25, 4: 0.5}),
    ]
    signs = np.where(y == 1, 1.0, -1.0)[:, None]
    if classes > 2:
        signs = np.where(y[:, None] == np.arange(classes), 1.0, -1.0)
    optimum, beta = network_optimum(matrices, paths, signs, [p, p, p, p, 2.0])
    model = SPNMKLClassifier(network=network, **precise(p=p, C=2.0, weight_penalty=0.3)).fit(X, y)
    assert model.report_["primal"] == pytest.approx(optimum, rel=1e-6)
    assert model.report_["dual"] <= optimum * (1 + 1e-6)
    for name, expected in zip(names, beta, strict=True):
        assert model.weights_[name] == pytest.approx(expected, abs=5e-3), name


@pytest.mark.parametrize("p", [1.0, 2.0])
def test_norms_reach_the_optimum_of_a_generic_convex_solver(p: float) -> None:
    X, y = clouds(24, seed=4)
    widths = [0.5, 1.0, 2.0, 4.0]
    network = {
        "kernels": {"g": {"type": "gaussian", "widths": widths, "scaling": "none"}},
        "shape": "one-layer",
    }
    signs = np.where(y == 1, 1.0, -1.0)
    d = cp.Variable(len(widths), nonneg=True)
    f: Any = cp.Variable()
    objective: Any = 0
    for k, width in enumerate(widths):
        w = cp.Variable(len(y))
        objective += cp.quad_over_lin(w, d[k]) / 2
        f = f + factor(gaussian(X, X, width)) @ w
    objective += 2.0 * cp.sum(cp.pos(1 - cp.multiply(signs, f)))
    problem = cp.Problem(cp.Minimize(objective), [cp.norm(d, p) <= 1])
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    made = (
        SimpleMKLClassifier(network=network, **precise(C=2.0))
        if p == 1
        else LpMKLClassifier(network=network, **precise(C=2.0, p=p))
    )
    assert made.fit(X, y).report_["primal"] == pytest.approx(float(problem.value), rel=1e-6)


@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("made", [AverageMKLClassifier, SimpleMKLClassifier])
def test_single_kernel_has_the_objective_and_the_predictions_of_libsvm(made: Any, C: float) -> None:
    X, y = clouds(150, seed=5)
    fresh, truth = clouds(300, seed=6)
    K = gaussian(X, X, 1.5)
    rows = np.hstack([np.arange(1, 151)[:, None], K])
    signs = np.where(y == 1, 1.0, -1.0)
    machine = svm_train(
        svm_problem(signs, rows, isKernel=True), svm_parameter(f"-t 4 -c {C} -e 1e-7 -q")
    )
    u = np.zeros(150)
    for i, coefficient in zip(machine.get_sv_indices(), machine.get_sv_coef(), strict=True):
        u[i - 1] = coefficient[0]
    sign = 1 if machine.get_labels()[0] > 0 else -1
    objective = np.abs(u).sum() - u @ K @ u / 2
    scores = sign * (gaussian(fresh, X, 1.5) @ u - machine.rho[0])

    network = {
        "kernels": {"g": {"type": "gaussian", "width": 1.5, "scaling": "none"}},
        "shape": "one-layer",
    }
    model = made(network=network, **precise(C=C)).fit(X, y)
    assert model.report_["primal"] == pytest.approx(objective, rel=1e-6)
    np.testing.assert_allclose(model.decision_function(fresh) / 2, scores, atol=2e-4)
    assert model.score(fresh, truth) == np.mean((scores > 0) == (truth == 1))


# Kernels that are given as matrices or functions -------------------------------------------------


def linear(A: NDArray[Any], B: NDArray[Any]) -> Any:
    return A @ B.T


@pytest.mark.parametrize("made", ESTIMATORS)
@pytest.mark.parametrize("classes", [2, 3])
def test_given_kernels_are_those_of_columns(made: Any, classes: int) -> None:
    X, y = clouds(60, classes)
    test = clouds(20, classes, seed=1)[0]
    network = {
        "kernels": {
            "a": {"type": "linear", "columns": "1-2", "scaling": "none"},
            "b": {"type": "linear", "columns": "3-4", "scaling": "none"},
        },
        "shape": "one-layer",
    }
    columns = made(network=network).fit(X, y)
    halves = {"a": slice(0, 2), "b": slice(2, 4)}
    train_values = {name: linear(X[:, at], X[:, at]) for name, at in halves.items()}
    test_values = {name: linear(test[:, at], X[:, at]) for name, at in halves.items()}
    expected = columns.decision_function(test)
    scale = np.abs(expected).max()
    matrices = made(kernel="precomputed").fit(train_values, y)
    np.testing.assert_allclose(matrices.decision_function(test_values), expected, atol=1e-4 * scale)
    functions = made(
        kernel={name: lambda A, B, at=at: linear(A[:, at], B[:, at]) for name, at in halves.items()}
    ).fit(X, y)
    np.testing.assert_allclose(functions.decision_function(test), expected, atol=1e-4 * scale)
    assert matrices.weights_.keys() == columns.weights_.keys()
    assert functions.score(X, y) == columns.score(X, y)


def test_one_given_kernel_is_that_of_scikit_learn() -> None:
    X, y = clouds(80, seed=4)
    test, truth = clouds(40, seed=5)
    K, K_test = gaussian(X, X, 2.0), gaussian(test, X, 2.0)
    ours = AverageMKLClassifier(kernel="precomputed", svm_tolerance=1e-6).fit(K, y)
    theirs = SVC(kernel="precomputed", C=ours.C, tol=1e-6).fit(K, y)
    np.testing.assert_allclose(
        ours.decision_function(K_test) / 2, theirs.decision_function(K_test), atol=1e-3
    )
    assert ours.score(K_test, truth) == theirs.score(K_test, truth)
    # Folds take rows and columns of the matrix.
    scores = cross_val_score(AverageMKLClassifier(kernel="precomputed"), K, y, cv=4)
    peer = SVC(kernel="precomputed", C=ours.C)
    np.testing.assert_allclose(scores, cross_val_score(peer, K, y, cv=4))


def test_models_of_given_kernels_have_no_kernel_values(tmp_path: Path) -> None:
    X, y = clouds(200, seed=2)
    K = gaussian(X, X, 2.0)
    model = AverageMKLClassifier(kernel="precomputed").fit(K, y)
    assert 0 < len(model.support_) < 200
    _, _, columns, values = model.model_.kernel_support
    assert columns.tolist() == model.support_.tolist()
    assert set(values.tolist()) == {1.0}
    model.save(tmp_path / "model")
    assert (tmp_path / "model").stat().st_size < K.nbytes / 10
    loaded = load(tmp_path / "model")
    assert loaded.get_params()["kernel"] == "precomputed"
    rows = gaussian(clouds(30, seed=3)[0], X, 2.0)
    np.testing.assert_array_equal(loaded.decision_function(rows), model.decision_function(rows))
    # Values with rows that are no support vectors count for nothing.
    rows[:, np.setdiff1d(np.arange(200), model.support_)] = 99
    np.testing.assert_array_equal(loaded.decision_function(rows), model.decision_function(rows))


def test_the_program_trains_on_rows_of_kernel_values(tmp_path: Path) -> None:
    X, y = clouds(40)
    K = np.round(64 * gaussian(X, X, 2.0)) / 64
    write_svmlight(tmp_path / "rows", sp.csr_array(K.astype(np.float32)), y)
    (tmp_path / "network").write_text(
        '{"views": {"all": "1-40"}, "kernels": {"kernel": {"type": "given", "view": "all"}}, '
        '"shape": "one-layer"}'
    )
    options = ["--method", "average-mkl", "--network", tmp_path / "network"]
    run_program("train", *options, tmp_path / "rows", tmp_path / "model")
    model = AverageMKLClassifier(kernel="precomputed").fit(K, y)
    np.testing.assert_allclose(
        load(tmp_path / "model").decision_function(K), model.decision_function(K), atol=1e-6
    )


def test_functions_take_rows_of_any_kind() -> None:
    texts = ["a cat", "the cat sat", "a dog", "the dog ran", "cat cat", "dog dog"]
    labels = ["cat", "cat", "dog", "dog", "cat", "dog"]

    def common_words(A: list[str], B: list[str]) -> Any:
        return [[len(set(a.split()) & set(b.split())) for b in B] for a in A]

    model = SPNMKLClassifier(kernel=common_words).fit(texts, labels)
    assert model.predict(["one cat", "dog"]).tolist() == ["cat", "dog"]
    assert model.score(texts, labels) == 1


@pytest.mark.parametrize(
    ("given", "X", "message"),
    [
        ({"kernel": "rbf"}, np.eye(4), "kernel is 'rbf', but must be 'precomputed' or a function"),
        ({"kernel": {"a": 3}}, np.eye(4), "kernel 'a' is 3, but must be a function"),
        ({"kernel": "precomputed"}, np.ones((4, 3)), "kernel 'kernel' has the shape .4, 3., but"),
        ({"kernel": "precomputed"}, np.arange(16.0).reshape(4, 4), "row 0 has the value 1 with ro"),
        (
            {"kernel": lambda A, B: A},
            np.ones((4, 3)),
            "gave an array of shape .4, 3., but must giv",
        ),
        ({"kernel": "precomputed", "calibration": 0.5}, np.eye(4), "calibration and scale are for"),
        ({"kernel": "precomputed", "scale": "standard"}, np.eye(4), "calibration and scale are fo"),
    ],
)
def test_wrong_given_kernels_are_named(given: dict[str, Any], X: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AverageMKLClassifier(**given).fit(X, [0, 1, 0, 1])


@pytest.mark.parametrize(
    ("kernels", "message"),
    [
        ({"k": {"type": "given"}}, "kernel k: is given, so its columns must be one range"),
        (
            {"k": {"type": "given", "columns": "1-4", "scaling": "diagonal"}},
            "kernel k: is given, so that K.x, x. is unknown of other rows",
        ),
        ({"k": {"type": "given", "columns": "1-3"}}, "kernel k: has 3 columns, but must have 4"),
        (
            {"k": {"type": "given", "columns": "1-4"}, "l": {"type": "linear", "columns": "4-5"}},
            "kernel l: has columns of the given kernel k",
        ),
        (
            {"k": {"type": "given", "columns": "1-4"}, "l": {"type": "linear"}},
            "kernel l: has columns of the given kernel k",
        ),
    ],
)
def test_wrong_networks_of_given_kernels_are_named(kernels: Any, message: str) -> None:
    X = np.hstack([np.eye(4), np.ones((4, 1))])
    with pytest.raises(ValueError, match=message):
        AverageMKLClassifier(network={"kernels": kernels, "shape": "one-layer"}).fit(
            X, [0, 1, 0, 1]
        )


def test_given_kernels_are_combined_with_kernels_of_columns() -> None:
    X, y = clouds(60)
    network: dict[str, Any] = {
        "kernels": {
            "text": {"type": "given", "view": "text"},
            "shape": {"type": "gaussian", "view": "shape"},
        },
        "shape": "one-layer",
    }
    parts = {"text": linear(X[:, :2], X[:, :2]), "shape": X[:, 2:]}
    model = SPNMKLClassifier(network=network).fit(parts, y)
    kernels: dict[str, dict[str, str]] = network["kernels"]
    kernels["text"] |= {"type": "linear", "scaling": "none"}
    plain = SPNMKLClassifier(network=network).fit({"text": X[:, :2], "shape": X[:, 2:]}, y)
    np.testing.assert_allclose(
        model.decision_function(parts),
        plain.decision_function({"text": X[:, :2], "shape": X[:, 2:]}),
        atol=1e-3,
    )


def test_a_view_with_a_number_that_is_not_finite_is_named() -> None:
    X = np.eye(4)
    wrong = X.copy()
    wrong[1, 2] = np.nan
    message = "X: b: row 1: value of feature 3 is 'nan', but must be a number that fits"
    with pytest.raises(ValueError, match=message):
        SPNMKLClassifier().fit({"a": X, "b": wrong}, [0, 1, 0, 1])


def test_a_kernel_that_nobody_named_is_no_view() -> None:
    K = np.eye(4) + 1
    y = [0, 1, 0, 1]
    model = SPNMKLClassifier(kernel="precomputed").fit(K, y)
    assert model.views_ == {}
    assert SPNMKLClassifier(kernel="precomputed").fit({"kernel": K}, y).views_ == {"kernel": (0, 4)}
    by_function = SPNMKLClassifier(kernel=lambda A, B: np.asarray(A) @ np.asarray(B).T + 1)
    assert by_function.fit(np.eye(4), y).views_ == {}
    assert by_function.predict(np.eye(4)).tolist() == model.predict(K).tolist()


def test_the_learned_kernel_is_a_kernel_of_other_methods() -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(120, 5))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    network = {
        "kernels": {
            "near": {"type": "gaussian", "columns": "1-2", "widths": ["0.5 median", "median"]},
            "rest": {"type": "linear", "columns": "3-5"},
        },
        "shape": "one-layer",
    }
    fitted = SPNMKLClassifier(network=network, scale="standard").fit(X[:90], y[:90])
    K, between = fitted.kernel_values(X[:90]), fitted.kernel_values(X[90:], X[:90])
    assert K.shape == (90, 90)
    assert between.shape == (30, 90)
    np.testing.assert_allclose(K, K.T, rtol=1e-5)
    assert np.linalg.eigvalsh(K.astype(np.float64)).min() > -1e-4
    np.testing.assert_array_equal(fitted.kernel_values(X)[90:, :90], between)
    # A machine on this kernel is the one that was learned with it.
    peer = SVC(kernel=fitted.kernel_values, C=float(fitted.model_.options["C"])).fit(X[:90], y[:90])
    assert (peer.predict(X[90:]) == fitted.predict(X[90:])).mean() > 0.95
    again = AverageMKLClassifier(kernel=fitted.kernel_values).fit(X[:90], y[:90])
    assert again.score(X[90:], y[90:]) > 0.8


def test_kernel_values_of_blocks_of_rows_are_those_of_single_rows() -> None:
    rng = np.random.default_rng(6)
    X = rng.normal(size=(2500, 3))
    fitted = SPNMKLClassifier().fit(X[:60], (X[:60, 0] * X[:60, 1] > 0).astype(int))
    K = fitted.kernel_values(X)  # more than 64 MB of kernels: two blocks
    for i in (0, 1249, 2499):
        np.testing.assert_array_equal(K[i : i + 1], fitted.kernel_values(X[i : i + 1], X))


def test_kernel_values_stay_within_the_memory_limit() -> None:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(3000, 2))
    fitted = AverageMKLClassifier(memory_limit=0.05).fit(X[:60], (X[:60, 0] > 0).astype(int))
    # 36 MB of values, and 60 MB of five kernels of a block of rows.
    expected = (
        r"kernel_values of 3000 x 3000 rows: it would take about 0\.1.* GB, but must not take "
    )
    with pytest.raises(ValueError, match=expected + r"more than 0\.05 GB; take fewer rows at once"):
        fitted.kernel_values(X)
    assert fitted.kernel_values(X[:100]).shape == (100, 100)
    fitted.set_params(memory_limit=0.12)
    assert fitted.kernel_values(X).shape == (3000, 3000)


@pytest.mark.parametrize("is_given", [False, True])
def test_values_of_kernels_that_need_training_rows_are_refused(is_given: bool) -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(30, 2))
    y = (X[:, 0] > 0).astype(int)
    if is_given:
        fitted, rows = AverageMKLClassifier(kernel="precomputed").fit(X @ X.T, y), X @ X.T
    else:
        centred = {"kernels": {"c": {"type": "linear", "centred": True}}, "shape": "one-layer"}
        fitted, rows = AverageMKLClassifier(network=centred).fit(X, y), X
    with pytest.raises(ValueError, match="given" if is_given else "kernel c is centred, so that"):
        fitted.kernel_values(rows)
    with pytest.raises(NotFittedError):
        AverageMKLClassifier().kernel_values(X)
