"""Rows with named columns for models that were trained on CSV, TSV or JSON lines."""

import reprlib
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from margrove import _core
from margrove._unicode import require_unicode

_MISSING_NUMBERS = ("", "NA", "NaN", "nan", "null", "?")


# Texts for the extension: a list of them, or the buffers of a column of Arrow (validity, offsets,
# bytes, first row, number of rows), one tuple for each chunk.
Texts = list[str] | list[tuple[Any, ...]]


def texts_of(X: Any) -> Texts:
    """The texts of a list, a column, or a frame of one column."""
    if isinstance(X, str):
        raise ValueError("X is one text, but must be a list of texts")
    names = list(columns_of(X) or ())
    if len(names) > 1:
        raise ValueError(f"X has {len(names)} columns, but must be a list of texts or one column")
    chunks = arrow_chunks(X[names[0]] if names else X)
    if chunks is not None:
        return chunks
    texts = list(_column_of_frame(X, names[0], names) if names else X)
    if set(map(type, texts)) <= {str}:  # nearly always, and checked faster than row by row
        return texts
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise ValueError(f"X[{row}] is {text!r}, but must be a text")
    return texts


def are_texts(X: Any) -> bool:
    """Whether X is a list, an array or a column of texts alone, one for each row."""
    if columns_of(X) is not None or sp.issparse(X) or isinstance(X, str):
        return False
    if arrow_chunks(X) is not None:
        return True
    if not hasattr(X, "__len__") or len(X) == 0 or getattr(X, "ndim", 1) != 1:
        return False
    return all(isinstance(row, str) for row in X)


def advice_on_texts(X: Any, estimator: str) -> str | None:
    """What to do with X, which an estimator of numbers refused; None if it has no texts."""
    names = columns_of(X)
    if names is None and not sp.issparse(X) and hasattr(X, "__len__"):
        first = next((cell for row in X for cell in _cells(row) if isinstance(cell, str)), None)
        if first is None:
            return None
        if all(isinstance(row, str) for row in X):
            return (
                f"X has texts, such as {first[:40]!r}, but {estimator} takes rows of numbers here; "
                "fit(texts, y) takes texts, and so does what is trained by it"
            )
        return f"X has texts, such as {first[:40]!r}, {_ADVICE_ON_COLUMNS.format(estimator)}"
    for name in names or ():
        if any(isinstance(cell, str) for cell in _column_of_frame(X, name, list(names or ()))):
            return f"X: column {name!r} has texts, {_ADVICE_ON_COLUMNS.format(estimator)}"
    return None


_ADVICE_ON_COLUMNS = (
    "but {0} takes rows of numbers; make_pipeline(ColumnTransformer([...]), {0}()) takes columns "
    "of several kinds, with TextFeatures() for one of texts and OneHotEncoder() for categories"
)


def _cells(row: Any) -> Any:
    return row if isinstance(row, list | tuple | np.ndarray) else [row]


def arrow_chunks(column: Any) -> list[tuple[Any, ...]] | None:
    """The buffers of a column of text that is stored as Arrow stores it; None for others.

    Columns of PyArrow, and of pandas where it stores texts by PyArrow. Nothing is copied.
    """
    if not hasattr(column, "to_pylist"):
        inner: Any = getattr(column, "array", None)  # of pandas
        if not type(inner).__name__.startswith("Arrow"):
            return None
        column = inner.__arrow_array__()
    if str(getattr(column, "type", "")) not in ("string", "large_string"):
        return None
    offset_type = np.int64 if str(column.type) == "large_string" else np.int32
    chunks = []
    for chunk in getattr(column, "chunks", [column]):
        validity, offsets, texts = chunk.buffers()
        if offsets is None or offsets.size == 0:
            continue  # a chunk without rows may have no offsets
        chunks.append(
            (
                None if validity is None else np.frombuffer(validity, np.uint8),
                np.frombuffer(offsets, offset_type),
                np.frombuffer(texts if texts is not None else b"", np.uint8),
                chunk.offset,
                len(chunk),
            )
        )
    return chunks


def _documents(text: Sequence[str], columns: dict[str, Any]) -> list[str]:
    """The texts of each row, joined. A column that counts several times is named as often."""
    texts = [[text_of(value) for value in columns[name]] for name in text]
    return ["\n".join(filter(None, parts)) for parts in zip(*texts, strict=True)]


def documents_of(X: Any, text: Sequence[str], others: Sequence[str]) -> list[str]:
    """The texts of each row of X, joined. `others` are the other columns of the model."""
    columns = _columns_of(X, [*dict.fromkeys(text), *others])
    return _documents(text, {name: _values(columns[name]) for name in dict.fromkeys(text)})


def records_of(
    X: Any,
    text: Sequence[str],
    numeric: Sequence[str],
    categorical: Sequence[str],
    vectors: Sequence[str] = (),
) -> _core.Records:
    """The fields of X as the extension takes them: documents, numbers, categories and vectors.

    X is a frame (of pandas, Polars or PyArrow), a mapping from column names to columns, a sequence
    of mappings (one per row), or a matrix whose columns are those of text, numeric, categorical and
    vector fields in this order. Where there is one text field only, a sequence of texts will do. A
    column of vectors has a number or a list of numbers in each row, or is a matrix in a mapping.
    Further columns are ignored.

    Raises ValueError that names the column, and the row if there is one.
    """
    # A column of text that counts several times is named as often, but is one column of X.
    columns = _columns_of(X, [*dict.fromkeys(text), *numeric, *categorical, *vectors], vectors)
    lengths = {name: len(column) for name, column in columns.items()}
    num_rows = next(iter(lengths.values()))
    for name, length in lengths.items():
        if length != num_rows:
            raise ValueError(
                f"X: column {name!r} has {length} rows, but the columns before it have {num_rows}"
            )
    numbers = np.empty((len(numeric), num_rows), dtype=np.float32)
    for field, name in enumerate(numeric):
        numbers[field] = _numbers(name, _values(columns[name]))
    chunks = arrow_chunks(columns[text[0]]) if len(text) == 1 else None
    documents = chunks or _documents(text, {name: _values(columns[name]) for name in text})
    values = [
        [_category(name, row, value) for row, value in enumerate(_values(columns[name]))]
        for name in categorical
    ]
    blocks = [_vectors(name, _values(columns[name])) for name in vectors]
    widths = [block.shape[1] for block in blocks]
    joined = np.hstack(blocks) if blocks else np.empty((num_rows, 0), np.float32)
    return _core.Records(documents, numbers, values, joined, widths)


def _columns_of(X: Any, names: list[str], vectors: Sequence[str] = ()) -> dict[str, Any]:
    """The columns with these names. Those of vectors may be matrices."""
    present = columns_of(X)
    if present is not None:
        return {name: _checked_column(X, name, present, name in vectors) for name in names}
    if isinstance(X, str) or not hasattr(X, "__len__"):
        raise ValueError(f"X is {type(X).__name__}, but must be {_forms(names)}")
    if len(X) > 0 and all(isinstance(row, Mapping) for row in X):
        for number, row in enumerate(X):
            if not any(name in row for name in names):
                raise ValueError(
                    f"X: row {number} has none of the columns {_listed(names)}, but must have at "
                    "least one"
                )
        return {name: [row.get(name) for row in X] for name in names}
    if len(X) > 0 and all(isinstance(row, str) for row in X):
        if len(names) > 1:
            raise ValueError(f"X has a text per row, but must be {_forms(names)}")
        return {names[0]: list(X)}
    return _columns_of_matrix(X, names)


def columns_of(X: Any) -> list[Any] | None:
    """The names of the columns of a frame, a table of PyArrow or a mapping; None for others."""
    if isinstance(X, Mapping):
        return list(X)
    names = getattr(X, "column_names", getattr(X, "columns", None))
    return None if names is None else list(names)


def _columns_of_matrix(X: Any, names: list[str]) -> dict[str, Any]:
    if hasattr(X, "toarray"):  # sparse
        X = X.toarray()
    if not isinstance(X, np.ndarray):
        rows = [list(row) if isinstance(row, Sequence | np.ndarray) else [row] for row in X]
        X = np.empty((len(rows), len(rows[0]) if rows else len(names)), dtype=object)
        for i, row in enumerate(rows):
            if len(row) != X.shape[1]:
                raise ValueError(f"X: row {i} has {len(row)} values, but row 0 has {X.shape[1]}")
            X[i] = row
    if X.ndim != 2 or X.shape[1] != len(names):
        raise ValueError(f"X has the shape {X.shape}, but must be {_forms(names)}")
    return {name: X[:, position] for position, name in enumerate(names)}


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names))


def _forms(names: list[str]) -> str:
    return (
        f"a frame, a mapping or a list of mappings with the columns {_listed(names)}, or a matrix "
        f"with {len(names)} columns in this order"
    )


def _require_column(name: str, present: list[Any]) -> None:
    if name not in present:
        raise ValueError(f"X: it has no column {name!r}, which the model needs")


def _column_of_frame(X: Any, name: str, present: list[Any]) -> Any:
    return _values(_checked_column(X, name, present))


def _checked_column(X: Any, name: str, present: list[Any], may_be_matrix: bool = False) -> Any:
    _require_column(name, present)
    column = X[name]
    if isinstance(column, str) or not hasattr(column, "__len__"):
        raise ValueError(f"X: column {name!r} is {column!r}, but must have a value per row")
    if isinstance(column, np.ndarray) and column.ndim == 2 and may_be_matrix:
        return column
    if getattr(column, "ndim", 1) != 1:
        raise ValueError(f"X: column {name!r} occurs more than once, but must be there once")
    return column


def _values(column: Any) -> Any:
    """The cells of a column, as objects of Python unless they lie in an array of NumPy."""
    if hasattr(column, "to_pylist"):  # of PyArrow
        return column.to_pylist()
    return column if isinstance(column, np.ndarray) else list(column)


def num_rows_of(X: Any) -> int:
    """The rows of a frame, a mapping from names to columns, or a sequence of rows."""
    if isinstance(X, Mapping):
        return len(next(iter(X.values()), ()))
    return int(X.num_rows) if hasattr(X, "num_rows") else len(X)


def _is_missing(value: Any) -> bool:
    """Whether a cell is None, NaN or the missing value of pandas."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def _numbers(name: str, column: Any) -> NDArray[np.float32]:
    """A column of numbers, with NaN where they are missing."""
    if isinstance(column, np.ndarray) and column.dtype.kind in "fiub":
        exact = column.astype(np.float64)
    else:
        exact = np.array([_number(name, i, value) for i, value in enumerate(column)], np.float64)
    with np.errstate(over="ignore"):
        values = exact.astype(np.float32)
    outside = np.flatnonzero(np.isinf(values))
    if outside.size > 0:
        row = int(outside[0])
        raise ValueError(
            f"X: column {name!r} is {exact[row]} in row {row}, but must fit a 32-bit float"
        )
    return values


def _number(name: str, row: int, value: Any) -> float:
    if _is_missing(value) or (isinstance(value, str) and value.strip() in _MISSING_NUMBERS):
        return np.nan
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if np.isnan(number):
        raise ValueError(
            f"X: column {name!r} is {value!r} in row {row}, but must be a number, or empty "
            "where it is missing"
        )
    return number


def _vectors(name: str, column: Any) -> NDArray[np.float32]:
    """A column of numbers or lists of numbers, as a matrix."""
    if isinstance(column, np.ndarray) and column.dtype.kind in "fiub":
        exact = column.astype(np.float64, copy=False).reshape(len(column), -1)
    else:
        cells = [_vector(name, row, value) for row, value in enumerate(column)]
        for row, cell in enumerate(cells):
            if len(cell) != len(cells[0]):
                raise ValueError(
                    f"X: column {name!r} has {len(cell)} numbers in row {row}, but must have "
                    f"{len(cells[0])} as in the first row"
                )
        exact = np.array(cells) if cells else np.empty((0, 0))
    with np.errstate(over="ignore"):
        values = exact.astype(np.float32)
    if not np.isfinite(values).all():
        row, number = np.argwhere(~np.isfinite(values))[0].tolist()
        _refuse_number(name, row, float(exact[row, number]))
    return values


def _vector(name: str, row: int, value: Any) -> NDArray[np.float64]:
    try:
        vector = np.atleast_1d(np.asarray(value, np.float64))
    except (TypeError, ValueError):
        cells = [value] if isinstance(value, str) or not hasattr(value, "__iter__") else value
        _refuse_number(name, row, next((cell for cell in cells if not _is_number(cell)), value))
    if value is None or vector.ndim != 1 or len(vector) == 0:
        raise ValueError(
            f"X: column {name!r} has no number in row {row}, but must have one or a list of them; "
            "vectors have no gaps"
        )
    return vector


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _refuse_number(name: str, row: int, value: Any) -> NoReturn:
    fits = isinstance(value, float) and np.isfinite(value)
    wanted = "fit a 32-bit float" if fits else "be a finite number; vectors have no gaps"
    raise ValueError(f"X: column {name!r} is {reprlib.repr(value)} in row {row}, but must {wanted}")


def text_of(value: Any) -> str:
    """A cell as text. The texts of a list are joined."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple | np.ndarray):
        return "\n".join(map(text_of, value))
    if _is_missing(value):
        return ""
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"  # as in JSON lines
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))  # a column of whole numbers, of which some are missing
    return str(value)


def _category(name: str, row: int, value: Any) -> str | None:
    if isinstance(value, list | tuple | np.ndarray):
        raise ValueError(f"X: column {name!r} has a list, {value!r}, but must have one value")
    text = text_of(value).strip()
    require_unicode(text, f"X: column {name!r} in row {row}")
    return text or None
