"""How estimators take rows and labels: arrays, texts, or columns of frames."""

from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from margrove import _core
from margrove._arrays import csr_of, merge_equal_rows, require_finite
from margrove._class_weights import weigh_by_class
from margrove._columns import (
    RecordRows,
    Selection,
    TextRows,
    names_array,
    paths_in,
    record_rows,
    record_rows_for_kernel,
    selection_of,
    targets_of_texts,
    text_rows,
)
from margrove._kernel_models import KernelModel, kernel_model_of
from margrove._labels import PathForm, Targets, may_be_plural, read_targets, rows_with_labels
from margrove._records import (
    advice_on_texts,
    are_texts,
    documents_of,
    num_rows_of,
    records_of,
    texts_of,
)
from margrove._terms import TermSearch
from margrove._types import Csr, Sets
from margrove.hierarchy import Hierarchy


class Rows:
    """Checks and converts X and y."""

    _weighs_rows = True  # whether the method takes row weights
    _has_path_ids = False  # whether the nodes of a model from a file are named by their paths

    # Of the estimators that take columns of frames.
    text: Any = None
    numeric: Any = None
    categorical: Any = None
    vector_columns: Any = None
    vector_share: float | None = None
    path: Any = None
    separator: str = " > "
    text_features: Any = None

    if TYPE_CHECKING:
        hierarchy: Any
        hierarchy_: Hierarchy | None
        class_weight: Any
        model_: _core.Model
        _path_form: PathForm | None
        terms_: list[dict[str, Any]]  # the candidates of a search for terms
        _seconds_of_terms: float
        _source_rows: RecordRows | TextRows  # while fit runs, of columns and texts
        _kernel: KernelModel  # while fit runs, of kernel_model
        kernel_model: Any

    # In fit ---------------------------------------------------------------------------------------

    def _check(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[Targets, Any]:
        """The labels, and X as a matrix of numbers. A search for terms uses the weights."""
        for of_earlier_fit in ("_source_rows", "_kernel", "terms_", "_seconds_of_terms"):
            self.__dict__.pop(of_earlier_fit, None)
        kernel = kernel_model_of(self.kernel_model)
        if kernel is not None:
            self._kernel = kernel
            return self._check_for_kernel(X, y, *kernel)
        selection = self._selection()
        if selection is not None:
            return self._check_columns(X, y, selection, sample_weight)
        if self.vector_share is not None:
            raise ValueError("vector_share is given, but vector_columns names no column")
        if are_texts(X):
            return self._check_texts(X, y, sample_weight)
        if self.text_features is not None:
            raise ValueError(
                "text_features is given, but X has no texts, and text names no column with some"
            )
        self._require_labels(y)
        has_missing = rows_with_labels(y) is not None
        targets = self._targets(y) if has_missing or may_be_plural(y) else None
        if targets is not None and (has_missing or targets.form != "single"):
            X = self._numbers(X)
            if X.shape[0] != targets.num_rows:
                check_consistent_length(X, y)
            return targets, X
        X, y = self._numbers(X, y)
        return read_targets(y), X

    def _check_for_kernel(
        self, X: Any, y: Any, model: _core.Model, name: str
    ) -> tuple[Targets, Any]:
        """The labels, and X in the preprocessing of the model, whose kernel takes it."""
        for option in ("text_features", "vector_share"):
            if getattr(self, option) is not None:
                raise ValueError(
                    f"{option} is given, but rows get the preprocessing of kernel_model {name}"
                )
        selection = self._selection()
        if selection is not None:
            targets = self._targets_beside(X, y, selection)
            label = getattr(y, "name", None)
            return self._adopt_columns(
                X, y, targets, *record_rows_for_kernel(X, selection, label, model, name)
            )
        if model.record_selection is not None:
            taken = ", ".join(chain(*Selection(*model.record_selection).features))
            raise ValueError(
                f"kernel_model {name} takes the columns {taken}, which text, numeric, "
                "categorical and vector_columns must name"
            )
        self._require_labels(y)
        targets = self._targets(y)
        if model.preprocessing == "text-tfidf":
            rows = model.preprocess(texts_of(X), kernel_features=False)
            self.n_features_in_ = rows[0]
        else:
            rows = self._for_kernel(self._numbers(X), model, name)
        if len(rows[1]) - 1 != targets.num_rows:
            check_consistent_length(X, y)
        num_columns, pointers, columns, values = rows
        return targets, sp.csr_array((values, columns, pointers), (targets.num_rows, num_columns))

    def _for_kernel(self, X: Any, model: _core.Model, name: str) -> Csr:
        """Rows of numbers in the preprocessing of the model."""
        if X.shape[1] != model.num_features:
            raise ValueError(
                f"X has {X.shape[1]} features, but kernel_model {name} takes {model.num_features}"
            )
        return model.preprocess(csr_of(X), kernel_features=False)

    def _selection(self) -> Selection | None:
        return selection_of(
            self.text,
            self.numeric,
            self.categorical,
            self.vector_columns,
            self.path,
            self.separator,
        )

    def _require_labels(self, y: Any) -> None:
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y "
                "is None."
            )

    def _targets_beside(self, X: Any, y: Any, selection: Selection) -> Targets:
        """The labels: y, or the paths in columns of X."""
        if selection.path_columns and y is not None:
            raise ValueError(
                "path names columns of X with the labels, but y is given, too; fit(X) takes the "
                "paths, path=None takes y"
            )
        if selection.path_columns:
            return paths_in(X, selection, by_name=self._names_nodes())
        self._require_labels(y)
        return self._targets(y)

    def _check_columns(
        self, X: Any, y: Any, selection: Selection, sample_weight: Any
    ) -> tuple[Targets, Any]:
        targets = self._targets_beside(X, y, selection)
        choose = TermSearch(self, targets, sample_weight)
        label = getattr(y, "name", None)
        rows, numbers = record_rows(
            X, selection, self.text_features, self.vector_share, label, choose
        )
        return self._adopt_columns(X, y, targets, rows, numbers)

    def _adopt_columns(
        self, X: Any, y: Any, targets: Targets, rows: RecordRows, numbers: Csr
    ) -> tuple[Targets, Any]:
        """The labels, and the numbers that were made of columns of X."""
        if num_rows_of(X) != targets.num_rows:
            check_consistent_length(np.empty(num_rows_of(X)), y)
        self._source_rows = rows
        self.feature_names_in_ = names_array(rows.selection)
        self.n_features_in_ = len(self.feature_names_in_)
        num_columns, pointers, columns, values = numbers
        return targets, sp.csr_array((values, columns, pointers), (targets.num_rows, num_columns))

    def _check_texts(self, X: Any, y: Any, sample_weight: Any) -> tuple[Targets, Any]:
        self._require_labels(y)
        targets = self._targets(y)
        choose = TermSearch(self, targets, sample_weight)
        rows, (num_columns, pointers, columns, values) = text_rows(X, self.text_features, choose)
        if len(pointers) - 1 != targets.num_rows:
            check_consistent_length(X, y)
        self._source_rows = rows
        self.n_features_in_ = num_columns
        return targets, sp.csr_array((values, columns, pointers), (targets.num_rows, num_columns))

    def _numbers(self, *data: Any, **how: Any) -> Any:
        """validate_data() for rows of numbers; of texts, the error says what takes them.

        Numbers that are not finite are refused in the words of the program.
        """
        try:
            checked = validate_data(
                self,
                *data,
                accept_sparse="csr",
                dtype=np.float32,
                ensure_all_finite=False,
                **how,
            )
        except ValueError as error:
            advice = advice_on_texts(data[0], type(self).__name__)
            if advice is None:
                raise
            raise ValueError(advice) from error
        require_finite(checked[0] if isinstance(checked, tuple) else checked, "X: ")
        return checked

    def _targets(self, y: Any) -> Targets:
        """Labels as numbers. The nodes of paths are names in a given hierarchy, otherwise paths."""
        return read_targets(y, paths_by_name=self._names_nodes())

    def _names_nodes(self) -> bool:
        return self.hierarchy is not None and not self._has_path_ids

    def _labels_of(self, X: Any, y: Any) -> Targets:
        """The labels of rows for a fitted model: y, or the path columns of X where y is None."""
        selection = self._selection() if y is None else None
        if selection is not None and selection.path_columns:
            return paths_in(X, selection, by_name=self._names_nodes())
        self._require_labels(y)
        form = self._path_form
        if form is None or form.separator is None or may_be_plural(y):
            return self._targets(y)
        texts = [str(text) for text in y]
        return targets_of_texts(texts, form.separator, by_name=self._names_nodes())

    def _weighted(
        self, X: Any, sets: Sets, classes: NDArray[Any], sample_weight: Any
    ) -> tuple[Csr, Sets, NDArray[np.float64] | None]:
        """Rows for training; equal rows are merged if the method takes row weights."""
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
        if not self._weighs_rows:
            return csr_of(X), sets, weights
        weights = weigh_by_class(self.class_weight, sets, classes, weights)
        return merge_equal_rows(csr_of(X), sets, weights)

    # After fit ------------------------------------------------------------------------------------

    def _rows(self, X: Any) -> Csr:
        """X, checked and preprocessed for the model."""
        check_is_fitted(self)
        selection = self.model_.record_selection
        if selection is not None:
            records = records_of(X, *Selection(*selection).features)
            return self.model_.preprocess(records)
        if self.model_.preprocessing == "text-tfidf":
            return self.model_.preprocess(texts_of(X))
        rows = csr_of(self._numbers(X, reset=False))
        return rows if self.model_.keeps_rows else self.model_.preprocess(rows)

    def _texts(self, X: Any) -> list[str]:
        """The texts of X as the model reads them; none if its rows have no text."""
        selection = self.model_.record_selection
        if selection is not None:
            text, *others = Selection(*selection).features
            return documents_of(X, text, [*chain(*others)]) if text else []
        return list(X) if self.model_.preprocessing == "text-tfidf" else []

    def _sets_of(self, X: Any, y: Any) -> tuple[Csr, Sets]:
        """Rows and their labels, numbered as in the model; unknown labels get further numbers."""
        targets = self._labels_of(X, y).as_nodes(self.hierarchy_)
        number = {name: label for label, name in enumerate(self.model_.labels)}
        of_class = np.array(
            [number.get(str(label), len(number) + k) for k, label in enumerate(targets.classes)],
            dtype=np.uint32,
        )
        rows = self._rows(X)
        if len(rows[1]) - 1 != targets.num_rows:
            check_consistent_length(X, y)
        return rows, (targets.pointers, of_class[targets.positions])
