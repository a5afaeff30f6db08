#!/usr/bin/env python3
"""Makes the pictures of docs/pictures: the report and the page of `margrove serve` in Chromium.

    tools/make_pictures.py [build/margrove]

Needs the Python package (`make python`) and Debian's package chromium. The data are the animals of
margrove.datasets.
"""

import re
import subprocess
import sys
import tempfile
import urllib.parse
from pathlib import Path

import margrove.datasets

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
# Opens the first wrong examples that have marked words, and leaves out the other sections.
SHOW_EXAMPLES = """<script>
document.querySelectorAll("section:not([aria-labelledby=h-examples])").forEach(s => s.remove());
byId("which").value = 1;
byId("which").dispatchEvent(new Event("change"));
document.querySelectorAll("#examples details").forEach((d, k) => { d.open = k === 1 || k === 2; });
</script></body>"""


def shoot(address: str, name: str, width: int, height: int, profile: Path) -> None:
    """A picture of the top of a page."""
    subprocess.run(
        [
            *("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
            *(f"--user-data-dir={profile}", "--virtual-time-budget=5000"),
            *(f"--window-size={width},{height}", f"--screenshot={PICTURES / name}", address),
        ],
        check=True,
        capture_output=True,
        timeout=120,
    )


def main() -> None:
    program = Path(sys.argv[1] if len(sys.argv) > 1 else "build/margrove").resolve()
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        margrove.datasets.write("animals", folder)
        tree = ["--hierarchy", "hierarchy.txt"]

        def run(*arguments: str) -> None:
            subprocess.run([program, *arguments, "--quiet"], cwd=folder, check=True)

        for method, options in (("nhsvm", [*tree, "--calibration", "0.2"]), ("flat-svm", [])):
            run("train", "--method", method, "--text", *options, "train.txt", method)
        run(
            *("report", "--title", "Animals", "--other-model", "flat-svm", "nhsvm"),
            *("test.txt", "--output", "report.html"),
        )
        page = folder / "report.html"
        shoot(page.as_uri(), "report.png", 1100, 1300, folder / "profile")
        page.write_text(page.read_text(encoding="utf-8").replace("</body>", SHOW_EXAMPLES), "utf-8")
        shoot(page.as_uri(), "examples.png", 1100, 800, folder / "profile")

        server = subprocess.Popen(
            [program, "serve", "--port", "0", "animals=nhsvm"],
            cwd=folder,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert server.stderr is not None
        found = re.search(r"http://\S+", server.stderr.readline())
        assert found is not None
        row = urllib.parse.quote("a large bird of prey that hunts at night")
        shoot(f"{found[0]}/#{row}", "serve.png", 1100, 900, folder / "profile")
        server.terminate()
        server.communicate()


if __name__ == "__main__":
    main()
