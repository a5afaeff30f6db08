"""The search for the terms of texts that TextFeatures(terms="auto") asks for."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from margrove import _core
from margrove._class_weights import weigh_by_class
from margrove._labels import Targets
from margrove._progress import receiver
from margrove._text import searches_terms
from margrove._types import TermOptions


class TermSearch:
    """Chooses terms for the rows of one fit of an estimator, a Classifier."""

    def __init__(self, estimator: Any, targets: Targets, sample_weight: Any) -> None:
        self._estimator = estimator
        self._targets = targets
        self._sample_weight = sample_weight

    def __call__(self, rows: Callable[[], _core.Rows], options: TermOptions) -> TermOptions:
        """The options with those that the search chooses; `terms_` of the estimator says how.

        As they are where no search is asked for.
        """
        estimator = self._estimator
        values, stop_words = options
        is_default = estimator._searches_terms and _core.searches_by_default(
            values, self._targets.num_rows
        )
        if not (is_default or searches_terms(options)):
            return options
        targets = self._targets.meant(estimator.unlabelled)
        targets, hierarchy = targets.in_hierarchy(estimator.hierarchy)
        names = [str(label) for label in targets.classes]
        method, of_method, metric = estimator._measuring()
        with receiver(estimator.progress) as callback:
            chosen, measured, seconds = _core.search_terms(
                rows(),
                labels=targets.to_core(),
                names=names,
                hierarchy=estimator._graph(hierarchy, names),
                method=method,
                options=of_method,
                metric=metric,
                row_weights=self._weights(targets),
                scale=estimator.scale,
                threads=estimator.threads,
                time_limit_seconds=estimator.time_limit_seconds,
                callback=callback,
                text_options=values,
                stop_words=stop_words,
                unlabelled=estimator.unlabelled,
                time=getattr(estimator, "time", "wall"),
            )
        if not measured:
            warnings.warn(
                "the search for terms did not end in its share of the time; the terms are the "
                "default ones",
                UserWarning,
                stacklevel=6,
            )
        estimator.terms_ = [
            {"word_ngrams": words, "char_ngrams": characters, "score": score, "chosen": is_chosen}
            for words, characters, score, is_chosen in measured
        ]
        estimator._seconds_of_terms = seconds
        return chosen, stop_words

    def _weights(self, targets: Targets) -> Any:
        weights = None
        if self._sample_weight is not None:
            weights = _check_sample_weight(
                self._sample_weight,
                np.empty((targets.num_rows, 1)),
                dtype=np.float64,
                ensure_non_negative=True,
            )
        if not self._estimator._weighs_rows:
            return weights
        return weigh_by_class(
            self._estimator.class_weight, targets.to_core(), targets.classes, weights
        )
