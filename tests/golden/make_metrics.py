#!/usr/bin/env python3
"""Writes tests/golden/metrics.json: label sets, and what scikit-learn and SciPy make of them.

The C++ tests of eval/ must find the same values. Run again only to add cases:
    .venv/bin/python tests/golden/make_metrics.py
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest, wilcoxon
from sklearn.metrics import (
    accuracy_score,
    f1_score,
    hamming_loss,
    jaccard_score,
    precision_recall_fscore_support,
)

Sets = list[list[int]]


def indicator(sets: Sets, labels: list[int]) -> NDArray[np.int64]:
    """One row a set, one column per label of `labels`; other labels are left out."""
    column = {label: k for k, label in enumerate(labels)}
    matrix = np.zeros((len(sets), len(labels)), dtype=np.int64)
    for i, row in enumerate(sets):
        for label in row:
            if label in column:
                matrix[i, column[label]] = 1
    return matrix


def ancestors(label: int, parents: dict[int, list[int]]) -> set[int]:
    """The label and everything above it."""
    found = {label}
    for parent in parents.get(label, []):
        found |= ancestors(parent, parents)
    return found


def closed(sets: Sets, parents: dict[int, list[int]], without: set[int]) -> Sets:
    return [
        sorted(set().union(*(ancestors(label, parents) for label in row)) - without) for row in sets
    ]


def metrics(
    truth: Sets, predicted: Sets, edges: list[tuple[int, int]], num_nodes: int, trained: list[int]
) -> dict[str, Any]:
    """The metrics by scikit-learn, from indicator matrices."""
    everything = sorted({label for row in truth + predicted for label in row} | {0})
    counted = sorted(set(trained) | {label for row in truth for label in row})
    y, p = indicator(truth, everything), indicator(predicted, everything)
    y_counted, p_counted = indicator(truth, counted), indicator(predicted, counted)
    parents: dict[int, list[int]] = {}
    for parent, child in edges:
        parents.setdefault(child, []).append(parent)
    tops = [n for n in range(num_nodes) if n not in parents]
    single = {tops[0]} if len(tops) == 1 and any(tops[0] == e[0] for e in edges) else set()
    y_closed, p_closed = closed(truth, parents, single), closed(predicted, parents, single)
    nodes = sorted({n for row in y_closed + p_closed for n in row})
    h_precision, h_recall, h_f1, _ = precision_recall_fscore_support(
        indicator(y_closed, nodes), indicator(p_closed, nodes), average="micro", zero_division=0
    )
    table = precision_recall_fscore_support(y_counted, p_counted, zero_division=0)
    # Two empty sets agree fully: their rows get 1, which zero_division=1 gives only to them.
    return {
        "accuracy": accuracy_score(y, p),
        "jaccard": jaccard_score(y, p, average="samples", zero_division=1),
        "instance_f1": f1_score(y, p, average="samples", zero_division=1),
        "micro_f1": f1_score(y_counted, p_counted, average="micro", zero_division=0),
        "macro_f1": f1_score(y_counted, p_counted, average="macro", zero_division=0),
        "hamming_loss": hamming_loss(y_counted, p_counted),
        "hierarchical_precision": h_precision,
        "hierarchical_recall": h_recall,
        "hierarchical_f1": h_f1,
        "labels": [
            {"label": label, "precision": pr, "recall": rc, "f1": f1, "support": int(support)}
            for label, pr, rc, f1, support in zip(
                counted, *(column.tolist() for column in table), strict=True
            )
        ],
    }


def sign_test(truth: Sets, first: Sets, second: Sets) -> dict[str, Any]:
    labels = sorted({label for row in truth + first + second for label in row})
    y, a, b = (indicator(sets, labels) for sets in (truth, first, second))
    wins, losses = int(((a == y) & (b != y)).sum()), int(((a != y) & (b == y)).sum())
    p_value = binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
    return {"first_better": wins, "second_better": losses, "p_value": p_value}


def signed_rank(truth: Sets, first: Sets, second: Sets) -> dict[str, Any]:
    labels = sorted({label for row in truth for label in row})
    y = indicator(truth, labels)
    difference = np.subtract(
        *(f1_score(y, indicator(s, labels), average=None, zero_division=0) for s in (first, second))
    )
    difference = difference[difference != 0]
    if difference.size == 0:
        return {"statistic": 0.0, "p_value": 1.0}
    if difference.size > 50:
        method: Any = "asymptotic"
    elif np.unique(np.abs(difference)).size == difference.size:
        method = "exact"
    else:
        method = None  # SciPy's exact distribution has no ties
    result = wilcoxon(difference, method=method or "asymptotic", correction=False)
    return {
        "statistic": float(result.statistic),
        "p_value": float(result.pvalue) if method else None,
    }


def random_sets(random: np.random.Generator, rows: int, labels: int, mean: float) -> Sets:
    return [
        sorted(set(random.integers(0, labels, random.poisson(mean)).tolist())) for _ in range(rows)
    ]


def perturbed(random: np.random.Generator, sets: Sets, labels: int, rate: float) -> Sets:
    """The sets with some labels exchanged, dropped or added."""
    result = []
    for row in sets:
        kept = {int(x) if random.random() > rate else int(random.integers(labels)) for x in row}
        kept = {label for label in kept if random.random() > rate / 4}
        if random.random() < rate / 4:
            kept.add(int(random.integers(labels)))
        result.append(sorted(kept))
    return result


def random_edges(random: np.random.Generator, nodes: int, shape: str) -> list[tuple[int, int]]:
    """A tree or DAG with the single root 0, a forest of two trees, or no edges."""
    if shape == "flat":
        return []
    tops = 2 if shape == "forest" else 1
    edges = [(int(random.integers(child)), child) for child in range(tops, nodes)]
    if shape == "dag":
        extra = {
            (int(random.integers(c)), c) for c in random.integers(1, nodes, nodes // 3).tolist()
        }
        edges = sorted(set(edges) | extra)
    return edges


def case(random: np.random.Generator, name: str, shape: str, **size: Any) -> dict[str, Any]:
    nodes = size["nodes"]
    known = nodes + size.get("unknown", 0)
    edges = random_edges(random, nodes, shape)
    truth = random_sets(random, size["rows"], known, size["mean"])
    if size.get("single"):
        truth = [[int(random.integers(known))] for _ in range(size["rows"])]
    first = perturbed(random, truth, nodes, 0.3)
    second = perturbed(random, truth, nodes, 0.5)
    trained = sorted(set(random.integers(0, nodes, 2 * nodes).tolist()))
    return {
        "name": name,
        "num_nodes": nodes,
        "edges": edges,
        "in_training": trained,
        "truth": truth,
        "first": first,
        "second": second,
        "metrics": metrics(truth, first, edges, nodes, trained),
        "micro_sign_test": sign_test(truth, first, second),
        "macro_wilcoxon": signed_rank(truth, first, second),
    }


def main() -> None:
    random = np.random.default_rng(20131115)
    cases = [
        case(random, "single_label_tree", "tree", rows=60, nodes=12, mean=1, single=True),
        case(random, "multi_label_tree", "tree", rows=60, nodes=20, mean=2.5),
        case(random, "multi_label_dag", "dag", rows=60, nodes=20, mean=2.5),
        case(random, "forest_with_unknown_labels", "forest", rows=40, nodes=9, mean=1.5, unknown=3),
        case(random, "flat_with_empty_sets", "flat", rows=50, nodes=6, mean=0.7),
        case(random, "many_labels", "tree", rows=400, nodes=120, mean=2),
        case(random, "one_row", "flat", rows=1, nodes=3, mean=2),
    ]
    text = json.dumps(cases, separators=(",", ":"), default=float)
    path = Path(__file__).parent / "metrics.json"
    path.write_text(text.replace('{"name"', '\n{"name"') + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
