"""The preparation of WordNet, on a data.noun of a few lines."""

from pathlib import Path

import pytest

from tools import prepare_wordnet

LICENCE = "  1 This software and database is being provided to you\n"


def synset(offset: int, lemmas: list[str], pointers: list[str], gloss: str) -> str:
    words = " ".join(f"{lemma} 0" for lemma in lemmas)
    links = " ".join([f"{len(pointers):03d}", *pointers])
    return f"{offset:08d} 03 n {len(lemmas):02x} {words} {links} | {gloss}  \n"


def hypernym(offset: int, symbol: str = "@") -> str:
    return f"{symbol} {offset:08d} n 0000"


FAKE = [
    LICENCE,
    synset(1, ["entity"], [], "what is"),
    synset(2, ["animal", "beast"], [hypernym(1)], "moves; eats"),
    synset(3, ["bank"], [hypernym(1)], "a slope"),
    synset(4, ["bank", "depository"], [hypernym(1)], "an institution"),
    synset(5, ["dog", "domestic_dog"], ["~ 00000009 n 0000", hypernym(2), hypernym(3)], "barks"),
    synset(6, ["cat"], [hypernym(2)], 'purrs; "a cat | a mat"'),
    synset(7, ["river_bank"], [hypernym(3)], "wet"),
    synset(8, ["Levee"], [hypernym(3, "@i")], "dry"),
    synset(9, ["puppy"], [hypernym(5)], "small"),
]


def prepared(tmp_path: Path, lines: list[str], share: float = 0.0) -> dict[str, list[str]]:
    synsets = prepare_wordnet.read_synsets(lines, "data.noun")
    prepare_wordnet.prepare(synsets, tmp_path, min_children=2, test_share=share)
    return {path.name: path.read_text(encoding="utf-8").splitlines() for path in tmp_path.iterdir()}


def test_documents_are_lemmas_and_gloss_labelled_by_the_first_hypernym(tmp_path: Path) -> None:
    assert prepared(tmp_path, FAKE)["train.txt"] == [
        "entity\tanimal beast: moves; eats",
        "entity\tbank: a slope",
        "entity\tbank depository: an institution",
        "animal\tdog domestic dog: barks",
        'animal\tcat: purrs; "a cat | a mat"',
        "bank.00000003\triver bank: wet",
        "bank.00000003\tLevee: dry",
    ]


def test_the_hierarchy_is_the_tree_of_first_hypernyms_above_the_labels(tmp_path: Path) -> None:
    assert prepared(tmp_path, FAKE)["hierarchy.txt"] == ["entity animal", "entity bank.00000003"]


def test_the_split_takes_every_document_once_and_does_not_depend_on_the_order(
    tmp_path: Path,
) -> None:
    lines = [synset(1, ["top"], [], "all")]
    lines += [synset(k, [f"word{k}"], [hypernym(1)], "one") for k in range(2, 502)]
    forward = prepared(tmp_path / "a", lines, share=0.2)
    backward = prepared(tmp_path / "b", lines[::-1], share=0.2)
    assert forward == backward
    assert len(forward["train.txt"]) + len(forward["test.txt"]) == 500
    assert not set(forward["train.txt"]) & set(forward["test.txt"])
    assert 60 <= len(forward["test.txt"]) <= 140


def test_a_damaged_line_ends_with_file_and_line() -> None:
    with pytest.raises(SystemExit, match=r"data\.noun:2: not a synset"):
        prepare_wordnet.read_synsets([LICENCE, "00000001 03 n zz\n"], "data.noun")


def test_labels_have_no_characters_with_a_meaning_in_label_columns() -> None:
    synsets = prepare_wordnet.read_synsets([synset(1, ["1,000"], [], "number")], "data.noun")
    assert prepare_wordnet.label_names(synsets) == {"00000001": "1_000"}
