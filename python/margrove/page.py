"""Reports as pages of HTML."""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from margrove._pipelines import unwrapped


def report(
    model: Any,
    X: Any,
    y: Any,
    *,
    path: str | os.PathLike[str] | None = None,
    title: str = "Margrove report",
    num_examples: int = 20,
    texts: Sequence[str] | None = None,
    other: Any = None,
) -> str:
    """A report about a fitted model on rows X with labels y: one self-contained page of HTML.

    The page has the metrics, the hierarchy as a map of its nodes coloured by F1 and as a list, the
    accuracy by level, the accuracy of the most confident rows, the calibration of probabilities,
    the convergence of training, the siblings that are confused most often, and examples with their
    most important features. It is also written to `path`, if that is given. `model`
    may also be a Pipeline or a search that ends with an estimator: earlier steps transform X and
    name its features.

    texts: the texts of the rows, in which the page marks the words that decided; by default X
    itself, if it is a list of texts. Words are found by the names of the features. other: another
    model for the same X, which is shown beside the first.
    """
    estimator, rows_of_model, given = unwrapped(model, X)
    check_is_fitted(estimator)
    targets = estimator._labels_of(rows_of_model, y).as_nodes(estimator.hierarchy_)
    rows = estimator._rows(rows_of_model)
    check_consistent_length(rows[1][1:], targets.pointers[1:])
    if texts is not None:
        texts = list(texts)
    elif rows_of_model is not X and np.ndim(X) == 1 and all(isinstance(row, str) for row in X):
        texts = list(X)
    else:
        texts = estimator._texts(rows_of_model)
    if texts:
        check_consistent_length(rows[1][1:], texts)
    names: list[str] = []  # the model itself knows the terms of texts and the columns of records
    if estimator.model_.record_selection is None:
        names = [str(name) for name in getattr(estimator, "feature_names_in_", ())]
    second, other_X, _ = (None, X, None) if other is None else unwrapped(other, X)
    page = estimator.model_.report_page(
        rows,
        (targets.pointers, targets.positions),
        [str(name) for name in targets.classes],
        title,
        num_examples,
        given or names,
        texts,
        None if second is None else second.model_,
        type(second).__name__,
        rows if second is None else second._rows(other_X),
        estimator.threads,
    )
    if path is not None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(page)
    return page
