"""Explanations of the predictions of a fitted estimator."""

from itertools import repeat
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

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

    def explain(self, X: Any, label: Any = None, *, num_features: int = 5) -> list[Explanation]:
        """The score of each row's best label (or of `label`) as a sum over nodes and features."""
        rows = self._rows(X)
        _, labels, _ = self.model_.top(rows, 1, self.threads)
        names = self.model_.labels
        best = (names[number] for number in labels) if label is None else repeat(str(label))
        return [
            self._explanation(self.model_.explain(rows, row, name, num_features))
            for row, name in zip(range(len(rows[1]) - 1), best, strict=False)
        ]

    def _explanation(self, parts: Any) -> Explanation:
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
                    tuple(Contribution(self._feature(j), *rest) for j, *rest in strongest),
                )
                for node, itself, node_score, strongest in nodes
            ),
            tuple(
                SourceScore(source, part, tuple(PathScore(*path) for path in strongest))
                for source, part, strongest in sources
            ),
        )

    def _feature(self, number: int) -> str | int:
        if number == self.model_.num_features:
            return "(intercept)"
        if self.model_.record_columns is not None:
            return self.model_.feature_name(number)
        names = getattr(self, "feature_names_in_", self.model_.vocabulary)
        return str(names[number]) if number < len(names) else number
