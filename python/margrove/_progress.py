"""Progress bars."""

import contextlib
import math
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any


class Bar:
    """A tqdm bar fed by progress reports; a new one for each stage of the work."""

    def __init__(self) -> None:
        try:
            from tqdm.auto import tqdm
        except ImportError as error:
            raise ImportError("progress=True needs the package tqdm: pip install tqdm") from error
        self._make = tqdm
        self._stage = ""
        self._bar: Any = None

    def __enter__(self) -> "Bar":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.close()

    def __call__(self, **report: Any) -> None:
        if self._bar is None or report["stage"] != self._stage:
            self.__exit__(None, None, None)
            self._stage = report["stage"]
            total = report["total"] or None
            self._bar = self._make(desc=self._stage, total=total, unit=f" {report['unit']}")
        self._bar.n = report["done"]
        if not math.isnan(report["relative_gap"]):
            self._bar.set_postfix(gap=f"{report['relative_gap']:.2e}", refresh=False)
        self._bar.refresh()


Progress = bool | Callable[..., object]


@contextlib.contextmanager
def receiver(progress: Progress) -> Iterator[Callable[..., object] | None]:
    """What gets the progress reports of an estimator with this parameter `progress`."""
    if callable(progress):
        yield progress
    elif progress:
        with Bar() as bar:
            yield bar
    else:
        yield None


class Keeping:
    """Calls a callback for progress reports. Where it fails, it answers False, which ends the
    training with the model so far, and keeps the error for raise_error()."""

    def __init__(self, callback: Callable[..., object] | None) -> None:
        self._callback = callback
        self._error: BaseException | None = None

    @property
    def callback(self) -> Callable[..., object] | None:
        """For the extension; None if there is nothing to call."""
        return None if self._callback is None else self._report

    def _report(self, **report: Any) -> object:
        assert self._callback is not None
        if self._error is not None:
            return False
        try:
            return self._callback(**report)
        except BaseException as error:
            self._error = error
            return False

    def raise_error(self) -> None:
        """Raises the error of the callback, if there was one."""
        if self._error is not None:
            raise self._error


@contextlib.contextmanager
def keeping(progress: Progress) -> Iterator[Keeping]:
    """As receiver(). An error of the callback before there is any model leaves the block."""
    with receiver(progress) as callback:
        kept = Keeping(callback)
        try:
            yield kept
        except TimeoutError:
            kept.raise_error()
            raise
