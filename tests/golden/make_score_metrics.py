#!/usr/bin/env python3
"""Writes tests/golden/score_metrics.json: scores, and what scikit-learn makes of them.

The C++ tests of eval/ must find the same values. Run again only to add cases:
    .venv/bin/python tests/golden/make_score_metrics.py
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, coverage_error, ndcg_score

RANKS = [1, 2, 5]


def case(
    random: np.random.Generator, name: str, rows: int, columns: int, *, decimals: int, empty: bool
) -> dict[str, Any]:
    """Rows of few decimals have ties, which rankings and scikit-learn's nDCG break differently."""
    truth = (random.random((rows, columns)) < 0.25).astype(int)
    if not empty:
        truth[np.arange(rows), random.integers(0, columns, rows)] = 1
    truth[:, 0] = 0  # a node that is never true
    scores = np.round(truth + random.normal(size=truth.shape), decimals)
    values: dict[str, float] = {
        f"au_prc_{average}": average_precision_score(
            truth[:, truth.any(0)] if average != "micro" else truth,
            scores[:, truth.any(0)] if average != "micro" else scores,
            average=average,
        )
        for average in ("micro", "macro", "weighted")
    }
    values["f_max"] = f_max(truth, scores)
    kept = truth.any(1)  # rows without labels have nothing to rank
    values["coverage_error"] = coverage_error(truth[kept], scores[kept])
    if decimals > 3:
        for k in RANKS:
            values[f"ndcg_at_{k}"] = ndcg_score(truth[kept], scores[kept], k=k)
    return {
        "name": name,
        "truth": [np.flatnonzero(row).tolist() for row in truth],
        "scores": scores.tolist(),
        "values": values,
    }


def f_max(truth: NDArray[np.int64], scores: NDArray[np.float64]) -> float:
    """CAFA's, at every threshold."""
    best = 0.0
    for threshold in np.unique(scores):
        chosen = scores >= threshold
        some, true = chosen.any(1), truth.any(1)
        hits = (chosen & (truth == 1)).sum(1)
        precision = float((hits[some] / chosen[some].sum(1)).mean())
        recall = float((hits[true] / truth[true].sum(1)).mean())
        if precision + recall > 0:
            best = max(best, 2 * precision * recall / (precision + recall))
    return best


def main() -> None:
    random = np.random.default_rng(20150210)
    cases = [
        case(random, "distinct_scores", 30, 9, decimals=6, empty=False),
        case(random, "tied_scores", 40, 8, decimals=0, empty=False),
        case(random, "rows_without_labels", 25, 6, decimals=6, empty=True),
        case(random, "many_rows", 300, 7, decimals=5, empty=False),
    ]
    text = json.dumps(cases, separators=(",", ":"), default=float)
    path = Path(__file__).parent / "score_metrics.json"
    path.write_text(text.replace('{"name"', '\n{"name"') + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
