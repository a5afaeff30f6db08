"""Predictions of rows from standard input, and of files with errors, from outside.

Run and configured like test_cli.py, whose helpers it uses.
"""

# ruff: noqa: PT009 - unittest, so that it runs with nothing installed

import gzip
import json
import os
import selectors
import signal
import subprocess
import unittest

from test_cli import MARGROVE, CliTest

TEXTS = "fruit\tred apple\nfruit\tgreen apple\ncar\tfast car\ncar\tred car\n" * 3
SECONDS = 60


class Pipe:
    """A running `margrove predict MODEL -`, whose standard input stays open."""

    def __init__(self, test: CliTest, *options: str) -> None:
        self.process = subprocess.Popen(
            [MARGROVE, "predict", *options, "model", "-"],
            cwd=test.directory.name,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        test.addCleanup(self.end)

    def ask(self, text: str, num_lines: int = 1) -> list[str]:
        """Writes rows, and returns the answers that come while the pipe is open."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(text.encode())
        self.process.stdin.flush()
        out = b""
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while out.count(b"\n") < num_lines:
                if not selector.select(SECONDS):
                    raise AssertionError(f"no answer to {text!r}")
                got = os.read(self.process.stdout.fileno(), 4096)
                if not got:
                    raise AssertionError(f"the program ended: {self.process.stderr.read()!r}")  # type: ignore[union-attr]
                out += got
        return out.decode().splitlines()

    def close(self) -> tuple[str, str, int]:
        """Ends the input; the rest of the output, standard error and the exit code."""
        out, err = self.process.communicate(timeout=SECONDS)
        return out.decode(), err.decode(), self.process.returncode

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


class StandardInput(CliTest):
    def train_texts(self, *options: str) -> None:
        self.write("texts", TEXTS)
        given = ["--method", "flat-svm", "--text", *options]
        self.run_program("train", *given, "texts", "model")

    def train_table(self) -> None:
        self.write("table.csv", "title,price,kind\n" + "red apple,1,fruit\nfast car,9,car\n" * 3)
        columns = "--text-column title --numeric-columns price --label-column kind"
        given = ["--method", "flat-svm", *columns.split()]
        self.run_program("train", *given, "table.csv", "model")

    def piped(self, text: str | bytes, *options: str, code: int = 0) -> tuple[str, str]:
        done = subprocess.run(
            [MARGROVE, "predict", *options, "model", "-"],
            cwd=self.directory.name,
            input=text.encode() if isinstance(text, str) else text,
            capture_output=True,
            timeout=300,
            check=False,
        )
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout.decode(), done.stderr.decode()

    def test_each_line_is_answered_before_the_next_one_comes(self) -> None:
        self.train_texts()
        pipe = Pipe(self)
        self.assertEqual(pipe.ask("\tgreen apple\n"), ["fruit"])
        self.assertEqual(pipe.ask("\tcar\n"), ["car"])
        self.assertEqual(pipe.ask("\n\tapple\n\tfast\n", 2), ["fruit", "car"])
        self.assertEqual(pipe.close(), ("", "", 0))

    def test_rows_of_every_format_are_answered_as_they_come(self) -> None:
        self.train_table()
        pipe = Pipe(self)
        self.assertEqual(pipe.ask("price,title\n1,an apple\n"), ["fruit"])
        self.assertEqual(pipe.ask('9,"a ""fast""\ncar"\n'), ["car"])
        self.assertEqual(pipe.close(), ("", "", 0))
        pipe = Pipe(self)
        for title, kind in (("apple", "fruit"), ("fast car", "car")):
            self.assertEqual(pipe.ask(json.dumps({"title": title, "price": 3}) + "\n"), [kind])
        self.assertEqual(pipe.close(), ("", "", 0))
        self.train()
        pipe = Pipe(self)
        rows = self.read("test").decode().splitlines()
        expected = self.run_program("predict", "model", "test")[0].splitlines()
        for row, answer in zip(rows[:5], expected, strict=False):
            self.assertEqual(pipe.ask(row + "\n"), [answer])
        self.assertEqual(pipe.ask("1:0.5\n".rjust(7)), pipe.ask(" 1:0.5\n"))

    def test_answers_equal_those_of_the_file(self) -> None:
        self.train()
        rows = self.read("test").decode()
        for options in ([], ["--top", "2"], ["--scores"], ["--paths"]):
            expected = self.run_program("predict", *options, "model", "test")[0]
            self.assertEqual(self.piped(rows, *options), (expected, ""))
            self.assertEqual(self.piped(rows.rstrip("\n"), *options), (expected, ""))
            self.assertEqual(self.piped(gzip.compress(rows.encode()), *options), (expected, ""))
            self.assertEqual(self.piped(rows, "--output", "out", *options), ("", ""))
            self.assertEqual(self.read("out").decode(), expected)
        self.train("--calibration", "0.3")
        expected = self.run_program("predict", "--probabilities", "model", "test")[0]
        self.assertEqual(self.piped(rows, "--probabilities"), (expected, ""))

    def test_an_error_ends_the_answers_after_those_before_it(self) -> None:
        self.train_texts()
        out, err = self.piped("\tapple\n\nno tab\n\tcar\n", code=3)
        self.assertEqual(out, "fruit\n")
        self.assertIn("standard input:3:7: the line has no tab", err)
        self.assertIn("standard input: the file has no rows", self.piped("\n", code=3)[1])

    def test_rows_with_errors_are_skipped_on_demand(self) -> None:
        self.train_texts()
        pipe = Pipe(self, "--on-error", "skip")
        self.assertEqual(pipe.ask("\tapple\n"), ["fruit"])
        self.assertEqual(pipe.ask("no tab\n"), [""])
        self.assertEqual(pipe.ask("\tcar\n"), ["car"])
        out, err, code = pipe.close()
        self.assertEqual((out, code), ("", 0))
        self.assertIn("standard input:2:7: the line has no tab", err)
        self.assertIn("1 of 3 rows have errors; their answers are empty", err)

    def test_files_with_errors_are_answered_on_demand(self) -> None:
        self.train_table()
        rows = 'title,price,kind\napple,1,\ncar,many,\nfast car,9,\na,b\n"bad" quote,1,\ncar,9,\n'
        self.write("rows.csv", rows)
        self.assert_fails(3, "rows.csv:3:5", "predict", "model", "rows.csv")
        out, err = self.run_program("predict", "--on-error", "skip", "model", "rows.csv")
        self.assertEqual(out, "fruit\n\ncar\n\n\ncar\n")
        for place in ("rows.csv:3:5: ", "rows.csv:5:4: ", "rows.csv:6:6: "):
            self.assertIn(place, err)
        self.assertEqual(self.piped(rows, "--on-error", "skip")[0], out)
        self.write("good.csv", "title,price\napple,1\ncar,9\n")
        self.assertEqual(
            self.run_program("predict", "--on-error", "skip", "model", "good.csv"),
            self.run_program("predict", "model", "good.csv"),
        )

    def test_rows_that_preprocessing_refuses_are_skipped_with_their_line(self) -> None:
        self.write("counts", "x 1:3 2:1\ny 2:2 3:5\n" * 4)
        self.run_program("train", "--method", "flat-svm", "--tfidf", "counts", "model")
        self.write("rows", " 1:2\n 1:-2\n 3:1\n")
        out, err = self.run_program("predict", "--on-error", "skip", "model", "rows")
        self.assertEqual(out, "x\n\ny\n")
        self.assertIn("rows:2: tfidf: count[0, 0] is -2", err)

    def test_it_is_an_error_if_no_row_can_be_answered(self) -> None:
        self.train_table()
        message = "none of its 2 rows can be read"
        self.write("rows.csv", "title,price\na\nb\n")
        self.assert_fails(3, message, "predict", "--on-error", "skip", "model", "rows.csv")
        # A wrong header is an error of all rows.
        self.write("rows.csv", "name,price\na,1\nb,2\n")
        self.assert_fails(
            3, "the header has no column 'title'", "predict", "--on-error", "skip", "model",
            "rows.csv",
        )  # fmt: skip
        self.assertIn("no column 'title'", self.piped("name\na\n", "--on-error", "skip", code=3)[1])

    def test_labels_alone_are_no_rows_of_numbers(self) -> None:
        self.train()
        self.assertIn("the row has no index:value", self.piped("1,2,3\n", code=3)[1])
        out, _ = self.piped("a1 1:1\na1\n")
        self.assertEqual(len(out.splitlines()), 2)

    def test_what_cannot_be_honoured_is_refused(self) -> None:
        self.train_texts()
        self.assertIn(
            "option time-limit-seconds is given",
            self.piped("", "--time-limit-seconds", "1", code=2)[1],
        )
        self.assertIn("several views", self.piped("", "--view", "a=b", code=2)[1])
        self.train_tags()
        self.assertIn("option view is given, but the examples of method structured are not rows",
                      self.piped("", "--view", "a=b", code=2)[1])  # fmt: skip
        for option in (["--top", "2"], ["--scores"], ["--probabilities"], ["--paths"],
                       ["--min-confidence", "0.5"], ["--show", "id"]):  # fmt: skip
            name = option[0][2:]
            for data in ("-", "tags"):
                _, err = self.run_program("predict", *option, "model", data, code=2)
                self.assertIn(f"option {name} is given, but the examples of method", err)
        self.assertIn("option time-limit-seconds is given",
                      self.piped("", "--time-limit-seconds", "1", code=2)[1])  # fmt: skip

    def train_tags(self) -> None:
        self.write("tags", "a DET\ndog NOUN\n\nthe DET\ncat NOUN\nruns VERB\n\n" * 4)
        self.run_program("train", "--method", "structured", "tags", "model")

    def train_parser(self) -> None:
        rows = [("1", "a", "DET", "2", "det"), ("2", "dog", "NOUN", "3", "nsubj"),
                ("3", "runs", "VERB", "0", "root")]  # fmt: skip
        lines = ["\t".join([k, w, w, tag, "_", "_", head, relation, "_", "_"])
                 for k, w, tag, head, relation in rows]  # fmt: skip
        self.write("trees", "# text = a dog runs\n" + "\n".join(lines) + "\n\n")
        given = ["--method", "structured", "--model", "dependency", "--hash-bits", "12"]
        self.run_program("train", *given, "trees", "model")

    def test_each_sentence_is_answered_when_its_blank_line_comes(self) -> None:
        self.train_tags()
        pipe = Pipe(self)
        self.assertEqual(pipe.ask("a\ndog\n\n", 3), ["DET", "NOUN", ""])
        self.assertEqual(pipe.ask("\n\nthe\r\ncat\r\nruns\r\n\r\n", 4),
                         ["DET", "NOUN", "VERB", ""])  # fmt: skip
        self.assertEqual(pipe.ask("a DET\ncat NOUN\n \n", 3), ["DET", "NOUN", ""])
        assert pipe.process.stdin
        pipe.process.stdin.write(b"a\ndog\n")
        self.assertEqual(pipe.close(), ("DET\nNOUN\n\n", "", 0))
        self.train_parser()
        pipe = Pipe(self)
        words = self.read("trees").decode()
        expected = self.run_program("predict", "model", "trees")[0]
        for _ in range(2):
            self.assertEqual(pipe.ask(words, 4), expected.splitlines())
        self.assertEqual(pipe.close(), ("", "", 0))

    def test_answers_to_sentences_equal_those_of_the_file(self) -> None:
        for train, name in ((self.train_tags, "tags"), (self.train_parser, "trees")):
            train()
            text = self.read(name).decode() * 3
            self.write("many", text)
            expected = self.run_program("predict", "model", "many")[0]
            for given in (text, text.rstrip("\n"), gzip.compress(text.encode())):
                self.assertEqual(self.piped(given), (expected, ""))
            self.assertEqual(self.piped(text, "--output", "out"), ("", ""))
            self.assertEqual(self.read("out").decode(), expected)
            for source in (["many"], ["many", "--quiet"]):
                arguments = ["predict", "--on-error", "skip", "model", *source]
                self.assertEqual(self.run_program(*arguments)[0], expected)

    def test_sentences_with_errors_are_skipped_on_demand(self) -> None:
        self.train_tags()
        pipe = Pipe(self, "--on-error", "skip")
        self.assertEqual(pipe.ask("a\ndog\n\n", 3), ["DET", "NOUN", ""])
        self.assertEqual(pipe.ask("\na\nthe big cat\nruns\n\n"), [""])
        self.assertEqual(pipe.ask("the big cat\n\n"), [""])
        self.assertEqual(pipe.ask("the\n\n", 2), ["DET", ""])
        out, err, code = pipe.close()
        self.assertEqual((out, code), ("", 0))
        self.assertIn("standard input:6:12: the line has 3 columns, but must have 1 like line 5; "
                      "the sentence of lines 5 to 7 is skipped", err)  # fmt: skip
        self.assertIn("standard input:9: tokens have 3 columns, but must have 1 as in training; "
                      "the sentence of line 9 is skipped", err)  # fmt: skip
        self.assertIn("2 of 4 sentences have errors; their answers are empty", err)
        out, err = self.piped("a\ndog\n\na b c\n\na\n\n", code=3)
        self.assertEqual(out, "DET\nNOUN\n\n")
        self.assertIn("standard input:4: tokens have 3 columns", err)
        self.assertIn("the file has no sentences, but must have at least one",
                      self.piped("\n\n", code=3)[1])  # fmt: skip
        self.assertIn("none of its 1 sentences can be read",
                      self.piped("a b c\n", "--on-error", "skip", code=3)[1])  # fmt: skip

    def test_files_of_sentences_with_errors_are_answered_on_demand(self) -> None:
        self.train_parser()
        words = self.read("trees").decode()
        good = self.run_program("predict", "model", "trees")[0]
        self.write("rows", words + "2\tdog\n\n" + words)
        self.assert_fails(3, "rows:6:6: the line has 2 columns", "predict", "model", "rows")
        out, err = self.run_program("predict", "--on-error", "skip", "model", "rows")
        self.assertEqual(out, good + "\n" + good)
        self.assertIn("rows:6:6: the line has 2 columns, but must have 10 separated by tabs; the "
                      "sentence of line 6 is skipped", err)  # fmt: skip

    def test_an_interruption_keeps_the_answers(self) -> None:
        self.train_texts()
        pipe = Pipe(self)
        self.assertEqual(pipe.ask("\tapple\n"), ["fruit"])
        pipe.process.send_signal(signal.SIGINT)
        _, err, code = pipe.close()
        self.assertEqual(code, 130)
        self.assertIn("the answers so far were written", err)

    def test_a_reader_that_goes_away_ends_the_program(self) -> None:
        self.train_texts()
        pipe = Pipe(self)
        self.assertEqual(pipe.ask("\tapple\n"), ["fruit"])
        pipe.process.stdout.close()  # type: ignore[union-attr]
        pipe.process.stdin.write(b"\tcar\n")  # type: ignore[union-attr]
        pipe.process.stdin.flush()  # type: ignore[union-attr]
        self.assertEqual(pipe.process.wait(SECONDS), 0)


if __name__ == "__main__":
    unittest.main()
