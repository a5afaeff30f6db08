#!/usr/bin/env python3
"""Trains on random problems for a while and checks what must hold of every one of them.

usage: tools/soak.py PROGRAM [--problems N | --seconds N] [--seed S] [--jobs N] [--findings DIR]
                     [--sanitized]
       tools/soak.py PROGRAM --replay CASE.json...

A problem (tools/soak_cases.py) is trained, saved, loaded, predicted, explained and evaluated by the
program, and some by the Python package. What must hold:

  - the program ends in time with a documented exit code and, where it is not 0, a message;
  - without a model nothing is written, and nothing lies beside a model;
  - the model loads, and all that is printed of it is finite;
  - 1, 2 and 5 threads give the same model and predictions;
  - `converged` comes with a gap within the tolerance, and claimed gaps are true (verify_gap.py);
  - with rows, columns or labels in another order, objectives are the same up to the gaps.

What does not hold is a finding: the problem is kept as a file in the folder of findings, from which
--replay runs it again. The same seed draws the same problems: --problems checks the first N of
them, --seconds as many as it has time for. --sanitized: the program has a sanitizer, whose memory
is not limited. The exit code is 1 if there are findings.
"""

import argparse
import itertools
import math
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.declared_methods import Method, declared_methods, option_tables  # noqa: E402
from tools.model_reader import Model  # noqa: E402
from tools.soak_cases import Case, drawn_case, permuted  # noqa: E402
from tools.verify_gap import UNCERTIFIED, verify  # noqa: E402

TIME_LIMIT_SECONDS = 120
MEMORY_BYTES = 8_000_000_000
DOCUMENTED = {0, 1, 2, 3, 4, 5}
NOT_FINITE = re.compile(r"(?<![\w.])-?(nan|inf|infinity)(?![\w.])", re.IGNORECASE)
TOO_LARGE = "the scores are not finite numbers"  # of rows with huge values
SANITIZER = re.compile(r"AddressSanitizer|LeakSanitizer|runtime error:")
LARGEST_VERIFIED = 1e6  # beyond this scale the other solver is not to be trusted
LARGEST_PROBLEM = 20_000  # numbers in the pieces of a problem that is verified


@dataclass(frozen=True)
class Ended:
    code: int | None  # None: not in time
    out: str
    err: str


class BrokenError(Exception):
    """What must hold does not."""


class Attempt:
    """One problem in a folder of its own."""

    def __init__(self, program: Path, case: Case, folder: Path, sanitized: bool) -> None:
        self.program = program
        self.case = case
        self.folder = folder
        self.sanitized = sanitized
        self.checks: Counter[str] = Counter()
        self.draw = random.Random(f"{case.name} checks")

    def run(self, *arguments: str) -> Ended:
        def limit() -> None:
            if not self.sanitized:
                resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        try:
            done = subprocess.run(
                [self.program, *arguments],
                cwd=self.folder,
                capture_output=True,
                timeout=TIME_LIMIT_SECONDS,
                check=False,
                preexec_fn=limit,
                env=os.environ | {"ASAN_OPTIONS": "allocator_may_return_null=1"},
            )
        except subprocess.TimeoutExpired:
            raise BrokenError(f"{arguments[0]} does not end in {TIME_LIMIT_SECONDS} s") from None
        ended = Ended(done.returncode, done.stdout.decode("utf-8", "replace"),
                      done.stderr.decode("utf-8", "replace"))  # fmt: skip
        if ended.code not in DOCUMENTED:
            raise BrokenError(f"{arguments[0]}: exit code {ended.code}: {ended.err[-2000:]}")
        if ended.code != 0 and not ended.err.strip():
            raise BrokenError(f"{arguments[0]}: exit code {ended.code} without a message")
        if "internal error" in ended.err or SANITIZER.search(ended.err):
            raise BrokenError(f"{arguments[0]}: {ended.err[-2000:]}")
        return ended

    def train(self, threads: int, model: str, folder: Path | None = None) -> Ended:
        data = self.case.data
        place = "" if folder is None else f"{folder.name}/"
        options = [
            option.replace("=pairs", f"={place}pairs") if option.startswith("--label-graph")
            else f"{place}{option}" if option == "hierarchy" else option
            for option in self.case.arguments
        ]  # fmt: skip
        return self.run(
            "train", *options, "--quiet", "--threads", str(threads), f"{place}{data}", model
        )

    def check(self) -> str:
        """Throws BrokenError; else says how it ended."""
        before = {path.name for path in self.folder.iterdir()}
        ended = self.train(1, "model")
        left = {path.name for path in self.folder.iterdir()} - before
        if left - {"model"}:
            raise BrokenError(f"left behind: {sorted(left)}")
        if (ended.code == 0) != ("model" in left):
            raise BrokenError(f"exit code {ended.code}, but written: {sorted(left)}")
        self.check_threads(ended)
        if ended.code != 0:
            return f"exit {ended.code}"
        self.check_readers()
        self.check_gap(ended)
        if self.draw.random() < 0.3:
            self.check_order()
        return "model"

    def check_threads(self, first: Ended) -> None:
        if self.case.options.get("time-limit-seconds"):
            return
        self.checks["threads"] += 1
        ended = self.train(self.draw.choice([2, 5]), "other")
        if ended.code != first.code:
            raise BrokenError(f"exit code {first.code} with 1 thread, {ended.code} with more")
        if ended.code == 0:
            if (self.folder / "model").read_bytes() != (self.folder / "other").read_bytes():
                raise BrokenError("the model depends on the number of threads")
            (self.folder / "other").unlink()

    def check_readers(self) -> None:
        """Everything that reads the model."""
        data = self.case.data
        commands = [
            ["info", "model"],
            ["predict", "model", data, "--threads", "1"],
            ["evaluate", "model", data, "--json"],
            ["explain", "model", data, "--row", "0"],
        ]
        if self.case.method != "structured" or self.case.is_rows:
            commands.append(["predict", "model", data, "--scores", "--top", "2", "--threads", "5"])
        rows = len(self.case.files[data].strip())
        for command in commands:
            ended = self.run(*command)
            self.checks[command[0]] += 1
            # That a data set cannot be evaluated or a label not explained may be the data's fault.
            if ended.code == 3 and TOO_LARGE in ended.err:
                self.checks["too large"] += 1
                continue
            if ended.code != 0 and command[0] in ("info", "predict") and rows:
                raise BrokenError(
                    f"{' '.join(command)}: exit code {ended.code}: {ended.err[-500:]}"
                )
            if ended.code == 4:
                raise BrokenError(f"the model cannot be read: {ended.err[-500:]}")
            # A label of the problem is never one of these words.
            if found := NOT_FINITE.search(ended.out):
                raise BrokenError(f"{' '.join(command)} prints {found[0]}")

    def check_gap(self, ended: Ended) -> None:
        model = Model.read(self.folder / "model")
        gap = float(model.metadata.get("fit.relative_gap", "nan"))
        tolerance = float(model.option("tolerance", "nan") or "nan")
        if model.metadata["fit.stop"] == "converged" and gap > tolerance * (1 + 1e-9):
            raise BrokenError(
                f"converged at a gap of {gap:.3g}, but the tolerance is {tolerance:g}"
            )
        # Sums of 32-bit products round, most of all those of kernel methods. Where they round by
        # more than the tolerance, the program says so and claims no convergence.
        if gap < -tolerance and model.metadata["fit.stop"] == "stalled":
            return
        if gap < -max(1e-4, 0.1 * tolerance) and UNCERTIFIED not in ended.err:
            raise BrokenError(f"the gap is {gap:.3g}, below 0")
        if math.isnan(gap) or UNCERTIFIED in ended.err or not self.is_moderate(model):
            return
        try:
            verdict = verify(self.folder / "model", self.folder / self.case.data, LARGEST_PROBLEM)
        except (ValueError, ArithmeticError):  # not written out, or numbers beyond the solver
            return
        if verdict.undecided:
            self.checks["gap undecided"] += 1
            return
        self.checks["gap"] += 1
        if verdict.faults:
            raise BrokenError(f"false gap: {'; '.join(verdict.faults)}")

    def is_moderate(self, model: Model) -> bool:
        penalty = float(model.option("lambda", "0") or "0")
        strength = 1 / (2 * penalty) if penalty > 0 else float(model.option("C", "1") or "1")
        if not 1e-6 < strength < 1e4 or float(model.option("bias", "1") or "1") > 1e3:
            return False
        if not self.case.is_rows:
            return self.case.method == "structured"
        if model.metadata["preprocessing.kind"] != "none":
            return True
        numbers = [abs(float(x)) for x in re.findall(r":(\S+)", self.case.files[self.case.data])]
        return max(numbers, default=0) < LARGEST_VERIFIED

    def check_order(self) -> None:
        """The objective with rows, columns or labels in another order."""
        first = Model.read(self.folder / "model").metadata
        # Calibration holds rows out, which are others in another order.
        unsuitable = {
            "cost-matrix",
            "time-limit-seconds",
            "network",
            "calibration",
        } & self.case.options.keys()
        if not self.case.is_rows or unsuitable or not first.get("fit.relative_gap"):
            return
        if "=" in self.case.options.get("anchor", ""):
            return
        # It chooses widths and strengths by left-out precision. Where several are as good, the
        # rounding of sums in another order decides between them.
        if self.case.method == "kernel-ridge":
            return
        what = self.draw.choice(["rows", "columns", "labels"])
        other = permuted(self.case, what, self.case.name)
        folder = self.folder / "permuted"
        folder.mkdir()
        other.write(folder)
        if self.train(1, "permuted/model", folder).code != 0:
            raise BrokenError(f"with {what} in another order there is no model")
        second = Model.read(folder / "model").metadata
        if not second.get("fit.relative_gap"):
            raise BrokenError(f"with {what} in another order there is no gap")
        self.checks["order"] += 1
        bounds = []
        for metadata in (first, second):
            upper = float(metadata["fit.primal"])
            bounds.append((upper * (1 - abs(float(metadata["fit.relative_gap"]))), upper))
        slack = 1e-4 * max(abs(upper) for _, upper in bounds)
        if bounds[0][0] > bounds[1][1] + slack or bounds[1][0] > bounds[0][1] + slack:
            raise BrokenError(
                f"with {what} in another order the objective is {bounds[1]}, not {bounds[0]}"
            )


PYTHON_CHECK = """
import sys, numpy as np, margrove as mg
from sklearn.utils.validation import check_is_fitted
X, y, method, options = np.load("X.npy"), np.load("y.npy"), sys.argv[1], eval(sys.argv[2])
made = next(
    each for each in (getattr(mg, name) for name in mg.__all__)
    if getattr(each, "_method", None) == method
)
try:
    model = made(**options).fit(X, y)
except (ValueError, MemoryError) as error:
    print("refused:", error)
    sys.exit(0)
check_is_fitted(model)
assert set(model.predict(X)) <= set(y)
scores = model.decision_function(X)
# -inf: what top-down search did not visit; of two classes there is the difference
assert (scores < np.inf).all() or scores.ndim == 1 and not np.isnan(scores).any(), scores
model.save("python.model")
assert (mg.load("python.model").predict(X) == model.predict(X)).all()
"""


def check_python(case: Case, method: Method, folder: Path) -> bool:
    """Fits the problem through the Python package, if it is one of one label per row."""
    if not case.is_rows or not method.takes_rows:
        return False
    if not list((ROOT / "build" / "python" / "margrove").glob("_core*.so")):
        return False
    import numpy as np

    lines = [line.partition(" ") for line in case.files[case.data].splitlines()]
    if not lines or any(not first or "," in first for first, _, _ in lines):
        return False
    X = np.zeros((len(lines), 9))
    for i, (_, _, rest) in enumerate(lines):
        for cell in rest.split():
            j, _, x = cell.partition(":")
            X[i, int(j)] = float(x)
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", np.array([first for first, _, _ in lines]))
    options = {"C": float(case.options.get("C", "1"))} if "C" in method.options else {}
    done = subprocess.run(
        [sys.executable, "-c", PYTHON_CHECK, case.method, repr(options)],
        cwd=folder, capture_output=True, text=True, timeout=TIME_LIMIT_SECONDS, check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT / "build" / "python")},
    )  # fmt: skip
    if done.returncode != 0:
        raise BrokenError(f"Python: exit code {done.returncode}: {done.stderr[-1500:]}")
    return True


class Soak:
    def __init__(self, program: Path, sanitized: bool, findings: Path) -> None:
        self.program = program
        self.methods = {method.name: method for method in declared_methods(program)}
        self.sanitized = sanitized
        self.findings = findings
        self.counts: Counter[str] = Counter()
        self.found: list[str] = []

    def attempt(self, case: Case, is_python: bool) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            case.write(folder)
            attempt = Attempt(self.program, case, folder, self.sanitized)
            try:
                self.counts[attempt.check()] += 1
                if (
                    is_python
                    and not self.sanitized
                    and check_python(case, self.methods[case.method], folder)
                ):
                    self.counts["Python"] += 1
            except (BrokenError, subprocess.TimeoutExpired) as fault:
                self.keep(case, str(fault))
            except Exception:  # also a check that fails itself is to be looked at
                self.keep(case, traceback.format_exc())
            self.counts += attempt.checks
            self.counts["problems"] += 1

    def keep(self, case: Case, fault: str) -> None:
        self.findings.mkdir(parents=True, exist_ok=True)
        path = self.findings / f"{case.name}.json"
        path.write_text(case.text(), encoding="utf-8")
        self.found.append(fault)
        print(f"{path}: {case.method}: {fault}\n    train {' '.join(case.arguments)}", flush=True)

    def run(self, seed: str, problems: int | None, seconds: float, jobs: int) -> None:
        """The first problems of a seed, as many as are asked for or begin in time."""
        tables = option_tables(self.program)
        methods = list(self.methods.values())
        end = math.inf if problems is not None else time.monotonic() + seconds

        def names() -> Iterator[int]:
            for number in itertools.count() if problems is None else range(problems):
                if time.monotonic() >= end:
                    return
                yield number

        def one(number: int) -> None:
            if time.monotonic() < end:
                self.attempt(drawn_case(f"{seed}-{number}", tables, methods), number % 25 == 0)

        with ThreadPoolExecutor(jobs) as pool:
            numbers = names()
            while batch := list(itertools.islice(numbers, 8 * jobs)):
                list(pool.map(one, batch))


def main() -> int:
    parser = argparse.ArgumentParser(description="trains on random problems and checks invariants")
    parser.add_argument("program", type=Path)
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--problems", type=int, help="the same ones on every machine")
    length.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--findings", type=Path, default=ROOT / "soak-findings")
    parser.add_argument("--sanitized", action="store_true")
    parser.add_argument("--replay", type=Path, nargs="+", metavar="CASE")
    given = parser.parse_args()
    soak = Soak(given.program.resolve(), given.sanitized, given.findings)
    if given.replay:
        for path in given.replay:
            soak.attempt(Case.read(path), is_python=True)
    else:
        soak.run(given.seed, given.problems, given.seconds, given.jobs)
    counts = ", ".join(f"{name} {count}" for name, count in sorted(soak.counts.items()))
    print(f"soak: seed {given.seed}: {len(soak.found)} findings; {counts}")
    return 1 if soak.found or not soak.counts["problems"] else 0


if __name__ == "__main__":
    sys.exit(main())
