"""Vectors of texts on disk, so that each is computed once."""

import contextlib
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

FOLDER = "MARGROVE_VECTORS_CACHE"
MOST_BYTES = 1_000_000_000
SECONDS_FOR_A_LOCK = 5.0
_KEYS_AT_ONCE = 500


def cache_folder() -> Path | None:
    """Where caches lie; None if there are to be none."""
    given = os.environ.get(FOLDER)
    if given is not None:
        return Path(given) if given else None
    shared = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(shared):
        return Path(shared) / "margrove"
    with contextlib.suppress(RuntimeError):  # no home
        return Path.home() / ".cache" / "margrove"
    return None


class VectorCache:
    """The vectors of one encoder, by the SHA-256 of the text.

    Several processes may use a file at once. After an error of the file (a full or read-only disk,
    a damaged file) it is left alone: nothing is found any more, and nothing is stored.
    """

    def __init__(self, digest: str, width: int, folder: Path | None) -> None:
        self._bytes = 4 * width
        self._connection: sqlite3.Connection | None = None
        if folder is None:
            return
        with self._errors_end_it():
            folder.mkdir(parents=True, exist_ok=True)
            # An encoder's lock keeps it to one thread at a time.
            self._connection = sqlite3.connect(
                folder / f"{digest[:16]}.sqlite",
                timeout=SECONDS_FOR_A_LOCK,
                check_same_thread=False,
            )
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=NORMAL")
            with self._connection:
                self._connection.execute(
                    "CREATE TABLE IF NOT EXISTS vectors (key BLOB NOT NULL UNIQUE, "
                    "vector BLOB NOT NULL)"
                )

    def find(self, keys: Sequence[bytes]) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """The positions of the keys whose vectors are stored, and these vectors."""
        with self._errors_end_it():
            for start in range(0, len(keys), _KEYS_AT_ONCE):
                if self._connection is None:
                    break
                some = {key: start + k for k, key in enumerate(keys[start : start + _KEYS_AT_ONCE])}
                marks = ",".join("?" * len(some))
                for key, vector in self._connection.execute(
                    f"SELECT key, vector FROM vectors WHERE key IN ({marks})", list(some)
                ):
                    if not isinstance(vector, bytes) or len(vector) != self._bytes:
                        continue
                    values = np.frombuffer(vector, "<f4")
                    if np.isfinite(values).all():
                        yield some[key], values

    def store(self, vectors: Iterable[tuple[bytes, NDArray[np.float32]]]) -> None:
        """Stores vectors; the oldest go if there are too many."""
        if self._connection is None:
            return
        rows = [(key, vector.astype("<f4").tobytes()) for key, vector in vectors]
        if not rows:
            return
        with self._errors_end_it(), self._connection as connection:
            connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)
            while self._num_bytes(connection) > MOST_BYTES:
                first, last = connection.execute(
                    "SELECT min(rowid), max(rowid) FROM vectors"
                ).fetchone()
                if first is None:
                    break
                end = first + (last - first) // 10 + 1
                connection.execute("DELETE FROM vectors WHERE rowid < ?", (end,))

    @staticmethod
    def _num_bytes(connection: sqlite3.Connection) -> int:
        """Of the pages in use; those of deleted rows are used again."""
        of_pragma = ("page_count", "freelist_count", "page_size")
        pages, free, size = (
            int(connection.execute(f"PRAGMA {name}").fetchone()[0]) for name in of_pragma
        )
        return (pages - free) * size

    def close(self) -> None:
        """Closes the file."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(sqlite3.Error):
                connection.close()

    @contextlib.contextmanager
    def _errors_end_it(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError):
            self.close()
