"""What `import margrove` costs, and what it leaves out."""

import subprocess
import sys

PROGRAM = """
import sys, time
start = time.process_time()
import margrove
print(time.process_time() - start)
import margrove.losses, margrove.structured
print("torch" in sys.modules)
sys.modules["torch"] = None  # as where it is not installed
try:
    import margrove.torch
except ImportError as error:
    print(error)
"""


def test_the_import_is_fast_and_without_torch() -> None:
    command = [sys.executable, "-c", PROGRAM]
    runs = [subprocess.check_output(command, text=True).splitlines() for _ in range(3)]
    assert min(float(seconds) for seconds, *_ in runs) < 0.3
    for _, has_torch, message in runs:
        assert has_torch == "False"
        assert message == "margrove.torch needs the package torch: pip install torch"
