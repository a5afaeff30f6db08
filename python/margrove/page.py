"""Reports as pages of HTML."""

import os
from typing import Any

from sklearn.utils.validation import check_is_fitted

from margrove._pipelines import unwrapped


def report(
    model: Any,
    X: Any,
    y: Any,
    *,
    path: str | os.PathLike[str] | None = None,
    title: str = "Margrove report",
    num_examples: int = 20,
) -> str:
    """A report about a fitted model on rows X with labels y: one self-contained page of HTML.

    The page has the metrics, the hierarchy as a tree coloured by F1, the siblings that are confused
    most often, the convergence of training, the calibration of probabilities, and examples with
    their most important features. It is also written to `path`, if that is given. `model`
    may also be a Pipeline or a search that ends with an estimator: earlier steps transform X and
    name its features.
    """
    estimator, X, given = unwrapped(model, X)
    check_is_fitted(estimator)
    rows, sets = estimator._sets_of(X, y)
    names = given or [str(name) for name in getattr(estimator, "feature_names_in_", ())]
    threads = estimator.threads
    page = estimator.model_.report_page(rows, sets, title, num_examples, names, threads)
    if path is not None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(page)
    return page
