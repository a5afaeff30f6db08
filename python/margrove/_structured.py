"""StructuredSVC on examples that are not rows."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from margrove import _core
from margrove._base import Classifier
from margrove._options import option_text
from margrove._progress import keeping

Self = TypeVar("Self", bound="Structured")


class _OutputType(NamedTuple):
    """A line of the library's registry of the types of output."""

    name: str
    summary: str
    form: str  # of the examples: "rows", "tagged-tokens" or "file"
    file_format: str  # of a file of examples; empty for rows
    options: list[str]  # that only this type has


_OUTPUT_TYPES = {fields[0]: _OutputType(*fields) for fields in _core.output_types()}


class Structured(Classifier):
    """Learns from rows with label sets, or from sentences with a tag for each token."""

    model: str

    _weighs_rows = False

    def fit(self: Self, X: Any, y: Any) -> Self:  # type: ignore[override]
        """Trains on rows and label sets, or (model="chain") on sentences and tags.

        A sentence is a sequence of tokens. A token is a text or a sequence of texts: the token and
        its features, `name:number` for a feature with a value. y: a sequence of tags per sentence,
        one per token. Examples have no weights.
        """
        output = _OUTPUT_TYPES.get(self.model)
        if output is None or output.form == "rows":  # the library refuses unknown names
            return super().fit(X, y)
        with _file_of(output, X, y) as path, keeping(self.progress) as self._kept:
            model = _core.train_file(
                self._method,
                self._options(),
                path,
                self.threads,
                self.time_limit_seconds,
                self.memory_limit,
                self._kept.callback,
            )
        self._adopt(model, "sentences", np.array(model.labels), None)
        self._raise_kept()
        self._warn()
        return self

    def _options(self) -> dict[str, str]:
        """Without the options of other types of output, unless one was changed."""
        defaults = self._defaults()
        others = {
            option
            for output in _OUTPUT_TYPES.values()
            if output.name != self.model
            for option in output.options
        }
        return {
            name: text
            for name, text in super()._options().items()
            if name not in others or text != option_text(defaults[name])
        }

    def _adopt(self, model: Any, form: str, classes: Any, *rest: Any) -> None:
        super()._adopt(model, form, classes, *rest)
        self._output = _OUTPUT_TYPES[model.options["model"]]

    def predict(self, X: Any, **how: Any) -> Any:
        """Labels of rows as in the other estimators; for sentences, a list of tags each."""
        check_is_fitted(self)
        if self._output.form == "rows":
            if self._form == "single" and not how:
                return self.top_k(X, 1)[0][:, 0]  # the sets may be empty or hold several
            return super().predict(X, **how)
        with _file_of(self._output, X, None) as path:
            text = self.model_.predict_file(path, self.threads)
        return [block.split("\n") for block in text.rstrip("\n").split("\n\n")]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows with right labels; for sentences, the share of right tokens."""
        check_is_fitted(self)
        if self._output.form == "rows":
            return super().score(X, y, sample_weight)
        pairs = zip(self.predict(X), y, strict=True)
        right = [a == b for tags, truth in pairs for a, b in zip(tags, truth, strict=True)]
        return float(np.mean(right))


@contextmanager
def _file_of(output: _OutputType, X: Any, y: Any) -> Iterator[str]:
    """A file of the examples for the library; y is None for prediction."""
    if output.form not in _WRITERS:
        done = "predicted" if y is None else "trained"
        raise ValueError(
            f"model is {output.name!r}, which is {done} by the program from "
            f"{output.file_format} files"
        )
    text = _WRITERS[output.form](output, X, y)
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "examples")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        yield path


def _columns(output: _OutputType, X: Any, y: Any) -> str:
    """Sentences of tokens in columns: docs/formats.md, CoNLL columns."""
    _check_sentences(output, X)
    if y is not None:
        check_consistent_length(X, y)
    lines = []
    for number, sentence in enumerate(X):
        tags = None if y is None else list(y[number])
        if tags is not None and len(tags) != len(sentence):
            raise ValueError(
                f"y: sentence {number} has {len(tags)} tags, but must have {len(sentence)}"
            )
        for k, token in enumerate(sentence):
            columns = [token] if isinstance(token, str) else list(token)
            if tags is not None:
                columns.append(str(tags[k]))
            if any(not column or not {"\t", "\n", "\r"}.isdisjoint(column) for column in columns):
                raise ValueError(
                    f"sentence {number}, token {k}: it is {columns}, but must be texts without "
                    "tabs and line ends"
                )
            lines.append("\t".join(columns))
        lines.append("")
    return "\n".join(lines) + "\n"


def _check_sentences(output: _OutputType, X: Any) -> None:
    if hasattr(X, "dtype") or not hasattr(X, "__len__"):
        of_rows = [repr(other.name) for other in _OUTPUT_TYPES.values() if other.form == "rows"]
        raise ValueError(
            f"X: it is an array, but model={output.name!r} must have a list of sentences; for rows "
            f"choose model={' or '.join(of_rows)}"
        )
    if not len(X):
        raise ValueError("X: there are no sentences")
    for number, sentence in enumerate(X):
        if isinstance(sentence, str) or not len(sentence):
            raise ValueError(f"X: sentence {number} must be a sequence of at least one token")


# Functions that write examples in memory to a file, by the form of the examples.
_WRITERS = {"tagged-tokens": _columns}
