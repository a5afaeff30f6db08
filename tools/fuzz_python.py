#!/usr/bin/env python3
"""Fuzzes the Python package with atheris: matrices, labels and options of the estimators.

usage: tools/fuzz_python.py [libFuzzer options, such as -max_total_time=60]

Needs the package built (make python) and atheris (tools/requirements-fuzz.txt), whose wheels are
for Python 3.11 and older; without it the program says so and ends with 0. Whatever the input, fit()
and predict() return or raise ValueError, and what is predicted is one of the labels.
"""

import sys
import warnings
from importlib.util import find_spec

import numpy as np

if find_spec("atheris") is None:
    print("fuzz_python: skipped: atheris is not installed (tools/requirements-fuzz.txt)")
    sys.exit(0)

import atheris

with atheris.instrument_imports(include=["margrove"]):
    import margrove as mg

ESTIMATORS = [
    mg.FlatSVC, mg.FlatLogisticRegression, mg.LpMKLClassifier, mg.SimpleMKLClassifier,
    mg.AverageMKLClassifier, mg.SPNMKLClassifier,
]  # fmt: skip


def one_input(data: bytes) -> None:
    given = atheris.FuzzedDataProvider(data)
    rows, columns = given.ConsumeIntInRange(0, 8), given.ConsumeIntInRange(0, 4)
    numbers = given.ConsumeFloatListInRange(rows * columns, -1e300, 1e300)
    X = np.resize(np.array(numbers or [0.0]), (rows, columns))
    if given.ConsumeBool():
        X = X.astype(np.float32)
    y = np.array([given.ConsumeIntInRange(0, 3) for _ in range(rows)])
    estimator = ESTIMATORS[given.ConsumeIntInRange(0, len(ESTIMATORS) - 1)]
    try:
        model = estimator(C=given.ConsumeRegularFloat()).fit(X, y)
        predicted = model.predict(X)
    except (ValueError, MemoryError):
        return
    if not set(predicted) <= set(y):
        raise AssertionError(f"{predicted} are not among {y}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # of overflow in conversions
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
