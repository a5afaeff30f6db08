"""Reports as pages of HTML."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_consistent_length, check_is_fitted

if TYPE_CHECKING:
    from margrove._base import Classifier


def report(
    model: "Classifier",
    X: Any,
    y: Any,
    *,
    path: str | os.PathLike[str] | None = None,
    title: str = "Margrove report",
    num_examples: int = 20,
    texts: Sequence[str] | None = None,
    other: "Classifier | None" = None,
) -> str:
    """A report about a fitted model on rows X with labels y: one self-contained page of HTML.

    The page has the metrics, the hierarchy as a map of its nodes coloured by F1 and as a list, the
    accuracy by level, the accuracy of the most confident rows, the calibration of probabilities,
    the convergence of training, the siblings that are confused most often, and examples with their
    most important features. It is also written to `path`, if that is given.

    texts: the texts of the rows, in which the page marks the words that decided; by default those
    of X, if the model takes texts. Words are found by the names of the features
    (`feature_names_in_`). other: another fitted model, which is shown beside the first.
    """
    check_is_fitted(model)
    targets = model._targets(y)
    rows = model._rows(X)
    check_consistent_length(rows[1][1:], targets.pointers[1:])
    texts = model._texts(X) if texts is None else list(texts)
    if texts:
        check_consistent_length(rows[1][1:], texts)
    page = model.model_.report_page(
        rows,
        (targets.pointers, targets.positions),
        [str(name) for name in targets.classes],
        title,
        num_examples,
        [str(name) for name in getattr(model, "feature_names_in_", ())],
        texts,
        None if other is None else other.model_,
        type(other).__name__,
        rows if other is None else other._rows(X),
        model.threads,
    )
    if path is not None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(page)
    return page
