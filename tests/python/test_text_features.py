"""Terms of texts and their weights, against scikit-learn."""

import math
import pickle
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from margrove import FlatSVC, TextFeatures
from margrove.datasets import load_animals
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

RUNS = r"(?u)\b\w+\b"
WORDS = r"(?u)[\u3041-\u309f\u4e00-\u9fff]|\w+"  # ideographs and Hiragana are words
TEXTS = [
    "The cat sat on the mat, and the cat ate.",
    "A dog: the dog, the DOG!",
    "Été à la plage; la mer",
    "",
    "cats dogs catalogue of cat-dogs, a",
    "x",
    "日本語 ひらがな 日本",
]


def words_only(text: str) -> str:
    return " ".join(re.findall(RUNS, text.lower()))


def animals() -> list[str]:
    return list(load_animals().data)


def of_words(**options: Any) -> TextFeatures:
    """Terms that are single words where the options say nothing else, also those of one row."""
    words: dict[str, Any] = {"word_ngrams": "1", "char_ngrams": "none", "min_ngram_frequency": 1}
    return TextFeatures(**(words | options))


def assert_equal(
    ours: TextFeatures, theirs: TfidfVectorizer, texts: list[str], quotes: str
) -> None:
    X = ours.fit_transform(texts)
    Y = sp.csr_array(theirs.fit_transform(texts))
    names = [quotes + name + quotes for name in theirs.get_feature_names_out()]
    order = sorted(range(len(names)), key=lambda j: names[j].encode())
    assert ours.get_feature_names_out().tolist() == [names[j] for j in order]
    assert abs(X - Y[:, order]).max() < 2e-6
    held_out = ["the cat and a new dog", "nothing", "la mer"]
    Y = sp.csr_array(theirs.transform(held_out))
    assert abs(ours.transform(held_out) - Y[:, order]).max() < 2e-6


def test_lengths_may_be_pairs_as_in_scikit_learn() -> None:
    pairs: list[tuple[Any, Any]] = [((1, 2), "1-2"), ((2, 2), "2"), ([3, 5], "3-5")]
    for pair, text in pairs:
        for option in ("word_ngrams", "char_ngrams"):
            ours, given = TextFeatures(**{option: pair}), TextFeatures(**{option: text})
            assert abs(ours.fit_transform(TEXTS) - given.fit_transform(TEXTS)).max() == 0
            assert list(ours.get_feature_names_out()) == list(given.get_feature_names_out())
            assert getattr(clone(ours), option) == pair
    wrongs: list[Any] = [(1,), (1, 2, 3), (1.0, 2.0), ("1", "2")]
    for wrong in wrongs:
        with pytest.raises(ValueError, match=r"word_ngrams is .*, but must be a text or a pair"):
            TextFeatures(word_ngrams=wrong).fit(TEXTS)
    with pytest.raises(ValueError, match="n-grams: lengths are '2-1'"):
        TextFeatures(word_ngrams=(2, 1)).fit(TEXTS)


@pytest.mark.parametrize("sublinear", [True, False])
@pytest.mark.parametrize("lengths", [(1, 1), (1, 2), (2, 2), (1, 3)])
@pytest.mark.parametrize("stop", [None, ["the", "a", "of"]])
def test_word_ngrams_equal_scikit_learn(
    sublinear: bool, lengths: tuple[int, int], stop: list[str] | None
) -> None:
    theirs = TfidfVectorizer(
        token_pattern=WORDS, ngram_range=lengths, sublinear_tf=sublinear, stop_words=stop
    )
    ours = of_words(
        word_ngrams=f"{lengths[0]}-{lengths[1]}", sublinear_tf=sublinear, stop_words=stop
    )
    for texts in (TEXTS, animals()):
        assert_equal(ours, theirs, texts, "")


@pytest.mark.parametrize("lengths", [(3, 5), (1, 1), (2, 9), (6, 6)])
def test_char_ngrams_equal_char_wb(lengths: tuple[int, int]) -> None:
    theirs = TfidfVectorizer(
        analyzer="char_wb", ngram_range=lengths, sublinear_tf=True, preprocessor=words_only
    )
    ours = of_words(word_ngrams="none", char_ngrams=f"{lengths[0]}-{lengths[1]}")
    for texts in (TEXTS, animals()):
        assert_equal(ours, theirs, texts, "'")


@pytest.mark.parametrize("min_df", [1, 2])
@pytest.mark.parametrize("share", [1.0, 0.3])
def test_document_frequencies_equal_scikit_learn(min_df: int, share: float) -> None:
    theirs = TfidfVectorizer(token_pattern=WORDS, min_df=min_df, max_df=share, sublinear_tf=True)
    ours = of_words(min_document_frequency=min_df, max_document_share=share)
    assert_equal(ours, theirs, animals(), "")


def test_max_terms_keeps_those_in_most_texts() -> None:
    texts = ["b b b b c", "a c", "d a", "e"]
    ours = of_words(max_terms=2).fit(texts)
    assert ours.get_feature_names_out().tolist() == ["a", "c"]


def test_bm25_is_as_defined() -> None:
    k1, b = 1.5, 0.6
    texts = animals()
    ours = of_words(term_weights="bm25", bm25_k1=k1, bm25_b=b)
    X = ours.fit_transform(texts).toarray()
    counts = [Counter(re.findall(RUNS, text.lower())) for text in texts]
    average = sum(c.total() for c in counts) / len(counts)
    frequency = Counter(term for c in counts for term in c)
    column = {term: j for j, term in enumerate(ours.get_feature_names_out())}
    Y = np.zeros_like(X)
    for i, c in enumerate(counts):
        for term, t in c.items():
            n, df = len(texts), frequency[term]
            idf = math.log(1 + (n - df + 0.5) / (df + 0.5))
            weight = t * (k1 + 1) / (t + k1 * (1 - b + b * c.total() / average))
            Y[i, column[term]] = idf * weight
    Y /= np.linalg.norm(Y, axis=1, keepdims=True)
    np.testing.assert_allclose(X, Y, atol=2e-6)


def test_hashed_terms_are_those_with_names_in_other_columns(tmp_path: Path) -> None:
    texts = animals()
    hashed = TextFeatures(word_ngrams="1-2", min_document_frequency=2, hash_features=2**30)
    named = TextFeatures(word_ngrams="1-2", min_document_frequency=2)
    ours, theirs = hashed.fit_transform(texts), named.fit_transform(texts)
    assert ours.shape == theirs.shape
    order = np.lexsort(ours.toarray()), np.lexsort(theirs.toarray())
    np.testing.assert_allclose(
        ours.toarray()[:, order[0]], theirs.toarray()[:, order[1]], rtol=1e-6
    )
    names = hashed.get_feature_names_out()
    assert len(names) == ours.shape[1]
    assert all(re.fullmatch("hash [0-9]+", name) for name in names)
    again = pickle.loads(pickle.dumps(hashed))
    np.testing.assert_array_equal(again.transform(texts).toarray(), ours.toarray())
    few = TextFeatures(hash_features=50, hash_seed=1).fit(texts)
    assert few.transform(texts).shape[1] <= 50
    other = TextFeatures(hash_features=50, hash_seed=2).fit(texts)
    assert (few.transform(texts[:9]).toarray() != other.transform(texts[:9]).toarray()).any()


def test_the_default_is_words_and_pairs_and_runs_of_several_rows() -> None:
    ours = TextFeatures().fit(["red fox", "red fox", "one owl"])
    assert ours.get_feature_names_out().tolist() == [
        "' fox'", "' red'", "'fox '", "'red '", "fox", "one", "owl", "red", "red fox",
    ]  # fmt: skip


def test_fit_transform_is_fit_and_transform() -> None:
    for options in ({}, {"char_ngrams": "2-5"}, {"hash_features": 99}, {"stem": "english"}):
        once, apart = TextFeatures(**options), TextFeatures(**options)
        assert (
            abs(once.fit_transform(animals()) - apart.fit(animals()).transform(animals())).max()
            == 0
        )
        assert list(once.get_feature_names_out()) == list(apart.get_feature_names_out())
    with pytest.raises(TypeError, match=r"fit_transform takes X and y, but was given \['z'\]"):
        TextFeatures().fit_transform(TEXTS, z=1)
    with pytest.warns(UserWarning, match="^X: 1 text has no term"):
        TextFeatures().fit_transform(["a", "..."])


def test_words_and_characters_together() -> None:
    ours = of_words(char_ngrams="3").fit(["cat scat"])
    assert ours.get_feature_names_out().tolist() == [
        "' ca'", "' sc'", "'at '", "'cat'", "'sca'", "cat", "scat",
    ]  # fmt: skip


def test_works_in_pipelines_and_is_pickled_and_cloned(tmp_path: Path) -> None:
    data = load_animals()
    features = TextFeatures(word_ngrams="1-2", stop_words=["the"], term_weights="bm25")
    assert clone(features).get_params() == features.get_params()
    pipeline = make_pipeline(features, FlatSVC()).fit(data.data, data.target)
    again: Any = pickle.loads(pickle.dumps(pipeline))
    assert again.predict(data.data).tolist() == pipeline.predict(data.data).tolist()
    names = again[0].get_feature_names_out().tolist()
    assert names == pipeline[0].get_feature_names_out().tolist()


@pytest.mark.parametrize(
    ("options", "texts", "message"),
    [
        ({"word_ngrams": "2-1"}, TEXTS, "n-grams: lengths are '2-1', but must be none, N or FIRST"),
        ({"word_ngrams": "none", "char_ngrams": "none"}, TEXTS, "both are none"),
        ({"term_weights": "bm26"}, TEXTS, "option term_weights is 'bm26', but must be one of"),
        ({"max_document_share": 0.0}, TEXTS, r"option max_document_share is 0, but must be in"),
        (
            {"stop_words": "the"},
            TEXTS,
            "stop words: the language is 'the', but must be one of danish",
        ),
        ({}, "one text", "X is one text, but must be a list of texts"),
        ({}, ["a", 3], "X.1. is 3, but must be a text"),
    ],
)
def test_wrong_options_and_texts_are_refused(options: Any, texts: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TextFeatures(**options).fit(texts)


def test_stop_words_of_a_language() -> None:
    texts = ["the house of the man", "a man is here"]
    by_name = of_words(stop_words="english").fit(texts)
    assert list(by_name.get_feature_names_out()) == ["house", "man"]
    assert clone(by_name).stop_words == "english"
    model = FlatSVC(text_features=by_name).fit(texts, ["x", "y"])
    assert list(model.predict(texts)) == ["x", "y"]
    with pytest.raises(ValueError, match=r"; did you mean 'english'\?"):
        TextFeatures(stop_words="englsh").fit(texts)
