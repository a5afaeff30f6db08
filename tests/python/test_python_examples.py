"""The programs of examples/python print what their files in `expected` say."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "python"
PROGRAMS = sorted(EXAMPLES.glob("*.py"))


def test_there_are_examples() -> None:
    assert len(PROGRAMS) >= 3


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_an_example_prints_what_is_expected(program: Path) -> None:
    if program.stem.startswith("torch"):
        pytest.importorskip("torch", reason="needs PyTorch: pip install torch")
    command = [sys.executable, "-W", "error", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    expected = EXAMPLES / "expected" / f"{program.stem}.txt"
    assert done.stdout == expected.read_text(encoding="utf-8")
