"""The metrics of bench/library_peers.py on rows that are counted by hand."""

import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "bench"))
import ranking_metrics

# Three rows of four labels: {0}, {1, 2}, {3}. The last row's label is not among its answers.
TRUTH = sp.csr_matrix(np.array([[1, 0, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1]]))
RANKING = np.array([[0, 1, 2], [3, 2, 1], [0, -1, -1]])
INVERSE = np.array([1.0, 2.0, 4.0, 8.0])


def test_precision_counts_the_places_that_are_right() -> None:
    hits = ranking_metrics.hits_of(RANKING, TRUTH)
    assert hits.tolist() == [[1, 0, 0], [0, 1, 1], [0, 0, 0]]
    assert ranking_metrics.precision(hits, 1) == pytest.approx(1 / 3)
    assert ranking_metrics.precision(hits, 3) == pytest.approx(3 / 9)
    # Places beyond the ranking are empty ones.
    assert ranking_metrics.precision(hits, 5) == pytest.approx(3 / 15)


def test_ndcg_is_the_mean_of_gains_over_the_best_possible_ones() -> None:
    hits = ranking_metrics.hits_of(RANKING, TRUTH)
    second = (1 / np.log2(3) + 1 / np.log2(4)) / (1 + 1 / np.log2(3))
    for k in (3, 5):
        assert ranking_metrics.ndcg(hits, [1, 2, 1], k) == pytest.approx((1 + second + 0) / 3)
    assert ranking_metrics.ndcg(hits, [1, 2, 1], 1) == pytest.approx(1 / 3)


def test_psp_is_a_sum_over_rows_divided_by_the_best_one() -> None:
    # One place: 1 of the first row; of the best ranking 1, 4 (the rarer label of two) and 8.
    assert ranking_metrics.psp(RANKING, TRUTH, INVERSE, 1) == pytest.approx(1 / 13)
    # Three places: 1, then 4 and 2; the best has 1, 6 and 8.
    assert ranking_metrics.psp(RANKING, TRUTH, INVERSE, 3) == pytest.approx(7 / 15)


def test_propensities_are_those_of_jain_and_others() -> None:
    c = (np.log(100) - 1) * 2.5**0.55
    found = ranking_metrics.inverse_propensities([0, 10], 100)
    assert found == pytest.approx([1 + c / 1.5**0.55, 1 + c / 11.5**0.55])


def test_a_ranking_of_the_labels_themselves_is_perfect() -> None:
    perfect = np.array([[0, 1, 3], [2, 1, 0], [3, 0, 1]])
    values = ranking_metrics.figures(perfect, TRUTH, INVERSE)
    assert [values[m] for m in ("P@1", "nDCG@5", "nDCG@10", "PSP@1", "PSP@5")] == [1] * 5
