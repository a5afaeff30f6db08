"""The base class of margrove.TextFeatures, whose options the file text.py has."""

import inspect
import warnings
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from margrove import _core
from margrove._options import option_text
from margrove._records import texts_of
from margrove._types import TermOptions
from margrove._unicode import require_unicode

Self = TypeVar("Self", bound="TextTransformer")


class TextTransformer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A transformer from texts to rows of weights."""

    stop_words: Sequence[str] | str | None

    def fit(self: Self, X: Iterable[str], y: Any = None) -> Self:
        """Learns the terms of texts and their weights. Raises ValueError for wrong options, and if
        no text has a term; if some have none, a warning counts them.
        """
        texts = texts_of(X)
        self.fitted_ = _core.FittedText.fit(texts, *self._given_terms())
        warn_of_empty(self.fitted_.num_rows_without_terms, stacklevel=3)
        return self

    def _given_terms(self) -> TermOptions:
        """The options where no estimator searches for terms."""
        options = self.options()
        if searches_terms(options):
            raise ValueError(
                "terms is 'auto', but TextFeatures by itself trains nothing that tells which terms "
                "are best; FlatSVC(text_features=TextFeatures(terms='auto')) and the other "
                "estimators of texts do"
            )
        return options

    def options(self) -> TermOptions:
        """The options of terms as text, and the stop words. Raises ValueError for wrong ones."""
        names = [p for p in inspect.signature(type(self).__init__).parameters if p != "self"]
        given = {name: getattr(self, name) for name in names if name != "stop_words"}
        values = [(name, _lengths_text(name, value)) for name, value in given.items()]
        if isinstance(self.stop_words, str):
            require_unicode(self.stop_words, "stop_words")
            return values, _core.stop_words_of(self.stop_words)
        stop_words = list(self.stop_words or ())
        for position, word in enumerate(stop_words):
            require_unicode(word, f"stop_words[{position}]")
        return values, stop_words

    def transform(self, X: Iterable[str]) -> sp.csr_array:
        """The weights of the terms of each text: float32, one column per term, rows of norm 1."""
        check_is_fitted(self)
        return _matrix_of(self.fitted_.apply(texts_of(X)))

    def fit_transform(self, X: Iterable[str], y: Any = None, **fit_params: Any) -> sp.csr_array:
        """What fit(X).transform(X) gives; the texts are cut into terms once."""
        if fit_params:
            raise TypeError(f"fit_transform takes X and y, but was given {sorted(fit_params)}")
        self.fitted_, weights = _core.FittedText.fit_and_apply(texts_of(X), *self._given_terms())
        warn_of_empty(self.fitted_.num_rows_without_terms, stacklevel=3)
        return _matrix_of(weights)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The term of each column; those of characters stand in apostrophes."""
        check_is_fitted(self)
        return np.array(self.fitted_.vocabulary, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.requires_fit = True
        return tags


def term_options(text_features: Any) -> TermOptions:
    """The options of terms that an estimator is given: None, or a TextFeatures."""
    if text_features is None:
        return [], []
    if not isinstance(text_features, TextTransformer):
        raise ValueError(f"text_features is {text_features!r}, but must be a TextFeatures or None")
    return text_features.options()


def searches_terms(options: TermOptions) -> bool:
    """Whether a search on held-out rows is to choose the terms."""
    return ("terms", "auto") in options[0]


def warn_of_empty(number: int, *, stacklevel: int) -> None:
    """Warns of texts without terms."""
    if number > 0:
        warnings.warn(
            f"X: {number} {'text has' if number == 1 else 'texts have'} no term (a word, unless "
            "options say otherwise)",
            UserWarning,
            stacklevel=stacklevel,
        )


def _matrix_of(weights: tuple[int, Any, Any, Any]) -> sp.csr_array:
    num_columns, pointers, columns, values = weights
    return sp.csr_array((values, columns, pointers), shape=(len(pointers) - 1, num_columns))


def _lengths_text(name: str, value: Any) -> str:
    """An option as text. Lengths of n-grams may be the tuple (first, last) of scikit-learn."""
    if not (name.endswith("_ngrams") and isinstance(value, tuple | list)):
        return option_text(value)
    if len(value) != 2 or not all(isinstance(n, int | np.integer) for n in value):
        raise ValueError(f"{name} is {value!r}, but must be a text or a pair of whole numbers")
    return f"{value[0]}-{value[1]}"
