"""The report as a page, looked at by Chromium where it is installed."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import margrove
import numpy as np
import pytest
from margrove import NHSVC

PROGRAM = Path(__file__).resolve().parents[2] / "build" / "margrove"
BROWSER = shutil.which("chromium")
EDGES = [("animal", "dog"), ("animal", "cat"), ("plant", "oak"), ("plant", "rose")]

# What a person would do: open a node, look for a label, unfold an example.
VISIT = """
<script>
const found = {};
const shown = text => [...document.querySelectorAll("#tree .name")].filter(
  e => e.textContent === text && e.getClientRects().length > 0).length;
found.roots = shown("animal") + shown("plant");
found.before = shown("dog");
elements.get(tree.names.indexOf("animal")).querySelector(".toggle").click();
found.opened = shown("dog");
elements.get(tree.names.indexOf("animal")).querySelector(".toggle").click();
found.closed = shown("dog");
const search = document.getElementById("search");
search.value = "ROS";
search.dispatchEvent(new Event("input"));
found.marked = document.querySelector(".node.found .name").textContent;
found.rose = shown("rose");
found.examples = document.querySelectorAll("#examples details").length;
found.pairs = document.querySelectorAll("#confused td").length;
found.circles = document.querySelectorAll("#calibration circle").length;
found.remote = performance.getEntriesByType("resource").length;
const pre = document.createElement("pre");
pre.id = "found";
pre.textContent = JSON.stringify(found);
document.body.append(pre);
</script>
"""


def fitted() -> tuple[NHSVC, Any, Any]:
    random = np.random.default_rng(0)
    leaves = np.array(["cat", "dog", "oak", "rose"])
    classes = random.integers(0, 4, 200)
    X = random.normal(size=(200, 6)).astype(np.float32)
    X[np.arange(200), classes] += 2
    return NHSVC(hierarchy=EDGES, calibration=0.2).fit(X, leaves[classes]), X, leaves[classes]


def data_of(page: str) -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    return json.loads(found[1])


def test_page_holds_what_the_model_does(tmp_path: Path) -> None:
    model, X, y = fitted()
    page = margrove.report(model, X, y, path=tmp_path / "page.html", title="Beasts")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page
    data = data_of(page)
    assert data["title"] == "Beasts"
    assert data["metrics"]["accuracy"] == pytest.approx(model.score(X, y))
    support = dict(zip(data["tree"]["names"], data["tree"]["support"], strict=True))
    assert support["dog"] == (y == "dog").sum()
    assert support["animal"] == np.isin(y, ["dog", "cat"]).sum()
    assert data["calibration"]["temperature"] == model.calibration_.temperature  # type: ignore[union-attr]
    assert len(data["examples"]) == 20
    assert not re.search(r"(src|href)=.(?!data:)", page)


def test_program_writes_the_same_page(tmp_path: Path) -> None:
    model, X, y = fitted()
    model.save(tmp_path / "model")
    lines = [
        f"{label} " + " ".join(f"{j + 1}:{float(v)!r}" for j, v in enumerate(row))
        for row, label in zip(X, y, strict=True)
    ]
    (tmp_path / "rows").write_text("\n".join(lines) + "\n", encoding="utf-8")
    subprocess.run(
        [PROGRAM, "report", "--quiet", "--output", "page", "model", "rows"],
        cwd=tmp_path,
        check=True,
    )
    page = (tmp_path / "page").read_text(encoding="utf-8")
    assert data_of(page) == data_of(margrove.report(model, X, y))


@pytest.mark.skipif(BROWSER is None, reason="Debian's package chromium is not installed")
def test_page_works_in_a_browser_without_errors(tmp_path: Path) -> None:
    assert BROWSER is not None
    page = margrove.report(*fitted())
    path = tmp_path / "page.html"
    path.write_text(page.replace("</body>", VISIT + "</body>"), encoding="utf-8")
    done = subprocess.run(
        [
            *(BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"),
            *(f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", path.as_uri()),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "CONSOLE" not in done.stderr
    text = re.search(r'<pre id="found">(.*?)</pre>', done.stdout)
    assert text
    found = json.loads(text[1])
    assert found["roots"] == 2
    assert (found["before"], found["opened"], found["closed"]) == (0, 1, 0)
    assert (found["marked"], found["rose"]) == ("rose", 1)
    assert found["examples"] == 20
    assert found["pairs"] >= 4
    assert found["circles"] >= 3
    assert found["remote"] == 0
