"""A linear chain by stochastic subgradients beside python-crfsuite on the same token features.

    python bench/crfsuite_comparison.py --program build-bench/bench/bench_structured_tasks \\
        --train train.conll --test test.conll [--passes 20] [--repeats 3]

Margrove's token features (bench_structured_tasks features FILE) go to both. The systems alternate;
each run is a process of one thread, and its CPU seconds cover the passes alone, without reading
and without making features. Prints one line a system: CPU seconds a pass (least of the repeats),
passes, span F1 and token accuracy on the test file.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PAIRS = "word_pairs=false"  # those that occur once would be features of crfsuite alone

Sentence = tuple[list[list[str]], list[str]]


def read_features(path: Path) -> list[Sentence]:
    """Lines `tag TAB feature TAB feature ...`, a blank line behind each sentence."""
    sentences: list[Sentence] = []
    features: list[list[str]] = []
    tags: list[str] = []
    for line in path.read_text().split("\n"):
        if line:
            tag, *its_features = line.split("\t")
            tags.append(tag)
            features.append(its_features)
        elif tags:
            sentences.append((features, tags))
            features, tags = [], []
    return sentences


def spans(tags: Sequence[str]) -> set[tuple[int, int, str]]:
    """As conlleval finds them in IOB1, IOB2 and IOBES tags."""
    found = set()
    start, kind, before = -1, "", "O"
    for at, tag in enumerate([*tags, "O"]):
        prefix, _, its_kind = tag.partition("-")
        is_new = prefix in "BS" or before in "ES" or its_kind != kind
        if start >= 0 and (prefix == "O" or is_new):
            found.add((start, at, kind))
            start = -1
        if prefix != "O" and start < 0:
            start, kind = at, its_kind
        before = prefix
        if prefix == "O":
            kind = ""
    return found


def scores(truth: list[list[str]], predicted: list[list[str]]) -> tuple[float, float]:
    """Span F1 and token accuracy."""
    both = size = correct = tokens = 0
    for y, z in zip(truth, predicted, strict=True):
        a, b = spans(y), spans(z)
        both += len(a & b)
        size += len(a) + len(b)
        correct += sum(p == q for p, q in zip(y, z, strict=True))
        tokens += len(y)
    return (2 * both / size if size else 0.0), correct / tokens


def crfsuite(algorithm: str, parameters: dict[str, Any], passes: int, files: list[Path]) -> None:
    """Trains in this process and prints `seconds passes F1 accuracy`."""
    import pycrfsuite

    trainer = pycrfsuite.Trainer(algorithm=algorithm, verbose=False)
    trainer.set_params({"max_iterations": passes, "feature.possible_transitions": True})
    trainer.set_params(parameters)
    for features, tags in read_features(files[0]):
        trainer.append(pycrfsuite.ItemSequence([dict.fromkeys(f, 1.0) for f in features]), tags)
    with tempfile.NamedTemporaryFile(suffix=".crfsuite") as model:
        start = time.process_time()
        trainer.train(model.name)
        seconds = time.process_time() - start
        done = len(trainer.logparser.iterations) or passes
        tagger = pycrfsuite.Tagger()
        tagger.open(model.name)
        test = read_features(files[1])
        predicted = [tagger.tag(pycrfsuite.ItemSequence(f)) for f, _ in test]
    print(seconds, done, *scores([tags for _, tags in test], predicted))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--train", type=Path, required=True)
    parser.add_argument("--test", type=Path, required=True)
    parser.add_argument("--passes", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--margrove", nargs="*", default=["C=0.3"])
    parser.add_argument("--c2", type=float, default=1.0, help="of crfsuite's lbfgs and l2sgd")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        parameters = {"c2": args.c2} if args.child[0] in ("lbfgs", "l2sgd") else {}
        crfsuite(args.child[0], parameters, int(args.child[1]), [args.train, args.test])
        return
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("train", "test")]
        for source, target in zip((args.train, args.test), files, strict=True):
            command = [args.program, "features", str(source), str(args.train), PAIRS]
            target.write_text(subprocess.run(command, check=True, stdout=-1, text=True).stdout)
        best: dict[str, tuple[float, ...]] = {}
        for _ in range(args.repeats):
            for system in ("margrove", "ap", "l2sgd", "lbfgs"):
                result = (
                    run_margrove(args) if system == "margrove" else run_child(args, system, files)
                )
                best[system] = min(best.get(system, result), result)
    for system, (per_pass, passes, f1, accuracy) in best.items():
        print(f"{system} s/pass {per_pass:.4f} passes {passes:.0f} F1 {f1:.4f} acc {accuracy:.4f}")


def run_margrove(args: argparse.Namespace) -> tuple[float, ...]:
    command = [args.program, "tags", str(args.train), str(args.test), "solver=sgd"]
    command += args.margrove
    command.append(f"max_passes={args.passes}")
    command += ["tolerance=1e-9", PAIRS]
    line = subprocess.run(command, check=True, stdout=-1, text=True).stdout
    values = [
        float(re.search(rf"\b{name} ([\d.]+)", line)[1])  # type: ignore[index]
        for name in ("cpu_s", "passes", "span_f1", "token_accuracy")
    ]
    return (values[0] / values[1], *values[1:])


def run_child(args: argparse.Namespace, system: str, files: list[Path]) -> tuple[float, ...]:
    command = [sys.executable, __file__, "--program", "-", "--c2", str(args.c2)]
    command += ["--train", str(files[0]), "--test", str(files[1])]
    command += ["--child", system, str(args.passes)]
    line = subprocess.run(command, check=True, stdout=-1, text=True).stdout
    seconds, passes, f1, accuracy = map(float, line.split())
    return seconds / passes, passes, f1, accuracy


if __name__ == "__main__":
    main()
