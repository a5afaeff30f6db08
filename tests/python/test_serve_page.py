"""The page that `margrove serve` has at /, looked at by Chromium where it is installed."""

import json
import re
import shutil
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import margrove.datasets
import pytest

PROGRAM = Path(__file__).resolve().parents[2] / "build" / "margrove"
BROWSER = shutil.which("chromium")
needs_browser = pytest.mark.skipif(
    BROWSER is None, reason="Debian's package chromium is not installed"
)
TABLE = "title,price,shelf\nred shoe,10,clothes\nblue shoe,12,clothes\ngreen lamp,30,light\n"
COLUMNS = ["--text-column", "title", "--numeric-columns", "price", "--label-column", "shelf"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Has the models animals (texts) and shop (named columns)."""
    path = tmp_path_factory.mktemp("served")
    margrove.datasets.write("animals", path)
    (path / "table.csv").write_text(TABLE + "white lamp,28,light\n", encoding="utf-8")
    (path / "token").write_text("0123456789abcdef\n", encoding="utf-8")
    texts = ["--text", "--hierarchy", "hierarchy.txt", "--calibration", "0.2", "train.txt"]
    tagged = "the\tDET\ncat\tNOUN\n\na\tDET\ndog\tNOUN\n\n"
    (path / "tagged").write_text(tagged, encoding="utf-8")
    for arguments in (
        ["nhsvm", *texts, "animals"],
        ["flat-svm", *COLUMNS, "table.csv", "shop"],
        ["structured", "tagged", "tagger"],
    ):
        subprocess.run(
            [PROGRAM, "train", "--quiet", "--method", *arguments],
            cwd=path,
            check=True,
            capture_output=True,
        )
    return path


@contextmanager
def serving(folder: Path, *arguments: str) -> Iterator[str]:
    """The address of a server of these models."""
    with subprocess.Popen(
        [PROGRAM, "serve", "--port", "0", *arguments],
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stderr is not None
        found = re.search(r"http://\S+", server.stderr.readline())
        try:
            assert found is not None
            yield found[0]
        finally:
            server.terminate()


def page_of(address: str) -> str:
    with urllib.request.urlopen(address, timeout=300) as response:
        assert response.headers["Content-Type"] == "text/html; charset=utf-8"
        text: str = response.read().decode()
    return text


def predictions(address: str, row: Any) -> Any:
    request = urllib.request.Request(
        f"{address}/predict",
        json.dumps({"row": row, "top": 5, "probabilities": True}).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=300) as response:
        return json.loads(response.read())["predictions"][0]


def visited(address: str, row: str, folder: Path) -> str:
    """The page after it has answered the row of a link."""
    assert BROWSER is not None
    done = subprocess.run(
        [
            *(BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"),
            *("--enable-logging=stderr", f"--user-data-dir={folder}"),
            *("--virtual-time-budget=5000", f"{address}/#{urllib.parse.quote(row)}"),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    # Chromium itself reports answers with other statuses, such as 400 for a wrong row.
    reports = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert [line for line in reports if "Failed to load" not in line] == []
    return done.stdout


def test_page_needs_no_token_and_takes_no_options(folder: Path) -> None:
    with serving(folder, "--token-file", "token", "animals") as address:
        page = page_of(address)
        assert "<h1>Try a model</h1>" in page
        assert not re.search(r"(src|href)=.(?!data:)", page)
        assert "%S" not in page
        for path, status in (("/?x=1", 400), ("/none", 401), ("/model", 401)):
            with pytest.raises(urllib.error.HTTPError) as error:
                page_of(address + path)
            assert error.value.code == status


@needs_browser
def test_page_answers_texts_and_names_all_models(folder: Path, tmp_path: Path) -> None:
    text = "a large bird of prey that hunts at night"
    with serving(folder, "animals", "shop") as address:
        page = visited(address, text, tmp_path)
        for label in predictions(address, text)["labels"]:
            assert f"<td>{label}</td>" in page
        assert "probability" in page
        assert re.search(r'<div class="text">.*<mark', page)
        assert '<option value="shop">' in page


@needs_browser
def test_page_takes_columns_and_says_what_is_wrong(folder: Path, tmp_path: Path) -> None:
    with serving(folder, "shop") as address:
        page = visited(address, '{"title": "red shoe", "price": 10}', tmp_path)
        assert "<td>clothes</td>" in page
        assert "price" in page
        assert "The row is not JSON" in visited(address, "{", tmp_path)
        assert "price" in visited(address, '{"price": "much"}', tmp_path)


@needs_browser
def test_page_tags_sentences(folder: Path, tmp_path: Path) -> None:
    with serving(folder, "tagger") as address:
        page = visited(address, "the dog", tmp_path)
        assert "<td>DET</td>" in page
        assert "<td>dog</td>" in page
        assert "<td>NOUN</td>" in visited(address, '[["dog"]]', tmp_path)


@needs_browser
def test_page_asks_for_the_token(folder: Path, tmp_path: Path) -> None:
    with serving(folder, "--token-file", "token", "animals") as address:
        assert '<label id="token-box">' in visited(address, "", tmp_path)
