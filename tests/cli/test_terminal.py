"""What a person at a terminal sees: help of its width, progress, suggestions.

Needs only the standard library; MARGROVE names the program.
"""

# ruff: noqa: PT009 - unittest, so that it runs with nothing installed

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import termios
import unittest
from typing import Any

from test_cli import MARGROVE, CliTest, rows


def on_terminal(arguments: list[str], folder: str, columns: int = 80) -> str:
    """What the program writes to a terminal of that width, stdout and stderr as they come."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    program = subprocess.Popen(
        [MARGROVE, *arguments], cwd=folder, stdout=theirs, stderr=theirs, env=environment
    )
    os.close(theirs)
    written = b""
    try:
        while block := os.read(ours, 65536):
            written += block
    except OSError:  # how Linux says that the other end is closed
        pass
    os.close(ours)
    program.wait(timeout=300)
    return written.decode().replace("\r\n", "\n")


def as_displayed(written: str) -> list[str]:
    """Lines as they stand on the screen: what comes before an erased line is gone."""
    return [line.rsplit("\r\x1b[K", 1)[-1] for line in written.split("\n")]


class Terminal(CliTest):
    def test_help_fits_the_terminal(self) -> None:
        for arguments in (["--help"], ["train", "--method", "nhsvm", "--help"], ["tune", "--help"]):
            for columns in (60, 80, 110):
                text = on_terminal(arguments, self.directory.name, columns)
                widest = max(text.splitlines(), key=len)
                self.assertLessEqual(len(widest), columns, widest)

    def test_wrapped_help_says_every_word_of_wide_help(self) -> None:
        narrow, wide = (
            on_terminal(["train", "--method", "hr-lr", "--help"], self.directory.name, columns)
            for columns in (60, 120)
        )
        self.assertEqual(narrow.split(), wide.split())

    def test_results_do_not_stand_beside_the_progress_line(self) -> None:
        self.write("many", rows(4000, 3))
        written = on_terminal(
            [
                "tune",
                "--method",
                "flat-svm",
                "--loss",
                "hinge",
                "--grid",
                "C=0.1,1,10,100,1000",
                "many",
                "model",
            ],
            self.directory.name,
        )
        self.assertIn("\r\x1b[K", written)  # there was a progress line
        lines = as_displayed(written)
        self.assertIn("C\tmicro_f1", [re.sub(r" +", "\t", line) for line in lines])
        self.assertFalse([line for line in lines if " GB" in line and "micro_f1" in line])

    def test_progress_says_how_long_and_how_much_memory(self) -> None:
        self.write("many", rows(4000, 3))
        written = on_terminal(
            [
                "tune",
                "--method",
                "flat-svm",
                "--loss",
                "hinge",
                "--grid",
                "C=0.1,1,10,100,1000",
                "many",
                "model",
            ],
            self.directory.name,
        )
        self.assertRegex(written, r"\d+\.\d s, about \d+(\.\d)? s left, 0\.\d\d GB")


class Log(CliTest):
    def reports(self, *arguments: str) -> list[dict[str, Any]]:
        _, err = self.run_program(*arguments, "--log", "json", "train", "model")
        return [json.loads(line) for line in err.splitlines()]

    def test_json_has_an_object_for_every_report(self) -> None:
        start = ["--method", "nhsvm", "--hierarchy", "tree"]
        reports = self.reports("train", *start)
        plan = next(each for each in reports if each["stage"] == "plan")
        self.assertEqual((plan["rows"], plan["features"], plan["labels"]), (120, 3, 8))
        self.assertGreater(plan["memory_bytes"], 0)
        passes = [each for each in reports if each["stage"] == "bcfw"]
        self.assertGreater(len(passes), 1)
        names = {"stage", "done", "total", "unit", "objective", "relative_gap", "seconds"}
        self.assertTrue(all(set(each) <= names for each in passes))
        self.assertTrue(any("relative_gap" in each for each in passes))
        seconds = [each["seconds"] for each in reports if "seconds" in each]
        self.assertEqual(seconds, sorted(seconds))
        tuned = self.reports("tune", *start, "--grid", "bias=0,1", "--folds", "2")
        self.assertGreater(len(tuned), len(reports))
        self.assertEqual(self.reports("train", *start, "--quiet"), [])

    def test_other_forms_are_refused(self) -> None:
        start = ["train", "--method", "flat-svm"]
        message = "option log is 'xml', but must be one of text, json"
        self.assert_fails(2, message, *start, "--log", "xml", "train", "model")
        message = "option log is json, but engine ray does not offer it"
        self.assert_fails(2, message, *start, "--engine", "ray", "--log", "json", "train", "model")


class Suggestions(CliTest):
    def test_misspelt_verbs_and_options_are_answered_with_what_was_meant(self) -> None:
        for meant, arguments in [
            ("train", ["trian", "train", "model"]),
            ("predict", ["predicts", "model", "test"]),
            ("--method", ["train", "--metod", "nhsvm", "train", "model"]),
            ("--alpha", ["train", "--method", "nhsvm", "--alhpa=maxmin", "train", "model"]),
            ("--hierarchy", ["train", "--method", "nhsvm", "--hierachy", "tree", "train", "m"]),
        ]:
            _, err = self.run_program(*arguments, code=2)
            self.assertIn(f"Did you mean {meant}?\n", err, arguments)

    def test_misspelt_options_are_blamed_wherever_they_stand(self) -> None:
        # The value of such an option was taken for MODEL, and the message blamed what came last.
        for message, arguments in [
            ("--tpo is no option of predict\n", ["--tpo", "3", "model", "test"]),
            ("--tpo is no option of predict\n", ["model", "--tpo", "3", "test"]),
            ("--tpo is no option of predict\n", ["model", "test", "--tpo", "3"]),
            ("--tpo is no option of predict\n", ["--tpo=3", "model", "test"]),
            ("--probabilites is no option of predict\n", ["--probabilites", "model"]),
        ]:
            with self.subTest(arguments):
                _, err = self.run_program("predict", *arguments, code=2)
                self.assertTrue(err.startswith(message), err)
                self.assertIn("Did you mean --", err)
                self.assertNotIn("model", err)
        for option in ("--grd", "--loss"):
            _, err = self.run_program(
                "tune", "--method", "nhsvm", option, "C=1", "--hierarchy", "tree", "train", "model",
                code=2,
            )  # fmt: skip
            self.assertTrue(
                err.startswith(f"{option} is no option of tune with method nhsvm\n"), err
            )

    def test_what_looks_like_nothing_is_left_alone(self) -> None:
        for arguments in [["zzzzz"], ["info", "--qqqq", "model"], ["train", "train"], []]:
            _, err = self.run_program(*arguments, code=2)
            self.assertNotIn("Did you mean", err)


if __name__ == "__main__":
    unittest.main()
