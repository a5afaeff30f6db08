#!/usr/bin/env python3
"""Writes small generated files of the kinds that docs/own_data.md trains on.

usage: make_files.py FOLDER

Products as CSV with paths, a vocabulary in SKOS (RDF/XML) with documents in Annif's form, titles
as JSON lines with decimal numbers, genes with an ontology in OBO and annotations in GAF, and rows
of numbers of very different scales as CSV. Each has training rows and others (.train, .test).
"""

import csv
import json
import random
import sys
from pathlib import Path
from typing import Any

NUM_TRAIN, NUM_TEST = 240, 120
Rows = list[dict[str, Any]]


def words(topic: str, rng: random.Random, count: int = 8) -> str:
    """Words of which half tell the topic."""
    own = [f"{topic}{k}" for k in range(6)]
    common = [f"word{k}" for k in range(40)]
    return " ".join(rng.choice(own if rng.random() < 0.5 else common) for _ in range(count))


def split(folder: Path, name: str, rows: list[Any], write: Any) -> None:
    """The first rows for training, the others for test."""
    parts = {"train": rows[:NUM_TRAIN], "test": rows[NUM_TRAIN:]}
    for part, some in parts.items():
        stem, ending = name.split(".")
        with open(folder / f"{stem}.{part}.{ending}", "w", encoding="utf-8", newline="") as file:
            write(file, some)


def write_csv(file: Any, rows: Rows) -> None:
    """Rows as CSV with a header."""
    writer = csv.DictWriter(file, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)


def products(rng: random.Random) -> Rows:
    """Titles, prices and paths; every department has accessories."""
    rows = []
    for _ in range(NUM_TRAIN + NUM_TEST):
        department = rng.choice(["Phones", "Books", "Garden"])
        shelf = rng.choice(["Accessories", "New", "Used & Rare"])
        title = f"{words(department.lower(), rng, 5)} {words(shelf[:3].lower(), rng, 5)}"
        price = "" if rng.random() < 0.1 else f"{rng.lognormvariate(3, 1):.2f}"
        rows.append({"title": title, "price": price, "department": department, "shelf": shelf})
    return rows


CONCEPTS = {
    "animals": "",
    "mammals": "animals",
    "birds": "animals",
    "plants": "",
    "trees": "plants",
}
LEAVES = ["mammals", "birds", "trees"]


def vocabulary() -> str:
    """Concepts in RDF/XML."""
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"',
        '    xmlns:skos="http://www.w3.org/2004/02/skos/core#" xml:base="http://example.org/">',
    ]
    for name, broader in CONCEPTS.items():
        above = f'<skos:broader rdf:resource="{broader}"/>' if broader else ""
        label = f'<skos:prefLabel xml:lang="en">{name.capitalize()}</skos:prefLabel>'
        lines.append(f'  <skos:Concept rdf:about="{name}">{label}{above}</skos:Concept>')
    return "\n".join([*lines, "</rdf:RDF>"]) + "\n"


def documents(rng: random.Random) -> list[str]:
    """A text and the URIs of one or two concepts per line."""
    lines = []
    for _ in range(NUM_TRAIN + NUM_TEST):
        subjects = rng.sample(LEAVES, rng.choice([1, 1, 2]))
        text = " ".join(words(subject, rng) for subject in subjects)
        uris = " ".join(f"<http://example.org/{subject}>" for subject in subjects)
        lines.append(f"{text}\t{uris}\n")
    return lines


def titles(rng: random.Random) -> list[str]:
    """Objects with a title and a number whose prefixes are the classes above."""
    lines = []
    for _ in range(NUM_TRAIN + NUM_TEST):
        number = rng.choice(["512", "515", "519", "530", "537", "820", "823", "830"])
        title = " ".join(words(f"t{number[:n]}t", rng, 4) for n in (1, 2, 3))
        lines.append(json.dumps({"title": title, "ddc": number}) + "\n")
    return lines


TERMS = {1: [], 2: [1], 3: [1], 4: [2], 5: [2, 3], 6: [3]}


def ontology() -> str:
    """Terms, one of which is below two others."""
    text = "format-version: 1.2\n"
    for term, above in TERMS.items():
        text += f"\n[Term]\nid: GO:{term:07}\nname: process {term}\n"
        text += "".join(f"is_a: GO:{parent:07}\n" for parent in above)
    return text


def genes(rng: random.Random) -> tuple[Rows, str]:
    """Measurements of each gene, and its annotations with one or two terms."""
    rows, annotations = [], "!gaf-version: 2.2\n"
    for number in range(NUM_TRAIN + NUM_TEST):
        gene, terms = f"G{number}", rng.sample([4, 5, 6], rng.choice([1, 1, 2]))
        row: dict[str, Any] = {"gene": gene}
        for k in range(6):
            centre = sum(2.0 for term in terms if (term + k) % 3 == 0)
            row[f"m{k}"] = f"{10 ** (k - 2) * (centre + rng.gauss(0, 0.7)):.4g}"
        rows.append(row)
        for term in terms:
            cells = [
                "DB",
                gene,
                gene,
                "involved_in",
                f"GO:{term:07}",
                "PMID:1",
                "EXP",
                "",
                "P",
                gene,
            ]
            annotations += "\t".join([*cells, "", "protein", "taxon:1", "20240101", "DB", "", ""])
            annotations += "\n"
    return rows, annotations


def measurements(rng: random.Random) -> Rows:
    """Columns from thousandths to thousands, some cells empty."""
    rows = []
    for _ in range(NUM_TRAIN + NUM_TEST):
        kind = rng.randrange(3)
        row: dict[str, Any] = {}
        for k in range(5):
            value = 10.0 ** (k - 2) * (1.5 * (kind == k % 3) + rng.gauss(3, 0.6))
            row[f"x{k}"] = "" if rng.random() < 0.05 else f"{value:.4g}"
        rows.append({**row, "class": f"kind {kind}"})
    return rows


def main() -> None:
    """Writes all files."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random(1)
    lines = lambda file, some: file.writelines(some)  # noqa: E731
    split(folder, "products.csv", products(rng), write_csv)
    (folder / "vocabulary.rdf").write_text(vocabulary(), encoding="utf-8")
    split(folder, "documents.tsv", documents(rng), lines)
    split(folder, "titles.jsonl", titles(rng), lines)
    (folder / "terms.obo").write_text(ontology(), encoding="utf-8")
    rows, annotations = genes(rng)
    (folder / "genes.gaf").write_text(annotations, encoding="utf-8")
    split(folder, "genes.csv", rows, write_csv)
    split(folder, "measurements.csv", measurements(rng), write_csv)


if __name__ == "__main__":
    main()
