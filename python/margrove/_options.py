"""The options of a method as text, the form in which the library takes them."""

import contextlib
import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np


def option_text(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if value is None:
        return ""
    if isinstance(value, Mapping):
        return json.dumps(value)
    if isinstance(value, list | tuple) and value and isinstance(value[0], str):
        return ",".join(value)
    if isinstance(value, list | tuple | np.ndarray):
        return ",".join(f"{float(each):.17g}" for each in value)
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def option_value(text: str, default: Any) -> Any:
    if isinstance(default, bool):
        return text == "true"
    if isinstance(default, tuple):
        return tuple(float(each) for each in text.split(","))
    if default is None:
        return text or None
    if default == "auto":
        return {"true": True, "false": False}.get(text, _number_or_text(text))
    return type(default)(text)


def _number_or_text(text: str) -> float | str:
    for number in (int, float):
        with contextlib.suppress(ValueError):
            return number(text)
    return text
