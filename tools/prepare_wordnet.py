#!/usr/bin/env python3
"""Turns the nouns of WordNet into a taxonomy with documents, in Margrove's text format.

Input is WordNet 3.0's data.noun (Debian package wordnet-base; its format is wndb(5WN)). A document
is a synset's lemmas and gloss; its label is the synset's first hypernym. Only labels with at least
--min-children such documents are kept. The hierarchy is the tree of first hypernyms above the
labels. The split depends on the synset's number only.

usage: tools/prepare_wordnet.py [--min-children 10] [--test-share 0.2] DATA_NOUN OUTPUT_DIRECTORY

Writes train.txt and test.txt (label<TAB>text, one document per line) and hierarchy.txt (parent
child, one edge per line).
"""

import argparse
import hashlib
import re
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

HYPERNYMS = ("@", "@i")  # of classes and of instances
SATELLITE = re.compile(r"\((?:a|p|ip)\)$")


@dataclass(frozen=True)
class Synset:
    """One line of data.noun: its lemmas, its gloss and its first hypernym."""

    offset: str
    lemmas: tuple[str, ...]
    gloss: str
    parent: str | None


def parse_synset(line: str) -> Synset:
    """synset_offset lex_filenum ss_type w_cnt word lex_id [...] p_cnt [ptr...] | gloss"""
    fields, _, gloss = line.partition(" | ")
    words = fields.split()
    num_lemmas = int(words[3], 16)
    lemmas = tuple(SATELLITE.sub("", words[4 + 2 * k]) for k in range(num_lemmas))
    pointers_at = 4 + 2 * num_lemmas
    num_pointers = int(words[pointers_at])
    parent = None
    for k in range(num_pointers):
        symbol, target, part_of_speech, _ = words[pointers_at + 1 + 4 * k :][:4]
        if symbol in HYPERNYMS and part_of_speech == "n":
            parent = target
            break
    return Synset(words[0], lemmas, gloss.strip(), parent)


def read_synsets(lines: Iterable[str], source: str) -> dict[str, Synset]:
    """The synsets by offset; lines that begin with blanks are the licence."""
    synsets = {}
    for number, line in enumerate(lines, start=1):
        if line.startswith(" ") or not line.strip():
            continue
        try:
            synset = parse_synset(line)
        except (IndexError, ValueError):
            raise SystemExit(f"{source}:{number}: not a synset of WordNet's format") from None
        synsets[synset.offset] = synset
    return synsets


def label_names(synsets: dict[str, Synset]) -> dict[str, str]:
    """A synset's first lemma, followed by its offset if several synsets begin with that lemma.

    Commas and a leading # have a meaning in label columns and become underscores.
    """
    lemmas = {offset: re.sub(r"^#|,", "_", s.lemmas[0]) for offset, s in synsets.items()}
    uses = Counter(lemmas.values())
    return {
        offset: lemma if uses[lemma] == 1 else f"{lemma}.{offset}"
        for offset, lemma in lemmas.items()
    }


def text_of(synset: Synset) -> str:
    words = " ".join(lemma.replace("_", " ") for lemma in synset.lemmas)
    return re.sub(r"\s+", " ", f"{words}: {synset.gloss}")


def in_test(offset: str, share: float) -> bool:
    """By the first 32 bits of a hash, so that the split needs no random numbers."""
    digest = hashlib.sha256(f"wordnet-noun-{offset}".encode()).digest()
    return int.from_bytes(digest[:4], "big") < share * 2**32


def edges_above(labels: Iterable[str], synsets: dict[str, Synset]) -> list[tuple[str, str]]:
    """The edges (parent, child) from the labels up to their tops, by the child's offset."""
    edges: dict[str, str] = {}
    for label in labels:
        child = label
        while (parent := synsets[child].parent) is not None and child not in edges:
            edges[child] = parent
            child = parent
    return [(edges[child], child) for child in sorted(edges)]


def prepare(
    synsets: dict[str, Synset], output: Path, min_children: int, test_share: float
) -> dict[str, int]:
    """Writes the three files; returns their numbers of lines."""
    sizes = Counter(s.parent for s in synsets.values() if s.parent in synsets)
    labels = sorted(offset for offset, size in sizes.items() if offset and size >= min_children)
    names = label_names(synsets)
    chosen = set(labels)
    lines: dict[str, list[str]] = {"train.txt": [], "test.txt": [], "hierarchy.txt": []}
    for offset in sorted(synsets):
        synset = synsets[offset]
        if synset.parent in chosen and synset.parent is not None:
            file = "test.txt" if in_test(offset, test_share) else "train.txt"
            lines[file].append(f"{names[synset.parent]}\t{text_of(synset)}")
    for parent, child in edges_above(labels, synsets):
        lines["hierarchy.txt"].append(f"{names[parent]} {names[child]}")
    output.mkdir(parents=True, exist_ok=True)
    for file, content in lines.items():
        (output / file).write_text("".join(f"{line}\n" for line in content), encoding="utf-8")
    return {file: len(content) for file, content in lines.items()} | {"labels": len(labels)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--min-children", type=int, default=10)
    parser.add_argument("--test-share", type=float, default=0.2)
    parser.add_argument("data_noun", type=Path)
    parser.add_argument("output", type=Path)
    arguments = parser.parse_args()
    with open(arguments.data_noun, encoding="utf-8") as file:
        synsets = read_synsets(file, str(arguments.data_noun))
    counts = prepare(synsets, arguments.output, arguments.min_children, arguments.test_share)
    print(
        f"{arguments.output}: {counts['train.txt']} training and {counts['test.txt']} test "
        f"documents, {counts['labels']} labels, {counts['hierarchy.txt']} edges"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
