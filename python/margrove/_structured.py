"""What StructuredSVC does beyond the other estimators: examples that are sentences."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from margrove import _core
from margrove._base import Classifier

Self = TypeVar("Self", bound="Structured")


class Structured(Classifier):
    """Rows with label sets as in the other estimators, or sentences with a tag for each token."""

    model: str

    _weighs_rows = False

    def fit(self: Self, X: Any, y: Any) -> Self:  # type: ignore[override]
        """Trains on rows and label sets, or (model="chain") on sentences and tags.

        A sentence is a sequence of tokens, a token its text or a sequence of texts: the token and
        its columns of features, `name:number` for a feature with a value. y: a tag for each token,
        of the same lengths. Examples have no weights.
        """
        if self.model == "dependency":
            raise ValueError(
                "model is 'dependency', which is trained by the program from CoNLL-U files"
            )
        if self.model != "chain":
            return super().fit(X, y)
        _check_sentences(X)
        check_consistent_length(X, y)
        with _column_file(X, y) as path, self._callback() as callback:
            model = _core.train_file(
                self._method,
                self._options(),
                path,
                self.threads,
                self.time_limit_seconds,
                self.memory_limit,
                callback,
            )
        self._adopt(model, "sentences", np.array(model.labels), None)
        self._warn()
        return self

    def _adopt(self, model: Any, form: str, classes: Any, *rest: Any) -> None:
        super()._adopt(model, form, classes, *rest)
        self._is_chain = model.is_of_files

    def predict(self, X: Any, **how: Any) -> Any:
        """Labels of rows as in the other estimators; of sentences, a list of tags each."""
        check_is_fitted(self)
        if not self._is_chain:
            if self._form == "single" and not how:
                return self.top_k(X, 1)[0][:, 0]  # the sets may be empty or hold several
            return super().predict(X, **how)
        _check_sentences(X)
        with _column_file(X, None) as path:
            text = self.model_.predict_file(path, self.threads)
        return [block.split("\n") for block in text.rstrip("\n").split("\n\n")]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows whose labels are all right; of sentences, of tokens."""
        check_is_fitted(self)
        if not self._is_chain:
            return super().score(X, y, sample_weight)
        pairs = zip(self.predict(X), y, strict=True)
        right = [a == b for tags, truth in pairs for a, b in zip(tags, truth, strict=True)]
        return float(np.mean(right))


def _check_sentences(X: Any) -> None:
    if hasattr(X, "dtype") or not hasattr(X, "__len__"):
        raise ValueError(
            "X: it is an array, but model='chain' must have a list of sentences; for rows choose "
            "model='multilabel-field' or 'hierarchy'"
        )
    if not len(X):
        raise ValueError("X: there are no sentences")
    for number, sentence in enumerate(X):
        if isinstance(sentence, str) or not len(sentence):
            raise ValueError(f"X: sentence {number} must be a sequence of at least one token")


@contextmanager
def _column_file(X: Any, y: Any) -> Iterator[str]:
    """The sentences as the program reads them: docs/formats.md, CoNLL columns."""
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
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "sentences")
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        yield path
