"""Large-margin classification when the labels have a known structure.

Estimators follow scikit-learn's conventions; their models are the files of the `margrove` program.
Names are loaded when they are first used, so that importing the package costs little.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from margrove._core import ModelFileError, __version__

if TYPE_CHECKING:
    from margrove._cluster import cluster
    from margrove._probabilities import Calibration
    from margrove._vector_block import with_vectors
    from margrove.automatic import AutoClassifier
    from margrove.classifiers import (
        HRSVC,
        HSVC,
        NHSVC,
        Classifier,
        FlatLogisticRegression,
        FlatSVC,
        HRLogisticRegression,
        KernelRidgeClassifier,
        LabelTreesSVC,
        LevelSVC,
        SharedSVC,
        StructuredSVC,
        TopDownSVC,
        load,
        load_liblinear,
    )
    from margrove.explanation import (
        Contribution,
        Explanation,
        HeadScore,
        NodeScore,
        PathScore,
        SentenceExplanation,
        SourceScore,
        WordExplanation,
        explain,
    )
    from margrove.hierarchy import Hierarchy, read_annotations
    from margrove.kernel_classifiers import (
        AverageMKLClassifier,
        LpMKLClassifier,
        SimpleMKLClassifier,
        SPNMKLClassifier,
    )
    from margrove.kernel_networks import KernelNetwork
    from margrove.page import report
    from margrove.text import TextFeatures

__all__ = [
    "HRSVC",
    "HSVC",
    "NHSVC",
    "AutoClassifier",
    "AverageMKLClassifier",
    "Calibration",
    "Classifier",
    "Contribution",
    "Explanation",
    "FlatLogisticRegression",
    "FlatSVC",
    "HRLogisticRegression",
    "HeadScore",
    "Hierarchy",
    "KernelNetwork",
    "KernelRidgeClassifier",
    "LabelTreesSVC",
    "LevelSVC",
    "LpMKLClassifier",
    "ModelFileError",
    "NodeScore",
    "PathScore",
    "SPNMKLClassifier",
    "SentenceExplanation",
    "SharedSVC",
    "SimpleMKLClassifier",
    "SourceScore",
    "StructuredSVC",
    "TextFeatures",
    "TopDownSVC",
    "WordExplanation",
    "__version__",
    "cluster",
    "explain",
    "load",
    "load_liblinear",
    "read_annotations",
    "report",
    "with_vectors",
]

_HOMES = {"Hierarchy": "hierarchy", "read_annotations": "hierarchy"}
_HOMES |= {"Contribution": "explanation", "Explanation": "explanation"}
_HOMES |= {"Calibration": "_probabilities", "report": "page", "TextFeatures": "text"}
_HOMES["AutoClassifier"] = "automatic"
_HOMES |= {"cluster": "_cluster", "with_vectors": "_vector_block"}
_HOMES["KernelNetwork"] = "kernel_networks"
_HOMES |= dict.fromkeys(
    (
        "HeadScore",
        "NodeScore",
        "PathScore",
        "SentenceExplanation",
        "SourceScore",
        "WordExplanation",
        "explain",
    ),
    "explanation",
)
_HOMES |= dict.fromkeys(
    ("AverageMKLClassifier", "LpMKLClassifier", "SPNMKLClassifier", "SimpleMKLClassifier"),
    "kernel_classifiers",
)


def __getattr__(name: str) -> Any:
    if name in ("datasets", "losses", "metrics", "structured", "vectors"):
        return import_module(f"margrove.{name}")
    if name not in __all__:
        raise AttributeError(f"module 'margrove' has no attribute {name!r}")
    value = getattr(import_module(f"margrove.{_HOMES.get(name, 'classifiers')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
