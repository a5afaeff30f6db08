#!/usr/bin/env python3
"""Writes docs/api.md: the Python package's reference, from its docstrings and signatures.

A test checks that the page is up to date.

usage: PYTHONPATH=build/python tools/make_api_reference.py
"""

import importlib.util
import inspect
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import margrove
import margrove.ray
from margrove import datasets, losses, metrics, shards, structured, vectors

FILE = Path(__file__).resolve().parent.parent / "docs/api.md"
HEAD = """# Python reference

Made by `tools/make_api_reference.py` from the docstrings; a test checks that it is up to date.
[python.md](python.md) has examples, [options.md](options.md) the options of the methods.
"""


def torch_layers() -> ModuleType:
    """margrove.torch without PyTorch, so that the page is the same wherever it is made."""
    Tensor = type("Tensor", (), {"__module__": "torch"})
    names = ("torch", "torch.nn", "torch.autograd", "torch.autograd.function")
    modules = {name: ModuleType(name) for name in names}
    vars(modules["torch"]).update(
        Tensor=Tensor, nn=modules["torch.nn"], autograd=modules["torch.autograd"],
        float16="half", bfloat16="bfloat16",
    )  # fmt: skip
    vars(modules["torch.nn"])["Module"] = object
    vars(modules["torch.autograd"])["Function"] = object
    vars(modules["torch.autograd.function"])["once_differentiable"] = lambda function: function
    spec = importlib.util.find_spec("margrove.torch")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with patch.dict(sys.modules, modules):
        spec.loader.exec_module(module)
    return module


def plain(text: str) -> str:
    """Addresses and environments must not show on the page."""
    return re.sub(r" at 0x[0-9a-f]+", "", text)


def body(thing: Any) -> str:
    """A docstring as Markdown: numpydoc's parameters become a list."""
    lines = (inspect.getdoc(thing) or "").splitlines()
    out: list[str] = []
    in_parameters = False
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if set(following) == {"-"}:
            in_parameters = True
            out += [f"{line}:", ""]
        elif line and set(line) == {"-"}:
            continue
        elif in_parameters and line and not line.startswith(" "):
            name, _, rest = line.partition(" : ")
            out.append(f"- `{name}`: {rest.replace('|', 'or')};")
        else:
            out.append(f"  {line.strip()}" if in_parameters and line else line)
    return "\n".join(out).strip()


def signature(name: str, thing: Any) -> str:
    """The call of a function or method."""
    text = plain(str(inspect.signature(thing)))
    return f"{name}{text}".replace("(self, ", "(").replace("(self)", "()").replace("'", "")


def members(cls: type, skip: set[str]) -> list[str]:
    """Methods and properties that the class's own module family documents."""
    parts = []
    for name, thing in sorted(inspect.getmembers(cls)):
        if name.startswith("_") or name in skip:
            continue
        static = inspect.getattr_static(cls, name)
        if isinstance(static, property):
            parts.append(f"#### `{name}`\n\n{body(static)}")
        elif callable(thing) and (getattr(thing, "__module__", "") or "").startswith("margrove"):
            head = signature(name, inspect.unwrap(thing))
            parts.append(f"#### `{head}`\n\n{body(thing)}")
    return parts


def page() -> str:
    """All of docs/api.md."""
    parts = [HEAD]
    base = margrove.Classifier
    shared = {name for name, _ in inspect.getmembers(base)}
    for name in margrove.__all__:
        thing = getattr(margrove, name)
        if name.startswith("_"):
            continue
        if not inspect.isclass(thing):
            parts.append(f"## `{signature(name, thing)}`\n\n{body(thing)}")
        elif thing is base:
            parts.append("\n\n".join([f"## `{name}`\n\n{body(thing)}", *members(thing, set())]))
        elif issubclass(thing, base):
            own = members(thing, shared)
            parts.append("\n\n".join([f"## `{name}`\n\n{body(thing)}", *own]))
        else:
            parts.append("\n\n".join([f"## `{name}`\n\n{body(thing)}", *members(thing, set())]))
    layers = torch_layers()
    for module in (metrics, datasets, structured, losses, layers, shards, margrove.ray, vectors):
        own_name = module.__name__.removeprefix("margrove.")
        parts.append(f"## `{module.__name__}`\n\n{body(module)}")
        for name in module.__all__:
            thing = getattr(module, name)
            head = name if inspect.isclass(thing) else signature(name, thing)
            parts.append(f"### `{own_name}.{head}`\n\n{body(thing)}")
            if module in (structured, layers, vectors):
                parts += members(thing, set())
    return "\n\n".join(part.strip() for part in parts) + "\n"


if __name__ == "__main__":
    FILE.write_text(page(), encoding="utf-8")
