"""The process that gives the program sentence vectors: its protocol and its end."""

import json
import os
import select
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import margrove
import numpy as np
import pytest
import tiny_encoder as tiny
from margrove import vectors
from margrove.vectors import TextEncoder
from numpy.typing import NDArray

TEXTS = ["red shoe", "blue", "", "red shoe", "größer"]
PLAIN = ["-m", "margrove.vectors"]
# With texts that take long, and reports that come soon.
SLOW = """
import sys, time
from margrove import vectors
plain = vectors._Network.vector
def vector(self, text):
    time.sleep(0.1)
    return plain(self, text)
vectors._Network.vector = vector
vectors.SECONDS_BETWEEN_REPORTS = 0.01
sys.exit(vectors.main())
"""
# With a library that prints, and without a package.
NOISY = """
import os, sys
from margrove import vectors
plain = vectors._Network.vector
def vector(self, text):
    print("noise", flush=True)
    os.write(1, b"noise")
    return plain(self, text)
vectors._Network.vector = vector
sys.exit(vectors.main())
"""
HIDDEN = """
import sys
from margrove import vectors
sys.modules["tokenizers"] = None
sys.exit(vectors.main())
"""
SECONDS_TO_HANG = 120


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model."""
    return tiny.write_encoder(tmp_path / "model")


def environment(cache: str = "") -> dict[str, str]:
    assert margrove.__file__ is not None
    package = str(Path(margrove.__file__).parents[1])
    return {**os.environ, "PYTHONPATH": package, "MARGROVE_VECTORS_CACHE": cache}


def run(*arguments: str, program: list[str] = PLAIN) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, *program, *arguments],
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=SECONDS_TO_HANG,
    )


class Server:
    """A process that serves, and the program's side of the pipes."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process = process
        self.requests = process.stdin
        self.replies = process.stdout
        self.about = json.loads(self.replies.readline())

    def ask(self, texts: list[bytes]) -> None:
        lengths_and_texts = b"".join(struct.pack("<I", len(text)) + text for text in texts)
        self.requests.write(struct.pack("<I", len(texts)) + lengths_and_texts)
        self.requests.flush()

    def number(self) -> int:
        return int(struct.unpack("<I", self.replies.read(4))[0])

    def answer(self, count: int) -> tuple[list[int], NDArray[np.float32] | str]:
        """The reports of a reply, and its vectors or its error."""
        reports = []
        while (kind := self.number()) == 1:
            reports.append(self.number())
        if kind == 2:
            return reports, self.replies.read(self.number()).decode()
        assert kind == 0
        rows = self.replies.read(4 * count * self.about["width"])
        return reports, np.frombuffer(rows, "<f4").reshape(count, self.about["width"])

    def end(self) -> int:
        """The exit code, once nothing more comes."""
        return self.process.wait(timeout=SECONDS_TO_HANG)


@contextmanager
def serving(folder: Path, *arguments: str, program: list[str] = PLAIN) -> Iterator[Server]:
    with subprocess.Popen(
        [sys.executable, *program, "serve", str(folder), *arguments],
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            yield Server(process)
        finally:
            process.kill()


def expected(folder: Path, texts: list[str]) -> NDArray[np.float32]:
    with TextEncoder(folder, cache=False) as encoder:
        return encoder.encode(texts)


def written(texts: list[str]) -> list[bytes]:
    return [text.encode() for text in texts]


def test_requests_are_answered_until_the_end_of_the_pipe(folder: Path) -> None:
    with serving(folder, "--threads", "2") as server:
        with TextEncoder(folder, cache=False) as encoder:
            assert server.about == {
                "name": str(folder),
                "digest": encoder.digest,
                "width": tiny.WIDTH,
                "version": 1,
            }
        for texts in (TEXTS, [], ["lamp"]):
            server.ask(written(texts))
            _, rows = server.answer(len(texts))
            np.testing.assert_array_equal(rows, expected(folder, texts))
        server.requests.close()
        assert server.end() == 0
        assert server.replies.read() == b""
        assert server.process.stderr is not None
        assert server.process.stderr.read() == b""


def test_errors_of_texts_are_replies(folder: Path) -> None:
    with serving(folder) as server:
        server.ask(written(["red", "bad"]))
        message = "text 2: the model gives a vector that is not finite"
        assert server.answer(2)[1] == message
        server.ask([b"red", b"red", b"\xff"])
        assert server.answer(3)[1] == "text 3: the text must be valid UTF-8"
        server.ask(written(TEXTS))
        np.testing.assert_array_equal(server.answer(5)[1], expected(folder, TEXTS))


def test_progress_is_reported(folder: Path) -> None:
    texts = [f"red {'lamp ' * k}" for k in range(20)]
    with serving(folder, "--threads", "2", program=["-c", SLOW]) as server:
        server.ask(written(texts))
        reports, rows = server.answer(20)
        np.testing.assert_array_equal(rows, expected(folder, texts))
    assert reports == sorted(reports)
    assert len(set(reports)) > 2
    assert max(reports) < 20


def test_what_libraries_print_is_not_in_the_replies(folder: Path) -> None:
    with serving(folder, program=["-c", NOISY]) as server:
        server.ask(written(TEXTS))
        np.testing.assert_array_equal(server.answer(5)[1], expected(folder, TEXTS))


@pytest.mark.parametrize("closed", ["requests", "replies"])
def test_it_ends_when_the_program_closes_a_pipe(folder: Path, closed: str) -> None:
    with serving(folder, program=["-c", SLOW]) as server:
        server.ask([b"red %d" % k for k in range(50_000)])
        assert server.number() == 1  # it is at work, which would take hours
        getattr(server, closed).close()
        assert server.end() == 0
        assert server.process.stderr is not None
        assert server.process.stderr.read() == b""


def test_it_ends_in_the_midst_of_a_request(folder: Path) -> None:
    with serving(folder) as server:
        server.requests.write(struct.pack("<2I", 2, 3) + b"re")
        server.requests.close()
        assert server.end() == 0
        assert server.replies.read() == b""


def test_it_ends_when_nobody_reads(folder: Path) -> None:
    with serving(folder) as server:
        server.replies.close()
        server.ask(written(["red"]))
        assert server.end() == 0
        assert server.process.stderr is not None
        assert server.process.stderr.read() == b""


def test_signals(folder: Path) -> None:
    with serving(folder) as server:
        server.process.send_signal(signal.SIGINT)
        server.ask(written(TEXTS))
        np.testing.assert_array_equal(server.answer(5)[1], expected(folder, TEXTS))
        server.process.send_signal(signal.SIGTERM)
        assert server.end() == -signal.SIGTERM


def test_it_ends_with_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    requests, to_requests = os.pipe()
    from_replies, replies = os.pipe()
    with os.fdopen(requests, "rb") as file:
        peer = vectors._Peer(file, replies)
        peer.report(3)
        assert os.read(from_replies, 100) == struct.pack("<2I", 1, 3)
        monkeypatch.setattr(os, "getppid", lambda: 1)
        with pytest.raises(vectors._GoneError):
            peer.report(4)
        assert not select.select([from_replies], [], [], 0)[0]
    for number in (to_requests, from_replies, replies):
        os.close(number)


def test_models_are_described(folder: Path) -> None:
    done = run("describe", str(folder))
    assert done.returncode == 0
    assert done.stderr == b""
    line = json.loads(done.stdout)
    assert (line["name"], line["width"], line["version"]) == (str(folder), tiny.WIDTH, 1)


@pytest.mark.parametrize("command", ["describe", "serve"])
def test_errors_of_models_are_one_line(command: str, folder: Path, tmp_path: Path) -> None:
    cases: list[tuple[Any, list[str], str]] = [
        (
            tmp_path / "none",
            PLAIN,
            "none is no folder, and MARGROVE_VECTORS_PATH has none of its name; a model of ",
        ),
        (folder, ["-c", HIDDEN], "vectors need the package tokenizers: pip install"),
    ]
    for model, program, message in cases:
        done = run(command, str(model), program=program)
        assert done.returncode == 2
        assert done.stderr == b""
        line = json.loads(done.stdout)
        assert list(line) == ["error"]
        assert message in line["error"]


def test_wrong_arguments(folder: Path) -> None:
    done = run("serve", str(folder), "--threads", "0")
    assert (done.returncode, done.stderr) == (2, b"")
    assert json.loads(done.stdout) == {"error": "threads is 0, but must be >= 1"}
    assert run("train", str(folder)).returncode == 2
