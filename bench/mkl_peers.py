"""Training time of multiple kernel learning: Margrove, MKLpy and scikit-learn's SVC in one run.

    PYTHONPATH=build/python .venv-mklpy/bin/python bench/mkl_peers.py DATA_FOLDER uci-heart ...

tools/requirements-mklpy.txt says how .venv-mklpy is made. The kernels of SimpleMKL's protocol on
one 70/30 split, columns standardised, mean diagonal 1: Gaussians of widths 1/8 ... 64 and
polynomials of degree 1 to 3 on all variables and (with --each) on each alone. Everybody has one
thread and C = 1; the median of CPU seconds over --rounds runs that alternate. Margrove computes the
kernels itself, in the time shown; the others get them as matrices and their time is training alone.
A method that needs more than --limit CPU seconds is left out of further rounds.
"""

import argparse
import csv
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from margrove import _core
from MKLpy.algorithms import CKA, GRAM, MEMO, RMKL, AverageMKL, EasyMKL, FHeuristic
from sklearn.svm import SVC

WIDTHS = [2.0**k for k in range(-3, 7)]
Fit = Callable[[], tuple[Any, float]]


def read(folder: Path, name: str) -> tuple[Any, Any]:
    with (folder / name / "data.csv").open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    X = np.array([[float(cell) for cell in row[:-1]] for row in rows], np.float32)
    return X, np.array([row[-1] for row in rows])


def columns_of(X: Any, each: bool) -> list[slice]:
    alone = [slice(j, j + 1) for j in range(X.shape[1]) if X[:, j].std() > 0]
    return [slice(0, X.shape[1]), *(alone if each else [])]


def network_of(X: Any, each: bool) -> str:
    """The same kernels for Margrove."""
    kernels: dict[str, Any] = {}
    for k, columns in enumerate(columns_of(X, each)):
        where = {"columns": f"{columns.start + 1}-{columns.stop}"}
        kernels[f"g{k}"] = {"type": "gaussian", "widths": WIDTHS, **where}
        kernels[f"p{k}"] = {"type": "polynomial", "degrees": [1, 2, 3], **where}
    return json.dumps({"kernels": kernels, "shape": "one-layer"})


def matrices(A: Any, B: Any, train: Any, each: bool) -> list[Any]:
    """The kernels between A's and B's rows, scaled by the mean diagonal over the training rows."""
    result = []
    for columns in columns_of(train, each):
        a, b, t = (Z[:, columns].astype(float) for Z in (A, B, train))
        squares = (a**2).sum(1)[:, None] + (b**2).sum(1)[None] - 2 * a @ b.T
        result += [np.exp(-np.maximum(squares, 0) / (2 * w * w)) for w in WIDTHS]
        for degree in (1, 2, 3):
            diagonal = ((t**2).sum(1) + 1) ** degree
            result.append((a @ b.T + 1) ** degree / diagonal.mean())
    return result


def margrove(method: str, options: dict[str, str], data: Any, each: bool) -> Fit:
    X, y, fresh, truth = data

    def rows(Z: Any) -> Any:
        n, d = Z.shape
        pointers = np.arange(0, n * d + 1, d)
        return d, pointers, np.tile(np.arange(d, dtype=np.int32), n), Z.ravel()

    def fit() -> tuple[Any, float]:
        labels = np.arange(len(y) + 1), (y > 0).astype(np.uint32)
        begin = time.process_time()
        model = _core.train(
            method, {"C": "1", "network": network_of(X, each)} | options, rows(X), labels,
            ["-1", "1"], None, None, 1, None, None, 0.0, None,
        )  # fmt: skip
        seconds = time.process_time() - begin
        scores = model.scores(rows(fresh), 1)
        return seconds, float(np.mean((scores[:, 1] > scores[:, 0]) == (truth > 0)))

    return fit


def mklpy(algorithm: Callable[[], Any], data: Any, train: list[Any], test: list[Any]) -> Fit:
    _, y, _, truth = data

    def fit() -> tuple[Any, float]:
        model = algorithm()
        begin = time.process_time()
        model.fit(train, torch.tensor(y))
        seconds = time.process_time() - begin
        return seconds, float(np.mean(np.asarray(model.predict(test)) == truth))

    return fit


def uniform_svc(data: Any, train: list[Any], test: list[Any]) -> Fit:
    _, y, _, truth = data

    def fit() -> tuple[Any, float]:
        begin = time.process_time()
        K = sum(np.asarray(k) for k in train) / len(train)
        model = SVC(C=1, kernel="precomputed").fit(K, y)
        seconds = time.process_time() - begin
        return seconds, float(
            np.mean(model.predict(sum(np.asarray(k) for k in test) / len(test)) == truth)
        )

    return fit


def compare(folder: Path, name: str, arguments: Any) -> None:
    X, labels = read(folder, name)
    y = np.where(labels == np.unique(labels)[1], 1, -1)
    order = np.random.default_rng(0).permutation(len(y))
    train, test = np.split(order, [int(0.7 * len(y))])
    deviation = X[train].std(0)
    X = ((X - X[train].mean(0)) / np.where(deviation > 0, deviation, 1)).astype(np.float32)
    data = X[train], y[train], X[test], y[test]
    begin = time.process_time()
    grams = matrices(X[train], X[train], X[train], arguments.each)
    kernel_seconds = time.process_time() - begin
    gram_tensors = [torch.tensor(K) for K in grams]
    cross = [torch.tensor(K) for K in matrices(X[test], X[train], X[train], arguments.each)]

    svc = {"learner": SVC(C=1)}
    fits: dict[str, Fit] = {
        "Margrove average-mkl": margrove("average-mkl", {}, data, arguments.each),
        "Margrove simple-mkl": margrove("simple-mkl", {}, data, arguments.each),
        "Margrove lp-mkl, p=2": margrove("lp-mkl", {}, data, arguments.each),
        "Margrove spn-mkl": margrove("spn-mkl", {}, data, arguments.each),
        "scikit-learn SVC, uniform": uniform_svc(data, gram_tensors, cross),
    }
    peers: dict[str, Callable[[], Any]] = {
        "MKLpy AverageMKL": lambda: AverageMKL(**svc),
        "MKLpy EasyMKL": lambda: EasyMKL(lam=0.1, **svc),
        "MKLpy FHeuristic": lambda: FHeuristic(**svc),
        "MKLpy CKA": lambda: CKA(**svc),
        "MKLpy GRAM, 100 steps": lambda: GRAM(max_iter=100, **svc),
        "MKLpy RMKL, 100 steps": lambda: RMKL(max_iter=100, C=1, **svc),
        "MKLpy MEMO, 100 steps": lambda: MEMO(max_iter=100, **svc),
    }
    fits |= {key: mklpy(made, data, gram_tensors, cross) for key, made in peers.items()}
    found: dict[str, list[tuple[float, float]]] = {key: [] for key in fits}
    failed: dict[str, str] = {}
    for _ in range(arguments.rounds):
        for key, fit in fits.items():
            if key in failed or (found[key] and found[key][0][0] > arguments.limit):
                continue
            try:
                found[key].append(fit())
            except Exception as error:
                failed[key] = f"{type(error).__name__}: {error}".split("\n")[0]
    print(f"\n{name}: {len(train)} rows, {len(grams)} kernels; numpy makes them in "
          f"{kernel_seconds:.2f} s\n")  # fmt: skip
    print("| | CPU s | accuracy |\n|---|---|---|")
    for key, runs in found.items():
        if key in failed:
            print(f"| {key} | {failed[key]} | |")
            continue
        print(f"| {key} | {statistics.median(s for s, _ in runs):.3f} | {100 * runs[0][1]:.1f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--each", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=20)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    for name in arguments.names:
        compare(arguments.folder, name, arguments)


if __name__ == "__main__":
    main()
