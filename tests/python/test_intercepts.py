"""Intercepts with a penalty of their own: the problems that are solved, against other solvers."""

from typing import Any

import cvxpy as cp
import numpy as np
import numpy.typing as npt
import pytest
from margrove import (
    HRSVC,
    HSVC,
    NHSVC,
    FlatLogisticRegression,
    FlatSVC,
    HRLogisticRegression,
    LabelTreesSVC,
    LevelSVC,
    SharedSVC,
    TopDownSVC,
)

Array = npt.NDArray[Any]
PARENTS = {3: 1, 4: 1, 5: 2, 6: 2, 7: 2, 1: 0, 2: 0}
EDGES = [(parent, child) for child, parent in PARENTS.items()]
LEAVES = [3, 4, 5, 6, 7]
MADE = [
    (FlatSVC, {"loss": "hinge"}, "hinge"),
    (FlatSVC, {"loss": "squared-hinge"}, "squared-hinge"),
    (FlatLogisticRegression, {}, "logistic"),
    (HRSVC, {}, "hinge"),
    (HRSVC, {"loss": "squared-hinge"}, "squared-hinge"),
    (HRLogisticRegression, {}, "logistic"),
]


def rows(full: bool) -> tuple[Array, Array]:
    """Few full columns, for which there are second-order solvers, or many sparse ones."""
    random = np.random.default_rng(3)
    count, columns = (300, 4) if full else (40, 30)
    y = random.choice(LEAVES, size=count, p=[0.5, 0.2, 0.1, 0.1, 0.1])
    y[:5] = LEAVES
    X = random.normal(size=(8, columns))[y] + 1.5 * random.normal(size=(count, columns))
    if not full:
        X *= random.random((count, columns)) < 0.3
    return X.astype(np.float32).astype(float), y


def losses(kind: str, margins: Any) -> Any:
    if kind == "logistic":
        return cp.sum(cp.logistic(-margins))
    violations = cp.pos(1 - margins)
    return cp.sum(violations if kind == "hinge" else cp.square(violations))


def optimum(X: Array, y: Array, C: float, kind: str, flat: bool) -> float:
    """Of one classifier per leaf, whose intercepts have no regulariser, by Clarabel."""
    nodes = LEAVES if flat else list(range(8))
    weights = {node: cp.Variable(X.shape[1]) for node in nodes}
    objective = sum(cp.sum_squares(v) / 2 for v in weights.values())
    for leaf in LEAVES:
        path = [leaf]
        while not flat and path[-1] in PARENTS:
            path.append(PARENTS[path[-1]])
        scores = X @ sum(weights[node] for node in path) + cp.Variable()
        objective += C * losses(kind, cp.multiply(np.where(y == leaf, 1.0, -1.0), scores))
    return float(cp.Problem(cp.Minimize(objective)).solve(solver="CLARABEL"))


def train(made: type, X: Array, y: Array, **options: Any) -> Any:
    if made not in (FlatSVC, FlatLogisticRegression):
        options["hierarchy"] = EDGES
    return made(scale="none", **options).fit(X, y)


@pytest.mark.parametrize("C", [0.001, 0.1, 10])
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize(("made", "options", "kind"), MADE)
def test_free_intercepts_reach_the_optimum_and_the_gap_holds(
    made: type, options: dict[str, Any], kind: str, full: bool, C: float
) -> None:
    X, y = rows(full)
    expected = optimum(X, y, C, kind, made in (FlatSVC, FlatLogisticRegression))
    report = train(
        made, X, y, C=C, intercept_penalty=0, tolerance=1e-4, max_passes=3000, **options
    ).report_
    assert report["stop"] == "converged"
    assert report["relative_gap"] <= 1e-4
    primal, dual = report["primal"], report["dual"]
    assert dual <= expected * (1 + 2e-6)
    assert primal >= expected * (1 - 2e-6)
    assert primal <= expected * (1 + 2e-4)


@pytest.mark.parametrize(
    ("made", "kind", "solver"),
    [(FlatSVC, {"loss": "squared-hinge"}, 2), (FlatLogisticRegression, {}, 0)],
)
def test_free_intercepts_are_those_of_liblinear(
    made: type, kind: dict[str, Any], solver: int
) -> None:
    liblinear = pytest.importorskip("liblinear.liblinearutil")
    X, y = rows(full=True)
    y = np.where(y == 3, 1, 0)
    cells = [{j + 1: float(v) for j, v in enumerate(x)} for x in X]
    theirs = liblinear.train(y.tolist(), cells, f"-s {solver} -c 0.1 -e 1e-8 -B 1 -R -q")
    _, _, values = liblinear.predict(y.tolist(), cells, theirs, "-q")
    sign = 1 if theirs.label[0] == 1 else -1
    ours = train(made, X, y, C=0.1, intercept_penalty=0, tolerance=1e-9, **kind)
    scores = np.asarray(ours.decision_function(X))
    # Of two labels, ours is the difference of two classifiers, which mirror each other.
    np.testing.assert_allclose(scores / 2, sign * np.array(values)[:, 0], atol=1e-4)


@pytest.mark.parametrize("made", [FlatSVC, HRSVC, TopDownSVC, LabelTreesSVC, LevelSVC, HSVC, NHSVC,
                                  SharedSVC])  # fmt: skip
def test_a_penalty_of_a_quarter_is_twice_the_constant(made: type) -> None:
    X, y = rows(full=False)
    penalty = train(made, X, y, intercept_penalty=0.25).decision_function(X)
    constant = train(made, X, y, bias=2.0).decision_function(X)
    np.testing.assert_array_equal(penalty, constant)


@pytest.mark.parametrize(("made", "options", "kind"), MADE)
def test_the_answer_does_not_depend_on_the_constant(
    made: type, options: dict[str, Any], kind: str
) -> None:
    X, y = rows(full=False)
    one = train(made, X, y, intercept_penalty=0, **options).decision_function(X)
    ten = train(made, X, y, intercept_penalty=0, bias=10.0, **options).decision_function(X)
    np.testing.assert_array_equal(one, ten)


@pytest.mark.parametrize(("made", "options", "kind"), MADE[3:])
def test_a_leaf_without_rows_is_never_answered(
    made: type, options: dict[str, Any], kind: str
) -> None:
    X, y = rows(full=False)
    X, y = X[y != 7], y[y != 7]
    model = train(made, X, y, intercept_penalty=0, **options)
    assert model.report_["stop"] == "converged"
    assert 7 not in model.predict(X)
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize(
    ("made", "options", "message"),
    [
        (HSVC, {}, "intercept_penalty is 0, but must be > 0"),
        (NHSVC, {}, "intercept_penalty is 0, but must be > 0"),
        (SharedSVC, {}, "intercept_penalty is 0, but must be > 0"),
        (HRSVC, {"solver": "alternating"}, "intercept_penalty is 0, but must be > 0"),
        (FlatSVC, {"multiclass": "crammer-singer"}, "intercept_penalty is 0, but must be > 0"),
        (FlatSVC, {"bias": 0.0}, "bias is 0, so that there is no intercept"),
    ],
)
def test_what_a_free_intercept_does_not_serve_is_refused(
    made: type, options: dict[str, Any], message: str
) -> None:
    X, y = rows(full=False)
    with pytest.raises(ValueError, match=message):
        train(made, X, y, intercept_penalty=0, **options)
