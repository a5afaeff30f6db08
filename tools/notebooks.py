#!/usr/bin/env python3
"""Runs the notebooks of docs/notebooks and keeps the results for the site.

    tools/notebooks.py [NAME...]

Each notebook runs in a fresh kernel with the package of this tree (`make python`) in an empty
folder. The results are written to build-notebooks/, from which `make site` makes pages; the
notebooks in the tree have no outputs, and a notebook that has some is an error.
"""

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = ROOT / "docs" / "notebooks"
DONE = ROOT / "build-notebooks"
CELL_SECONDS = 1200  # of a notebook that hangs


def stored_outputs(notebook: Any) -> bool:
    """Whether the notebook holds results of an earlier run."""
    return any(
        cell.cell_type == "code" and (cell.outputs or cell.execution_count)
        for cell in notebook.cells
    )


def run(path: Path) -> str:
    """Runs a notebook and writes it with its outputs. Returns what is wrong, or nothing."""
    notebook: Any = nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)  # type: ignore[no-untyped-call]
    if stored_outputs(notebook):
        return f"{path.name} is stored with outputs; clear them"
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            notebook,
            timeout=CELL_SECONDS,
            kernel_name="python3",
            extra_arguments=["--IPKernelApp.log_level=ERROR"],
            resources={"metadata": {"path": folder}},
        )
        try:
            client.execute()
        except CellExecutionError as error:
            return f"{path.name}: {error}"
    text = nbformat.writes(notebook)  # type: ignore[no-untyped-call]
    (DONE / path.name).write_text(text + "\n", encoding="utf-8")
    return ""


def main() -> int:
    # Kernels start with the Python of this environment, whatever is installed for the user.
    os.environ["JUPYTER_PATH"] = str(Path(sys.prefix) / "share" / "jupyter")
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
    names = sys.argv[1:] or sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))
    start = time.monotonic()
    DONE.mkdir(exist_ok=True)
    errors = [error for name in names if (error := run(NOTEBOOKS / f"{name}.ipynb"))]
    for error in errors:
        print(f"notebooks: {error}", file=sys.stderr)
    print(f"notebooks: {len(names)} ran in {time.monotonic() - start:.0f} s")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
