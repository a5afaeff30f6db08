#!/usr/bin/env python3
"""margrove auto beside every method at its defaults and tuned.

bench/automatic_choice.py --program build/margrove --json FILE [--data FOLDER] [--sets clef ...]
                          [--parts auto default tuned] [--limits 60 150 600] [--seconds 600]

FOLDER (or MARGROVE_DATA) holds a folder for each set with train.svm and test.svm, and
hierarchy.txt where there is one, or data.csv for those named uci-*, of which a third of each
label's rows are test rows, drawn three times; makupalat has texts and a vocabulary. Each run is
added to FILE, and runs that are there are not repeated. The metric is the one by which auto chooses
by default, on test rows: accuracy, or micro-F1 where rows have several labels. auto runs with each
of the limits, which are CPU seconds (--time cpu); a star marks a model that was not trained on all
rows. `tuned` chooses C among 0.1, 1 and 10 on a fifth of the training rows (margrove tune); the
best of these rows is the best on the test rows, an advantage that auto does not have. --seconds, of
the wall, limits the other commands; what it ends is a dash. Times are CPU seconds.
"""

import argparse
import csv
import json
import math
import os
import pathlib
import random
import re
import resource
import subprocess
import tempfile
from typing import Any

SETS = ["uci-heart", "uci-ionosphere", "uci-liver", "uci-pima", "uci-sonar", "uci-wdbc"]
GENES = [f"{name}-{kind}" for kind in ("fun", "go") for name in
         ("cellcycle", "derisi", "eisen", "gasch2", "spo")]  # fmt: skip
SETS += ["scene", "yeast", "bibtex-ml", "rcv1-mini", "enron-hmc", *GENES, "phyletic-go"]
SETS += ["clef", "clinc150", "lshtc-small-rdf", "lshtc-small-valtrain", "wordnet-nouns"]
SETS += ["debtags", "rcv1-subsets", "makupalat"]
ONE_LABEL_SETS = {"clef", "clinc150", "lshtc-small-rdf", "lshtc-small-valtrain"}
OPTIONS = {"lshtc-small-rdf": ["--tfidf"], "lshtc-small-valtrain": ["--tfidf"]}
FLAT = {
    "flat-svm": ["--method", "flat-svm"],
    "flat-svm (hinge)": ["--method", "flat-svm", "--loss", "hinge"],
    "flat-lr": ["--method", "flat-lr"],
}
SOFTMAX = ["--multiclass", "softmax"]
ONE_LABEL = {
    "Crammer-Singer": ["--method", "flat-svm", "--multiclass", "crammer-singer"],
    "flat-lr (softmax)": ["--method", "flat-lr", *SOFTMAX],
}
HIERARCHICAL = {
    name: ["--method", name]
    for name in ("top-down-svm", "level-svm", "label-trees", "hr-svm", "hr-lr", "nhsvm", "hsvm")
}
HIERARCHICAL_ONE_LABEL = {"hr-lr (softmax)": ["--method", "hr-lr", *SOFTMAX]}
KERNEL_RIDGE = {"kernel-ridge": ["--method", "kernel-ridge"]}
KERNEL_SVM = {"average-mkl": ["--method", "average-mkl"]}
REPEATS = 3


def has_one_label(name: str) -> bool:
    return name.startswith(("uci-", "mfeat-")) or name in ONE_LABEL_SETS


def has_hierarchy(name: str) -> bool:
    flat = ("scene", "yeast", "bibtex-ml", "rcv1-mini")
    return not name.startswith(("uci-", "mfeat-")) and name not in flat


def methods_of(name: str) -> dict[str, list[str]]:
    """Names and options of the methods for a set; those that refuse it are a dash."""
    methods = FLAT | (ONE_LABEL | KERNEL_SVM if has_one_label(name) else {}) | KERNEL_RIDGE
    if not has_hierarchy(name):
        return methods
    return methods | HIERARCHICAL | (HIERARCHICAL_ONE_LABEL if has_one_label(name) else {})


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
        if name == "makupalat":
            self.options = ["--text", "--unknown-labels", "drop"]
            self.options += ["--hierarchy", str(data / "ykl.ttl")]
            self.train, self.test = str(data / "train.tsv"), str(data / "test.tsv")
        if name.startswith("uci-"):
            write_parts(data / "data.csv", work, repeat)
            self.train, self.test = str(work / "train"), str(work / "test")

    @property
    def metric(self) -> str:
        return "accuracy" if has_one_label(self.name) else "micro_f1"

    def run(self, key: str, command: list[str], limit: float, *options: str) -> None:
        """One training and its test metric, unless the file has it."""
        path = pathlib.Path(self.arguments.json)
        place = f"{self.name}/{self.repeat}/{key}"
        if path.exists() and place in json.loads(path.read_text(encoding="utf-8")):
            return
        before = cpu_seconds()
        done = subprocess.run(
            [
                self.arguments.program, *command, *self.options, *options, "--quiet",
                "--time-limit-seconds", str(limit), self.train, self.model,
            ],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        result: dict[str, Any] = {"seconds": cpu_seconds() - before, "output": done.stdout}
        # auto makes do with the time; a training or grid that the limit ended has no score.
        is_whole = key.startswith("auto") or "time limit" not in done.stderr
        result["all_rows"] = "trained on all" not in done.stderr
        if done.returncode == 0 and is_whole:
            out = subprocess.run(
                [self.arguments.program, "evaluate", self.model, self.test, "--json"],
                capture_output=True, text=True, check=True,
            ).stdout  # fmt: skip
            result["score"] = json.loads(out)[self.metric]
        elif done.returncode not in (0, 5):
            if key.startswith("auto"):
                raise SystemExit(f"{place}: {done.stderr}")
            result["error"] = done.stderr  # such as several labels, or too many rows
        kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        path.write_text(json.dumps(kept | {place: result}), encoding="utf-8")

    def run_part(self, part: str) -> None:
        if part == "auto":
            for limit in self.arguments.limits:
                self.run(f"auto/{limit}", ["auto", "--time", "cpu"], limit)
            return
        seconds = self.arguments.seconds
        for method, options in methods_of(self.name).items():
            if part == "default":
                self.run(f"default/{method}", ["train", *options], seconds)
            elif method != "kernel-ridge":  # tunes itself
                tune = ["tune", *options, "--grid", "C=0.1,1,10", "--holdout", "0.2"]
                self.run(f"tuned/{method}", [*tune, "--metric", self.metric], seconds)


def text_of(best: tuple[float, str, float]) -> str:
    """The score and the method; a dash where there is none."""
    return best[1] if math.isnan(best[0]) else f"{best[0]:.4f} {best[1]}"


def print_row(*cells: str) -> None:
    print("| " + " | ".join(cells) + " |")


class Table:
    """Means over the repeats."""

    def __init__(self, path: str) -> None:
        self.runs = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))

    def repeats(self, name: str) -> range:
        return range(REPEATS if name.startswith("uci-") else 1)

    def mean(self, name: str, key: str, value: str = "score") -> float | None:
        found = [self.runs.get(f"{name}/{k}/{key}", {}).get(value) for k in self.repeats(name)]
        return None if None in found else sum(found) / len(found)

    def chosen(self, name: str, limit: int) -> str:
        """The methods that auto chose, without repetitions."""
        chosen: dict[str, None] = {}
        for k in self.repeats(name):
            first = self.runs[f"{name}/{k}/auto/{limit}"]["output"].splitlines()[1]
            chosen[re.split("  +", first)[0]] = None
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

    def cell(self, name: str, limit: int) -> str:
        score = self.mean(name, f"auto/{limit}")
        if score is None:
            return "–"
        is_whole = all(
            self.runs[f"{name}/{k}/auto/{limit}"]["all_rows"] for k in self.repeats(name)
        )
        return f"{score:.4f}" + ("" if is_whole else "*")

    def print(self, names: list[str], limits: list[int]) -> None:
        heads = [f"auto, {limit} s" for limit in limits]
        print_row("", *heads, "chosen with most", "best default", "best tuned", "its seconds",
                  "defaults s", "tuned s")  # fmt: skip
        print("|" + "---|" * (len(limits) + 7))
        for name in names:
            done = [each for each in limits if self.mean(name, f"auto/{each}") is not None]
            if not done:
                continue
            default, tuned = self.best(name, "default"), self.best(name, "tuned")
            taken = [self.mean(name, f"auto/{done[-1]}", "seconds") or 0, default[2], tuned[2]]
            print_row(f"`{name}`", *(self.cell(name, each) for each in limits),
                      self.chosen(name, done[-1]), text_of(default), text_of(tuned),
                      *("–" if math.isnan(each) else f"{each:.1f}" for each in taken))  # fmt: skip
        self.print_methods(names)

    def print_methods(self, names: list[str]) -> None:
        """All methods at their defaults, and with C chosen where that was measured."""
        trees = HIERARCHICAL | HIERARCHICAL_ONE_LABEL
        columns = list(FLAT | ONE_LABEL | trees | KERNEL_RIDGE | KERNEL_SVM)
        print()
        print_row("", *columns)
        print("|" + "---|" * (len(columns) + 1))
        for name in names:
            cells = []
            for method in columns:
                default = self.mean(name, f"default/{method}")
                tuned = self.mean(name, f"tuned/{method}")
                scores = [default] if tuned is None else [default, tuned]
                cells.append(" / ".join("–" if each is None else f"{each:.4f}" for each in scores))
            if any(cell != "–" for cell in cells):
                print_row(f"`{name}`", *cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", default="build/margrove")
    parser.add_argument("--data", default=os.environ.get("MARGROVE_DATA"))
    parser.add_argument("--json", required=True)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--parts", nargs="*", default=["auto", "default", "tuned"])
    parser.add_argument("--limits", nargs="+", type=int, default=[60, 150, 600])
    parser.add_argument("--seconds", type=float, default=600)
    arguments = parser.parse_args()
    for part in arguments.parts:
        for name in arguments.sets:
            for repeat in range(REPEATS if name.startswith("uci-") else 1):
                Bench(arguments, name, repeat).run_part(part)
    Table(arguments.json).print(arguments.sets, arguments.limits)


if __name__ == "__main__":
    main()
