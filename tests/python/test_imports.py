"""What `import margrove` costs, and what it leaves out."""

import subprocess
import sys

PROGRAM = """
import sys
import margrove
print([name for name in ("numpy", "scipy", "sklearn", "pandas", "torch") if name in sys.modules])
import margrove.losses, margrove.structured
print("torch" in sys.modules)
sys.modules["torch"] = sys.modules["annif"] = None  # as where they are not installed
for name in ("torch", "annif"):
    try:
        __import__(f"margrove.{name}")
    except ImportError as error:
        print(error)
"""


def test_the_import_leaves_out_what_is_slow() -> None:
    out = subprocess.check_output([sys.executable, "-c", PROGRAM], text=True)
    slow, has_torch, of_torch, of_annif = out.splitlines()
    assert slow == "[]"
    assert has_torch == "False"
    assert of_torch == "margrove.torch needs the package torch: pip install torch"
    assert of_annif == "margrove.annif needs the package annif: pip install margrove[annif]"
