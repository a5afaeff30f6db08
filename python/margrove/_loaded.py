"""Estimators from the models of files."""

from typing import TYPE_CHECKING, TypeVar

from margrove import _core
from margrove._columns import Selection, names_array, parameters_of
from margrove._labels import (
    SEPARATOR,
    Form,
    PathForm,
    are_path_ids,
    classes_of_names,
    name_of_path_id,
)
from margrove._options import option_value
from margrove.hierarchy import Hierarchy

if TYPE_CHECKING:
    from margrove._base import Classifier

Made = TypeVar("Made", bound="Classifier")


def estimator_of(made: type[Made], model: _core.Model, source: str) -> Made:
    """A fitted estimator of the class, which is that of the model's method, from `source`."""
    defaults = made._defaults()
    estimator = made(
        **{
            name: option_value(model.options[name.rstrip("_")], default)
            for name, default in defaults.items()
            if name.rstrip("_") in model.options  # older files may lack some
        }
    )
    selection = None if model.record_selection is None else Selection(*model.record_selection)
    separator = SEPARATOR if selection is None else selection.separator
    if selection is not None:
        estimator.set_params(**parameters_of(selection), vector_share=model.vector_share)
    if model.kernel_features is not None:
        choice, gamma = model.kernel_features
        estimator.set_params(kernel_features=choice, kernel_gamma=gamma)
    if model.has_learned_kernel:
        estimator.set_params(kernel_model=source)
    nodes = classes_of_names(model.labels)
    hierarchy = None
    if model.has_hierarchy:
        plain = nodes.tolist()
        edges = tuple((plain[p], plain[c]) for p, c in model.edges.tolist())
        alternatives = tuple((other, plain[n]) for other, n in model.alternatives)
        hierarchy = Hierarchy(tuple(plain), edges, alternatives)
        estimator.hierarchy = hierarchy
        estimator._has_path_ids = are_path_ids(edges, separator)
    if model.is_of_files:
        estimator._adopt(model, "sentences", nodes, None)
        estimator._loaded()
        return estimator
    several = not model.gives_one_label
    form: Form = "sets" if several else "single"
    path_form = None
    if estimator._has_path_ids and not several:
        form = "paths"
        names = {node: name_of_path_id(node, separator) for node in model.labels}
        is_text = selection is not None and selection.path != ""
        path_form = PathForm(list, None, names, separator if is_text else None)
    answers = model.answerable if "unseen_score" in model.report else model.training_rows
    classes = nodes[answers > 0]
    estimator._adopt(model, form, classes, hierarchy, path_form)
    estimator._loaded()
    estimator.n_features_in_ = model.num_features
    if selection is not None:
        estimator.feature_names_in_ = names_array(selection)
        estimator.n_features_in_ = len(estimator.feature_names_in_)
    return estimator
