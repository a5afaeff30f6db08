"""What `import margrove` costs, and what it leaves out."""

import subprocess
import sys

PROGRAM = """
import sys
import margrove
print([name for name in ("numpy", "scipy", "sklearn", "pandas", "torch") if name in sys.modules])
import margrove.losses, margrove.structured
print("torch" in sys.modules)
sys.modules["torch"] = None  # as where it is not installed
try:
    import margrove.torch
except ImportError as error:
    print(error)
"""


def test_the_import_leaves_out_what_is_slow() -> None:
    out = subprocess.check_output([sys.executable, "-c", PROGRAM], text=True)
    slow, has_torch, message = out.splitlines()
    assert slow == "[]"
    assert has_torch == "False"
    assert message == "margrove.torch needs the package torch: pip install torch"
