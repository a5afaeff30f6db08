"""margrove compress. Run and configured like test_cli.py, whose helpers it uses."""

# ruff: noqa: PT009 - unittest, so that it runs with nothing installed

import statistics
import unittest
from pathlib import Path

from test_cli import KERNEL_METHODS, LINEAR_METHODS, CliTest, rows

TOP = ("--top", "3", "--scores", "--quiet")


class Compress(CliTest):
    def table(self, *arguments: str) -> dict[str, list[float]]:
        """The lines of the table: by share, size, metric and share of equal answers."""
        out, _ = self.run_program("compress", "model", *arguments, "--output", "small", "--quiet")
        _, *lines = out.splitlines()
        return {first: [float(x) for x in rest] for first, *rest in map(str.split, lines)}

    def test_training_names_it_for_a_large_model(self) -> None:
        # Each row has a label of its own; all weights of 700 labels and 20,000 columns are needed.
        columns = [range(k % 700 + 1, 20_001, 700) for k in range(700)]
        lines = (f"l{k} " + " ".join(f"{j}:1" for j in of) for k, of in enumerate(columns))
        self.write("many", "\n".join(lines) + "\n")
        train = ["train", "--quiet", "--method", "flat-svm", "--bias", "0"]
        large = self.run_program(*train, "many", "large.model")[0]
        self.assertGreater((Path(self.directory.name) / "large.model").stat().st_size, 50_000_000)
        self.assertIn("hint\t`margrove compress --output SMALLER large.model` makes it smaller\n",
                      large)  # fmt: skip
        self.write("few", "a 1:1\nb 2:1\n")
        self.assertNotIn("hint", self.run_program(*train, "few", "small.model")[0])

    def test_all_weights_as_float32_predict_as_before(self) -> None:
        for method in LINEAR_METHODS:
            with self.subTest(method):
                self.train(method=method)
                self.run_program(
                    "compress", "model", "--precision", "float32", "--output", "small", "--quiet"
                )
                before, _ = self.run_program("predict", "model", "test", *TOP)
                after, _ = self.run_program("predict", "small", "test", *TOP)
                self.assertEqual(after, before)
                info, _ = self.run_program("info", "small")
                self.assertIn("format version             4", info)
                self.assertIn("compressed to              float32", info)
                self.assertNotIn("relative gap", info)

    def test_int8_is_the_default_and_smaller(self) -> None:
        # Fifty labels of words of their own, and words that all share.
        words = "".join(f"l{i % 50}\tw{i % 50} v{i % 7} u{i % 11} t{i}\n" for i in range(1000))
        self.write("texts", words)
        self.run_program("train", "--method", "flat-svm", "--text", "--quiet", "texts", "model")
        self.run_program("compress", "model", "--output", "small", "--quiet")
        out, _ = self.run_program("info", "small")
        self.assertIn("compressed to              int8", out)
        before, _ = self.run_program("predict", "model", "texts", "--quiet")
        after, _ = self.run_program("predict", "small", "texts", "--quiet")
        self.assertEqual(after, before)
        self.run_program(
            "compress", "model", "--precision", "bfloat16", "--output", "half", "--quiet"
        )
        self.assertLess(len(self.read("half")), len(self.read("model")))
        self.assertLess(len(self.read("small")), len(self.read("half")))

    def test_compressing_again_changes_nothing(self) -> None:
        self.train()
        small = ("--keep", "0.5", "--output", "small", "--quiet")
        self.run_program("compress", "model", *small)
        self.run_program("compress", "small", "--output", "again", "--quiet")
        self.assertEqual(self.read("again"), self.read("small"))

    def test_rows_choose_the_smallest_share_that_loses_little(self) -> None:
        self.write("train", rows(600, seed=8))
        self.write("test", rows(900, seed=9))
        self.train(method="flat-svm")
        table = self.table("test", "--most-loss", "0.03")
        accuracy = table["model"][1]
        *kept, last = [share for share in table if share != "model"]
        self.assertTrue(kept)
        for share in kept:
            size, metric, error, _ = table[share]
            self.assertLessEqual(size, table["model"][0])
            spared = error if share != "1" else 0
            self.assertLessEqual(accuracy - metric + spared, 0.03 + 2e-4)
        chosen = kept[-1]
        if accuracy - table[last][1] + table[last][2] <= 0.03:
            self.assertEqual(last, "0.01")
            chosen = last
        out, _ = self.run_program("evaluate", "small", "test", "--metrics", "accuracy", "--quiet")
        self.assertAlmostEqual(float(out.split()[-1]), table[chosen][1], delta=1e-4)

    def test_the_standard_error_is_that_of_the_paired_differences(self) -> None:
        self.train(method="flat-svm")
        _, metric, error, equal = self.table("test", "--keep", "0.2")["0.2"]
        before, _ = self.run_program("predict", "model", "test", "--quiet")
        after, _ = self.run_program("predict", "small", "test", "--quiet")
        truth = [line.split()[0] for line in self.read("test").decode().splitlines()]
        right = [[int(a == b) for a, b in zip(each.split(), truth, strict=True)]
                 for each in (before, after)]  # fmt: skip
        differences = [b - a for a, b in zip(*right, strict=True)]
        self.assertLess(equal, 1)
        self.assertAlmostEqual(metric, statistics.fmean(right[1]), delta=1e-4)
        wanted = statistics.pstdev(differences) / len(truth) ** 0.5
        self.assertAlmostEqual(error, wanted, delta=1e-4)

    def test_a_given_share_is_measured_and_taken(self) -> None:
        self.train(method="flat-svm")
        table = self.table("test", "--keep", "0.1", "--metric", "macro_f1")
        self.assertEqual(list(table), ["model", "0.1"])
        info, _ = self.run_program("info", "small")
        self.assertIn("compressed to              int8", info)

    def test_metrics_of_which_less_is_better_may_rise_only_so_far(self) -> None:
        self.train("--calibration", "0.3")
        for metric in ("tree_distance", "hamming_loss", "log_loss"):
            with self.subTest(metric):
                table = self.table("test", "--metric", metric, "--most-loss", "0.01")
                value = table["model"][1]
                self.assertGreater(table[list(table)[-1]][1], value + 0.005)
                out, _ = self.run_program(
                    "evaluate", "small", "test", "--metrics", metric, "--quiet"
                )
                self.assertLessEqual(float(out.split()[-1]), value + 0.0101)

    def test_rows_whose_labels_the_model_does_not_know_are_refused(self) -> None:
        self.train()
        self.write(
            "none", "".join(f" {line.split(' ', 1)[1]}\n" for line in rows(9, 1).splitlines())
        )
        self.write("other", rows(9, 1).replace("a", "x").replace("b", "x"))
        for data in ("none", "other"):
            self.assert_fails(
                3,
                f"{data}: no row has a label that the model knows",
                *("compress", "model", data, "--output", "small", "--quiet"),
            )

    def test_explain_and_evaluate_take_compressed_models(self) -> None:
        self.train()
        self.run_program("compress", "model", "--keep", "0.5", "--output", "small", "--quiet")
        out, _ = self.run_program("explain", "small", "test", "--row", "1")
        self.assertTrue(out)

    def test_bad_arguments_are_refused_and_nothing_is_written(self) -> None:
        self.train(method="flat-svm")
        self.write("small", "old")
        end = ("--output", "small", "--quiet")
        self.assert_fails(
            2,
            "option keep is 1.5, but must be in [0, 1]",
            *("compress", "model", "--keep", "1.5", *end),
        )
        self.assert_fails(
            2,
            "option metric is given, but no rows to measure it on",
            *("compress", "model", "--metric", "accuracy", *end),
        )
        self.assert_fails(
            2,
            "option precision is 'int3', but must be",
            *("compress", "model", "--precision", "int3", *end),
        )
        for metric in ("none", "all"):
            self.assert_fails(2, "metric", "compress", "model", "test", "--metric", metric, *end)
        self.assertEqual(self.read("small"), b"old")

    def test_models_without_such_weights_are_refused(self) -> None:
        for method in KERNEL_METHODS:
            self.run_program("train", "--method", method, "--quiet", "train", "model")
            self.assert_fails(
                3,
                f"models of method {method} cannot be compressed, but only linear models of rows",
                *("compress", "model", "--output", "small", "--quiet"),
            )


if __name__ == "__main__":
    unittest.main()
