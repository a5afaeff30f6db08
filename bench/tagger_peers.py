"""Taggers beside python-crfsuite on the same features, both tuned on the development part.

    python bench/tagger_peers.py --program build/margrove \\
        --bench build-bench/bench/bench_structured_tasks --data DIR [--only NAME ...]

Sets: wnut17, wikigold (of its documents three fifths for training, one for development, one for
the test, five times, so that each is in the test part once) and ud-english-ewt-pos. crfsuite gets
the token features of Margrove, those of clusters included and pairs of words that occur once left
out, and all transitions. Each system is trained with every line of its grid; the development part
chooses one, and only that and the default see the test part. Prints both scores and the CPU seconds
of training: of Margrove those of the whole command, with reading, making of features and tuning of
the offset, of crfsuite those of its trainer. The last lines of a set are scores over all its test
parts; p is that of a permutation test over sentences against the chosen crfsuite, two-sided.
"""

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from crfsuite_comparison import Sentence, read_features, spans
from structured_runs import files_of, p_of_swaps, share, train

PAIRS = ("w-1w=", "ww+1=")
MARGROVE = [
    {"order": order, "C": c} for order, c in itertools.product((1, 2), (0.03, 0.1, 0.3, 1.0))
]
CRFSUITE = [
    {"algorithm": "lbfgs", "max_iterations": 100, "c1": c1, "c2": c2}
    for c1, c2 in itertools.product((0.0, 0.1), (0.01, 0.1, 1.0, 3.0))
] + [
    {"algorithm": name, "max_iterations": passes}
    for name, passes in itertools.product(("ap", "pa"), (10, 30))
]
CLUSTERS = 64

Options = dict[str, Any]
Tags = list[list[str]]


class Trained(NamedTuple):
    options: Options
    seconds: float
    dev: Tags
    test: Tags


def counts(truth: Tags, answers: Tags, of_spans: bool) -> np.ndarray:
    """For each sentence what is right, and what that is a share of."""
    rows = []
    for true, found in zip(truth, answers, strict=True):
        if of_spans:
            a, b = spans(true), spans(found)
            rows.append((2 * len(a & b), len(a) + len(b)))
        else:
            rows.append((sum(p == q for p, q in zip(true, found, strict=True)), len(true)))
    return np.array(rows, dtype=float)


def sentences_of(file: Path) -> list[list[list[str]]]:
    """The cells of each token."""
    blocks = file.read_text(encoding="utf-8").split("\n\n")
    sentences = [[line.split() for line in block.split("\n") if line] for block in blocks]
    return [tokens for tokens in sentences if tokens]


def tags_of(file: Path) -> Tags:
    return [[cells[-1] for cells in tokens] for tokens in sentences_of(file)]


def margrove(program: str, options: Options, files: list[Path], folder: Path) -> Trained:
    model = folder / "model"
    given = [text for name, value in options.items() for text in (f"--{name}", str(value))]
    seconds = train(program, given, files[0], model).cpu
    answers = []
    for file in files[1:]:
        done = subprocess.run([program, "predict", model, file], check=True, stdout=-1, text=True)
        answers.append([block.split("\n") for block in done.stdout.strip().split("\n\n")])
    return Trained(options, seconds, *answers)


def train_crfsuite(options: Options, parts: list[list[Sentence]]) -> tuple[float, list[Tags]]:
    import time

    import pycrfsuite

    own = dict(options)
    trainer = pycrfsuite.Trainer(algorithm=own.pop("algorithm"), verbose=False)
    trainer.set_params({"feature.possible_transitions": True} | own)
    for features, tags in parts[0]:
        trainer.append(pycrfsuite.ItemSequence(features), tags)
    with tempfile.NamedTemporaryFile(suffix=".crfsuite") as model:
        start = time.process_time()
        trainer.train(model.name)
        seconds = time.process_time() - start
        tagger = pycrfsuite.Tagger()
        tagger.open(model.name)
        answers = [[tagger.tag(pycrfsuite.ItemSequence(f)) for f, _ in p] for p in parts[1:]]
    return seconds, answers


def crfsuite(options: Options, features: list[Path]) -> Trained:
    """In a process of its own, whose memory ends with it."""
    command = [sys.executable, __file__, "--child", json.dumps(options), *map(str, features)]
    line = subprocess.run(command, check=True, stdout=-1, text=True).stdout
    seconds, answers = json.loads(line)
    return Trained(options, seconds, *answers)


def parts_of(files: list[Path]) -> list[list[Sentence]]:
    """The features of files, without pairs of words that the first one has once."""
    parts = [read_features(file) for file in files]
    seen = Counter(
        name for s, _ in parts[0] for token in s for name in token if name.startswith(PAIRS)
    )

    def kept(token: list[str]) -> list[str]:
        return [name for name in token if not name.startswith(PAIRS) or seen[name] > 1]

    return [[([kept(token) for token in s], tags) for s, tags in part] for part in parts]


def chosen(
    name: str, files: list[Path], arguments: argparse.Namespace, folder: Path
) -> dict[str, np.ndarray]:
    """The counts of the test sentences by each system with what the development part chooses."""
    of_spans = not name.endswith("-pos")
    features = [folder / f"{part}.features" for part in ("train", "dev", "test")]
    clusters = f"word_clusters={CLUSTERS if of_spans else 0}"  # as by default
    for file, target in zip(files, features, strict=True):
        with target.open("w", encoding="utf-8") as out:
            command = [arguments.bench, "features", file, files[0], clusters]
            subprocess.run(command, check=True, stdout=out)
    truth = [[tags for _, tags in read_features(file)] for file in features[1:]]

    def on_dev(trained: Trained) -> float:
        return share(counts(truth[0], trained.dev, of_spans))

    def show(system: str, trained: Trained, rest: str) -> None:
        print(f"{name} {system} {trained.options} {trained.seconds:.1f} s "
              f"dev {on_dev(trained):.4f} {rest}", flush=True)  # fmt: skip

    def tuned(system: str, make: Callable[[Options], Trained], grid: list[Options]) -> Trained:
        runs = []
        for options in grid:
            runs.append(make(options))
            show(system, runs[-1], "")
        return max(runs, key=on_dev)

    def own(options: Options) -> Trained:
        return margrove(arguments.program, options, files, folder)

    peer = tuned("crfsuite", lambda options: crfsuite(options, features), CRFSUITE)
    best = tuned("margrove", own, MARGROVE)
    on_test = {}
    for system, trained in {
        "crfsuite, chosen": peer,
        "margrove, chosen": best,
        "the same without offset": own(best.options | {"decision": "argmax"}),
        "margrove, default": own({}),
    }.items():
        on_test[system] = counts(truth[1], trained.test, of_spans)
        show(system, trained, f"test {share(on_test[system]):.4f}")
    return on_test


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--bench", required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=["wikigold", "wnut17", "ud-english-ewt-pos"])
    arguments = parser.parse_args()
    for name in arguments.only:
        on_test: dict[str, list[np.ndarray]] = {}
        for fold in range(5 if name == "wikigold" else 1):
            with tempfile.TemporaryDirectory() as temporary:
                folder = Path(temporary)
                files = files_of(arguments.data, name, folder, fold)
                for system, of_fold in chosen(name, files, arguments, folder).items():
                    on_test.setdefault(system, []).append(of_fold)
        found = {system: np.concatenate(parts) for system, parts in on_test.items()}
        peer = next(iter(found.values()))
        for system, rows in found.items():
            p = "" if rows is peer else f"p {p_of_swaps(rows, peer):.2g}"
            print(f"{name} {system} test {share(rows):.4f} {p}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child_options, *child_files = sys.argv[2:]
        sentences = parts_of([Path(file) for file in child_files])
        print(json.dumps(train_crfsuite(json.loads(child_options), sentences)))
    else:
        main()
