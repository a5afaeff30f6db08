#!/usr/bin/env python3
"""Margrove's Crammer-Singer SVM against LIBLINEAR's (-s 4): CPU seconds of training, one thread.

bench/crammer_singer.py --program build/margrove --data DIRECTORY [--C 0.01 0.1] [--tolerance x]

Both sides get DIRECTORY/train.svm and an intercept of 1. Needs liblinear-official, numpy, scipy,
scikit-learn. Margrove's seconds include reading the file and writing the model, LIBLINEAR's do not.
"""

import argparse
import pathlib
import tempfile
import time
from typing import Any

import numpy as np
from liblinear.liblinearutil import train
from measured_runs import measured_run
from scipy import sparse
from sklearn.datasets import load_svmlight_file


def liblinear(X: Any, y: Any, C: float) -> tuple[float, float]:
    start = time.process_time()
    model = train(y, X, f"-s 4 -c {C} -B 1 -q")
    seconds = time.process_time() - start
    W = np.ctypeslib.as_array(model.w, shape=(X.shape[1] + 1, model.nr_class))
    place = {label: k for k, label in enumerate(model.get_labels())}
    true = np.array([place[int(label)] for label in y])
    scores = np.asarray(sparse.hstack([X, np.ones((X.shape[0], 1))]).tocsr() @ W)
    rows = np.arange(len(true))
    violated = scores + 1
    violated[rows, true] -= 1
    loss = (violated.max(axis=1) - scores[rows, true]).sum()
    return seconds, 0.5 * (W**2).sum() + C * loss


def margrove(
    program: str, train_file: pathlib.Path, C: float, tolerance: float
) -> tuple[float, float, float]:
    with tempfile.TemporaryDirectory() as directory:
        command = [program, "train", "--method", "flat-svm", "--multiclass", "crammer-singer"]
        command += ["--C", str(C), "--tolerance", str(tolerance), "--threads", "1", "--quiet"]
        command += [str(train_file), str(pathlib.Path(directory) / "model")]
        run = measured_run(command)
    values = run.values()
    return run.cpu, float(values["objective"]), float(values["relative_gap"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--data", required=True, type=pathlib.Path)
    parser.add_argument("--C", type=float, nargs="+", default=[0.01, 0.1])
    parser.add_argument("--tolerance", type=float, default=5e-3)
    arguments = parser.parse_args()
    X, y = load_svmlight_file(str(arguments.data / "train.svm"))
    for C in arguments.C:
        theirs, their_objective = liblinear(X, y.astype(int), C)
        ours, our_objective, gap = margrove(
            arguments.program, arguments.data / "train.svm", C, arguments.tolerance
        )
        print(
            f"C {C}: LIBLINEAR {theirs:.2f} s, objective {their_objective:.4f}; "
            f"margrove {ours:.2f} s, objective {our_objective:.4f}, gap {gap:.1e}; "
            f"ratio {theirs / ours:.2f}"
        )


if __name__ == "__main__":
    main()
