"""The verb auto: the choice, the table, limits of time and memory, interruptions, bad options."""

# ruff: noqa: PT009 - unittest, so that it runs with nothing installed

import json
import os
import random
import re
import shlex
import signal
import subprocess
import unittest
from collections.abc import Callable

from counted_clock import STEP_SECONDS, run_counted
from test_cli import MARGROVE, CliTest


def products(count: int, seed: int) -> str:
    """Rows whose label is the product of two signs, which no linear method can tell."""
    rng = random.Random(seed)
    lines = []
    for _ in range(count):
        a, b = rng.choice((-1, 1)), rng.choice((-1, 1))
        x, z = a + rng.gauss(0, 0.3), b + rng.gauss(0, 0.3)
        lines.append(f"{'same' if a == b else 'other'} 1:{x:.4f} 2:{z:.4f}\n")
    return "".join(lines)


def words(count: int, seed: int, labels: int = 20) -> str:
    """Documents whose words tell their label."""
    rng = random.Random(seed)
    lines = []
    for k in range(count):
        label = k % labels
        text = [f"w{label}" if rng.random() < 0.6 else f"w{rng.randrange(labels)}"]
        text += [f"v{rng.randrange(3000)}" for _ in range(12)]
        lines.append(f"l{label}\t{' '.join(text)}\n")
    return "".join(lines)


class AutoTest(CliTest):
    def auto(self, *arguments: str, code: int = 0) -> tuple[str, str]:
        return self.run_program("auto", *arguments, code=code)

    def accuracy(self, data: str = "test", *options: str) -> float:
        out = self.run_program("evaluate", "model", data, "--json", *options)[0]
        return float(json.loads(out)["accuracy"])


class Auto(AutoTest):
    def test_chooses_the_simplest_of_equals_and_says_why(self) -> None:
        out, _ = self.auto("--hierarchy", "tree", "train", "model")
        table = out.splitlines()
        self.assertRegex(table[0], r"^candidate +rows +accuracy +difference +seconds$")
        self.assertRegex(
            table[1], r"^flat-svm --loss squared-hinge --C [\d.]+ +96 +1\.0000 .*chosen"
        )
        self.assertIn("hr-lr --C", out)
        self.assertIn("within one standard error", out)
        self.assertIn("measured on 5 folds of 120 rows", out)
        self.assertIn("reason: flat-svm --loss squared-hinge", out)
        self.assertNotIn("time limit", out)
        self.assertEqual(self.accuracy(), 1.0)

    def test_seconds_of_the_processor(self) -> None:
        self.write("products", products(300, 1))
        out, _ = self.auto("--time", "cpu", "--time-limit-seconds", "1000", "products", "model")
        self.assertRegex(out.splitlines()[1], r"^(kernel-ridge|average-mkl) ")
        self.assertIn("5 folds of 300 rows", out)
        _, err = self.auto("--time", "sun", "products", "model", code=2)
        self.assertIn("option time is 'sun', but must be one of wall, cpu", err)

    def reproduced(self, *arguments: str) -> str:
        """The command that `auto` prints, after it has made the same model."""
        out, _ = self.run_program("auto", *arguments, "model file")
        (line,) = (line for line in out.splitlines() if line.startswith("the same by: "))
        model = self.read("model file")
        program, *command = shlex.split(line.removeprefix("the same by: "))
        self.assertEqual(program, "margrove")
        self.write("model file", "")
        self.run_program(*command)
        self.assertEqual(self.read("model file"), model)
        return line

    def test_the_command_that_it_prints_makes_the_same_model(self) -> None:
        line = self.reproduced("--hierarchy", "tree", "--seed", "3", "train")
        self.assertIn(" --hierarchy tree ", line)
        self.assertIn(" --seed 3 ", line)
        self.write("documents", words(40, 1, labels=2))
        line = self.reproduced(
            "--text", "--word-ngrams", "1-2", "--sublinear-tf=false", "documents"
        )
        self.assertIn(" --text --sublinear-tf=false --word-ngrams 1-2 documents 'model file'", line)
        rows = "the title,kind\n" + "red apple,fruit\nfast car,car\n" * 5
        self.write("two words.csv", rows)
        columns = ["--text-column", "the title", "--label-column", "kind", "two words.csv"]
        line = self.reproduced(*columns)
        self.assertIn(" --text-column 'the title' --label-column kind 'two words.csv'", line)

    def test_chooses_a_kernel_where_no_linear_method_can_win(self) -> None:
        self.write("xor", products(200, 1))
        self.write("new", products(100, 2))
        out, _ = self.auto("xor", "model")
        self.assertRegex(out, r"(?m)^(kernel-ridge|average-mkl).* chosen$")
        self.assertIn("left out: nhsvm: it needs a hierarchy\n", out)
        self.assertGreater(self.accuracy("new"), 0.9)

    def test_does_not_depend_on_threads(self) -> None:
        tables = []
        for threads in ("1", "3"):
            out, _ = self.auto("--hierarchy", "tree", "--threads", threads, "train", threads)
            table = out.split("\n\n")[0].splitlines()
            tables.append([re.sub(r" +\d+\.\d( |$)", " ", line) for line in table])
        self.assertEqual(*tables)
        self.assertEqual(self.read("1"), self.read("3"))

    def test_several_labels_and_any_metric(self) -> None:
        lines = self.read("train").decode().splitlines()
        several = [
            line.replace(" ", ",b3 ", 1) if k % 3 == 0 else line for k, line in enumerate(lines)
        ]
        self.write("several", "\n".join(several) + "\n")
        out, _ = self.auto("--hierarchy", "tree", "several", "model")
        self.assertRegex(out, r"^candidate +rows +micro_f1 ")
        self.assertIn(
            "left out: flat-svm --multiclass crammer-singer: it is for rows with one label each",
            out,
        )
        for metric in ("hierarchical_f1", "hamming_loss", "au_prc", "f_max", "ndcg_at_3"):
            out, _ = self.auto("--metric", metric, "several", "model")
            self.assertIn(f" {metric} ", out.splitlines()[0])

    def test_metrics_of_scores_do_not_depend_on_threads(self) -> None:
        outputs = []
        for threads in ("1", "3"):
            out, _ = self.auto("--hierarchy", "tree", "--metric", "au_prc", "--threads", threads,
                               "train", threads)  # fmt: skip
            outputs.append(re.sub(r" +\d+\.\d( |$)", " ", out.split("\n\n")[0], flags=re.M))
            self.assertRegex(out, r"(?m)^\S.* ± \d\.\d{4}")
        self.assertEqual(*outputs)
        self.assertEqual(self.read("1"), self.read("3"))

    def test_a_metric_that_no_model_has_is_explained_in_the_table(self) -> None:
        out, err = self.auto("--metric", "precision_at_50", "train", "model", code=3)
        self.assertIn("metric precision_at_50 was requested, but the model has fewer labels", out)
        self.assertIn("no candidate could be trained; the table has the reasons", err)
        self.assertFalse(os.path.exists(self.path("model")))

    def test_columns_of_csv_and_paths(self) -> None:
        rng = random.Random(1)
        rows = ["top,leaf,text,size"]
        for k in range(60):
            leaf = k % 4
            text = f"w{leaf} v{rng.randrange(9)} v{rng.randrange(9)}"
            rows.append(f"t{leaf // 2},l{leaf},{text},{rng.gauss(leaf, 0.2):.3f}")
        self.write("rows.csv", "\n".join(rows) + "\n")
        out, _ = self.auto("--text-column", "text", "--numeric-columns", "size",
                           "--path-columns", "top,leaf", "rows.csv", "model")  # fmt: skip
        self.assertIn("top-down-svm", out)
        self.assertIn("level-svm", out)
        self.assertGreater(self.accuracy("rows.csv"), 0.95)

    def test_stages_of_a_large_problem(self) -> None:
        self.write("text", words(11_000, 1))
        out, _ = self.auto("--text", "--time-limit-seconds", "0", "text", "model")
        self.assertIn("dropped in an earlier stage", out)
        self.assertIn("a held-out part of 11000 rows", out)
        self.assertRegex(out, r"(?m)^\S.* 2200 +\d\.\d+ .* dropped in an earlier stage$")
        self.assertRegex(out, r"(?m)^\S.* 8800 +\d\.\d+ .* chosen$")

    def test_rows_of_rare_labels(self) -> None:
        self.write("rare", "".join(f"l{k // 2} {k // 2 + 1}:1 9:{k % 3}\n" for k in range(8)))
        out, _ = self.auto("rare", "model")
        self.assertIn("chosen", out)


class Limits(AutoTest):
    def test_holds_the_time_limit_and_says_so(self) -> None:
        self.write("text", words(8000, 1, labels=200))
        limit = 30_000  # questions for the time: some candidates are measured, and not all
        done = run_counted(
            self.directory.name, "auto", "--text", "--time-limit-seconds",
            str(limit * STEP_SECONDS), "text", "model",
        )  # fmt: skip
        self.assertEqual(done.code, 0, done.err)
        if done.questions is not None:
            self.assertLess(done.questions, limit + 100)
            self.assertIn("the time limit ended the search early", done.out)
        self.assertIn(" chosen\n", done.out)
        self.run_program("info", "model")

    def test_5_where_there_is_no_time_for_anything(self) -> None:
        self.write("text", words(4000, 1))
        self.assertIn(
            "time limit",
            self.auto("--text", "--time-limit-seconds", "0.0001", "text", "model", code=5)[1],
        )
        self.assertFalse(os.path.exists(self.path("model")))

    def test_memory_that_does_not_suffice(self) -> None:
        out, err = self.auto("--memory-limit", "1e-9", "train", "model", code=3)
        self.assertIn("no method can be tried", err)
        self.assertIn("training would take about", err)
        self.assertEqual(out, "")

    def interrupt(
        self, wait: "Callable[[subprocess.Popen[str]], None]", *arguments: str
    ) -> tuple[int, str, str]:
        """Sends SIGINT to a run after what `wait` waits for."""
        process = subprocess.Popen(
            [MARGROVE, "auto", *arguments],
            cwd=self.directory.name,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        wait(process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=300)
        return process.returncode, out, err

    def test_130_when_interrupted_with_the_best_model_so_far(self) -> None:
        self.write("text", words(40_000, 1, labels=200))

        def first_trials(process: "subprocess.Popen[str]") -> None:
            assert process.stderr is not None
            while not re.search(r"auto: [1-9]\d* of \d+ trials", line := process.stderr.readline()):
                self.assertTrue(line, "the program has ended")

        code, out, err = self.interrupt(first_trials, "--text", "text", "model")
        self.assertEqual(code, 130, out + err)
        self.assertIn("the search was interrupted", out)
        self.assertIn("warning: an interruption ended the work before", err)
        self.run_program("info", "model")

    def test_130_when_interrupted_before_the_search_and_nothing_is_written(self) -> None:
        self.write("text", words(100, 1))
        os.mkfifo(self.path("pipe"))

        def reader(_: "subprocess.Popen[str]") -> None:
            self.addCleanup(os.close, os.open(self.path("pipe"), os.O_WRONLY))

        code, out, err = self.interrupt(reader, "--text", "pipe", "model")
        self.assertEqual(code, 130)
        self.assertIn("interrupted; nothing was written", err)
        self.assertEqual(out, "")
        self.assertFalse(os.path.exists(self.path("model")))

    def test_2_for_wrong_options(self) -> None:
        cases = [
            ("metric is 'joy', but must be one of accuracy", ["--metric", "joy"]),
            ("metric is 'brier', but must be one of accuracy", ["--metric", "brier"]),
            ("option seed is -1", ["--seed", "-1"]),
            ("option time-limit-seconds is -1", ["--time-limit-seconds", "-1"]),
            ("option part-of is given, but needs a --hierarchy FILE", ["--part-of"]),
            ("options text, tfidf and normalize", ["--tfidf", "--normalize"]),
        ]
        for message, options in cases:
            with self.subTest(options=options):
                self.assert_fails(2, message, "auto", *options, "train", "model")
        self.assert_fails(3, "absent: cannot open", "auto", "absent", "model")
        self.assert_fails(3, "nowhere", "auto", "train", "nowhere/model")
        self.write("one", "a 1:1\n")
        self.assert_fails(3, "there are 1 rows, but must be at least 2", "auto", "one", "model")
        self.write("alone", "a 1:1\na 2:1\n")
        self.run_program("auto", "alone", "model")


if __name__ == "__main__":
    unittest.main()
