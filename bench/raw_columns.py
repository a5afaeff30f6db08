#!/usr/bin/env python3
"""Defaults on unscaled numeric columns, compared with scikit-learn's defaults.

bench/raw_columns.py --program build/margrove [--data FOLDER] [--sets uci-heart yeast ...]
                     [--scale auto none] [--repeats 4] [--json FILE]

FOLDER (or MARGROVE_DATA) holds uci-*/data.csv, mfeat/*.csv and yeast and scene with train.svm and
test.svm. Nothing is scaled before the program sees it. flat-svm stands beside LinearSVC, flat-lr
beside LogisticRegression, all at their defaults and on the same rows: sets without a split of their
own by a stratified cross-validation in five parts, shuffled anew in each repeat. Accuracy, for
yeast and scene micro-F1 (scikit-learn in OneVsRestClassifier). With several --scale each has a
table. `gap` is the largest relative duality gap of the trainings, `seconds` their mean.
"""

import argparse
import json
import os
import pathlib
import tempfile
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from measured_runs import train_and_measure
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import MultiLabelBinarizer
from sklearn.svm import LinearSVC

UCI = ["heart", "ionosphere", "liver", "pima", "sonar", "wdbc"]
MFEAT = ["fac", "fou", "kar", "mor", "pix", "zer"]
SEVERAL_LABELS = ["scene", "yeast"]
SETS = [f"uci-{name}" for name in UCI] + [f"mfeat-{name}" for name in MFEAT] + SEVERAL_LABELS
PEERS = {
    "flat-svm": ("LinearSVC", lambda: LinearSVC(random_state=0)),
    "flat-lr": ("LogisticRegression", LogisticRegression),
}

Part = tuple[Any, Any, Any, Any]  # training rows and labels, test rows and labels


def table_of(data: pathlib.Path, name: str) -> tuple[Any, Any]:
    """Rows and labels of a set without a split of its own."""
    if name.startswith("uci-"):
        lines = (data / name / "data.csv").read_text(encoding="utf-8").split("\n")[1:]
        cells = [line.split(",") for line in lines if line]
        rows: Any = [[float(cell) if cell else 0.0 for cell in line[:-1]] for line in cells]
        labels = [line[-1] for line in cells]
    else:
        rows = np.loadtxt(data / "mfeat" / f"{name.removeprefix('mfeat-')}.csv", delimiter=",")
        labels = (data / "mfeat" / "labels.csv").read_text(encoding="utf-8").split()
    return np.array(rows, dtype=np.float32), np.array(labels)


def parts_of(data: pathlib.Path, name: str, repeats: int) -> Iterator[Part]:
    if name in SEVERAL_LABELS:
        X, y = load_svmlight_file(str(data / name / "train.svm"), multilabel=True)
        X_test, y_test = load_svmlight_file(
            str(data / name / "test.svm"), multilabel=True, n_features=X.shape[1]
        )
        yield X.toarray().astype(np.float32), y, X_test.toarray().astype(np.float32), y_test
        return
    X, y = table_of(data, name)
    folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=repeats, random_state=0)
    for train, test in folds.split(X, y):
        yield X[train], y[train], X[test], y[test]


def write_rows(path: pathlib.Path, X: Any, y: Any) -> None:
    lines = []
    for x, label in zip(X, y, strict=True):
        labels = ",".join(str(int(each)) for each in label) if isinstance(label, tuple) else label
        lines.append(f"{labels} " + " ".join(f"{j + 1}:{x[j]:.9g}" for j in np.flatnonzero(x)))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


class Program:
    """The program on one part of a set."""

    def __init__(self, program: str, work: pathlib.Path, part: Part) -> None:
        self.program, self.work = program, work
        self.metric = "micro_f1" if isinstance(part[1][0], tuple) else "accuracy"
        write_rows(work / "train", part[0], part[1])
        write_rows(work / "test", part[2], part[3])

    def measure(self, method: str, scale: str) -> dict[str, float]:
        options = ["--method", method, "--scale", scale]
        files = self.work / "train", self.work / "test", self.work / "model"
        run, metrics = train_and_measure(self.program, options, *files, predicts=False)
        return {
            "score": metrics[self.metric],
            "seconds": run.wall,
            "gap": float(run.values()["relative_gap"]),
        }


def peer_score(estimator: Any, part: Part) -> float:
    X, y, X_test, y_test = part
    if not isinstance(y[0], tuple):
        return float(np.mean(estimator.fit(X, y).predict(X_test) == y_test))
    indicators = MultiLabelBinarizer().fit(y)
    predicted = OneVsRestClassifier(estimator).fit(X, indicators.transform(y)).predict(X_test)
    return float(f1_score(indicators.transform(y_test), predicted, average="micro"))


def results_of(arguments: argparse.Namespace, name: str) -> dict[str, Any]:
    """Mean scores by peer; means of all measurements by method and scale."""
    measured: dict[str, list[Any]] = {}
    for part in parts_of(arguments.data, name, arguments.repeats):
        with tempfile.TemporaryDirectory() as work:
            program = Program(arguments.program, pathlib.Path(work), part)
            for method, (peer, make) in PEERS.items():
                measured.setdefault(peer, []).append({"score": peer_score(make(), part)})
                for scale in arguments.scale:
                    result = program.measure(method, scale)
                    measured.setdefault(f"{method} {scale}", []).append(result)
    summary: dict[str, Any] = {}
    for key, values in measured.items():
        summary[key] = {what: float(np.mean([v[what] for v in values])) for what in values[0]}
        if "gap" in values[0]:
            summary[key]["gap"] = max(v["gap"] for v in values)
    return summary


def print_tables(results: dict[str, dict[str, Any]], scales: list[str]) -> None:
    for scale in scales:
        print(f"\n--scale {scale}\n")
        print("| set | flat-svm | LinearSVC | flat-lr | LogisticRegression | gap | seconds |")
        print("|---|---|---|---|---|---|---|")
        for name, result in results.items():
            own = [result[f"{method} {scale}"] for method in PEERS]
            cells = [
                f"{cell:.4f}"
                for mine, (peer, _) in zip(own, PEERS.values(), strict=True)
                for cell in (mine["score"], result[peer]["score"])
            ]
            gap = max(mine["gap"] for mine in own)
            seconds = sum(mine["seconds"] for mine in own)
            print(f"| {name} | {' | '.join(cells)} | {gap:.1e} | {seconds:.2f} |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--program", default="build/margrove")
    parser.add_argument(
        "--data", type=pathlib.Path, default=os.environ.get("MARGROVE_DATA", "../shared/data")
    )
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--scale", nargs="+", default=["auto"])
    parser.add_argument("--repeats", type=int, default=4)
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    arguments.data = pathlib.Path(arguments.data)
    warnings.simplefilter("ignore")  # LinearSVC does not converge on raw columns
    results = {name: results_of(arguments, name) for name in arguments.sets}
    print_tables(results, arguments.scale)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
