#!/usr/bin/env python3
"""Fuzzes the Python package with atheris: matrices, labels, hierarchies and options of estimators.

usage: tools/fuzz_python.py [libFuzzer options, such as -max_total_time=60]

Needs the package built (make python) and atheris (tools/requirements-fuzz.txt), whose wheels are
for Python 3.11 and older; without it the program says so and ends with 0. Whatever the input, fit()
and predict() return or raise ValueError, and what is predicted is among the labels.
"""

import sys
import warnings
from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.sparse as sp

if find_spec("atheris") is None:
    print("fuzz_python: skipped: atheris is not installed (tools/requirements-fuzz.txt)")
    sys.exit(0)

import atheris

# The modules of the package are loaded when a name of theirs is asked for, so that all of them must
# be loaded here to be instrumented.
with atheris.instrument_imports(include=["margrove"]):
    import margrove as mg

    FLAT = [
        mg.FlatSVC, mg.FlatLogisticRegression, mg.LpMKLClassifier, mg.SimpleMKLClassifier,
        mg.AverageMKLClassifier, mg.SPNMKLClassifier,
    ]  # fmt: skip
    WITH_HIERARCHY = [
        mg.HSVC, mg.NHSVC, mg.SharedSVC, mg.HRSVC, mg.HRLogisticRegression, mg.TopDownSVC,
        mg.LabelTreesSVC, mg.LevelSVC,
    ]  # fmt: skip


def drawn_matrix(given: Any, rows: int) -> Any:
    columns = given.PickValueInList([0, 1, 2, 3, 4])
    if given.ConsumeBool():
        numbers = [given.ConsumeIntInRange(-9, 9) / 4 for _ in range(rows * columns)]
    else:
        most = given.PickValueInList([1.0, 1e6, 1e19, 3e38, 1e300])
        numbers = given.ConsumeFloatListInRange(rows * columns, -most, most)
    X = np.resize(np.array(numbers or [0.0]), (rows, columns))
    if given.ConsumeBool():
        X = X.astype(np.float32)
    return sp.csr_matrix(X) if given.ConsumeBool() else X


def drawn_labels(given: Any, rows: int) -> tuple[Any, set[Any]]:
    """One label for each row or, as the second of four forms, several; and all labels."""
    single = [given.ConsumeIntInRange(0, 4) for _ in range(rows)]
    form = given.ConsumeIntInRange(0, 3)
    if form == 1:
        return [{label, given.ConsumeIntInRange(0, 4)} for label in single], set(range(5))
    if form == 2:
        return [str(label) for label in single], set(map(str, single))
    return np.array(single), set(single)


def drawn_estimator(given: Any) -> Any:
    options: dict[str, Any] = {"threads": 1, "time_limit_seconds": 0.2}
    C = given.PickValueInList([1, 0.01, 100, 0, -1, 1e300, "own"])
    options["C"] = given.ConsumeRegularFloat() if C == "own" else C
    if given.ConsumeBool():
        return given.PickValueInList(FLAT)(**options)
    if given.ConsumeBool():  # two levels above the labels
        edges = [(given.ConsumeIntInRange(5, 6), label) for label in range(5)] + [(7, 5), (7, 6)]
    else:
        edges = [
            (given.ConsumeIntInRange(0, 8), given.ConsumeIntInRange(0, 8))
            for _ in range(given.ConsumeIntInRange(0, 8))
        ]
    return given.PickValueInList(WITH_HIERARCHY)(hierarchy=edges, **options)


def one_input(data: bytes) -> None:
    given = atheris.FuzzedDataProvider(data)
    rows = given.PickValueInList(list(range(12)))
    X = drawn_matrix(given, rows)
    y, labels = drawn_labels(given, rows)
    try:
        model = drawn_estimator(given).fit(X, y)
        predicted = model.predict(X)
    except (ValueError, MemoryError):
        return
    several = any(isinstance(each, set) for each in y)
    found = {label for each in predicted for label in each} if several else set(predicted)
    if not found <= labels:
        raise AssertionError(f"{predicted} are not among {labels}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # of overflow in conversions, and of limits
    # Inputs of full length from the start: short ones have no rows.
    atheris.Setup([sys.argv[0], "-len_control=0", "-max_len=512", *sys.argv[1:]], one_input)
    atheris.Fuzz()
