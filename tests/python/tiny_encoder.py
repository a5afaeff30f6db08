"""Small models of sentence vectors, of which tests can tell each vector."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

WORDS = ["[UNK]", "[CLS]", "[SEP]", "red", "blue", "shoe", "lamp", "bad"]
WIDTH = 4
INPUTS = ("input_ids",)
TABLE: NDArray[np.float32] = np.random.default_rng(3).normal(size=(8, WIDTH)).astype(np.float32)
TABLE[WORDS.index("bad")] = np.inf


def ids_of(text: str, special: bool = True) -> list[int]:
    """The tokens of a text."""
    ids = [WORDS.index(word) if word in WORDS else 0 for word in text.split()]
    return [1, *ids, 2] if special else ids


def write_tokenizer(file: Path, special: bool = True) -> None:
    """A tokenizer of words; special: each text gets [CLS] and [SEP]."""
    tokenizer = Tokenizer(WordLevel({word: k for k, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    if special:
        tokenizer.post_processor = TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
        )
    file.parent.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(file))


def write_onnx(
    file: Path,
    *,
    pooled: bool = False,
    inputs: tuple[str, ...] = INPUTS,
    table: NDArray[np.float32] = TABLE,
) -> None:
    """A network that gives each token its row of the table; pooled: each text the greatest."""
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["tokens"])]
    output, shape = "tokens", ["batch", "sequence", table.shape[1]]
    if pooled:
        nodes.append(helper.make_node("ReduceMax", ["tokens"], ["texts"], axes=[1], keepdims=0))
        output, shape = "texts", ["batch", table.shape[1]]
    graph = helper.make_graph(
        nodes,
        "tiny",
        [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "sequence"])
            for name in inputs
        ],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(table, "table")],
    )
    opset = helper.make_opsetid("", 17)
    file.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=8), str(file))


def write_settings(folder: Path, name: str, value: Any) -> None:
    """A file of JSON."""
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(json.dumps(value), encoding="utf-8")


def write_pooling(folder: Path, mode: str) -> None:
    """1_Pooling/config.json with one mode: mean_tokens, cls_token, max_tokens or another."""
    modes = ("cls_token", "mean_tokens", "max_tokens", "lasttoken")
    write_settings(folder, "1_Pooling/config.json", {f"pooling_mode_{m}": m == mode for m in modes})


def write_modules(folder: Path, *kinds: str) -> None:
    """modules.json with modules of these kinds."""
    modules = [
        {"path": "1_Pooling" if kind == "Pooling" else "", "type": f"package.models.{kind}"}
        for kind in kinds
    ]
    write_settings(folder, "modules.json", modules)


def write_encoder(folder: Path, **network: Any) -> Path:
    """A folder with a model; returns it."""
    write_onnx(folder / "model.onnx", **network)
    write_tokenizer(folder / "tokenizer.json")
    return folder
