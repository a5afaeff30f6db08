"""StructuredSVC on examples that are not rows."""

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Set
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from margrove import _core
from margrove._base import Classifier
from margrove._labels import classes_of, is_missing
from margrove._options import option_text
from margrove._progress import keeping
from margrove._trainer import require_no_shards
from margrove._unicode import require_unicode
from margrove.explanation import SentenceExplanation

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
    """Learns from rows with label sets, from sentences with a tag for each token, or from sentences
    with a head and a relation for each word."""

    model: str

    _weighs_rows = False

    _started: _core.Model | None = None  # the start of a training that runs

    def fit(  # type: ignore[override]
        self: Self, X: Any, y: Any = None, *, start: Any = None
    ) -> Self:
        """Trains on rows and label sets, on sentences and tags, or on sentences and trees.

        model="chain": a sentence is a sequence of tokens. A token is a text or a sequence of texts:
        the token and its features, `name:number` for a feature with a value; or a dict of features:
        texts, numbers (a feature with this value; 0, False, None and a key that is not there give
        none), and True (a feature with the value 1). y: a sequence of tags per sentence, one per
        token, texts or numbers, which `predict` returns as they are.

        model="dependency": a word is a text or a sequence of up to five texts, as in CoNLL-U: form,
        lemma, part of speech, finer part of speech, morphology. y: per sentence, a pair (head,
        relation) for each word; heads are counted from 1, and 0 is the root.

        Examples have no weights.

        start: a model whose weights training starts from: a fitted StructuredSVC or the path of a
        model file (not for model="hierarchy"). sgd begins at them; the other solvers begin with the
        labellings that violate them most.
        """
        self._started = _model_of(start)
        try:
            return self._fit(X, y)
        finally:
            del self._started

    def _continuation(self) -> dict[str, Any]:
        return {} if self._started is None else {"start_weights": self._started}

    def _fit(self: Self, X: Any, y: Any = None) -> Self:
        output = _OUTPUT_TYPES.get(self.model)
        if output is None or output.form == "rows":  # the library refuses unknown names
            return super().fit(X, y)
        if self._selection() is not None:
            raise ValueError(
                "text, numeric, categorical, vector_columns and path are for rows, but "
                f"model={self.model!r} takes {output.form}"
            )
        if self.unlabelled != "auto":
            raise ValueError(
                f"unlabelled is {self.unlabelled!r}, which is for rows, but model={self.model!r} "
                f"takes {output.form}"
            )
        require_no_shards(f"method {self._method}")
        self._require_labels(y)
        X, y = _listed(X), _listed(y)
        keys = _keys_of(X) if output.name == "chain" else None
        answers: dict[str, Any] = {}
        sentences = _sentences_of(output, X, y, keys, answers)
        with keeping(self.progress) as self._kept:
            model = _core.train_sentences(
                self._method,
                self._options(),
                sentences,
                self.threads,
                self.time_limit_seconds,
                self.memory_limit,
                self._kept.callback,
                self._started,
                keys,
            )
        given = [answers.get(name, name) for name in model.labels]
        self._adopt(model, "sentences", classes_of(given), None)
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
        """Labels of rows as in the other estimators; for sentences, a list each: of tags, or of
        pairs (head, relation)."""
        check_is_fitted(self)
        if self._output.form == "rows":
            if self._form == "single" and not how:
                return self.top_k(X, 1)[0][:, 0]  # the sets may be empty or hold several
            return super().predict(X, **how)
        sentences = self.model_.predict_sentences(self._sentences(X), self.threads)
        answer = {str(label): label for label in self.classes_.tolist()}
        if self._output.name != "dependency":
            return [[answer[tag] for (tag,) in sentence] for sentence in sentences]
        return [[(int(head), answer[name]) for head, name in sentence] for sentence in sentences]

    def _sentences(self, X: Any, y: Any = None) -> list[list[list[str]]]:
        """The columns of all tokens, with the answers of y behind them."""
        X, y = _listed(X), _listed(y)
        keys = _keys_of(X) if self._output.name == "chain" else None
        if (keys is None) != (self.model_.token_keys is None):
            raise ValueError(_wrong_tokens(keys))
        return _sentences_of(self._output, X, y, self.model_.token_keys, {})

    def evaluate(self, X: Any, y: Any) -> dict[str, float]:
        """The metrics of sentences by their names, the same as those of `margrove evaluate`.

        For tags token_accuracy and sentence_accuracy and, where the tags are spans (BIO, BIOES,
        BILOU), span_precision, span_recall and span_f1; for dependency trees uas and las, the
        shares of words with the right head, and with the right head and relation. X and y are as
        in fit. `margrove.metrics` has the metrics of rows.
        """
        check_is_fitted(self)
        if self._output.form == "rows":
            raise ValueError(
                f"evaluate is for sentences, but model={self.model!r} takes rows, whose metrics "
                "margrove.metrics has"
            )
        self._require_labels(y)
        values, messages = self.model_.evaluate_sentences(self._sentences(X, y), self.threads)
        for message in messages:
            warnings.warn(message, UserWarning, stacklevel=2)
        return values

    def _explained(
        self, X: Any, label: Any, num_features: int, given: list[str] | None
    ) -> list[Any]:
        check_is_fitted(self)
        if self._output.form == "rows":
            return super()._explained(X, label, num_features, given)
        if label is not None:
            raise ValueError(
                f"label is {label!r}, which is for rows, but the estimator is fitted on sentences"
            )
        return [
            SentenceExplanation.of(self.model_.explain_sentence(sentence, num_features))
            for sentence in self._sentences(X)
        ]

    def _rows(self, X: Any) -> Any:
        check_is_fitted(self)
        if self._output.form != "rows":
            raise ValueError(
                "the estimator is fitted on sentences, which predict, evaluate, score and explain "
                "take, and not on rows"
            )
        return super()._rows(X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The share of rows with right labels; for sentences, the share of tokens with the right
        tag, or with the right head and relation."""
        check_is_fitted(self)
        if self._output.form == "rows":
            return super().score(X, y, sample_weight)
        X, y = _listed(X), _listed(y)
        for _ in _answered(self._output, X, y, "answers"):
            pass  # refuses other lengths
        pairs = zip(self.predict(X), y, strict=True)
        read = _arc if self._output.name == "dependency" else _text
        right = [
            read(a) == read(b) for tags, truth in pairs for a, b in zip(tags, truth, strict=True)
        ]
        return float(np.mean(right))


def _listed(values: Any) -> Any:
    """The list that a Series or an array of objects holds; anything else as it is."""
    if hasattr(values, "to_list"):
        return values.to_list()
    is_array = isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype == object
    return list(values) if is_array else values


def _sentences_of(
    output: _OutputType, X: Any, y: Any, keys: list[str] | None, answers: dict[str, Any]
) -> list[list[list[str]]]:
    """The columns of all tokens as the library takes them; y is None for prediction. keys: of the
    dicts that are tokens. The tags or relations of y are added to `answers` by their texts."""
    if output.name not in _FORMS:
        done = "predicted" if y is None else "trained"
        raise ValueError(
            f"model is {output.name!r}, which is {done} by the program from "
            f"{output.file_format} files"
        )
    form = _FORMS[output.name]
    sentences = []
    for number, sentence, truth in _answered(output, X, y, f"{form.answer}s"):
        tokens = []
        for k, token in enumerate(sentence):
            place = f"sentence {number}, {form.token} {k}"
            columns = form.columns(token, keys, place)
            if truth is not None:
                columns += form.answer_columns(truth[k], place, answers)
            for column in columns:
                require_unicode(column, f"{place}: a text")
            tokens.append(columns)
        sentences.append(tokens)
    return sentences


def _model_of(start: Any) -> _core.Model | None:
    """The model that training starts from."""
    if start is None:
        return None
    if isinstance(start, str | os.PathLike):
        return _core.Model.load(os.fspath(start))
    model = getattr(start, "model_", None)
    if not isinstance(model, _core.Model):
        raise TypeError(
            f"start is of type {type(start).__name__}, but must be a fitted estimator of the "
            "package or the path of a model file"
        )
    return model


def _arc(*pair: Any) -> tuple[int, str]:
    """(head, relation) of a pair, given as two arguments or as one."""
    head, relation = pair if len(pair) == 2 else pair[0]
    return _head_of(head, "a word"), str(relation)


def _text(tag: Any) -> str:
    return str(tag)


def _add_answer(answers: dict[str, Any], answer: Any, place: str, what: str) -> str:
    """The text of a tag or relation. Raises ValueError if it is missing, or if another one has its
    text."""
    plain = answer.item() if isinstance(answer, np.generic) else answer
    if is_missing(plain):
        raise ValueError(f"y: {place}: the {what} is {answer!r}, but must be there")
    if not isinstance(plain, str | bool | int | float):
        raise ValueError(
            f"y: {place}: the {what} is {answer!r}, but must be a text, a number or a bool"
        )
    require_unicode(plain, f"y: {place}: the {what}")
    other = answers.setdefault(str(plain), plain)
    if type(other) is not type(plain):
        raise ValueError(
            f"y: {place}: the {what} is {plain!r}, and there is {other!r}, but {what}s must have "
            "different texts"
        )
    return str(plain)


def _keys_of(X: Any) -> list[str] | None:
    """The keys of all tokens, ascending, if the first token is a dict; otherwise None."""
    if hasattr(X, "dtype") or not hasattr(X, "__len__") or not len(X):
        return None  # refused later
    first = next(
        (token for sentence in X if not isinstance(sentence, str) for token in sentence), 0
    )
    if not isinstance(first, Mapping):
        return None
    return sorted(
        {
            str(key)
            for sentence in X
            for token in sentence
            if isinstance(token, Mapping)
            for key in token
        }
    )


def _wrong_tokens(keys: list[str] | None) -> str:
    if keys is None:
        return "X: tokens are no dicts, but must be as in fit"
    return "X: tokens are dicts, but must be texts or sequences of texts, as in fit"


_LARGEST_FLOAT = float(np.finfo(np.float32).max)


def _cells_of_dict(token: Any, keys: list[str], place: str) -> list[str]:
    """A dict of features as columns."""
    if not isinstance(token, Mapping):
        raise ValueError(f"{place} is {token!r}, but must be a dict as the first token")
    return _core.token_of(
        {
            str(key): _feature_of(key, value, place)
            for key, value in token.items()
            if value is not None
        },
        keys,
    )


def _feature_of(key: Any, value: Any, place: str) -> str | float:
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, str):
        require_unicode(plain, f"{place}: feature {str(key)!r}")
        return plain
    if not isinstance(plain, bool | int | float) or not abs(plain) <= _LARGEST_FLOAT:
        raise ValueError(
            f"{place}: feature {str(key)!r} is {value!r}, but must be a text, a finite number, a "
            "bool or None"
        )
    return float(plain)


def _answered(
    output: _OutputType, X: Any, y: Any, what: str
) -> Iterator[tuple[int, Any, list[Any] | None]]:
    """The number of each sentence, the sentence, and its answers, one per token; None without y."""
    _check_sentences(output, X)
    if y is not None:
        check_consistent_length(X, y)
    for number, sentence in enumerate(X):
        answers = None if y is None else list(y[number])
        if answers is not None and len(answers) != len(sentence):
            raise ValueError(
                f"y: sentence {number} has {len(answers)} {what}, but must have {len(sentence)}"
            )
        yield number, sentence, answers


def _columns_of_word(word: Any, keys: list[str] | None, place: str) -> list[str]:
    """Of a tree: docs/formats.md, CoNLL-U."""
    columns = [word] if isinstance(word, str) else list(word) if _is_sequence(word) else []
    if not 0 < len(columns) <= _WORD_COLUMNS or not all(isinstance(c, str) for c in columns):
        raise ValueError(
            f"{place}: it is {word!r}, but must be a text, or at most {_WORD_COLUMNS} texts: form, "
            "lemma, part of speech, finer one, morphology"
        )
    return columns


def _arc_columns(arc: Any, place: str, answers: dict[str, Any]) -> list[str]:
    """The columns of a head and a relation."""
    if isinstance(arc, str) or not hasattr(arc, "__len__") or len(arc) != 2:
        raise ValueError(f"y: {place}: it is {arc!r}, but must be a pair (head, relation)")
    head, relation = arc
    if is_missing(head):
        raise ValueError(f"y: {place}: the head is {head!r}, but must be there")
    return [str(_head_of(head, place)), _add_answer(answers, relation, place, "relation")]


def _head_of(head: Any, place: str) -> int:
    try:
        is_whole = float(head) == int(head)
    except (TypeError, ValueError, OverflowError):
        is_whole = False
    if not is_whole:
        raise ValueError(f"y: {place}: the head is {head!r}, but must be a whole number")
    return int(head)


_WORD_COLUMNS = 5  # of a word, without its number and its arc


def _is_sequence(value: Any) -> bool:
    """Whether it has a length and an order; of dicts the keys would be taken."""
    return hasattr(value, "__len__") and not isinstance(value, Mapping | Set)


def _cells(token: Any, place: str) -> list[str]:
    """A token that is a text or a sequence of texts, as columns."""
    cells = [token] if isinstance(token, str) else list(token) if _is_sequence(token) else []
    if not cells or not all(isinstance(c, str) for c in cells):
        raise ValueError(
            f"{place} is {token!r}, but must be a text, a sequence of texts, or a dict where the "
            "first token is one"
        )
    return cells


def _columns_of_token(token: Any, keys: list[str] | None, place: str) -> list[str]:
    """Of a chain: docs/formats.md, CoNLL columns."""
    return _cells(token, place) if keys is None else _cells_of_dict(token, keys, place)


def _tag_columns(tag: Any, place: str, answers: dict[str, Any]) -> list[str]:
    return [_add_answer(answers, tag, place, "tag")]


def _check_sentences(output: _OutputType, X: Any) -> None:
    if hasattr(X, "dtype") or hasattr(X, "columns") or not hasattr(X, "__len__"):
        what = "an array" if hasattr(X, "dtype") else f"a {type(X).__name__}"
        of_rows = [repr(other.name) for other in _OUTPUT_TYPES.values() if other.form == "rows"]
        raise ValueError(
            f"X: it is {what}, but model={output.name!r} must have a list of sentences; for rows "
            f"choose model={' or '.join(of_rows)}"
        )
    if not len(X):
        raise ValueError("X: there are no sentences")
    for number, sentence in enumerate(X):
        if isinstance(sentence, str):
            raise ValueError(
                f"X: sentence {number} is the text {sentence!r:.40}, but must be a sequence of "
                "tokens, as text.split() gives"
            )
        if not len(sentence):
            raise ValueError(f"X: sentence {number} must be a sequence of at least one token")


class _Form(NamedTuple):
    """How the sentences of a type of output become columns."""

    token: str
    answer: str
    columns: Callable[[Any, list[str] | None, str], list[str]]
    answer_columns: Callable[[Any, str, dict[str, Any]], list[str]]


_FORMS = {
    "chain": _Form("token", "tag", _columns_of_token, _tag_columns),
    "dependency": _Form("word", "arc", _columns_of_word, _arc_columns),
}
