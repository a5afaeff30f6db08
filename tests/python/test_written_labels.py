"""Labels with any text in the answers of the program: read back, or refused by name."""

import csv
import io
import json
import subprocess
from pathlib import Path

import margrove
import numpy as np
import pytest
from margrove import FlatSVC

PROGRAM = Path(__file__).resolve().parents[2] / "build" / "margrove"
PIECES = ["a", "B", ",", " ", ";", '"', "'", "\t", "\n", "\r\n", "#", ":", "1", "é", "<", ">", "\\"]
SPECIAL = ["NA", "nan", "null", " a", "a ", '"', '""', '"a"', "a,b", "a\nb", "-", "<b:c>", "a:1"]


def answers(folder: Path, *options: str) -> tuple[int, str, str]:
    run = subprocess.run(
        [PROGRAM, "predict", "--quiet", *options, "model", "rows"],
        cwd=folder,
        capture_output=True,
        check=False,
    )
    return run.returncode, run.stdout.decode(), run.stderr.decode()


def train(folder: Path, labels: list[str]) -> None:
    """A model of Python whose row k has the label k."""
    X = np.eye(len(labels), dtype=np.float32)
    FlatSVC(C=100, threads=1).fit(X, labels).save(folder / "model")
    lines = [f" {k + 1}:1\n" for k in range(len(labels))]
    (folder / "rows").write_text("".join(lines))


def labels_read_from(folder: Path, text: str, column: str) -> list[str]:
    """What the reader of CSV makes of a column."""
    rows = list(csv.reader(io.StringIO(text, newline="")))
    at = rows[0].index(column)
    lines = [["x", "y"], *([str(k), row[at]] for k, row in enumerate(rows[1:]))]
    with open(folder / "table.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(lines)
    columns = ["--numeric-columns", "x", "--label-column", "y"]
    run = [str(PROGRAM), "train", "--quiet", "--method", "flat-svm", *columns, "table.csv", "again"]
    subprocess.run(run, cwd=folder, check=True, capture_output=True)
    return [str(label) for label in margrove.load(folder / "again").classes_.tolist()]


def some_labels(rng: np.random.Generator) -> list[str]:
    drawn = ["".join(rng.choice(PIECES, size=rng.integers(1, 5))) for _ in range(3)]
    chosen = {*drawn, str(rng.choice(SPECIAL)), "plain"}
    return [label for label in sorted(chosen) if label.strip()]


@pytest.mark.parametrize("seed", range(25))
def test_labels_are_read_back_or_refused_by_name(seed: int, tmp_path: Path) -> None:
    labels = some_labels(np.random.default_rng(seed))
    train(tmp_path, labels)
    code, out, _ = answers(tmp_path, "--output-format", "jsonl")
    assert code == 0
    assert [json.loads(line)["labels"] for line in out.splitlines()] == [[x] for x in labels]

    code, out, err = answers(tmp_path, "--top", "1", "--output-format", "csv")
    if code == 0:
        rows = list(csv.reader(io.StringIO(out, newline="")))
        assert rows == [["label_1"], *([label] for label in labels)]
        assert sorted(labels_read_from(tmp_path, out, "label_1")) == sorted(labels)
    else:
        assert code == 3
        assert err.startswith("margrove: predict: label is '")
        assert "--output-format jsonl writes labels with any text" in err

    code, out, err = answers(tmp_path)
    is_tabbed = any("," in label for label in labels)
    if code == 0:
        lines = out.split("\n")[:-1]
        assert [line.split("\t" if is_tabbed else ",") for line in lines] == [[x] for x in labels]
    else:
        assert code == 3
        assert any(c in label for label in labels for c in ("\n", "\r", "\t"))
        assert err.startswith("margrove: predict: label is '")

    code, out, err = answers(tmp_path, "--top", "9", "--scores")
    is_tabbed = any(" " in label for label in labels)
    if code == 0:
        for line, best in zip(out.split("\n"), labels, strict=False):
            named = [part.rpartition(":")[0] for part in line.split("\t" if is_tabbed else " ")]
            assert named[0] == best
            assert sorted(named) == sorted(labels)


def test_what_readers_would_change_is_named(tmp_path: Path) -> None:
    for label, message in [
        (" a", "label is ' a', but would be read as 'a'; --output-format jsonl"),
        ("NA", "label is 'NA', but must not be a text for missing labels"),
        ("<b:c>", "label is '<b:c>', but would be read as 'b:c'"),
        ("a\nb", "but must not contain control characters"),
    ]:
        train(tmp_path, [label, "plain"])
        code, _, err = answers(tmp_path, "--output-format", "csv", "--top", "1")
        assert code == 3
        assert message in err
    train(tmp_path, ["a\nb", "plain"])
    code, _, err = answers(tmp_path)
    assert code == 3
    assert "but must not contain line ends; --output-format jsonl" in err
    train(tmp_path, ["a\tb", "c,d"])
    code, _, err = answers(tmp_path)
    assert code == 3
    assert "which separates labels" in err
