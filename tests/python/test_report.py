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
from margrove import (
    NHSVC,
    FlatLogisticRegression,
    FlatSVC,
    LpMKLClassifier,
    TextFeatures,
)
from sklearn.pipeline import make_pipeline

PROGRAM = Path(__file__).resolve().parents[2] / "build" / "margrove"
BROWSER = shutil.which("chromium")
needs_browser = pytest.mark.skipif(
    BROWSER is None, reason="Debian's package chromium is not installed"
)
EDGES = [("animal", "dog"), ("animal", "cat"), ("plant", "oak"), ("plant", "rose")]

# What a person would do: open a node, look for a label, enlarge a box, open an example.
VISIT = """
const found = {};
const shown = text => [...document.querySelectorAll("#tree .name")].filter(
  e => e.textContent === text && e.getClientRects().length > 0).length;
const press = key => document.activeElement.dispatchEvent(
  new KeyboardEvent("keydown", { key, bubbles: true }));
found.roots = shown("animal") + shown("plant");
found.before = shown("dog");
elements.get(tree.names.indexOf("animal")).querySelector(".toggle").click();
found.opened = shown("dog");
elements.get(tree.names.indexOf("animal")).querySelector(".toggle").click();
found.closed = shown("dog");
const search = byId("search");
search.value = "ROS";
search.dispatchEvent(new Event("input"));
found.marked = document.querySelector(".node.found .name").textContent;
found.rose = shown("rose");
const boxes = () => document.querySelectorAll("#icicle g").length;
found.boxes = boxes();
const [animal] = [...document.querySelectorAll("#icicle g")].filter(
  g => g.getAttribute("aria-label").startsWith("animal:"));
animal.dispatchEvent(new Event("click"));
found.enlarged = boxes();
found.crumbs = [...document.querySelectorAll("#crumbs button")].map(b => b.textContent);
press("ArrowRight");
found.detail = byId("detail").textContent;
press("Escape");
found.back = boxes();
for (const size of ["training", "labels"]) {
  byId("size").value = size;
  byId("size").dispatchEvent(new Event("change"));
  found[size] = boxes();
}
found.views = byId("colour").options.length;
found.examples = document.querySelectorAll("#examples details").length;
byId("which").value = 1;
byId("which").dispatchEvent(new Event("change"));
found.wrong = document.querySelectorAll("#examples details").length;
const pair = document.querySelector("#confused button[aria-expanded]");
pair.click();
found.rows = document.querySelectorAll("#confused details").length;
pair.click();
found.closedRows = document.querySelectorAll("#confused details").length;
found.levels = document.querySelectorAll("#levels tr").length;
found.circles = document.querySelectorAll("#calibration circle").length;
found.curves = document.querySelectorAll("#convergence polyline").length;
found.csv = csvOf([["na\\"me", r => r], ["n", () => 1]], ["a,b", "c"]);
const buttons = [...document.querySelectorAll("button")];
found.buttons = buttons.filter(b => b.textContent === "CSV").length;
found.remote = performance.getEntriesByType("resource").length;
"""

Data = tuple[Any, Any, Any]


def fitted(estimator: Any = None) -> Data:
    random = np.random.default_rng(0)
    leaves = np.array(["cat", "dog", "oak", "rose"])
    classes = random.integers(0, 4, 200)
    X = random.normal(size=(200, 6)).astype(np.float32)
    X[np.arange(200), classes] += 2
    model = NHSVC(hierarchy=EDGES, calibration=0.2) if estimator is None else estimator
    return model.fit(X, leaves[classes]), X, leaves[classes]


def data_of(page: str) -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    return json.loads(found[1])


def visit(page: str, script: str, folder: Path, *options: str) -> Any:
    """The object `found` that the script makes in the page; errors of the page are errors here."""
    assert BROWSER is not None
    shown = "document.title = 'seen'; const pre = document.createElement('pre'); pre.id = 'found';"
    ending = f"{shown} pre.textContent = JSON.stringify(found); document.body.append(pre);"
    path = folder / "page.html"
    body = f"<script>(async () => {{ {script} {ending} }})();</script></body>"
    path.write_text(page.replace("</body>", body), encoding="utf-8")
    done = subprocess.run(
        [
            *(BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"),
            *(f"--user-data-dir={folder / 'profile'}", "--virtual-time-budget=20000", *options),
            *("--dump-dom", path.as_uri()),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "CONSOLE" not in done.stderr, done.stderr
    text = re.search(r'<pre id="found">(.*?)</pre>', done.stdout, re.DOTALL)
    assert text
    return json.loads(text[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))


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
    assert data["calibration"]["temperature"] == model.calibration_.temperature
    assert len(data["examples"]) >= 20
    assert len(data["convergence"]["curve"]) >= 2
    assert not re.search(r"(src|href)=.(?!data:)", page)


def test_curves_are_the_same_on_any_number_of_threads() -> None:
    curves = [
        fitted(NHSVC(hierarchy=EDGES, threads=threads))[0].report_["curve"] for threads in (1, 2)
    ]
    assert curves[0] == curves[1]
    assert len(curves[0]) >= 2


def test_scores_that_are_no_probabilities_have_no_calibration() -> None:
    data = data_of(margrove.report(*fitted(NHSVC(hierarchy=EDGES))))
    assert data["calibration"] is None
    assert data["coverage"]["curve"]
    assert data_of(margrove.report(*fitted(FlatLogisticRegression())))["calibration"]["bins"]


def test_labels_that_the_model_does_not_know_are_named() -> None:
    model, X, y = fitted()
    strange = y.astype("U10")
    strange[0] = "mushroom"
    data = data_of(margrove.report(model, X, strange, num_examples=200))
    first = next(example for example in data["examples"] if example["row"] == 1)
    assert first["truth"] == ["mushroom"]


def test_texts_are_those_of_the_rows_or_those_given(tmp_path: Path) -> None:
    model, X, y = fitted()
    texts = [f"row of a {label}" for label in y]
    data = data_of(margrove.report(model, X, y, texts=texts))
    assert all(example["text"] == texts[example["row"] - 1] for example in data["examples"])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        margrove.report(model, X, y, texts=texts[:3])

    (tmp_path / "rows").write_text("".join(f"{label}\t{label} text\n" for label in y), "utf-8")
    subprocess.run(
        [PROGRAM, "train", "--quiet", "--method", "flat-svm", "--text", "rows", "model"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    loaded = margrove.load(tmp_path / "model")
    data = data_of(margrove.report(loaded, [f"{label} text" for label in y], y))
    assert data["examples"][0]["text"].endswith(" text")


def test_pipelines_have_the_texts_that_they_read() -> None:
    texts = ["a cat that sleeps", "a dog that barks"] * 10
    y = ["cat", "dog"] * 10
    words = TextFeatures(word_ngrams="1", char_ngrams="none")
    model = make_pipeline(words, FlatSVC()).fit(texts, y)
    other = make_pipeline(TextFeatures(word_ngrams=(1, 2)), FlatSVC(loss="hinge")).fit(texts, y)
    data = data_of(margrove.report(model, texts, y, other=other))
    first = data["examples"][0]
    assert first["text"] == texts[first["row"] - 1]
    features = first["explanations"][0]["nodes"][0]["strongest"]
    assert {"cat", "dog"} & {part["feature"] for part in features}
    assert data["other"]["metrics"]["accuracy"] == 1


def test_another_model_stands_beside_the_first() -> None:
    model, X, y = fitted()
    other, _, _ = fitted(FlatSVC(C=1e-3))
    data = data_of(margrove.report(model, X, y, other=other))
    assert data["other"]["name"] == "FlatSVC"
    assert data["other"]["metrics"]["accuracy"] == pytest.approx(other.score(X, y))
    first, second = model.predict(X) == y, other.predict(X) == y
    assert data["other"]["first_only"] == (first & ~second).sum()
    assert data["other"]["second_only"] == (second & ~first).sum()
    # What the page draws of the other model is what its own report has.
    alone = data_of(margrove.report(other, X, y))
    assert data["other"]["coverage"] == alone["coverage"]
    assert data["coverage"] != alone["coverage"]
    # The labels are leaves of the second level.
    assert data["other"]["levels"][1]["accuracy"] == pytest.approx(other.score(X, y))
    assert data["levels"][1]["accuracy"] == pytest.approx(model.score(X, y))


def test_another_model_of_label_sets_has_no_coverage() -> None:
    model, X, y = fitted()
    sets = FlatSVC(decision="threshold").fit(X, [{label} for label in y])
    data = data_of(margrove.report(model, X, y, other=sets))
    assert data["coverage"]["curve"]
    assert data["other"]["coverage"] is None
    assert data["other"]["levels"]


def test_kernel_models_show_their_network() -> None:
    model, X, y = fitted(LpMKLClassifier())
    data = data_of(margrove.report(model, X, y))
    assert data["one_label"]
    assert data["coverage"]["curve"]
    weights = [node["weight"] for node in data["network"]["nodes"] if "weight" in node]
    assert weights
    assert data["examples"][0]["explanations"][0]["sources"]


def written(X: Any, y: Any, folder: Path) -> None:
    lines = [
        f"{label} " + " ".join(f"{j + 1}:{float(v)!r}" for j, v in enumerate(row))
        for row, label in zip(X, y, strict=True)
    ]
    (folder / "rows").write_text("\n".join(lines) + "\n", encoding="utf-8")


def run(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [PROGRAM, "report", "--quiet", "--output", "page", *arguments],
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
    )


def test_program_writes_the_same_page(tmp_path: Path) -> None:
    model, X, y = fitted()
    model.save(tmp_path / "model")
    other, _, _ = fitted(FlatSVC())
    other.save(tmp_path / "FlatSVC")
    written(X, y, tmp_path)
    assert run(tmp_path, "model", "rows").returncode == 0
    page = (tmp_path / "page").read_text(encoding="utf-8")
    assert data_of(page) == data_of(margrove.report(model, X, y))
    assert run(tmp_path, "--other-model", "FlatSVC", "model", "rows").returncode == 0
    page = (tmp_path / "page").read_text(encoding="utf-8")
    assert data_of(page) == data_of(margrove.report(model, X, y, other=other))


def test_program_shows_flat_models_with_a_hierarchy(tmp_path: Path) -> None:
    model, X, y = fitted(FlatSVC())
    model.save(tmp_path / "model")
    written(X, y, tmp_path)
    (tmp_path / "tree").write_text("".join(f"{p} {c}\n" for p, c in EDGES), encoding="utf-8")
    assert run(tmp_path, "--hierarchy", "tree", "model", "rows").returncode == 0
    data = data_of((tmp_path / "page").read_text(encoding="utf-8"))
    assert data["has_hierarchy"]
    assert len(data["tree"]["names"]) == 6


def test_program_refuses_two_models_on_standard_input_and_replaces_no_model(tmp_path: Path) -> None:
    model, X, y = fitted()
    model.save(tmp_path / "model")
    written(X, y, tmp_path)
    done = run(tmp_path, "--other-model", "model", "model", "-")
    assert done.returncode == 2
    assert "other-model" in done.stderr
    (tmp_path / "page").write_bytes((tmp_path / "model").read_bytes())
    done = run(tmp_path, "--other-model", "page", "model", "rows")
    assert done.returncode == 3
    assert (tmp_path / "page").read_bytes() == (tmp_path / "model").read_bytes()


@needs_browser
def test_page_works_in_a_browser_without_errors(tmp_path: Path) -> None:
    found = visit(margrove.report(*fitted()), VISIT, tmp_path)
    assert found["roots"] == 2
    assert (found["before"], found["opened"], found["closed"]) == (0, 1, 0)
    assert (found["marked"], found["rose"]) == ("rose", 1)
    assert (found["boxes"], found["enlarged"], found["back"]) == (7, 3, 7)
    assert (found["training"], found["labels"]) == (7, 7)
    assert found["crumbs"] == ["all", "animal"]
    assert re.match(r"animal > (cat|dog): F1 0\.\d+; precision", found["detail"])
    assert found["views"] == 3
    assert found["examples"] >= 20
    assert 0 < found["wrong"] < found["examples"]
    assert found["rows"] >= 1
    assert found["closedRows"] == 0
    assert found["levels"] == 3
    assert found["circles"] >= 3
    assert found["curves"] == 2
    assert found["csv"] == '"na""me",n\r\n"a,b",1\r\nc,1\r\n'
    assert found["buttons"] >= 5
    assert found["remote"] == 0


@needs_browser
def test_two_models_are_drawn_beside_each_other(tmp_path: Path) -> None:
    model, X, y = fitted()
    page = margrove.report(model, X, y, other=fitted(FlatSVC(C=1e-3))[0])
    script = """
    const lines = [...document.querySelectorAll("#coverage polyline")];
    const of = (line, name) => line.getAttribute(name);
    const found = { lines: lines.map(l => [of(l, "stroke"), of(l, "stroke-dasharray")]),
      names: [...document.querySelectorAll("#coverage svg text")].map(t => t.textContent).slice(-2),
      heads: [...document.querySelectorAll("#levels th")].map(h => h.textContent),
      bars: document.querySelectorAll("#levels .bar").length };
    """
    found = visit(page, script, tmp_path)
    assert found["lines"] == [["var(--accent)", "none"], ["var(--warm)", "6 3"]]
    assert found["names"] == ["this model", "other: FlatSVC"]
    assert found["heads"][:4] == ["level", "rows", "accuracy", "other"]
    assert found["bars"] == 4


@needs_browser
def test_page_fits_a_telephone_of_360_pixels(tmp_path: Path) -> None:
    model, X, y = fitted()
    page = margrove.report(model, X, y, other=fitted(FlatSVC(C=1e-3))[0], texts=["a" * 90] * 200)
    (tmp_path / "report.html").write_text(page, encoding="utf-8")
    # Windows of Chromium are at least 500 pixels wide; frames may be narrower.
    frame = (
        '<!DOCTYPE html><body><iframe width="360" height="900" src="report.html"></iframe></body>'
    )
    script = """
    const frame = document.querySelector("iframe");
    while (!frame.contentDocument || !frame.contentDocument.querySelector("#examples details"))
      await new Promise(done => setTimeout(done, 50));
    const inner = frame.contentDocument;
    inner.querySelectorAll("details").forEach(details => { details.open = true; });
    const root = inner.documentElement;
    const found = { width: root.clientWidth, wide: root.scrollWidth - root.clientWidth,
      sections: inner.querySelectorAll("section").length };
    """
    found = visit(frame, script, tmp_path, "--allow-file-access-from-files")
    assert found["width"] <= 360
    assert found["wide"] <= 0
    assert found["sections"] >= 6


@needs_browser
def test_page_prints(tmp_path: Path) -> None:
    model, X, y = fitted()
    page = margrove.report(model, X, y, other=fitted(FlatSVC(C=1e-3))[0])
    path = tmp_path / "report.html"
    path.write_text(page, encoding="utf-8")
    assert BROWSER is not None
    subprocess.run(
        [
            *(BROWSER, "--headless", "--no-sandbox", "--disable-gpu"),
            *(f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=20000"),
            *(f"--print-to-pdf={tmp_path / 'report.pdf'}", path.as_uri()),
        ],
        capture_output=True,
        timeout=120,
        check=True,
    )
    printed = (tmp_path / "report.pdf").read_bytes()
    assert printed.startswith(b"%PDF")
    assert 2 <= len(re.findall(rb"/Type */Page\b", printed)) <= 12


@needs_browser
def test_page_marks_the_words_that_decided(tmp_path: Path) -> None:
    model, X, y = fitted()
    script = """
    const explanation = { nodes: [
      { strongest: [{ feature: "big", score: 2 }, { feature: "cat bed", score: -1 }] },
      { strongest: [{ feature: "big", score: 1 }, { feature: "'at'", score: 0.5 },
                    { feature: "' b'", score: 0.25 }] }] };
    const box = markedText("A BIG cat bed, réseau", explanation);
    const found = { text: box.textContent,
      marks: [...box.querySelectorAll("mark")].map(m => [m.textContent, m.title]) };
    """
    found = visit(margrove.report(model, X, y), script, tmp_path)
    assert found["text"] == "A BIG cat bed, réseau"
    assert found["marks"] == [["BIG", "+3.25"], ["cat", "-0.500"], ["bed", "-0.750"]]


@needs_browser
@pytest.mark.parametrize("kind", ["tree", "two models", "kernels"])
def test_page_is_accessible(tmp_path: Path, kind: str) -> None:
    """Names, roles and contrast, in light and dark, at the width of a telephone and a screen."""
    axe_core_python = pytest.importorskip("axe_core_python")
    axe = (Path(axe_core_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
    model, X, y = fitted(LpMKLClassifier() if kind == "kernels" else None)
    other = fitted(FlatSVC(C=1e-3))[0] if kind == "two models" else None
    texts = [f"a {label}" for label in y]
    page = margrove.report(model, X, y, other=other, texts=texts)
    page = page.replace("</body>", f"<script>{axe.replace('</script', '')}</script></body>")
    script = """
    const button = document.querySelector("#confused button[aria-expanded]");
    if (button) button.click();
    document.querySelectorAll("details").forEach(details => { details.open = true; });
    await new Promise(resolve => setTimeout(resolve, 300));
    const result = await axe.run(document, { resultTypes: ["violations"] });
    const found = { wide: document.documentElement.scrollWidth - innerWidth,
      passes: result.passes.length,
      violations: result.violations.map(v => [v.id, v.nodes.slice(0, 3).map(n => n.html)]) };
    """
    for options in (["--window-size=500,900"], ["--blink-settings=preferredColorScheme=0"]):
        found = visit(page, script, tmp_path, *options)
        assert found["violations"] == []
        assert found["passes"] > 10
        assert found["wide"] <= 0
