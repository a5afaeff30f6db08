"""`margrove serve` from outside, on the loopback interface with a free port.

Needs only the standard library; MARGROVE names the program.
"""

# ruff: noqa: PT009 - unittest, so that it runs with nothing installed

import contextlib
import http.client
import json
import os
import pathlib
import re
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.parse
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[2]
MARGROVE = os.environ.get("MARGROVE", str(ROOT / "build" / "margrove"))
SANITIZED = bool(os.environ.get("MARGROVE_SANITIZED"))
ANIMALS = ROOT / "docs" / "examples" / "animals"
JSON_TYPE = {"Content-Type": "application/json"}
FORM_TYPE = {"Content-Type": "application/x-www-form-urlencoded"}
LINES_TYPE = {"Content-Type": "application/x-ndjson"}

RECORDS = [
    {"title": "red shoe", "price": 10, "colour": "red", "shelf": "clothes"},
    {"title": "blue shoe", "price": 12.5, "colour": "blue", "shelf": "clothes"},
    {"title": "green lamp", "price": 30, "colour": "green", "shelf": "light"},
    {"title": "white lamp", "price": 28, "colour": "white", "shelf": "light"},
]
NUMBERS = "a 1:1 2:0.25\na 1:0.9\nb 2:1 3:0.5\nb 2:0.8 3:1\n"


SUBJECTS = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix x: <http://example.org/> .
x:animals a skos:Concept ; skos:prefLabel "animals"@en , "eläimet"@fi .
x:cats a skos:Concept ; skos:prefLabel "cats"@en , "kissaeläimet"@fi ; skos:broader x:animals .
x:dogs a skos:Concept ; skos:prefLabel "dogs"@en , "koirat"@fi ; skos:broader x:animals .
x:plants a skos:Concept ; skos:prefLabel "plants"@en , "kasvit"@fi .
"""
PAGES = "".join(
    f"{text}\t{' '.join(f'<http://example.org/{name}>' for name in names.split())}\n"
    for text, names in [
        ("kissa kehrää & nukkuu", "cats"),
        ("kissa juo maitoa", "cats"),
        ("koira haukkuu", "dogs"),
        ("koira ja kissa", "cats dogs"),
        ("eläin syö", "animals"),
        ("puu kasvaa", "plants"),
        ("puu ja kukka", "plants"),
        ("kissa kiipeää puuhun", "cats plants"),
    ]
    * 3
)


def texts() -> list[str]:
    lines = (ANIMALS / "test.txt").read_text(encoding="utf-8").splitlines()
    return [line.split("\t", 1)[1] for line in lines]


class Server:
    """A running server. Unless arguments say so, no request ends by its time limit."""

    def __init__(self, *arguments: str, cwd: str) -> None:
        if "--request-seconds" not in arguments:
            arguments = ("--request-seconds", "10000", *arguments)
        self.process = subprocess.Popen(
            [MARGROVE, "serve", "--port", "0", *arguments],
            cwd=cwd,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        match = re.search(r"serving on http://\S+:(\d+)$", line.strip())
        if match is None:
            self.process.kill()
            raise AssertionError(f"no address in {line + self.process.communicate()[1]!r}")
        self.port = int(match[1])

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)

    def ask(
        self, method: str, target: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> tuple[int, Any]:
        """The status and the answer, parsed if it is JSON; objects are sent as JSON."""
        connection = self.connect()
        try:
            if headers is None and body is not None:
                headers = JSON_TYPE
            if body is not None and not isinstance(body, (str, bytes)):
                body = json.dumps(body)
            connection.request(method, target, body, headers or {})
            response = connection.getresponse()
            text = response.read().decode()
            if response.getheader("Content-Type") == "application/json":
                return response.status, json.loads(text) if text else None
            return response.status, text
        finally:
            connection.close()

    def raw(self, request: bytes) -> bytes:
        """All that the server answers to these bytes until it closes the connection."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=300) as connection:
            connection.sendall(request)
            answer = b""
            while part := connection.recv(65536):
                answer += part
            return answer

    def stop(self, with_signal: int = signal.SIGTERM) -> tuple[int, str]:
        """Ends the server; returns its exit code and the rest of its log."""
        if self.process.poll() is None:
            self.process.send_signal(with_signal)
        return self.wait()

    def wait(self) -> tuple[int, str]:
        """Waits for the end of a server that was told to stop: a second signal would kill it."""
        log = self.process.communicate(timeout=300)[1]
        return self.process.returncode, log


class ServeTest(unittest.TestCase):
    folder: tempfile.TemporaryDirectory[str]

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        path = pathlib.Path(cls.folder.name)
        records = "".join(json.dumps(record) + "\n" for record in RECORDS)
        (path / "shop.jsonl").write_text(records, encoding="utf-8")
        (path / "numbers.txt").write_text(NUMBERS, encoding="utf-8")
        hierarchy = str(ANIMALS / "hierarchy.txt")
        cls.program(
            *["train", "--method", "nhsvm", "--text", "--hierarchy", hierarchy, "--quiet"],
            *["--calibration", "0.2"],
            *[str(ANIMALS / "train.txt"), "animals.model"],
        )
        cls.program(
            *["train", "--method", "flat-svm", "--text-column", "title", "--quiet"],
            *["--numeric-columns", "price", "--categorical-columns", "colour"],
            *["--label-column", "shelf", "shop.jsonl", "shop.model"],
        )
        cls.program("train", "--method", "flat-lr", "--quiet", "numbers.txt", "numbers.model")

    @classmethod
    def program(cls, *arguments: str) -> str:
        done = subprocess.run(
            [MARGROVE, *arguments], cwd=cls.folder.name, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        return done.stdout

    def path(self, name: str) -> str:
        return os.path.join(self.folder.name, name)

    def serve(self, *arguments: str) -> Server:
        server = Server(*arguments, cwd=self.folder.name)
        self.addCleanup(server.stop, signal.SIGKILL)
        return server

    def without_time(self, line: str) -> str:
        """A line of the log without its time, which it must have."""
        match = re.fullmatch(r"margrove: [0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z (.*)", line)
        assert match is not None, line
        return match[1]

    def refused(self, *arguments: str, code: int) -> str:
        done = subprocess.run(
            [MARGROVE, "serve", *arguments],
            cwd=self.folder.name,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stderr


class Answers(ServeTest):
    """Answers equal those of `margrove predict`."""

    server: Server

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        models = ["animals.model", "shop=shop.model", "numbers.model"]
        cls.server = Server(*models, cwd=cls.folder.name)
        cls.addClassCleanup(cls.server.stop)

    def predict(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        status, answer = self.server.ask("POST", "/predict", body)
        self.assertEqual(status, 200, answer)
        return list(answer["predictions"])

    def refusal(self, body: Any, status: int = 400, target: str = "/predict") -> str:
        found, answer = self.server.ask("POST", target, body)
        self.assertEqual((found, list(answer)), (status, ["error"]), answer)
        return str(answer["error"])

    def test_texts_get_the_labels_of_predict(self) -> None:
        lines = self.program("predict", "--quiet", "animals.model", str(ANIMALS / "test.txt"))
        answers = self.predict({"rows": texts()})
        self.assertEqual([answer["labels"] for answer in answers], [[x] for x in lines.split()])
        self.assertEqual(answers[:1], self.predict({"row": texts()[0]}))
        self.assertEqual(answers[:1], self.predict({"row": {"text": texts()[0]}}))

    def test_scores_and_probabilities_have_the_digits_of_predict(self) -> None:
        for flags, options, key in (
            (["--top", "3", "--scores"], {"top": 3, "scores": True}, "scores"),
            (["--top=2", "--probabilities"], {"top": 2, "probabilities": True}, "probabilities"),
            (["--probabilities"], {"probabilities": True}, "probabilities"),
            (["--scores"], {"scores": True}, "scores"),
            (
                ["--min-confidence=0.4", "--probabilities"],
                {"min_confidence": 0.4, "probabilities": True},
                "probabilities",
            ),
        ):
            lines = self.program(
                "predict", "--quiet", *flags, "animals.model", str(ANIMALS / "test.txt")
            ).splitlines()
            for line, answer in zip(lines, self.predict({"rows": texts(), **options}), strict=True):
                pairs = [pair.rsplit(":", 1) for pair in line.split(" ")]
                self.assertEqual([label for label, _ in pairs], answer["labels"])
                self.assertEqual([float(number) for _, number in pairs], answer[key])

    def test_labels_are_shown_with_their_paths(self) -> None:
        flags = ["--paths", "--show", "path"]
        lines = self.program(
            "predict", "--quiet", *flags, "animals.model", str(ANIMALS / "test.txt")
        ).splitlines()
        answers = self.predict({"rows": texts(), "paths": True, "show": "path"})
        self.assertEqual([",".join(answer["labels"]) for answer in answers], lines)

    def test_records_get_the_labels_of_predict(self) -> None:
        lines = self.program("predict", "--quiet", "shop.model", "shop.jsonl").splitlines()
        answers = self.predict({"rows": RECORDS, "model": "shop"})
        self.assertEqual([answer["labels"] for answer in answers], [[x] for x in lines])
        unlabelled = [{k: v for k, v in record.items() if k != "shelf"} for record in RECORDS]
        self.assertEqual(self.predict({"rows": unlabelled, "model": "shop"}), answers)
        pretty = json.dumps({"model": "shop", "rows": RECORDS}, indent=2)
        status, answer = self.server.ask("POST", "/predict", pretty, JSON_TYPE)
        self.assertEqual((status, answer["predictions"]), (200, answers))

    def test_numbers_come_as_lines_or_as_features(self) -> None:
        flags = ["--probabilities", "--top", "2"]
        lines = self.program("predict", "--quiet", *flags, "numbers.model", "numbers.txt")
        options = {"model": "numbers", "top": 2, "probabilities": True}
        answers = self.predict({"rows": NUMBERS.splitlines(), **options})
        numbers = [number for answer in answers for number in answer["probabilities"]]
        self.assertEqual(numbers, [float(pair.split(":")[1]) for pair in lines.split()])
        bare = [line.split(" ", 1)[1] for line in NUMBERS.splitlines()]
        self.assertEqual(self.predict({"rows": bare, **options}), answers)
        features = [
            {"features": dict(reversed([pair.split(":") for pair in line.split()]))}
            for line in bare
        ]
        text = json.dumps({"rows": features, **options})
        text = re.sub(r'": "([0-9.]+)"', r'": \1', text)  # numbers as they stand in the file
        status, answer = self.server.ask("POST", "/predict", text, JSON_TYPE)
        self.assertEqual((status, answer["predictions"]), (200, answers))

    def test_explanation_is_that_of_explain(self) -> None:
        text = texts()[0]
        status, answer = self.server.ask("POST", "/explain", {"row": text, "features": 2})
        self.assertEqual(status, 200, answer)
        lines = self.program(
            *["explain", "--quiet", "--row", "1", "--features", "2", "animals.model"],
            str(ANIMALS / "test.txt"),
        ).splitlines()
        (explained,) = answer["explanations"]
        self.assertEqual([explained["label"]], answer["labels"])
        self.assertEqual(lines[1], f"label {explained['label']}: score {explained['score']:.6g}")
        total = sum(node["score"] for node in explained["nodes"])
        self.assertAlmostEqual(total, explained["score"], places=5)
        for node in explained["nodes"]:
            self.assertIn(f"  {node['label']}: {node['score']:+.6g}", lines)
            self.assertLessEqual(len(node["strongest"]), 2)
        inner = {"row": text, "label": "animal"}
        status, answer = self.server.ask("POST", "/explain", inner)
        self.assertEqual(status, 400)
        self.assertIn("'animal', which has no score, because the model never", answer["error"])
        status, answer = self.server.ask("POST", "/explain", {"row": text, "label": "whale"})
        self.assertEqual(answer["explanations"][0]["label"], "whale")

    def test_stream_answers_lines_in_order(self) -> None:
        rows = texts() * 50
        expected = self.predict({"rows": rows, "top": 2, "scores": True})
        body = "\n".join(json.dumps(row) for row in rows)
        status, answer = self.server.ask(
            "POST", "/predict?top=2&scores=true&model=animals", body, LINES_TYPE
        )
        self.assertEqual(status, 200, answer)
        self.assertEqual([json.loads(line) for line in answer.splitlines()], expected)

    def test_stream_answers_each_part_before_the_next_one(self) -> None:
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=300) as connection:
            connection.sendall(
                b"POST /predict HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
                b"Content-Type: application/jsonl\r\n\r\n"
            )
            seen = b""
            for k, text in enumerate(texts()[:3], start=1):
                line = (json.dumps(text) + "\n").encode()
                connection.sendall(b"%x\r\n%s\r\n" % (len(line), line))
                while seen.count(b'"labels"') < k:
                    seen += connection.recv(65536)
            connection.sendall(b"0\r\n\r\n")
            while not seen.endswith(b"0\r\n\r\n"):
                seen += connection.recv(65536)

    def test_wrong_line_of_a_stream_is_named_after_the_answers_before_it(self) -> None:
        lines = [json.dumps(row) for row in (texts() * 30)[:100]]
        lines[70] = '{"text": 1}'
        lines.insert(10, "")
        status, answer = self.server.ask("POST", "/predict", "\n".join(lines), LINES_TYPE)
        self.assertEqual(status, 200)
        found = [json.loads(line) for line in answer.splitlines()]
        self.assertEqual(len(found), 71)
        self.assertTrue(found[-1]["error"].startswith("line:72: the row is not a text"), found[-1])
        record = json.dumps({**RECORDS[0], "price": "cheap"})
        status, answer = self.server.ask("POST", "/predict?model=shop", record, LINES_TYPE)
        self.assertEqual(status, 400)
        self.assertRegex(json.loads(json.dumps(answer))["error"], "^line:1:[0-9]+: .*price.*cheap")
        many = "\n".join([json.dumps(RECORDS[0])] * 90 + [record])
        status, answer = self.server.ask("POST", "/predict?model=shop", many, LINES_TYPE)
        self.assertRegex(json.loads(answer.splitlines()[-1])["error"], "^line:91:[0-9]+: .*cheap")

    def test_wrong_bodies_are_refused_with_their_place(self) -> None:
        for body, message in (
            ("", "body:1:1: the body is not JSON"),
            ("{", "body:1:2: the body is not JSON"),
            ('{"rows": ["a"],\n "top": }', "body:2:9: the body is not JSON"),
            ("[1]", "body:1:1: the body is a list"),
            ("1", "body:1:1: the body is a single value"),
            ('{"rows": [1]}', "body:1:11: an element of 'rows' is a single value"),
            ('{"rows": "a"}', "body:1:10: key 'rows' is a single value"),
            ('{"row": ["a"]}', "row:1: the row is not a text"),
            ('{"row": null}', "body:1:9: key 'row' is null"),
            ('{"rows": []}', "body: 'rows' is empty"),
            ('{"top": 1}', "body: it has neither 'row' nor 'rows'"),
            ('{"row": "a", "rows": ["b"]}', "body:1:14: key 'rows' is given beside"),
            ('{"row": "a", "top": 1, "top": 2}', "body:1:24: key 'top' is given twice"),
            ('{"row": "a", "top": {}}', "body:1:21: key 'top' is an object"),
            ('{"row": "a", "top": 0}', "option top is 0, but must be >= 1"),
            ('{"row": "a", "top": 1.5}', "option top is '1.5'"),
            ('{"row": "a", "tip": 1}', "unknown option tip; known: top"),
            ('{"row": "a", "scores": "maybe"}', "option scores is 'maybe'"),
            ('{"row": "a", "scores": true, "probabilities": true}', "options scores and"),
            ('{"row": "a", "top": 2, "min_confidence": 0.5}', "options top and min_confidence"),
            ('{"row": "a", "scores": true, "paths": true}', "options scores and paths are both"),
            ('{"row": "a", "show": "all"}', "option show is 'all'"),
            (
                '{"row": {"title": "a"}, "model": "shop", "min_confidence": 0.5}',
                "probabilities: a model of method flat-svm gives none: train it with calibration",
            ),
            ('{"row": {"texts": "a"}}', "row:1: the row has other keys"),
            ('{"rows": ["a", {"text": 3}]}', "row:2: the row is not a text"),
            ('{"rows": ["a", "b\\u0000c"]}', "row:2:2: the text has a NUL byte"),
            ('{"row": 1, "model": "numbers"}', "body:1:9: key 'row' is a single value"),
            ('{"rows": ["x", "y"], "model": "numbers"}', "row:1:1: the row has no index:value"),
            ('{"rows": ["1:1", "a 1:x"], "model": "numbers"}', "row:2:5: value of feature 1"),
            ('{"rows": ["2 3 1", "1:1"], "model": "numbers"}', "row:1:1: the header says"),
            ('{"row": {"features": {"0": 1}}, "model": "numbers"}', "row:1: index is '0'"),
            ('{"row": {"features": {"1": "x"}}, "model": "numbers"}', "row:1: the value of feat"),
            ('{"row": {"features": {"1": 1e99}}, "model": "numbers"}', "row:1:"),
            ('{"row": {"feature": {}}, "model": "numbers"}', "row:1: key is 'feature'"),
            ('{"row": {"title": 1, "price": "x"}, "model": "shop"}', "row:1:"),
            ('{"row": {"titel": "a"}, "model": "shop"}', "row:1:1: the record has none"),
            ('{"rows": [{"title": "a"}, {}], "model": "shop"}', "row:2:1: the record has none"),
            ('{"row": "red shoe", "model": "shop"}', "row:1: the row is not an object"),
            ('{"row": ' + '{"a":' * 70 + "1" + "}" * 71, "body:1:"),
        ):
            with self.subTest(body=body[:60]):
                status, answer = self.server.ask("POST", "/predict", body, JSON_TYPE)
                self.assertEqual(status, 400, answer)
                self.assertTrue(answer["error"].startswith(message), answer)
        self.assertIn("label", self.refusal({"row": "a", "label": "unicorn"}, target="/explain"))
        many = self.refusal({"row": "a", "features": 1001}, target="/explain")
        self.assertIn("option features is 1001, but must be in [0, 1000]", many)
        self.assertIn("only one", self.refusal({"rows": ["a", "b"]}, target="/explain"))
        self.assertIn("numbers", self.refusal({"row": "a", "model": "no"}, status=404))
        status, answer = self.server.ask("POST", "/predict?top=%zz", {"row": "a"})
        self.assertEqual(status, 400, answer)
        status, answer = self.server.ask("POST", "/predict?top=1", {"row": "a", "top": 1})
        self.assertIn("top", answer["error"])

    def test_routes_and_methods(self) -> None:
        self.assertEqual(self.server.ask("GET", "/nothing")[0], 404)
        connection = self.server.connect()
        connection.request("GET", "/predict")
        response = connection.getresponse()
        self.assertEqual((response.status, response.getheader("Allow")), (405, "POST"))
        self.assertIn("error", json.loads(response.read()))
        for method in ("POST", "PUT", "DELETE", "BREW"):
            self.assertEqual(self.server.ask(method, "/healthz")[0], 405)
        connection.request("HEAD", "/healthz")
        response = connection.getresponse()
        self.assertEqual((response.status, response.read()), (200, b""))
        self.assertGreater(int(response.getheader("Content-Length", "0")), 10)
        connection.request("GET", "/healthz")  # over the same connection
        self.assertEqual(json.loads(connection.getresponse().read())["status"], "ok")
        connection.close()
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        self.assertEqual(self.server.ask("POST", "/predict", '{"row": "a"}', form)[0], 415)
        packed = {**JSON_TYPE, "Content-Encoding": "gzip"}
        self.assertEqual(self.server.ask("POST", "/predict", '{"row": "a"}', packed)[0], 415)
        self.assertEqual(self.server.ask("GET", "/healthz?x=1")[0], 400)

    def test_what_is_not_http_is_refused(self) -> None:
        answer = self.server.raw(b"hello\r\n\r\n")
        self.assertTrue(answer.startswith(b"HTTP/1.1 400"), answer)
        head = b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 20000 + b"\r\n\r\n"
        self.assertTrue(self.server.raw(head).startswith(b"HTTP/1.1 431"))
        broken = (
            b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Transfer-Encoding: chunked\r\n\r\nzz\r\n"
        )
        self.assertTrue(self.server.raw(broken).startswith(b"HTTP/1.1 400"))

    def test_model_and_health(self) -> None:
        status, answer = self.server.ask("GET", "/model?model=shop")
        self.assertEqual((status, answer["rows"], answer["method"]), (200, "records", "flat-svm"))
        self.assertEqual(answer["models"], ["animals", "shop", "numbers"])
        info = self.program("info", "shop.model")
        for fact in answer["facts"]:
            self.assertIn(fact["name"], info)
        self.assertEqual(self.server.ask("GET", "/model")[1]["rows"], "texts")
        self.assertEqual(self.server.ask("GET", "/model?model=other")[0], 404)
        status, answer = self.server.ask("GET", "/healthz")
        self.assertEqual(answer, {"status": "ok", "models": ["animals", "shop", "numbers"]})

    def test_metrics_count_requests_and_rows(self) -> None:
        def counts() -> dict[str, float]:
            status, text = self.server.ask("GET", "/metrics")
            self.assertEqual(status, 200)
            found = {}
            for line in text.splitlines():
                if not line.startswith("#"):
                    match = re.fullmatch(r'([a-z_]+(?:\{(?:[a-z]+="[^"]*",?)+\})?) (\S+)', line)
                    assert match is not None, line
                    found[match[1]] = float(match[2])
            return found

        before = counts()
        self.predict({"rows": texts()})
        self.refusal("{")
        after = counts()
        rows = 'margrove_rows_total{model="animals"}'
        self.assertEqual(after[rows] - before.get(rows, 0), len(texts()))
        wrong = 'margrove_requests_total{path="/predict",code="400"}'
        self.assertEqual(after[wrong] - before.get(wrong, 0), 1)
        total = 'margrove_request_seconds_count{path="/predict"}'
        self.assertEqual(after[total] - before.get(total, 0), 2)
        self.assertEqual(
            after['margrove_request_seconds_bucket{path="/predict",le="+Inf"}'], after[total]
        )


class Suggestions(ServeTest):
    """What the backend `http` of Annif sends and reads."""

    server: Server

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        path = pathlib.Path(cls.folder.name)
        (path / "subjects.ttl").write_text(SUBJECTS, encoding="utf-8")
        (path / "pages.tsv").write_text(PAGES, encoding="utf-8")
        for method, name in (("flat-lr", "subjects"), ("kernel-ridge", "ridge")):
            cls.program(
                *["train", "--text", "--method", method, "--quiet", "--language", "fi"],
                *["--hierarchy", "subjects.ttl", "pages.tsv", f"{name}.model"],
            )
        many = "".join(f"label{k}\tword{k}\n" * 2 for k in range(12))
        (path / "many.txt").write_text(many, encoding="utf-8")
        cls.program("train", "--text", "--method", "flat-lr", "--quiet", "many.txt", "many.model")
        models = ["subjects.model", "animals.model", "ridge.model", "shop.model", "many.model"]
        cls.server = Server(*models, cwd=cls.folder.name)
        cls.addClassCleanup(cls.server.stop)

    def suggest(self, target: str = "/model/suggest", **fields: Any) -> list[dict[str, Any]]:
        """The results for a form, encoded as the library of Annif encodes it."""
        form = urllib.parse.urlencode(fields)
        status, answer = self.server.ask("POST", target, form, FORM_TYPE)
        self.assertEqual((status, list(answer)), (200, ["results"]), answer)
        scores = [result["score"] for result in answer["results"]]
        self.assertEqual(scores, sorted(scores, reverse=True))
        self.assertTrue(all(0 < score <= 1 for score in scores), scores)
        return list(answer["results"])

    def refusal(self, form: str, status: int, query: str = "") -> str:
        found, answer = self.server.ask("POST", "/model/suggest" + query, form, FORM_TYPE)
        self.assertEqual((found, list(answer)), (status, ["error"]), answer)
        return str(answer["error"])

    def test_labels_have_the_probabilities_of_predict(self) -> None:
        row = "kissa & koira, 100 % kehrää"
        for model, label_names in (("subjects", True), ("animals", False)):
            asked = {"row": row, "model": model, "top": 10, "probabilities": True}
            (predicted,) = self.server.ask("POST", "/predict", asked)[1]["predictions"]
            results = self.suggest(text=row, project=model)
            pairs = [(result["uri"], result["score"]) for result in results]
            expected = zip(predicted["labels"], predicted["probabilities"], strict=True)
            self.assertEqual(pairs, list(expected))
            self.assertEqual(all("label" in result for result in results), label_names)
            self.assertEqual(self.suggest(f"/model/suggest?model={model}", text=row), results)
        self.assertEqual(self.suggest(text=row), self.suggest(text=row, project="subjects"))
        (best,) = self.suggest(text="kissa kehrää", limit=1)
        self.assertEqual(best["uri"], "http://example.org/cats")
        self.assertEqual(best["label"], "kissaeläimet")

    def test_an_ancestor_comes_before_what_it_is_ranked_below(self) -> None:
        asked = {"row": "kissa", "model": "ridge", "top": 10, "show": "name"}
        (predicted,) = self.server.ask("POST", "/predict", asked)[1]["predictions"]
        suggested = [each["label"] for each in self.suggest(text="kissa", project="ridge")]
        self.assertEqual(set(suggested), set(predicted["labels"]))
        self.assertLess(suggested.index("eläimet"), suggested.index("kissaeläimet"))
        self.assertGreater(
            predicted["labels"].index("eläimet"), predicted["labels"].index("kissaeläimet")
        )

    def test_forms_are_decoded(self) -> None:
        plain = self.suggest(text="kissa kehrää")
        for form in (
            "text=kissa+kehr%C3%A4%c3%a4",
            "text=kissa%20kehr\u00e4\u00e4",
            "&&language=fi&metadata_title=a%26b&text=%6bissa+kehr%C3%A4%C3%A4&threshold",
        ):
            answer = self.server.ask("POST", "/model/suggest", form.encode(), FORM_TYPE)
            self.assertEqual(answer, (200, {"results": plain}), form)
        utf8 = {"Content-Type": "application/x-www-form-urlencoded; charset=UTF-8"}
        answer = self.server.ask("POST", "/model/suggest", "text=kissa+kehr%C3%A4%C3%A4", utf8)
        self.assertEqual(answer, (200, {"results": plain}))
        self.assertNotEqual(self.suggest(text="kissa"), plain)
        # A text without a known term has the probabilities of no term, as in /predict.
        self.assertEqual(self.suggest(text=""), self.suggest(text="\x0c\U0001f408"))
        self.assertEqual(len(self.suggest(text="")), 4)

    def test_there_are_at_most_limit_labels(self) -> None:
        whole = self.suggest(text="kissa", limit=100)
        self.assertEqual(len(whole), 4)
        self.assertEqual(self.suggest(text="kissa", limit=2), whole[:2])
        self.assertEqual(self.suggest("/model/suggest?limit=3", text="kissa"), whole[:3])
        many = self.suggest(text="word3", project="many")
        self.assertEqual(many, self.suggest(text="word3", project="many", limit=12)[:10])
        self.assertEqual((len(many), many[0]["uri"]), (10, "label3"))

    def test_inner_nodes_are_suggested_where_labels_below_them_are_unsure(self) -> None:
        animals = "http://example.org/animals"
        row = "nukkuu haukkuu"
        plain = self.suggest(text=row)
        asked = {"row": row, "model": "subjects", "probabilities": True, "min_confidence": 0.4}
        (lowest,) = self.server.ask("POST", "/predict", asked)[1]["predictions"]
        self.assertEqual(lowest["labels"], [animals])
        found = self.suggest(text=row, min_confidence=0.4)
        (inner,) = (each for each in found if each["uri"] == animals)
        self.assertEqual([inner["score"]], lowest["probabilities"])
        self.assertEqual(
            [each for each in found if each["uri"] != animals],
            [each for each in plain if each["uri"] != animals],
        )
        self.assertEqual(self.suggest(text=row, min_confidence=0.4, limit=1), found[:1])
        # No node has so much, or a leaf has as much.
        self.assertEqual(self.suggest(text=row, min_confidence=1), plain)
        self.assertEqual(self.suggest(text="puu", min_confidence=0.01), self.suggest(text="puu"))

    def test_wrong_forms_are_refused(self) -> None:
        message = "body: it has no field 'text', but must have one"
        for form in ("", "limit=3", "Text=a", "=a"):
            self.assertEqual(self.refusal(form, 400), message)
        for form, query, part in (
            ("text=a&limit=0", "", "limit is 0"),
            ("text=a&limit=ten", "", "limit is 'ten'"),
            ("text=a&min_confidence=2", "", "min_confidence is 2"),
            ("text=a&limit=3", "?limit=3", "option limit is given twice"),
            ("text=a&text=a", "", "field 'text' is given twice"),
            ("text=a", "?top=3", "top"),
            ("text=%e4", "", "is not UTF-8"),
            ("text=%00", "", "row:1:1: the text has a NUL byte"),
            ("text=100%", "", "'%' is not a percent sign and two hexadecimal digits"),
            ("text=a&project=shop", "", "model shop takes records, but /model/suggest has texts"),
        ):
            with self.subTest(form=form):
                self.assertIn(part, self.refusal(form, 400, query))
        self.assertIn("model is 'none'", self.refusal("text=a&project=none", 404))
        status, answer = self.server.ask("POST", "/model/suggest", {"text": "a"})
        self.assertEqual(status, 415, answer)
        status, answer = self.server.ask("POST", "/predict", "text=a", FORM_TYPE)
        self.assertEqual(status, 415, answer)
        self.assertEqual(self.server.ask("GET", "/model/suggest")[0], 405)

    def test_models_without_probabilities_say_how_to_get_them(self) -> None:
        self.program(
            *["train", "--text", "--method", "flat-svm", "--quiet", "--hierarchy", "subjects.ttl"],
            *["pages.tsv", "margins.model"],
        )
        server = self.serve("margins.model")
        status, answer = server.ask("POST", "/model/suggest", "text=a", FORM_TYPE)
        self.assertEqual(status, 400, answer)
        self.assertIn("method flat-svm gives none: train it with calibration", answer["error"])

    def test_the_endpoint_without_suggest_says_that_the_model_is_trained(self) -> None:
        for query, name in (("", "subjects"), ("?model=animals", "animals")):
            endpoint = "/model/suggest" + query
            status, answer = self.server.ask("GET", endpoint.replace("/suggest", ""))
            self.assertEqual((status, answer["model"], answer["is_trained"]), (200, name, True))
            written = os.stat(self.path(f"{name}.model")).st_mtime
            expected = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(written))
            self.assertEqual(answer["modification_time"], expected)

    def test_token_limits_and_counts_are_those_of_predict(self) -> None:
        token = "0123456789abcdef"
        pathlib.Path(self.path("token")).write_text(token + "\n", encoding="utf-8")
        server = self.serve("--token-file", "token", "--max-body-mb", "0.001", "subjects.model")
        form = "text=" + "a" * 900
        self.assertEqual(server.ask("POST", "/model/suggest", form, FORM_TYPE)[0], 401)
        headers = FORM_TYPE | {"Authorization": f"Bearer {token}"}
        self.assertEqual(server.ask("POST", "/model/suggest", form, headers)[0], 200)
        self.assertEqual(server.ask("POST", "/model/suggest", form + "a" * 100, headers)[0], 413)
        self.assertEqual(server.ask("POST", "/model/suggest", "limit=1", headers)[0], 400)
        counts = server.ask("GET", "/metrics", headers=headers)[1]
        self.assertIn('margrove_requests_total{path="/model/suggest",code="200"} 1\n', counts)
        self.assertIn('margrove_requests_total{path="/model/suggest",code="400"} 1\n', counts)
        self.assertIn('margrove_rows_total{model="subjects"} 1\n', counts)


def fits(  # noqa: PLR0911 - a return for each reason
    value: Any, schema: dict[str, Any], root: dict[str, Any]
) -> str:
    """Why a value does not fit a schema; empty if it does. The words of openapi.json only."""
    if "$ref" in schema:
        return fits(value, root["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]], root)
    if "const" in schema and value != schema["const"]:
        return f"{value!r} is not {schema['const']!r}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{value!r} is not one of {schema['enum']}"
    python_types: dict[str, Any] = {
        "string": str, "object": dict, "array": list, "boolean": bool, "integer": int,
        "number": (int, float), "null": type(None),
    }  # fmt: skip
    if "type" in schema:
        names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        if not any(isinstance(value, python_types[name]) for name in names):
            return f"{value!r} is no {names}"
    if isinstance(value, dict) and "properties" in schema:
        missing = set(schema.get("required", [])) - set(value)
        unknown = set(value) - set(schema["properties"])
        if missing or unknown:
            return f"missing {missing}, unknown {unknown}"
        reasons = [fits(value[key], schema["properties"][key], root) for key in value]
        return next((reason for reason in reasons if reason), "")
    if isinstance(value, list) and "items" in schema:
        reasons = [fits(item, schema["items"], root) for item in value]
        return next((reason for reason in reasons if reason), "")
    return ""


class Description(ServeTest):
    """Every route and every field of openapi.json exists, and there are no others."""

    def test_description_is_true(self) -> None:
        server = self.serve("animals.model", "numbers.model")
        root = server.ask("GET", "/openapi.json")[1]
        self.assertEqual(root["openapi"], "3.1.0")
        unknown = server.ask("GET", "/nothing")[1]["error"]
        self.assertEqual(set(root["paths"]), set(unknown.split(": ", 1)[1].split(", ")))
        bodies: dict[str, Any] = {"/predict": {"row": "a cat"}, "/explain": {"row": "a cat"}}
        bodies["/reload"] = {}
        bodies["/model/suggest"] = "text=a+cat"
        seen: set[str] = set()
        for path, methods in root["paths"].items():
            ((method, operation),) = methods.items()
            with self.subTest(path=path):
                headers = FORM_TYPE if path == "/model/suggest" else None
                status, answer = server.ask(method.upper(), path, bodies.get(path), headers)
                self.assertEqual(status, 200, answer)
                ((_, content),) = [
                    each
                    for each in operation["responses"]["200"]["content"].items()
                    if each[0] != "application/x-ndjson"
                ]
                self.assertEqual(fits(answer, content["schema"], root), "")
                seen |= self.keys(answer)
                self.check_options(server, method, path, operation, bodies.get(path), headers)
                failed = server.ask(method.upper(), path + "?nothing=1", bodies.get(path), headers)
                self.assertEqual(failed[0], 400)
                schema = operation["responses"]["400"]["content"]["application/json"]["schema"]
                self.assertEqual(fits(failed[1], schema, root), "")
        for options in ({"scores": True}, {"probabilities": True}):
            answer = server.ask("POST", "/predict", {"row": "a cat", **options})[1]
            self.assertEqual(fits(answer, {"$ref": "#/Predictions"}, root), "")
            seen |= self.keys(answer)
        for name in ("Predictions", "Prediction", "Explanations", "Model", "Health", "Suggestions"):
            self.assertLessEqual(set(root["components"]["schemas"][name]["properties"]), seen)

    def test_options_are_those_of_the_program(self) -> None:
        """By name, range and help: one table declares them."""
        root = self.serve("animals.model").ask("GET", "/openapi.json")[1]
        page = self.program("train", "--options-reference")
        for verb in ("predict", "explain"):
            shown = " ".join(self.program(verb, "--help").split())
            (section,) = re.findall(rf"(?ms)^## [^\n]*`{verb}`[^\n]*\n(.*?)(?=^## |\Z)", page)
            options = {
                parameter["name"]: parameter
                for parameter in root["paths"][f"/{verb}"]["post"]["parameters"]
                if parameter["name"] != "model"
            }
            names = {name.replace("_", "-") for name in options}
            self.assertEqual(names, set(re.findall(r"(?m)^\| `--([^`]*)` ", section)))
            for name, option in options.items():
                start = rf"--{name.replace('_', '-')}( [A-Z]+)? "
                self.assertRegex(shown, start + re.escape(option["description"]))
                for choice in option["schema"].get("enum", []):
                    self.assertRegex(section, rf"`--{name}` \|.*\b{choice}\b")

    def keys(self, value: Any) -> set[str]:
        if isinstance(value, list):
            return set().union(*(self.keys(item) for item in value)) if value else set()
        if isinstance(value, dict):
            return set(value).union(*(self.keys(item) for item in value.values()))
        return set()

    def check_options(
        self,
        server: Server,
        method: str,
        path: str,
        operation: dict[str, Any],
        body: Any,
        headers: dict[str, str] | None,
    ) -> None:
        """Each option is accepted in the query, and refused with a value out of its schema."""
        right = {"model": "animals", "label": "whale", "show": "name", "min_confidence": "0.5"}
        for parameter in operation.get("parameters", []):
            name, schema = parameter["name"], parameter["schema"]
            value = right.get(name, "true" if schema.get("type") == "boolean" else "2")

            def status(text: Any, name: str = name) -> int:
                return server.ask(method.upper(), f"{path}?{name}={text}", body, headers)[0]

            self.assertEqual(status(value), 200)
            wrong = {"boolean": "2.5", "integer": "x", "number": "x"}.get(schema["type"])
            wrong = "nothing" if "enum" in schema or name in ("model", "label") else wrong
            self.assertIn(status(wrong), (400, 404))
            if "minimum" in schema:
                self.assertEqual(status(schema["minimum"] - 1), 400)


class Heads(ServeTest):
    """Heads that a proxy may read otherwise than the server."""

    server: Server

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.server = Server("animals.model", cwd=cls.folder.name)
        cls.addClassCleanup(cls.server.stop)

    def statuses(self, request: bytes) -> list[int]:
        return [int(x) for x in re.findall(rb"HTTP/1\.[01] (\d+) ", self.server.raw(request))]

    def test_no_body_is_read_as_the_next_request(self) -> None:
        begin = b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        hidden = b"GET /model HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        chunk = b"d\r\n" + b'{"row":"dog"}' + b"\r\n0\r\n\r\n"
        for headers, status in (
            (b"Transfer-Encoding: xchunked", 400),
            (b"Transfer-Encoding: identity", 400),
            (b"Transfer-Encoding: gzip", 400),
            (b"Transfer-Encoding: chunked, chunked", 400),
            (b"Transfer-Encoding: chunked, identity", 400),
            (b"Transfer-Encoding:", 400),
            (b"Transfer-Encoding: ,", 400),
            (b"Transfer-Encoding: , chunked", 400),
            (b"Transfer-Encoding: chunked;x=1", 400),
            (b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", 400),
            (b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", 400),
            (b"Transfer-Encoding: gzip, chunked", 501),
            (b"Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked", 501),
            (b"Content-Length: 13\r\nTransfer-Encoding: chunked", 400),
            (b"Transfer-Encoding: chunked\r\nContent-Length: 13", 400),
            (b"Content-Length: 13\r\nTransfer-Encoding: identity", 400),
            (b"Content-Length: 13\r\nContent-Length: 14", 400),
            (b"Content-Length: 13, 14", 400),
            (b"Content-Length: +13", 400),
            (b"Content-Length: -1", 400),
            (b"Content-Length: 1 3", 400),
            (b"Content-Length: 0x0d", 400),
            (b"Content-Length:", 400),
            (b"Content-Length: 99999999999999999999", 400),
            (b"Content-Length : 13", 400),
            (b"Transfer-Encoding : chunked", 400),
            (b"Transfer-Encoding:\r\n chunked", 400),
            (b"X: a\r\n\tb", 400),
            (b"X: a\rContent-Length: 13", 400),
            (b"X: a\nContent-Length: 13", 400),
            (b"X: a\0b", 400),
            (b"X: a\x7fb", 400),
            (b"X", 400),
            (b": 13", 400),
            (b"X\x01: 13", 400),
            (b"Host: localhost", 400),
            (b"Host: a/b", 400),
        ):
            with self.subTest(headers=headers):
                answer = self.statuses(begin + headers + b"\r\n\r\n" + chunk + hidden)
                self.assertEqual(answer, [status])
        whole = begin + b"Transfer-Encoding: Chunked\r\n\r\n" + chunk + hidden
        self.assertEqual(self.statuses(whole), [200, 200])
        known = begin + b"Content-Length: 013\r\n\r\n" + b'{"row":"dog"}' + hidden
        self.assertEqual(self.statuses(known), [200, 200])

    def test_a_host_is_needed_once(self) -> None:
        end = b"Connection: close\r\n\r\n"
        self.assertEqual(self.statuses(b"GET /healthz HTTP/1.1\r\n" + end), [400])
        self.assertEqual(self.statuses(b"GET /healthz HTTP/1.0\r\n\r\n"), [200])
        for host, status in (
            (b"localhost", 200), (b"LocalHost:8000", 200), (b"127.0.0.1", 200),
            (b"127.1.2.3:1", 200), (b"[::1]:80", 200), (b"[::1", 400), (b"a b", 400),
            (b"localhost:x", 400), (b"user@localhost", 400), (b"example.org", 403),
            (b"localhost.example.org", 403), (b"192.0.2.1", 403), (b"[2001:db8::1]", 403),
        ):  # fmt: skip
            with self.subTest(host=host):
                request = b"GET /healthz HTTP/1.1\r\nHost: " + host + b"\r\n" + end
                self.assertEqual(self.statuses(request), [status])
        two = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nhost: localhost\r\n" + end
        self.assertEqual(self.statuses(two), [400])

    def test_chunks_are_read_as_everybody_reads_them(self) -> None:
        begin = (
            b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
        )
        body = b'{"row":"dog"}\r\n'
        for chunks, status in (
            (b"d\r\n" + body + b"0\r\n\r\n", 200),
            (b"D\r\n" + body + b"00\r\n\r\n", 200),
            (b"d;name=value\r\n" + body + b"0\r\n\r\n", 200),
            (b"d\r\n" + body + b"0\r\nX-Sum: 1\r\n\r\n", 200),
            (b"0xd\r\n" + body + b"0\r\n\r\n", 400),
            (b"+d\r\n" + body + b"0\r\n\r\n", 400),
            (b"-1\r\n" + body + b"0\r\n\r\n", 400),
            (b" d\r\n" + body + b"0\r\n\r\n", 400),
            (b"d \r\n" + body + b"0\r\n\r\n", 400),
            (b"\r\n" + body + b"0\r\n\r\n", 400),
            (b"d\n" + body + b"0\r\n\r\n", 400),
            (b"d\r\n" + body[:-2] + b"x\r\n0\r\n\r\n", 400),
            (b"ffffffffffffffff0d\r\n" + body + b"0\r\n\r\n", 400),
            (b"1000000000000000d\r\n" + body + b"0\r\n\r\n", 400),
            (b"d;x=" + b"y" * 1000 + b"\r\n" + body + b"0\r\n\r\n", 400),
            (b'd;x="a\nb"\r\n' + body + b"0\r\n\r\n", 400),
            (b"d\r\n" + body + b"0\r\nX: " + b"y" * 100000 + b"\r\n\r\n", 400),
            (b"d\r\n" + body + b"0\r\nContent-Length: 5\r\n\r\n", 400),
            (b"d\r\n" + body + b"0\r\nX : 5\r\n\r\n", 400),
        ):
            with self.subTest(chunks=chunks[:40]):
                self.assertEqual(self.statuses(begin + chunks), [status])


class Pages(ServeTest):
    """Requests as browsers send them for pages of this server and of others."""

    def test_other_pages_and_names_are_refused(self) -> None:
        server = self.serve("animals.model")
        own = f"127.0.0.1:{server.port}"
        simple = {"Content-Type": "text/plain"}
        for headers, status in (
            ({}, 200),
            ({"Origin": f"http://{own}"}, 200),
            ({"Origin": f"http://localhost:{server.port}"}, 403),
            ({"Origin": "http://evil.example"}, 403),
            ({"Origin": f"http://{own}.evil.example"}, 403),
            ({"Origin": "http://127.0.0.1:1"}, 403),
            ({"Origin": "null"}, 403),
            ({"Host": "attacker.example"}, 403),
            ({"Host": "attacker.example", "Origin": "http://attacker.example"}, 403),
            ({"Host": ""}, 403),
            ({"Host": "localhost:99", "Origin": "http://localhost:99"}, 200),
        ):
            with self.subTest(headers=headers):
                for method, path, body in (
                    ("POST", "/reload", ""), ("POST", "/predict", {"row": "a"}),
                    ("GET", "/model", None), ("GET", "/", None), ("GET", "/healthz", None),
                ):  # fmt: skip
                    found = server.ask(method, path, body, {**JSON_TYPE, **headers})
                    self.assertEqual(found[0], status, (method, path, found[1]))
        self.assertIn(
            "--allow-host", server.ask("GET", "/model", None, {"Host": "a.b"})[1]["error"]
        )
        self.assertEqual(server.ask("POST", "/reload", "", {})[0], 415)
        self.assertEqual(server.ask("POST", "/reload", "", simple)[0], 415)

    def test_names_and_pages_may_be_allowed(self) -> None:
        options = ["--allow-host", "Shop.example", "--allow-host", "192.0.2.1"]
        options += ["--allow-origin", "https://pages.example:443"]
        server = self.serve(*options, "animals.model")
        for headers, status in (
            ({"Host": "shop.example"}, 200),
            ({"Host": "shop.example:444"}, 200),
            ({"Host": "192.0.2.1"}, 200),
            ({"Host": "192.0.2.2"}, 403),
            ({"Host": "shop.example", "Origin": "https://shop.example"}, 200),
            ({"Origin": "https://pages.example"}, 200),
            ({"Origin": "http://pages.example"}, 403),
        ):
            with self.subTest(headers=headers):
                self.assertEqual(server.ask("GET", "/model", None, headers)[0], status)
        for option, value in (
            ("--allow-host", "a/b"), ("--allow-host", "a:80"),
            ("--allow-origin", "shop.example"), ("--allow-origin", "null"),
            ("--allow-origin", "http://"), ("--allow-origin", "http://a/b"),
        ):  # fmt: skip
            with self.subTest(option=option, value=value):
                message = self.refused(f"{option}={value}", "animals.model", code=2)
                self.assertIn(f"option {option[2:]} is '{value}'", message)


class Limits(ServeTest):
    def test_body_beyond_the_limit_is_413(self) -> None:
        server = self.serve("--max-body-mb", "0.001", "animals.model")
        self.assertEqual(server.ask("POST", "/predict", {"row": "a" * 900})[0], 200)
        status, answer = server.ask("POST", "/predict", {"row": "a" * 1000})
        self.assertEqual(status, 413, answer)
        self.assertIn("at most 1000", answer["error"])
        chunk = b'400\r\n{"row": "' + b"a" * (0x400 - 9) + b"\r\n"
        answer = server.raw(
            b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n" + chunk
        )
        self.assertTrue(answer.startswith(b"HTTP/1.1 413"), answer)
        # A stream may be longer than the limit, but not one of its lines.
        body = "\n".join([json.dumps("a cat")] * 500)
        status, answer = server.ask("POST", "/predict", body, LINES_TYPE)
        self.assertEqual((status, answer.count("\n")), (200, 500))
        status, answer = server.ask("POST", "/predict", '"' + "a" * 2000, LINES_TYPE)
        self.assertEqual(status, 413, answer)

    def test_late_requests_are_408_and_slow_ones_504(self) -> None:
        server = self.serve("--request-seconds", "0.3", "--max-body-mb", "900", "animals.model")
        answer = server.raw(b"POST /predict HTTP/1.1\r\nHost: localhost\r\n")
        self.assertTrue(answer.startswith(b"HTTP/1.1 408"), answer)
        answer = server.raw(
            b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: 100\r\n\r\n{"
        )
        self.assertTrue(answer.startswith(b"HTTP/1.1 408"), answer)
        # On a busy machine the body may be what is late. The unit tests have the other case alone.
        rows, status = [" ".join(texts())] * 20000, 200
        while status == 200 and len(rows) < 2000000:
            rows = rows + rows
            status = server.ask("POST", "/predict", {"rows": rows})[0]
        self.assertIn(status, (408, 413, 504))

    def test_a_line_of_a_stream_must_end(self) -> None:
        server = self.serve("--request-seconds", "0.5", "animals.model")
        with socket.create_connection(("127.0.0.1", server.port), timeout=300) as connection:
            connection.sendall(
                b"POST /predict HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
                b"Content-Type: application/jsonl\r\n\r\n" + b'9\r\n"a cat"\n"\r\n'
            )
            connection.settimeout(0.05)
            answer, ended = b"", False
            while not ended:  # each part comes in time, but the line never ends
                with contextlib.suppress(OSError):
                    connection.sendall(b"1\r\na\r\n")
                try:
                    part = connection.recv(65536)
                    answer, ended = answer + part, not part
                except TimeoutError:
                    pass
                except OSError:
                    ended = True
        self.assertIn(b"a line of it, did not go on in time", answer)
        self.assertEqual(answer.count(b'"labels"'), 1)

    def test_bodies_together_have_a_budget(self) -> None:
        server = self.serve("--memory-limit", "0.004", "animals.model")
        head = (
            b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: 1500000\r\n\r\n"
        )

        def hold() -> socket.socket:
            held = socket.create_connection(("127.0.0.1", server.port), timeout=300)
            held.sendall(head + b" " * 1400000)
            return held

        held = hold()
        row = {"row": "a" * 1000000}
        for _ in range(500):
            if select.select([held], [], [], 0.05)[0]:  # refused beside the row of the last round
                held.close()
                held = hold()
                continue
            status, answer = server.ask("POST", "/predict", row)
            if status == 503:
                break
            self.assertEqual(status, 413, answer)  # the work for it alone would be too much
        self.assertIn("memory_limit", answer["error"])
        self.assertEqual(status, 503)
        held.close()
        for _ in range(500):
            if server.ask("POST", "/predict", row)[0] == 413:
                break
            time.sleep(0.01)
        self.assertEqual(server.ask("POST", "/predict", {"row": "a cat"})[0], 200)

    def test_idle_connections_are_closed(self) -> None:
        server = self.serve("--idle-seconds", "0.2", "animals.model")
        self.assertEqual(server.raw(b""), b"")

    def test_requests_beyond_the_queue_are_503(self) -> None:
        server = self.serve("--threads", "1", "--queue-length", "1", "animals.model")
        rows = [" ".join(texts())] * 20000
        statuses: list[int] = []

        def ask() -> None:
            statuses.append(server.ask("POST", "/predict", {"rows": rows})[0])

        threads = [threading.Thread(target=ask) for _ in range(6)]
        for thread in threads:
            thread.start()
        while server.ask("GET", "/healthz")[0] == 200 and any(t.is_alive() for t in threads):
            time.sleep(0.01)  # is answered while others wait
        for thread in threads:
            thread.join()
        self.assertEqual(set(statuses), {200, 503}, statuses)

    def test_connections_beyond_the_limit_are_503(self) -> None:
        server = self.serve("--max-connections", "2", "animals.model")
        held = [server.connect() for _ in range(2)]
        for connection in held:
            connection.request("GET", "/healthz")
            self.assertEqual(connection.getresponse().read()[:1], b"{")
        self.assertEqual(server.ask("GET", "/healthz")[0], 503)
        held[0].close()
        for _ in range(200):
            if server.ask("GET", "/healthz")[0] == 200:
                break
            time.sleep(0.02)
        else:
            self.fail("no connection is accepted again")
        held[1].close()


class Token(ServeTest):
    def test_requests_need_the_token(self) -> None:
        token = "0123456789abcdef"
        pathlib.Path(self.path("token")).write_text(token + "\n", encoding="utf-8")
        server = self.serve("--address", "0.0.0.0", "--token-file", "token", "animals.model")
        for headers, status in (
            ({}, 401),
            ({"Authorization": "Bearer 0123456789abcdeX"}, 401),
            ({"Authorization": f"Bearer {token}x"}, 401),
            ({"Authorization": "Bearer "}, 401),
            ({"Authorization": f"Basic {token}"}, 401),
            ({"Authorization": f"Bearer {token}"}, 200),
            ({"Authorization": f"bearer {token}"}, 200),
        ):
            with self.subTest(headers=headers):
                answer = server.ask("POST", "/predict", {"row": "a cat"}, {**JSON_TYPE, **headers})
                self.assertEqual(answer[0], status, answer)
                for path in ("/model", "/metrics", "/openapi.json"):
                    self.assertEqual(server.ask("GET", path, headers=headers)[0], status)
        self.assertEqual(server.ask("GET", "/healthz")[0], 200)
        with_token = server.ask(
            "GET", "/openapi.json", headers={"Authorization": f"Bearer {token}"}
        )
        self.assertEqual(with_token[1]["security"], [{"token": []}])
        for path, is_open in (("/predict", False), ("/healthz", True), ("/metrics", False)):
            ((_, operation),) = with_token[1]["paths"][path].items()
            self.assertEqual("401" in operation["responses"], not is_open)
            self.assertEqual(operation.get("security"), [] if is_open else None)

    def test_the_description_asks_for_no_token_where_none_is_needed(self) -> None:
        root = self.serve("animals.model").ask("GET", "/openapi.json")[1]
        self.assertNotIn("security", root)
        self.assertNotIn("securitySchemes", root["components"])
        for methods in root["paths"].values():
            for operation in methods.values():
                self.assertNotIn("401", operation["responses"])
                self.assertNotIn("security", operation)

    def test_other_addresses_need_a_token(self) -> None:
        message = self.refused("--address", "0.0.0.0", "animals.model", code=2)
        self.assertIn("token-file must be given", message)
        message = self.refused("--address", "here", "animals.model", code=2)
        self.assertIn("option address is 'here', but must be an IP address", message)
        pathlib.Path(self.path("short")).write_text("123\n", encoding="utf-8")
        message = self.refused("--token-file", "short", "animals.model", code=3)
        self.assertIn("at least 16", message)
        message = self.refused("--token-file", "missing", "animals.model", code=3)
        self.assertIn("missing: the file of the token cannot be read", message)


class Start(ServeTest):
    def test_wrong_starts_are_refused(self) -> None:
        self.assertIn("nothing", self.refused("nothing", code=4))
        message = self.refused("animals.model", "animals.model", code=2)
        self.assertIn("model name 'animals' is given twice", message)
        shutil.copy(self.path("animals.model"), self.path("a b.model"))
        self.assertIn("NAME=FILE", self.refused("a b.model", code=2))
        self.assertIn("queue-length", self.refused("--queue-length", "0", "animals.model", code=2))
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = str(taken.getsockname()[1])
            message = self.refused("--port", port, "animals.model", code=2)
        self.assertIn(f"cannot listen on address 127.0.0.1, port {port}", message)


class Sentences(ServeTest):
    """Models of sentences: rows are lists of tokens."""

    def served(self, corpus: str, *options: str) -> Server:
        pathlib.Path(self.path("corpus")).write_text(corpus, encoding="utf-8")
        self.program(
            "train", "--method", "structured", "--quiet", *options, "corpus", "sentences.model"
        )
        return self.serve("sentences.model")

    def test_tokens_get_tags(self) -> None:
        server = self.served("a\tDT\nb\tNN\n\na\tDT\nc\tNN\n\n" * 5)
        rows = [["a", "c"], [["b"]], ["-DOCSTART-", "New York", "# c"]]
        status, answer = server.ask("POST", "/predict", {"rows": rows})
        self.assertEqual(status, 200, answer)
        self.assertEqual(answer["predictions"][0], {"tags": ["DT", "NN"]})
        self.assertEqual([len(p["tags"]) for p in answer["predictions"]], [2, 1, 3])
        self.assertEqual(server.ask("GET", "/model")[1]["rows"], "sentences")
        for row, message in (
            ("a", "row:1: the row is not a sentence"),
            ([], "row:1: the sentence has no tokens"),
            (["a", 3], "row:1: token 2 is neither a text nor a list of texts"),
            ([["a", "x"]], "row:1: tokens have 2 columns, but must have 1 as in training"),
            (["a\tb"], "row:1: token 1: a column is 'a\\x09b', but must be a text without tabs"),
            ([""], "row:1: token 1: column 1 is empty"),
        ):
            with self.subTest(row=row):
                status, answer = server.ask("POST", "/predict", {"row": row})
                self.assertEqual((status, answer["error"][: len(message)]), (400, message))
        status, answer = server.ask("POST", "/predict", {"row": ["a"], "top": 2})
        self.assertEqual(status, 400)
        self.assertIn(
            "option top is given, but the examples of method structured are not rows",
            answer["error"],
        )
        status, answer = server.ask("POST", "/explain", {"row": ["a"]})
        self.assertEqual(status, 400)
        self.assertIn("has no explanations", answer["error"])

    def test_tokens_may_be_objects_where_the_model_has_their_keys(self) -> None:
        server = self.served("a\tDT\nb\tNN\n\n" * 5)
        status, answer = server.ask("POST", "/predict", {"row": [{"word": "a"}]})
        self.assertEqual(status, 400)
        self.assertEqual(
            answer["error"],
            "row:1: token 1 is an object, but must be a text or a list of texts, as in training",
        )

    def test_streams_have_a_sentence_on_each_line(self) -> None:
        server = self.served("a\tDT\nb\tNN\n\na\tDT\nc\tNN\n\n" * 5)
        status, text = server.ask("POST", "/predict", '["a", "b"]\n["a"]\n', LINES_TYPE)
        self.assertEqual(status, 200)
        self.assertEqual(text, '{"tags":["DT","NN"]}\n{"tags":["DT"]}\n')

    def test_words_get_heads(self) -> None:
        tree = (
            "1\tthe\tthe\tDET\t_\t_\t2\tdet\t_\t_\n2\tdog\tdog\tNOUN\t_\t_\t3\tnsubj\t_\t_\n"
            "3\truns\trun\tVERB\t_\t_\t0\troot\t_\t_\n\n"
        )
        server = self.served(tree * 5, "--model", "dependency")
        row = [["the", "the", "DET"], ["dog", "dog", "NOUN"], ["runs", "run", "VERB"]]
        status, answer = server.ask("POST", "/predict", {"row": row})
        self.assertEqual(status, 200, answer)
        self.assertEqual(
            answer["predictions"], [{"heads": [2, 3, 0], "relations": ["det", "nsubj", "root"]}]
        )
        status, answer = server.ask("POST", "/explain", {"row": row, "features": 1})
        self.assertEqual(status, 200, answer)
        self.assertTrue(answer["lines"][0].startswith("1 the: head 2 dog, relation det"))
        words = [["w"]] * 3000
        status, answer = server.ask("POST", "/predict", {"row": words})
        self.assertEqual(status, 400)
        self.assertIn("more than 2048 words", answer["error"])


class Views(ServeTest):
    def test_a_row_has_one_of_each_view(self) -> None:
        for name, text in (
            ("rows", "a 1:1 2:0.5\nb 1:-1\na 1:2\nb 1:-2 2:1\n"),
            ("other", "a 1:3\nb 1:1\na 1:4\nb 1:0.5\n"),
        ):
            pathlib.Path(self.path(name)).write_text(text, encoding="utf-8")
        self.program(
            "train", "--method", "spn-mkl", "--quiet", "--view", "o=other", "rows", "views.model"
        )
        server = self.serve("views.model")
        row = {"views": {"main": {"features": {"1": 2}}, "o": "1:4"}}
        status, answer = server.ask("POST", "/predict", {"rows": [row, row]})
        self.assertEqual(status, 200, answer)
        self.assertEqual(answer["predictions"], [{"labels": ["a"]}] * 2)
        self.assertEqual(server.ask("GET", "/model")[1]["rows"], "views")
        self.assertEqual(server.ask("POST", "/explain", {"row": row})[0], 200)
        for wrong, message in (
            ("1:2", "row:1: the row is of several views, so it must be"),
            ({"features": {"1": 2}}, "row:1: the row is of several views, so it must be"),
            ({"views": {"main": "1:2"}}, "row:1: the row has no view 'o', but must have main, o"),
            (
                {"views": {"main": "1:2", "o": "1:1", "x": "1:1"}},
                "row:1: view is 'x', but must be one of main, o",
            ),
            (
                {"views": {"main": 1, "o": "1:1"}},
                "row:1: the row of view 'main' must be a string or an object",
            ),
            ({"views": {"main": "1:x", "o": "1:1"}}, "row:1:"),
        ):
            with self.subTest(wrong=wrong):
                status, answer = server.ask("POST", "/predict", {"row": wrong})
                self.assertEqual((status, answer["error"][: len(message)]), (400, message))


class Reload(ServeTest):
    def test_new_files_are_loaded_without_a_failed_request(self) -> None:
        shutil.copy(self.path("animals.model"), self.path("live.model"))
        hierarchy = str(ANIMALS / "hierarchy.txt")
        self.program(
            *["train", "--method", "hsvm", "--text", "--hierarchy", hierarchy, "--quiet"],
            *[str(ANIMALS / "train.txt"), "other.model"],
        )
        server = self.serve("live.model")
        failures: list[Any] = []
        done = threading.Event()

        def ask() -> None:
            connection = server.connect()
            body = json.dumps({"row": "a cat"})
            while not done.is_set():
                connection.request("POST", "/predict", body, JSON_TYPE)
                response = connection.getresponse()
                text = response.read()
                if response.status != 200:
                    failures.append(text)
            connection.close()

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        methods = set()
        for k in range(20 if SANITIZED else 100):
            source = "other.model" if k % 2 == 0 else "animals.model"
            shutil.copy(self.path(source), self.path("new.model"))
            os.replace(self.path("new.model"), self.path("live.model"))
            status, answer = server.ask("POST", "/reload", "")
            self.assertEqual((status, answer), (200, {"reloaded": ["live"], "kept": []}))
            methods.add(server.ask("GET", "/model")[1]["method"])
        done.set()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        self.assertEqual(methods, {"nhsvm", "hsvm"})

    def test_broken_file_keeps_the_old_model(self) -> None:
        shutil.copy(self.path("animals.model"), self.path("live.model"))
        server = self.serve("live.model", "numbers.model")
        pathlib.Path(self.path("live.model")).write_text("broken", encoding="utf-8")
        status, answer = server.ask("POST", "/reload", "")
        self.assertEqual((status, answer["reloaded"]), (409, ["numbers"]))
        self.assertEqual(answer["kept"][0]["model"], "live")
        self.assertIn("model live stays as it is: live.model", answer["error"])
        self.assertEqual(server.ask("POST", "/predict", {"row": "a cat"})[0], 200)
        status, answer = server.ask("POST", "/reload", {"model": "numbers"})
        self.assertEqual((status, answer), (200, {"reloaded": ["numbers"], "kept": []}))
        self.assertEqual(server.ask("POST", "/reload", {"model": "none"})[0], 404)
        self.assertEqual(server.ask("POST", "/reload", {"rows": ["a"]})[0], 400)
        server.process.send_signal(signal.SIGHUP)
        counted = 'margrove_reloads_total{model="live",result="kept"} 2'
        for _ in range(500):
            if counted in server.ask("GET", "/metrics")[1]:
                break
            time.sleep(0.01)
        code, log = server.stop()
        self.assertEqual(code, 0)
        lines = [self.without_time(line) for line in log.splitlines()]
        # Of two requests, of the signal, of the end.
        failed = lines[0]
        self.assertRegex(failed, "^not loaded: live, the old model stays: live.model")
        loaded = "loaded again: numbers"
        self.assertEqual(lines, [failed, loaded, loaded, failed, loaded, "stopped"])

    def test_line_breaks_in_names_of_files_stay_within_a_line_of_the_log(self) -> None:
        broken = "a\nmargrove: 2026-01-01T00:00:00Z loaded again: x"
        shutil.copy(self.path("animals.model"), self.path(broken))
        server = self.serve(f"live={broken}")
        os.remove(self.path(broken))
        self.assertEqual(server.ask("POST", "/reload", "")[0], 409)
        lines = [self.without_time(line) for line in server.stop()[1].splitlines()]
        self.assertEqual(len(lines), 2, lines)
        self.assertIn("not loaded: live, the old model stays: a\\x0amargrove", lines[0])


class Stop(ServeTest):
    def test_signals_end_the_server_after_running_requests(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            server = self.serve("animals.model")
            idle = server.connect()
            idle.request("GET", "/healthz")
            idle.getresponse().read()
            rows = [" ".join(texts())] * 10000
            answers: list[Any] = []
            thread = threading.Thread(
                target=lambda server=server, rows=rows, answers=answers: answers.append(
                    server.ask("POST", "/predict", {"rows": rows})
                )
            )
            thread.start()
            while "requests_running 1" not in server.ask("GET", "/metrics")[1]:
                time.sleep(0.002)
            server.process.send_signal(number)
            thread.join()
            code, log = server.wait()
            self.assertEqual((code, self.without_time(log.rstrip("\n"))), (0, "stopped"))
            self.assertEqual(answers[0][0], 200)
            self.assertEqual(len(answers[0][1]["predictions"]), len(rows))
            idle.close()

    def test_nothing_is_written_to_stdout(self) -> None:
        server = self.serve("animals.model")
        server.process.send_signal(signal.SIGTERM)
        self.assertEqual(server.process.communicate(timeout=300)[0], "")


if __name__ == "__main__":
    unittest.main()
