"""What all estimators share: training, prediction and files around the registry of methods."""

import contextlib
import inspect
import json
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise, repeat
from typing import Any, ClassVar, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score
from sklearn.utils import Tags
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from margrove import _core
from margrove._arrays import csr_of, merge_equal_rows
from margrove._labels import (
    PathForm,
    Targets,
    are_path_ids,
    array_of,
    classes_of_names,
    read_targets,
    write_targets,
)
from margrove._probabilities import Probabilistic
from margrove._progress import Bar, Progress
from margrove._types import Csr, Sets
from margrove.explanation import Contribution, Explanation, NodeScore, PathScore, SourceScore
from margrove.hierarchy import Hierarchy, Paths

Self = TypeVar("Self", bound="Classifier")

# Parameters of every estimator that are not options of its method.
_RUN_PARAMETERS = (
    "hierarchy",
    "calibration",
    "scale",
    "warm_start",
    "threads",
    "time_limit_seconds",
    "memory_limit",
    "progress",
)


class Classifier(Probabilistic, ClassifierMixin, BaseEstimator):
    """What all estimators do. A subclass names its method and lists the method's options.

    Attributes after `fit`: `classes_`, `n_features_in_`, `feature_names_in_` (of frames),
    `hierarchy_` (None without one), `report_` (how training ended: stop, passes, primal, dual,
    relative_gap, curve) and `model_`, the model itself.
    """

    _method: ClassVar[str]
    _several_labels: ClassVar[bool] = False
    _weighs_rows: ClassVar[bool] = True  # whether the method knows row weights
    _has_path_ids = False  # whether the nodes of a model from a file are named by their paths
    _of_method: ClassVar[dict[str, type["Classifier"]]] = {}

    # What __init__ of every subclass sets, beside its method's own options.
    hierarchy: Any
    calibration: float
    scale: str
    threads: int
    time_limit_seconds: float | None
    memory_limit: float | None
    progress: Progress

    # What fit sets.
    classes_: NDArray[Any]
    hierarchy_: Hierarchy | None
    model_: _core.Model
    n_features_in_: int
    report_: dict[str, Any]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "_method" in vars(cls):
            Classifier._of_method[cls._method] = cls

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = self._several_labels
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")  # by default any name with a final _ counts: lambda_ too

    # Training -------------------------------------------------------------------------------------

    def fit(self: Self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Trains on rows X and their labels y.

        X: dense or sparse; CSR of float32 with 32-bit columns is used without a copy. y: one label
        per row or, where the method takes several, a 0/1 matrix (dense or sparse) or a sequence of
        sets. sample_weight: of each row's loss, >= 0; rows of weight 0 are left out, and a row of
        weight 2 is, bit for bit, the row twice: equal rows are trained as one with the sum of their
        weights. Raises ValueError for wrong data or options.
        """
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y "
                "is None."
            )
        targets, X = self._check(X, y)
        if not 0 <= self.calibration < 1:
            raise ValueError(f"calibration is {self.calibration}, but must be in [0, 1)")
        hierarchy = targets.hierarchy(None if self.hierarchy is None else self.hierarchy)
        rows, sets, weights = self._weighted(X, targets.to_core(), sample_weight)
        model = self._train(rows, sets, targets.classes, hierarchy, weights, **self._continuation())
        self._adopt(model, targets.form, targets.classes, hierarchy, targets.path_form)
        self._warn()
        return self

    def _check(self, X: Any, y: Any) -> tuple[Targets, Any]:
        checks = {"accept_sparse": "csr", "dtype": np.float32}
        targets = self._targets(y) if _is_plural(y) else None
        if targets is not None and targets.form != "single":
            X = validate_data(self, X, **checks)
            if X.shape[0] != targets.num_rows:
                check_consistent_length(X, y)
            return targets, X
        X, y = validate_data(self, X, y, **checks)
        return read_targets(y), X

    def _targets(self, y: Any) -> Targets:
        """A given hierarchy knows nodes by their names; without one, paths are the nodes."""
        return read_targets(y, paths_by_name=self.hierarchy is not None and not self._has_path_ids)

    def _weighted(
        self, X: Any, sets: Sets, sample_weight: Any
    ) -> tuple[Csr, Sets, NDArray[np.float64] | None]:
        """Rows as training takes them: equal ones as one, where the method knows row weights."""
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
        if not self._weighs_rows:
            return csr_of(X), sets, weights
        return merge_equal_rows(csr_of(X), sets, weights)

    def _train(
        self,
        X: Csr,
        labels: Sets,
        classes: NDArray[Any],
        hierarchy: Hierarchy | None,
        weights: NDArray[np.float64] | None,
        *,
        epochs: int | None = None,
        **continuation: Any,
    ) -> _core.Model:
        names = [str(label) for label in classes]
        options = self._options() | ({} if epochs is None else {"epochs": str(epochs)})
        graph = None if hierarchy is None else hierarchy.to_core()
        if graph is None and _needs_hierarchy(self._method):
            # Labels that are all roots: the method is then its own special case without structure.
            graph = names, np.empty((0, 2), dtype=np.uint32)
        with self._callback() as callback:
            return _core.train(
                self._method,
                options,
                X,
                labels,
                names,
                graph,
                weights,
                self.threads,
                self.time_limit_seconds,
                self.memory_limit,
                self.calibration,
                callback,
                self._views_of_X(),
                scale=self.scale,
                **continuation,
            )

    def _continuation(self) -> dict[str, Any]:
        """Which model training goes on from, and whether it leaves what a later run needs."""
        return {}

    def _views_of_X(self) -> list[tuple[str, int, int]]:
        """The sources of the columns of X: (name, first column, end), side by side."""
        return []

    @contextlib.contextmanager
    def _callback(self) -> Iterator[Callable[..., object] | None]:
        """What gets the reports of progress."""
        if callable(self.progress):
            yield self.progress
        elif self.progress:
            with Bar() as bar:
                yield bar
        else:
            yield None

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        """The options of the method, under the names of __init__."""
        parameters = inspect.signature(cls.__init__).parameters.values()
        return {
            p.name: p.default
            for p in parameters
            if p.name != "self" and p.name not in _RUN_PARAMETERS
        }

    def _options(self) -> dict[str, str]:
        """As text; C is left out where lambda is given instead of it."""
        defaults = self._defaults()
        values = {name: getattr(self, name) for name in defaults}
        if values.get("lambda_", 0) == 0:
            values.pop("lambda_", None)
        elif values["C"] == defaults["C"]:
            del values["C"]
        return {name.rstrip("_"): _option_text(value) for name, value in values.items()}

    def _adopt(
        self,
        model: _core.Model,
        form: str,
        classes: NDArray[Any],
        hierarchy: Hierarchy | None,
        path_form: PathForm | None = None,
    ) -> None:
        """Takes over a trained model whose labels are the names of `classes` and of the nodes."""
        self.model_ = model
        self.classes_ = classes
        self.hierarchy_ = hierarchy
        self.report_ = model.report
        self._form = form
        self._path_form = path_form
        label_of_name = {name: label for label, name in enumerate(model.labels)}
        self._label_of_class = np.array(
            [label_of_name[str(label)] for label in classes], dtype=np.int64
        )
        own = {str(node): node for node in (hierarchy.nodes if hierarchy else ())}
        own |= {str(label): label for label in classes.tolist()}
        self._node_of_label = array_of([own.get(name, name) for name in model.labels])
        self._class_of_label = np.full(len(label_of_name), -1, dtype=np.int64)
        self._class_of_label[self._label_of_class] = np.arange(len(classes))

    def _loaded(self) -> None:
        """Called when the estimator was made from a model file."""

    def _warn(self) -> None:
        unfinished = self.report_["stop"] in ("stalled", "pass_limit", "time_limit")
        *others, last = self.report_["warnings"] or [""]
        for message in others:
            warnings.warn(message, UserWarning, stacklevel=3)
        if last:  # where training ended early, the last one says why
            kind = ConvergenceWarning if unfinished else UserWarning
            warnings.warn(last, kind, stacklevel=3)

    # Prediction -----------------------------------------------------------------------------------

    def _rows(self, X: Any) -> Csr:
        """X checked against the model, and preprocessed as the model says."""
        check_is_fitted(self)
        if self.model_.preprocessing == "text-tfidf":
            return self.model_.preprocess_texts(list(X))
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float32, reset=False)
        rows = csr_of(X)
        return rows if self.model_.preprocessing == "none" else self.model_.preprocess_rows(rows)

    def _classes(self, labels: NDArray[np.uint32]) -> NDArray[np.int64]:
        positions: NDArray[np.int64] = self._class_of_label[labels]
        return positions

    def predict(
        self, X: Any, *, stop: str = "leaf", min_confidence: float = 0.5, cost: Any = None
    ) -> Any:
        """The label of each row, or its labels in the form in which `fit` had them.

        stop="inner": the most specific node, on the way down the most probable ones, whose
        probability is at least min_confidence; if no root has it, the most probable root.
        cost: the label (with stop="inner" the node) of the least expected cost instead: a matrix
        with a row for each of `classes_`, what is true, and a column for each of `classes_` (or
        `nodes_`), what is said; "path" counts the nodes on one of the two paths only. Both need
        probabilities.
        """
        check_is_fitted(self)
        if stop not in ("leaf", "inner"):
            raise ValueError(f"stop is {stop!r}, but must be 'leaf' or 'inner'")
        if cost is not None:
            return self._in_form(self._cheapest(X, cost, stop))
        if stop == "inner":
            return self._in_form(self._confident(X, min_confidence))
        pointers, labels = self.model_predict(X)
        positions = self._classes(labels)
        known = positions >= 0  # without inner nodes that are no class of the training data
        counts = np.concatenate([[0], np.cumsum(known)])
        chosen = positions[known].astype(np.uint32)
        if self._form == "paths":
            return self._in_form(self.classes_[chosen])
        return write_targets(self._form, self.classes_, (counts[pointers], chosen))  # type: ignore[arg-type]

    def _in_form(self, labels: NDArray[Any]) -> Any:
        """One label per row in the form of `fit`: itself, or its path."""
        if self._path_form is None:
            return labels
        paths = Paths(self.hierarchy_)
        return self._path_form.write([paths.of([label]) for label in labels.tolist()])

    def model_predict(self, X: Any) -> Sets:
        """Row pointers and the model's own numbers of the labels, as its file has them."""
        rows = self._rows(X)
        return self.model_.predict(rows, self.threads)

    def decision_function(self, X: Any) -> NDArray[np.float32]:
        """The score of each class, a column each; of two classes, the second's less the first's.

        Labels that are never predicted have -inf.
        """
        rows = self._rows(X)
        scores = self.model_.scores(rows, self.threads)[:, self._label_of_class]
        if self._form in ("single", "paths") and len(self.classes_) == 2:
            difference: NDArray[np.float32] = scores[:, 1] - scores[:, 0]
            return difference
        return scores

    def top_k(self, X: Any, k: int) -> tuple[NDArray[Any], NDArray[np.float32]]:
        """The k best labels of each row, best first, and their scores: two arrays of k columns.

        k is cut to the number of labels that can be predicted.
        """
        if k < 1:
            raise ValueError(f"k is {k}, but must be >= 1")
        rows = self._rows(X)
        pointers, labels, scores = self.model_.top(rows, k, self.threads)
        shape = (len(pointers) - 1, int(pointers[1]) if len(pointers) > 1 else 0)
        return self.classes_[self._classes(labels)].reshape(shape), scores.reshape(shape)

    def predict_paths(self, X: Any, **how: Any) -> list[list[Any]]:
        """Of each row, the nodes from the root down to its label, the label last.

        `how` is handed to `predict`. In a DAG these are all ancestors of the label, parents before
        children; for rows with several labels, those of all labels. Without a hierarchy the labels
        alone.
        """
        sets = self.predict(X, **how)
        if self._form == "paths":
            return [[label for label in path if label != ""] for path in sets]
        if self._form == "single":
            sets = [[label] for label in sets.tolist()]
        elif self._form != "sets":
            rows = sp.csr_array(sets)
            sets = [
                self.classes_[rows.indices[begin:end]].tolist()
                for begin, end in pairwise(rows.indptr)
            ]
        paths = Paths(self.hierarchy_)
        return [paths.of(labels) for labels in sets]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows whose labels are all right."""
        predicted = self.predict(X)
        if self._form == "paths":
            truth = self._targets(y)
            best = self.classes_[self._classes(self.model_predict(X)[1])]
            right = truth.classes[truth.positions] == best
            return float(np.average(right, weights=sample_weight))
        if self._form != "sets":
            return float(accuracy_score(y, predicted, sample_weight=sample_weight))
        right = [set(a) == b for a, b in zip(y, predicted, strict=True)]
        return float(np.average(right, weights=sample_weight))

    def explain(self, X: Any, label: Any = None, *, num_features: int = 5) -> list[Explanation]:
        """The score of each row's best label (or of `label`) as a sum over nodes and features."""
        rows = self._rows(X)
        _, labels, _ = self.model_.top(rows, 1, self.threads)
        names = self.model_.labels
        best = (names[number] for number in labels) if label is None else repeat(str(label))
        return [
            self._explanation(self.model_.explain(rows, row, name, num_features))
            for row, name in zip(range(len(rows[1]) - 1), best, strict=False)
        ]

    def _explanation(self, parts: Any) -> Explanation:
        name, score, nodes, sources = parts
        own = dict(zip(self.model_.labels, self._node_of_label.tolist(), strict=True))
        return Explanation(
            own[name],
            score,
            tuple(
                NodeScore(
                    own[node],
                    itself,
                    node_score,
                    tuple(Contribution(self._feature(j), *rest) for j, *rest in strongest),
                )
                for node, itself, node_score, strongest in nodes
            ),
            tuple(
                SourceScore(source, part, tuple(PathScore(*path) for path in strongest))
                for source, part, strongest in sources
            ),
        )

    def _feature(self, number: int) -> str | int:
        if number == self.model_.num_features:
            return "(intercept)"
        names = getattr(self, "feature_names_in_", self.model_.vocabulary)
        return str(names[number]) if number < len(names) else number

    def _sets_of(self, X: Any, y: Any) -> tuple[Csr, Sets]:
        """Rows and their labels in the model's numbers; unknown labels get numbers beyond them."""
        targets = self._targets(y)
        number = {name: label for label, name in enumerate(self.model_.labels)}
        of_class = np.array(
            [number.get(str(label), len(number) + k) for k, label in enumerate(targets.classes)],
            dtype=np.uint32,
        )
        rows = self._rows(X)
        if len(rows[1]) - 1 != targets.num_rows:
            check_consistent_length(X, y)
        return rows, (targets.pointers, of_class[targets.positions])

    # Files ----------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model as `margrove train` does; `margrove predict` takes it."""
        check_is_fitted(self)
        self.model_.save(os.fspath(path))

    def export_liblinear(self, path: str | os.PathLike[str]) -> None:
        """Writes a flat model of numbered classes for LIBLINEAR's programs."""
        check_is_fitted(self)
        self.model_.export_liblinear(os.fspath(path))

    def to_onnx(self) -> Any:
        """The model as an onnx.ModelProto: see margrove.onnx."""
        from margrove.onnx import to_onnx

        return to_onnx(self)

    @classmethod
    def load(cls: type[Self], path: str | os.PathLike[str]) -> Self:
        """A fitted estimator from a model file, whoever wrote it.

        Labels are whole numbers if all of the model's are, otherwise strings. Raises
        ModelFileError for a file that holds no model, ValueError for one of another method.
        """
        return cls._of_model(_core.Model.load(os.fspath(path)), os.fspath(path))

    @classmethod
    def _of_model(cls: type[Self], model: _core.Model, source: str) -> Self:
        made = cls._of_method.get(model.method)
        if made is None or not issubclass(made, cls):
            raise ValueError(
                f"{source}: its method is {model.method}, but must be one that "
                f"{cls.__name__} can load"
            )
        defaults = made._defaults()
        estimator = made(
            **{
                name: _option_value(model.options[name.rstrip("_")], default)
                for name, default in defaults.items()
                if name.rstrip("_") in model.options  # older files may lack some
            }
        )
        nodes = classes_of_names(model.labels)
        hierarchy = None
        if model.has_hierarchy:
            plain = nodes.tolist()
            edges = tuple((plain[p], plain[c]) for p, c in model.edges.tolist())
            hierarchy = Hierarchy(tuple(plain), edges)
            estimator.hierarchy = hierarchy
            estimator._has_path_ids = are_path_ids(edges)
        if model.is_of_files:
            estimator._adopt(model, "sentences", nodes, None)
            return estimator
        several = not model.gives_one_label
        classes = nodes[model.training_rows > 0]
        estimator._adopt(model, "sets" if several else "single", classes, hierarchy)
        estimator._loaded()
        estimator.n_features_in_ = model.num_features
        return estimator


def load(path: str | os.PathLike[str]) -> Classifier:
    """A fitted estimator of whatever method the model file holds: see Classifier.load."""
    return Classifier.load(path)


def load_liblinear(path: str | os.PathLike[str]) -> Classifier:
    """A fitted FlatSVC or FlatLogisticRegression from a classifier that LIBLINEAR wrote."""
    return Classifier._of_model(_core.import_liblinear(os.fspath(path)), os.fspath(path))


def _is_plural(y: Any) -> bool:
    """Whether y may hold more than one label per row; y itself is checked later."""
    if sp.issparse(y) or (getattr(y, "ndim", 0) == 2 and y.shape[1] > 1):
        return True
    if isinstance(y, list | tuple) or np.dtype(object) is getattr(y, "dtype", None):
        return any(isinstance(row, set | frozenset | list | tuple | np.ndarray) for row in y)
    return False


def _needs_hierarchy(method: str) -> bool:
    return next(needs for name, _, needs, _ in _core.methods() if name == method)


def _option_text(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if value is None:
        return ""
    if isinstance(value, Mapping):
        return json.dumps(value)
    if isinstance(value, list | tuple | np.ndarray):
        return ",".join(f"{float(each):.17g}" for each in value)
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def _option_value(text: str, default: Any) -> Any:
    if isinstance(default, bool):
        return text == "true"
    if isinstance(default, tuple):
        return tuple(float(each) for each in text.split(","))
    if default is None:
        return text or None
    return type(default)(text)
