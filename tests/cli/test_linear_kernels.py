"""Option kernel_features of linear methods from outside.

Run and configured like test_cli.py, whose helpers it uses.
"""

# ruff: noqa: PT009 - unittest, so that it runs with nothing installed

import math
import random
import unittest
from pathlib import Path

from test_cli import KERNEL_METHODS, CliTest

TREE = "root near\nroot far\nnear n1\nnear n2\nfar f1\nfar f2\n"
LINEAR = ("flat-svm", "flat-lr", "top-down-svm", "label-trees", "level-svm", "hr-svm", "hr-lr",
          "hsvm", "nhsvm", "shared-svm")  # fmt: skip
CHOICES = ("nystroem:60", "fourier:300")


def rings(count: int, seed: int) -> str:
    """Four rings around the origin, which no linear classifier tells apart."""
    rng = random.Random(seed)
    lines = []
    for _ in range(count):
        ring = rng.randrange(4)
        angle, radius = rng.uniform(0, 2 * math.pi), 1 + ring + rng.uniform(-0.25, 0.25)
        x, y = radius * math.cos(angle), radius * math.sin(angle)
        lines.append(f"{('n1', 'n2', 'f1', 'f2')[ring]} 1:{x:.4f} 2:{y:.4f}\n")
    return "".join(lines)


class KernelFeatures(CliTest):
    def setUp(self) -> None:
        super().setUp()
        self.write("rings.tree", TREE)
        self.write("rings", rings(400, 1))
        self.write("rings.test", rings(200, 2))

    def train_rings(self, *options: str, method: str = "flat-svm", model: str = "model") -> str:
        return self.run_program("train", "--method", method, "--quiet", "--hierarchy",
                                "rings.tree", "--C", "10", "--scale", "none", *options, "rings",
                                model)[0]  # fmt: skip

    def accuracy(self, model: str = "model") -> float:
        out, _ = self.run_program("evaluate", model, "rings.test")
        return next(float(line.split()[1]) for line in out.splitlines() if line.startswith("acc"))

    def test_every_linear_method_learns_what_is_not_linear(self) -> None:
        for method in LINEAR:
            with self.subTest(method=method):
                self.train_rings(method=method)
                self.assertLess(self.accuracy(), 0.6)
                for choice in CHOICES:
                    self.train_rings("--kernel-features", choice, "--kernel-gamma", "1",
                                     method=method)  # fmt: skip
                    self.assertGreater(self.accuracy(), 0.9, choice)

    def test_same_model_and_answers_on_any_number_of_threads(self) -> None:
        for choice in CHOICES:
            given = ("--kernel-features", choice)
            self.train_rings(*given, "--threads", "1", model="one")
            self.train_rings(*given, "--threads", "3", model="three")
            self.assertEqual(self.read("one"), self.read("three"))
            answers = [
                self.run_program("predict", "one", "rings.test", "--scores", "--top", "4",
                                 "--threads", threads)[0]
                for threads in ("1", "3")
            ]  # fmt: skip
            self.assertEqual(answers[0], answers[1])
            self.train_rings(*given, "--seed", "7", model="other")
            self.assertNotEqual(self.read("one"), self.read("other"))

    def test_info_says_what_the_features_are(self) -> None:
        for choice in CHOICES:
            self.train_rings("--kernel-features", choice, "--kernel-gamma", "0.5")
            out, _ = self.run_program("info", "model")
            self.assertRegex(out, f"(?m)^kernel features\\s+{choice}$")
            self.assertRegex(out, "(?m)^gamma of kernel features\\s+0.5$")

    def test_texts_and_counts_and_records_have_them_too(self) -> None:
        words = [("fruit", "red apple tree"), ("car", "fast red car"), ("fruit", "green pear"),
                 ("car", "slow old bus")]  # fmt: skip
        self.write("texts", "".join(f"{label}\t{text}\n" for label, text in words * 5))
        records = "".join(f"{label},{text},{len(text)}\n" for label, text in words * 5)
        self.write("table.csv", "kind,title,price\n" + records)
        self.write("counts", "a 1:3 2:1\nb 2:4 3:1\n" * 9)
        columns = ["--text-column", "title", "--numeric-columns", "price", "--label-column", "kind"]
        for choice in ("nystroem:20", "fourier:200"):
            for options, data in (
                (["--text"], "texts"),
                (columns, "table.csv"),
                (["--tfidf"], "counts"),
                (["--normalize"], "counts"),
            ):
                self.run_program("train", "--method", "flat-svm", "--quiet", *options,
                                 "--kernel-features", choice, data, "model")  # fmt: skip
                out, _ = self.run_program("evaluate", "model", data)
                self.assertRegex(out, r"accuracy +1\.0000", (choice, options))

    def test_tune_takes_a_grid_of_them(self) -> None:
        out, _ = self.run_program("tune", "--method", "flat-svm", "--quiet", "--folds", "3",
                                  "--grid", "kernel-features=none,nystroem:40", "--grid",
                                  "C=1,10", "rings", "model")  # fmt: skip
        self.assertIn("nystroem:40", out)
        self.assertGreater(self.accuracy(), 0.9)
        self.assertRegex(self.run_program("info", "model")[0], "kernel features\\s+nystroem:40")

    def test_weighted_rows_count_as_repeated_ones(self) -> None:
        self.run_program("train", "--method", "flat-svm", "--quiet", "--class-weight", "balanced",
                         "--kernel-features", "nystroem:50", "rings", "model")  # fmt: skip
        self.assertGreater(self.accuracy(), 0.9)

    def test_report_and_explanation_have_parts_of_nodes_and_none_of_features(self) -> None:
        self.train_rings("--kernel-features", "nystroem:20", method="hr-svm")
        self.run_program("report", "model", "rings.test", "--output", "page.html")
        self.assertIn(b"<html", self.read("page.html"))
        out, _ = self.run_program("explain", "model", "rings.test", "--row", "1", "--features", "0")
        self.assertRegex(out, "near|far")
        self.assert_fails(3, "explanation of features (0 of them: the parts of nodes): the model "
                          "has weights of kernel features (option kernel_features nystroem:20), "
                          "not of the columns of rows",
                          "explain", "model", "rings.test", "--row", "1")  # fmt: skip

    def test_they_are_not_exported(self) -> None:
        self.run_program("train", "--method", "flat-svm", "--quiet", "--kernel-features",
                         "nystroem:20", "train", "model")  # fmt: skip
        self.assert_fails(3, "export to LIBLINEAR: the model has weights of kernel features",
                          "export", "model", "exported")  # fmt: skip

    def test_what_is_wrong_is_named(self) -> None:
        flat = ("train", "--method", "flat-svm", "--quiet")
        number = "but the number of features must be from 1 to 65536"
        for text, message in (
            ("nystroem:0", number),
            ("fourier:-3", number),
            ("fourier:many", number),
            ("rbf:100", "but must be none, nystroem:N or fourier:N, for N features"),
        ):
            self.assert_fails(2, f"option kernel-features is '{text}', {message}",
                              *flat, "--kernel-features", text, "rings", "model")  # fmt: skip
        self.assert_fails(2, "option kernel-gamma is -1, but must be >= 0",
                          *flat, "--kernel-features", "fourier:9", "--kernel-gamma", "-1",
                          "rings", "model")  # fmt: skip
        self.assert_fails(2, "option kernel-gamma is 1, but kernel-features is none",
                          *flat, "--kernel-gamma", "1", "rings", "model")  # fmt: skip
        self.assert_fails(3, "option kernel-features is fourier:65536, but training would take "
                          "about", *flat, "--kernel-features", "fourier:65536", "--memory-limit",
                          "0.1", "rings", "model")  # fmt: skip
        self.assert_fails(2, "option kernel-features is given, but auto does not offer it",
                          "auto", "--quiet", "--kernel-features", "fourier:9", "rings",
                          "model")  # fmt: skip

    def test_methods_with_kernels_of_their_own_take_none(self) -> None:
        for method in (*KERNEL_METHODS, "kernel-ridge"):
            self.assert_fails(2, f"option kernel-features is given, but method {method} takes none",
                              "train", "--method", method, "--quiet", "--hierarchy", "rings.tree",
                              "--kernel-features", "fourier:9", "rings", "model")  # fmt: skip
        rows = ("train", "--method", "structured", "--model", "multilabel-field", "--quiet",
                "--kernel-features", "fourier:9", "rings", "model")  # fmt: skip
        self.assert_fails(2, "option kernel-features is given, but method structured takes none",
                          *rows)  # fmt: skip
        self.assert_fails(2, "option match-names is given, but the columns are kernel features",
                          *self.named_texts())  # fmt: skip

    def named_texts(self) -> tuple[str, ...]:
        """A training with the names of labels as texts."""
        self.write("names.obo", "format-version: 1.2\n\n[Term]\nid: T:1\nname: red apple\n\n"
                   "[Term]\nid: T:2\nname: fast car\n")  # fmt: skip
        self.write("named", "T:1\tred apple\nT:2\tfast car\n" * 4)
        return ("train", "--method", "flat-svm", "--quiet", "--text", "--match-names",
                "--hierarchy", "names.obo", "--kernel-features", "fourier:9", "named",
                "model")  # fmt: skip


class LearnedKernels(CliTest):
    """Option kernel_model."""

    def setUp(self) -> None:
        super().setUp()
        self.write("rings.tree", TREE)
        self.write("rings", rings(400, 1))
        self.write("rings.test", rings(200, 2))
        self.write("few", rings(100, 3))
        self.run_program("train", "--method", "spn-mkl", "--quiet", "--scale", "none", "few",
                         "learned")  # fmt: skip
        self.given = ("--quiet", "--kernel-features", "nystroem:60", "--kernel-model", "learned")

    def test_every_linear_method_takes_one_and_needs_it_no_more(self) -> None:
        for method in LINEAR:
            with self.subTest(method=method):
                self.run_program("train", "--method", method, "--hierarchy", "rings.tree",
                                 *self.given, "rings", f"of-{method}")  # fmt: skip
        Path(self.path("learned")).unlink()
        for method in LINEAR:
            out, _ = self.run_program("evaluate", f"of-{method}", "rings.test")
            self.assertRegex(out, r"accuracy +(0\.9|1\.)", method)
        self.run_program("explain", "of-hr-svm", "rings.test", "--row", "1", "--features", "0")
        self.run_program("report", "of-hr-svm", "rings.test", "--output", "page.html")
        out, _ = self.run_program("info", "of-flat-svm")
        self.assertRegex(out, "(?m)^kernel features\\s+nystroem:60$")
        self.assertRegex(out, "(?m)^kernel of kernel features\\s+learned, [1-5] kernels? on")
        self.assertRegex(out, "(?m)^network of kernel features\\s")
        self.assertNotIn("gamma of kernel features", out)

    def test_the_kernel_of_a_model_with_such_features_is_the_same(self) -> None:
        train = ("train", "--method", "flat-svm")
        self.run_program(*train, *self.given, "rings", "one")
        self.run_program(*train, *self.given[:-1], "one", "rings", "two")
        self.assertEqual(self.read("one"), self.read("two"))

    def test_shards_tuning_and_threads_give_the_same(self) -> None:
        self.run_program("train", "--method", "flat-svm", *self.given, "rings", "model")
        self.run_program("train", "--method", "flat-svm", *self.given, "--threads", "3", "rings",
                         "three")  # fmt: skip
        self.run_program("plan-shards", "--method", "flat-svm", "--shards", "2", *self.given,
                         "rings", "work")  # fmt: skip
        for shard in ("0", "1"):
            self.run_program("train-shard", "work", shard, "--quiet")
        self.run_program("merge-shards", "work", "merged", "--quiet")
        self.run_program("tune", "--method", "flat-svm", "--folds", "3", "--grid",
                         "kernel-features=nystroem:3,nystroem:60", *self.given, "rings",
                         "tuned")  # fmt: skip
        scores = [
            self.run_program("predict", model, "rings.test", "--top", "4", "--scores")[0]
            for model in ("model", "three", "merged", "tuned")
        ]
        self.assertEqual(len(set(scores)), 1)

    def test_views_are_those_of_the_model(self) -> None:
        lines = rings(100, 4).splitlines()
        self.write("first", "".join(" ".join(line.split()[:2]) + "\n" for line in lines))
        second = (f"{line.split()[0]} 1:{line.split()[2][2:]}\n" for line in lines)
        self.write("second", "".join(second))
        view = ("--view", "y=second")
        self.run_program("train", "--method", "spn-mkl", "--quiet", *view, "first", "of-views")
        given = ("train", "--method", "flat-svm", *self.given[:-1], "of-views")
        self.run_program(*given, *view, "first", "model")
        out, _ = self.run_program("evaluate", "model", *view, "first")
        self.assertRegex(out, r"accuracy +(0\.9|1)")
        self.assert_fails(3, "comes with 0 further views, but the model has the views main, y",
                          *given, "first", "model")  # fmt: skip

    def test_what_is_wrong_is_named(self) -> None:
        flat = ("train", "--method", "flat-svm")
        rows = ("rings", "model")
        model = ("--quiet", "--kernel-model", "learned")
        needs = "; it must be nystroem:N"
        self.assert_fails(2, "option kernel-model is learned, but kernel-features is none" + needs,
                          *flat, *model, *rows)  # fmt: skip
        self.assert_fails(2, "option kernel-model is learned, but kernel-features is fourier:9"
                          + needs, *flat, *model, "--kernel-features", "fourier:9",
                          *rows)  # fmt: skip
        self.assert_fails(2, "option kernel-gamma is 1, but is for a Gaussian kernel, and the "
                          "kernel is that of kernel-model learned", *flat, *self.given,
                          "--kernel-gamma", "1", *rows)  # fmt: skip
        own = "is given, but rows get the preprocessing of kernel-model learned"
        for option in (("--scale", "none"), ("--scale", "standard"), ("--normalize",)):
            self.assert_fails(2, f"option {option[0][2:]} {own}", *flat, *self.given, *option,
                              *rows)  # fmt: skip
        self.assert_fails(2, f"option scale {own}", "tune", "--method", "flat-svm", "--folds", "2",
                          "--grid", "scale=none,standard", *self.given, *rows)  # fmt: skip
        self.write("wide", "".join(f"{line} 3:1\n" for line in rings(40, 1).splitlines()))
        self.assert_fails(3, "wide: the rows have 3 columns, but kernel-model learned takes 2",
                          *flat, *self.given, "wide", "model")  # fmt: skip
        self.run_program(*flat, "--quiet", "rings", "flat")
        self.assert_fails(3, "flat: its method is flat-svm, but option kernel-model needs a model "
                          "of average-mkl, lp-mkl, simple-mkl or spn-mkl", *flat, *self.given[:-1],
                          "flat", *rows)  # fmt: skip
        self.assert_fails(4, "absent: ", *flat, *self.given[:-1], "absent", *rows)
        for method in ("spn-mkl", "kernel-ridge"):
            self.assert_fails(2, f"option kernel-model is given, but method {method} takes none; "
                              "kernel features, also those of a kernel-model, are for methods "
                              "that are linear in the columns, such as flat-svm", "train",
                              "--method", method, *model, *rows)  # fmt: skip
        self.assert_fails(2, "option kernel-features is given, but auto does not offer it",
                          "auto", *self.given, *rows)  # fmt: skip
        self.assert_fails(3, "option kernel-features is nystroem:60, but training would take about",
                          *flat, *self.given, "--memory-limit", "0.0001", *rows)  # fmt: skip


if __name__ == "__main__":
    unittest.main()
