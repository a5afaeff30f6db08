"""What evaluate and compare --flat measure, write and refuse.

Run and configured like test_cli.py, whose helpers it uses.
"""

# ruff: noqa: PT009 - unittest, so that it runs with nothing installed

import csv
import json
import unittest
from typing import Any

from test_cli import CliTest, rows


class EvaluateTest(CliTest):
    def evaluate(self, *options: str, model: str = "model", data: str = "test") -> dict[str, Any]:
        out, _ = self.run_program("evaluate", "--json", "--quiet", *options, model, data)
        values: dict[str, Any] = json.loads(out)
        return values

    def table(self, name: str) -> list[dict[str, str]]:
        with open(self.path(name), encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def train_sets(self) -> None:
        """A model of label sets: rows of a1 and b1 have both labels."""
        lines = rows(120, 1).replace("a1 ", "a1,b1 ")
        self.write("sets", lines)
        self.train("--quiet", method="hr-lr", data="sets")


class Metrics(EvaluateTest):
    def test_lines_come_in_groups(self) -> None:
        self.train()
        lines = self.run_program("evaluate", "model", "test")[0].splitlines()
        headings = ["Label sets", "Hierarchy", "Ranking of labels", "Scores of nodes", "Confidence"]
        self.assertEqual([line for line in lines if line in headings], headings)
        self.assertEqual(lines[0].split(), ["examples", "60"])

    def test_named_metrics_come_alone_and_with_the_same_values(self) -> None:
        self.train()
        every = self.evaluate("--metrics", "all")
        some = self.evaluate("--metrics", "au_prc,precision_at_2,lca_f1,accuracy_level_2")
        names = ["examples", "lca_f1", "accuracy_level_2", "precision_at_2", "au_prc"]
        self.assertEqual(list(some), names)
        for name in set(names) - {"precision_at_2"}:
            self.assertEqual(some[name], every[name])
        self.assertEqual(self.evaluate(), every)

    def test_calibrated_models_have_losses_of_probabilities(self) -> None:
        self.train()
        self.assertNotIn("log_loss", self.evaluate())
        self.write("noisy", rows(120, 1).replace("a1 ", "b2 ", 9).replace("b1 ", "a2 ", 9))
        self.train("--calibration", "0.3", data="noisy")
        self.write("noisy-test", rows(60, 2).replace("a1 ", "b2 ", 4).replace("b1 ", "a2 ", 4))
        values = self.evaluate(data="noisy-test")
        self.assertTrue(0 < values["log_loss"] < 0.8)
        self.assertTrue(0 < values["brier"] < 0.4)
        self.assertTrue(0 < values["ece"] < 0.3)
        probabilities = self.run_program(
            "predict", "model", "noisy-test", "--probabilities", "--top", "4"
        )
        truth = [line.split()[0] for line in self.read("noisy-test").decode().splitlines()]
        squares = 0.0
        for label, line in zip(truth, probabilities[0].splitlines(), strict=True):
            p = {pair.rsplit(":", 1)[0]: float(pair.rsplit(":", 1)[1]) for pair in line.split()}
            squares += sum((p[name] - (name == label)) ** 2 for name in p)
        self.assertAlmostEqual(values["brier"], squares / len(truth), places=5)

    def test_parts_of_the_rows_may_be_fewer_than_the_folds_that_all_rows_have(self) -> None:
        self.train_sets()
        num_rows = len(self.read("sets").splitlines())
        for more in (["--calibration", "0.4"], ["--calibration", "0.4", "--decision", "scut"]):
            self.run_program("train", "--method", "flat-svm", "--decision-folds", str(num_rows),
                             *more, "--quiet", "sets", "whole")  # fmt: skip
        self.run_program("tune", "--method", "flat-svm", "--decision-folds", str(num_rows),
                         "--grid", "C=1", "--folds", "2", "--quiet", "sets", "whole")  # fmt: skip

    def test_threads_do_not_matter(self) -> None:
        self.train_sets()
        options = ["--bootstrap", "50", "--metrics", "all", "--train", "sets"]
        one = self.evaluate("--threads", "1", *options)
        self.assertEqual(one, self.evaluate("--threads", "3", *options))

    def test_propensities_of_sets_come_from_the_training_rows(self) -> None:
        self.train_sets()
        self.assertNotIn("psp_at_1", self.evaluate())
        values = self.evaluate("--train", "sets")
        self.assertTrue(0 < values["psp_at_1"] <= 1)
        self.train()
        self.assertEqual(self.evaluate()["psp_at_3"], self.evaluate("--train", "train")["psp_at_3"])

    def test_ignored_nodes_are_names_or_a_file(self) -> None:
        self.train()
        self.write("ignored", "a\r\n\nb\n")
        everything = self.evaluate()
        named = self.evaluate("--ignore-nodes", "a,b")
        self.assertEqual(named, self.evaluate("--ignore-nodes", "ignored"))
        self.assertNotEqual(named["au_prc"], everything["au_prc"])
        self.assertEqual(named["accuracy"], everything["accuracy"])
        self.assertEqual(self.evaluate("--ignore-nodes", "all"), everything)  # the single root

    def test_bootstrap_puts_intervals_around_sums_over_rows(self) -> None:
        self.train()
        self.write("hard", rows(60, 2).replace("a1 ", "b3 ", 5))
        values = self.evaluate("--bootstrap", "200", data="hard")
        for name in ("accuracy", "macro_f1", "hierarchical_f1_macro", "psp_at_1", "tree_distance"):
            low, high = values["intervals"][name]
            self.assertTrue(low <= values[name] <= high, name)
            self.assertLess(low, high)
        for name, (low, high) in values["intervals"].items():
            self.assertTrue(low <= values[name] <= high, name)
        self.assertNotIn("au_prc", values["intervals"])
        other = self.evaluate("--bootstrap", "200", "--seed", "7", data="hard")
        self.assertNotEqual(other["intervals"]["accuracy"], values["intervals"]["accuracy"])
        lines = self.run_program("evaluate", "--bootstrap", "200", "model", "hard")[0]
        low, high = values["intervals"]["accuracy"]
        value = f"{values['accuracy']:.4f}  [{low:.4f}, {high:.4f}]"
        self.assertIn(f"{'accuracy':<24} {value}", lines)

    def test_hierarchy_of_a_flat_model(self) -> None:
        self.run_program("train", "--method", "flat-svm", "--quiet", "train", "model")
        without = self.evaluate()
        self.assertNotIn("lca_f1", without)
        values = self.evaluate("--hierarchy", "tree")
        self.assertIn("accuracy_level_2", values)
        for name in ("accuracy", "micro_f1", "macro_f1", "precision_at_3", "psp_at_1"):
            self.assertEqual(values[name], without[name])
        self.train(method="flat-svm", model="with")
        expected = self.evaluate(model="with")
        for name in ("hierarchical_f1", "lca_f1", "tree_distance", "au_prc", "f_max"):
            self.assertEqual(values[name], expected[name])

    def test_labels_that_nobody_knows_are_missed(self) -> None:
        self.train()
        self.write("mixed", rows(20, 3).replace("a1 ", "zebra ", 3))
        self.write("clean", rows(20, 3))
        mixed, clean = self.evaluate(data="mixed"), self.evaluate(data="clean")
        for name in ("au_prc", "f_max", "lca_f1", "precision_at_1", "recall_at_5"):
            self.assertLess(mixed[name], clean[name], name)


class Tables(EvaluateTest):
    def test_rows_without_a_label_are_left_out_where_rows_have_one(self) -> None:
        self.train()
        labelled = rows(40, 3).splitlines(keepends=True)
        self.write("labelled", "".join(labelled))
        self.write("holes", " 1:1 9:2\n".join(["", *labelled[:3], "".join(labelled[3:])]))
        for verb in (["evaluate", "--metrics", "all"], ["report"], ["compress"]):
            with self.subTest(verb):
                extra = [] if verb[0] == "evaluate" else ["--output", "result"]
                results = []
                for data in ("labelled", "holes"):
                    out, err = self.run_program(*verb, "--quiet", "model", data, *extra)
                    results.append(out)
                    count = (
                        "margrove: warning: holes: 4 of 44 rows have no label and were left out\n"
                    )
                    self.assertEqual(err, count if data == "holes" else "")
                self.assertEqual(*results)
        self.train_sets()  # a row without a label is a row with the empty set
        out, err = self.run_program("evaluate", "--quiet", "--json", "model", "holes")
        self.assertEqual((json.loads(out)["examples"], err), (44, ""))

    def test_tables_agree_with_the_metrics(self) -> None:
        self.train()
        self.write("hard", rows(60, 2).replace("a1 ", "b3 ", 5).replace("a2 ", 'z"x ', 1))
        values = self.evaluate(
            "--per-label", "labels", "--per-level", "levels", "--per-frequency", "frequencies",
            "--confusion", "pairs", data="hard",
        )  # fmt: skip
        labels = {row["label"]: row for row in self.table("labels")}
        self.assertEqual(set(labels), {"a1", "a2", "b1", "b2", "b3", 'z"x'})
        f1 = [float(row["f1"]) for row in labels.values()]
        self.assertAlmostEqual(sum(f1) / len(f1), values["macro_f1"], places=5)
        counts = [line.split()[0] for line in self.read("train").decode().splitlines()]
        self.assertEqual(int(labels["a1"]["training_rows"]), counts.count("a1"))
        self.assertEqual((labels["b3"]["support"], labels["b3"]["training_rows"]), ("5", "0"))
        self.assertTrue(0 < float(labels["a1"]["ap"]) <= 1)
        levels = self.table("levels")
        self.assertEqual([row["level"] for row in levels], ["1", "2"])
        for row in levels:
            name = f"accuracy_level_{row['level']}"
            self.assertAlmostEqual(float(row["accuracy"]), values[name], places=5)
        frequencies = self.table("frequencies")
        bands = ["0", "1", "2-5", "6-20", "21-100", "101+"]
        self.assertEqual([row["training_rows"] for row in frequencies], bands)
        never_seen = frequencies[0]
        self.assertEqual((never_seen["labels"], never_seen["support"]), ("2", "6"))
        for column in ("support", "predicted"):
            total = sum(int(row[column]) for row in labels.values())
            self.assertEqual(sum(int(row[column]) for row in frequencies), total)
        self.assertAlmostEqual(
            sum(float(row["macro_f1"]) * int(row["labels"]) for row in frequencies) / 6,
            values["macro_f1"], places=5,
        )  # fmt: skip
        pairs = {(row["true"], row["predicted"]): int(row["count"]) for row in self.table("pairs")}
        self.assertGreaterEqual(pairs["b", "a"], 4)  # rows of a1 that are called b3

    def test_a_table_that_cannot_be_written_is_found_before_the_work(self) -> None:
        for option in ("--per-label", "--per-level", "--per-frequency", "--confusion"):
            self.assert_fails(3, "no/dir/x", "evaluate", "missing", "test", option, "no/dir/x")


class Refusals(EvaluateTest):
    def test_usage(self) -> None:
        self.train()
        evaluate = ["evaluate", "model", "test"]
        for message, options in [
            ("metric is 'f1', but must be one of all, accuracy,", ["--metrics", "f1"]),
            ("option ignore-nodes has 'lion'", ["--ignore-nodes", "lion"]),
            ("option ignore-nodes has ''", ["--ignore-nodes", "a,,b"]),
            ("option bootstrap is 0, but must be >= 1", ["--bootstrap", "0"]),
            ("metric is '', but must be one of all,", ["--metrics", "accuracy,,micro_f1"]),
            ("--metrics may be given once only", ["--metrics", "all", "--metrics", "accuracy"]),
            ("the model has a hierarchy of its own", ["--hierarchy", "tree"]),
        ]:
            with self.subTest(options=options):
                self.assert_fails(2, message, *evaluate, *options)

    def test_metrics_that_the_model_does_not_allow(self) -> None:
        self.train()
        for name, message in [
            ("log_loss", "the model has no calibrated probabilities"),
            ("precision_at_99", "the model has fewer labels"),
            ("accuracy_level_9", "no row has a label at this level"),
        ]:
            self.assert_fails(
                3, f"metric {name} was requested, but {message}",
                "evaluate", "model", "test", "--metrics", name,
            )  # fmt: skip
        self.train_sets()
        for name, message in [
            ("psp_at_1", "propensities need the training rows"),
            ("risk_coverage_area", "the model gives label sets"),
        ]:
            self.assert_fails(
                3, f"metric {name} was requested, but {message}",
                "evaluate", "model", "test", "--metrics", name,
            )  # fmt: skip

    def test_a_hierarchy_must_have_the_labels_of_the_model(self) -> None:
        self.run_program("train", "--method", "flat-svm", "--quiet", "train", "model")
        self.write("small", "a a1\na a2\nb b1\n")
        message = "small: label 'b2' of the model is not a node of the hierarchy, but must be one"
        self.assert_fails(3, message, "evaluate", "model", "test", "--hierarchy", "small")

    def test_options_of_rows_are_none_of_sentences(self) -> None:
        self.write("words", "one O\ntwo X\n\none O\n")
        chain = ["train", "--method", "structured", "--model", "chain", "--quiet"]
        self.run_program(*chain, "words", "model")
        self.run_program("evaluate", "model", "words")
        for option in (
            ["--bootstrap", "9"], ["--seed", "0"], ["--per-label", "x"],
            ["--annotations", "x"], ["--part-of"],
        ):  # fmt: skip
            message = f"option {option[0][2:]} is given, but the examples of method structured"
            self.assert_fails(2, message, "evaluate", "model", "words", *option)

    def test_named_metrics_of_sentences_come_alone(self) -> None:
        self.write("words", "one B-X\ntwo O\n\none B-X\n")
        chain = ["train", "--method", "structured", "--model", "chain", "--quiet"]
        self.run_program(*chain, "words", "model")
        every = json.loads(self.run_program("evaluate", "--json", "model", "words")[0])
        self.assertEqual(every["span_f1"], 1.0)
        for names, expected in (
            ("all", every),
            ("span_f1,token_accuracy", {"token_accuracy": 1.0, "span_f1": 1.0}),
        ):
            out = self.run_program("evaluate", "--json", "--metrics", names, "model", "words")[0]
            self.assertEqual(json.loads(out), expected)
        self.assert_fails(
            2, "metric is 'las', but must be one of all, token_accuracy, sentence_accuracy, span_",
            "evaluate", "--metrics", "las", "model", "words",
        )  # fmt: skip

    def test_tags_that_the_model_does_not_know_are_named(self) -> None:
        self.write("words", "one B-X\ntwo O\n\none B-X\n")
        self.write("other", "one B-X\n" + "".join(f"two T{k}\n" for k in range(8)))
        chain = ["train", "--method", "structured", "--model", "chain", "--quiet"]
        self.run_program(*chain, "words", "model")
        self.assertEqual(self.run_program("evaluate", "model", "words")[1], "")
        self.assertIn(
            "warning: the model does not know the tags of 8 of 9 words ('T0', 'T1', 'T2', 'T3', "
            "'T4' and 3 more); they count as wrong\n",
            self.run_program("evaluate", "model", "other")[1],
        )


class CompareWithFlat(EvaluateTest):
    def setUp(self) -> None:
        super().setUp()
        self.train(model="tree-model")
        self.run_program("train", "--method", "flat-svm", "--quiet", "train", "flat-model")

    def test_answers_in_one_sentence(self) -> None:
        out, _ = self.run_program("compare", "--flat", "test", "tree-model", "flat-model", "--json")
        values = json.loads(out)
        self.assertEqual(values["gain"], "not_shown")
        expected = self.evaluate(model="tree-model")
        for name in ("micro_f1", "hierarchical_f1", "tree_distance"):
            self.assertEqual(values["with_hierarchy"][name], expected[name])
        lines = self.run_program("compare", "--flat", "test", "tree-model", "flat-model")[0]
        self.assertEqual(lines.splitlines()[-1], values["answer"])
        self.assertTrue(values["answer"].startswith("That the hierarchy helps is not shown: "))

    def test_says_where_the_flat_model_is_worse(self) -> None:
        self.write("wrong", rows(120, 1).replace("a1 ", "b1 ").replace("b2 ", "a2 "))
        self.run_program("train", "--method", "flat-svm", "--quiet", "wrong", "flat-model")
        out, _ = self.run_program("compare", "--flat", "test", "tree-model", "flat-model", "--json")
        values = json.loads(out)
        self.assertEqual(values["gain"], "helps")
        self.assertLess(values["rows_sign_test"]["p_value"], 0.05)
        self.assertTrue(values["answer"].startswith("Yes, the hierarchy helps: "))
        # All decisions are in one band or another, each with the recall of both models.
        bands = [band for band in values["by_frequency"] if band["support"] > 0]
        self.assertEqual(sum(band["support"] for band in bands), 60)
        for band in bands:
            self.assertGreater(band["with_hierarchy"]["recall"], band["flat"]["recall"])
            self.assertGreater(band["sign_test"]["first_better"], 0)
        lines = self.run_program("compare", "--flat", "test", "tree-model", "flat-model")[0]
        for band in bands:
            self.assertRegex(lines, rf"(?m)^{band['training_rows']} +{band['labels']} ")

    def test_warns_where_the_trainings_differ_in_more_than_the_hierarchy(self) -> None:
        compare = ["compare", "--flat", "test", "tree-model", "flat-model"]
        self.assertEqual(self.run_program(*compare)[1], "")
        for options, found in [
            (["--C", "10"], "C 3.33 and 10"),
            (["--bias", "0", "--seed", "7"], "bias 1 and 0, seed 0 and 7"),
            (["--normalize", "--C", "3.33"], "preprocessing common and normalize"),
        ]:
            self.run_program(
                "train", "--method", "flat-svm", "--quiet", *options, "train", "flat-model"
            )
            with self.subTest(options):
                self.assertIn(
                    f"warning: the trainings of A and B differ: {found}; unless each was tuned",
                    self.run_program(*compare)[1],
                )
        self.write("fewer", rows(60, 1))
        self.run_program("train", "--method", "flat-svm", "--quiet", "fewer", "flat-model")
        self.assertIn("labels of training rows 120 and 60", self.run_program(*compare)[1])

    def test_refusals(self) -> None:
        self.write("texts", "a1\tred apple\nb1\tfast car\n" * 3)
        self.run_program("train", "--method", "flat-svm", "--text", "--quiet", "texts", "text")
        compare = ["compare", "--flat", "test"]
        for message, models in [
            ("flat-model: the model is of method flat-svm, but must be one that uses",
             ["flat-model", "flat-model"]),
            ("tree-model: the model is of method nhsvm, which uses a hierarchy",
             ["tree-model", "tree-model"]),
            ("text: the model must take rows of the same kind", ["tree-model", "text"]),
        ]:  # fmt: skip
            with self.subTest(models=models):
                self.assert_fails(3, message, *compare, *models)
        self.assert_fails(4, "missing: ", *compare, "missing", "flat-model")
        self.train("--view", "more=train", "--quiet", model="views")
        message = "compare: the models must take rows of one view"
        self.assert_fails(3, message, *compare, "views", "flat-model")
        self.run_program("compare", "--flat", "--text", "test", "a", "b", code=2)
        self.run_program("compare", "--threads", "1", "test", "a", "b", code=2)


if __name__ == "__main__":
    unittest.main()
