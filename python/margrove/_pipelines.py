"""Estimators within pipelines and searches of scikit-learn."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from margrove._base import Classifier


def unwrapped(model: Any, X: Any) -> tuple["Classifier", Any, list[str] | None]:
    """The fitted estimator of the package that `model` is or ends with, its rows and their names.

    `model` may be a Pipeline, whose earlier steps then transform X and name the features (None if
    they cannot), or a search that found either. Raises ValueError for others.
    """
    from margrove._base import Classifier

    names: list[str] | None = None
    while not isinstance(model, Classifier):
        if hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif hasattr(model, "steps") and len(model.steps) > 0:
            earlier = model[:-1]
            if len(earlier.steps) > 0:
                X = earlier.transform(X)
                names = _names_after(earlier)
            model = model.steps[-1][1]
        else:
            raise ValueError(
                f"model is {type(model).__name__}, but must be a fitted estimator of margrove, or "
                "a Pipeline or a search that ends with one"
            )
    return model, X, names


def _names_after(steps: Any) -> list[str] | None:
    try:
        return [str(name) for name in steps.get_feature_names_out()]
    except (AttributeError, ValueError):  # of a step without names
        return None
