"""The estimators: one class a method of the registry, with its options and their defaults.

To add one, write its class here, name it in __init__.py and in docs/python.md, and add it to the
list in tests/python/test_estimators.py, which compares the options with the registry's.
"""

from typing import Any

from margrove._base import Classifier, load
from margrove._progress import Progress

__all__ = ["HSVC", "NHSVC", "Classifier", "FlatLogisticRegression", "FlatSVC", "load"]


class FlatSVC(Classifier):
    """Linear support vector machines that know no hierarchy.

    One machine a label (`multiclass="ovr"`), or all labels in one problem ("crammer-singer"). Rows
    may have several labels.
    """

    _method = "flat-svm"
    _several_labels = True

    def __init__(
        self,
        *,
        C: float = 1.0,
        lambda_: float = 0.0,
        bias: float = 1.0,
        seed: int = 0,
        tolerance: float = 1e-3,
        max_passes: int = 1000,
        threshold: str = "tuned",
        loss: str = "hinge",
        multiclass: str = "ovr",
        hierarchy: Any = None,
        threads: int = 1,
        time_limit_seconds: float | None = None,
        memory_limit: float | None = None,
        progress: Progress = False,
    ) -> None:
        self.C = C
        self.lambda_ = lambda_
        self.bias = bias
        self.seed = seed
        self.tolerance = tolerance
        self.max_passes = max_passes
        self.threshold = threshold
        self.loss = loss
        self.multiclass = multiclass
        self.hierarchy = hierarchy
        self.threads = threads
        self.time_limit_seconds = time_limit_seconds
        self.memory_limit = memory_limit
        self.progress = progress


class FlatLogisticRegression(Classifier):
    """Logistic regression, each label against the rest. Rows may have several labels."""

    _method = "flat-lr"
    _several_labels = True

    def __init__(
        self,
        *,
        C: float = 1.0,
        lambda_: float = 0.0,
        bias: float = 1.0,
        seed: int = 0,
        tolerance: float = 1e-3,
        max_passes: int = 1000,
        threshold: str = "tuned",
        hierarchy: Any = None,
        threads: int = 1,
        time_limit_seconds: float | None = None,
        memory_limit: float | None = None,
        progress: Progress = False,
    ) -> None:
        self.C = C
        self.lambda_ = lambda_
        self.bias = bias
        self.seed = seed
        self.tolerance = tolerance
        self.max_passes = max_passes
        self.threshold = threshold
        self.hierarchy = hierarchy
        self.threads = threads
        self.time_limit_seconds = time_limit_seconds
        self.memory_limit = memory_limit
        self.progress = progress


class HSVC(Classifier):
    """Hierarchical SVM: a structured SVM over paths with Hamming loss (HSVM in [NHSVM]).

    Without a hierarchy all labels are roots.
    """

    _method = "hsvm"

    def __init__(
        self,
        *,
        C: float = 1.0,
        lambda_: float = 0.0,
        bias: float = 1.0,
        seed: int = 0,
        alpha: str = "uniform",
        merge_duplicates: bool = False,
        tolerance: float = 1e-3,
        max_passes: int = 1000,
        hierarchy: Any = None,
        threads: int = 1,
        time_limit_seconds: float | None = None,
        memory_limit: float | None = None,
        progress: Progress = False,
    ) -> None:
        self.C = C
        self.lambda_ = lambda_
        self.bias = bias
        self.seed = seed
        self.alpha = alpha
        self.merge_duplicates = merge_duplicates
        self.tolerance = tolerance
        self.max_passes = max_passes
        self.hierarchy = hierarchy
        self.threads = threads
        self.time_limit_seconds = time_limit_seconds
        self.memory_limit = memory_limit
        self.progress = progress


class NHSVC(Classifier):
    """Normalized hierarchical SVM: paths of equal weight, normalized loss ([NHSVM]).

    Without a hierarchy all labels are roots.
    """

    _method = "nhsvm"

    def __init__(
        self,
        *,
        C: float = 1.0,
        lambda_: float = 0.0,
        bias: float = 1.0,
        seed: int = 0,
        alpha: str = "power:2",
        merge_duplicates: bool = False,
        tolerance: float = 1e-3,
        max_passes: int = 1000,
        surrogate: str = "margin",
        hierarchy: Any = None,
        threads: int = 1,
        time_limit_seconds: float | None = None,
        memory_limit: float | None = None,
        progress: Progress = False,
    ) -> None:
        self.C = C
        self.lambda_ = lambda_
        self.bias = bias
        self.seed = seed
        self.alpha = alpha
        self.merge_duplicates = merge_duplicates
        self.tolerance = tolerance
        self.max_passes = max_passes
        self.surrogate = surrogate
        self.hierarchy = hierarchy
        self.threads = threads
        self.time_limit_seconds = time_limit_seconds
        self.memory_limit = memory_limit
        self.progress = progress
