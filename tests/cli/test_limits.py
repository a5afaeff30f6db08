"""Limits of time, memory and size from outside: what is refused, what is said, what is left.

Run and configured like test_cli.py, whose helpers it uses.
"""

# ruff: noqa: PT009 - unittest, so that it runs with nothing installed

import contextlib
import gzip
import os
import random
import re
import resource
import select
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

from counted_clock import LIBRARY, LONG, STEP_SECONDS, Counted, run_counted
from test_cli import (
    DECLARED,
    KERNEL_METHODS,
    LINEAR_METHODS,
    MARGROVE,
    NETWORK_METHODS,
    CliTest,
    rows,
)

SANITIZED = bool(os.environ.get("MARGROVE_SANITIZED"))
LIMIT = 60  # questions for the time until a limit
# What some trainings ask for the time at least, half of what they do.
DENSE = 170
DEEP_ONE = 65
DEEP_SETS = 170
DEEP_HR = 1300
KERNELS = 80
EQUAL_ROWS = 1000  # at most


def address_space(num_bytes: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (num_bytes, num_bytes))


class LongLines(CliTest):
    def test_cannot_take_much_more_memory_than_the_compressed_file_is_large(self) -> None:
        rows_ = b"a 1:1\nb 2:1\n"
        for name, filler in (("blanks", b" "), ("nul", b"\0"), ("comment", b"#"), ("token", b"x")):
            with self.subTest(name):
                packed = gzip.compress(rows_ + filler * (60 << 20))
                with open(self.path(name), "wb") as file:
                    file.write(packed)
                train = ["train", "--method", "flat-svm", "--quiet", name, "model"]
                _, err = self.run_program(*train, code=3)
                self.assertRegex(
                    err,
                    name + r":3: the line has \d+ bytes and more, but must have at most \d+, which "
                    r"are 100 times the \d+ compressed bytes read; decompress the file",
                )
                self.write("rows", rows_.decode())
                _, err = self.run_program(
                    "train", "--method", "hsvm", "--hierarchy", name, "rows", "model", code=3
                )
                self.assertRegex(err, name + r":3: the line has ")

    def test_are_bounded_by_the_memory_limit(self) -> None:
        self.write("rows", "a 1:1\nb 2:1\n# " + 40_000_000 * "x" + "\n")
        train = ["train", "--method", "flat-svm", "--quiet"]
        _, err = self.run_program(*train, "--memory-limit", "0.2", "rows", "model", code=3)
        self.assertIn("but must have at most 25000000, an eighth of the memory limit", err)
        self.run_program(*train, "--memory-limit", "0.8", "rows", "model")

    def test_of_every_kind_of_data_are_bounded_by_the_memory_limit(self) -> None:
        long = 40_000_000 * "x"
        columns = ["--label-column", "l", "--text-column", "t"]
        for name, text, options in (
            ("rows", f"a 1:1\nb 2:1 # {long}\n", ["--method", "flat-svm"]),
            ("texts", f"a\tcat\nb\t{long}\n", ["--method", "flat-svm", "--text"]),
            ("r.csv", f"l,t\na,cat\nb,{long}\n", ["--method", "flat-svm", *columns]),
            ("r.jsonl", f'{{"l":"a","t":"c"}}\n{{"l":"b","t":"{long}"}}\n',
             ["--method", "flat-svm", *columns]),
            ("tags", f"cat N\n{long} V\n", ["--method", "structured"]),
            ("words", f"# {long}\n1\tc\t_\tN\t_\t_\t0\troot\t_\t_\n\n",
             ["--method", "structured", "--model", "dependency"]),
        ):  # fmt: skip
            with self.subTest(name):
                self.write(name, text)
                _, err = self.run_program("train", *options, "--quiet", "--memory-limit", "0.2",
                                          name, "model", code=3)  # fmt: skip
                self.assertRegex(err, name + r":\d+: the (line|row) has \d+ bytes and more, but "
                                 "must have at most 25000000, an eighth of the")  # fmt: skip


class Memory(CliTest):
    @unittest.skipIf(SANITIZED, "a sanitizer's shadow memory exceeds any limit")
    def test_that_is_not_free_is_not_asked_for(self) -> None:
        # 2,000 rows with three kernels each: a Gram matrix is of 32 MB, or 16 MB in float32.
        self.write("many", rows(8000, 5))
        train = ["train", "--method", "average-mkl", "--threads", "1", "--quiet", "many", "model"]
        _, err = self.run_program(*train, code=3, preexec_fn=lambda: address_space(250_000_000))
        self.assertRegex(
            err,
            r"many: training would take about \S+ GB, but must not take more than \S+ GB \(90 % of "
            r"what is free by the limit of address space \(ulimit -v\)\); .* raise memory-limit; "
            r"the parts are ",
        )
        self.assertFalse(os.path.exists(self.path("model")))

    def test_and_models_go_by_the_columns_in_use_and_not_by_their_numbers(self) -> None:
        narrow = "a 1:1 5:0.5\nb 2:1 5:0.5\na 1:1.5\nb 2:2\n"
        wide = narrow.replace("5:", "2000000000:")
        self.write("narrow", narrow.replace("5:", "3:"))
        self.write("wide", wide)
        self.write("other", wide.replace("2000000000", "2000000001"))
        self.write("parents", "top a\ntop b\n")
        for method in LINEAR_METHODS:
            with self.subTest(method):
                hierarchy = [] if method.startswith("flat") else ["--hierarchy", "parents"]
                for data in ("narrow", "wide"):
                    self.run_program(
                        "train", "--method", method, *hierarchy, "--scale", "none",
                        "--threads", "1", data, f"m{data}",
                        preexec_fn=None if SANITIZED else lambda: address_space(300_000_000),
                    )  # fmt: skip
                self.assertLess(len(self.read("mwide")), len(self.read("mnarrow")) + 500)
                scores = [
                    self.run_program("predict", "--scores", f"m{data}", data)[0]
                    for data in ("narrow", "wide")
                ]
                self.assertEqual(scores[0], scores[1])
                without, _ = self.run_program("predict", "--scores", "mwide", "other")
                self.assertNotEqual(without, scores[1])  # an unknown column counts for nothing
                why = ["explain", "mwide", "wide", "--row", "1", "--features", "3"]
                out, _ = self.run_program(*why)
                self.assertIn("feature 2000000000 = 0.5,", out)
                self.assertIn("(intercept) = 1,", out)
                self.assertNotIn("feature 3 ", out)

    def test_of_kernel_methods_goes_by_the_columns_in_use(self) -> None:
        narrow = "a 1:1 3:0.5\nb 2:1 3:0.5\na 1:1.5\nb 2:2\n"
        self.write("narrow", narrow)
        self.write("wide", narrow.replace("3:", "2000000000:"))
        self.write("other", narrow.replace("3:", "2000000001:"))
        self.write("unseen", narrow.replace("3:", "1000:"))
        small = None if SANITIZED else lambda: address_space(300_000_000)
        for method in KERNEL_METHODS:
            for scale in ("auto", "standard"):
                with self.subTest(method=method, scale=scale):
                    scores = []
                    for data in ("narrow", "wide"):
                        train = ["train", "--method", method, "--scale", scale, "--threads", "1"]
                        limit = ["--memory-limit", "0.1", data, f"m{data}"]
                        self.run_program(*train, *limit, preexec_fn=small)
                        predict = ["predict", "--scores", f"m{data}", data]
                        scores.append(self.run_program(*predict, preexec_fn=small)[0])
                    self.assertEqual(*scores)
                    self.assertLess(len(self.read("mwide")), len(self.read("mnarrow")) + 500)
                    self.assertRegex(self.run_program("info", "mwide")[0],
                                     r"columns in use +3 of 2000000000\n")  # fmt: skip
                    # Columns that training did not see count for nothing, whatever their number.
                    other = self.run_program("predict", "--scores", "mwide", "other")[0]
                    unseen = self.run_program("predict", "--scores", "mwide", "unseen")[0]
                    self.assertEqual(other, unseen)

    def test_of_a_network_of_kernels_over_wide_columns_is_bounded(self) -> None:
        self.write("wide", "a 1:1 2000000000:0.5\nb 2:1 2000000000:0.5\na 1:1.5\nb 2:2\n")
        self.write(
            "network",
            '{"kernels": {"g": {"type": "gaussian", "columns": "1-2000000000"},'
            ' "l": {"type": "linear", "columns": "2-2000000000"}}, "shape": "one-layer"}',
        )
        self.run_program(
            "train", "--method", "average-mkl", "--network", "network", "--threads", "1", "wide",
            "model", preexec_fn=None if SANITIZED else lambda: address_space(300_000_000),
        )  # fmt: skip
        self.assertEqual(self.run_program("predict", "model", "wide")[0], "a\nb\na\nb\n")
        # The estimate has a row as an array where there are few enough columns for one.
        self.write("rather", "a 1:1 16000000:0.5\nb 2:1 16000000:0.5\na 1:1.5\nb 2:2\n")
        self.write("network", '{"kernels": {"l": {"type": "linear"}}, "shape": "one-layer"}')
        train = ["train", "--method", "average-mkl", "--network", "network", "--threads", "1"]
        _, err = self.run_program(*train, "--memory-limit", "0.05", "rather", "model", code=3)
        self.assertRegex(err, r"training would take about 0\.064\d* GB")
        self.assertIn("rows as arrays", err)
        self.run_program(*train, "--memory-limit", "0.07", "rather", "model")

    def test_of_training_on_a_long_chain_goes_by_its_nodes(self) -> None:
        length = 20_000
        chain = "".join(f"n{i} n{i + 1}\n" for i in range(length))
        self.write("chain", chain)
        self.write("train", f"n{length} 1:1\nn{length // 2} 2:1\nn5 1:1 2:1\n")
        for method in ("hr-lr", "hr-svm", "nhsvm", "hsvm"):
            with self.subTest(method):
                self.run_program(
                    "train", "--method", method, "--hierarchy", "chain", "--threads", "1",
                    "train", "model",
                    preexec_fn=None if SANITIZED else lambda: address_space(400_000_000),
                )  # fmt: skip

    def test_of_a_model_of_a_long_chain_with_two_parents_is_small(self) -> None:
        length = 20_000
        chain = "".join(f"n{i} n{i + 1}\n" for i in range(length)) + "n0 n2\n"
        self.write("chain", chain)
        self.write("train", f"n{length} 1:1\nn{length // 2} 2:1\nn5 1:1 2:1\n")
        self.run_program(
            "train", "--method", "flat-svm", "--hierarchy", "chain", "train", "model",
            preexec_fn=None if SANITIZED else lambda: address_space(400_000_000),
        )  # fmt: skip
        for arguments in (["info", "model"], ["predict", "--threads", "1", "model", "train"]):
            self.run_program(
                *arguments, preexec_fn=None if SANITIZED else lambda: address_space(400_000_000)
            )

    def test_of_wide_columns_is_told_by_info_and_by_the_format_version(self) -> None:
        self.write("wide", "1 1:1 3:1\n2 30000000:1\n")
        self.run_program("train", "--method", "flat-svm", "wide", "model")
        out, _ = self.run_program("info", "model")
        self.assertRegex(out, r"columns in use +3 of 30000000\n")
        self.assertRegex(out, r"format version +2\n")
        self.train(model="tree_model")
        self.assertRegex(self.run_program("info", "tree_model")[0], r"format version +1\n")

    def test_of_wide_columns_is_exported_with_the_numbers_of_the_rows(self) -> None:
        self.write("wide", "1 1:1 3:1\n2 3000000:1\n1 3:0.5\n2 2:1\n")
        self.run_program("train", "--method", "flat-svm", "--tolerance", "1e-6", "wide", "model")
        self.run_program("export", "model", "liblinear")
        self.run_program("import", "liblinear", "again")
        scores = [self.run_program("predict", m, "wide", "--scores")[0] for m in ("model", "again")]
        values = [[float(line.split(":")[1]) for line in each.splitlines()] for each in scores]
        for mine, theirs in zip(*values, strict=True):
            self.assertAlmostEqual(mine, theirs, places=2)


class Time(CliTest):
    def long_sentence(self, length: int) -> str:
        def word(i: int) -> str:
            return f"{i}\tw{i % 97}\t_\tN{i % 11}\t_\t_\t{i - 1}\tdep\t_\t_\n"

        return "".join(word(i) for i in range(1, length)) + "\n"

    def test_limits_of_prediction_end_one_search_with_nothing_written(self) -> None:
        self.write("short.conllu", self.long_sentence(20))
        self.write("long.conllu", self.long_sentence(2000))  # takes some seconds
        self.run_program(
            "train", "--method", "structured", "--model", "dependency", "--hash-bits", "10",
            "short.conllu", "model",
        )  # fmt: skip
        before = sorted(os.listdir(self.directory.name))
        for verb in (["predict", "--output", "out"], ["evaluate"]):
            with self.subTest(verb):
                out, err = self.run_program(
                    *verb, "--time-limit-seconds", "0.3", "model", "long.conllu", code=5
                )
                self.assertIn("the time limit ended the work; nothing was written", err)
                self.assertEqual(out, "")
                self.assertEqual(sorted(os.listdir(self.directory.name)), before)

    def test_limits_that_are_not_reached_change_nothing(self) -> None:
        self.train()
        plain, _ = self.run_program("predict", "model", "test")
        limited, _ = self.run_program("predict", "--time-limit-seconds", "60", "model", "test")
        self.assertEqual(plain, limited)

    def test_interruptions_end_one_search_at_once(self) -> None:
        self.write("long.conllu", self.long_sentence(2000))
        for sent in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(sent.name):
                running = subprocess.Popen(
                    [MARGROVE, "train", "--method", "structured", "--model", "dependency",
                     "--hash-bits", "10", "long.conllu", "model"],
                    cwd=self.directory.name, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                    text=True,
                )  # fmt: skip
                assert running.stderr is not None
                line = running.stderr.readline()
                self.assertIn("training takes about", line)
                time.sleep(0.2)
                running.send_signal(sent)
                out, err = running.communicate(timeout=300)
                self.assertEqual((running.returncode, out), (130, ""), err)
                self.assertIn("long.conllu: interrupted before the end of the first pass;", err)
                self.assertEqual(os.listdir(self.directory.name).count("model"), 0)

    def limited(
        self, *options: str, codes: tuple[int, ...] = (0,), after: int = 100, verb: str = "train"
    ) -> Counted:
        """Runs with a limit of LIMIT questions for the time, and at most `after` more after it."""
        done = run_counted(
            self.directory.name, verb, "--quiet", "--time-limit-seconds",
            str(LIMIT * STEP_SECONDS), *options,
        )  # fmt: skip
        self.assertIn(done.code, codes, done.err)
        if done.code == 0:
            self.assertIn("stop\ttime_limit\n", done.out)
        else:
            self.assertIn("the time limit ended", done.err)
        if done.questions is not None:
            self.assertGreaterEqual(done.questions, LIMIT)
            self.assertLessEqual(done.questions, LIMIT + after)
        return done

    def assert_asks(self, least: int, *options: str) -> None:
        """Without an end by time, so much work asks for the time at least so often."""
        done = run_counted(
            self.directory.name, "train", "--quiet", "--time-limit-seconds", str(LONG), *options
        )
        self.assertEqual(done.code, 0, done.err)
        if done.questions is not None:
            self.assertGreaterEqual(done.questions, least)

    def assert_ends_preparation(self, name: str, *options: str) -> None:
        """Reading asks for the time so rarely that the limit comes while rows are prepared."""
        done = self.limited("--method", "flat-svm", *options, name, "/dev/null", codes=(5,),
                            after=10)  # fmt: skip
        self.assertIn(f"{name}: the time limit ended the preparation of the rows; nothing is "
                      "trained", done.err)  # fmt: skip

    @unittest.skipUnless(LIBRARY, "needs the counted clock")
    def test_limits_end_the_preparation_of_texts(self) -> None:
        # A word of 21 MB took 4 CPU seconds for a limit of 1 s.
        self.write("word", "a\tdog\nb\t" + "xyz" * 350_000 + "\n")
        self.assert_ends_preparation("word", "--text", "--char-ngrams", "3-5")
        self.write("texts", "a\tthe black cat and the dog\nb\tsome other words\n" * 30_000)
        self.assert_ends_preparation("texts", "--text")
        self.write("marks", "a\tdog\nb\t" + "e\N{COMBINING ACUTE ACCENT}" * 100_000 + "\n")
        self.assert_ends_preparation("marks", "--text")

    @unittest.skipUnless(LIBRARY, "needs the counted clock")
    def test_limits_end_the_preparation_of_records_and_numbers(self) -> None:
        lines = (f"{'ab'[k % 2]},the black cat and the dog,{k},c{k}\n" for k in range(20_000))
        self.write("records.csv", "label,title,price,colour\n" + "".join(lines))
        columns = ["--label-column", "label", "--text-column", "title", "--numeric-columns",
                   "price", "--categorical-columns", "colour"]  # fmt: skip
        self.assert_ends_preparation("records.csv", "--format", "csv", *columns)
        features = " ".join(f"{j}:{j % 7}.5" for j in range(1, 200))
        self.write("numbers", f"a {features}\nb {features}\n" * 2000)
        self.assert_ends_preparation("numbers", "--scale", "robust")
        self.assert_ends_preparation("numbers", "--tfidf")
        self.assert_ends_preparation("numbers", "--class-weight", "balanced")

    @unittest.skipUnless(LIBRARY, "needs the counted clock")
    def test_limits_in_calibration_leave_the_model_without_it(self) -> None:
        self.write("data", rows(600, 3))
        train = ["train", "--quiet", "--method", "flat-svm", "data", "model"]
        calibrated = [*train, "--calibration", "0.3", "--time-limit-seconds"]
        trained = run_counted(self.directory.name, *train, "--time-limit-seconds", str(LONG))
        whole = run_counted(self.directory.name, *calibrated, str(LONG))
        assert trained.questions is not None
        assert whole.questions is not None
        self.run_program("predict", "model", "data", "--probabilities")
        message = "the time limit came before calibration, which the model lacks"
        # In the training without the rows that are held out, and in the fit to these.
        for limit in (trained.questions + 2, whole.questions - 10):
            done = run_counted(self.directory.name, *calibrated, str(limit * STEP_SECONDS))
            self.assertEqual(done.code, 0, done.err)
            self.assertIn("stop\tconverged\n", done.out)
            self.assertIn(message, done.err)
            self.run_program("predict", "model", "data")
            self.run_program("predict", "model", "data", "--probabilities", code=3)
            os.remove(self.path("model"))
            limited = [*calibrated, str(limit * STEP_SECONDS), "--strict"]
            strict = run_counted(self.directory.name, *limited)
            self.assertEqual(strict.code, 3, strict.err)
            self.assertIn(f"{message} (a warning without --strict); nothing was", strict.err)
            self.assertFalse(os.path.exists(self.path("model")))

    @unittest.skipUnless(LIBRARY, "needs the counted clock")
    def test_limits_end_the_numbering_of_many_labels_of_one_row(self) -> None:
        # A row of 2,000,000 labels took 11 CPU seconds for a limit of 5 s.
        self.write("labels", ",".join(f"n{k}" for k in range(200_000)) + " 1:1\nb 2:1\n")
        self.assert_ends_preparation("labels")

    @unittest.skipUnless(LIBRARY, "needs the counted clock")
    def test_a_limit_before_the_first_pass_leaves_no_model_and_a_later_one_says_how_far(
        self,
    ) -> None:
        # A limit of .05 s left a model without weights, with exit code 0 and a mild warning.
        self.write("tree", "r a\nr b\na a1\na a2\nb b1\nb b2\n")
        rng = random.Random(1)
        lines = (
            f"{rng.choice(['a1', 'a2', 'b1', 'b2'])} "
            + " ".join(f"{j}:{rng.gauss(0, 1):.3f}" for j in range(1, 9))
            for _ in range(400)
        )
        self.write("rows", "\n".join(lines) + "\n")
        early, late, folds = 0, 0, 0
        methods = (
            ["hsvm"], ["nhsvm"], ["level-svm"], ["level-svm", "--stack", "nhsvm,flat-lr"],
            ["flat-svm", "--decision", "scut"], ["hr-lr"],
        )  # fmt: skip
        for method in methods:
            for limit in (*range(8, 60, 4), *range(60, 400, 40)):
                done = run_counted(
                    self.directory.name, "train", "--quiet", "--time-limit-seconds",
                    str(limit * STEP_SECONDS), "--hierarchy", "tree", "--tolerance", "1e-14",
                    "--C", "1e4", "--method", *method, "rows", "model",
                )  # fmt: skip
                path = Path(self.directory.name) / "model"
                with self.subTest(method=method, limit=limit):
                    if done.code == 5:
                        self.assertFalse(path.exists())
                        early += "before the end of the first pass; there is no model" in done.err
                        continue
                    self.assertEqual(done.code, 0, done.err)
                    if method == ["hr-lr"] and "stop\tstalled\n" in done.out:
                        continue  # the optimum came before, as near as numbers allow
                    self.assertIn("stop\ttime_limit\n", done.out)
                    passes = int(done.out.split("passes\t")[1].split("\n")[0])
                    self.assertGreater(passes, 0)
                    self.assertIn(f"the time limit ended training after {passes} pass", done.err)
                    late += "at a relative gap of" in done.err
                    folds += "folds of the cross-validation early or left them out" in done.err
                    self.assertNotIn("search for the most violating labelling was exact", done.err)
                    path.unlink()
        self.assertGreater(early, 0)
        self.assertGreater(late, 0)
        self.assertGreater(folds, 0)

    def test_a_limit_before_calibration_leaves_the_model_without_it(self) -> None:
        self.write("hard", rows(2000, 3))
        limited = ["--method", "flat-svm", "--calibration", "0.2", "--tolerance", "1e-14", "--C",
                   "1e6", "--max-passes", "100000000", "hard", "model"]  # fmt: skip
        done = self.limited(*limited, after=1000)
        self.assertIn("the time limit came before calibration, which the model lacks", done.err)
        strict = self.limited("--strict", *limited, codes=(3,), after=1000)
        self.assertIn("the time limit ended training after", strict.err)

    def test_limits_end_training_on_a_dense_graph(self) -> None:
        # Four rows with twelve labels each took 19.5 s for a limit of 1 s.
        rng = random.Random(1)
        edges = [f"n{p} n{n}\n" for n in range(1, 403) for p in rng.sample(range(n), min(n, 6))]
        self.write("dag", "".join(edges))
        lines = []
        for _ in range(4):
            labels = ",".join(f"n{n}" for n in sorted(rng.sample(range(200, 403), 12)))
            lines.append(
                f"{labels} " + " ".join(f"{j}:{rng.random():.3f}" for j in range(1, 30)) + "\n"
            )
        self.write("four", "".join(lines))
        train = ["--method", "nhsvm", "--hierarchy", "dag", "four", "model"]
        hard = ["--tolerance", "1e-14", "--max-passes", "100000000"]
        self.limited(*hard, *train, codes=(0, 5))
        self.assert_asks(DENSE, "--max-passes", "1", *train)

    def write_deep_graph(self, num_rows: int, num_columns: int) -> list[str]:
        """Writes a graph of 3,000 nodes and rows with three labels; returns the rows."""
        rng = random.Random(1)
        edges = [f"n{p} n{n}\n" for n in range(1, 3000) for p in rng.sample(range(n), min(n, 3))]
        self.write("deep", "".join(edges))
        lines = []
        for _ in range(num_rows):
            labels = ",".join(f"n{n}" for n in sorted(rng.sample(range(1500, 3000), 3)))
            used = sorted(rng.sample(range(1, num_columns), 30))
            lines.append(f"{labels} {' '.join(f'{j}:{rng.gauss(0, 1):.3f}' for j in used)}\n")
        self.write("sets", "".join(lines))
        return lines

    def test_limits_end_what_comes_before_training_on_a_deep_graph(self) -> None:
        # 3,000 nodes with half a million pairs of a leaf and an ancestor: for limits of 1 s, the
        # losses of all pairs of leaves took 3.5 CPU seconds more, and a step of hr-lr 10.
        lines = self.write_deep_graph(num_rows=1000, num_columns=2500)
        self.write("one", "".join(re.sub(r",\S+", "", line) for line in lines))
        for method, data, after in (
            ("hsvm", "one", 100), ("nhsvm", "one", 100), ("hsvm", "sets", 100),
            ("shared-svm", "one", 100), ("shared-svm", "sets", 100), ("hr-lr", "one", 1000),
            ("hr-lr", "sets", 1000), ("hr-svm", "one", 10_000), ("hr-svm", "sets", 10_000),
        ):  # fmt: skip
            with self.subTest(method=method, data=data):
                self.limited(
                    "--method", method, "--hierarchy", "deep", "--tolerance", "1e-14", data,
                    "/dev/null", codes=(0, 5), after=after,
                )  # fmt: skip

    def test_training_on_a_deep_graph_asks_for_the_time_at_each_search(self) -> None:
        # Each search for a label set takes a thousand times as long as one for a leaf.
        lines = self.write_deep_graph(num_rows=20, num_columns=2500)
        self.write("one", "".join(re.sub(r",\S+", "", line) for line in lines))
        self.write("sets", "".join(lines[:5]))
        for method, data, least in (
            ("hsvm", "one", DEEP_ONE), ("nhsvm", "one", DEEP_ONE), ("nhsvm", "sets", DEEP_SETS),
            ("hr-lr", "one", DEEP_HR), ("hr-svm", "one", DEEP_HR),
        ):  # fmt: skip
            with self.subTest(method=method, data=data):
                self.assert_asks(
                    least, "--method", method, "--hierarchy", "deep", "--max-passes", "1", data,
                    "/dev/null",
                )  # fmt: skip

    def write_sentences(self, num_sentences: int) -> None:
        """Sentences of 30 words, each with a tag that no other word has."""
        rng = random.Random(1)
        words = "".join(
            "".join(f"w{rng.randrange(20)} T{30 * s + k}\n" for k in range(30)) + "\n"
            for s in range(num_sentences)
        )
        self.write("tags", words)

    def test_limits_end_training_on_sequences_of_3000_tags(self) -> None:
        self.write_sentences(100)
        for solver in ("bcfw", "sgd", "cutting-plane", "one-slack"):
            with self.subTest(solver):
                length = [] if solver == "sgd" else ["--tolerance", "1e-14"]
                self.limited(
                    "--method", "structured", "--solver", solver, "--max-passes", "1000000",
                    *length, "tags", "/dev/null", codes=(0, 5),
                )  # fmt: skip

    def test_training_on_sequences_asks_for_the_time_at_each_word(self) -> None:
        self.write_sentences(10)
        for solver in ("bcfw", "sgd", "cutting-plane", "one-slack"):
            with self.subTest(solver):
                self.assert_asks(
                    10 * 30, "--method", "structured", "--solver", solver, "--max-passes", "1",
                    "tags", "/dev/null",
                )  # fmt: skip

    def test_limits_end_training_with_many_kernels(self) -> None:
        rng = random.Random(1)
        noise = "".join(
            f"a{rng.randrange(4)} "
            + " ".join(f"{j}:{rng.gauss(0, 1):.3f}" for j in range(1, 21))
            + "\n"
            for _ in range(1000)
        )
        self.write("hard", noise)
        self.write("sets", noise.replace("a1 ", "a1,a2 "))
        for data, widths in (("hard", "0.1,0.3,1,3,10"), ("sets", "1,2")):
            with self.subTest(data=data):
                ridge = ["--method", "kernel-ridge", "--widths", widths, data, "/dev/null"]
                self.limited(*ridge, codes=(0, 5))
                self.assert_asks(KERNELS, *ridge)
        for method in (each.name for each in DECLARED if "max-rounds" in each.options
                       and each.has_network):  # fmt: skip
            with self.subTest(method):
                self.limited(
                    "--method", method, "--C", "1e4", "--tolerance", "1e-14", "--max-rounds",
                    "100000", "hard", "/dev/null", codes=(0, 5),
                )  # fmt: skip
                self.assert_asks(
                    KERNELS, "--method", method, "--C", "10", "--max-rounds", "1", "hard",
                    "/dev/null",
                )  # fmt: skip

    def test_kernels_whose_optimum_no_number_of_steps_reaches_stall_with_a_warning(self) -> None:
        # Two equal rows of different classes: with C = 1e300 each took a hundred million steps.
        rng = random.Random(1)
        noise = "".join(
            f"{'ab'[k % 2]} " + " ".join(f"{j}:{rng.gauss(0, 1):.3f}" for j in range(1, 4)) + "\n"
            for k in range(58)
        )
        self.write("equal", noise + "a 1:0.5 2:0.1\nb 1:0.5 2:0.1\n")
        for method in NETWORK_METHODS:
            with self.subTest(method):
                done = run_counted(
                    self.directory.name, "train", "--method", method, "--C", "1e300", "--quiet",
                    "--time-limit-seconds", str(LONG), "equal", "model",
                )  # fmt: skip
                self.assertEqual(done.code, 0, done.err)
                self.assertIn("stop\tstalled\n", done.out)
                self.assertIn("lack of progress ended training", done.err)
        if done.questions is not None:
            self.assertLess(done.questions, EQUAL_ROWS)

    def test_kernel_weights_that_no_round_changes_any_longer_end_at_once(self) -> None:
        # Thirty rounds tried the same weights again, on unscaled columns for 9 CPU seconds.
        rng = random.Random(16)
        noise = ""
        for _ in range(200):
            k = rng.randrange(2)
            values = [rng.gauss(1 if j % 2 == k else 0, 1) for j in range(12)]
            values += [1.6e9 + rng.randrange(10_000) for _ in range(2)]
            cells = " ".join(f"{j}:{value:.10g}" for j, value in enumerate(values, 1))
            noise += f"{'ab'[k]} {cells}\n"
        self.write("unix", noise)
        out, err = self.run_program(
            "train", "--method", "lp-mkl", "--C", "1e12", "--quiet", "unix", "model"
        )
        self.assertIn("stop\tstalled\n", out)
        self.assertIn("lack of progress ended training", err)
        found = dict(line.split("\t", 1) for line in out.splitlines())
        self.assertLess(int(found["passes"]), 30)
        self.assertGreater(float(found["relative_gap"]), 1e-3)

    def test_limits_end_tuning_with_folds_at_once(self) -> None:
        # Each fold of the decision in each run that had begun was prepared to its end.
        self.write_deep_graph(num_rows=2000, num_columns=5000)
        self.limited(
            "--method", "hr-lr", "--hierarchy", "deep", "--grid", "C=1,10", "sets", "model",
            codes=(5,), after=1000, verb="tune",
        )  # fmt: skip
        self.assertFalse(os.path.exists(self.path("model")))

    def test_limits_of_tuning_are_no_fault_of_the_input(self) -> None:
        self.write("hard", rows(3000, 3))
        self.run_program(
            "tune", "--method", "nhsvm", "--hierarchy", "tree", "--tolerance", "1e-14",
            "--max-passes", "100000000", "--grid", "C=1e5,1e6", "--time-limit-seconds", "0.3",
            "hard", "model", code=5,
        )  # fmt: skip
        self.assertFalse(os.path.exists(self.path("model")))


class Interruption(CliTest):
    """SIGINT and SIGTERM of the verbs that write files without training."""

    SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def setUp(self) -> None:
        super().setUp()
        rng = random.Random(1)
        wide = "".join(
            f"{label} " + " ".join(f"{j}:{rng.random():.4f}" for j in range(1, 6001)) + "\n"
            for label in ("1", "2", "3", "1")
        )
        self.write("wide", wide)
        self.run_program("train", "--method", "flat-lr", "wide", "wide_model")
        self.run_program("export", "wide_model", "liblinear")
        os.mkfifo(self.path("pipe"))

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        """A program that catches signals already, which a busy machine may let it do late."""
        running = subprocess.Popen(
            [MARGROVE, *arguments], cwd=self.directory.name, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        status = Path(f"/proc/{running.pid}/status")
        wanted = sum(1 << (sent - 1) for sent in self.SIGNALS)
        while running.poll() is None:
            caught = re.search(r"SigCgt:\s*(\w+)", status.read_text(encoding="utf-8"))
            if caught is None or int(caught[1], 16) & wanted == wanted:
                break
            time.sleep(0.005)
        return running

    def test_while_files_are_written_lets_them_become_complete(self) -> None:
        # A pipe takes 64 kB, so that the program still writes when the first bytes can be read.
        for verb in (["export", "wide_model"], ["import", "liblinear"],
                     ["generate", "balanced", "--num-rows", "500"]):  # fmt: skip
            self.run_program(*verb, "expected")
            for sent in self.SIGNALS:
                with self.subTest(verb=verb[0], signal=sent.name):
                    reader = os.open(self.path("pipe"), os.O_RDONLY | os.O_NONBLOCK)
                    running = self.start(*verb, "pipe")
                    select.select([reader], [], [], 60)
                    running.send_signal(sent)
                    time.sleep(0.1)
                    os.set_blocking(reader, True)
                    with os.fdopen(reader, "rb") as pipe:
                        written = pipe.read()
                    _, err = running.communicate(timeout=300)
                    self.assertEqual(running.returncode, 0, err)
                    self.assertEqual(written, self.read("expected"))
                    self.assertGreater(len(written), 1 << 16)

    def test_a_second_signal_while_a_file_is_written_leaves_no_temporary_file(self) -> None:
        self.write("rows", "old\n")
        before = sorted(os.listdir(self.directory.name))
        for first, second in ((signal.SIGINT, signal.SIGINT), (signal.SIGTERM, signal.SIGHUP)):
            with self.subTest(first=first.name, second=second.name):
                running = self.start("generate", "balanced", "--num-rows", "15000", "rows")
                written = 0  # the file of the first trial is empty
                while written == 0 and running.poll() is None:
                    files = [e for e in os.scandir(self.directory.name) if ".tmp-" in e.name]
                    with contextlib.suppress(FileNotFoundError):
                        written = sum(file.stat().st_size for file in files)
                running.send_signal(first)
                time.sleep(0.02)
                running.send_signal(second)
                _, err = running.communicate(timeout=300)
                self.assertEqual(running.returncode, 130, err)
                self.assertEqual(err, "margrove: interrupted\n")
                self.assertEqual(sorted(os.listdir(self.directory.name)), before)
                self.assertEqual(self.read("rows"), b"old\n")

    def test_ends_the_wait_for_the_reader_of_a_pipe(self) -> None:
        # The first signal while a result is written waited for the second one.
        self.run_program("train", "--method", "flat-svm", "--quiet", "train", "model")
        os.mkfifo(self.path("out"))
        for verb in (
            ["predict", "model", "test", "--output", "out"],
            ["report", "model", "test", "--output", "out"],
            ["compress", "model", "--output", "out"],
            ["train", "--method", "flat-svm", "--quiet", "train", "out"],
        ):
            for sent in self.SIGNALS:
                with self.subTest(verb=verb[0], signal=sent.name):
                    running = self.start(*verb)
                    time.sleep(1)
                    self.assertIsNone(running.poll())
                    running.send_signal(sent)
                    _, err = running.communicate(timeout=300)
                    self.assertEqual(running.returncode, 130, err)
                    self.assertIn("margrove: interrupted", err)

    def test_ends_verbs_that_write_nothing_as_well(self) -> None:
        # The default action of a signal is no documented exit code.
        for verb in (["hierarchy", "pipe"], ["compare", "pipe", "liblinear", "liblinear"]):
            for sent in (*self.SIGNALS, signal.SIGHUP):
                with self.subTest(verb=verb[0], signal=sent.name):
                    running = self.start(*verb)
                    with open(self.path("pipe"), "wb"):  # waits for the program to open it
                        running.send_signal(sent)
                        _, err = running.communicate(timeout=300)
                    self.assertEqual(running.returncode, 130, err)
                    self.assertIn("margrove: interrupted", err)

    def test_before_files_are_written_leaves_nothing(self) -> None:
        before = sorted(os.listdir(self.directory.name))
        for sent in self.SIGNALS:
            with self.subTest(verb="import", signal=sent.name):
                running = self.start("import", "pipe", "new")
                with open(self.path("pipe"), "wb") as pipe:  # waits for the program to open it
                    pipe.write(b"solver_type L2R_LR\n")
                    pipe.flush()
                    running.send_signal(sent)
                    self.assert_interrupted(running, before)
            with self.subTest(verb="generate", signal=sent.name):
                self.write("new", "old\n")
                running = self.start("generate", "balanced", "--num-rows", "100000000", "new")
                time.sleep(0.5)
                running.send_signal(sent)
                self.assert_interrupted(running, sorted([*before, "new"]))
                self.assertEqual(self.read("new"), b"old\n")
                os.remove(self.path("new"))

    def test_while_texts_are_generated_leaves_nothing(self) -> None:
        before = sorted(os.listdir(self.directory.name))
        for sent in self.SIGNALS:
            with self.subTest(signal=sent.name):
                self.write("new", "old\n")
                running = self.start("generate", "zipf", "--num-rows", "100000000", "new")
                time.sleep(0.5)
                running.send_signal(sent)
                self.assert_interrupted(running, sorted([*before, "new"]), "interrupted\n")
                self.assertEqual(self.read("new"), b"old\n")
                os.remove(self.path("new"))

    def assert_interrupted(
        self,
        running: "subprocess.Popen[str]",
        files: list[str],
        message: str = "interrupted; nothing was written",
    ) -> None:
        _, err = running.communicate(timeout=300)
        self.assertEqual(running.returncode, 130, err)
        self.assertIn(message, err)
        self.assertEqual(sorted(os.listdir(self.directory.name)), files)


class InterruptedTraining(CliTest):
    """SIGINT and SIGTERM of the verbs that train, once they train."""

    ENDLESS = ("--tolerance", "1e-14", "--C", "1e6", "--max-passes", "100000000")

    def setUp(self) -> None:
        super().setUp()
        self.write("hard", rows(3000, 3))
        self.write("model", "old\n")

    def interrupt(
        self, verb: str, *options: str, signals: tuple[int, ...] = (signal.SIGINT,),
        at: str = '"stage":"bcfw","done":1,', times: int = 1,
    ) -> tuple[str, str]:  # fmt: skip
        """Sends the signals when the log has had such a line so many times."""
        running = subprocess.Popen(
            [MARGROVE, verb, "--method", "nhsvm", "--hierarchy", "tree", "--log", "json", *options,
             "model"],
            cwd=self.directory.name, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert running.stderr is not None
        for line in running.stderr:
            times -= at in line
            if times == 0:
                break
        # A stopped program gets all of them at once.
        for sent in (signal.SIGSTOP, *signals, signal.SIGCONT):
            running.send_signal(sent)
        out, err = running.communicate(timeout=300)
        self.assertEqual(running.returncode, 130, err)
        self.assertEqual([name for name in os.listdir(self.directory.name) if "tmp" in name], [])
        return out, err

    def assert_nothing_is_written(self, out: str) -> None:
        self.assertNotIn("stop", out)
        self.assertEqual(self.read("model"), b"old\n")

    def test_keeps_the_best_weights_so_far(self) -> None:
        for sent in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(sent.name):
                out, err = self.interrupt("train", *self.ENDLESS, "hard", signals=(sent,))
                self.assertIn("stop\tinterrupted\n", out)
                self.assertIn("interrupted; the best so far will be written", err)
                self.assertIn("warning: an interruption ended training; the model has the", err)
                self.assertIn("interrupted", self.run_program("info", "model")[0])
                accuracy, _ = self.run_program("evaluate", "model", "test", "--metrics", "accuracy")
                self.assertGreater(float(accuracy.split()[-1]), 0.7)

    def test_by_a_second_signal_writes_nothing(self) -> None:
        out, err = self.interrupt(
            "train", *self.ENDLESS, "hard", signals=(signal.SIGINT, signal.SIGTERM)
        )
        self.assertIn("margrove: interrupted; nothing was written", err)
        self.assert_nothing_is_written(out)

    def test_with_strict_writes_nothing(self) -> None:
        out, err = self.interrupt("train", "--strict", *self.ENDLESS, "hard")
        self.assertIn("interrupted, and with --strict an unfinished model is not written", err)
        self.assert_nothing_is_written(out)

    def test_of_tune_keeps_the_model_only_after_the_search(self) -> None:
        grid = ["--grid", "C=1,10", "--folds", "2", "--tolerance", "1e-14", "--max-passes", "20000"]
        self.write("few", rows(300, 3))
        out, _ = self.interrupt("tune", *grid, "few", at='"stage":"tune"')
        self.assert_nothing_is_written(out)
        out, _ = self.interrupt("tune", *grid, "few")
        self.assertIn("stop\tinterrupted\n", out)
        self.run_program("predict", "model", "test")

    def test_while_a_decision_is_tuned_writes_nothing(self) -> None:
        self.write("sets", rows(3000, 3).replace("a1 ", "a1,b2 "))
        out, err = self.interrupt("train", *self.ENDLESS, "sets")
        self.assertIn("sets: interrupted before the end of the first pass; nothing was", err)
        self.assert_nothing_is_written(out)

    def test_before_calibration_leaves_the_model_without_it(self) -> None:
        calibrated = ["--tolerance", "1e-14", "--C", "1e6", "--max-passes", "10000",
                      "--calibration", "0.2", "hard"]  # fmt: skip
        out, err = self.interrupt("train", *calibrated, times=2)
        self.assertIn("stop\tpass_limit\n", out)
        self.assertIn("an interruption came before calibration, which the model lacks", err)
        self.run_program("predict", "model", "test")
        self.run_program("predict", "model", "test", "--probabilities", code=3)
        self.write("model", "old\n")
        out, err = self.interrupt(
            "train", "--strict", "--solver", "sgd", "--epochs", "3000", "--calibration", "0.2",
            "hard", at='"stage":"sgd","done":1,', times=2,
        )  # fmt: skip
        self.assertIn("with --strict a model without it is not written", err)
        self.assert_nothing_is_written(out)


class Strict(CliTest):
    def test_mode_refuses_what_would_be_a_warning_or_is_suspicious(self) -> None:
        good = rows(40, 1)
        for name, more, message in [
            ("unlabelled", " 1:1\n", "row 41 has no label"),
            ("empty", "a1\n", "row 41 has no features"),
            ("huge", "a1 2:3e12\n", "row 41: feature 2 is 3000000053248, which is beyond 1e+10"),
        ]:
            with self.subTest(name):
                self.write("data", good + more)
                plain = ["train", "--method", "nhsvm", "--hierarchy", "tree", "--scale", "none",
                         "--max-passes", "10000", "--quiet", "data", "model"]  # fmt: skip
                self.run_program(*plain)
                before = self.read("model")
                self.assert_fails(3, message, plain[0], "--strict", *plain[1:])
                self.assertEqual(self.read("model"), before)

    def test_mode_writes_no_model_that_is_not_done(self) -> None:
        hard = ["--tolerance", "1e-13", "--max-passes", "1"]
        out, _ = self.train(*hard)
        self.assertIn("stop\tpass_limit", out)
        os.remove(self.path("model"))
        self.assert_fails(
            3, "max-passes ended training before the tolerance was reached", "train", "--method",
            "nhsvm", "--hierarchy", "tree", "--strict", "--quiet", *hard, "train", "model",
        )  # fmt: skip
        self.assertFalse(os.path.exists(self.path("model")))
        self.train("--strict")


class Results(CliTest):
    def test_replace_no_file_that_is_read(self) -> None:
        self.train()
        self.run_program("predict", "model", "test", "--output", "predictions")
        self.write("numbers", "1 1:1\n2 2:1\n")
        self.run_program("train", "--method", "flat-svm", "numbers", "flat")
        self.run_program("export", "flat", "liblinear")
        self.write("words", "the\n")
        self.write("weights", "a1\t2\n")
        self.write("texts", "a1\tone two\na2\tthree four\n" * 3)
        flat = ["train", "--method", "flat-svm", "--quiet"]
        os.symlink("train", self.path("link"))
        train = ["--method", "nhsvm", "--hierarchy", "tree", "--quiet"]
        for result, read, verb in (
            ("train", "train", ["train", *train, "train", "train"]),
            ("link", "train", ["train", *train, "train", "link"]),
            ("tree", "tree", ["train", *train, "train", "tree"]),
            ("tree", "tree", ["tune", *train, "--grid", "C=1,2", "train", "tree"]),
            ("train", "train", ["auto", "--quiet", "train", "train"]),
            ("words", "words", [*flat, "--text", "--stop-words", "words", "texts", "words"]),
            ("weights", "weights", [*flat, "--class-weight", "weights", "train", "weights"]),
            ("test", "test", ["predict", "model", "test", "--output", "test"]),
            ("model", "model", ["predict", "model", "test", "--output", "model"]),
            ("test", "test", ["evaluate", "model", "test", "--per-label", "test"]),
            ("model", "model", ["report", "model", "test", "--output", "model"]),
            ("test", "test", ["compress", "model", "test", "--output", "test"]),
            ("flat", "flat", ["export", "flat", "flat"]),
            ("liblinear", "liblinear", ["import", "liblinear", "liblinear"]),
        ):
            with self.subTest(" ".join(verb)):
                before = self.read(read)
                message = f"{result}: the result would replace {read}, which is read"
                self.assert_fails(3, message, *verb)
                self.assertEqual(self.read(read), before)

    def test_of_shards_replace_neither_data_nor_shards(self) -> None:
        plan = ["plan-shards", "--method", "flat-svm", "--shards", "1", "--quiet", "train", "work"]
        self.run_program(*plan)
        self.run_program("train-shard", "work", "0", "--quiet")
        for result in ("work/data.safetensors", "work/shard-00000.safetensors"):
            with self.subTest(result):
                before = self.read(result)
                message = f"{result}: the result would replace {result}, which is read"
                self.assert_fails(3, message, "merge-shards", "work", result)
                self.assertEqual(self.read(result), before)
        os.symlink("work/data.safetensors", self.path("model"))
        self.assert_fails(3, "model: the result would replace work/data", "merge-shards", "work",
                          "model")  # fmt: skip
        plan[-2:] = ["work/data.safetensors", "work"]
        self.assert_fails(3, "work/data.safetensors: the result would replace work/data", *plan)
        plan[-2:] = ["train", "train"]
        self.assert_fails(3, "train: the result would replace train, which is read", *plan)
        os.remove(self.path("model"))
        self.run_program("merge-shards", "work", "work/model", "--quiet")

    def test_of_one_verb_do_not_replace_each_other(self) -> None:
        self.write("old", "old\n")
        os.symlink("old", self.path("name"))
        for rows_file, tree in (("new", "new"), ("./new", "new"), ("old", "old"), ("old", "name")):
            with self.subTest(rows=rows_file, tree=tree):
                self.assert_fails(
                    3, f"{rows_file}: the result would replace {tree}, another result", "generate",
                    "balanced", rows_file, "--hierarchy", tree,
                )  # fmt: skip
                self.assertEqual(self.read("old"), b"old\n")
        self.assertFalse(os.path.exists(self.path("new")))
        self.run_program("generate", "balanced", "--num-rows", "5", "/dev/null", "--hierarchy",
                         "/dev/null")  # fmt: skip


class Pipes(CliTest):
    def test_that_nobody_reads_any_longer_lose_no_model(self) -> None:
        self.train(model="expected")
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run(
            [MARGROVE, "train", "--method", "nhsvm", "--hierarchy", "tree", "train", "model"],
            cwd=self.directory.name, stdout=subprocess.PIPE, stderr=writer, check=False,
        )  # fmt: skip
        os.close(writer)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(self.read("model"), self.read("expected"))


class Threads(CliTest):
    @unittest.skipUnless(sys.platform == "linux", "affinity is Linux's")
    def test_keep_to_the_cores_of_the_process(self) -> None:
        self.write("hard", rows(3000, 3))
        core = min(os.sched_getaffinity(0))
        running = subprocess.Popen(
            [MARGROVE, "train", "--method", "nhsvm", "--hierarchy", "tree", "--tolerance", "1e-14",
             "--max-passes", "100000000", "--C", "1e6", "hard", "model"],
            cwd=self.directory.name, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            preexec_fn=lambda: os.sched_setaffinity(0, {core}),  # noqa: PLW1509
        )  # fmt: skip
        assert running.stderr is not None
        self.assertIn("training takes about", running.stderr.readline())
        time.sleep(0.2)
        with open(f"/proc/{running.pid}/status", encoding="utf-8") as status:
            count = next(line.split()[1] for line in status if line.startswith("Threads:"))
        running.terminate()
        running.communicate(timeout=300)
        self.assertEqual(count, "1")


if __name__ == "__main__":
    unittest.main()
