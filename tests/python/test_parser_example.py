"""The dependency parser of examples/python/parser."""

import importlib
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install torch")
conllu = pytest.importorskip("conllu", reason="needs conllu: pip install conllu")

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "python" / "parser"
LOSSES = ("likelihood", "margin", "slack", "prob")
WORDS = {"DET": ["the", "a"], "ADJ": ["old", "red", "big"], "NOUN": ["dog", "cat", "house"],
         "VERB": ["sees", "likes"]}  # fmt: skip


def sentence(rng: random.Random) -> str:
    """The first noun is the verb's subject, the second its object; the others belong to nouns."""
    phrases = [["DET", *["ADJ"] * rng.randrange(3), "NOUN"] for _ in "so"]
    tags = [*phrases[0], "VERB", *phrases[1]]
    nouns = len(phrases[0]), len(tags)
    verb = nouns[0] + 1
    lines = []
    for k, tag in enumerate(tags, 1):
        head, relation = nouns[k > verb], {"DET": "det", "ADJ": "amod"}.get(tag)
        if k == verb:
            head, relation = 0, "root"
        elif k in nouns:
            head, relation = verb, "nsubj" if k < verb else "obj"
        form = rng.choice(WORDS[tag])
        lines.append(f"{k}\t{form}\t{form}\t{tag}\t_\t_\t{head}\t{relation}\t_\tgloss={k}")
    return "# text = of a test\n" + "\n".join(lines) + "\n\n"


@pytest.fixture(scope="module", name="files")
def write_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trees")
    rng = random.Random(3)
    for name, count in (("train", 80), ("dev", 20), ("test", 20)):
        text = "".join(sentence(rng) for _ in range(count))
        (folder / f"{name}.conllu").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(name="parser")
def import_parser(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module("parser")


def options(parser: Any, **own: Any) -> dict[str, Any]:
    small = {
        "width": 16,
        "batch": 100,
        "rate": 0.01,
        "epochs": 4,
        "dropout": 0.1,
    }
    return {name: default for name, (default, _) in parser.OPTIONS.items()} | small | own


def fitted(parser: Any, files: Path, **own: Any) -> tuple[Any, list[tuple[float, float, float]]]:
    train, dev = (parser.read(files / f"{name}.conllu") for name in ("train", "dev"))
    model = parser.Parser(options(parser, **own), parser.vocabulary(train))
    return model, list(model.fit(train, dev))


@pytest.mark.parametrize("loss", LOSSES)
def test_learns_a_simple_language_by_each_loss(parser: Any, files: Path, loss: str) -> None:
    model, epochs = fitted(parser, files, loss=loss)
    assert epochs[-1][0] < epochs[0][0]
    assert epochs[-1][2] >= 0.95
    test = parser.read(files / "test.conllu")
    uas, las = parser.attachment(model.parse(test), test)
    assert 1 >= uas >= las >= 0.95


def test_the_seed_decides_all_weights(parser: Any, files: Path) -> None:
    states = []
    for seed in (1, 1, 2):
        model, _ = fitted(parser, files, seed=seed, epochs=1)
        states.append(model.network.state_dict())
    same = [all(torch.equal(states[0][key], s[key]) for key in s) for s in states[1:]]
    assert same == [True, False]


@pytest.mark.parametrize(
    ("loss", "given", "first"), [("prob", -1, 2), ("prob", 1, 1), ("slack", 1, 1), ("slack", -1, 0)]
)
def test_margin_rescaling_has_the_first_epochs(
    parser: Any, files: Path, loss: str, given: int, first: int
) -> None:
    _, margin = fitted(parser, files, loss="margin")
    _, other = fitted(parser, files, loss=loss, margin_epochs=given)
    same = [a == b for a, b in zip(margin, other, strict=True)]
    assert same == [True] * first + [False] * (4 - first)


def test_the_later_rate_is_that_after_margin_rescaling(parser: Any, files: Path) -> None:
    runs = [fitted(parser, files, loss="prob", later_rate=rate)[1] for rate in (0.1, 1.0)]
    assert runs[0][:2] == runs[1][:2]
    assert runs[0][2] != runs[1][2]


def test_searches_know_their_last_maxima_and_their_bans(
    parser: Any, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    forward = parser.StructuredLoss.forward

    def noted(layer: Any, scores: Any, truth: Any, lengths: Any, keys: Any) -> Any:
        calls.append((layer.surrogate, layer.max_bans, keys))
        return forward(layer, scores, truth, lengths, keys)

    monkeypatch.setattr(parser.StructuredLoss, "forward", noted)
    fitted(parser, files, loss="prob", max_bans=3)
    for surrogate in ("margin", "prob"):
        keys = [k for name, max_bans, of_call in calls if (name, max_bans) == (surrogate, 3)
                for k in of_call]  # fmt: skip
        assert sorted(keys) == sorted(2 * list(range(80)))


def run(*arguments: Any, text: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(FOLDER / "parser.py"), *map(str, arguments)]
    environment = os.environ | {"HF_HUB_OFFLINE": "1"}
    return subprocess.run(
        command, capture_output=True, text=True, input=text, env=environment, check=False
    )


def test_commands_train_evaluate_and_parse(parser: Any, files: Path, tmp_path: Path) -> None:
    model = tmp_path / "model"
    small = ["--width", 16, "--batch", 100, "--rate", 0.01, "--epochs", 4, "--dropout", 0.3]
    told = run("train", model, files / "train.conllu", files / "dev.conllu", *small)
    assert told.stderr == ""
    assert told.stdout.count("LAS") == 4
    best = max(line.split("LAS ")[1] for line in told.stdout.splitlines())
    told = run("evaluate", model, files / "dev.conllu")
    assert told.stdout.endswith(f"LAS {best}\n")

    text = (files / "test.conllu").read_text(encoding="utf-8")
    bare = "".join(
        "\t".join([*cells[:6], "_", "_", *cells[8:]]) if len(cells) == 10 else line
        for line in text.splitlines(keepends=True)
        if (cells := line.split("\t"))
    )
    (tmp_path / "bare.conllu").write_text(bare, encoding="utf-8")
    parsed = run("parse", model, tmp_path / "bare.conllu").stdout
    (tmp_path / "parsed.conllu").write_text(parsed, encoding="utf-8")
    pairs = [[parser.read(folder / f"{name}.conllu") for folder, name in
              ((tmp_path, "parsed"), (files, "test"))]]  # fmt: skip
    assert parser.attachment(*pairs[0])[1] >= 0.95
    kept = [[line.split("\t")[:6] + line.split("\t")[8:] for line in each.splitlines()]
            for each in (parsed, text)]  # fmt: skip
    assert kept[0] == kept[1]  # all but the tree is as it was

    lines = run("parse", model, "-", text="the dog sees a cat\n\nthe cat likes the house\n").stdout
    assert lines.count("\tsees\t") == 1
    assert [len(tokens) for tokens in conllu.parse(lines)] == [5, 5]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "no sentences"),
        ("1\tdog\t_\t_\t_\t_\t_\t_\t_\t_\n\n", "sentence 1, dog: it has no tree"),
        ("1\tdog\t_\t_\t_\t_\t2\troot\t_\t_\n\n", "sentence 1, dog: it has no tree"),
        (
            "1\ta\t_\t_\t_\t_\t0\tx\t_\t_\n2\tb\t_\t_\t_\t_\t0\tx\t_\t_\n\n",
            "sentence 1, a b: it has no tree",
        ),
        (
            "1\ta\t_\t_\t_\t_\t0\tx\t_\t_\n2\tb\t_\t_\t_\t_\t3\tx\t_\t_\n"
            "3\tc\t_\t_\t_\t_\t2\tx\t_\t_\n\n",
            "sentence 1, a b c: it has no tree",
        ),
        ("1 dog\n\n", "Invalid line format"),
    ],
)
def test_a_file_without_trees_is_refused(tmp_path: Path, text: str, error: str) -> None:
    file = tmp_path / "bad.conllu"
    file.write_text(text, encoding="utf-8")
    told = run("train", tmp_path / "model", file, file)
    assert told.returncode == 1
    assert told.stderr.startswith(f"{file}: ")
    assert error in told.stderr
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--loss", "squared"], "surrogate is 'squared', but must be"),
        (["--margin-epochs", "8"], "8 of 8 epochs by margin rescaling"),
        (["--max-bans", "-1"], "max_bans is -1, but must be >= 0"),
        (["--vectors", "nowhere"], "vectors are nowhere: "),
        (["--margin-epochs", "-2"], "-2 of 8 epochs by margin rescaling"),
        (["--epochs", "0"], "epochs is 0, but must be finite and > 0"),
        (["--rate", "-1"], "rate is -1.0, but must be finite and > 0"),
        (["--rate", "inf"], "rate is inf, but must be finite and > 0"),
        ([], "No such file or directory"),
    ],
)
def test_errors_are_one_message(
    files: Path, tmp_path: Path, arguments: list[str], error: str
) -> None:
    names = [files / f"{name}.conllu" for name in ("train", "dev" if arguments else "no")]
    told = run("train", tmp_path / "model", *names, *arguments)
    assert told.returncode == 1
    assert told.stderr.startswith("parser.py: ")
    assert error in told.stderr


def test_wrong_models_are_errors_before_any_work(files: Path, tmp_path: Path) -> None:
    for text in ("margrove", ""):
        (tmp_path / "other").write_text(text, encoding="utf-8")
        told = run("parse", tmp_path / "other", files / "test.conllu")
        assert told.stderr == f"parser.py: {tmp_path / 'other'} is not a model of this parser\n"
    names = [files / f"{name}.conllu" for name in ("train", "dev")]
    told = run("train", tmp_path / "nowhere" / "model", *names, "--epochs", "1")
    assert "No such file or directory" in told.stderr
    assert told.stdout == ""


def test_contextual_vectors_are_means_over_pieces(parser: Any, files: Path, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers", reason="needs: pip install transformers")
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "a", "d", "##og", "c", "##at", "sees"]
    (tmp_path / "vocab.txt").write_text("\n".join(pieces), encoding="utf-8")
    transformers.BertTokenizerFast(str(tmp_path / "vocab.txt")).save_pretrained(tmp_path)
    torch.manual_seed(0)
    size = {"hidden_size": 8, "num_hidden_layers": 4, "num_attention_heads": 2}
    config = transformers.BertConfig(vocab_size=len(pieces), intermediate_size=8, **size)
    bert = transformers.BertModel(config).eval()
    bert.save_pretrained(tmp_path)

    sentences = parser.read(files / "test.conllu")[:3]
    given = importlib.import_module("sentences").of_words("the dog sees")
    found = parser.Transformer(str(tmp_path), parser.DEVICE).vectors([*sentences, given])
    assert [tuple(each.shape) for each in found] == [(len(s), 8) for s in [*sentences, given]]
    with torch.inference_mode():
        ids = torch.tensor([[2, 4, 6, 7, 10, 3]])
        states = torch.stack(bert(ids, output_hidden_states=True).hidden_states[-4:]).mean(0)[0]
    wanted = torch.stack([states[1], states[2:4].mean(0), states[4]])
    torch.testing.assert_close(found[-1].float(), wanted, atol=2e-3, rtol=1e-3)

    model, epochs = fitted(parser, files, vectors=str(tmp_path))
    assert epochs[-1][2] >= 0.95
    model.save(tmp_path / "model")
    test = parser.read(files / "test.conllu")
    both = [each.parse(test) for each in (model, parser.Parser.load(tmp_path / "model"))]
    assert [s.heads for s in both[0]] == [s.heads for s in both[1]]
