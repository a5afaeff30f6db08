#!/usr/bin/env python3
"""How much slower is a model in Python (margrove.structured) than the built-in one?

The same problem, with the same weights, is trained by both for some passes of block-coordinate
Frank-Wolfe: classes with a cost matrix, and chains of tags. The models are those of
tests/python/own_models.py. The time is that of the processor for the whole call of fit; the best of
three.

usage: PYTHONPATH=build/python:tests/python .venv/bin/python bench/own_model_speed.py
"""

import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from margrove import HSVC, StructuredSVC
from margrove.structured import StructuredSVM
from own_models import Chain, MultiClass, letter_features

PASSES = 10
HOW: Any = {"max_passes": PASSES, "tolerance": 1e-12, "solver": "bcfw"}


def seconds(fit: Callable[[], Any]) -> float:
    """Per pass."""
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        report = fit().report_
        best = min(best, (time.process_time() - start) / report["passes"])
    return best


def classes() -> tuple[float, float]:
    """2,000 rows, 50 columns, 10 classes."""
    random = np.random.default_rng(0)
    y = random.integers(0, 10, size=2000)
    X = (random.normal(size=(2000, 50)) + np.eye(10, 50)[y]).astype(np.float32)
    costs = np.abs(np.subtract.outer(np.arange(10.0), np.arange(10.0)))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "costs.csv"
        rows = [",".join([str(k), *map(str, row)]) for k, row in enumerate(costs)]
        file.write_text("\n".join([",".join(["", *map(str, range(10))]), *rows]) + "\n")
        built_in = HSVC(cost_matrix=str(file), bias=0, scale="none", C=0.01, **HOW)
        theirs = seconds(lambda: built_in.fit(X, y))
    rows_of_doubles = list(X.astype(np.float64))
    own = StructuredSVM(MultiClass(costs), C=0.01, **HOW)
    return theirs, seconds(lambda: own.fit(rows_of_doubles, y.tolist()))


def chains() -> tuple[float, float]:
    """500 sentences of 20 tokens, 9 tags, 68 features."""
    random = np.random.default_rng(0)
    Y = [(np.cumsum(random.integers(0, 3, size=20)) % 9).tolist() for _ in range(500)]
    words = [
        "".join(
            "abcdefghi"[k] if random.random() < 0.7 else random.choice(list("abcdefghi")) for k in y
        )
        for y in Y
    ]
    built_in = StructuredSVC(decision="argmax", C=0.01, word_pairs=False, **HOW)
    tokens, tags = [list(sentence) for sentence in words], [[f"t{k}" for k in y] for y in Y]
    theirs = seconds(lambda: built_in.fit(tokens, tags))
    X = [letter_features(sentence, "abcdefghi").astype(np.float64) for sentence in words]
    own = StructuredSVM(Chain(9), C=0.01, **HOW)
    return theirs, seconds(lambda: own.fit(X, [tuple(y) for y in Y]))


def main() -> None:
    """Prints a table."""
    warnings.simplefilter("ignore")
    print("| problem | built-in, ms per pass | in Python | factor |")
    print("|---|---|---|---|")
    for name, measure in (("classes with costs", classes), ("chain", chains)):
        theirs, ours = measure()
        print(f"| {name} | {1e3 * theirs:.1f} | {1e3 * ours:.1f} | {ours / theirs:.1f} |")


if __name__ == "__main__":
    main()
