"""Small data sets of every kind, for tools that run the program on all of them.

`make_sets(program, data, folder)` writes one folder for each set below `folder`. They are samples
of the public sets in the folder `data`; if that is None they are generated, with the same names.

    tree     one leaf per row (train, test), its hierarchy, pairs.txt (a label graph)
    text     the same as documents
    counts   word counts, a deeper hierarchy
    dense    few columns, all of them used, one leaf per row
    sets     several labels per row on a tree
    dag      several labels per row on a graph whose nodes have several parents
    field    several labels per row without a hierarchy
    chain    tagged sentences: train, test
    parse    dependency trees: train, test
    kernel   few rows in two views, train and train.more, test and test.more
"""

import csv
import itertools
import os
import random
import subprocess
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

Parts = dict[str, str]  # the text of each file of a set


def shared_data(root: Path) -> Path | None:
    """The folder that MARGROVE_DATA names, or else shared/data next to the repository `root`."""
    given = os.environ.get("MARGROVE_DATA")
    folder = Path(given) if given else root.parent / "shared" / "data"
    return folder if folder.is_dir() else None


def every(step: int, lines: Sequence[str], count: int) -> list[str]:
    """At most `count` lines, every `step`-th one, because files are often sorted by label."""
    return list(lines[::step][:count])


def joined(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def labels_of(rows: Iterable[str]) -> list[list[str]]:
    """The labels of SVMlight rows."""
    return [row.split(maxsplit=1)[0].split(",") for row in rows if not row.startswith(" ")]


def pairs_of(rows: Iterable[str]) -> str:
    """A label graph: a path through the labels of the rows."""
    labels = sorted({label for labels in labels_of(rows) for label in labels})
    return joined(f"{a} {b}" for a, b in itertools.pairwise(labels))


def above(edges: Iterable[str], labels: Iterable[str]) -> str:
    """The lines `parent child` of a hierarchy above the labels."""
    parents: dict[str, list[str]] = {}
    lines = list(edges)
    for line in lines:
        parent, child = line.split()
        parents.setdefault(child, []).append(parent)
    kept: set[str] = set()
    waiting = list(labels)
    while waiting:
        node = waiting.pop()
        if node not in kept:
            kept.add(node)
            waiting += parents.get(node, [])
    return joined(line for line in lines if line.split()[1] in kept)


# Samples of the public sets.


def svm_sample(
    folder: Path, train: tuple[int, int], test: tuple[int, int], hierarchy: bool = True
) -> Parts:
    """(step, count) of the training and of the test rows; the hierarchy is cut to their labels."""
    rows = {part: lines_of(folder / f"{part}.svm") for part in ("train", "test")}
    sample = {"train": every(train[0], rows["train"], train[1])}
    seen = {label for labels in labels_of(sample["train"]) for label in labels}
    known = [
        row for row in rows["test"] if all(seen.issuperset(labels) for labels in labels_of([row]))
    ]
    sample["test"] = every(test[0], known, test[1])
    parts = {part: joined(lines) for part, lines in sample.items()}
    if hierarchy:
        parts["hierarchy"] = above(lines_of(folder / "hierarchy.txt"), seen)
        parts["pairs"] = pairs_of(sample["train"])
    return parts


def text_sample(folder: Path, train: tuple[int, int], test: tuple[int, int]) -> Parts:
    """The documents of a set whose rows are in NAME.svm and their texts in NAME.txt."""
    parts = {}
    for part, (step, count) in (("train", train), ("test", test)):
        rows = lines_of(folder / f"{part}.svm")
        texts = lines_of(folder / f"{part}.txt")
        documents = [
            f"{row.split(maxsplit=1)[0]}\t{text}" for row, text in zip(rows, texts, strict=True)
        ]
        parts[part] = joined(every(step, documents, count))
    parts["hierarchy"] = "".join(f"{line}\n" for line in lines_of(folder / "hierarchy.txt"))
    return parts


def sentence_sample(paths: tuple[Path, Path], counts: tuple[int, int], longest: int) -> Parts:
    """The first sentences of a training and a test file, up to so many lines long."""
    parts = {}
    for part, path, count in zip(("train", "test"), paths, counts, strict=True):
        sentences = path.read_text(encoding="utf-8").strip().split("\n\n")
        short = [s for s in sentences if s.count("\n") < longest]
        parts[part] = "\n\n".join(short[:count]) + "\n\n"
    return parts


def csv_rows(path: Path, labels: Sequence[str], step: int) -> list[str]:
    """SVMlight rows of a table of numbers, each column divided by its largest absolute value."""
    with path.open(encoding="utf-8", newline="") as file:
        table = [[float(value) for value in row] for row in csv.reader(file)]
    scales = [max(map(abs, column)) or 1.0 for column in zip(*table, strict=True)]
    rows = []
    for label, values in zip(labels[::step], table[::step], strict=True):
        cells = (
            f"{j + 1}:{v / s:.6g}" for j, (v, s) in enumerate(zip(values, scales, strict=True))
        )
        rows.append(f"{label} {' '.join(cells)}")
    return rows


def view_sample(folder: Path, step: int) -> Parts:
    """Two views of the digits; every other row is a test row."""
    labels = lines_of(folder / "labels.csv")
    parts = {}
    for name, file in (("", "zer.csv"), (".more", "mor.csv")):
        rows = csv_rows(folder / file, labels, step)
        parts[f"train{name}"] = joined(rows[::2])
        parts[f"test{name}"] = joined(rows[1::2])
    return parts


def public_sets(data: Path) -> dict[str, Parts]:
    treebank, tweets = data / "ud-english-ewt", data / "wnut17"
    return {
        "tree": svm_sample(data / "clinc150", (6, 2500), (20, 225)),
        "text": text_sample(data / "clinc150", (15, 1000), (20, 225)),
        "counts": svm_sample(data / "lshtc-small-valtrain", (7, 270), (8, 232)),
        "dense": svm_sample(data / "clef", (20, 500), (5, 200)),
        "sets": svm_sample(data / "enron-hmc", (3, 330), (3, 220)),
        "dag": svm_sample(data / "cellcycle-go", (40, 40), (4, 100)),
        "field": svm_sample(data / "yeast", (10, 150), (9, 100), hierarchy=False),
        "chain": sentence_sample((tweets / "train.conll", tweets / "test.conll"), (250, 100), 40),
        "parse": sentence_sample((treebank / "dev.conllu", treebank / "test.conllu"), (60, 40), 16),
        "kernel": view_sample(data / "mfeat", 10),
    }


# Generated sets: every label has its own words, and rows are words of their labels and noise.


class Topics:
    """Draws words; the same seed draws the same."""

    def __init__(self, labels: Sequence[str], seed: int, words: int = 4) -> None:
        self.labels = labels
        self.random = random.Random(seed)
        self.words = {
            label: range(1 + i * words, 1 + (i + 1) * words) for i, label in enumerate(labels)
        }
        self.last = 20 + len(labels) * words

    def counts(self, labels: Sequence[str]) -> dict[int, int]:
        """How often each word, numbered from 1, occurs in a row with these labels."""
        drawn = [self.random.choice(self.words[label]) for label in labels for _ in range(4)]
        drawn += [self.random.randint(1, self.last) for _ in range(5)]
        return {word: drawn.count(word) for word in sorted(set(drawn))}

    def row(self, labels: Sequence[str]) -> str:
        cells = " ".join(f"{word}:{count}" for word, count in self.counts(labels).items())
        return f"{','.join(labels)} {cells}"

    def document(self, labels: Sequence[str]) -> str:
        words = " ".join(f"w{word} " * count for word, count in self.counts(labels).items())
        return f"{','.join(labels)}\t{words}"

    def sets(self, rows: int, largest: int) -> list[list[str]]:
        """Label sets of 1 to `largest` labels; the first ones have every label once."""
        sizes = range(1, largest + 1)
        drawn = [[label] for label in self.labels]
        while len(drawn) < rows:
            drawn.append(self.random.sample(self.labels, self.random.choice(sizes)))
        return drawn


def topic_set(labels: Sequence[str], hierarchy: str, rows: int, largest: int) -> Parts:
    topics = Topics(labels, seed=len(labels) + largest)
    train = [topics.row(labels) for labels in topics.sets(rows, largest)]
    test = [topics.row(labels) for labels in topics.sets(rows // 2, largest)]
    parts = {"train": joined(train), "test": joined(test)}
    return parts | ({"hierarchy": hierarchy, "pairs": pairs_of(train)} if hierarchy else {})


def text_set(labels: Sequence[str], hierarchy: str, rows: int) -> Parts:
    topics = Topics(labels, seed=5)
    parts = {
        part: joined(topics.document(labels) for labels in topics.sets(count, 1))
        for part, count in (("train", rows), ("test", rows // 2))
    }
    return parts | {"hierarchy": hierarchy}


def grown_tree(depth: int, children: int) -> tuple[list[str], str]:
    """Leaves and lines of a complete tree whose nodes are named by their paths."""
    level, edges = ["r"], []
    for _ in range(depth):
        below = [(node, f"{node}{i}") for node in level for i in range(children)]
        edges += [f"{parent} {child}" for parent, child in below]
        level = [child for _, child in below]
    return level, joined(edges)


def grown_dag() -> tuple[list[str], str]:
    """A complete tree in which some leaves are also children of the next inner node."""
    leaves, tree = grown_tree(3, 3)
    inner = sorted({leaf[:-1] for leaf in leaves})
    extra = [
        f"{inner[(inner.index(leaf[:-1]) + 1) % len(inner)]} {leaf}"
        for leaf in leaves
        if leaf.endswith("0")
    ]
    return leaves, tree + joined(extra)


def tagged_set() -> Parts:
    """Sentences whose tags follow from a word and its neighbour."""
    draw = random.Random(7)

    def sentence() -> str:
        words = [draw.randint(0, 40) for _ in range(draw.randint(3, 12))]
        tags = ["O", "B-a", "B-b"]
        pairs = zip(words, [0, *words], strict=False)
        return joined(f"w{word}\t{tags[(word + before % 2) % 3]}" for word, before in pairs)

    return {
        part: "".join(f"{sentence()}\n" for _ in range(count))
        for part, count in (("train", 200), ("test", 80))
    }


def parsed_set() -> Parts:
    """Trees in which nouns depend on the verb, and other words on the noun after them."""
    draw = random.Random(11)

    def token(i: int, kind: str, head: int, relation: str) -> str:
        form = f"{kind.lower()}{draw.randint(0, 9)}"
        return "\t".join([str(i), form, form, kind, "_", "_", str(head), relation, "_", "_"])

    def sentence() -> str:
        verb = 2 * draw.randint(1, 3) + 1
        lines = []
        for i in range(1, verb):
            kind, head = ("ADJ", i + 1) if i % 2 else ("NOUN", verb)
            lines.append(token(i, kind, head, "amod" if i % 2 else "nsubj"))
        lines.append(token(verb, "VERB", 0, "root"))
        lines.append(token(verb + 1, "ADJ", verb + 2, "amod"))
        lines.append(token(verb + 2, "NOUN", verb, "obj"))
        return joined(lines)

    return {
        part: "".join(f"{sentence()}\n" for _ in range(count))
        for part, count in (("train", 60), ("test", 30))
    }


def two_views() -> Parts:
    """Rows whose class depends on a number in each of the two views."""
    draw = random.Random(13)
    parts: Parts = {}
    for part, count in (("train", 120), ("test", 60)):
        first: list[str] = []
        second: list[str] = []
        for i in range(count):
            a, b = 1 - 2 * (i % 2), 1 - 2 * (i // 2 % 2)
            values = [draw.gauss(a, 0.4), draw.gauss(0, 0.4)], [draw.gauss(b, 0.4)] * 2
            for rows, cells in zip((first, second), values, strict=True):
                text = " ".join(f"{j + 1}:{value:.4f}" for j, value in enumerate(cells))
                rows.append(f"{i % 4} {text}")
        parts |= {part: joined(first), f"{part}.more": joined(second)}
    return parts


def generated_sets() -> dict[str, Parts]:
    leaves, tree = grown_tree(3, 3)
    many, deep = grown_tree(5, 2)
    dag_leaves, dag = grown_dag()
    return {
        "text": text_set(leaves, tree, 300),
        "counts": topic_set(many, deep, 300, 1),
        "sets": topic_set(leaves, tree, 250, 3),
        "dag": topic_set(dag_leaves, dag, 150, 3),
        "field": topic_set(leaves[:8], "", 150, 3),
        "chain": tagged_set(),
        "parse": parsed_set(),
        "kernel": two_views(),
    }


def program_sets(run: Callable[..., object], folder: Path) -> None:
    """tree and dense, which the program itself generates."""
    for name, kind, depth, columns in (
        ("tree", "balanced", 4, 200),
        ("dense", "unbalanced", 6, 20),
    ):
        place = folder / name
        place.mkdir()
        common = ["--num-features", str(columns), "--depth", str(depth), "--seed", "1"]
        train = ["--num-rows", "400", "--hierarchy", str(place / "hierarchy")]
        run("generate", kind, *common, *train, str(place / "train"))
        test = ["--num-rows", "200", "--first-row", "400"]
        run("generate", kind, *common, *test, str(place / "test"))
        (place / "pairs").write_text(pairs_of(lines_of(place / "train")), encoding="utf-8")


def make_sets(program: Path, data: Path | None, folder: Path) -> None:
    """Writes every set below `folder`; takes about a second."""

    def run(*arguments: str) -> None:
        subprocess.run([str(program), *arguments], check=True, capture_output=True)

    if data is None:
        program_sets(run, folder)
    for name, parts in (generated_sets() if data is None else public_sets(data)).items():
        place = folder / name
        place.mkdir()
        for part, text in parts.items():
            (place / part).write_text(text, encoding="utf-8")
