"""The columns of frames that estimators take as texts, numbers, categories and label paths."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from margrove import _core
from margrove._labels import Targets, targets_of_paths
from margrove._options import option_text
from margrove._records import Texts, columns_of, num_rows_of, records_of, text_of, texts_of
from margrove._text import term_options, warn_of_empty
from margrove._types import Csr, TermOptions

MOST_COUNTED = 100  # times that a column of text may count, as in the program


class Selection(NamedTuple):
    """The columns of a model, in the form of the extension."""

    text: list[str] = []  # noqa: RUF012 # never changed; a column is named as often as it counts
    numeric: list[str] = []  # noqa: RUF012
    categorical: list[str] = []  # noqa: RUF012
    label: str = ""
    path_levels: list[str] = []  # noqa: RUF012
    path: str = ""
    separator: str = " > "
    vectors: list[str] = []  # noqa: RUF012

    @property
    def features(self) -> tuple[list[str], list[str], list[str], list[str]]:
        """Text, numbers, categories and vectors."""
        return self.text, self.numeric, self.categorical, self.vectors

    @property
    def path_columns(self) -> list[str]:
        """The columns of the labels' paths."""
        return self.path_levels or ([self.path] if self.path else [])


def selection_of(
    text: Any, numeric: Any, categorical: Any, vector_columns: Any, path: Any, separator: str
) -> Selection | None:
    """The selection of an estimator's parameters; None if they name no column."""
    if all(columns is None for columns in (text, numeric, categorical, vector_columns, path)):
        return None
    levels = [] if path is None or isinstance(path, str) else _names("path", path)
    selection = Selection(
        _counted(text),
        _names("numeric", numeric),
        _names("categorical", categorical),
        path_levels=levels,
        path=path if isinstance(path, str) else "",
        separator=separator,
        vectors=_names("vector_columns", vector_columns),
    )
    if not any(selection.features):
        raise ValueError(
            "path names the labels, but one of text, numeric, categorical and vector_columns must "
            "name the features; numeric='*' takes all other columns"
        )
    return selection


def parameters_of(selection: Selection) -> dict[str, Any]:
    """The parameters of an estimator that selection_of() turns into the selection."""
    text: Any = list(dict.fromkeys(selection.text))
    if len(text) < len(selection.text):
        text = {name: selection.text.count(name) for name in text}
    return {
        "text": text[0] if isinstance(text, list) and len(text) == 1 else text or None,
        "numeric": selection.numeric or None,
        "categorical": selection.categorical or None,
        "vector_columns": selection.vectors or None,
        "path": selection.path_levels or selection.path or None,
        "separator": selection.separator,
    }


def _names(parameter: str, given: Any) -> list[str]:
    """One name or a sequence of names, without repetitions."""
    if given is None:
        return []
    if not isinstance(given, str | Iterable):
        raise ValueError(f"{parameter} is {given!r}, but must be a name of a column or several")
    names = [given] if isinstance(given, str) else list(given)
    for position, name in enumerate(names):
        if not isinstance(name, str) or not name:
            raise ValueError(f"{parameter} has {name!r}, but must have names of columns")
        if name in names[:position]:
            raise ValueError(f"{parameter} has {name!r} twice")
    return names


def _counted(text: Any) -> list[str]:
    if not isinstance(text, Mapping):
        return _names("text", text)
    for name, count in text.items():
        if not isinstance(count, int | np.integer) or not 1 <= count <= MOST_COUNTED:
            raise ValueError(
                f"text: {name!r} counts {count!r} times, but must count a whole number of times "
                f"from 1 to {MOST_COUNTED}"
            )
    return [name for name in _names("text", text) for _ in range(text[name])]


@dataclass(frozen=True)
class SourceRows:
    """The rows of a fit before they are numbers: fields, and `features`, fitted on these."""

    text_options: list[tuple[str, str]]
    stop_words: list[str]

    def term_arguments(self) -> dict[str, Any]:
        """What _core.choose takes beside rows(), of which it fits features of parts."""
        return {"text_options": self.text_options, "stop_words": self.stop_words}


@dataclass(frozen=True)
class RecordRows(SourceRows):
    """The rows of a fit, as columns."""

    records: _core.Records
    selection: Selection
    features: _core.FittedRecords  # of these rows

    def rows(self) -> _core.Rows:
        return _core.Rows(self.records, self.selection)

    def training_arguments(self) -> dict[str, Any]:
        """What _core.train takes beside the numbers that the features make of the rows."""
        return {"records": self.features}


@dataclass(frozen=True)
class TextRows(SourceRows):
    """The rows of a fit, as texts."""

    documents: Texts
    features: _core.FittedText

    def rows(self) -> _core.Rows:
        return _core.Rows(self.documents)

    def training_arguments(self) -> dict[str, Any]:
        return {"texts": self.features}


# Chooses the options of terms, where a search is to do so, for the rows that the function makes.
ChooseTerms = Callable[[Callable[[], _core.Rows], TermOptions], TermOptions]


def text_rows(X: Any, text_features: Any, choose: ChooseTerms) -> tuple[TextRows, Csr]:
    """The texts of X, and the weights of their terms. text_features: as of record_rows()."""
    texts = texts_of(X)
    options = term_options(text_features)
    options = choose(lambda: _core.Rows(texts), options)
    features, weights = _core.FittedText.fit_and_apply(texts, *options)
    warn_of_empty(features.num_rows_without_terms, stacklevel=5)
    return TextRows(*options, texts, features), weights


def _with_share(options: TermOptions, selection: Selection, share: float | None) -> TermOptions:
    """The options of terms with the share of a vector of columns; None: the default."""
    if not selection.vectors:
        if share is not None:
            raise ValueError("vector_share is given, but vector_columns names no column")
        return options
    values, stop_words = options
    if share is not None and not any(selection.features[:3]):
        raise ValueError(
            "vector_share is given, but there are no features beside those of vector_columns"
        )
    if dict(values).get("vector_share", _DEFAULT_SHARE) != _DEFAULT_SHARE:
        raise ValueError(
            "vector_share of text_features is for its own vectors; that of the estimator is for "
            "vector_columns"
        )
    values = [(name, value) for name, value in values if name != "vector_share"]
    given = [] if share is None else [("vector_share", option_text(share))]
    return values + given, stop_words


_DEFAULT_SHARE = next(
    default for name, _, default, *_ in _core.text_options() if name == "vector_share"
)


def record_rows(
    X: Any,
    selection: Selection,
    text_features: Any,
    vector_share: float | None,
    label: Any,
    choose: ChooseTerms,
) -> tuple[RecordRows, Csr]:
    """The selected columns of X, with those of X in place of patterns, and numbers made of them.

    text_features: None or a TextFeatures with the options of terms. label: the name of y, which the
    model keeps so that the program finds the labels of a file.
    """
    options = term_options(text_features)
    if text_features is not None and not selection.text:
        raise ValueError("text_features is given, but text names no column")
    options = _with_share(options, selection, vector_share)
    selection = _of_frame(selection, X, label)
    records = records_of(X, *selection.features)
    if selection.text:
        options = choose(lambda: _core.Rows(records, selection), options)
    features, numbers = _core.FittedRecords.fit_and_apply(records, selection, *options)
    warn_of_empty(features.num_rows_without_terms, stacklevel=4)
    return RecordRows(*options, records, selection, features), numbers


def record_rows_for_kernel(
    X: Any, selection: Selection, label: Any, model: _core.Model, name: str
) -> tuple[RecordRows, Csr]:
    """As record_rows(), with the features of a kernel model, which must have the same columns."""
    selection = _of_frame(selection, X, label)
    records = records_of(X, *selection.features)
    features, numbers = _core.FittedRecords.of_kernel_model(model, name, records, selection)
    return RecordRows([], [], records, selection, features), numbers


def _of_frame(selection: Selection, X: Any, label: Any) -> Selection:
    """The selection with the name of y, and with columns of X in place of patterns."""
    if not selection.path_columns and isinstance(label, str):
        selection = selection._replace(label=label)
    names = columns_of(X)
    if names is not None:
        texts = [name for name in names if isinstance(name, str)]
        text, numeric, categorical, vectors = _core.expand_columns(selection, texts)
        selection = selection._replace(
            text=text, numeric=numeric, categorical=categorical, vectors=vectors
        )
    return selection


def paths_in(X: Any, selection: Selection, *, by_name: bool) -> Targets:
    """The paths in the path columns of X as labels: see targets_of_paths()."""
    levels = []
    for name in selection.path_columns:
        column = _column(X, name)
        levels.append([text_of(cell).strip() for cell in column])
    if selection.path:
        return targets_of_texts(levels[0], selection.separator, by_name=by_name)
    cells = np.empty((num_rows_of(X), len(levels)), dtype=object)
    for level, column in enumerate(levels):
        cells[:, level] = column
    return targets_of_paths(cells, selection.separator, by_name=by_name)


def targets_of_texts(texts: Sequence[str], separator: str, *, by_name: bool) -> Targets:
    """Labels from texts of paths; predictions get the same form."""
    if separator == "" or "\\" in separator:
        raise ValueError(
            f"separator is {separator!r}, but must have a character, and no backslash, which "
            "escapes it in names"
        )
    paths = [_core.split_path(text, separator) if text else [] for text in texts]
    targets = targets_of_paths(paths, separator, by_name=by_name)
    assert targets.path_form is not None
    return replace(targets, path_form=replace(targets.path_form, separator=separator))


def _column(X: Any, name: str) -> Any:
    names = columns_of(X)
    if names is None:
        if all(isinstance(row, Mapping) for row in X):
            return [row.get(name) for row in X]
        raise ValueError(f"X has no named columns, but path names the column {name!r}")
    if name not in names:
        raise ValueError(f"X: it has no column {name!r}, which path names")
    column = X[name]
    return column.to_pylist() if hasattr(column, "to_pylist") else column


def names_array(selection: Selection) -> NDArray[Any]:
    """The columns of features as scikit-learn keeps their names."""
    return np.array(list(dict.fromkeys(chain(*selection.features))), dtype=object)
