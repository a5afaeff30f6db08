"""The same rows at every door: the program, Python, HTTP and C++ train the same model, give the
same answers, and refuse wrong rows in the same words.

The program's answers are what the others are compared with. GAPS lists what a door cannot do yet;
one that is closed must leave the list.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from margrove import (
    FlatLogisticRegression,
    SentenceExplanation,
    SPNMKLClassifier,
    StructuredSVC,
    load,
)

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build" / "margrove"
CXX = ROOT / "build" / "tests" / "cxx_door"
sys.path.insert(0, str(ROOT / "tests" / "cli"))
os.environ.setdefault("MARGROVE", str(PROGRAM))

from test_serve import Server  # noqa: E402

DOORS = ["python", "http", "c++"]
ACTIONS = ["train", "predict", "probabilities", "explain", "wrong row"]


class Answers(NamedTuple):
    """Of the rows of a kind; the explanation is that of the first row's label."""

    labels: list[list[str]]
    probabilities: list[list[float]] | None  # of each row's labels
    explanation: tuple[str, float] | None  # label and score


@dataclass
class Kind:
    """A kind of rows, in the form in which each door takes it."""

    name: str
    files: dict[str, str]  # `rows` and what the training needs beside it
    training: list[str]  # options of the program, before the file
    answering: list[str] = field(default_factory=list)  # options of the verbs that read rows
    wrong: str = ""  # the text of a file with a wrong row
    fit: Callable[[], Any] | None = None  # Python, in memory
    in_python: Any = None
    wrong_in_python: Any = None
    in_http: list[Any] | None = None
    wrong_in_http: Any = None
    labels_apart: bool = False  # in Python, so that its models name no column of labels
    in_cxx: str = ""  # as tests/support/cxx_door.cpp calls it
    has_not: tuple[str, ...] = ()  # actions, at no door
    wrong_in_files_only: bool = False  # the numbers of rows differ

    @property
    def other_views(self) -> list[str]:
        return ["other"] if "other" in self.files else []


# The rows ----------------------------------------------------------------------------------------

LABELS = ["shoe", "hat", "shoe", "hat", "shoe", "hat"]
LABEL_SETS = [["shoe", "old"], ["hat"], ["shoe"], ["hat", "old"], ["shoe", "old"], []]
NUMBERS = np.array(
    [[1, 0.5, 0], [-1, 0, 0.25], [2, 0, 0], [-0.5, 1, 0], [1.5, 0, 1], [-2, 0.5, 0]], np.float32
)
TEXTS = ["red shoe", "blue hat", "green shoe", "red hat", "old blue shoe", "new hat"]
PRICES = [10.0, 5.0, 12.0, None, 9.0, 4.0]
COLOURS = ["red", None, "green", "red", "blue", "green"]
RECORDS = [
    {"title": title, "price": price, "colour": colour, "label": label}
    for title, price, colour, label in zip(TEXTS, PRICES, COLOURS, LABELS, strict=True)
]
EMBEDDED = [
    {"title": title, "e": row.tolist(), "label": label}
    for title, row, label in zip(TEXTS, NUMBERS, LABELS, strict=True)
]
WORDS = [[("a", "length:1"), ("cat", "length:3")], [("the", "length:3"), ("dog", "length:3")]]
TAGS = [["D", "N"], ["D", "N"]]
PARSED: list[list[tuple[str, ...]]] = [
    [("the", "the", "DET"), ("dog", "dog", "NOUN"), ("runs", "run", "VERB")],
    [("a", "a", "DET"), ("cat", "cat", "NOUN"), ("ran", "run", "VERB")],
]
ARCS = [[(2, "det"), (3, "nsubj"), (0, "root")]] * 2
OTHER_VIEW = NUMBERS[:, ::-1].copy()
KERNEL = (NUMBERS @ NUMBERS.T).astype(np.float32)


def svmlight(X: Any, labels: list[str] = LABELS) -> str:
    lines = (
        " ".join([label, *(f"{j + 1}:{float(v)!r}" for j, v in enumerate(row) if v != 0)])
        for label, row in zip(labels, X, strict=True)
    )
    return "\n".join(lines) + "\n"


def csv_rows() -> str:
    cells = (["" if v is None else str(v) for v in row.values()] for row in RECORDS)
    return "\n".join(",".join(line) for line in [list(RECORDS[0]), *cells]) + "\n"


def columns(word: tuple[str, ...], tag: str) -> str:
    return "\t".join([*word, tag])


def column_file() -> str:
    sentences = (
        "\n".join(columns(word, tag) for word, tag in zip(words, tags, strict=True))
        for words, tags in zip(WORDS, TAGS, strict=True)
    )
    return "\n\n".join(sentences) + "\n\n"


def conllu_file(sentences: list[list[tuple[str, ...]]], arcs: list[list[tuple[int, str]]]) -> str:
    lines = []
    for words, of_words in zip(sentences, arcs, strict=True):
        for k, (word, (head, relation)) in enumerate(zip(words, of_words, strict=True), 1):
            lines.append("\t".join([f"{k}", *word, "_", "_", f"{head}", relation, "_", "_"]))
        lines.append("")
    return "\n".join(lines) + "\n"


TOO_LONG: list[tuple[str, ...]] = [("w", "w", "X")] * 2049

COLUMNS = [
    "--text-column",
    "title",
    "--numeric-columns",
    "price",
    "--categorical-columns",
    "colour",
]
COLUMNS += ["--label-column", "label"]
BY_COLUMNS: dict[str, Any] = {"text": "title", "numeric": "price", "categorical": "colour"}
WRONG_RECORD = {"title": "x", "price": "many", "colour": "red"}
ONE_KERNEL = '{"kernels": {"kernel": {"type": "given", "columns": "1-6"}}, "shape": "one-layer"}'

KINDS = [
    Kind(
        "numbers", {"rows": svmlight(NUMBERS)}, ["--method", "flat-lr"],
        wrong="shoe 1:nan\n",
        fit=lambda: FlatLogisticRegression().fit(NUMBERS, LABELS),
        in_python=NUMBERS, wrong_in_python=[[np.nan, 0, 0]],
        in_http=[{"features": dict(zip("123", row.tolist(), strict=True))} for row in NUMBERS],
        wrong_in_http="shoe 1:nan", in_cxx="numbers",
    ),
    Kind(
        "label sets", {"rows": svmlight(NUMBERS, [",".join(labels) for labels in LABEL_SETS])},
        ["--method", "flat-lr"],
        wrong="shoe,old 1:nan\n",
        fit=lambda: FlatLogisticRegression().fit(NUMBERS, [set(labels) for labels in LABEL_SETS]),
        in_python=NUMBERS, wrong_in_python=[[np.nan, 0, 0]],
        in_http=[{"features": dict(zip("123", row.tolist(), strict=True))} for row in NUMBERS],
        wrong_in_http="shoe,old 1:nan", in_cxx="numbers",
        has_not=("explain",),  # the program explains each label, Python the best one
    ),
    Kind(
        "sparse numbers", {"rows": svmlight(NUMBERS)}, ["--method", "flat-lr"],
        wrong="shoe 3:inf\n",
        fit=lambda: FlatLogisticRegression().fit(sp.csr_array(NUMBERS), LABELS),
        in_python=sp.csr_array(NUMBERS),
        wrong_in_python=sp.csr_array(np.array([[0, 0, np.inf]], np.float32)),
        in_http=[line.split(" ", 1)[1] for line in svmlight(NUMBERS).splitlines()],
        wrong_in_http="shoe 3:inf", in_cxx="numbers",
    ),
    Kind(
        "equal rows", {"rows": svmlight(NUMBERS) * 2}, ["--method", "flat-lr"],
        fit=lambda: FlatLogisticRegression().fit(np.vstack([NUMBERS] * 2), LABELS * 2),
        in_python=np.vstack([NUMBERS] * 2),
        in_http=[line.split(" ", 1)[1] for line in svmlight(NUMBERS).splitlines()] * 2,
        in_cxx="numbers", has_not=("wrong row",),
    ),
    Kind(
        "texts",
        {"rows": "".join(f"{k}\t{t}\n" for k, t in zip(LABELS, TEXTS, strict=True))},
        ["--method", "flat-lr", "--text"],
        fit=lambda: FlatLogisticRegression().fit(TEXTS, LABELS),
        in_python=TEXTS, in_http=TEXTS, in_cxx="texts", has_not=("wrong row",),
    ),
    Kind(
        "records of CSV", {"rows": csv_rows()}, ["--method", "flat-lr", *COLUMNS],
        wrong="title,price,colour\nx,many,red\n",
        fit=lambda: FlatLogisticRegression(**BY_COLUMNS).fit(
            {name: [row[name] for row in RECORDS] for name in RECORDS[0]}, LABELS
        ),
        in_python={name: [row[name] for row in RECORDS] for name in RECORDS[0]},
        wrong_in_python={name: [value] for name, value in WRONG_RECORD.items()},
        in_http=RECORDS, wrong_in_http=WRONG_RECORD, labels_apart=True, in_cxx="records",
    ),
    Kind(
        "records of JSON lines", {"rows": "".join(json.dumps(row) + "\n" for row in RECORDS)},
        ["--method", "flat-lr", *COLUMNS],
        wrong=json.dumps(WRONG_RECORD) + "\n",
        fit=lambda: FlatLogisticRegression(**BY_COLUMNS).fit(RECORDS, LABELS),
        in_python=RECORDS, wrong_in_python=[WRONG_RECORD],
        in_http=RECORDS, wrong_in_http=WRONG_RECORD, labels_apart=True, in_cxx="records",
    ),
    Kind(
        "records with vectors", {"rows": "".join(json.dumps(row) + "\n" for row in EMBEDDED)},
        ["--method", "flat-lr", "--text-column", "title", "--vector-columns", "e",
         "--label-column", "label"],
        wrong=json.dumps({"title": "x", "e": [1, 2]}) + "\n",
        fit=lambda: FlatLogisticRegression(text="title", vector_columns="e").fit(EMBEDDED, LABELS),
        in_python=EMBEDDED, wrong_in_python=[{"title": "x", "e": [1, 2]}],
        in_http=EMBEDDED, wrong_in_http={"title": "x", "e": [1, 2]}, labels_apart=True,
        in_cxx="vectors",
    ),
    Kind(
        "sentences", {"rows": column_file()}, ["--method", "structured"],
        wrong="a\tlength:inf\tD\n\n",
        fit=lambda: StructuredSVC().fit(WORDS, TAGS),
        in_python=WORDS, wrong_in_python=[[("a", "length:inf")]],
        in_http=WORDS, wrong_in_http=[["a", "length:inf"]], in_cxx="sentences",
        has_not=("probabilities", "explain"),
    ),
    Kind(
        "trees", {"rows": conllu_file(PARSED, ARCS)},
        ["--method", "structured", "--model", "dependency"],
        wrong=conllu_file([TOO_LONG], [[(0, "root")] * len(TOO_LONG)]),
        fit=lambda: StructuredSVC(model="dependency").fit(PARSED, ARCS),
        in_python=PARSED, wrong_in_python=[TOO_LONG],
        in_http=PARSED, wrong_in_http=TOO_LONG, in_cxx="trees", has_not=("probabilities",),
    ),
    Kind(
        "views", {"rows": svmlight(NUMBERS), "other": svmlight(OTHER_VIEW)},
        ["--method", "spn-mkl", "--view", "other=other", "--calibration", "0.5"],
        answering=["--view", "other=other"],
        wrong=svmlight(NUMBERS[:2], LABELS[:2]),
        fit=lambda: SPNMKLClassifier(calibration=0.5).fit(
            {"main": NUMBERS, "other": OTHER_VIEW}, LABELS
        ),
        in_python={"main": NUMBERS, "other": OTHER_VIEW},
        wrong_in_python={"main": NUMBERS[:2], "other": OTHER_VIEW},
        in_http=[
            {"views": {"main": main.split(" ", 1)[1], "other": other.split(" ", 1)[1]}}
            for main, other in zip(
                svmlight(NUMBERS).splitlines(), svmlight(OTHER_VIEW).splitlines(), strict=True
            )
        ],
        in_cxx="views", wrong_in_files_only=True,
    ),
    Kind(
        "kernel features", {"rows": svmlight(NUMBERS)},
        ["--method", "flat-lr", "--kernel-features", "nystroem:4", "--kernel-gamma", "0.5"],
        wrong="shoe 1:nan\n",
        fit=lambda: FlatLogisticRegression(kernel_features="nystroem:4", kernel_gamma=0.5).fit(
            NUMBERS, LABELS
        ),
        in_python=NUMBERS, wrong_in_python=[[np.nan, 0, 0]],
        in_http=[{"features": dict(zip("123", row.tolist(), strict=True))} for row in NUMBERS],
        wrong_in_http="shoe 1:nan", in_cxx="kernel-features",
        has_not=("explain",),  # of features; the program has parts of nodes with --features 0
    ),
    Kind(
        "kernel values",
        {"rows": svmlight(KERNEL)}, ["--method", "spn-mkl", "--network", ONE_KERNEL],
        wrong="shoe 1:inf\n",
        fit=lambda: SPNMKLClassifier(kernel="precomputed").fit(KERNEL, LABELS),
        in_python=KERNEL, wrong_in_python=np.full((1, 6), np.inf),
        in_http=[line.split(" ", 1)[1] for line in svmlight(KERNEL).splitlines()],
        wrong_in_http="shoe 1:inf", in_cxx="kernel", has_not=("probabilities",),
    ),
]  # fmt: skip


# The doors ---------------------------------------------------------------------------------------


class RefusedError(Exception):
    """What a door says of rows that it refuses."""


def run(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [PROGRAM, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RefusedError(done.stderr.strip().splitlines()[-1].removeprefix("margrove: "))
    return done.stdout


def program_model(kind: Kind, folder: Path) -> Path:
    for name, text in kind.files.items():
        (folder / name).write_text(text, encoding="utf-8")
    run(folder, "train", "--quiet", *kind.training, "rows", "model")
    return folder / "model"


def program_answers(kind: Kind, folder: Path, rows: str, action: str) -> Any:
    if action == "explain":
        printed = run(folder, "explain", *kind.answering, "--row", "1", "model", rows)
        if kind.name == "trees":
            return printed.splitlines()
        found = re.search(r"^label (\S+): score (\S+)$", printed, re.MULTILINE)
        assert found is not None, printed
        return found[1], float(found[2])
    options = ["--probabilities"] if action == "probabilities" else []
    lines = run(folder, "predict", *kind.answering, *options, "model", rows).split("\n")[:-1]
    if action == "probabilities":
        return [
            [float(np.float32(each.rpartition(":")[2])) for each in line.split()] for line in lines
        ]
    return [line.split(",") if line else [] for line in lines]


def printed_tags(sentences: list[list[Any]]) -> list[list[str]]:
    """As the program prints them: a line for each tag, or head and relation, and an empty one after
    each sentence."""
    lines = (
        tag if isinstance(tag, str) else "\t".join(map(str, tag))
        for tags in sentences
        for tag in [*tags, ""]
    )
    return [[line] if line else [] for line in lines]


def label_lists(predicted: Any) -> list[list[Any]]:
    return [sorted(each) if isinstance(each, set) else [each] for each in predicted]


def python_probabilities(model: Any, rows: Any) -> list[list[float]]:
    probabilities = np.asarray(model.predict_proba(rows)).astype(np.float32)
    column = {label: j for j, label in enumerate(model.classes_)}
    return [
        [float(row[column[label]]) for label in labels]
        for row, labels in zip(probabilities, label_lists(model.predict(rows)), strict=True)
    ]


def python_answers(model: Any, rows: Any, action: str) -> Any:
    try:
        if action == "explain":
            explanation = model.explain(rows)[0]
            if isinstance(explanation, SentenceExplanation):
                return str(explanation).splitlines()
            return str(explanation.label), explanation.score
        if action == "probabilities":
            return python_probabilities(model, rows)
        predicted = model.predict(rows)
    except (ValueError, TypeError) as error:
        raise RefusedError(str(error)) from error
    if isinstance(predicted, list) and not isinstance(predicted[0], set):  # of sentences
        return printed_tags(predicted)
    return [[str(label) for label in labels] for labels in label_lists(predicted)]


def http_answers(model: Path, rows: list[Any], action: str) -> Any:
    server = Server(str(model), cwd=str(model.parent))
    try:
        if action == "explain":
            status, answer = server.ask("POST", "/explain", {"row": rows[0]})
        else:
            options = {"probabilities": True} if action == "probabilities" else {}
            status, answer = server.ask("POST", "/predict", {"rows": rows} | options)
    finally:
        server.stop()
    if status != 200:
        raise RefusedError(answer["error"])
    if action == "explain":
        if "lines" in answer:
            return answer["lines"]
        return answer["labels"][0], answer["explanations"][0]["score"]
    if action == "probabilities":
        return [
            [float(np.float32(p)) for p in row["probabilities"]] for row in answer["predictions"]
        ]
    if "tags" in answer["predictions"][0]:
        return printed_tags([sentence["tags"] for sentence in answer["predictions"]])
    if "heads" in answer["predictions"][0]:
        trees = answer["predictions"]
        return printed_tags(
            [list(zip(tree["heads"], tree["relations"], strict=True)) for tree in trees]
        )
    return [row["labels"] for row in answer["predictions"]]


def cxx(folder: Path, *arguments: str) -> Any:
    printed = subprocess.run(
        [CXX, *arguments], cwd=folder, capture_output=True, text=True, check=True
    ).stdout
    answer = json.loads(printed) if printed else {}
    if "error" in answer:
        raise RefusedError(answer["error"])
    return answer


def cxx_answers(kind: Kind, folder: Path, rows: str, action: str) -> Any:
    answer = cxx(folder, action, "model", rows, *kind.other_views)
    if action == "explain":
        return answer if kind.name == "trees" else tuple(answer)
    if action == "probabilities":
        return [[float(np.float32(p)) for p in row] for row in answer]
    return answer


# What is compared --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Kind], Path]:
    """The program's model of a kind, in a folder with its files."""

    @cache
    def made(name: str) -> Path:
        kind = next(kind for kind in KINDS if kind.name == name)
        return program_model(kind, tmp_path_factory.mktemp("kind"))

    return lambda kind: made(kind.name)


def without_place(message: str) -> str:
    """A message without what names the place: file, line and column, body, row or X."""
    message = re.sub(
        r"^(?:\S+:\d+:\d+|\S+:\d+|\S*model|X: row \d+|X|row \d+|rows|input|sentences): ",
        "",
        message,
    )
    message = re.sub(r"^(?:sentence \d+, )?token \d+: ", "", message)
    return re.sub(r" (?:in|of) row \d+| (?:as|like) \w+$", "", message)


def without_label_column(path: Path) -> tuple[Any, bytes]:
    """The header and the numbers of a model file."""
    content = path.read_bytes()
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:end])
    header["__metadata__"].pop("records.label", None)
    return header, content[end:]


def expect_same_model(door: str, kind: Kind, model: Path) -> None:
    ours = model.parent / f"{door}.model"
    if door == "python":
        assert kind.fit is not None, "the door has no training"
        kind.fit().save(ours)
    else:
        assert kind.in_cxx, "the door does not take the rows"
        cxx(model.parent, "train", kind.in_cxx, "rows", ours.name, *kind.other_views)
    if kind.labels_apart and door == "python":
        assert without_label_column(ours) == without_label_column(model)
    else:
        assert ours.read_bytes() == model.read_bytes()


def answers(door: str, kind: Kind, model: Path, action: str) -> Any:
    if door == "python":
        return python_answers(load(model), kind.in_python, action)
    if door == "http":
        assert kind.in_http is not None, "the door does not take the rows"
        return http_answers(model, kind.in_http, action)
    assert kind.in_cxx, "the door does not take the rows"
    return cxx_answers(kind, model.parent, "rows", action)


def refused(door: str, kind: Kind, model: Path) -> None:
    wrong = model.parent / "wrong"
    wrong.write_text(kind.wrong, encoding="utf-8")
    if door == "program":
        program_answers(kind, model.parent, "wrong", "predict")
    elif door == "python":
        python_answers(load(model), kind.wrong_in_python, "predict")
    elif door == "http":
        assert kind.in_http is not None, "the door does not take the rows"
        http_answers(model, [kind.wrong_in_http], "predict")
    else:
        assert kind.in_cxx, "the door does not take the rows"
        cxx_answers(kind, model.parent, "wrong", "predict")


def refusal(door: str, kind: Kind, model: Path) -> str:
    """What the door says of the wrong row."""
    with pytest.raises(RefusedError) as caught:
        refused(door, kind, model)
    return without_place(str(caught.value))


# (door, kind, action or "*"): why it fails
GAPS = {
    ("python", "equal rows", "train"): (
        "estimators merge them, because a row twice must be the row with weight 2 but for rounding "
        "(check_sample_weight_equivalence of scikit-learn); the program keeps rows without weights "
        "apart, because decisions are fitted to folds of the rows, and equal rows would be in one"
    ),
}


def gap_of(door: str, kind: Kind, action: str) -> str | None:
    return GAPS.get((door, kind.name, action), GAPS.get((door, kind.name, "*")))


def cases() -> Iterator[Any]:
    for kind in KINDS:
        for door in DOORS:
            for action in ACTIONS:
                if door == "http" and action == "train":
                    continue  # it trains nothing
                if action in kind.has_not:
                    continue
                if kind.wrong_in_files_only and (door, action) == ("http", "wrong row"):
                    continue
                gap = gap_of(door, kind, action)
                marks = pytest.mark.xfail(reason=gap, strict=True) if gap else ()
                yield pytest.param(
                    door, kind, action, marks=marks, id=f"{kind.name}-{door}-{action}"
                )


@pytest.mark.parametrize(("door", "kind", "action"), list(cases()))
def test_a_door_answers_as_the_program_does(
    door: str, kind: Kind, action: str, models: Callable[[Kind], Path]
) -> None:
    model = models(kind)
    if action == "train":
        expect_same_model(door, kind, model)
        return
    if action == "wrong row":
        assert refusal(door, kind, model) == refusal("program", kind, model)
        return
    expected = program_answers(kind, model.parent, "rows", action)
    ours = answers(door, kind, model, action)
    if action == "explain" and kind.name != "trees":
        assert ours[0] == expected[0]
        assert f"{ours[1]:.6g}" == f"{expected[1]:.6g}"  # the digits that the program prints
    else:
        assert ours == expected


def test_tokens_that_are_dicts_are_objects_over_http(tmp_path: Path) -> None:
    X: list[Any] = [
        [{"word": w, "short": len(w) < 3, "at": f"{i}:{i}", "len": len(w)} for i, w in enumerate(s)]
        for s in (["we", "saw", "it"], ["an", "owl", "sat"], ["my", "owl", "hid"])
    ]
    model = StructuredSVC().fit(X, [["O", "O", "O"], ["O", "B", "O"], ["O", "B", "O"]])
    model.save(tmp_path / "model")
    X[0][0] = {"word": "owl", "len": None}
    assert http_answers(tmp_path / "model", X, "predict") == printed_tags(model.predict(X))
    for wrong, message in (
        ([[1]], r"token 1 is neither a text nor a list of texts"),
        (
            [{"word": [1]}],
            r"token 1: feature 'word' is '\[1\]', but must be a text, a finite number",
        ),
        ([{"word": 1e300}], r"token 1: feature 'word' is '1e\+300', but must be"),
        (["a"], "tokens have 1 columns, but must have 5 as in training"),
        ({"word": "a"}, "is not a sentence, but must be a list of tokens: objects of features"),
    ):
        with pytest.raises(RefusedError, match=message):
            http_answers(tmp_path / "model", [wrong], "predict")
