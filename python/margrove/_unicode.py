"""Texts that are no Unicode: a str of Python may have half of a surrogate pair."""

from collections.abc import Iterable
from typing import Any


def is_unicode(text: str) -> bool:
    """Whether a text can be written in UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def first_fault(values: Iterable[Any]) -> int | None:
    """The position of the first text that is no Unicode; None if there is none."""
    return next(
        (k for k, value in enumerate(values) if isinstance(value, str) and not is_unicode(value)),
        None,
    )


def require_unicode(text: Any, place: str) -> None:
    """Raises ValueError for a text that is no Unicode; `place` says which."""
    if isinstance(text, str) and not is_unicode(text):
        raise ValueError(
            f"{place} is {text!r}, which has a lone surrogate, but must be a text of Unicode "
            "characters"
        )
