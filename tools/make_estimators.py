#!/usr/bin/env python3
"""Writes classifiers.py, one class per method with the options in the registry, and text.py.

Names, defaults, ranges and help of the options come from the C++ tables. Names and docstrings of
the classes and the parameters of a run are here. A test checks that the files are up to date.

usage: PYTHONPATH=build/python tools/make_estimators.py [--check]
"""

import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

from margrove import _core

PACKAGE = Path(__file__).resolve().parent.parent / "python/margrove"
WIDTH = 100


@dataclass(frozen=True)
class Estimator:
    """A class: `about` is its docstring before the parameters."""

    name: str
    method: str
    several_labels: bool  # whether rows may have more than one
    about: str
    base: str = "Classifier"

    @property
    def parameters_of_run(self) -> list[tuple[str, str]]:
        """(declaration, help) of the parameters that are not options of the method."""
        warm_start = {"Continued": WARM_START, "Incremental": WARM_START_BY_EPOCHS}.get(self.base)
        takes_weights = self.base not in ("Structured", "Unweighted")
        described = (
            (declaration, help or warm_start)
            for declaration, help in RUN_PARAMETERS
            if takes_weights or not declaration.startswith(OF_LINEAR_METHODS)
        )
        return [(declaration, help) for declaration, help in described if help]


ESTIMATORS = [
    Estimator(
        "FlatSVC",
        "flat-svm",
        True,
        "Linear support vector machines without a hierarchy.\n\n"
        'One classifier per label (`multiclass="ovr"`), or all labels in one problem '
        '("crammer-singer"). Rows may have several labels.',
        "Continued",
    ),
    Estimator(
        "FlatLogisticRegression",
        "flat-lr",
        True,
        "Logistic regression without a hierarchy.\n\n"
        'One-vs-rest, whose rows may have several labels, or multinomial (`multiclass="softmax"`).',
        "Continued",
    ),
    Estimator(
        "HSVC",
        "hsvm",
        True,
        "Hierarchical SVM: a structured SVM over paths with Hamming loss (HSVM in [NHSVM]).\n\n"
        "Without a hierarchy all labels are roots. Rows with several labels get label sets: a "
        "wrong leaf then costs 1.",
        "Incremental",
    ),
    Estimator(
        "NHSVC",
        "nhsvm",
        True,
        "Normalized hierarchical SVM: paths of equal weight, normalized loss ([NHSVM]).\n\n"
        "Without a hierarchy all labels are roots. Rows with several labels get label sets: a "
        "wrong leaf then costs 1.",
        "Incremental",
    ),
    Estimator(
        "SharedSVC",
        "shared-svm",
        True,
        "Hierarchical SVM whose node weights are learned: the shared norm of [NHSVM].\n\n"
        "Without a hierarchy all labels are roots. Rows with several labels get label sets: a "
        "wrong leaf then costs 1.",
    ),
    Estimator(
        "HRSVC",
        "hr-svm",
        True,
        "SVMs of the leaves, regularised towards their parents in the hierarchy (HR-SVM in [HR])."
        "\n\nWithout a hierarchy it is FlatSVC. Rows may have several labels.",
    ),
    Estimator(
        "HRLogisticRegression",
        "hr-lr",
        True,
        "Logistic regressions of the leaves, regularised towards their parents (HR-LR in [HR]).\n\n"
        "Without a hierarchy it is FlatLogisticRegression. One-vs-rest, whose rows may have "
        'several labels, or multinomial (`multiclass="softmax"`).',
    ),
    Estimator(
        "TopDownSVC",
        "top-down-svm",
        True,
        "Top-down classification: linear SVMs among the children of each node (TD in [HR]).\n\n"
        "The hierarchy is a tree or DAG; without one it is FlatSVC. Rows may have several labels.",
    ),
    Estimator(
        "LabelTreesSVC",
        "label-trees",
        True,
        "Learned trees of many labels: linear SVMs among the children of each node, averaged.\n\n"
        "The trees are learned from the labels' rows, as those of Parabel; a hierarchy plays no "
        "part in training. Rows may have several labels.",
    ),
    Estimator(
        "LevelSVC",
        "level-svm",
        True,
        "Linear SVMs at all levels of the hierarchy, summed with a weight for each level.\n\n"
        "The level weights are fitted on held-out rows: `level_weights_` after `fit`, from the "
        "roots down. Without a hierarchy all labels are roots. Rows may have several labels.",
        "Leveled",
    ),
    Estimator(
        "KernelRidgeClassifier",
        "kernel-ridge",
        True,
        "Kernel ridge regression of every node of the hierarchy, for rows with several labels.\n\n"
        "Width and strengths are chosen by leave-one-out scores in closed form. "
        "`decision_function` estimates the probability that a row has the label or one below it. "
        "It takes no row weights.",
        "Unweighted",
    ),
    Estimator(
        "StructuredSVC",
        "structured",
        True,
        "Structured SVM with a surrogate of margin and loss ([Thesis]).\n\n"
        'Tags of sentences (model="chain"), or label sets of rows: with a weight for each pair of '
        'labels (model="multilabel-field"), or closed upward in a hierarchy (model="hierarchy").',
        "Structured",
    ),
]

_IN_MEMORY = " The state for this is kept in memory, not in files"
WARM_START = (
    "fit continues the last one: from its dual variables if rows and labels are the same, else "
    "from its weights." + _IN_MEMORY
)
WARM_START_BY_EPOCHS = (
    "fit continues the last one: from its dual variables if rows and labels are the same; with "
    'solver="sgd" by further epochs.' + _IN_MEMORY
)

# Parameters of methods that are linear, which also take row weights.
OF_LINEAR_METHODS = ("class_weight", "kernel_features", "kernel_gamma", "kernel_model")

# The parameters of every class in addition to its options: declaration with default, help.
RUN_PARAMETERS: list[tuple[str, str | None]] = [
    (
        "hierarchy: Any = None",
        "hierarchy of the labels in any form that `Hierarchy.of` takes",
    ),
    (
        "text: Any = None",
        "column of X, a frame, that is text, whose terms become features; several as a list, or as "
        "a dict with the number of times that each counts. A name with a * stands for all columns "
        "that fit, and '*' for those that no other parameter names; also in the next three",
    ),
    (
        "numeric: Any = None",
        "columns of X that are numbers; missing ones become the mean and set a further feature",
    ),
    (
        "categorical: Any = None",
        "columns of X that are categories, each of which becomes a feature",
    ),
    (
        "vector_columns: Any = None",
        "columns of X that are one vector, such as an embedding: of numbers, or a column with a "
        "list or an array in each row, all of one length and without gaps",
    ),
    (
        "vector_share: float | None = None",
        "share of that vector in the squared norm of a row, in (0, 1); None: 0.7",
    ),
    (
        "path: Any = None",
        "column of X with the path of the label as one text, or a list of columns, one per level "
        "from the root down. The paths give the hierarchy, unless one is given; `fit` then takes "
        "no y",
    ),
    ('separator: str = " > "', "text between the names of a path in one column"),
    (
        "text_features: TextFeatures | None = None",
        "a TextFeatures whose options the terms of texts have; None: its defaults",
    ),
    (
        "class_weight: Any = None",
        'factors of the row weights by class: None; "balanced": n / (k n_c) for n_c of n rows '
        "(with sample_weight, their weights) of class c of k classes; or a dict of classes and "
        "weights, where classes that it lacks have weight 1. For rows with one label",
    ),
    (
        'unlabelled: str = "auto"',
        "what a row without a label means: auto: a missing label, so that it is left out with a "
        "warning, where no row has several labels, otherwise the empty set; drop: a missing label; "
        "keep: the empty set, so that labels are sets whatever their sizes, where the method can "
        "learn it",
    ),
    (
        "calibration: float = 0.0",
        "share of the rows that is held out to fit the temperature of probabilities, and where "
        "rows have several labels a shift, which trains twice; 0: none",
    ),
    (
        'scale: str = "auto"',
        "columns of X: standard (mean 0, deviation 1), max-abs, robust (median, quartiles), common "
        "(mean 0, one divisor) or none; sparse rows are divided only. auto: dense rows get "
        "standard, or common where no column is large or all are of one scale; sparse counts whose "
        "rows differ in length become unit rows",
    ),
    (
        'kernel_features: str = "none"',
        "after all else, rows become N features whose inner products approximate the Gaussian "
        "kernel exp(-gamma ||x - z||^2): nystroem:N (of N random training rows), fourier:N (random "
        "Fourier features), or none; `seed` decides which",
    ),
    (
        "kernel_gamma: float = 0.0",
        "kernel_features: gamma; 0: 1 / (2 d^2) for the median distance d of training rows",
    ),
    (
        "kernel_model: Any = None",
        "kernel_features nystroem: a fitted estimator of kernels, such as SPNMKLClassifier, or the "
        "path of a model, whose learned kernel takes the place of the Gaussian one; rows get its "
        "preprocessing. Searches, which clone it, need the path or FrozenEstimator(estimator)",
    ),
    ("warm_start: bool = False", None),  # only of some estimators: see above
    ("threads: int = 1", "number of threads, 0: one per core; the result does not depend on it"),
    (
        "time_limit_seconds: float | None = None",
        "time after which training ends with the best weights so far and a ConvergenceWarning",
    ),
    (
        "memory_limit: float | None = None",
        "refuse to train if the estimated memory exceeds this many GB (10^9 bytes); None: 90 % of "
        "what is free",
    ),
    (
        "progress: Progress = False",
        "True for a tqdm bar, or a function that is called with each report as keywords",
    ),
]

HEADER = '''"""The estimators: one class per method of the registry, with its options and defaults.

Written by tools/make_estimators.py: change that, or the options' tables, and run it.
"""

from typing import Any

from margrove._base import Classifier, load, load_liblinear
from margrove._continued import Continued, Incremental
from margrove._levels import Leveled
from margrove._progress import Progress
from margrove._structured import Structured
from margrove._unweighted import Unweighted
from margrove.text import TextFeatures

__all__ = [
{names}
]
'''


TEXT_HEADER = '''"""The transformer of texts, with the options and defaults of the program.

Written by tools/make_estimators.py: change that, or the options' table, and run it.
"""

from collections.abc import Sequence

from margrove._text import TextTransformer

__all__ = ["TextFeatures"]


'''
TEXT_ABOUT = (
    "Weights of the terms of texts, as `margrove train --text` makes them: tf-idf or BM25.\n\n"
    "Words are the longest runs of letters with their marks, digits and underscores, in lower case "
    "and in the normal form C."
)
STOP_WORDS = (
    "stop_words: Sequence[str] | str | None = None",
    "words that are left out before terms are made, in lower case; or the language of a list, such "
    "as english",
)


def declaration(option: tuple[str, str, str, str, str]) -> str:
    """`name: type = default` of an option of the registry; keywords get a final underscore."""
    name, kind, default, _, _ = option
    name = "lambda_" if name == "lambda" else name
    if kind in ("number", "integer"):
        number = float if kind == "number" else int
        if default == "auto":
            return f'{name}: {number.__name__} | str = "auto"'
        return f"{name}: {number.__name__} = {number(default)!r}"
    if kind == "switch":
        is_auto = default == "auto"
        return f'{name}: bool | str = "auto"' if is_auto else f"{name}: bool = {default == 'true'}"
    if name.endswith("_ngrams"):  # also in the form of scikit-learn
        return f'{name}: str | tuple[int, int] = "{default}"'
    return f'{name}: str = "{default}"'


def wrapped(text: str, indent: str) -> str:
    """Paragraphs broken at WIDTH."""
    fill = textwrap.TextWrapper(
        WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    ).fill
    return "\n".join(map(fill, text.split("\n")))


def described(options: list[tuple[str, str, str, str, str]]) -> list[tuple[str, str]]:
    """(declaration, help) of each option."""
    return [
        (declaration(option), f"{option[4]} [{option[3]}]" if option[3] else option[4])
        for option in options
    ]


def docstring(about: str, parameters: list[tuple[str, str]]) -> list[str]:
    """The lines of the docstring of a class."""
    lines = [wrapped(f'"""{about}', "    "), "", "    Parameters", "    ----------"]
    for head, help in parameters:
        name, rest = head.split(": ", 1)
        kind, default = rest.split(" = ")
        lines += [f"    {name} : {kind}, default {default}", wrapped(help, " " * 8)]
    return [*lines, '    """']


MOST_FUNCTION_LINES = 60  # without a reason (tools/check_sources.py)


def class_text(estimator: Estimator) -> str:
    """The class as ruff formats it."""
    options = next(options for name, _, _, options in _core.methods() if name == estimator.method)
    parameters = described(options) + estimator.parameters_of_run
    lines = [f"class {estimator.name}({estimator.base}):"]
    lines += [*docstring(estimator.about, parameters), "", f'    _method = "{estimator.method}"']
    lines += ["    _several_labels = True"] * estimator.several_labels
    lines += ["    _logistic = True"] * estimator.method.endswith("-lr")
    return "\n".join(lines + constructor(parameters)) + "\n"


def constructor(parameters: list[tuple[str, str]]) -> list[str]:
    """The lines of __init__."""
    lines = ["    def __init__("]
    lines += ["        self,", "        *,"]
    lines += [f"        {head}," for head, _ in parameters]
    lines += ["    ) -> None:"]
    names = [head.split(":")[0] for head, _ in parameters]
    lines += [f"        self.{name} = {name}" for name in names]
    reason = ["    # Longer than 60 lines: scikit-learn reads the parameters from the signature."]
    return ["", *reason * (len(lines) > MOST_FUNCTION_LINES), *lines]


def text_file() -> str:
    """All of text.py."""
    parameters = [*described(_core.text_options()), STOP_WORDS]
    lines = ["class TextFeatures(TextTransformer):", *docstring(TEXT_ABOUT, parameters)]
    return TEXT_HEADER + "\n".join(lines + constructor(parameters)) + "\n"


def classifiers_file() -> str:
    """All of classifiers.py."""
    exported = sorted(
        {"Classifier", "load", "load_liblinear"} | {e.name for e in ESTIMATORS},
        key=lambda name: (name != name.upper(), name == name.lower(), name),
    )
    text = HEADER.format(names="\n".join(f'    "{name}",' for name in exported))
    return text + "".join("\n\n" + class_text(estimator) for estimator in ESTIMATORS)


def file_texts() -> dict[str, str]:
    """The files of the package that are made here."""
    return {"classifiers.py": classifiers_file(), "text.py": text_file()}


def main() -> int:
    """Writes the files, or with --check only checks whether they are up to date."""
    texts = file_texts()
    if "--check" in sys.argv[1:]:
        read = {name: (PACKAGE / name).read_text(encoding="utf-8") for name in texts}
        return 0 if read == texts else 1
    for name, text in texts.items():
        (PACKAGE / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
