#!/usr/bin/env python3
"""Option stack of level-svm on held-out training rows.

bench/stack_option.py --program build/margrove --data FOLDER [--sets clef lshtc-small-rdf]
                      [--stacks none auto] [--seeds 2] [--rows 1500]

FOLDER holds the sets. A random third of the training rows with one label is held out for each seed;
with --rows, only so many of the others are trained on. Each line is a stack of a split: accuracy,
macro-F1 and hierarchical F1 of the held-out rows, and CPU seconds of the training.
"""

import argparse
import json
import random
import tempfile
from pathlib import Path
from typing import Any

from hierarchy_tables import PREPROCESSING, kept_rows
from measured_runs import measured_run


def measure(given: argparse.Namespace, name: str, seed: int, folder: Path) -> None:
    rows = kept_rows(given.data / name / "train.svm", single_label=True)
    random.Random(seed).shuffle(rows)
    third = len(rows) // 3
    train, held_out, model = folder / "train", folder / "held_out", folder / "model"
    held_out.write_text("".join(rows[:third]), encoding="utf-8")
    end = third + given.rows if given.rows else None
    train.write_text("".join(rows[third:end]), encoding="utf-8")
    options = [*PREPROCESSING.get(name, [])]
    options += ["--hierarchy", str(given.data / name / "hierarchy.txt")]
    for stack in given.stacks:
        command = [given.program, "train", "--quiet", "--method", "level-svm", "--stack", stack]
        run = measured_run([*command, *options, str(train), str(model)])
        told = measured_run([given.program, "evaluate", "--json", str(model), str(held_out)]).output
        metrics: dict[str, Any] = json.loads(told)
        figures = " | ".join(
            f"{metrics[key]:.4f}" for key in ("accuracy", "macro_f1", "hierarchical_f1")
        )
        print(f"| `{name}` | {seed} | {stack} | {figures} | {run.cpu:.0f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--program", default="build/margrove")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=["clef"])
    parser.add_argument("--stacks", nargs="+", default=["none", "auto"])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--rows", type=int, default=0)
    given = parser.parse_args()
    for name in given.sets:
        for seed in range(given.seeds):
            with tempfile.TemporaryDirectory() as folder:
                measure(given, name, seed, Path(folder))


if __name__ == "__main__":
    main()
