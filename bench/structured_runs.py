"""What benchmarks of `--method structured` share: a split, trainings, scores and their test."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from measured_runs import MeasuredRun, measured_run

SWAPS = 10_000


def write_split(source: Path, folder: Path, fold: int = 0) -> list[Path]:
    """The documents between -DOCSTART- lines: three fifths for training, one for development, one
    for the test. Folds 0 to 4 have each document once in the test part."""
    documents = re.split(r"^-DOCSTART-.*\n", source.read_text(), flags=re.MULTILINE)
    documents = [text for text in documents if text.strip()]
    files = [folder / name for name in ("train.conll", "dev.conll", "test.conll")]
    for number, file in enumerate(files):
        parts = [d for k, d in enumerate(documents) if max(0, (k + fold) % 5 - 2) == number]
        file.write_text("\n".join(parts))
    return files


def files_of(data: Path, name: str, folder: Path, fold: int = 0) -> list[Path]:
    """Training, development and test file of a set of tagged sentences."""
    if name == "wikigold":
        return write_split(data / name / "all.conll", folder, fold)
    return [data / name / f"{part}.conll" for part in ("train", "dev", "test")]


def train(program: str, options: list[str], file: Path, model: Path) -> MeasuredRun:
    command = [program, "train", "--quiet", "--threads", "1", "--method", "structured"]
    return measured_run([*command, *options, str(file), str(model)])


def metrics(program: str, model: Path, file: Path) -> dict[str, float]:
    told = json.loads(measured_run([program, "evaluate", "--json", str(model), str(file)]).output)
    found: dict[str, Any] = told.get("metrics", told)
    return {k: v["value"] if isinstance(v, dict) else v for k, v in found.items()}


def share(counts: np.ndarray) -> float:
    """Of the sum of rows (what is right, what that is a share of)."""
    right, size = counts.sum(axis=0)
    return float(right / size) if size else 0.0


def p_of_swaps(first: np.ndarray, second: np.ndarray) -> float:
    """Of the difference of two shares, two-sided: sentences change sides at random. Rows are the
    counts of a sentence."""
    swapped = np.random.default_rng(0).random((SWAPS, len(first))) < 0.5
    one = swapped @ (second - first) + first.sum(axis=0)
    other = swapped @ (first - second) + second.sum(axis=0)
    differences = np.abs(one[:, 0] / one[:, 1] - other[:, 0] / other[:, 1])
    reached = differences >= abs(share(first) - share(second)) - 1e-12
    return float((1 + reached.sum()) / (1 + SWAPS))
