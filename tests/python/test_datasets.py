"""The data sets inside the package: what their descriptions say, and that they are learnable."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import margrove
import numpy as np
import pytest
from margrove import datasets
from sklearn.feature_extraction.text import TfidfVectorizer

ROOT = Path(__file__).resolve().parents[2]
NOUNS = Path("/usr/share/wordnet/data.noun")


def counts_of(description: str) -> list[int]:
    found = re.search(r"([\d,]+) training and ([\d,]+) test", description)
    assert found
    return [int(number.replace(",", "")) for number in found.groups()]


@pytest.mark.parametrize(
    "load", [datasets.load_animals, datasets.load_products, datasets.load_genes]
)
def test_sizes_are_as_described(load: Callable[..., Any]) -> None:
    sets = [load(), load("test")]
    assert [len(each.data) for each in sets] == counts_of(sets[0].DESCR)
    assert [len(each.target) for each in sets] == counts_of(sets[0].DESCR)
    with pytest.raises(ValueError, match="part is 'all', but must be 'train' or 'test'"):
        load("all")


def test_nodes_of_hierarchies_are_as_described() -> None:
    animals, genes = datasets.load_animals(), datasets.load_genes()
    labels = set(animals.target) | set(datasets.load_animals("test").target)
    described = f"{len(labels)} of the {len(animals.hierarchy.nodes)} nodes"
    assert described in animals.DESCR
    inner = {parent for parent, _ in animals.hierarchy.edges}
    assert labels & inner
    parents = genes.hierarchy.parents()
    assert sum(len(above) == 2 for above in parents.values()) == 3


def test_equal_names_of_products_stand_below_several_parents() -> None:
    paths = {tuple(path) for path in datasets.load_products().target}
    assert len({path[-1] for path in paths}) < len(paths)


def test_they_can_be_learned() -> None:
    train, test = datasets.load_products(), datasets.load_products("test")
    words = TfidfVectorizer()
    model = margrove.NHSVC().fit(words.fit_transform(train.data), train.target)
    assert model.score(words.transform(test.data), test.target) > 0.8
    genes, unseen = datasets.load_genes(), datasets.load_genes("test")
    sets = margrove.HSVC(hierarchy=genes.hierarchy).fit(genes.data, genes.target)
    assert sets.score(unseen.data, unseen.target) > 0.4
    assert np.isnan(train.price).any()


def test_files_are_written_for_the_program(tmp_path: Path) -> None:
    run = [sys.executable, "-m", "margrove.datasets", "genes", str(tmp_path / "genes")]
    written = subprocess.run(run, check=True, capture_output=True, text=True).stdout.split()
    assert [Path(path).name for path in written] == ["train.txt", "test.txt", "hierarchy.txt"]
    assert (tmp_path / "genes" / "hierarchy.txt").read_text().startswith("process process0\n")
    with pytest.raises(ValueError, match="name is 'plants', but must be one of animals, products"):
        datasets.write("plants", tmp_path)


@pytest.mark.skipif(not NOUNS.exists(), reason="no data: WordNet is not installed")
def test_files_are_those_of_their_generator(tmp_path: Path) -> None:
    generator = ROOT / "tools" / "make_datasets.py"
    subprocess.run([sys.executable, generator, "--output", tmp_path, NOUNS], check=True)
    shipped = ROOT / "python" / "margrove" / "data"
    assert {path.name for path in shipped.iterdir()} == {path.name for path in tmp_path.iterdir()}
    for path in tmp_path.iterdir():
        assert path.read_bytes() == (shipped / path.name).read_bytes(), path.name
