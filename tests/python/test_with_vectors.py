"""with_vectors: a sparse matrix and dense vectors of the same rows side by side."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from margrove import FlatSVC, TextFeatures, with_vectors

LABELS = ["lamp", "sofa", "shoe"] * 12
TITLES = [f"{label} n{k % 7}" for k, label in enumerate(LABELS)]
RANDOM = np.random.default_rng(5)
E = (RANDOM.normal(size=(36, 20)) + 3 * np.eye(3, 20)[[0, 1, 2] * 12]).astype(np.float32)
E[4, 7] = 0
X = TextFeatures().fit_transform(TITLES)


def test_columns_are_those_of_both_in_their_shares() -> None:
    joined = with_vectors(X, E, share=0.6)
    assert isinstance(joined, sp.csr_array)
    assert joined.dtype == np.float32
    assert joined.shape == (36, X.shape[1] + 20)
    dense = joined.toarray()
    np.testing.assert_allclose(dense[:, :-20], 0.4**0.5 * X.toarray(), rtol=1e-6)
    unit = E / np.linalg.norm(E, axis=1, keepdims=True)
    np.testing.assert_allclose(dense[:, -20:], 0.6**0.5 * unit, rtol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(dense, axis=1), 1, rtol=1e-6)


def test_zeros_of_vectors_are_entries() -> None:
    vectors = E.copy()
    vectors[0] = 0
    joined = with_vectors(X, vectors)
    assert joined.has_canonical_format
    assert joined.nnz == X.nnz + 36 * 20
    for i in range(36):
        columns = joined.indices[joined.indptr[i] : joined.indptr[i + 1]]
        np.testing.assert_array_equal(columns[-20:], X.shape[1] + np.arange(20))
    np.testing.assert_array_equal(joined.toarray()[0, -20:], 0)


def test_a_row_does_not_depend_on_the_others() -> None:
    vectors = np.tile(E, (60, 1))  # more rows than are scaled at once
    joined = with_vectors(sp.vstack([X] * 60, format="csr"), vectors).toarray()
    np.testing.assert_array_equal(joined, np.tile(with_vectors(X, E).toarray(), (60, 1)))
    alone = with_vectors(X[[5]], E[[5]]).toarray()
    np.testing.assert_array_equal(joined[[5]], alone)


@pytest.mark.parametrize(
    "form",
    [
        sp.csr_matrix,
        sp.csc_array,
        sp.coo_array,
        lambda x: x.astype(np.float64),
        sp.csr_array.toarray,
    ],
)
def test_every_form_of_rows_is_taken(form: Any) -> None:
    before = X.copy()
    joined = with_vectors(form(X), E)
    assert joined.dtype == np.float32
    np.testing.assert_array_equal(joined.toarray(), with_vectors(X, E).toarray())
    np.testing.assert_array_equal(X.toarray(), before.toarray())


def test_every_form_of_vectors_is_taken(tmp_path: Path) -> None:
    np.save(tmp_path / "e.npy", E)
    expected = with_vectors(X, E).toarray()
    mapped = np.load(tmp_path / "e.npy", mmap_mode="r")
    for vectors in (mapped, E.astype(np.float64), np.asfortranarray(E), E.tolist()):
        np.testing.assert_array_equal(with_vectors(X, vectors).toarray(), expected)
    whole = np.rint(4 * E).astype(np.int64)
    np.testing.assert_array_equal(
        with_vectors(X, whole).toarray(), with_vectors(X, whole.astype(np.float32)).toarray()
    )


def test_rows_are_those_of_columns_of_vectors_to_the_bit() -> None:
    frame = {"title": TITLES, "e": E}
    model = FlatSVC(text="title", vector_columns="e", vector_share=0.4).fit(frame, LABELS)
    pointers, columns, values = model._rows(frame)[1:]
    joined = with_vectors(X, E, share=0.4)
    np.testing.assert_array_equal(joined.indptr, pointers)
    np.testing.assert_array_equal(joined.indices, columns)
    np.testing.assert_array_equal(joined.data, values)


def test_models_learn_from_both() -> None:
    model = FlatSVC().fit(with_vectors(X, E), LABELS)
    assert model.score(with_vectors(X, E), LABELS) == 1
    empty = sp.csr_array(X.shape, dtype=np.float32)
    assert model.score(with_vectors(empty, E), LABELS) > 0.9


def test_no_rows_and_no_columns_are_taken() -> None:
    assert with_vectors(X[:0], E[:0]).shape == (0, X.shape[1] + 20)
    assert with_vectors(sp.csr_array((36, 0)), E).shape == (36, 20)


NAN = E.copy()
NAN[3, 2] = np.nan
LARGE = E.astype(np.float64)
LARGE[35, 19] = -1e300


@pytest.mark.parametrize(
    ("message", "arguments"),
    [
        (r"^vectors: it has 35 rows, but must have 36 as X$", (X, E[1:])),
        (r"^share is 1, but must be in \(0, 1\)$", (X, E, 1)),
        (r"^share is 0.0, but must be in \(0, 1\)$", (X, E, 0.0)),
        (r"^share is nan, but must be in \(0, 1\)$", (X, E, float("nan"))),
        (
            r"^vectors: it has the shape \(36,\), but must have two dimensions, rows and columns$",
            (X, E[:, 0]),
        ),
        (r"^vectors: it has the shape \(1, 36, 20\), but must", (X, E[None])),
        (r"^X: it has the shape \(20,\), but must have two dimensions", (E[0], E)),
        (r"^vectors: it is sparse, but must be a dense array$", (X, sp.csr_array(E))),
        (
            r"^vectors\[3, 2\] is nan, but must be a number that fits a 32-bit float, not NaN or "
            r"infinity$",
            (X, NAN),
        ),
        (r"^vectors\[35, 19\] is -1e\+300, but must be a number that fits", (X, LARGE)),
    ],
)
def test_wrong_arguments_are_named(message: str, arguments: Any) -> None:
    with pytest.raises(ValueError, match=message):
        with_vectors(*arguments)
