#!/usr/bin/env python3
"""Margrove's estimators beside HiClass 5 on the same arrays: time, memory, hierarchical F1.

bench/hiclass_comparison.py --data DIRECTORY [--sets clinc150 ...] [--systems hr-svm ...]
                            [--rows N] [--repeat R] [--cpu-limit S]

DIRECTORY/SET has train.svm, test.svm and hierarchy.txt. Rows with several labels are left out (on
both sides: HiClass takes one path a row); term counts (lshtc-small-rdf) become tf-idf. HiClass gets
the path from a root to the label, along the first parent; Margrove's estimators have C = 1.
HiClass's LocalClassifierPerNode needs probabilities, which LinearSVC lacks. Each run is a process
of its own with one thread: CPU seconds of fit plus predict on the test rows, the process's largest
resident memory, and how much of that came after the data and the packages were loaded. Systems take
turns R times; times are the least of the turns, printed when all systems have ended on a set; each
run is told on the standard error stream. A run that takes more than S CPU seconds is ended and
shown as such.
"""

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_files
from sklearn.feature_extraction.text import TfidfTransformer

SYSTEMS = [
    *("hiclass-per-node-lr", "hiclass-per-parent-lr", "hiclass-per-parent-svc"),
    *("top-down-svm", "top-down-svm-squared", "hr-lr", "hr-svm", "nhsvm"),
]
SETS = ["clinc150", "wordnet-nouns", "lshtc-small-rdf"]


def parents_of(path: Path) -> dict[int, list[int]]:
    parents: dict[int, list[int]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        parent, child = map(int, line.split())
        parents.setdefault(child, []).append(parent)
    return parents


def read(directory: Path, rows: int | None) -> tuple[Any, Any, Any, Any]:
    X, y, X_test, y_test = load_svmlight_files(
        [str(directory / "train.svm"), str(directory / "test.svm")], multilabel=True
    )
    one = [i for i, labels in enumerate(y) if len(labels) == 1 and X[i].nnz]
    one_test = [i for i, labels in enumerate(y_test) if len(labels) == 1]
    if rows is not None:
        one = sorted(np.random.default_rng(0).permutation(one)[:rows].tolist())
    X, X_test = X[one], X_test[one_test]
    if directory.name.startswith("lshtc"):
        tfidf = TfidfTransformer(sublinear_tf=True).fit(X)
        X, X_test = tfidf.transform(X), tfidf.transform(X_test)
    labels = np.array([int(y[i][0]) for i in one])
    return X.tocsr(), labels, X_test.tocsr(), np.array([int(y_test[i][0]) for i in one_test])


def paths(labels: Any, parents: dict[int, list[int]]) -> Any:
    """Rows of names from below the root to the label, filled up with empty texts."""
    rows = []
    for label in labels.tolist():
        path = [label]
        while path[-1] in parents:
            path.append(parents[path[-1]][0])
        rows.append([str(node) for node in reversed(path[:-1])])
    width = max(map(len, rows))
    return np.array([row + [""] * (width - len(row)) for row in rows], dtype=object)


def hierarchical_f1(truth: Any, predicted: Any, parents: dict[int, list[int]]) -> float:
    known: dict[int, frozenset[int]] = {}

    def closed(label: int) -> frozenset[int]:
        if label not in known:
            above = parents.get(label, [])
            own = [label] if above else []  # without the root
            known[label] = frozenset(own).union(*(closed(parent) for parent in above))
        return known[label]

    both = sum(len(closed(a) & closed(b)) for a, b in zip(truth, predicted, strict=True))
    sizes = sum(len(closed(a)) + len(closed(b)) for a, b in zip(truth, predicted, strict=True))
    return 2 * both / sizes


def resident_megabytes() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
    return pages * resource.getpagesize() / 1e6


def worker(system: str, directory: Path, rows: int | None) -> dict[str, float]:
    """One run in this process."""
    X, y, X_test, y_test = read(directory, rows)
    parents = parents_of(directory / "hierarchy.txt")
    if system.startswith("hiclass"):
        from hiclass import LocalClassifierPerNode, LocalClassifierPerParentNode
        from sklearn.linear_model import LogisticRegression
        from sklearn.svm import LinearSVC

        local = LogisticRegression(max_iter=1000) if system.endswith("lr") else LinearSVC()
        made = LocalClassifierPerNode if "per-node" in system else LocalClassifierPerParentNode
        model: Any = made(local_classifier=local, n_jobs=1)
        y = paths(y, parents)
    else:
        from margrove import HRSVC, NHSVC, HRLogisticRegression, TopDownSVC

        if system.startswith("top-down"):  # needs a tree: the first parents, as HiClass gets them
            # The squared hinge is LinearSVC's loss.
            loss = "squared-hinge" if system.endswith("squared") else "hinge"
            tree = [(p[0], child) for child, p in parents.items()]
            model = TopDownSVC(hierarchy=tree, C=1, loss=loss)
        else:
            given: Any = {"hr-lr": HRLogisticRegression, "hr-svm": HRSVC, "nhsvm": NHSVC}[system]
            options = {"alpha": "power:2"} if system == "nhsvm" else {}
            model = given(hierarchy=str(directory / "hierarchy.txt"), C=1, **options)
        y = y.astype(str)
    before = resident_megabytes()
    start = time.process_time()
    model.fit(X, y)
    fitted = time.process_time()
    predicted = model.predict(X_test)
    done = time.process_time()
    if system.startswith("hiclass"):
        predicted = [[node for node in row if node][-1] for row in predicted]
    score = hierarchical_f1(y_test, [int(label) for label in predicted], parents)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    return {
        "train_seconds": fitted - start,
        "predict_seconds": done - fitted,
        "peak_megabytes": peak,
        "own_megabytes": peak - before,
        "hierarchical_f1": score,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--systems", nargs="+", default=SYSTEMS, choices=SYSTEMS)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--cpu-limit", type=int, default=3600)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        result = worker(arguments.worker, arguments.data / arguments.sets[0], arguments.rows)
        print(json.dumps(result))
        return
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    print("| data | system | train s | predict s | peak MB | own MB | hierarchical F1 |")
    print("|---|---|---|---|---|---|---|")
    for name in arguments.sets:
        ended: set[str] = set()
        best: dict[str, dict[str, float]] = {}
        for _ in range(arguments.repeat):
            for system in arguments.systems:
                if system in ended:
                    continue
                command = [sys.executable, __file__, "--data", str(arguments.data)]
                command += ["--sets", name, "--worker", system]
                if arguments.rows is not None:
                    command += ["--rows", str(arguments.rows)]
                limit = arguments.cpu_limit
                done = subprocess.run(
                    ["bash", "-c", f'ulimit -t {limit}; exec "$@"', "bash", *command],
                    check=False,
                    stdout=subprocess.PIPE,
                    env=os.environ | one_thread,
                )
                if done.returncode in (-signal.SIGKILL, -signal.SIGXCPU):
                    print(f"| {name} | {system} | > {limit} | | | | |", flush=True)
                    ended.add(system)
                    continue
                if done.returncode != 0:
                    sys.exit(f"{system} on {name}: exit code {done.returncode}")
                result = json.loads(done.stdout.splitlines()[-1])
                print(name, system, result, file=sys.stderr, flush=True)
                old = best.setdefault(system, result)
                for key in ("train_seconds", "predict_seconds"):
                    old[key] = min(old[key], result[key])
        for system, r in best.items():
            print(
                f"| {name} | {system} | {r['train_seconds']:.2f} | {r['predict_seconds']:.2f} | "
                f"{r['peak_megabytes']:.0f} | {r['own_megabytes']:.0f} | "
                f"{r['hierarchical_f1']:.4f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
