"""Vectors of texts beside their terms, through the program, Python and HTTP."""

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import margrove
import numpy as np
import pytest
from margrove import FlatSVC, TextFeatures, load
from margrove.vectors import TextEncoder

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
pytest.importorskip("tokenizers")
import tiny_encoder as tiny

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build" / "margrove"
sys.path.insert(0, str(ROOT / "tests" / "cli"))
os.environ.setdefault("MARGROVE", str(PROGRAM))
from test_serve import Server  # noqa: E402

# No two are equal: estimators merge such rows.
TEXTS = [
    f"{color} {thing} n{k}"
    for k in range(5)
    for thing in ("shoe", "lamp")
    for color in ("red", "blue")
]
LABELS = ["shoes", "shoes", "lamps", "lamps"] * 5
ANSWERS = ["shoe", "lamp", "green shoe", "?"]


@pytest.fixture(autouse=True)
def own_interpreter(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The program finds this package, and no vectors of earlier runs."""
    package = str(Path(margrove.__file__).absolute().parents[1])
    monkeypatch.setenv("PYTHONPATH", package)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("MARGROVE_VECTORS_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def encoder(tmp_path: Path) -> Path:
    return tiny.write_encoder(tmp_path / "encoder")


def program(*arguments: object, code: int = 0) -> str:
    done = subprocess.run(
        [PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    file = tmp_path / "train.txt"
    lines = [f"{label}\t{text}" for label, text in zip(LABELS, TEXTS, strict=True)]
    file.write_text("\n".join(lines) + "\n")
    return file


@pytest.fixture
def model(tmp_path: Path, rows: Path, encoder: Path) -> Path:
    file = tmp_path / "model.mg"
    program("train", "--method", "flat-svm", "--text", "--vectors", encoder, rows, file)
    return file


def unlabelled(tmp_path: Path) -> Path:
    file = tmp_path / "rows.txt"
    file.write_text("".join(f"\t{text}\n" for text in ANSWERS))
    return file


def test_columns_are_terms_and_the_vectors_of_the_encoder(encoder: Path) -> None:
    features = TextFeatures(vectors=str(encoder), vector_share=0.25)
    X = features.fit_transform(TEXTS).toarray()
    names = list(features.get_feature_names_out())
    assert names[-tiny.WIDTH :] == [f"vector {k + 1} of {encoder}" for k in range(tiny.WIDTH)]
    assert X.shape[1] == len(names)
    expected = TextEncoder(str(encoder)).encode(TEXTS)
    np.testing.assert_allclose(X[:, -tiny.WIDTH :], 0.5 * expected, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1, atol=1e-6)
    np.testing.assert_array_equal(features.transform(TEXTS).toarray(), X)
    again = pickle.loads(pickle.dumps(features))
    np.testing.assert_array_equal(again.transform(ANSWERS).toarray(),
                                  features.transform(ANSWERS).toarray())  # fmt: skip


def test_doors_give_the_same_answers(model: Path, encoder: Path, tmp_path: Path) -> None:
    expected = program("predict", model, unlabelled(tmp_path)).split()
    assert expected[:3] == ["shoes", "lamps", "shoes"]
    assert list(load(model).predict(ANSWERS)) == expected
    trained = FlatSVC(text_features=TextFeatures(vectors=str(encoder))).fit(TEXTS, LABELS)
    assert list(trained.predict(ANSWERS)) == expected
    written = tmp_path / "python.mg"
    trained.save(written)
    scores = ["predict", "--top", 2, "--scores"]
    assert program(*scores, written, unlabelled(tmp_path)) == program(
        *scores, model, unlabelled(tmp_path)
    )
    server = Server(str(model), cwd=str(tmp_path))
    try:
        status, answer = server.ask("POST", "/predict", {"rows": ANSWERS})
    finally:
        server.stop()
    assert status == 200
    assert [row["labels"] for row in answer["predictions"]] == [[label] for label in expected]


def test_a_model_names_its_encoder(model: Path, encoder: Path, tmp_path: Path) -> None:
    info = program("info", model)
    digest = TextEncoder(str(encoder)).digest
    assert f"{encoder}, 4 columns, share 0.7, digest {digest}" in info
    assert "format version" in info
    explained = program("explain", "--row", 1, model, unlabelled(tmp_path))
    assert f"vector of {encoder} = 0.83666, weight" in explained


def test_another_encoder_is_refused(model: Path, encoder: Path, tmp_path: Path) -> None:
    tiny.write_onnx(encoder / "model.onnx", table=tiny.TABLE[::-1].copy())
    message = program("predict", model, unlabelled(tmp_path), code=3)
    assert "the model takes vectors of 4 numbers of encoder" in message
    with pytest.raises(ValueError, match=r"but encoder .* has 4 and digest"):
        load(model).predict(ANSWERS)


def test_a_folder_that_moved_is_found(
    model: Path, encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = program("predict", model, unlabelled(tmp_path))
    encoder.rename(tmp_path / "cache" / "encoder")
    message = program("predict", model, unlabelled(tmp_path), code=3)
    assert "vectors: " in message
    assert "is no folder, and MARGROVE_VECTORS_PATH has none of its name" in message
    monkeypatch.setenv("MARGROVE_VECTORS_PATH", str(tmp_path / "cache"))
    assert program("predict", model, unlabelled(tmp_path)) == expected


def test_columns_of_records_have_vectors_too(encoder: Path, tmp_path: Path) -> None:
    file = tmp_path / "train.jsonl"
    with file.open("w") as out:
        for text, label in zip(TEXTS, LABELS, strict=True):
            print(json.dumps({"title": text, "price": len(text), "kind": label}), file=out)
    model = tmp_path / "records.mg"
    columns = ["--text-column", "title", "--numeric-columns", "price", "--label-column", "kind"]
    program("train", "--method", "flat-svm", *columns, "--vectors", encoder, file, model)
    assert program("predict", model, file).split() == LABELS
    assert "accuracy                 1.0000" in program("evaluate", model, file)


def test_a_grid_chooses_the_share(rows: Path, encoder: Path) -> None:
    command = ["tune", "--method", "flat-svm", "--text", "--vectors", encoder]
    printed = program(
        *command, "--grid", "vector-share=0.3,0.6", "--folds", 2, rows, rows.parent / "x.mg"
    )
    assert printed.startswith("vector_share\tmicro_f1\n0.3\t")


def test_a_grid_may_do_without_vectors(rows: Path, encoder: Path, tmp_path: Path) -> None:
    command = ["tune", "--method", "flat-svm", "--text", "--vectors", encoder, "--folds", 2]
    for choice in ("none", encoder):
        model = tmp_path / "x.mg"
        program(*command, "--grid", f"vectors={choice}", rows, model)
        assert ("4 columns, share" in program("info", model)) == (choice != "none")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--vectors", "nothing"], (3, "nothing is no folder")),
        (["--vectors", "ENCODER", "--vector-share", "1"], (2, "option vector-share is 1")),
        (["--vector-share", "0.5"], (2, "option vector-share is given, but there are no vectors")),
    ],
)
def test_wrong_options_are_errors(
    rows: Path, encoder: Path, tmp_path: Path, options: list[Any], message: tuple[int, str]
) -> None:
    given = [encoder if option == "ENCODER" else option for option in options]
    out = tmp_path / "x.mg"
    command = ["train", "--method", "flat-svm", "--text", *given, rows, out]
    assert message[1] in program(*command, code=message[0])
    assert not out.exists()


def test_vectors_are_for_texts(encoder: Path, tmp_path: Path) -> None:
    numbers = tmp_path / "numbers.svm"
    numbers.write_text("a 1:1\nb 2:1\n")
    out = tmp_path / "x.mg"
    command = ["train", "--method", "flat-svm", "--vectors", encoder, numbers, out]
    assert "option vectors is given, but needs rows of texts" in program(*command, code=2)


def test_what_python_lacks_is_named(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))  # has no python3
    message = program("predict", model, unlabelled(tmp_path), code=3)
    assert "pip install 'margrove[vectors]'" in message


def test_threads_of_the_program_are_those_of_the_encoder(
    tmp_path: Path, rows: Path, encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, log = tmp_path / "bin", tmp_path / "log"
    folder.mkdir()
    script = folder / "python3"
    script.write_text(f'#!/bin/sh\necho "$@" >> {log}\nexec {sys.executable} "$@"\n')
    script.chmod(0o700)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("MARGROVE_VECTORS_CACHE", "")
    texts = ("--text", "--vectors", encoder)
    tree = tmp_path / "tree"
    tree.write_text("thing shoes\nthing lamps\n")
    answers, models = [], []
    for threads in (1, 3):
        given = ("--threads", threads)
        model = tmp_path / f"model-{threads}"
        log.unlink(missing_ok=True)
        program("train", "--method", "flat-svm", *texts, *given, rows, model)
        program("tune", "--method", "flat-svm", *texts, *given, "--grid", "C=1,2", rows,
                tmp_path / "tuned")  # fmt: skip
        program("auto", *texts, *given, rows, tmp_path / "auto")
        program("evaluate", *given, model, rows)
        program("train", "--method", "nhsvm", "--hierarchy", tree, *texts, *given, rows,
                tmp_path / "tree.mg")  # fmt: skip
        program("compare", "--flat", *given, rows, tmp_path / "tree.mg", model)
        answers.append(program("predict", *given, model, unlabelled(tmp_path)))
        models.append(model.read_bytes())
        started = log.read_text().splitlines()
        assert len(started) == 8  # compare has two models
        assert all(line.endswith(f"serve {encoder} --threads {threads}") for line in started)
    assert answers[0] == answers[1]
    assert models[0] == models[1]
