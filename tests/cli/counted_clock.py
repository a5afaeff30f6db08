"""Runs the program by a clock that advances by calls (tests/support/counted_clock.cpp).

A time limit then comes after the same work on every machine, and how late a run ends is the number
of questions for the time after it. MARGROVE_COUNTED_CLOCK names the library; sanitizers cannot
have it, and there the clock of the system serves and nothing is counted.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from test_cli import MARGROVE

LIBRARY = os.environ.get("MARGROVE_COUNTED_CLOCK", "")
STEP_SECONDS = 1e-3  # from one question to the next
LONG = 1e5  # a limit that no run reaches: the program asks for the time where there is a limit


class Counted(NamedTuple):
    code: int
    out: str
    err: str
    questions: int | None  # None: not counted


def run_counted(directory: str, *arguments: str) -> Counted:
    """Runs in `directory`, one thread and one clock for all of its questions."""
    with tempfile.TemporaryDirectory() as scratch:
        calls = Path(scratch) / "calls"
        counted = {
            "LD_PRELOAD": LIBRARY,
            "COUNTED_CLOCK": str(round(STEP_SECONDS * 1e6)),
            "COUNTED_CLOCK_CALLS": str(calls),
        }
        done = subprocess.run(
            [MARGROVE, *arguments, "--threads", "1"], cwd=directory, capture_output=True,
            text=True, timeout=300, check=False, env=os.environ | (counted if LIBRARY else {}),
        )  # fmt: skip
        questions = int.from_bytes(calls.read_bytes(), sys.byteorder) if LIBRARY else None
    return Counted(done.returncode, done.stdout, done.stderr, questions)
