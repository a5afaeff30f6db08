"""Both ways of suggestions to Annif, by its commands and by its projects, with Annif as it is: the
backend `margrove`, and Annif's own backend `http` with a server of the program."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import margrove
import numpy as np
import pytest
from margrove import FlatSVC

pytest.importorskip("annif", reason="no annif: see docs/testing.md")
import margrove.annif
from annif.corpus import Document, DocumentList, SubjectSet
from annif.exception import (
    AnnifException,
    ConfigurationException,
    NotInitializedException,
    NotSupportedException,
)
from annif.registry import AnnifRegistry
from annif.vocab.skos import VocabFileSKOS

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("MARGROVE", str(ROOT / "build" / "margrove"))
METHODS = sorted(margrove.annif._METHODS)
EDGES = [
    *[("animal", kind) for kind in ("mammal", "bird", "fish")],
    *[("mammal", kind) for kind in ("dog", "whale", "bat")],
    *[("bird", kind) for kind in ("owl", "eagle")],
    *[("fish", kind) for kind in ("cod", "eel")],
]
WORDS = {
    "dog": "bark leash puppy kennel",
    "whale": "ocean blubber song spout",
    "bat": "cave echo wing dusk",
    "owl": "hoot night feather barn",
    "eagle": "cliff talon nest soar",
    "cod": "net shoal salt fillet",
    "eel": "river slime migration lamprey",
}


def uri(label: str) -> str:
    return f"http://example.org/animals/{label}"


def concepts(edges: bool = True, *others: str) -> str:
    """The animals in SKOS, with others that are below none."""
    above = {child: f" ; skos:broader <{uri(parent)}>" for parent, child in EDGES if edges}
    lines = ["@prefix skos: <http://www.w3.org/2004/02/skos/core#> ."]
    for node in ["animal", *(child for _, child in EDGES), *others]:
        lines.append(
            f'<{uri(node)}> a skos:Concept ; skos:prefLabel "{node}"@en{above.get(node, "")} .'
        )
    return "\n".join(lines) + "\n"


def documents(seed: int = 0, count: int = 150) -> list[tuple[str, set[str]]]:
    """Texts about one animal or two, which some of them name."""
    random = np.random.default_rng(seed)
    made = []
    for number in range(count):
        labels = random.choice(list(WORDS), size=1 + number % 2, replace=False).tolist()
        words = [word for label in labels for word in random.permutation(WORDS[label].split())[:3]]
        names = labels if number % 3 else []
        made.append(
            (" ".join([*words, *names, *random.choice(["the", "a", "of"], 2)]), set(labels))
        )
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "animals.ttl").write_text(concepts(), encoding="utf-8")
    return tmp_path


def project(folder: Path, loads: bool = True, vocab: str = "animals", **keys: Any) -> Any:
    """A project of Annif in the folder, its vocabulary loaded."""
    lines = ["[p]", "language=en", "backend=margrove", f"vocab={vocab}"]
    lines += [f"{key}={value}" for key, value in keys.items()]
    config = folder / "projects.cfg"
    config.write_text("\n".join(lines), encoding="utf-8")
    made = AnnifRegistry(str(config), str(folder / "data"), False).get_project("p")
    if loads:
        made.vocab.load_vocabulary(VocabFileSKOS(str(folder / "animals.ttl")))
    return made


def corpus(made: Any) -> Any:
    by_uri = made.subjects.by_uri
    return DocumentList(
        [
            Document(text, SubjectSet([by_uri(uri(label), warnings=False) for label in labels]))
            for text, labels in documents()
        ]
    )


def suggested(made: Any, texts: list[str]) -> list[list[tuple[str, float]]]:
    batch = made.suggest([Document(text) for text in texts])
    return [[(made.subjects[each.subject_id].uri, each.score) for each in row] for row in batch]


def command(folder: Path, *arguments: str, text: str = "") -> str:
    environment = os.environ | {
        "ANNIF_CONFIG": "margrove.annif.Config",
        "PYTHONPATH": str(Path(margrove.__file__).parents[1]),
        "no_proxy": "127.0.0.1",
    }
    program = [sys.executable, "-m", "annif.cli", *arguments]
    return subprocess.run(
        program, cwd=folder, env=environment, input=text, capture_output=True, text=True, check=True
    ).stdout


def write_corpora(folder: Path) -> None:
    for seed, part in enumerate(("train", "test")):
        lines = [
            f"{text}\t{' '.join(f'<{uri(label)}>' for label in labels)}\n"
            for text, labels in documents(seed)
        ]
        (folder / f"{part}.tsv").write_text("".join(lines), encoding="utf-8")


def test_the_commands_of_annif_train_suggest_and_evaluate(folder: Path) -> None:
    (folder / "projects.cfg").write_text(
        "[animals-en]\nname=Animals\nlanguage=en\nbackend=margrove\nvocab=animals\n"
    )
    write_corpora(folder)
    command(folder, "load-vocab", "animals", "animals.ttl")
    command(folder, "train", "animals-en", "train.tsv", "--backend-param", "margrove.C=2")
    assert re.search(r"animals-en .* True ", command(folder, "list-projects"))

    answer = command(folder, "suggest", "animals-en", "--limit", "3", text="hoot feather net salt")
    rows = [line.split("\t") for line in answer.splitlines()]
    assert len(rows) == 3
    assert {row[0] for row in rows[:2]} == {f"<{uri('owl')}>", f"<{uri('cod')}>"}
    assert all(0 < float(row[-1]) <= 1 for row in rows)

    measured = command(folder, "eval", "animals-en", "test.tsv", "--metric", "NDCG")
    assert float(measured.split()[-1]) > 0.9


def run_program(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [PROGRAM, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextmanager
def served(folder: Path, model: str) -> Iterator[str]:
    """A server of the model; the endpoint for Annif."""
    with subprocess.Popen(
        [PROGRAM, "serve", "--port", "0", model], cwd=folder, stderr=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stderr is not None
            line = server.stderr.readline()
            found = re.search(r"serving on (http://\S+)$", line.strip())
            assert found is not None, line
            yield f"{found[1]}/model/suggest"
        finally:
            server.terminate()


@pytest.fixture
def model_of_the_program(folder: Path) -> str:
    """A model of the documents, which the program has trained."""
    if not Path(PROGRAM).exists():
        pytest.skip(f"{PROGRAM} is not built")
    write_corpora(folder)
    run_program(
        folder,
        *["train", "--quiet", "--text", "--method", "flat-svm", "--match-names"],
        *["--calibration", "0.2", "--hierarchy", "animals.ttl", "--language", "en"],
        *["train.tsv", "subjects.model"],
    )
    return "subjects.model"


def read_suggestions(answer: str) -> list[list[tuple[str, float]]]:
    """What `annif suggest` prints for several files."""
    rows: list[list[tuple[str, float]]] = []
    for line in answer.splitlines():
        if line.startswith("Suggestions for "):
            rows.append([])
        else:
            name, *_, score = line.split("\t")
            rows[-1].append((name.strip("<>"), float(score)))
    return rows


def test_http_suggests_what_the_program_predicts(folder: Path, model_of_the_program: str) -> None:
    printed = run_program(
        folder,
        *["predict", "--quiet", "--top", "3", "--probabilities", "--output-format", "jsonl"],
        *[model_of_the_program, "test.tsv"],
    )
    predicted = [json.loads(line) for line in printed.splitlines()[:5]]
    expected = [list(zip(row["labels"], row["probabilities"], strict=True)) for row in predicted]
    pages = [f"{number}.txt" for number in range(len(expected))]
    for page, (text, _) in zip(pages, documents(1), strict=False):
        (folder / page).write_text(text, encoding="utf-8")

    # The backend `margrove` has the same model, so that the ensemble has the same means.
    kept = folder / "data/projects/animals-margrove"
    kept.mkdir(parents=True)
    (kept / "margrove.model").write_bytes((folder / model_of_the_program).read_bytes())
    projects = {
        "http": "backend=http\nendpoint={endpoint}",
        "margrove": "backend=margrove",
        "both": "backend=ensemble\nsources=animals-http,animals-margrove",
    }
    with served(folder, model_of_the_program) as endpoint:
        (folder / "projects.cfg").write_text(
            "".join(
                f"[animals-{key}]\nname=Animals\nlanguage=en\nvocab=animals\n{keys}\n"
                for key, keys in projects.items()
            ).format(endpoint=endpoint)
        )
        command(folder, "load-vocab", "animals", "animals.ttl")
        assert re.search(r"animals-http .* True ", command(folder, "list-projects"))
        measured = set()
        for key in projects:
            answer = command(folder, "suggest", f"animals-{key}", "--limit", "3", *pages)
            for found, row in zip(read_suggestions(answer), expected, strict=True):
                assert [name for name, _ in found] == [name for name, _ in row]
                scores = [score for _, score in row]
                assert [score for _, score in found] == pytest.approx(scores, abs=1e-4)
            measured.add(command(folder, "eval", f"animals-{key}", "test.tsv", "-m", "NDCG"))
    (line,) = measured
    assert float(line.split()[-1]) > 0.9


def test_scores_are_the_probabilities_of_the_saved_model(folder: Path) -> None:
    made = project(folder, limit=4)
    made.train(corpus(made))
    texts = [text for text, _ in documents(1)]
    found = suggested(made, texts)
    assert suggested(project(folder, loads=False, limit=4), texts) == found

    model = margrove.load(folder / "data/projects/p/margrove.model")
    probabilities = model.predict_proba(texts)
    for row, of_classes in zip(found, probabilities, strict=True):
        best = np.argsort(-of_classes, kind="stable")[:4]
        assert [name for name, _ in row] == model.classes_[best].tolist()
        assert [score for _, score in row] == pytest.approx(of_classes[best].tolist())


def test_inner_subjects_are_suggested_where_narrower_ones_are_unsure(
    folder: Path, model_of_the_program: str
) -> None:
    texts = ["bark cave", "hoot", "talon feather net", "the"]
    model = margrove.load(folder / model_of_the_program)
    nodes = model.nodes_.tolist()
    probabilities = model.predict_node_proba(texts)
    parents = {uri(parent) for parent, _ in EDGES}
    made = project(folder)
    plain = made.backend.suggestions
    known = made.backend._subjects_of(model.classes_)
    seen = set()
    for least in (0.05, 0.3, 0.6):
        lowest = model.predict(texts, stop="inner", min_confidence=least)
        batch = plain(model, known, texts, 20, least)
        for row, of_text, of_nodes in zip(batch, lowest, probabilities, strict=True):
            found = {made.subjects[each.subject_id].uri: each.score for each in row}
            inner = {node: of_nodes[nodes.index(node)] for node in of_text if node in parents}
            assert {node: found[node] for node in inner} == pytest.approx(inner)
            assert list(found.values()) == sorted(found.values(), reverse=True)
            seen |= set(inner)
    assert uri("mammal") in seen
    few, many = (list(plain(model, known, texts, limit, 0.3)[0]) for limit in (3, 20))
    assert few == many[:3]


def test_blank_texts_have_no_subjects(folder: Path) -> None:
    made = project(folder)
    made.train(corpus(made))
    assert [len(row) > 0 for row in suggested(made, [" \n", "the barn", ""])] == [
        False,
        True,
        False,
    ]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_serves(folder: Path, method: str) -> None:
    made = project(folder, method=method)
    made.train(corpus(made))
    several = [(text, labels) for text, labels in documents() if len(labels) == 2]
    rows = suggested(project(folder, loads=False), [text for text, _ in several])
    best = [{name for name, _ in row[:2]} for row in rows]
    right = [
        names == {uri(k) for k in labels} for names, (_, labels) in zip(best, several, strict=True)
    ]
    assert np.mean(right) > 0.8
    assert all(0 < score <= 1 for row in rows for _, score in row)


def test_the_hierarchy_is_that_of_the_vocabulary_of_a_file_or_none(folder: Path) -> None:
    def number(**keys: Any) -> int:
        made = project(folder, method="level-svm", **keys)
        made.train(corpus(made))
        return len(margrove.load(folder / "data/projects/p/margrove.model").hierarchy_.edges)  # type: ignore[union-attr]

    assert number() == len(EDGES)
    assert number(hierarchy="none") == 0
    (folder / "flat.ttl").write_text(concepts(edges=False), encoding="utf-8")
    assert number(hierarchy=folder / "flat.ttl") == 0


def test_the_names_of_subjects_find_those_without_documents(folder: Path) -> None:
    (folder / "animals.ttl").write_text(concepts(True, "griffin"), encoding="utf-8")
    names_are_not_matched: dict[str, Any] = {"match_names": "false"}
    for keys in ({}, names_are_not_matched):
        made = project(folder, **keys)
        made.train(corpus(made))
        (row,) = suggested(made, ["the griffin"])
        assert (uri("griffin") in {name for name, _ in row}) == (not keys)


def test_subjects_that_the_project_leaves_out_are_not_suggested(folder: Path) -> None:
    made = project(folder)
    made.train(corpus(made))
    assert suggested(made, ["hoot at night"])[0][0][0] == uri("owl")
    narrower = project(folder, loads=False, vocab=f"animals(exclude={uri('owl')})")
    (row,) = suggested(narrower, ["hoot at night"])
    assert len(row) == len(EDGES)  # the nodes without one
    assert uri("owl") not in {name for name, _ in row}


WRONG = [
    ({"max-pases": 3}, "max-pases is no parameter of the backend with method=flat-svm; did you"),
    ({"alpha": 3}, "alpha is no parameter of the backend with method=flat-svm"),
    ({"method": "svm"}, "method is 'svm', but must be one of flat-svm, "),
    ({"max_passes": "few"}, "max_passes is 'few', but must be a whole number"),
    ({"calibration": "yes"}, "calibration is 'yes', but must be a number"),
    ({"match_names": "perhaps"}, "match_names is 'perhaps', but must be true or false"),
    ({"calibration": 0}, "calibration is 0, but must be > 0 for method=flat-svm"),
    ({"loss": "square"}, "loss"),
    ({"stem": "klingon"}, "stem"),
    ({"hierarchy": "missing.ttl"}, "missing.ttl"),
    ({"min_confidence": "high"}, "min_confidence is 'high', but must be a number"),
    ({"min_confidence": 1.5}, "min_confidence is 1.5, but must be in [0, 1]"),
]


@pytest.mark.parametrize(("keys", "message"), WRONG)
def test_wrong_parameters_are_named(folder: Path, keys: dict[str, Any], message: str) -> None:
    made = project(folder, **keys)
    with pytest.raises(AnnifException) as caught:
        made.train(corpus(made))
    assert message in caught.value.message
    if "hierarchy" not in keys:
        assert isinstance(caught.value, ConfigurationException)


def test_options_have_the_kinds_of_the_estimators(folder: Path) -> None:
    keys: dict[str, Any] = {
        "lambda": 0.5,
        "bias": 2,
        "C": "auto",
        "intercept_penalty": "0.5",
        "threads": 2,
    }
    terms: dict[str, Any] = {
        "word_ngrams": "1",
        "stop_words": "a, the",
        "sublinear_tf": "False",
        "bm25_b": "1",
    }
    made = project(folder, time_limit_seconds=60, **keys, **terms)
    given = made.backend.estimator(made.backend.params).get_params()
    assert given["lambda_"] == 0.5
    assert (given["bias"], given["C"], given["threads"]) == (2.0, "auto", 2)
    assert given["time_limit_seconds"] == 60
    assert given["text_features__stop_words"] == ["a", "the"]
    assert given["text_features__sublinear_tf"] is False


def test_corpora_that_teach_nothing_are_refused(folder: Path) -> None:
    made = project(folder)
    with pytest.raises(NotSupportedException, match="no document of the corpus has a subject"):
        made.train(DocumentList([Document("a bird")]))
    with pytest.raises(NotSupportedException, match="are not kept"):
        made.train("cached")


def test_models_that_cannot_serve_are_refused(folder: Path) -> None:
    made = project(folder)
    with pytest.raises(NotInitializedException, match=r"margrove\.model not found"):
        made.backend.initialize()
    path = folder / "data/projects/p/margrove.model"
    FlatSVC().fit(["a bird", "a fish"], [{uri("bird")}, {uri("fish"), uri("bird")}]).save(path)
    with pytest.raises(NotInitializedException, match="gives no probabilities"):
        made.backend.initialize()
    path.write_bytes(b"no model")
    with pytest.raises(NotInitializedException, match=r"margrove\.model"):
        made.backend.initialize()


def test_hyperopt_recommends_lines_of_the_project(folder: Path) -> None:
    made = project(folder)
    with open(folder / "trials.tsv", "w", encoding="utf-8") as trials:
        best = made.hyperopt(corpus(made), trials=2, jobs=1, metric="NDCG", results_file=trials)
    rows = (folder / "trials.tsv").read_text(encoding="utf-8").splitlines()
    assert rows[0].split("\t")[:2] == ["trial", "value"]
    assert best.score == pytest.approx(max(float(row.split("\t")[1]) for row in rows[1:]))
    lines: dict[str, Any] = dict(line.split("=") for line in best.lines)
    assert set(lines) == {"C", "word_ngrams", "char_ngrams"}
    made = project(folder, **lines)
    assert made.backend.estimator(made.backend.params).get_params()["C"] == float(lines["C"])
