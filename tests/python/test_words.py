"""Words of texts in all scripts, against Python's own database of characters."""

import sys
import unicodedata
import warnings
from collections.abc import Iterable
from itertools import islice

import numpy as np
import pytest
from margrove import FlatSVC, TextFeatures

# The version of Unicode that the tables are from (src/data/unicode_tables.inc).
same_unicode = pytest.mark.skipif(
    unicodedata.unidata_version != "14.0.0", reason="needs the tables' version of Unicode"
)
UNSEEN = {0xAD, 0x34F, 0x61C, 0x640, 0x200E, 0x200F, 0xFEFF, *range(0x180B, 0x1810)}
UNSEEN |= {*range(0x202A, 0x202F), *range(0x2060, 0x2070), *range(0xFE00, 0xFE10)}
UNSEEN |= {*range(0xE0100, 0xE01F0)}
JOINERS = "\u200c\u200d"


# The beginnings of the names of characters that are words, and of Katakana.
ALONE = ("CJK UNIFIED IDEO", "CJK COMPATIBILITY IDEO", "HANGZHOU NUM", "HIRAGANA ", "HENTAIGANA ",
         "IDEOGRAPHIC ITERATION MARK", "IDEOGRAPHIC CLOSING MARK", "IDEOGRAPHIC NUMBER ZERO",
         "KHITAN SMALL SCRIPT CHARACTER-", "NUSHU CHARACTER-", "TANGUT COMPONENT-",
         "TANGUT IDEOGRAPH-", "VERTICAL IDEOGRAPHIC ITERATION MARK")  # fmt: skip
KATAKANA = ("KATAKANA ", "HALFWIDTH KATAKANA", "KATAKANA-HIRAGANA PROLONGED ", "SQUARED KATAKANA")


def script_of(c: str) -> str:
    name = unicodedata.name(c, "")
    return "alone" if name.startswith(ALONE) else "katakana" * name.startswith(KATAKANA)


def expected_words(text: str) -> list[str]:
    """The rule of docs/formats.md, the slow way: the normal form of the whole text comes first."""
    text = "".join(c for c in text if ord(c) not in UNSEEN and unicodedata.category(c) != "Me")
    text = "".join(c.lower()[0] for c in unicodedata.normalize("NFC", text))
    words, word, script = [], "", ""
    for c in unicodedata.normalize("NFC", text) + " ":
        belongs = unicodedata.category(c) in ("Mn", "Mc") or c in JOINERS
        is_letter = c.isalnum() or c == "_"
        if is_letter and word and ("alone" in (script, script_of(c)) or script != script_of(c)):
            words.append(word.rstrip(JOINERS))
            word = ""
        if is_letter or (word and belongs):
            script = script_of(c) if is_letter else script
            word += c
        elif word:
            words.append(word.rstrip(JOINERS))
            word = ""
    return words


def words_of(texts: Iterable[str]) -> list[str]:
    terms = TextFeatures(word_ngrams="1", char_ngrams="none").fit(["sentinel", *texts])
    return list(terms.get_feature_names_out())


def assert_words(texts: list[str]) -> None:
    expected = {"sentinel", *(word for text in texts for word in expected_words(text))}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of texts without words
        assert words_of(texts) == sorted(expected, key=str.encode)


def characters() -> list[str]:
    """Every assigned character."""
    codes = (c for c in range(sys.maxunicode + 1) if not 0xD800 <= c < 0xE000)
    return [chr(c) for c in codes if unicodedata.category(chr(c)) != "Cn"]


@same_unicode
def test_every_character_alone_and_decomposed() -> None:
    for form in ("NFC", "NFD", "NFKD"):
        assert_words([unicodedata.normalize(form, c) for c in characters()])
    assert_words(characters())


@same_unicode
def test_every_character_within_a_word() -> None:
    assert_words([f"x{c}" for c in characters()])
    assert_words([f"Ä{c}\u0323\u0301y" for c in characters()])
    assert_words([f"\u1100{c}\u11a8" for c in characters()])


@same_unicode
def test_random_marks_are_ordered_and_composed() -> None:
    rng = np.random.default_rng(7)
    marks = [c for c in characters() if unicodedata.category(c) in ("Mn", "Mc")]
    decomposed = [d for c in characters() for d in [unicodedata.normalize("NFD", c)] if len(d) > 1]
    bases = [d[0] for d in decomposed]
    parts = [*marks, *(m for d in decomposed for m in d[1:])]
    texts = []
    for _ in range(20000):
        chosen = rng.choice(len(parts), size=rng.integers(1, 6))
        texts.append(bases[rng.integers(len(bases))] + "".join(parts[k] for k in chosen))
    assert_words(texts)
    for text in islice(texts, 200):  # whatever form the file has
        forms = [unicodedata.normalize(form, text) for form in ("NFC", "NFD")]
        assert len({tuple(words_of([form])) for form in [text, *forms]}) == 1


def test_words_of_many_scripts() -> None:
    texts = ["यह हिन्दी का वाक्य है।", "தமிழ் மொழி", "שָׁלוֹם", "كِتَاب كتـــاب", "สวัสดีครับ", "한국어"]
    expected = ["यह", "हिन्दी", "का", "वाक्य", "है", "தமிழ்", "மொழி", "שָׁלוֹם", "كِتَاب", "كتاب"]
    expected = [unicodedata.normalize("NFC", word) for word in [*expected, "สวัสดีครับ", "한국어"]]
    assert words_of(texts) == sorted([*expected, "sentinel"], key=str.encode)
    decomposed = [unicodedata.normalize("NFD", text) for text in texts]
    assert words_of(decomposed) == words_of(texts)


def test_texts_without_words_are_counted_or_refused() -> None:
    with pytest.warns(UserWarning, match=r"^X: 2 texts have no term \(a word, unless"):
        TextFeatures().fit(["a b", "...", ""])
    with pytest.warns(UserWarning, match=r"^X: 1 text has no term"):
        TextFeatures().fit(["a b", "..."])
    with pytest.raises(ValueError, match=r"^tfidf: none of the 2 texts has a term; words are made"):
        TextFeatures().fit(["!!! ???", ":-)"])
    with pytest.raises(ValueError, match="2 stop words are left out"):
        TextFeatures(stop_words=["a", "b"]).fit(["a", "b"])


def test_columns_without_words_need_other_columns() -> None:
    frame = {"t": ["...", "?"] * 4, "x": [1.0, -1.0] * 4}
    y = ["a", "b"] * 4
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        model = FlatSVC(text="t", numeric="x").fit(frame, y)
    assert model.score(frame, y) == 1
    with pytest.raises(ValueError, match="none of the 8 texts has a term"):
        FlatSVC(text="t").fit({"t": frame["t"]}, y)
    with pytest.warns(UserWarning, match="4 texts have no term"):
        FlatSVC(text="t").fit({"t": ["w", "?"] * 4}, y)
