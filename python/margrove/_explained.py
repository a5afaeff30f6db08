"""Explanations of the predictions of a fitted estimator."""

from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from margrove import _core
from margrove._types import Csr
from margrove.explanation import Contribution, Explanation, NodeScore, PathScore, SourceScore


class Explained:
    """`explain` of estimators."""

    if TYPE_CHECKING:
        model_: _core.Model
        threads: int
        _node_of_label: NDArray[Any]

        def _rows(self, X: Any) -> Csr: ...

    def explain(self, X: Any, label: Any = None, *, num_features: int = 5) -> list[Any]:
        """An `Explanation` of each row: the score of its best label (or of `label`) as a sum over
        nodes and features. Of a parser, a `SentenceExplanation` of each sentence, with
        `num_features` other heads and relations of each word.

        `margrove.explain` does the same for a Pipeline that ends with the estimator.
        """
        return self._explained(X, label, num_features, None)

    def _explained(
        self, X: Any, label: Any, num_features: int, given: list[str] | None
    ) -> list[Explanation]:
        """With the given names of features; None: those of the model."""
        rows = self._rows(X)
        _, labels, _ = self.model_.top(rows, 1, self.threads)
        names = self.model_.labels
        best = (names[number] for number in labels) if label is None else repeat(str(label))
        return [
            self._explanation(self.model_.explain(rows, row, name, num_features), given)
            for row, name in zip(range(len(rows[1]) - 1), best, strict=False)
        ]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The name of each feature of the model, the columns of `coef_`: terms of texts and names
        of columns where the model was trained on them (also after loading it), otherwise the
        columns of X, or `input_features`, or x0, x1, ... Raises ValueError for other
        `input_features` than in `fit`.
        """
        check_is_fitted(self)
        if self.model_.record_selection is not None:
            names = [self.model_.feature_name(j) for j in range(self.model_.num_features)]
            return np.array(names, dtype=object)
        if self.model_.preprocessing == "text-tfidf":
            return np.array(self.model_.vocabulary, dtype=object)
        return np.asarray(_check_feature_names_in(self, input_features))

    def _explanation(self, parts: Any, given: list[str] | None) -> Explanation:
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
                    tuple(Contribution(self._feature(j, given), *rest) for j, *rest in strongest),
                )
                for node, itself, node_score, strongest in nodes
            ),
            tuple(
                SourceScore(source, part, tuple(PathScore(*path) for path in strongest))
                for source, part, strongest in sources
            ),
        )

    def _feature(self, number: int, given: list[str] | None) -> str | int:
        if number == self.model_.num_features:
            return "(intercept)"
        if self.model_.record_selection is not None:
            return self.model_.feature_name(number)
        names = given or getattr(self, "feature_names_in_", self.model_.vocabulary)
        return str(names[number]) if number < len(names) else number
