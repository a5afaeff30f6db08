#!/usr/bin/env python3
"""Writes src/data/unicode_tables.inc: characters of words, lower case, full case folding, and the
normal forms C and KC.

A word character is a letter, a digit or another number (Python's str.isalnum) or '_'. Marks are the
characters of the categories Mn and Mc. Lower case is Unicode's mapping of single characters;
characters whose lower case is longer than one keep only their first; foldings that are the lower
case have no entry. Ideographs and Hiragana stand alone, as in the rules of UAX #29. Hangul
syllables have no entries among the decompositions, because they are computed.

usage: tools/make_unicode_tables.py > src/data/unicode_tables.inc
"""

import sys
import unicodedata
from collections.abc import Iterator

SURROGATES = range(0xD800, 0xE000)


def is_word(code: int) -> bool:
    return code not in SURROGATES and (chr(code).isalnum() or chr(code) == "_")


# Characters that change how a word looks, but not which word it is: soft hyphen, tatweel, the
# combining grapheme joiner, controls of direction, word joiners, variation selectors.
UNSEEN = {
    *(0x00AD, 0x034F, 0x061C, 0x0640, 0x200E, 0x200F, 0xFEFF),
    *range(0x180B, 0x1810),
    *range(0x202A, 0x202F),
    *range(0x2060, 0x2070),
    *range(0xFE00, 0xFE10),
    *range(0xE0100, 0xE01F0),
}
JOINERS = {0x200C, 0x200D}  # ZWNJ, ZWJ


def can_follow() -> set[int]:
    """Characters that NFC may join with the one before."""
    second = {b for _, b in compositions()}
    return second | set(range(0x1161, 0x1176)) | set(range(0x11A8, 0x11C3))  # vowels, finals


# The beginnings of names of characters that are ideographic by Unicode's property, or Hiragana.
ALONE = (
    "CJK UNIFIED IDEOGRAPH-",
    "CJK COMPATIBILITY IDEOGRAPH-",
    "HANGZHOU NUMERAL ",
    "HIRAGANA ",
    "HENTAIGANA ",
    "IDEOGRAPHIC ITERATION MARK",
    "IDEOGRAPHIC CLOSING MARK",
    "IDEOGRAPHIC NUMBER ZERO",
    "KHITAN SMALL SCRIPT CHARACTER-",
    "NUSHU CHARACTER-",
    "TANGUT COMPONENT-",
    "TANGUT IDEOGRAPH-",
    "VERTICAL IDEOGRAPHIC ITERATION MARK",
)
KATAKANA = ("KATAKANA ", "HALFWIDTH KATAKANA", "KATAKANA-HIRAGANA PROLONGED", "SQUARED KATAKANA")


def use_of(code: int, second: set[int]) -> str:
    """The flags of kUses; '0' for characters without any."""
    if code in SURROGATES:
        return "0"
    c = chr(code)
    category = unicodedata.category(c)
    is_mark = category in ("Mn", "Mc")
    may_change = is_mark or code in second or not unicodedata.is_normalized("NFC", c)
    flags = [
        ("kLetter", is_word(code)),
        ("kMark", is_mark and code not in UNSEEN),
        # Marks that surround a letter only decorate it.
        ("kUnseen", code in UNSEEN or category == "Me"),
        ("kJoiner", code in JOINERS),
        ("kAlone", is_word(code) and unicodedata.name(c, "").startswith(ALONE)),
        ("kDigit", category in ("Nd", "No")),
        ("kKatakana", is_word(code) and unicodedata.name(c, "").startswith(KATAKANA)),
    ]
    names = [name for name, holds in flags if holds]
    if names and may_change:
        names.append("kMayChange")
    return " | ".join(names) or "0"


def use_runs() -> Iterator[tuple[int, int, str]]:
    """Runs (first, last, use) of characters of the same use."""
    second = can_follow()
    start, use = 0, "0"
    for code in range(sys.maxunicode + 2):
        next_use = use_of(code, second) if code <= sys.maxunicode else "0"
        if next_use == use:
            continue
        if use != "0":
            yield start, code - 1, use
        start, use = code, next_use


def class_runs() -> Iterator[tuple[int, int, int]]:
    """Runs (first, last, class) of characters of the same canonical combining class, not 0."""
    start = value = 0
    for code in range(sys.maxunicode + 2):
        following = unicodedata.combining(chr(code)) if code <= sys.maxunicode else 0
        if following == value:
            continue
        if value != 0:
            yield start, code - 1, value
        start, value = code, following


def decompositions() -> dict[int, tuple[int, int]]:
    """One step of canonical decomposition: two characters, or one and 0."""
    found = {}
    for code in range(sys.maxunicode + 1):
        parts = unicodedata.decomposition(chr(code)).split()
        if parts and not parts[0].startswith("<"):
            numbers = [int(part, 16) for part in parts]
            found[code] = (numbers[0], numbers[1] if len(numbers) > 1 else 0)
    return found


def compositions() -> dict[tuple[int, int], int]:
    """The pairs that NFC joins."""
    return {
        pair: code
        for code, pair in decompositions().items()
        if pair[1] and unicodedata.is_normalized("NFC", chr(code))
    }


def lower_runs() -> Iterator[tuple[int, int, int, int]]:
    """Runs (first, last, stride, shift): every stride-th character moves by shift."""
    mapped = [
        (code, ord(chr(code).lower()[0]) - code)
        for code in range(sys.maxunicode + 1)
        if code not in SURROGATES and chr(code).lower()[0] != chr(code)
    ]
    at = 0
    while at < len(mapped):
        first, shift = mapped[at]
        stride, last, at = 1, first, at + 1
        while at < len(mapped) and mapped[at][1] == shift:
            step = mapped[at][0] - last
            if last == first and step in (1, 2):
                stride = step
            elif step != stride:
                break
            last, at = mapped[at][0], at + 1
        yield first, last, stride, shift


def compatible() -> dict[int, str]:
    """The form KD of characters for which it is not the form D."""
    return {
        code: unicodedata.normalize("NFKD", chr(code))
        for code in range(sys.maxunicode + 1)
        if unicodedata.normalize("NFKD", chr(code)) != unicodedata.normalize("NFD", chr(code))
    }


def folded() -> dict[int, str]:
    """The full case folding of characters for which it is not the lower case."""
    return {
        code: chr(code).casefold()
        for code in range(sys.maxunicode + 1)
        if chr(code).casefold() != chr(code).lower()[0]
    }


def print_mappings(name: str, mappings: dict[int, str]) -> None:
    """Entries (character, place, size), and the texts in which these places are."""
    texts = "".join(dict.fromkeys(mappings.values()))
    print(f"constexpr Mapping k{name}[] = {{")
    print_rows([(code, texts.index(to), len(to)) for code, to in sorted(mappings.items())])
    print("};")
    print(f"constexpr char32_t k{name}Texts[] = {{")
    for k in range(0, len(texts), 12):
        print("    " + " ".join(f"{ord(c):#x}," for c in texts[k : k + 12]))
    print("};")


def print_rows(rows: list[tuple[int, ...]]) -> None:
    """Three entries a line."""
    texts = ["{" + ", ".join(f"{value:#x}" for value in row) + "}," for row in rows]
    for k in range(0, len(texts), 3):
        print("    " + " ".join(texts[k : k + 3]))


def main() -> None:
    print(
        f"// Generated by tools/make_unicode_tables.py from Unicode {unicodedata.unidata_version}."
    )
    print("// clang-format off")
    print("constexpr UseRun kUses[] = {")
    for first, last, use in use_runs():
        print(f"    {{{first:#x}, {last:#x}, {use}}},")
    print("};")
    print("constexpr LowerRun kLowerRuns[] = {")
    for first, last, stride, shift in lower_runs():
        print(f"    {{{first:#x}, {last:#x}, {stride}, {shift}}},")
    print("};")
    print("constexpr ClassRun kClasses[] = {")
    print_rows(list(class_runs()))
    print("};")
    print("constexpr Decomposition kDecompositions[] = {")
    print_rows([(code, *pair) for code, pair in sorted(decompositions().items())])
    print("};")
    print("constexpr Composition kCompositions[] = {")
    print_rows([(*pair, code) for pair, code in sorted(compositions().items())])
    print("};")
    print_mappings("Compatible", compatible())
    print_mappings("Folded", folded())
    print("// clang-format on")


if __name__ == "__main__":
    main()
