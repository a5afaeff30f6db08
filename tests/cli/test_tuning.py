"""What `tune` tries: label sets, sentences, the default grid.

Run and configured like test_cli.py, whose helpers it uses.
"""

# ruff: noqa: PT009 - unittest, so that it runs with nothing installed

import gzip
import os
import random
import re
import unittest

from test_cli import CliTest


class Tuning(CliTest):
    def test_label_sets_of_structured_models_are_tuned(self) -> None:
        rng = random.Random(4)
        lines = []
        for i in range(60):
            kind = i % 3
            lines.append(f"{['a1', 'a1,b1', 'b2'][kind]} 1:{rng.random() + kind} 2:1\n")
        self.write("sets", "".join(lines))
        tune = ["tune", "--method", "structured", "--quiet", "--folds", "2", "--grid", "C=0.01,10"]
        out, _ = self.run_program(
            *tune, "--model", "hierarchy", "--hierarchy", "tree", "sets", "model"
        )
        self.assertRegex(out, r"(?m)^10\t0\.[0-9]+ .* \*$")

    def test_any_metric_of_evaluate_is_tuned_for(self) -> None:
        tune = ["tune", "--method", "flat-svm", "--quiet", "--folds", "2", "--grid", "C=0.1,1"]
        for metric in ("au_prc", "f_max", "lca_f1", "precision_at_1"):
            out, _ = self.run_program(
                *tune, "--hierarchy", "tree", "--metric", metric, "train", "model"
            )
            self.assertIn(f"C\t{metric}\n", out)
            self.assertRegex(out, r"(?m)^0\.1\t[01]\.\d{4} \(")
        for metric in ("joy", "ece", "all"):
            self.assert_fails(2, f"metric is '{metric}', but must be one of accuracy, ", *tune,
                              "--metric", metric, "train", "model")  # fmt: skip
        self.assert_fails(3, "metric ndcg_at_50 was requested, but the model has fewer labels",
                          *tune, "--metric", "ndcg_at_50", "train", "model")  # fmt: skip

    def test_rows_with_partial_labels_are_trained_on_but_not_measured(self) -> None:
        self.write("two", "p a\np b\nq c\n")
        rows = [f"{'abc'[i % 3]} {i % 3 + 1}:1\n" for i in range(30)]
        rows += [f"{'ppq'[i % 3]} {i % 3 + 1}:1\n" for i in range(30)]
        self.write("partly", "".join(rows))
        tune = ["tune", "--quiet", "--hierarchy", "two", "--folds", "3", "--grid"]
        for method in ("flat-svm", "nhsvm"):
            given = ["C=1", "--method", method, "--partial-labels", "partly", "model"]
            out, _ = self.run_program(*tune, *given)
            self.assertRegex(out, r"(?m)^1\t1\.0000 ")
        out, _ = self.run_program(*tune, "partial_labels=false,true", "--method", "flat-svm",
                                  "partly", "model")  # fmt: skip
        self.assertRegex(out, r"(?m)^true\t1\.0000 .*\*$")
        self.write("no leaf", "".join(rows[30:] + rows[:1]))
        self.assert_fails(3, "no leaf: a part of the rows to measure on has none whose label is a "
                          "leaf, but must have one", *tune, "C=1", "--method", "flat-svm",
                          "--partial-labels", "no leaf", "model")  # fmt: skip

    def test_sentences_are_tuned_in_parts(self) -> None:
        rng = random.Random(0)
        lines = []
        for _ in range(60):
            for _ in range(rng.randint(3, 6)):
                word = rng.choice("abcdefgh")
                lines.append(f"{word}\t{'X' if (word in 'abc') != (rng.random() < 0.15) else 'O'}")
            lines.append("")
        self.write("words", "\n".join(lines) + "\n")
        with gzip.open(self.path("words.gz"), "wt", newline="") as file:
            file.write("\r\n" + "\r\n".join(lines))
        tune = ["tune", "--method", "structured", "--model", "chain", "--quiet"]
        out, err = self.run_program(*tune, "words", "model")
        points = dict(re.findall(r"(?m)^([\d.]+)\t(0\.\d{4}) \(", out))
        self.assertEqual(list(points), ["0.01", "0.1", "1", "10", "100"])
        best = re.findall(r"(?m)^([\d.]+)\t(0\.\d{4}) .*\*$", out)
        self.assertEqual(best, [("0.1", max(points.values()))])
        self.assertIn("C\ttoken_accuracy\n", out)
        self.assertEqual(err, "")
        train = ["train", *tune[1:], "--C", "0.1"]
        self.run_program(*train, "words", "trained")
        self.assertEqual(self.read("model"), self.read("trained"))
        again, _ = self.run_program(*tune, "words.gz", "model", "--threads", "2")
        self.assertEqual(again.split("seconds")[0], out.split("seconds")[0])
        out, err = self.run_program(*tune, "--grid", "C=0.1,1", "--metric", "sentence_accuracy",
                                    "--holdout", "0.3", "words", "model")  # fmt: skip
        self.assertIn("C\tsentence_accuracy\n", out)
        self.assertIn("warning: the best C, ", err)
        trees = "1\tthe\t_\tDET\t_\t_\t2\tdet\t_\t_\n2\tdog\t_\tNOUN\t_\t_\t0\troot\t_\t_\n\n"
        self.write("trees", trees * 9)
        tune[4] = "dependency"
        self.assertIn("C\tlas\n", self.run_program(*tune, "--grid", "C=1", "trees", "model")[0])
        self.write("broken", trees * 3 + "1\tthe\n\n")
        self.assert_fails(3, "broken:10:", *tune, "broken", "model")
        for metric in ("accuracy", "uas,las"):
            self.assert_fails(2, f"metric is '{metric}', but must be one of uas, las", *tune,
                              "--metric", metric, "trees", "model")  # fmt: skip

    def test_sentences_from_a_pipe_are_refused(self) -> None:
        os.mkfifo(self.path("pipe"))
        arguments = ["tune", "--method", "structured", "--model", "chain", "pipe", "m"]
        self.assert_fails(2, "pipe: tune reads the examples more than once", *arguments)

    def test_the_default_grid_goes_beyond_its_ends(self) -> None:
        # All labels are right with any C, so that the smallest is taken and smaller ones are tried.
        self.write("easy", "a 1:1\nb 2:1\n" * 9)
        out, err = self.run_program("tune", "--method", "flat-svm", "--quiet", "easy", "model")
        self.assertEqual(re.findall(r"(?m)^([\d.e-]+)\t1\.0", out),
                         ["1e-05", "0.0001", "0.001", "0.01", "0.1", "1", "10", "100"]
                         )  # fmt: skip
        self.assertIn("warning: the best C, 1e-05, is the smallest that was tried; smaller ones ma",
                      err)  # fmt: skip

    def test_a_grid_may_hold_options_of_the_preprocessing(self) -> None:
        stems = ["walk", "talk", "jump", "work", "play", "call", "look", "help"]
        rows = [f"verbs\tthey {s}ing\nnouns\tthey {s}er\n" for s in stems]
        self.write("texts", "".join(rows))
        tune = ["tune", "--method", "flat-svm", "--text", "--quiet"]
        out, _ = self.run_program(*tune, "--grid", "char-ngrams=none,3", "texts", "model")
        self.assertRegex(out, r"(?m)^3\t1\.0000 .*\*$")
        self.run_program("train", "--method", "flat-svm", "--text", "--quiet", "--char-ngrams", "3",
                         "texts", "trained")  # fmt: skip
        self.assertEqual(self.run_program("predict", "model", "texts")[0],
                         self.run_program("predict", "trained", "texts")[0])  # fmt: skip
        _, err = self.run_program(*tune, "--grid", "char-ngrams=3-2", "texts", "model", code=2)
        self.assertIn("lengths are '3-2'", err)
        _, err = self.run_program(*tune, "--grid", "char-grams=3", "texts", "model", code=2)
        self.assertIn("unknown option char_grams", err)


class Terms(CliTest):
    """`--terms auto`: the search for the terms of texts."""

    def setUp(self) -> None:
        super().setUp()
        stems = ["walk", "talk", "jump", "work", "play", "call", "look", "help"]
        ends = {"verb": "ing", "noun": "er"}  # they decide
        rows = [f"{label}\tthey {stem}{end}\n" for stem in stems for label, end in ends.items()]
        self.write("texts", "".join(rows))

    def chosen_by(self, *arguments: str) -> tuple[list[str], str]:
        """The options that are printed as chosen, and all that is printed."""
        out, _ = self.run_program(*arguments, "--text", "--terms", "auto", "--quiet", "texts",
                                  "model")  # fmt: skip
        match = re.search(r"(?m)^terms\tword-ngrams (\S+), char-ngrams (\S+)\nseconds_terms\t", out)
        assert match is not None, out
        table = out[: match.start()].splitlines()
        self.assertRegex(table[0], r"^word_ngrams\tchar_ngrams\t")
        self.assertEqual(len(table), 6)
        self.assertEqual(sum(line.endswith(" *") for line in table), 1)
        self.assertNotEqual(match[2], "none")
        return ["--word-ngrams", match[1], "--char-ngrams", match[2]], out

    def same_model(self, *arguments: str) -> None:
        self.run_program(*arguments, "--text", "--quiet", "texts", "same")
        self.assertEqual(self.read("same"), self.read("model"))

    def test_train_keeps_the_chosen_terms(self) -> None:
        for method in ("flat-svm", "flat-lr"):
            train = ["train", "--method", method]
            terms, _ = self.chosen_by(*train)
            self.same_model(*train, *terms)

    def test_tune_chooses_terms_before_the_grid(self) -> None:
        tune = ["tune", "--method", "flat-svm", "--folds", "2", "--grid", "C=0.1,1"]
        terms, out = self.chosen_by(*tune)
        self.assertRegex(out, r"(?m)^seconds_terms\t[0-9.]+\nC\tmicro_f1\n")
        self.same_model(*tune, *terms)

    def test_auto_chooses_terms_before_the_method(self) -> None:
        terms, out = self.chosen_by("auto")
        again = re.search(r"(?m)^the same by: margrove (.*) texts model$", out)
        assert again is not None, out
        self.assertNotIn("--terms", again[1])
        self.assertIn(" ".join(terms), again[1])
        self.same_model(*again[1].replace("--text ", "").split())

    def test_tune_and_auto_search_by_default(self) -> None:
        rows = self.read("texts").decode()
        self.write("texts", rows * 63)  # 1,008
        for command in (["auto"], ["tune", "--method", "flat-svm", "--grid", "C=0.1,1"]):
            asked, _ = self.run_program(*command, "--text", "--terms", "auto", "--quiet", "texts",
                                        "model")  # fmt: skip
            self.assertIn("seconds_terms", asked)
            out, _ = self.run_program(*command, "--text", "--quiet", "texts", "same")
            self.assertEqual(self.read("same"), self.read("model"))
            self.assertEqual(out.splitlines()[:7], asked.splitlines()[:7])
            # Lengths that are given stay, even where they are the default ones.
            for given in (["--terms", "given"], ["--word-ngrams", "1-2"], ["--char-ngrams", "4"]):
                out, _ = self.run_program(*command, *given, "--text", "--quiet", "texts", "same")
                self.assertNotIn("seconds_terms", out)
        out, _ = self.run_program("tune", "--method", "flat-svm", "--grid", "char-ngrams=none,4",
                                  "--text", "--quiet", "texts", "same")  # fmt: skip
        self.assertNotIn("seconds_terms", out)
        self.write("texts", rows * 62)  # 992: too few
        out, _ = self.run_program("tune", "--method", "flat-svm", "--grid", "C=0.1,1", "--text",
                                  "--quiet", "texts", "same")  # fmt: skip
        self.assertNotIn("seconds_terms", out)

    def test_shards_are_of_the_chosen_terms(self) -> None:
        out, _ = self.run_program("plan-shards", "--method", "flat-svm", "--text", "--terms",
                                  "auto", "--quiet", "texts", "work")  # fmt: skip
        self.assertRegex(out, r"(?m)^terms\tword-ngrams ")

    def test_columns_of_text_are_searched_and_others_refuse_it(self) -> None:
        with open(self.path("texts"), encoding="utf-8") as file:
            rows = [line.rstrip("\n").split("\t") for line in file]
        self.write("rows.csv", "kind,words,size\n" + "".join(
            f"{label},{text},{len(text)}\n" for label, text in rows))  # fmt: skip
        train = ["train", "--method", "flat-svm", "--quiet", "--terms", "auto", "--label-column",
                 "kind"]  # fmt: skip
        out, _ = self.run_program(*train, "--text-column", "words", "--numeric-columns", "size",
                                  "rows.csv", "model")  # fmt: skip
        self.assertRegex(out, r"(?m)^terms\t")
        no_texts = "option terms is auto, but the rows have no texts"
        self.assert_fails(2, no_texts, *train, "--numeric-columns", "size", "rows.csv", "model")
        self.write("numbers", "a 1:1\nb 2:1\n")
        self.assert_fails(2, no_texts, *train[:6], "numbers", "model")

    def test_contradictions_are_refused(self) -> None:
        auto = ["--text", "--terms", "auto"]
        chooses = "option terms is auto, which chooses {0}, but option {0} is given, too"
        for verb in ("train", "tune"):
            flat = [verb, "--method", "flat-svm", *auto]
            self.assert_fails(2, chooses.format("word-ngrams"), *flat, "--word-ngrams", "2",
                              "texts", "model")  # fmt: skip
            self.assert_fails(2, "option terms is given, but method structured reads examples that "
                              "are not rows", verb, "--method", "structured", "--model", "chain",
                              "--terms", "auto", "texts", "model")  # fmt: skip
        self.assert_fails(2, chooses.format("char-ngrams"), "auto", *auto, "--char-ngrams", "3",
                          "texts", "model")  # fmt: skip
        tune = ["tune", "--method", "flat-svm", "--text"]
        self.assert_fails(2, chooses.format("char-ngrams") + ", in the grid", *tune, "--terms",
                          "auto", "--grid", "char-ngrams=3,4", "texts", "model")  # fmt: skip
        self.assert_fails(2, "option grid gives terms", *tune, "--grid", "terms=auto", "texts",
                          "model")  # fmt: skip
        self.assertFalse(os.path.exists(self.path("model")))

    def test_the_time_limit_ends_the_search(self) -> None:
        for verb in (["train", "--method", "flat-svm"], ["tune", "--method", "flat-svm"], ["auto"]):
            limit = ["--time-limit-seconds", "1e-9"]
            self.run_program(*verb, "--text", "--terms", "auto", *limit, "texts", "model", code=5)
            self.assertFalse(os.path.exists(self.path("model")))


if __name__ == "__main__":
    unittest.main()
