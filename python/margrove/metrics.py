"""Metrics of predicted labels and of scores, for labels with or without a hierarchy.

They are those of `margrove evaluate`, computed by the same code. `y_true` and `y_pred` take the
forms of `fit`: one label per row, sets of labels, 0/1 matrices, or paths, whose hierarchy then need
not be given. `hierarchy` takes the forms of the estimators. Labels with equal texts are equal.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from margrove import _core
from margrove._labels import Targets, read_targets
from margrove._types import Edges, Sets
from margrove.hierarchy import Hierarchy

__all__ = [
    "RiskCoverage",
    "accuracy_by_level",
    "au_prc",
    "bootstrap_interval",
    "expected_calibration_error",
    "f1_at_k",
    "f_max",
    "hierarchical_f1",
    "hierarchical_precision_recall_f1",
    "lca_f1",
    "ndcg_at_k",
    "precision_at_k",
    "psp_at_k",
    "r_precision",
    "recall_at_k",
    "risk_coverage",
    "tree_distance",
]

Average = Literal["micro", "macro", "instance"]


class RiskCoverage(NamedTuple):
    """A risk-coverage curve: `risk[k]` is the share of errors among the `coverage[k]` of the rows
    that are the most confident; `area` is the mean risk, in [0, 1], the smaller the better."""

    coverage: NDArray[np.float64]
    risk: NDArray[np.float64]
    area: float


# Labels as numbers -------------------------------------------------------------------------------


def _targets(y: Any) -> Targets:
    if (y.shape[0] if hasattr(y, "shape") else len(y)) == 0:
        raise ValueError("y: it has no rows, but must have")
    return read_targets(y)


def _hierarchy_of(given: Any, *targets: Targets) -> Hierarchy:
    """The given hierarchy, or else the hierarchy of all paths."""
    if given is not None:
        return Hierarchy.of(given)
    return Hierarchy.of_pairs(pair for target in targets for pair in target.edges)


@dataclass
class _Numbering:
    """Numbers the nodes of the hierarchy first, then other labels as they occur."""

    edges: Edges
    numbers: dict[str, int]
    node_of: dict[str, str]  # of alternative ids

    @classmethod
    def of(cls, hierarchy: Hierarchy) -> "_Numbering":
        edges = hierarchy.to_core()
        numbers = {name: number for number, name in enumerate(edges[0])}
        return cls(edges, numbers, {str(a): str(n) for a, n in hierarchy.alternatives})

    def of_labels(self, labels: Iterable[Any]) -> NDArray[np.uint32]:
        names = [self.node_of.get(str(label), str(label)) for label in labels]
        numbers = [self.numbers.setdefault(name, len(self.numbers)) for name in names]
        return np.array(numbers, dtype=np.uint32)

    def sets(self, targets: Targets) -> Sets:
        of_class = self.of_labels(targets.classes.tolist())
        return targets.pointers, of_class[targets.positions]


def _numbered(y_true: Any, y_pred: Any, hierarchy: Any) -> tuple[Sets, Sets, Edges]:
    truth, predicted = _targets(y_true), _targets(y_pred)
    numbering = _Numbering.of(_hierarchy_of(hierarchy, truth, predicted))
    return numbering.sets(truth), numbering.sets(predicted), numbering.edges


def _of_sets(y_true: Any, y_pred: Any, hierarchy: Any) -> dict[str, float]:
    return _core.set_metrics(*_numbered(y_true, y_pred, hierarchy))


def _score_array(y_score: Any, classes: Any, targets: Targets) -> tuple[NDArray[np.float64], Any]:
    """Scores of all rows, and the label of each column."""
    scores = np.ascontiguousarray(y_score, dtype=np.float64)
    if scores.ndim != 2 or len(scores) != targets.num_rows:
        raise ValueError(
            f"y_score: its shape is {scores.shape}, but must be ({targets.num_rows}, columns)"
        )
    unknown = np.argwhere(np.isnan(scores))
    if len(unknown) > 0:
        row, column = unknown[0].tolist()
        raise ValueError(
            f"y_score: row {row} has nan in column {column}, but must have numbers; -inf is a "
            "label that is never predicted"
        )
    if classes is None:
        if targets.form not in ("indicator", "sparse"):
            raise ValueError("classes: they are not given, but must be unless y_true is a matrix")
        classes = targets.classes
    labels = list(classes.tolist() if isinstance(classes, np.ndarray) else classes)
    if len(labels) != scores.shape[1] or len({str(label) for label in labels}) != len(labels):
        raise ValueError(
            f"classes: there are {len(labels)}, but must be {scores.shape[1]} different ones, as "
            "y_score has columns"
        )
    return scores, labels


# Sets --------------------------------------------------------------------------------------------


def hierarchical_precision_recall_f1(
    y_true: Any, y_pred: Any, *, hierarchy: Any = None
) -> tuple[float, float, float]:
    """Precision, recall and F1 of the labels with all their ancestors, each in [0, 1].

    With Y_i and P_i the ancestor-closed sets of row i, without the root if there is only one:
    precision is sum_i |Y_i & P_i| / sum_i |P_i|, recall sum_i |Y_i & P_i| / sum_i |Y_i|, and F1
    2 sum_i |Y_i & P_i| / sum_i (|Y_i| + |P_i|).
    """
    values = _of_sets(y_true, y_pred, hierarchy)
    names = ("hierarchical_precision", "hierarchical_recall", "hierarchical_f1")
    precision, recall, f1 = (values[name] for name in names)
    return precision, recall, f1


def hierarchical_f1(
    y_true: Any, y_pred: Any, *, hierarchy: Any = None, average: Average = "micro"
) -> float:
    """F1 of the labels with all their ancestors, in [0, 1].

    `average` is "micro": from sums over rows (`hierarchical_precision_recall_f1`); "macro": the
    mean of F1 over the nodes that are true in some row; "instance": the mean over rows of
    2 |Y_i & P_i| / (|Y_i| + |P_i|), 1 for two empty sets. HiClass's `f1` calls this one "macro".
    """
    names = {
        "micro": "hierarchical_f1",
        "macro": "hierarchical_f1_macro",
        "instance": "hierarchical_f1_instance",
    }
    return _of_sets(y_true, y_pred, hierarchy)[_chosen(average, names)]


def lca_f1(y_true: Any, y_pred: Any, *, hierarchy: Any = None) -> float:
    """LCA-F1 of Kosmopoulos et al. (2015), the mean over rows, in (0, 1].

    Every label of a row is paired with the nearest one of the other set (ties: the first in the
    hierarchy). The nodes from a true label up to the lowest common ancestor are Y', those from the
    predicted label P'; the value of a row is 2 |Y' & P'| / (|Y'| + |P'|).
    """
    return _of_sets(y_true, y_pred, hierarchy)["lca_f1"]


def tree_distance(y_true: Any, y_pred: Any, *, hierarchy: Any = None) -> float:
    """The mean number of edges between true and predicted labels, at least 0.

    The value of a row is (sum_y d(y, P) + sum_p d(p, Y)) / (|Y| + |P|), with d the distance to the
    nearest label of the other set. In a DAG, d is the length of the shortest path via a common
    ancestor. Several roots and labels outside the hierarchy are children of one common top; an
    empty set is the top.
    """
    return _of_sets(y_true, y_pred, hierarchy)["tree_distance"]


def accuracy_by_level(y_true: Any, y_pred: Any, *, hierarchy: Any = None) -> NDArray[np.float64]:
    """Accuracy at each level of the hierarchy, shape (levels,), each in [0, 1].

    Entry k: of the rows whose labels reach depth k + 1, the share whose true and predicted nodes at
    that depth are equal. A single root does not count; in a DAG the depth of a node is the length
    of its longest path.
    """
    prefix = "accuracy_level_"
    values = _of_sets(y_true, y_pred, hierarchy)
    levels = {int(name[len(prefix) :]): v for name, v in values.items() if name.startswith(prefix)}
    return np.array([levels[k] for k in sorted(levels)])


def bootstrap_interval(
    metric: str,
    y_true: Any,
    y_pred: Any,
    *,
    hierarchy: Any = None,
    n_resamples: int = 1000,
    level: float = 0.95,
    random_state: int = 0,
) -> tuple[float, float]:
    """The BCa bootstrap interval (low, high) of a metric of label sets.

    `metric` is a name of `margrove evaluate`: "accuracy", "micro_f1", "macro_f1", "jaccard",
    "instance_f1", "hamming_loss", "hierarchical_f1", "lca_f1", "tree_distance", ... Rows are drawn
    with replacement `n_resamples` times. The interval contains the metric of all rows.
    """
    sets = _numbered(y_true, y_pred, hierarchy)
    return _core.bootstrap_interval(metric, *sets, n_resamples, level, random_state)


# Scores of labels --------------------------------------------------------------------------------


def _ranked(
    name: str, y_true: Any, y_score: Any, classes: Any, *, k: int = 1, y_train: Any = None
) -> float:
    if k < 1:
        raise ValueError(f"k is {k}, but must be at least 1")
    truth = _targets(y_true)
    scores, labels = _score_array(y_score, classes, truth)
    numbering = _Numbering.of(Hierarchy((), ()))
    numbering.of_labels(labels)
    sets = numbering.sets(truth)
    counts, num_rows = None, 0
    if y_train is not None:
        training = _targets(y_train)
        of_class = numbering.of_labels(training.classes.tolist())
        num_rows = training.num_rows
        numbers = of_class[training.positions]
        counts = np.bincount(numbers, minlength=len(numbering.numbers)).astype(np.uint32)
    values = _core.ranking_metrics(sets, scores, [k], counts, num_rows)
    return values[name]


def precision_at_k(y_true: Any, y_score: Any, *, k: int = 1, classes: Any = None) -> float:
    """P@k: the mean share of true labels among the k of the largest scores, in [0, 1].

    `y_score` has shape (rows, columns), `classes` names the columns (not needed if y_true is a 0/1
    matrix). Ties go to the first column, columns of -inf are never ranked, rows without labels do
    not count.
    """
    return _ranked(f"precision_at_{k}", y_true, y_score, classes, k=k)


def recall_at_k(y_true: Any, y_score: Any, *, k: int = 1, classes: Any = None) -> float:
    """R@k: the mean share of a row's labels that are among the k of the largest scores, in [0, 1].

    Arguments as of `precision_at_k`.
    """
    return _ranked(f"recall_at_{k}", y_true, y_score, classes, k=k)


def f1_at_k(y_true: Any, y_score: Any, *, k: int = 1, classes: Any = None) -> float:
    """F1@k: the mean of 2 hits / (k + number of labels), in [0, 1].

    Arguments as of `precision_at_k`.
    """
    return _ranked(f"f1_at_{k}", y_true, y_score, classes, k=k)


def ndcg_at_k(y_true: Any, y_score: Any, *, k: int = 1, classes: Any = None) -> float:
    """nDCG@k: the mean of the sum of 1 / log2(1 + rank) over the true labels among the first k,
    divided by the largest possible sum, in [0, 1].

    Arguments as of `precision_at_k`.
    """
    return _ranked(f"ndcg_at_{k}", y_true, y_score, classes, k=k)


def psp_at_k(y_true: Any, y_score: Any, *, y_train: Any, k: int = 1, classes: Any = None) -> float:
    """PSP@k: precision at k weighted by inverse propensities, over its largest value, in [0, 1].

    A label with n of the N rows of `y_train` has 1/p = 1 + (ln N - 1) 2.5^0.55 (n + 1.5)^-0.55
    (Jain et al. 2016). PSP@k is the sum over all rows of 1/p of the true labels among the first k,
    divided by the sum over all rows of the k largest 1/p of their labels.
    """
    return _ranked(f"psp_at_{k}", y_true, y_score, classes, k=k, y_train=y_train)


def r_precision(y_true: Any, y_score: Any, *, classes: Any = None) -> float:
    """The mean of P@k with k the row's number of labels, in [0, 1].

    Arguments as of `precision_at_k`.
    """
    return _ranked("r_precision", y_true, y_score, classes)


# Scores of nodes ---------------------------------------------------------------------------------


def _of_nodes(
    y_true: Any, y_score: Any, classes: Any, hierarchy: Any, ignore_nodes: Sequence[Any]
) -> dict[str, float]:
    truth = _targets(y_true)
    scores, labels = _score_array(y_score, classes, truth)
    numbering = _Numbering.of(_hierarchy_of(hierarchy, truth))
    columns = numbering.of_labels(labels)
    sets = numbering.sets(truth)
    unknown = [str(node) for node in ignore_nodes if str(node) not in numbering.numbers]
    if unknown:
        raise ValueError(f"ignore_nodes: {unknown[0]!r} is no label and no node")
    wide = np.full((len(scores), len(numbering.numbers)), -np.inf)
    wide[:, columns] = scores
    ignored = numbering.of_labels(ignore_nodes).tolist()
    return _core.node_score_metrics(sets, wide, numbering.edges, ignored)


def au_prc(
    y_true: Any,
    y_score: Any,
    *,
    classes: Any = None,
    hierarchy: Any = None,
    average: Literal["micro", "macro", "weighted"] = "micro",
    ignore_nodes: Sequence[Any] = (),
) -> float:
    """Area under the precision-recall curve of the nodes' scores, in [0, 1].

    It is scikit-learn's average precision, sum_t (R_t - R_{t-1}) P_t over the thresholds t:
    "micro" pools all pairs (row, node), "macro" is the mean over the nodes that are true in some
    row, "weighted" weighs these by their numbers of rows. `y_score` has shape (rows, columns) and
    `classes` names the columns, which may be labels or nodes. A node's score becomes at least the
    largest of those below it; a node without any score is below everything. A single root and
    `ignore_nodes` are left out.
    """
    names = {"micro": "au_prc", "macro": "au_prc_macro", "weighted": "au_prc_weighted"}
    name = _chosen(average, names)
    return _of_nodes(y_true, y_score, classes, hierarchy, ignore_nodes)[name]


def f_max(
    y_true: Any,
    y_score: Any,
    *,
    classes: Any = None,
    hierarchy: Any = None,
    ignore_nodes: Sequence[Any] = (),
) -> float:
    """Fmax, protein-centric as in CAFA: max_t 2 P_t R_t / (P_t + R_t), in [0, 1].

    Over all thresholds t; P_t is the mean precision of the rows that have a node of score at least
    t, R_t the mean recall of the rows that have a true node. Arguments as of `au_prc`.
    """
    return _of_nodes(y_true, y_score, classes, hierarchy, ignore_nodes)["f_max"]


# Confidence --------------------------------------------------------------------------------------


def _confident(y_true: Any, y_pred: Any, confidence: Any) -> tuple[Sets, Sets, NDArray[np.float64]]:
    truth, predicted, _ = _numbered(y_true, y_pred, None)
    values = np.ascontiguousarray(confidence, dtype=np.float64)
    if values.shape != (len(truth[0]) - 1,):
        raise ValueError(
            f"confidence: its shape is {values.shape}, but must be ({len(truth[0]) - 1},)"
        )
    return truth, predicted, values


def expected_calibration_error(
    y_true: Any, y_pred: Any, confidence: Any, *, n_bins: int = 15
) -> float:
    """ECE: the difference between the probabilities of predictions and their accuracy, in [0, 1].

    `confidence`, shape (rows,), has the probability of each prediction, in [0, 1]. Over bins of
    equal width, sum_b n_b / n |share of right rows - mean confidence|.
    """
    truth, predicted, values = _confident(y_true, y_pred, confidence)
    return _core.expected_calibration_error(truth, predicted, values, n_bins)


def risk_coverage(y_true: Any, y_pred: Any, confidence: Any) -> RiskCoverage:
    """The share of errors among the most confident rows, for every share of the rows.

    `confidence`, shape (rows,), is larger for more certain predictions; the errors of rows of equal
    confidence are distributed evenly. All values of the result are in [0, 1].
    """
    risks, area = _core.risk_coverage(*_confident(y_true, y_pred, confidence))
    return RiskCoverage(np.arange(1, len(risks) + 1) / len(risks), risks, area)


def _chosen(average: str, names: dict[str, str]) -> str:
    if average not in names:
        raise ValueError(f"average is {average!r}, but must be one of {', '.join(names)}")
    return names[average]
