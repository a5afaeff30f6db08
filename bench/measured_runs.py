"""Runs programs and measures their time and memory."""

import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


def same_loss(method: str, options: list[str]) -> list[str]:
    """The options of a comparison of structures, in which flat machines have the hierarchical
    ones' loss, the hinge, unless the options name a loss."""
    if method != "flat-svm" or "--loss" in options or "crammer-singer" in options:
        return options
    return [*options, "--loss", "hinge"]


@dataclass
class MeasuredRun:
    """A program's standard output, CPU and wall seconds, largest resident memory."""

    output: str
    cpu: float
    wall: float
    megabytes: float

    def values(self) -> dict[str, str]:
        """Lines of a name, a tab and a value."""
        lines = self.output.splitlines()
        return dict(line.split("\t") for line in lines if line.count("\t") == 1)


def measured_run(command: list[str]) -> MeasuredRun:
    """Runs a program; exits with its exit code if that is not 0. A small process starts it, as what
    this one holds in memory would count as the program's."""
    told = subprocess.run([sys.executable, __file__, *command], stdout=subprocess.PIPE, check=False)
    if told.returncode != 0:
        raise SystemExit(told.returncode)
    return MeasuredRun(**json.loads(told.stdout))


def train_and_measure(
    program: str, options: list[str], train: Path, test: Path, model: Path, predicts: bool = True
) -> tuple[MeasuredRun, dict[str, Any]]:
    """The training run and the metrics of the test rows. What the model answers to these is written
    to answers_of(model) if `predicts`."""
    run = measured_run([program, "train", *options, "--quiet", str(train), str(model)])
    files = ["--quiet", str(model), str(test)]
    if predicts:
        measured_run([program, "predict", *files, "--output", str(answers_of(model))])
    return run, json.loads(measured_run([program, "evaluate", "--json", *files]).output)


def answers_of(model: Path) -> Path:
    return model.with_suffix(".answers")


def sign_test(program: str, test: Path, models: list[Path]) -> dict[str, float]:
    """Of the answers of two models, as margrove compare has it."""
    answers = [str(answers_of(model)) for model in models]
    told = measured_run([program, "compare", "--json", str(test), *answers]).output
    found: dict[str, float] = json.loads(told)["micro_sign_test"]
    return found


def run_here(command: list[str]) -> MeasuredRun:
    start = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        output = run.stdout.read()
        _, status, usage = os.wait4(run.pid, 0)
        run.returncode = os.waitstatus_to_exitcode(status)
    wall = time.monotonic() - start
    if run.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {run.returncode}")
    return MeasuredRun(output, usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024)


if __name__ == "__main__":
    print(json.dumps(asdict(run_here(sys.argv[1:]))))
