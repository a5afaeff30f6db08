#!/usr/bin/env python3
"""Tables of the path and label-set SVMs on real hierarchies, options chosen on held-out rows.

bench/hierarchy_tables.py --program build/margrove --data FOLDER --sets clef cellcycle-fun
                          [--methods nhsvm] [--C 0.1 1 10] [--alpha power:2 maxmin] [--json FILE]

FOLDER/SET holds train.svm, test.svm, hierarchy.txt and, where there is one, valid.svm, which is the
hold-out; otherwise a fifth of the training rows is, drawn by a fixed seed. Every grid point is
trained on the training rows and measured on the hold-out (micro-F1); the best is trained on both,
measured on the test rows. Markdown. The ceiling is what a model could reach that knows every
label seen in training: rows whose labels are all known, and recall.
"""

import argparse
import json
import pathlib
import random
import resource
import subprocess
import sys
import tempfile
from typing import Any

RAW_NUMBERS = {
    "cellcycle-fun", "derisi-fun", "cellcycle-go", "eisen-go", "phyletic-go", "enron-hmc"
}  # fmt: skip
PREPROCESSING = {"lshtc-small-rdf": ["--tfidf"], **{name: ["--normalize"] for name in RAW_NUMBERS}}
MULTI_LABEL = {
    "enron-hmc", "cellcycle-fun", "derisi-fun", "debtags", "cellcycle-go", "eisen-go", "phyletic-go"
}  # fmt: skip
METRICS = ["accuracy", "jaccard", "instance_f1", "micro_f1", "macro_f1", "hierarchical_f1"]


def cpu_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def rows_of(path: pathlib.Path) -> list[str]:
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    is_header = bool(lines) and ":" not in lines[0] and len(lines[0].split()) == 3
    return lines[1:] if is_header else lines


def labels_of(line: str) -> set[str]:
    return set(line.split(" ", 1)[0].split(","))


def split(folder: pathlib.Path) -> tuple[list[str], list[str]]:
    train = rows_of(folder / "train.svm")
    if (folder / "valid.svm").exists():
        return train, rows_of(folder / "valid.svm")
    random.Random(0).shuffle(train)
    held_out = len(train) // 5
    return train[held_out:], train[:held_out]


class Runner:
    def __init__(self, program: str, folder: pathlib.Path, scratch: pathlib.Path, extra: list[str]):
        self.program, self.folder, self.scratch, self.extra = program, folder, scratch, extra

    def run(self, *arguments: str) -> str:
        return subprocess.run(
            [self.program, *arguments], check=True, capture_output=True, text=True
        ).stdout

    def fit(self, method: list[str], options: dict[str, str], rows: str, test: str) -> Any:
        given = [word for name, value in options.items() for word in (f"--{name}", value)]
        arguments = ["train", "--method", *method, *given, *self.extra, "--threads", "1", "--quiet"]
        arguments += ["--hierarchy", str(self.folder / "hierarchy.txt")]
        start = cpu_of_children()
        output = self.run(*arguments, str(self.scratch / rows), str(self.scratch / "model"))
        seconds = cpu_of_children() - start
        values = dict(line.split("\t") for line in output.splitlines() if line.count("\t") == 1)
        measured = json.loads(
            self.run("evaluate", str(self.scratch / "model"), str(self.scratch / test), "--json")
        )
        measured |= {"seconds": seconds, "gap": values.get("relative_gap"), "options": options}
        return measured


def ceiling(train: list[str], test: list[str]) -> tuple[float, float]:
    known = set().union(*map(labels_of, train))
    whole = sum(labels_of(line) <= known for line in test) / len(test)
    pairs = [label in known for line in test for label in labels_of(line)]
    return whole, sum(pairs) / len(pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--sets", nargs="+", required=True)
    parser.add_argument("--methods", nargs="+", default=["flat-svm", "hsvm", "nhsvm", "shared-svm"])
    parser.add_argument("--C", nargs="+", default=["0.1", "1", "10"])
    parser.add_argument("--alpha", nargs="+", default=["power:2", "maxmin", "directional"])
    parser.add_argument("--tolerance", default="1e-2")
    parser.add_argument("--json", type=pathlib.Path)
    given = parser.parse_args()
    everything = []
    for name in given.sets:
        train, held_out = split(given.data / name)
        test = rows_of(given.data / name / "test.svm")
        whole, recall = ceiling(train + held_out, test)
        print(f"\n`{name}`: ceiling of accuracy {whole:.3f}, of recall {recall:.3f}\n")
        print("| method | options | " + " | ".join(METRICS) + " | gap | CPU s |")
        print("|---" * (len(METRICS) + 4) + "|")
        with tempfile.TemporaryDirectory() as directory:
            scratch = pathlib.Path(directory)
            for file, lines in [
                ("train", train), ("valid", held_out), ("all", train + held_out), ("test", test)
            ]:  # fmt: skip
                (scratch / file).write_text("".join(lines), encoding="utf-8")
            runner = Runner(given.program, given.data / name, scratch, PREPROCESSING.get(name, []))
            for method in given.methods:
                command = [method]
                if method == "flat-svm" and name not in MULTI_LABEL:
                    command += ["--multiclass", "crammer-singer"]
                rules = given.alpha if method == "nhsvm" else [""]
                for rule in rules:
                    grid = []
                    for C in given.C:
                        options = {"C": C, "tolerance": given.tolerance}
                        if rule:
                            options["alpha"] = rule
                        grid.append(runner.fit(command, options, "train", "valid"))
                        print(name, method, options, grid[-1]["micro_f1"], file=sys.stderr)
                    best = max(grid, key=lambda point: point["micro_f1"])
                    final = runner.fit(command, best["options"], "all", "test")
                    everything.append(
                        {"set": name, "method": method, "hold_out": best["micro_f1"], **final}
                    )
                    cells = [f"{final[metric]:.4f}" for metric in METRICS]
                    chosen = f"C={best['options']['C']}" + (f", {rule}" if rule else "")
                    print(
                        f"| {method} | {chosen} | "
                        + " | ".join(cells)
                        + f" | {final['gap']} | {final['seconds']:.1f} |",
                        flush=True,
                    )
    if given.json:
        given.json.write_text(json.dumps(everything, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
