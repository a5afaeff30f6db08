#!/usr/bin/env python3
"""Makes the small data sets that the Python package ships, in python/margrove/data.

- animals: those documents of tools/prepare_wordnet.py (with --min-children 8) whose label is
  WordNet's node `animal` or lies below it;
- products: made-up titles and prices of a shop, with paths as labels; equal names stand below
  several parents;
- genes: made-up measurements, with several labels each from a directed acyclic graph.

usage: tools/make_datasets.py [--output FOLDER] DATA_NOUN
"""

import argparse
import csv
import random
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOP = "animal"

# The words of titles: of departments, and of the articles that departments share.
DEPARTMENTS = {
    "Phones": ["phone", "mobile", "5G", "dual SIM"],
    "Laptops": ["laptop", "notebook", "15 inch", "14 inch"],
    "Cameras": ["camera", "mirrorless", "DSLR", "24 MP"],
    "Bicycles": ["bike", "bicycle", "mountain", "28 inch"],
    "Books": ["book", "novel", "paperback", "reading"],
}
ARTICLES = {
    "Bags & Cases": ["case", "bag", "sleeve", "cover"],
    "Batteries": ["battery", "charger", "power", "mAh"],
    "Lights": ["light", "lamp", "LED", "flash"],
    "Stands": ["stand", "holder", "mount", "tripod"],
}
PRICES = {"Bags & Cases": 20.0, "Batteries": 35.0, "Lights": 25.0, "Stands": 30.0}
DEVICES = {"Phones": 400.0, "Laptops": 900.0, "Cameras": 600.0, "Bicycles": 700.0, "Books": 15.0}
FILLERS = ["black", "white", "red", "new", "slim", "strong", "light-weight", "pro", "mini", "set"]
FILLERS += ["of", "2", "for", "travel"]
NO_BATTERIES = "Books"  # a department without that article


def products(count: int, seed: int) -> list[tuple[str, str, str]]:
    """Rows (title, price, path)."""
    rng = random.Random(seed)
    rows = []
    for _ in range(count):
        department = rng.choice(list(DEPARTMENTS))
        is_device = rng.random() < 0.3
        articles = [a for a in ARTICLES if (department, a) != (NO_BATTERIES, "Batteries")]
        article = "Devices" if is_device else rng.choice(articles)
        # Half of the titles of accessories do not name the department's first word.
        words = rng.sample(DEPARTMENTS[department], 2 if is_device else rng.choice([1, 1, 2]))
        if not is_device:
            words += rng.sample(ARTICLES[article], 2)
        words += rng.sample(FILLERS, 2)
        if rng.random() < 0.3:  # "fits", say, another department's devices, too
            words.append(rng.choice(DEPARTMENTS[rng.choice(list(DEPARTMENTS))]))
        rng.shuffle(words)
        usual = DEVICES[department] if is_device else PRICES[article]
        price = f"{usual * rng.lognormvariate(0, 0.3):.2f}" if rng.random() < 0.95 else ""
        below = "Devices" if is_device else f"Accessories > {article}"
        rows.append((" ".join(words), price, f"{department} > {below}"))
    return rows


def gene_graph() -> list[tuple[str, str]]:
    """Three levels below one root; every fourth function has two parents."""
    edges = [("process", f"process{k}") for k in range(4)]
    for k in range(12):
        edges.append((f"process{k % 4}", f"function{k}"))
        if k % 4 == 0:
            edges.append((f"process{(k + 1) % 4}", f"function{k}"))
    return edges


def genes(count: int, seed: int) -> list[str]:
    """Lines in SVMlight's format: 1 to 3 functions, and 20 noisy measurements."""
    rng = random.Random(seed)
    of_function = random.Random(7)
    num_columns = 20
    centres = [[of_function.gauss(0, 1) for _ in range(num_columns)] for _ in range(12)]
    lines = []
    for _ in range(count):
        functions = sorted(rng.sample(range(12), rng.choice([1, 1, 2, 3])))
        values = [
            sum(centres[k][j] for k in functions) + rng.gauss(0, 1.2) for j in range(num_columns)
        ]
        labels = ",".join(f"function{k}" for k in functions)
        features = " ".join(f"{j}:{value:.2f}" for j, value in enumerate(values, start=1))
        lines.append(f"{labels} {features}\n")
    return lines


def animals(data_noun: Path, folder: Path) -> None:
    """The part of WordNet's nouns below `animal`."""
    with tempfile.TemporaryDirectory() as made:
        prepare = [sys.executable, str(ROOT / "tools" / "prepare_wordnet.py")]
        prepare += ["--min-children", "8", str(data_noun), made]
        subprocess.run(prepare, check=True, stdout=subprocess.DEVNULL)
        children = defaultdict(list)
        edges = (Path(made) / "hierarchy.txt").read_text(encoding="utf-8").splitlines()
        for edge in edges:
            parent, child = edge.split()
            children[parent].append(child)
        below, unseen = {TOP}, [TOP]
        while unseen:
            fresh = [child for child in children[unseen.pop()] if child not in below]
            below.update(fresh)
            unseen += fresh
        kept = [edge for edge in edges if edge.split()[0] in below]
        (folder / "animals.hierarchy.txt").write_text("\n".join(kept) + "\n", encoding="utf-8")
        for part in ("train", "test"):
            lines = (Path(made) / f"{part}.txt").read_text(encoding="utf-8").splitlines()
            kept = [line for line in lines if line.split("\t")[0] in below]
            (folder / f"animals.{part}.txt").write_text("\n".join(kept) + "\n", encoding="utf-8")


def write_made_up(folder: Path) -> None:
    """Products and genes."""
    for part, count, seed in (("train", 600, 1), ("test", 200, 2)):
        with open(folder / f"products.{part}.csv", "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["title", "price", "category"])
            writer.writerows(products(count, seed))
        (folder / f"genes.{part}.txt").write_text("".join(genes(count, seed)), encoding="utf-8")
    edges = "".join(f"{parent} {child}\n" for parent, child in gene_graph())
    (folder / "genes.hierarchy.txt").write_text(edges, encoding="utf-8")


def main() -> None:
    """Writes all files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data_noun", type=Path, metavar="DATA_NOUN")
    parser.add_argument("--output", type=Path, default=ROOT / "python" / "margrove" / "data")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    write_made_up(arguments.output)
    animals(arguments.data_noun, arguments.output)


if __name__ == "__main__":
    main()
