"""Reports as pages of HTML."""

import os
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

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
) -> str:
    """A report about a fitted model on rows X with labels y: one self-contained page of HTML.

    The page has the metrics, the hierarchy as a tree coloured by F1, the siblings that are confused
    most often, the convergence of training, the calibration of probabilities, and examples with
    their most important features. It is also written to `path`, if that is given.
    """
    check_is_fitted(model)
    rows, sets = model._sets_of(X, y)
    names = [str(name) for name in getattr(model, "feature_names_in_", ())]
    page = model.model_.report_page(rows, sets, title, num_examples, names, model.threads)
    if path is not None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(page)
    return page
