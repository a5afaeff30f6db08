"""The estimators of the Python package."""

import inspect
import pickle
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from margrove import (
    HRSVC,
    HSVC,
    NHSVC,
    Classifier,
    FlatLogisticRegression,
    FlatSVC,
    HRLogisticRegression,
    KernelRidgeClassifier,
    LabelTreesSVC,
    LevelSVC,
    ModelFileError,
    SharedSVC,
    StructuredSVC,
    TopDownSVC,
    _arrays,
    _base,
    _core,
    load,
)
from margrove._options import option_text
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from tools import make_api_reference, make_estimators

PROGRAM = Path(__file__).resolve().parents[2] / "build" / "margrove"
ESTIMATORS: list[type[Classifier]] = [
    FlatSVC,
    FlatLogisticRegression,
    HSVC,
    NHSVC,
    SharedSVC,
    HRSVC,
    HRLogisticRegression,
    TopDownSVC,
    LabelTreesSVC,
    LevelSVC,
]
EDGES = [("animal", "dog"), ("animal", "cat"), ("plant", "oak"), ("plant", "rose")]
LEAVES = np.array(["cat", "dog", "oak", "rose"])


def rows(count: int = 80, seed: int = 0) -> tuple[sp.csr_array, NDArray[Any]]:
    """Sparse rows of quarters, which text files hold exactly, that tell their label."""
    random = np.random.default_rng(seed)
    labels = np.arange(count) % 4
    X = random.integers(-2, 3, size=(count, 12)) * (random.random((count, 12)) < 0.5) / 4
    X[np.arange(count), labels] += 2
    X[np.arange(count), 4 + labels // 2] += 1
    return sp.csr_array(X.astype(np.float32)), LEAVES[labels]


def write_svmlight(path: Path, X: sp.csr_array, y: NDArray[Any]) -> None:
    """Read back exactly: the values are multiples of 1/4."""
    lines = []
    for i, label in enumerate(y):
        cells = range(X.indptr[i], X.indptr[i + 1])
        pairs = " ".join(f"{X.indices[k] + 1}:{float(X.data[k])!r}" for k in cells)
        lines.append(f"{label} {pairs}\n")
    path.write_text("".join(lines), encoding="utf-8")


def run_program(*arguments: Any) -> str:
    done = subprocess.run(
        [str(PROGRAM), *map(str, arguments)], check=True, capture_output=True, text=True
    )
    return done.stdout


# scikit-learn's conventions -----------------------------------------------------------------------


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [
        *(made() for made in ESTIMATORS),
        KernelRidgeClassifier(),
        StructuredSVC(model="multilabel-field"),
    ]
)
def test_scikit_learn_check(estimator: Any, check: Any) -> None:
    check(estimator)


def test_classes_are_as_their_generator_writes_them() -> None:
    for name, text in make_estimators.file_texts().items():
        assert text == (make_estimators.PACKAGE / name).read_text(encoding="utf-8"), name


def test_loaded_models_of_label_sets_are_scored_by_single_labels(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    y = np.array(["pine, red", "oak"])[random.integers(0, 2, 80)]
    X = random.normal(size=(80, 4)) + 2 * (y == "oak")[:, None]
    model = KernelRidgeClassifier().fit(X, y)
    model.save(tmp_path / "model")
    loaded = KernelRidgeClassifier.load(tmp_path / "model")
    assert loaded.score(X, y) == model.score(X, y) > 0.9
    assert loaded.predict(X).tolist() == model.predict(X).tolist()  # labels, no sets
    sets = [{"oak", "red"} if label == "oak" else {label} for label in y]
    model.fit(X, sets).save(tmp_path / "model")
    assert KernelRidgeClassifier.load(tmp_path / "model").predict(X) == model.predict(X)
    # Rows with one label each can be calibrated.
    calibrated = KernelRidgeClassifier(calibration=0.3).fit(X, y)
    np.testing.assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1)


@pytest.mark.parametrize("made", [*ESTIMATORS, KernelRidgeClassifier, StructuredSVC])
def test_parameters_and_defaults_are_those_of_the_registry(made: type[Classifier]) -> None:
    _, _, _, options = next(m for m in _core.methods() if m[0] == made._method)
    ours = {name.rstrip("_"): option_text(value) for name, value in made._defaults().items()}
    types = {"number": float, "integer": int, "switch": bool}
    assert set(ours) == {name for name, *_ in options}
    for name, kind, default, _, _ in options:
        convert = str if default == "auto" else types.get(kind, str)
        assert convert(ours[name]) == convert(default), name


def test_reference_is_as_its_generator_writes_it() -> None:
    assert make_api_reference.page() == make_api_reference.FILE.read_text(encoding="utf-8")


def test_estimators_keep_every_parameter_of_init() -> None:
    for made in ESTIMATORS:
        names = [name for name in inspect.signature(made.__init__).parameters if name != "self"]
        assert sorted(made().get_params()) == sorted(names)
        assert set(_base._RUN_PARAMETERS) - {"warm_start"} <= set(names)


def test_the_stub_names_what_the_extension_has() -> None:
    stub = (Path(_base.__file__).parent / "_core.pyi").read_text(encoding="utf-8")
    for name in vars(_core):
        assert name.startswith("__") or f" {name}(" in stub or f"class {name}" in stub, name
    for name in vars(_core.Model):
        assert name.startswith("__") or f" {name}(" in stub, name


@pytest.mark.parametrize("made", ESTIMATORS)
def test_works_in_pipeline_and_grid_search(made: type[Classifier]) -> None:
    X, y = rows()
    search = GridSearchCV(
        make_pipeline(MaxAbsScaler(), made(hierarchy=EDGES)),
        {made.__name__.lower() + "__C": [0.1, 1.0]},
        cv=2,
    )
    assert search.fit(X, y).score(*rows(seed=1)) > 0.9


def test_weights_are_routed_as_metadata() -> None:
    X, y = rows()
    wrong = np.where(np.arange(80) < 40, y, "oak")
    weights = (np.arange(80) < 40).astype(float)
    with config_context(enable_metadata_routing=True):
        model = NHSVC(hierarchy=EDGES).set_fit_request(sample_weight=True)
        routed = make_pipeline(MaxAbsScaler(), model).fit(X, wrong, sample_weight=weights)
    alone = NHSVC(hierarchy=EDGES).fit(MaxAbsScaler().fit_transform(X), wrong, weights)
    scaled = MaxAbsScaler().fit_transform(X)
    np.testing.assert_array_equal(routed.decision_function(X), alone.decision_function(scaled))
    assert routed.score(X, y) > 0.9


@pytest.mark.parametrize("form", ["indicator", "sets", "paths"])
def test_every_form_of_labels_can_be_cross_validated(form: str) -> None:
    X, y = rows()
    if form == "paths":
        parent = {child: parent for parent, child in EDGES}
        labels: Any = [(parent[label], label) for label in y.tolist()]
    else:
        X = sp.hstack([sp.csr_array(several("indicator").astype(np.float32)), X], format="csr")
        labels = several(form)
    scores = cross_val_score(HRSVC(C=10), X, labels, cv=KFold(2, shuffle=True, random_state=0))
    assert scores.mean() > 0.8


def test_importing_the_package_does_not_import_scikit_learn() -> None:
    code = "import sys, margrove; sys.exit('sklearn' in sys.modules or 'scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# Files, pickles, the program ----------------------------------------------------------------------


def test_places_of_labels_that_a_search_does_not_reach() -> None:
    random = np.random.default_rng(0)
    y = np.arange(400) % 40
    X = random.normal(size=(40, 20))[y] + 0.7 * random.normal(size=(400, 20))
    model = LabelTreesSVC(one_vs_rest=False, max_leaves=2, beam=2, threads=1).fit(X, y)
    labels, scores = model.top_k(X[:100], 6)
    assert labels.shape == scores.shape == (100, 6)
    assert np.isinf(scores).any()
    reached = model.decision_function(X[:100])
    for own, values, row in zip(labels, scores, reached, strict=True):
        assert len(set(own)) == 6
        np.testing.assert_array_equal(row[own], values)
    np.testing.assert_array_equal(model.top_k(X[:100], 1)[0][:, 0], model.predict(X[:100]))


@pytest.mark.parametrize("made", ESTIMATORS)
def test_program_and_package_train_the_same_bytes_and_score_alike(
    made: type[Classifier], tmp_path: Path
) -> None:
    X, y = rows()
    write_svmlight(tmp_path / "rows.txt", X, y)
    (tmp_path / "tree.txt").write_text("".join(f"{p} {c}\n" for p, c in EDGES), encoding="utf-8")
    run_program(
        *("train", "--quiet", "--method", made._method, "--hierarchy", tmp_path / "tree.txt"),
        *("--C", 0.5, tmp_path / "rows.txt", tmp_path / "program.model"),
    )
    ours = made(C=0.5, hierarchy=EDGES).fit(X, y)
    ours.save(tmp_path / "package.model")
    assert (tmp_path / "package.model").read_bytes() == (tmp_path / "program.model").read_bytes()

    loaded = load(tmp_path / "program.model")
    assert isinstance(loaded, made)
    assert loaded.C == 0.5
    np.testing.assert_array_equal(loaded.decision_function(X), ours.decision_function(X))
    predicted = run_program("predict", "--quiet", tmp_path / "package.model", tmp_path / "rows.txt")
    assert predicted.split() == ours.predict(X).tolist()

    lines = run_program(
        *("predict", "--quiet", "--scores", "--top", 4),
        *(tmp_path / "package.model", tmp_path / "rows.txt"),
    ).splitlines()
    labels, scores = ours.top_k(X, 4)
    for i, line in enumerate(lines):
        pairs = [pair.rsplit(":", 1) for pair in line.split()]
        assert [label for label, _ in pairs] == labels[i].tolist()
        printed = np.array([score for _, score in pairs], dtype=np.float32)
        np.testing.assert_array_equal(printed, scores[i])


@pytest.mark.parametrize("made", ESTIMATORS)
def test_pickling_and_threads_change_nothing(made: type[Classifier]) -> None:
    X, y = rows()
    one = made(hierarchy=EDGES).fit(X, y)
    again = pickle.loads(pickle.dumps(one))
    two = clone(one).set_params(threads=2).fit(X, y)
    for other in (again, two):
        np.testing.assert_array_equal(other.decision_function(X), one.decision_function(X))
    assert two.model_.__reduce__()[1][0] == one.model_.__reduce__()[1][0]


def test_a_file_without_a_model_is_a_model_file_error(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"no model")
    with pytest.raises(ModelFileError, match=r"x"):
        load(tmp_path / "x")


def test_loading_another_methods_model_names_its_method(tmp_path: Path) -> None:
    FlatSVC().fit(*rows()).save(tmp_path / "flat")
    with pytest.raises(ValueError, match="its method is flat-svm, but must be one that NHSVC"):
        NHSVC.load(tmp_path / "flat")


# Data ---------------------------------------------------------------------------------------------


def test_canonical_csr_of_float32_is_not_copied() -> None:
    X, _ = rows()
    X.indptr = X.indptr.astype(np.int64)
    X.indices = X.indices.astype(np.int32)
    _, pointers, columns, values = _arrays.csr_of(X)
    assert pointers is X.indptr
    assert columns is X.indices
    assert values is X.data


def test_the_extension_refuses_what_it_would_have_to_copy() -> None:
    model = FlatSVC().fit(*rows()).model_
    columns, pointers, indices, values = _arrays.csr_of(rows()[0])
    with pytest.raises(TypeError):
        model.predict((columns, pointers, indices, values.astype(np.float64)), 1)
    with pytest.raises(TypeError):
        model.predict((columns, pointers, indices.astype(np.int64), values), 1)
    indices[3] = -1
    with pytest.raises(ValueError, match="column"):
        model.predict((columns, pointers, indices, values), 1)


@pytest.mark.parametrize("convert", [sp.csr_array.toarray, sp.csc_array, sp.coo_array])
def test_other_matrices_give_the_scores_of_csr(convert: Any) -> None:
    X, y = rows()
    expected = NHSVC(hierarchy=EDGES).fit(X, y).decision_function(X)
    other = NHSVC(hierarchy=EDGES).fit(convert(X.astype(np.float64)), y)
    np.testing.assert_array_equal(other.decision_function(convert(X)), expected)


@pytest.mark.parametrize("made", ESTIMATORS)
def test_weights_are_repetitions_bit_for_bit(made: type[Classifier]) -> None:
    X, y = rows(40)
    weights = np.random.default_rng(1).integers(0, 4, size=40)
    order = np.random.default_rng(2).permutation(40)
    weighted = made().fit(X[order], y[order], sample_weight=weights[order])
    repeated = made().fit(X[np.repeat(np.arange(40), weights)], np.repeat(y, weights))
    np.testing.assert_array_equal(weighted.decision_function(X), repeated.decision_function(X))
    plain = made().fit(X, y)
    assert (plain.decision_function(X) != repeated.decision_function(X)).any()


def test_kernel_ridge_learns_a_tree_and_needs_two_rows() -> None:
    X, y = rows()
    assert KernelRidgeClassifier(hierarchy=EDGES).fit(X, y).score(X, y) > 0.9
    with pytest.raises(ValueError, match="X has 1 sample, but must have at least 2"):
        KernelRidgeClassifier(hierarchy=EDGES).fit(X[:1], y[:1])


def test_weights_of_zero_leave_rows_out() -> None:
    X, y = rows()
    wrong = np.where(np.arange(80) < 40, y, "oak")
    weights = (np.arange(80) < 40).astype(float)
    for made in ESTIMATORS:
        fitted = made(tolerance=1e-6).fit(X, wrong, sample_weight=weights)
        assert fitted.score(X, y) > 0.9
        assert made().fit(X, wrong).score(X, y) < 0.9


def several(form: str) -> Any:
    """Rows of labels 0 to 3 with the label two further on every third row."""
    matrix = np.zeros((80, 4), dtype=int)
    matrix[np.arange(80), np.arange(80) % 4] = 1
    matrix[np.arange(0, 80, 3), (np.arange(0, 80, 3) + 2) % 4] = 1
    if form == "sets":
        return [set(np.flatnonzero(row).tolist()) for row in matrix]
    return sp.csr_matrix(matrix) if form == "sparse" else matrix


@pytest.mark.parametrize(
    "made",
    [FlatSVC, FlatLogisticRegression, HSVC, NHSVC, SharedSVC, HRSVC, HRLogisticRegression],
)
def test_several_labels_come_back_in_the_form_they_were_given(made: type[Classifier]) -> None:
    X = sp.hstack([sp.csr_array(several("indicator").astype(np.float32)), rows()[0]], format="csr")
    dense = made(C=10).fit(X, several("indicator"))
    sparse = made(C=10).fit(X, several("sparse"))
    sets = made(C=10).fit(X, several("sets"))
    matrix = dense.predict(X)
    assert isinstance(matrix, np.ndarray)
    assert sp.issparse(sparse.predict(X))
    np.testing.assert_array_equal(sparse.predict(X).toarray(), matrix)
    assert sets.predict(X) == [set(np.flatnonzero(row).tolist()) for row in matrix]
    assert dense.decision_function(X).shape == (80, 4)
    for fitted, form in ((dense, "indicator"), (sparse, "sparse"), (sets, "sets")):
        assert fitted.score(X, several(form)) > 0.9


def test_labels_keep_their_type() -> None:
    X, y = rows()
    for labels in (np.array([3, 5, 10, 20]), np.array([1.0, 2.0, 3.0, 10.0]), LEAVES):
        named = labels[np.searchsorted(LEAVES, y)]
        predicted = FlatSVC().fit(X, named).predict(X)
        assert predicted.dtype == named.dtype
        np.testing.assert_array_equal(predicted, named)


@pytest.mark.filterwarnings("error")
def test_wrong_values_name_the_option() -> None:
    X, y = rows()
    with pytest.raises(ValueError, match="option C is -1, but must be auto or > 0"):
        FlatSVC(C=-1).fit(X, y)
    with pytest.raises(ValueError, match="option loss is 'huge', but must be one of auto, hinge"):
        FlatSVC(loss="huge").fit(X, y)
    with pytest.raises(ValueError, match="lambda"):
        FlatSVC(C=2, lambda_=0.5).fit(X, y)
    with pytest.raises(ValueError, match="label is 'oak', but must be a node of the hierarchy"):
        NHSVC(hierarchy=[("animal", "dog"), ("animal", "cat")]).fit(X, y)


def test_lambda_is_half_of_one_over_C() -> None:
    X, y = rows()
    a, b = NHSVC(C=2.0).fit(X, y), NHSVC(lambda_=0.25).fit(X, y)
    np.testing.assert_array_equal(a.decision_function(X), b.decision_function(X))


# Long work ----------------------------------------------------------------------------------------


def hard_rows() -> tuple[NDArray[Any], NDArray[Any]]:
    random = np.random.default_rng(0)
    return random.normal(size=(400, 40)), random.integers(0, 30, size=400)


def test_progress_is_reported_and_its_errors_end_training() -> None:
    reports: list[dict[str, Any]] = []
    NHSVC(progress=lambda **report: reports.append(report)).fit(*rows())
    assert reports
    assert reports[-1]["stage"]
    assert all(report["seconds"] >= 0 for report in reports)

    def fail(**report: Any) -> None:
        raise RuntimeError(f"enough of {report['stage']}")

    with pytest.raises(RuntimeError, match="enough of"):
        NHSVC(progress=fail).fit(*rows())


def test_ctrl_c_ends_training() -> None:
    main = threading.main_thread().ident
    assert main is not None
    done = threading.Event()

    def press(**_: Any) -> None:
        if not done.is_set():
            done.set()
            signal.pthread_kill(main, signal.SIGINT)

    estimator = HSVC(tolerance=1e-12, C=100, max_passes=10**6, progress=press)
    estimator.set_params(time_limit_seconds=60)  # if Ctrl-C were lost, this would only warn
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(*hard_rows())


def test_a_time_limit_returns_the_best_model_so_far_and_warns() -> None:
    estimator = HSVC(tolerance=1e-12, C=100, max_passes=1_000_000, time_limit_seconds=0.2)
    with pytest.warns(ConvergenceWarning, match="time limit"):
        estimator.fit(*hard_rows())
    assert estimator.report_["stop"] == "time_limit"
    assert estimator.predict(hard_rows()[0]).shape == (400,)


def test_a_time_limit_before_the_first_pass_raises() -> None:
    estimator = HSVC(time_limit_seconds=0.0)
    with pytest.raises(TimeoutError, match="the time limit ended"):
        estimator.fit(*hard_rows())
    assert not hasattr(estimator, "model_")


def test_level_weights_are_attributes_from_the_roots_down() -> None:
    # Distinct rows of one length with two entries, enough of them for centroids.
    i, j = np.triu_indices(46, k=1)
    X = np.zeros((len(i), 46), dtype=np.float32)
    X[np.arange(len(i)), i] = X[np.arange(len(i)), j] = 1
    assert len(X) >= 1000
    y = np.array(["a1", "a2", "b1", "b2"])[i % 4]
    tree = {"r": ["a", "b"], "a": ["a1", "a2"], "b": ["b1", "b2"]}
    joint = LevelSVC(hierarchy=tree).fit(X, y)
    facts = dict(joint.model_.facts)
    assert len(joint.level_weights_) == len(joint.level_offsets_)
    listed = [float(value) for value in facts["level weights"].split()]
    assert np.allclose(joint.level_weights_, listed, rtol=1e-3)
    assert joint.level_is_joint_ is not None
    assert joint.level_is_joint_.all()
    ovr = LevelSVC(hierarchy=tree, multiclass="ovr").fit(X, y)
    assert ovr.level_is_joint_ is not None
    assert not ovr.level_is_joint_.any()
    assert joint.stack_weights_.shape == (1,)  # of the centroids, as rows have one length
    for alone in (
        LevelSVC(hierarchy=tree, stack="none").fit(X, y),
        LevelSVC(hierarchy=tree).fit(X[:900], y[:900]),
    ):  # too few rows
        assert alone.stack_weights_.size == 0
    with pytest.raises(NotFittedError):
        _ = LevelSVC().level_weights_


def test_a_stack_has_a_weight_for_each_of_its_methods() -> None:
    X, y = np.eye(8, dtype=np.float32).repeat(6, axis=0), np.repeat(["a1", "a2", "b1", "b2"], 12)
    tree = {"r": ["a", "b"], "a": ["a1", "a2"], "b": ["b1", "b2"]}
    model = LevelSVC(hierarchy=tree, stack="nhsvm,flat-lr").fit(X, y)
    assert model.stack_weights_.shape == (2,)
    assert (model.stack_weights_ >= 0).all()
    listed = [float(value) for value in dict(model.model_.facts)["stack weights"].split()]
    assert np.allclose(model.stack_weights_, listed, rtol=1e-3)
    assert (model.predict(X) == y).all()
    as_list: Any = ["nhsvm", "flat-lr"]
    listed_alike = LevelSVC(hierarchy=tree, stack=as_list).fit(X, y)
    np.testing.assert_array_equal(model.stack_weights_, listed_alike.stack_weights_)
    with pytest.raises(ValueError, match="option stack is 'hsvm', but must be auto, none, or"):
        LevelSVC(hierarchy=tree, stack="hsvm").fit(X, y)


def test_more_folds_than_rows_are_refused() -> None:
    X, y = np.eye(8), np.repeat(["a", "b"], 4)
    for estimator in (LevelSVC, FlatSVC):
        with pytest.raises(
            ValueError, match="option decision_folds is 500, but must be at most 8, the number of"
        ):
            estimator(decision_folds=500).fit(X, y)


def test_crammer_singer_refuses_a_loss_that_it_lacks() -> None:
    estimator = FlatSVC(multiclass="crammer-singer", loss="squared-hinge")
    with pytest.raises(ValueError, match=r"loss is squared-hinge, .* multiclass is crammer-singer"):
        estimator.fit(np.eye(4), ["a", "b", "a", "b"])


def test_other_threads_run_during_training() -> None:
    ticks = 0
    stop = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not stop.wait(0.005):
            ticks += 1

    thread = threading.Thread(target=tick)
    thread.start()
    with pytest.warns(ConvergenceWarning):
        HSVC(tolerance=1e-12, C=100, max_passes=1_000_000, time_limit_seconds=0.5).fit(*hard_rows())
    stop.set()
    thread.join()
    assert ticks > 5


def test_more_memory_than_allowed_is_refused_before_training() -> None:
    with pytest.raises(ValueError, match="must not take more than 1e-06 GB"):
        FlatSVC(memory_limit=1e-6).fit(*rows())


def test_the_progress_bar_shows_the_stage(capsys: pytest.CaptureFixture[str]) -> None:
    FlatSVC(progress=True).fit(*rows())
    assert "one-vs-rest: 100%" in capsys.readouterr().err


def test_rows_without_finite_scores_are_named() -> None:
    X, y = rows()
    model = FlatSVC(C=1e4, scale="none").fit(X * 1e-3, y)
    huge = np.full((3, X.shape[1]), 1e-3, dtype=np.float32)
    huge[1] = 3e38
    for answer in (model.predict, model.decision_function, lambda Z: model.top_k(Z, 2)):
        with pytest.raises(ValueError, match=r"row 1: the scores are not finite numbers"):
            answer(huge)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, lambda X: X.tolist()])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300])
def test_numbers_that_are_not_finite_are_refused_as_by_the_program(
    form: Callable[[Any], Any], value: float
) -> None:
    X, y = rows()
    wrong = X.toarray().astype(np.float64)
    wrong[2, 1] = value
    text = "inf" if value == 1e300 else str(value)
    message = f"X: row 2: value of feature 2 is '{text}', but must be a number that fits a 32-bit"
    model = FlatSVC().fit(X, y)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "overflow encountered")
        for call in (lambda: FlatSVC().fit(form(wrong), y), lambda: model.predict(form(wrong))):
            with pytest.raises(ValueError, match=message):
                call()


@pytest.mark.parametrize("solver", ["sgd", "bcfw", "cutting-plane", "one-slack"])
@pytest.mark.parametrize("C", [1.0, 1e30, 1e300])
def test_scores_that_overflow_leave_the_interpreter_alive(solver: str, C: float) -> None:
    # The oracle read beyond the last leaf where the best score was not a number.
    X = np.array([[3e38, 0], [-3e38, 3e38], [0, -3e38], [3e38, 3e38]], dtype=np.float32)
    y = ["a", "b", "c", "d"]
    hierarchy = [("m", "a"), ("m", "b"), ("n", "c"), ("n", "d")]
    model = HSVC(hierarchy=hierarchy, solver=solver, C=C, max_passes=20, scale="none")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            assert set(model.fit(X, y).predict(X)) <= set(y)
        except ValueError as error:
            message = str(error)
            reasons = ("overflowed", "not a finite number", "not finite numbers")
            assert any(reason in message for reason in reasons)
