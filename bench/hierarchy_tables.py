#!/usr/bin/env python3
"""Tables of the path and label-set SVMs on real hierarchies, options chosen on held-out rows.

bench/hierarchy_tables.py --program build/margrove --data FOLDER --sets clef cellcycle-fun
                          [--methods nhsvm] [--C 0.1 1 10] [--alpha power:2 maxmin] [--json FILE]
                          [--single-label] [--tree] [--rows 400]

FOLDER/SET holds train.svm, test.svm, hierarchy.txt and, where there is one, valid.svm, which is the
hold-out; otherwise a fifth of the training rows is, drawn by a fixed seed, or each of --folds parts
in turn. Every grid point is trained on the other rows and measured on the hold-out (micro-F1, mean
over the folds), unless there is one C only; the best is trained on both, measured on the test rows.
Markdown; MB is the largest resident memory of the final training. nhsvm with the rule that has the
best hold-out is then tested against the other methods, in pairs (margrove compare). The ceiling is
what a model could reach that knows every label seen in training: rows whose labels are all known,
and recall. A method may carry options of its own: nhsvm,--inference,relaxed.
"""

import argparse
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile
from typing import Any

from measured_runs import measured_run, same_loss

RAW_NUMBERS = {
    "cellcycle-fun", "derisi-fun", "cellcycle-go", "eisen-go", "phyletic-go", "enron-hmc"
}  # fmt: skip
LSHTC = {"lshtc-small-rdf", "lshtc-small-valtrain"}
PREPROCESSING = {
    **{name: ["--tfidf"] for name in LSHTC},
    **{name: ["--normalize"] for name in RAW_NUMBERS},
    "bibtex-ml": ["--scale", "none"],  # as the tables were made before counts became unit rows
}
MULTI_LABEL = {
    "enron-hmc", "cellcycle-fun", "derisi-fun", "debtags", "cellcycle-go", "eisen-go", "phyletic-go"
}  # fmt: skip
METRICS = ["accuracy", "jaccard", "instance_f1", "micro_f1", "macro_f1", "hierarchical_f1"]


def rows_of(path: pathlib.Path) -> list[str]:
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    is_header = bool(lines) and ":" not in lines[0] and len(lines[0].split()) == 3
    return lines[1:] if is_header else lines


def kept_rows(path: pathlib.Path, single_label: bool) -> list[str]:
    return [line for line in rows_of(path) if not single_label or len(labels_of(line)) == 1]


def labels_of(line: str) -> set[str]:
    return set(line.split(" ", 1)[0].split(","))


def split(folder: pathlib.Path) -> tuple[list[str], list[str]]:
    return splits(folder, 1)[0]


def first_parents(path: pathlib.Path) -> str:
    parents: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip():
            parents.setdefault(line.split()[1], line.split()[0])
    return "".join(f"{parent} {child}\n" for child, parent in parents.items())


def splits(
    folder: pathlib.Path, folds: int, single_label: bool = False
) -> list[tuple[list[str], list[str]]]:
    train = kept_rows(folder / "train.svm", single_label)
    if (folder / "valid.svm").exists():
        return [(train, kept_rows(folder / "valid.svm", single_label))]
    random.Random(0).shuffle(train)
    parts = [train[k :: max(folds, 5)] for k in range(max(folds, 5))]
    return [
        ([line for j, part in enumerate(parts) if j != k for line in part], parts[k])
        for k in range(max(folds, 1))
    ]


def drawn(rows: list[str], number: int) -> list[str]:
    return random.Random(1).sample(rows, min(number, len(rows)))


class Runner:
    def __init__(self, program: str, scratch: pathlib.Path, extra: list[str]):
        self.program, self.scratch, self.extra = program, scratch, extra

    def run(self, *arguments: str) -> str:
        return subprocess.run(
            [self.program, *arguments], check=True, capture_output=True, text=True
        ).stdout

    def fit(self, method: list[str], options: dict[str, str], rows: str, test: str) -> Any:
        given = [word for name, value in options.items() for word in (f"--{name}", value)]
        method = [method[0], *same_loss(method[0], method[1:])]
        arguments = ["train", "--method", *method, *given, *self.extra, "--threads", "1", "--quiet"]
        arguments += ["--hierarchy", str(self.scratch / "hierarchy")]
        arguments += [str(self.scratch / rows), str(self.scratch / "model")]
        run = measured_run([self.program, *arguments])
        values = run.values()
        measured = json.loads(
            self.run("evaluate", str(self.scratch / "model"), str(self.scratch / test), "--json")
        )
        return measured | {
            "seconds": run.cpu, "MB": run.megabytes, "gap": values.get("relative_gap"),
            "stop": values.get("stop"), "options": options,
        }  # fmt: skip

    def predict(self, name: str) -> pathlib.Path:
        path = self.scratch / name
        model, test = str(self.scratch / "model"), str(self.scratch / "test")
        self.run("predict", model, test, "--output", str(path))
        return path

    def compare(self, first: pathlib.Path, second: pathlib.Path) -> Any:
        test = str(self.scratch / "test")
        return json.loads(self.run("compare", test, str(first), str(second), "--json"))


def ceiling(train: list[str], test: list[str]) -> tuple[float, float]:
    known = set().union(*map(labels_of, train))
    whole = sum(labels_of(line) <= known for line in test) / len(test)
    pairs = [label in known for line in test for label in labels_of(line)]
    return whole, sum(pairs) / len(pairs)


def short(gap: str | None) -> str:
    return f"{float(gap):.0e}" if gap else ""


def tabulate(runner: Runner, name: str, folds: int, given: argparse.Namespace) -> list[Any]:
    finals: list[Any] = []
    for method in given.methods:
        command = method.split(",")  # flat-svm,--multiclass,crammer-singer
        rules = given.alpha if command[0] == "nhsvm" else [""]
        for rule in rules:
            grid: list[dict[str, Any]] = []
            for C in given.C:
                options = {"C": C, "tolerance": given.tolerance}
                if given.limit:
                    options["time-limit-seconds"] = given.limit
                if rule:
                    options["alpha"] = rule
                mean = math.nan
                if len(given.C) > 1:
                    points = [
                        runner.fit(command, options, f"train{k}", f"valid{k}") for k in range(folds)
                    ]
                    mean = sum(point["micro_f1"] for point in points) / folds
                    print(name, method, options, mean, file=sys.stderr)
                grid.append({"micro_f1": mean, "options": options})
            best = max(grid, key=lambda point: point["micro_f1"])
            final = runner.fit(command, best["options"], "all", "test")
            row = {"set": name, "method": method, "rule": rule, "hold_out": best["micro_f1"]}
            row["predictions"] = runner.predict(f"{command[0]}{len(finals)}")
            finals.append(row | final)
            chosen = f"C={best['options']['C']}" + (f", {rule}" if rule else "")
            cells = [chosen, f"{best['micro_f1']:.4f}"]
            cells += [f"{final[metric]:.4f}" for metric in METRICS]
            cells += [short(final["gap"]), f"{final['seconds']:.1f}", f"{final['MB']:.0f}"]
            print(f"| {' '.join(command)} | " + " | ".join(cells) + " |", flush=True)
    return finals


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--sets", nargs="+", required=True)
    parser.add_argument("--methods", nargs="+", default=["flat-svm", "hsvm", "nhsvm", "shared-svm"])
    parser.add_argument("--C", nargs="+", default=["0.1", "1", "10"])
    parser.add_argument("--alpha", nargs="+", default=["power:2", "maxmin", "directional"])
    parser.add_argument("--tolerance", default="1e-2")
    parser.add_argument("--folds", type=int, default=1, help="of cross-validation; 1: a hold-out")
    parser.add_argument("--limit", help="seconds a training may take, longer than it takes to read")
    parser.add_argument("--single-label", action="store_true", help="leave out the other rows")
    parser.add_argument("--tree", action="store_true", help="each node below its first parent only")
    parser.add_argument("--rows", type=int, help="train on that many rows, drawn by a fixed seed")
    parser.add_argument("--json", type=pathlib.Path)
    given = parser.parse_args()
    everything = []
    for name in given.sets:
        folds = splits(given.data / name, given.folds, given.single_label)
        everyone = [line for part in folds[0] for line in part]
        if given.rows:
            folds = [(drawn(train, given.rows), held_out) for train, held_out in folds]
            everyone = drawn(everyone, given.rows)
        test = kept_rows(given.data / name / "test.svm", given.single_label)
        whole, recall = ceiling(everyone, test)
        print(f"\n`{name}`: ceiling of accuracy {whole:.3f}, of recall {recall:.3f}\n")
        columns = ["method", "options", "hold-out", *METRICS, "gap", "CPU s", "MB"]
        print("| " + " | ".join(columns) + " |")
        print("|---" * len(columns) + "|")
        with tempfile.TemporaryDirectory() as directory:
            scratch = pathlib.Path(directory)
            files = {"all": everyone, "test": test}
            for k, (kept, left_out) in enumerate(folds):
                files |= {f"train{k}": kept, f"valid{k}": left_out}
            for file, lines in files.items():
                (scratch / file).write_text("".join(lines), encoding="utf-8")
            hierarchy = given.data / name / "hierarchy.txt"
            (scratch / "hierarchy").write_text(
                first_parents(hierarchy) if given.tree else hierarchy.read_text(encoding="utf-8"),
                encoding="utf-8",
            )
            runner = Runner(given.program, scratch, PREPROCESSING.get(name, []))
            finals = tabulate(runner, name, len(folds), given)
            ours = [row for row in finals if row["rule"]]
            if ours:
                best = max(ours, key=lambda row: row["hold_out"])
                print(f"\nnhsvm, {best['rule']}, on decisions that differ:\n")
                for row in finals:
                    if row is best:
                        continue
                    test_of = runner.compare(best["predictions"], row["predictions"])
                    sign = test_of["micro_sign_test"]
                    other = row["method"] + (f", {row['rule']}" if row["rule"] else "")
                    won, lost = sign["first_better"], sign["second_better"]
                    print(f"- against {other}: {won} to {lost}, p = {sign['p_value']:.2g}")
            everything += [{**row, "predictions": ""} for row in finals]
    if given.json:
        given.json.write_text(json.dumps(everything, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
