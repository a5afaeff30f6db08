"""Three small data sets with structured labels for examples.

`python -m margrove.datasets NAME FOLDER` writes the files of a data set for the `margrove` program.
"""

import argparse
import csv
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from margrove.hierarchy import Hierarchy

__all__ = ["load_animals", "load_genes", "load_products", "write"]

Part = Literal["train", "test"]
_DATA = files("margrove") / "data"
_PARTS: tuple[Part, Part] = ("train", "test")
_FILES = {
    "animals": ("animals.train.txt", "animals.test.txt", "animals.hierarchy.txt"),
    "products": ("products.train.csv", "products.test.csv"),
    "genes": ("genes.train.txt", "genes.test.txt", "genes.hierarchy.txt"),
}


def _lines(name: str) -> list[str]:
    return (_DATA / name).read_text(encoding="utf-8").splitlines()


def _hierarchy(name: str) -> Hierarchy:
    return Hierarchy.of([tuple(line.split()) for line in _lines(f"{name}.hierarchy.txt")])


def load_animals(part: Part = "train") -> Bunch:
    """Glosses of animals from WordNet 3.0, labelled with the kind of animal.

    1,246 training and 296 test documents; 112 of the 173 nodes of a tree are labels, inner ones
    among them. `data`: a list of texts; `target`: the labels; `hierarchy`. The texts are
    WordNet's, copyright 2006 by Princeton University, whose licence allows use and distribution
    for any purpose with this notice.
    """
    pairs = [line.split("\t", 1) for line in _lines(f"animals.{_checked(part)}.txt")]
    return Bunch(
        data=[text for _, text in pairs],
        target=np.array([label for label, _ in pairs]),
        hierarchy=_hierarchy("animals"),
        DESCR=load_animals.__doc__,
    )


def load_products(part: Part = "train") -> Bunch:
    """Synthetic product titles of a shop, labelled with the paths of their shelves.

    600 training and 200 test products. `data`: a list of titles; `price`: an array, NaN where it is
    missing; `target`: paths such as ["Phones", "Accessories", "Batteries"], which are their own
    hierarchy. Equal names occur below several parents.
    """
    rows = list(csv.DictReader(_lines(f"products.{_checked(part)}.csv")))
    return Bunch(
        data=[row["title"] for row in rows],
        price=np.array([float(row["price"].replace(",", "") or "nan") for row in rows]),
        target=[row["category"].split(" > ") for row in rows],
        DESCR=load_products.__doc__,
    )


def load_genes(part: Part = "train") -> Bunch:
    """Synthetic measurements of genes, labelled with sets of functions.

    600 training and 200 test rows of 20 columns. `data`: an array; `target`: a list of sets of one
    to three functions; `hierarchy`: a directed acyclic graph, in which three functions have two
    parents.
    """
    data: list[list[float]] = []
    target: list[set[str]] = []
    for line in _lines(f"genes.{_checked(part)}.txt"):
        labels, *features = line.split()
        data.append([float(feature.split(":")[1]) for feature in features])
        target.append(set(labels.split(",")))
    rows: NDArray[np.float32] = np.array(data, dtype=np.float32)
    return Bunch(data=rows, target=target, hierarchy=_hierarchy("genes"), DESCR=load_genes.__doc__)


def _checked(part: str) -> str:
    if part not in _PARTS:
        raise ValueError(f"part is {part!r}, but must be 'train' or 'test'")
    return part


def write(name: str, folder: Any) -> list[Path]:
    """Writes the files of a data set into a folder, which it creates; returns their paths."""
    if name not in _FILES:
        raise ValueError(f"name is {name!r}, but must be one of {', '.join(_FILES)}")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    return list(_written(name, folder))


def _written(name: str, folder: Path) -> Iterator[Path]:
    for file in _FILES[name]:
        path = folder / file.removeprefix(f"{name}.")
        path.write_bytes((_DATA / file).read_bytes())
        yield path


def _main() -> None:
    parser = argparse.ArgumentParser(prog="python -m margrove.datasets")
    parser.add_argument("name", choices=list(_FILES))
    parser.add_argument("folder")
    arguments = parser.parse_args()
    for path in write(arguments.name, arguments.folder):
        print(path)


if __name__ == "__main__":
    _main()
