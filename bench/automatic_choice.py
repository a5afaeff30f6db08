#!/usr/bin/env python3
"""margrove auto beside every method at its defaults and tuned.

bench/automatic_choice.py --program build/margrove --json FILE [--data FOLDER] [--sets clef ...]
                          [--parts auto default tuned] [--seconds 120]

FOLDER (or MARGROVE_DATA) holds a folder for each set with train.svm and test.svm, and
hierarchy.txt where there is one, or data.csv for those named uci-*, of which a third of each
label's rows are test rows, drawn three times. Each run is added to FILE, and runs that are there
are not repeated. The metric is the one by which auto chooses by default, on test rows: accuracy,
or micro-F1 where rows have several labels. `tuned` chooses C among 0.1, 1 and 10 on a fifth of the
training rows (margrove tune); the best of these rows is the best on the test rows, an advantage
that auto does not have. --seconds limits every command; what it ends is a dash. Times are CPU
seconds.
"""

import argparse
import csv
import json
import math
import os
import pathlib
import random
import resource
import subprocess
import tempfile
from typing import Any

SETS = ["uci-heart", "uci-ionosphere", "uci-liver", "uci-pima", "uci-sonar", "uci-wdbc"]
SETS += ["scene", "yeast", "clinc150", "clef", "lshtc-small-rdf", "lshtc-small-valtrain"]
SETS += ["rcv1-subsets"]
SEVERAL_LABELS = {"scene", "yeast", "rcv1-subsets"}
OPTIONS = {"lshtc-small-rdf": ["--tfidf"], "lshtc-small-valtrain": ["--tfidf"]}
FLAT = {
    "flat-svm": ["--method", "flat-svm"],
    "flat-svm (hinge)": ["--method", "flat-svm", "--loss", "hinge"],
    "flat-lr": ["--method", "flat-lr"],
}
ONE_LABEL = {"Crammer-Singer": ["--method", "flat-svm", "--multiclass", "crammer-singer"]}
HIERARCHICAL = {
    name: ["--method", name] for name in ("top-down-svm", "hr-svm", "hr-lr", "nhsvm", "hsvm")
}
FEW_ROWS = {"kernel-ridge": ["--method", "kernel-ridge"]}
KERNEL_SVM = {"average-mkl": ["--method", "average-mkl"]}
REPEATS = 3


def methods_of(name: str) -> dict[str, list[str]]:
    """Names and options of the methods for a set."""
    methods = dict(FLAT)
    if name not in SEVERAL_LABELS:
        methods |= ONE_LABEL
    if not name.startswith("uci-") and name not in ("scene", "yeast"):
        methods |= HIERARCHICAL
    else:
        methods |= FEW_ROWS
    return methods | (KERNEL_SVM if name.startswith("uci-") else {})


def cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def write_parts(source: pathlib.Path, folder: pathlib.Path, seed: int) -> None:
    """Writes train and test of a table: a third of each label's rows for the test."""
    with source.open(encoding="utf-8") as file:
        rows = [row for row in csv.reader(file) if row][1:]
    random.Random(seed).shuffle(rows)
    parts: dict[str, list[str]] = {"train": [], "test": []}
    seen: dict[str, int] = {}
    for row in rows:
        seen[row[-1]] = seen.get(row[-1], 0) + 1
        cells = [f"{j}:{float(cell):.9g}" for j, cell in enumerate(row[:-1], 1) if cell]
        part = "test" if seen[row[-1]] % 3 == 0 else "train"
        parts[part].append(" ".join([row[-1], *cells]))
    for part, lines in parts.items():
        (folder / part).write_text("\n".join(lines) + "\n", encoding="utf-8")


class Bench:
    """Runs of the program on one set, kept in a file."""

    def __init__(self, arguments: argparse.Namespace, name: str, repeat: int) -> None:
        self.arguments, self.name, self.repeat = arguments, name, repeat
        self.folder = tempfile.TemporaryDirectory()
        work = pathlib.Path(self.folder.name)
        data = pathlib.Path(arguments.data) / name
        self.model = str(work / "model")
        self.train, self.test = str(data / "train.svm"), str(data / "test.svm")
        self.options = list(OPTIONS.get(name, []))
        if (data / "hierarchy.txt").exists():
            self.options += ["--hierarchy", str(data / "hierarchy.txt")]
        if name.startswith("uci-"):
            write_parts(data / "data.csv", work, repeat)
            self.train, self.test = str(work / "train"), str(work / "test")

    def run(self, key: str, command: list[str], *options: str) -> None:
        """One training and its test metric, unless the file has it."""
        path = pathlib.Path(self.arguments.json)
        place = f"{self.name}/{self.repeat}/{key}"
        if path.exists() and place in json.loads(path.read_text(encoding="utf-8")):
            return
        before = cpu_seconds()
        limit = ["--time-limit-seconds", str(self.arguments.seconds)]
        done = subprocess.run(
            [
                self.arguments.program, *command, *self.options, *options, *limit, "--quiet",
                self.train, self.model,
            ],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        result: dict[str, Any] = {"seconds": cpu_seconds() - before, "output": done.stdout}
        # auto makes do with the time; a training or grid that the limit ended has no score.
        is_whole = key == "auto" or "time limit" not in done.stderr
        if done.returncode == 0 and is_whole:
            out = subprocess.run(
                [self.arguments.program, "evaluate", self.model, self.test, "--json"],
                capture_output=True, text=True, check=True,
            ).stdout  # fmt: skip
            metric = "micro_f1" if self.name in SEVERAL_LABELS else "accuracy"
            result["score"] = json.loads(out)[metric]
        elif done.returncode not in (0, 5):
            raise SystemExit(f"{place}: {done.stderr}")
        kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        path.write_text(json.dumps(kept | {place: result}), encoding="utf-8")

    def run_part(self, part: str) -> None:
        if part == "auto":
            self.run("auto", ["auto"])
            return
        metric = "micro_f1" if self.name in SEVERAL_LABELS else "accuracy"
        for method, options in methods_of(self.name).items():
            if part == "default":
                self.run(f"default/{method}", ["train", *options])
            elif method != "kernel-ridge":  # tunes itself
                tune = ["tune", *options, "--grid", "C=0.1,1,10", "--holdout", "0.2"]
                self.run(f"tuned/{method}", [*tune, "--metric", metric])


def text_of(best: tuple[float, str, float]) -> str:
    """The score and the method; a dash where there is none."""
    return best[1] if math.isnan(best[0]) else f"{best[0]:.4f} {best[1]}"


class Table:
    """Means over the repeats."""

    def __init__(self, path: str) -> None:
        self.runs = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))

    def repeats(self, name: str) -> range:
        return range(REPEATS if name.startswith("uci-") else 1)

    def mean(self, name: str, key: str, value: str = "score") -> float | None:
        found = [self.runs.get(f"{name}/{k}/{key}", {}).get(value) for k in self.repeats(name)]
        return None if None in found else sum(found) / len(found)

    def chosen(self, name: str) -> str:
        """The methods that auto chose, without repetitions."""
        chosen: dict[str, None] = {}
        for k in self.repeats(name):
            output = self.runs[f"{name}/{k}/auto"]["output"]
            line = next(line for line in output.splitlines() if line.startswith("the same by: "))
            chosen[line.removeprefix("the same by: train --method ")] = None
        return ", ".join(f"`{each}`" for each in chosen)

    def best(self, name: str, part: str) -> tuple[float, str, float]:
        """Score, method and CPU seconds of all of its kind."""
        scores, seconds = [], 0.0
        for method in methods_of(name):
            score = self.mean(name, f"{part}/{method}")
            seconds += self.mean(name, f"{part}/{method}", "seconds") or 0
            if score is not None:
                scores.append((score, method))
        if not scores:
            return float("nan"), "–", float("nan")
        if part == "tuned" and "kernel-ridge" in methods_of(name):  # it tunes itself
            scores.append((self.mean(name, "default/kernel-ridge") or 0.0, "kernel-ridge"))
        return *max(scores), seconds

    def print(self, names: list[str]) -> None:
        print("| | auto | chosen | best default | best tuned | auto s | defaults s | tuned s |")
        print("|---|---|---|---|---|---|---|---|")
        for name in names:
            if self.mean(name, "auto") is None:
                continue
            default, tuned = self.best(name, "default"), self.best(name, "tuned")
            print(
                f"| `{name}` | {self.mean(name, 'auto'):.4f} | {self.chosen(name)} "
                f"| {text_of(default)} | {text_of(tuned)} "
                f"| {self.mean(name, 'auto', 'seconds'):.1f} | {default[2]:.1f} "
                f"| {'–' if math.isnan(tuned[2]) else f'{tuned[2]:.1f}'} |"
            )
        columns = list(FLAT | ONE_LABEL | HIERARCHICAL | FEW_ROWS | KERNEL_SVM)
        print(
            "\n| | "
            + " | ".join(["auto", *columns])
            + " |\n|---"
            + "|---" * (len(columns) + 1)
            + "|"
        )
        for name in names:
            keys = ["auto", *(f"default/{method}" for method in columns)]
            scores = [self.mean(name, key) for key in keys]
            if scores[0] is None:
                continue
            cells = ["–" if score is None else f"{score:.4f}" for score in scores]
            print(f"| `{name}` | " + " | ".join(cells) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", default="build/margrove")
    parser.add_argument("--data", default=os.environ.get("MARGROVE_DATA"))
    parser.add_argument("--json", required=True)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--parts", nargs="*", default=["auto", "default", "tuned"])
    parser.add_argument("--seconds", type=float, default=120)
    arguments = parser.parse_args()
    for part in arguments.parts:
        for name in arguments.sets:
            for repeat in range(REPEATS if name.startswith("uci-") else 1):
                Bench(arguments, name, repeat).run_part(part)
    Table(arguments.json).print(arguments.sets)


if __name__ == "__main__":
    main()
