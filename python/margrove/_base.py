"""The base class of all estimators: training, prediction and files."""

import inspect
import os
import warnings
from collections.abc import Mapping
from itertools import pairwise
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score
from sklearn.utils import Tags, _safe_indexing
from sklearn.utils.validation import check_is_fitted

from margrove import _core
from margrove._arrays import with_all_places
from margrove._coefficients import Linear
from margrove._explained import Explained
from margrove._label_names import names_to_match, with_unseen
from margrove._labels import PathForm, array_of, is_missing, rows_with_labels, write_targets
from margrove._loaded import estimator_of
from margrove._options import option_text
from margrove._probabilities import Probabilistic
from margrove._progress import Keeping, Progress, keeping
from margrove._rows import Rows
from margrove._stored import Stored
from margrove._trainer import trainer
from margrove._types import Csr, Edges, Sets
from margrove.hierarchy import Hierarchy, Paths

Self = TypeVar("Self", bound="Classifier")

# Parameters of every estimator that are not options of its method.
_RUN_PARAMETERS = (
    "hierarchy",
    "text",
    "numeric",
    "categorical",
    "vector_columns",
    "vector_share",
    "path",
    "separator",
    "text_features",
    "class_weight",
    "unlabelled",
    "calibration",
    "scale",
    "kernel_features",
    "kernel_gamma",
    "kernel_model",
    "warm_start",
    "threads",
    "time_limit_seconds",
    "memory_limit",
    "progress",
)


class Classifier(Rows, Linear, Probabilistic, Explained, Stored, ClassifierMixin, BaseEstimator):
    """The base class of all estimators. A subclass names its method and the method's options.

    Attributes after `fit`: `classes_`, `n_features_in_`, `feature_names_in_` (of frames),
    `hierarchy_` (None without one), `report_` (how training ended: stop, passes, primal, dual,
    relative_gap, curve) and `model_`, the model itself.
    """

    _method: ClassVar[str]
    _several_labels: ClassVar[bool] = False
    _may_match_names: ClassVar[bool] = False  # without the option match_names
    _searches_terms: ClassVar[bool] = False  # where the option terms is at its default
    _of_method: ClassVar[dict[str, type["Classifier"]]] = {}

    # Set by __init__ of every subclass, in addition to the options of its method.
    hierarchy: Any
    class_weight: Any = None  # of the estimators that take row weights
    unlabelled: str = "auto"
    calibration: float
    scale: str
    kernel_features: str = "none"  # of the estimators whose method is linear
    kernel_gamma: float = 0.0
    kernel_model: Any = None
    threads: int
    time_limit_seconds: float | None
    memory_limit: float | None
    progress: Progress
    _kept: Keeping  # while fit runs

    # Set by fit.
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
        tags.input_tags.string = self.text is not None
        tags.input_tags.categorical = self.categorical is not None
        tags.target_tags.required = self.path is None
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")  # by default any name with a final _ counts: lambda_ too

    # Training -------------------------------------------------------------------------------------

    def fit(self: Self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Trains on rows X and their labels y.

        X: dense or sparse; CSR of float32 with 32-bit columns is used without a copy. A list, array
        or column of texts becomes weights of terms, by `text_features`, as with `margrove train
        --text`; with TextFeatures(terms="auto"), and by default in AutoClassifier, a search on
        held-out rows chooses the terms, and `terms_` has its candidates. If the parameters text,
        numeric, categorical or vector_columns name columns: a frame of pandas, Polars or PyArrow, a
        dict of columns or a list of dicts. y: one label per row or, if the method takes several, a
        0/1 matrix (dense or sparse) or a sequence of sets; None if `path` names the labels.
        sample_weight: the weight of each row's loss, >= 0, which `class_weight` multiplies. Equal
        rows are merged into one with the sum of their weights, so that a row of weight 2 gives the
        same bits as the row twice. Raises ValueError for wrong data or options.
        """
        targets, X = self._check(X, y, sample_weight)
        targets = targets.meant(self.unlabelled)
        if not 0 <= self.calibration < 1:
            raise ValueError(f"calibration is {self.calibration}, but must be in [0, 1)")
        targets, hierarchy = targets.in_hierarchy(self.hierarchy)
        rows, sets, weights = self._weighted(X, targets.to_core(), targets.classes, sample_weight)
        names = targets.path_form.names if targets.path_form is not None else {}
        model = self._train(
            rows, sets, targets.classes, hierarchy, weights, names, **self._continuation()
        )
        classes = with_unseen(model, targets, hierarchy)
        self._adopt(model, targets.form, classes, hierarchy, targets.path_form)
        self._raise_kept()
        self._warn()
        return self

    def _train(
        self,
        X: Csr,
        labels: Sets,
        classes: NDArray[Any],
        hierarchy: Hierarchy | None,
        weights: NDArray[np.float64] | None,
        names_of_paths: Mapping[str, Any] = MappingProxyType({}),
        *,
        epochs: int | None = None,
        **continuation: Any,
    ) -> _core.Model:
        names = [str(label) for label in classes]
        options = self._options() | ({} if epochs is None else {"epochs": str(epochs)})
        graph = self._graph(hierarchy, names)
        node_names = (
            [str(names_of_paths.get(node, node)) for node in graph[0]]
            if names_of_paths and graph
            else []
        )
        source = self.__dict__.pop("_source_rows", None)
        kernel, kernel_name = self.__dict__.pop("_kernel", None) or (None, "")
        with keeping(self.progress) as self._kept:
            return trainer.get()(
                method=self._method,
                options=options,
                X=X,
                labels=labels,
                names=names,
                hierarchy=graph,
                row_weights=weights,
                threads=self.threads,
                time_limit_seconds=self._seconds_left(),
                memory_limit=self.memory_limit,
                calibration=self.calibration,
                callback=self._kept.callback,
                views=self._views_of_X(),
                scale=self.scale,
                kernel_features=self.kernel_features,
                kernel_gamma=self.kernel_gamma,
                kernel_model=kernel,
                kernel_model_name=kernel_name,
                node_names=node_names,
                other_names=names_to_match(self, hierarchy),
                unlabelled=self.unlabelled,
                **({} if source is None else source.training_arguments()),
                **continuation,
            )

    def _graph(self, hierarchy: Hierarchy | None, names: list[str]) -> Edges | None:
        if hierarchy is not None:
            return hierarchy.to_core()
        if not _needs_hierarchy(self._method):
            return None
        # All labels are roots: the special case of the method without structure.
        return names, np.empty((0, 2), dtype=np.uint32), []

    def _measuring(self) -> tuple[str, dict[str, str], str]:
        """The method that measures terms, its options, and the metric; "": those by default."""
        return self._method, self._options(), ""

    def _seconds_left(self) -> float | None:
        """The time limit of training, after a search for terms."""
        seconds = self.__dict__.pop("_seconds_of_terms", 0.0)
        limit: float | None = self.time_limit_seconds
        return limit if limit is None else max(limit - seconds, 0.0)

    def _raise_kept(self) -> None:
        """Raises the error with which a callback ended the training, once there is a model."""
        kept = self._kept
        del self._kept  # it refers to the callback
        kept.raise_error()

    def _continuation(self) -> dict[str, Any]:
        """The model that training continues, and whether it keeps its state for a later run."""
        return {}

    def _views_of_X(self) -> list[tuple[str, int, int]]:
        """The views of X, side by side: (name, first column, end)."""
        return []

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
        """The options as text; C is left out if lambda is given instead."""
        defaults = self._defaults()
        values = {name: getattr(self, name) for name in defaults}
        if values.get("lambda_", 0) == 0:
            values.pop("lambda_", None)
        elif values["C"] == defaults["C"]:
            del values["C"]
        return {
            name.rstrip("_"): "None"  # the library's message names it
            if value is None and defaults[name] not in (None, "")
            else option_text(value)
            for name, value in values.items()
        }

    def _adopt(
        self,
        model: _core.Model,
        form: str,
        classes: NDArray[Any],
        hierarchy: Hierarchy | None,
        path_form: PathForm | None = None,
    ) -> None:
        """Sets a trained model, whose labels are the names of `classes` and of the nodes."""
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
        """Called after the estimator was made from a model file."""

    def _warn(self) -> None:
        unfinished = self.report_["stop"] in ("stalled", "pass_limit", "time_limit")
        *others, last = self.report_["warnings"] or [""]
        for message in others:
            warnings.warn(message, UserWarning, stacklevel=3)
        if last:  # if training ended early, the last warning says why
            kind = ConvergenceWarning if unfinished else UserWarning
            warnings.warn(last, kind, stacklevel=3)

    # Prediction -----------------------------------------------------------------------------------

    def _classes(self, labels: NDArray[np.uint32]) -> NDArray[np.int64]:
        positions: NDArray[np.int64] = self._class_of_label[labels]
        return positions

    def predict(
        self, X: Any, *, stop: str = "leaf", min_confidence: float = 0.5, cost: Any = None
    ) -> Any:
        """The label of each row, or its labels in the form of y in `fit`.

        stop="inner" follows the most probable children from the root down and returns the last node
        with a probability of at least min_confidence; None (of paths: the empty path) where no
        root has it. Of rows with several labels it returns all nodes with this probability that
        have no child with it.
        cost: returns the label (with stop="inner" the node) with the least expected cost. It is a
        matrix with a row per true label of `classes_` and a column per prediction of `classes_` (or
        `nodes_`), or "path": the number of nodes on one of the two paths only. Both need
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
        return self._path_form.write(
            [[] if label is None else paths.of([label]) for label in labels.tolist()]
        )

    def model_predict(self, X: Any) -> Sets:
        """Row pointers and labels, numbered as in the model file."""
        rows = self._rows(X)
        return self.model_.predict(rows, self.threads)

    def decision_function(self, X: Any) -> NDArray[np.float32]:
        """The scores, one column per class; for two classes the second's minus the first's.

        Labels that are never predicted, and those that top-down search did not visit, have -inf.
        """
        rows = self._rows(X)
        scores = self.model_.scores(rows, self.threads)[:, self._label_of_class]
        if self._form in ("single", "paths") and len(self.classes_) == 2:
            difference: NDArray[np.float32] = scores[:, 1] - scores[:, 0]
            return difference
        return scores

    def top_k(self, X: Any, k: int) -> tuple[NDArray[Any], NDArray[np.float32]]:
        """The k best labels of each row, best first, and their scores: two arrays of k columns.

        k is reduced to the number of labels that can be predicted. A search in a tree that reaches
        fewer labels for a row than for others leaves places: other labels, with the score -inf.
        """
        if k < 1:
            raise ValueError(f"k is {k}, but must be >= 1")
        rows = self._rows(X)
        pointers, labels, scores = self.model_.top(rows, k, self.threads)
        classes = self._classes(labels)
        counts = np.diff(pointers)
        shape = (len(counts), int(counts.max(initial=0)))
        if counts.sum() < shape[0] * shape[1]:
            classes, scores = with_all_places(counts, classes, scores)
        return self.classes_[classes].reshape(shape), scores.reshape(shape)

    def predict_paths(self, X: Any, **how: Any) -> list[list[Any]]:
        """For each row, the nodes from the root down to its label, the label last.

        `how` is passed to `predict`. In a DAG these are all ancestors of the label, parents before
        children; for rows with several labels, the ancestors of all. Without a hierarchy these are
        the labels only.
        """
        sets = self.predict(X, **how)
        if self._path_form is not None:
            return [
                [label for label in path if not is_missing(label)]
                for path in self._path_form.read(sets)
            ]
        if self._form == "single":
            sets = [[] if label is None else [label] for label in sets.tolist()]
        elif self._form != "sets":
            rows = sp.csr_array(sets)
            sets = [
                self.classes_[rows.indices[begin:end]].tolist()
                for begin, end in pairwise(rows.indptr)
            ]
        paths = Paths(self.hierarchy_)
        return [paths.of(labels) for labels in sets]

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The share of rows whose labels are all right; y as in `fit`. Rows whose label is missing
        do not count, or have the empty set with unlabelled="keep"."""
        present = None if self.unlabelled == "keep" else rows_with_labels(y)
        if present is not None:
            X, y = _safe_indexing(X, present), _safe_indexing(list(y), present)
            if sample_weight is not None:
                sample_weight = _safe_indexing(sample_weight, present)
        if self._form == "paths":
            truth = self._labels_of(X, y)
            best = self.classes_[self._classes(self.model_predict(X)[1])]
            right = truth.classes[truth.positions] == best
            return float(np.average(right, weights=sample_weight))
        self._require_labels(y)
        predicted = self.predict(X)
        if self._form in ("single", "sets") and self.hierarchy_ and self.hierarchy_.alternatives:
            nodes = self._targets(y).as_nodes(self.hierarchy_)
            y = write_targets(nodes.form, nodes.classes, nodes.to_core())
        if self._form != "sets":
            return float(accuracy_score(y, predicted, sample_weight=sample_weight))
        truth_sets = (set() if is_missing(a) else {a} if np.isscalar(a) else set(a) for a in y)
        right = [a == b for a, b in zip(truth_sets, predicted, strict=True)]
        return float(np.average(right, weights=sample_weight))

    # Files ----------------------------------------------------------------------------------------

    def to_onnx(self) -> Any:
        """The model as an onnx.ModelProto: see margrove.onnx."""
        from margrove.onnx import to_onnx

        return to_onnx(self)

    @classmethod
    def load(cls: type[Self], path: str | os.PathLike[str]) -> Self:
        """A fitted estimator from a model file of Margrove.

        Labels are whole numbers if all of the model's are, otherwise strings. Raises
        ModelFileError if the file holds no model, ValueError if it is of another method.
        Weights of linear models are read when rows need them, so that the file stays open: it may
        be replaced or removed; if it is written to, the next prediction raises ModelFileError.
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
        return estimator_of(made, model, source)


def load(path: str | os.PathLike[str]) -> Classifier:
    """A fitted estimator from a model file of any method: see Classifier.load."""
    return Classifier.load(path)


def load_liblinear(path: str | os.PathLike[str]) -> Classifier:
    """A fitted FlatSVC or FlatLogisticRegression from a model file of LIBLINEAR."""
    return Classifier._of_model(_core.import_liblinear(os.fspath(path)), os.fspath(path))


def _needs_hierarchy(method: str) -> bool:
    return next(needs for name, _, needs, _ in _core.methods() if name == method)
