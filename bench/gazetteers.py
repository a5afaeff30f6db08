"""What names of WordNet are worth as a gazetteer, with every surrogate for tags.

    python bench/gazetteers.py --program build/margrove --data DIR [--names data.noun] [--only SET]

Sets: wikigold (five folds, as in tagger_peers.py) and wnut17 (three seeds). A column of a token
says whether a name of a person, a place or a group has it; where names overlap, the longest one
counts. Each surrogate is trained with each C without and with the column, on one thread; the
development part chooses C. Prints CPU seconds of a training, span F1 of the development and of the
test parts, all folds or seeds together, and p of two permutation tests over sentences: against
margin rescaling with the same columns, and against the same surrogate without the column.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
from structured_runs import files_of, p_of_swaps, share
from tagger_peers import counts, margrove, sentences_of, tags_of

KINDS = {"14": "group", "15": "place", "18": "person"}  # lexicographer files of WordNet
SURROGATES = ("margin", "prob", "micro-f1")
GRID = (0.03, 0.1, 0.3, 1.0)

Names = dict[tuple[str, ...], str]


def read_names(file: Path) -> Names:
    """The kinds of the names, nouns with a capital letter, by their words."""
    kinds: dict[tuple[str, ...], set[str]] = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith(" "):  # the licence
            continue
        _, number, _, size, *rest = line.split(" ")
        for lemma in rest[: 2 * int(size, 16) : 2]:
            if number in KINDS and lemma[0].isupper():
                kinds.setdefault(tuple(lemma.split("_")), set()).add(KINDS[number])
    return {words: "+".join(sorted(found)) for words, found in kinds.items()}


def kinds_of(words: list[str], names: Names, longest: int) -> list[str]:
    found, at = ["no"] * len(words), 0
    while at < len(words):
        sizes = range(min(longest, len(words) - at), 0, -1)
        size = next((n for n in sizes if tuple(words[at : at + n]) in names), 0)
        for k in range(at, at + size):
            found[k] = names[tuple(words[at : at + size])]
        at += max(size, 1)
    return found


def write_with_names(source: Path, names: Names, target: Path) -> None:
    longest = max(map(len, names))
    blocks = []
    for rows in sentences_of(source):
        kinds = kinds_of([row[0] for row in rows], names, longest)
        blocks.append("".join(f"{word}\t{kind}\t{tag}\n" for (word, tag), kind
                              in zip(rows, kinds, strict=True)))  # fmt: skip
    target.write_text("\n".join(blocks), encoding="utf-8")


class Run:
    """The counts of spans by a surrogate, of the folds or seeds so far."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.dev: list[np.ndarray] = []
        self.test: list[np.ndarray] = []

    def add(self, program: str, surrogate: str, seed: int, files: list[Path], folder: Path) -> None:
        truth = [tags_of(file) for file in files[1:]]
        found = []
        for C in GRID:
            options = {"surrogate": surrogate, "solver": "sgd", "C": C, "seed": seed}
            trained = margrove(program, options, files, folder)
            found.append((counts(truth[0], trained.dev, True), trained))
        dev, best = max(found, key=lambda pair: share(pair[0]))
        self.seconds.append(best.seconds)
        self.dev.append(dev)
        self.test.append(counts(truth[1], best.test, True))


def together(parts: list[np.ndarray], are_seeds: bool) -> np.ndarray:
    """A row for each sentence."""
    return np.sum(parts, axis=0) if are_seeds else np.concatenate(parts)


def measure(name: str, names: Names, arguments: argparse.Namespace) -> None:
    are_seeds = name != "wikigold"
    runs = {(s, column): Run() for s in SURROGATES for column in ("", "names")}
    for number in range(3 if are_seeds else 5):
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            plain = files_of(arguments.data, name, folder, 0 if are_seeds else number)
            with_names = [folder / f"names-{file.name}" for file in plain]
            for source, target in zip(plain, with_names, strict=True):
                write_with_names(source, names, target)
            for (surrogate, column), run in runs.items():
                files = with_names if column else plain
                run.add(arguments.program, surrogate, number, files, folder)
    found = {key: together(run.test, are_seeds) for key, run in runs.items()}
    for (surrogate, column), run in runs.items():
        rows = found[surrogate, column]
        others = found["margin", column], found[surrogate, ""]
        p = " | ".join("" if rows is o else f"{p_of_swaps(rows, o):.2g}" for o in others)
        print(f"| {name} | {surrogate} | {column} | {np.mean(run.seconds):.1f} | "
              f"{share(together(run.dev, are_seeds)):.4f} | {share(rows):.4f} | {p} |",
              flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--names", type=Path, default="/usr/share/wordnet/data.noun")
    parser.add_argument("--only", nargs="*", default=["wikigold", "wnut17"])
    arguments = parser.parse_args()
    names = read_names(arguments.names)
    for name in arguments.only:
        measure(name, names, arguments)


if __name__ == "__main__":
    main()
