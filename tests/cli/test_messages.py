"""What the program says to those who give it something else than they mean.

Run and configured like test_cli.py, whose helpers it uses.
"""

# ruff: noqa: PT009 - unittest, so that it runs with nothing installed

import json
import subprocess
import unittest

from test_cli import MARGROVE, VERBS, CliTest

TEXTS = "fruit\tred apple\nfruit\tgreen apple\ncar\tfast car\ncar\tred car\n" * 3
TABLE = "title,price,kind\n" + "red apple,1,fruit\nfast car,9,car\n" * 3
COLUMNS = ["--text-column", "title", "--numeric-columns", "price", "--label-column", "kind"]
FLAT = ["train", "--method", "flat-svm", "--quiet"]


class MessagesTest(CliTest):
    def setUp(self) -> None:
        super().setUp()
        self.write("texts", TEXTS)
        self.write("table.csv", TABLE)

    def piped(self, text: str, *arguments: str, code: int = 0) -> tuple[str, str]:
        done = subprocess.run(
            [MARGROVE, *arguments],
            cwd=self.directory.name,
            input=text,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout, done.stderr


class Options(MessagesTest):
    def test_class_weights_that_are_no_file_name_the_choices(self) -> None:
        self.assert_fails(2, "option class-weight is 'balance', but must be none, balanced or a",
                          *FLAT, *COLUMNS, "--class-weight", "balance", "table.csv",
                          "model")  # fmt: skip

    def test_columns_that_are_given_twice_are_refused(self) -> None:
        for option in ("text-column", "numeric-columns", "categorical-columns"):
            name = "--" + option
            self.assert_fails(2, f"option {option} is 'title,title', but has 'title' twice",
                              *FLAT, name, "title,title", "--label-column", "kind", "table.csv",
                              "model")  # fmt: skip


class PartialLabels(MessagesTest):
    def test_what_cannot_be_partial_is_refused(self) -> None:
        self.write("tree", "all a\nall b\na a1\na a2\n")
        self.write("two", "a1,b 1:1\nb 1:2\n")
        self.write("inner", "a 1:1\nall 1:2\n")
        partial = ["train", "--quiet", "--partial-labels", "--method"]
        tree = ["--hierarchy", "tree"]
        self.assert_fails(3, "two: row 1 has 2 labels, but must have one where option partial-",
                          *partial, "hr-svm", *tree, "two", "model")  # fmt: skip
        self.assert_fails(3, "inner: no row has a leaf as label, but one must where option partial",
                          *partial, "flat-lr", *tree, "inner", "model")  # fmt: skip
        self.assert_fails(2, "--partial-labels is no option of train with method shared-svm",
                          *partial, "shared-svm", *tree, "two", "model")  # fmt: skip
        self.assert_fails(3, "two: row 1 has 2 labels, but must have one where option partial-",
                          *partial, "nhsvm", *tree, "two", "model")  # fmt: skip
        self.write("some", "a1 1:1\na2 2:1\nb 3:1\na 1:2\n")
        self.assert_fails(2, "partial-labels is given, but solver sgd, which surrogate 'log'",
                          *partial, "hsvm", *tree, "--surrogate", "log", "some",
                          "model")  # fmt: skip
        out, _ = self.run_program(*partial, "hsvm", *tree, "some", "model")
        self.assertRegex(out, r"passes\t\d+\nrounds\t[1-9]\n")
        self.assertRegex(self.run_program("info", "model")[0], r"rounds *\t? *[1-9]")
        self.assert_fails(2, "option partial-labels is given, which needs a hierarchy",
                          *partial, "flat-svm", "two", "model")  # fmt: skip
        self.write("graph", "a b\n")
        self.assert_fails(2, "option partial-labels is given, but so is a label graph",
                          *partial, "hr-svm", "--label-graph", "graph", "inner",
                          "model")  # fmt: skip

    def test_rows_without_a_possible_leaf_are_left_out_with_a_warning(self) -> None:
        self.write("tree", "all a\nall b\na a1\na a2\nb b1\n")
        self.write("rows", "a1 1:1\na2 2:1\na 1:1 2:1\nb 1:2\n")
        _, err = self.run_program("train", "--method", "flat-svm", "--hierarchy", "tree",
                                  "--partial-labels", "rows", "model")  # fmt: skip
        self.assertIn("rows: 1 of 4 rows were left out, because no row has a leaf below their "
                      "label as label: row 4 has 'b'", err)  # fmt: skip


class Rows(MessagesTest):
    def test_records_without_any_key_of_the_model_are_errors(self) -> None:
        self.run_program(*FLAT, *COLUMNS, "table.csv", "model")
        good, bad = json.dumps({"title": "apple"}), json.dumps({"titel": "car", "prise": 9})
        message = "has none of the keys 'title', 'price', but must have at least one"
        self.write("rows.jsonl", f"{good}\n{bad}\n")
        self.assert_fails(3, f"rows.jsonl:2:1: the record {message}", "predict", "model",
                          "rows.jsonl")  # fmt: skip
        out, err = self.piped(f"{good}\n{bad}\n", "predict", "model", "-", code=3)
        self.assertEqual(out, "fruit\n")
        self.assertIn(f"standard input:2:1: the record {message}", err)
        out, err = self.piped(f"{bad}\n{good}\n", "predict", "--on-error", "skip", "model", "-")
        self.assertEqual(out, "\nfruit\n")
        # What a row lacks otherwise is missing, as null is.
        some = '{"price": 1}\n{"title": null}\n'
        self.assertEqual(len(self.piped(some, "predict", "model", "-")[0].splitlines()), 2)

    def test_documents_without_the_option_text_are_told_of_it(self) -> None:
        message = "train with option text (--text)"
        self.assert_fails(3, message, *FLAT, "texts", "model")
        self.write("colons", "fruit\tnote:red apple\n")
        self.assert_fails(3, message, *FLAT, "colons", "model")
        self.write("tabs", "a1\t1:1\tred\n")
        _, err = self.run_program(*FLAT, "tabs", "model", code=3)
        self.assertNotIn("--text)", err)

    def test_files_of_sentences_name_the_method_that_reads_them(self) -> None:
        self.write("tags", "a DET\ndog NOUN\n\na DET\ncat NOUN\n\n" * 3)
        self.write("tabs", "a\tDET\ndog\tNOUN\n\na\tDET\ncat\tNOUN\n\n" * 3)
        word = "{}\t{}\t_\t{}\t_\t_\t{}\tdep\t_\t_\n"
        sentence = word.format(1, "dogs", "NOUN", 2) + word.format(2, "bark", "VERB", 0) + "\n"
        self.write("trees.conllu", "# sent_id = 1\n# text = dogs bark\n" + sentence * 3)
        train = ["train", "--quiet"]
        for file in ("tags", "tabs"):
            self.assert_fails(3, "on them with method structured (--method structured)", *train,
                              file, "model")  # fmt: skip
            self.run_program(*train, "--method", "structured", file, "model")
        trees = "(--method structured --model dependency)"
        for options in ([], ["--text"], ["--text-column", "t", "--label-column", "l"]):
            self.assert_fails(3, trees, *train, *options, "trees.conllu", "model")
        dependency = ["--method", "structured", "--model", "dependency"]
        self.run_program(*train, *dependency, "trees.conllu", "model")
        # Texts may look like tokens with tags.
        self.run_program(*train, "--text", "tabs", "model")

    def test_a_lost_quote_ends_the_run_where_rows_with_errors_are_skipped(self) -> None:
        self.run_program(*FLAT, *COLUMNS, "table.csv", "model")
        skip = ["predict", "--on-error", "skip", "model"]
        rows = 'title,price\napple,1\n"car,9\napple,1\ncar,9\n'
        self.write("open.csv", rows)
        self.assert_fails(3, "open.csv:3:1: the quoted cell has no closing quote\n", *skip,
                          "open.csv")  # fmt: skip
        out, err = self.piped(rows, *skip, "-", code=3)
        self.assertEqual(out, "fruit\n")
        self.assertIn("standard input:3:1: the quoted cell has no closing quote", err)
        self.write("later.csv", 'title,price\n"car,9\n"apple",1\ncar,9\n')
        self.assert_fails(3, "later.csv:3:2: the closing quote is followed by 'a'", *skip,
                          "later.csv")  # fmt: skip
        self.assert_fails(3, "; the row begins on line 2, and may lack a closing quote", *skip,
                          "later.csv")  # fmt: skip
        self.write("cells.csv", 'title,price\n"car,9\napple",1,2\ncar,9\n')
        self.assert_fails(3, "cells.csv:3:10: the line has 3 cells, but must have 2", *skip,
                          "cells.csv")  # fmt: skip
        # In a row of one line, and in one whose cells are right, nothing is lost.
        self.write("known.csv", 'title,price\n"car"s,9\n"a\ncar",many\ncar,9\n')
        out, err = self.run_program(*skip, "known.csv")
        self.assertEqual(out, "\n\ncar\n")
        self.assertIn("known.csv:2:6: ", err)
        self.assertIn("known.csv:4:6: column 'price' is 'many'", err)

    def test_evaluate_explain_and_report_read_standard_input(self) -> None:
        self.train()
        rows = self.read("test").decode()
        expected = self.run_program("evaluate", "model", "test", "--json")[0]
        self.assertEqual(self.piped(rows, "evaluate", "model", "-", "--json")[0], expected)
        expected = self.run_program("explain", "model", "test", "--row", "7")[0]
        self.assertEqual(self.piped(rows, "explain", "model", "-", "--row", "7")[0], expected)
        self.piped(rows, "report", "model", "-", "--output", "page.html")
        self.assertIn(b"<html", self.read("page.html"))
        self.run_program(*FLAT, *COLUMNS, "table.csv", "model")
        for text in (TABLE, '{"title": "car", "price": 9, "kind": "car"}\n'):
            out = self.piped(text, "evaluate", "model", "-", "--json")[0]
            self.assertEqual(json.loads(out)["accuracy"], 1)
        _, err = self.piped("\n", "evaluate", "model", "-", code=3)
        self.assertIn("standard input: the file has no rows", err)
        self.write("tags", "a DET\ndog NOUN\n\n" * 4)
        self.run_program("train", "--method", "structured", "--quiet", "tags", "model")
        _, err = self.piped("a DET\n", "evaluate", "model", "-", code=2)
        self.assertIn("give a file instead of -", err)


class Hierarchies(MessagesTest):
    def test_a_separator_that_no_path_has_is_suspicious(self) -> None:
        self.write("paths.csv", "t,p\nred apple,food/fruit\nfast car,goods/car\n" * 3)
        command = [*FLAT, "--text-column", "t", "--path-column", "p", "paths.csv", "model"]
        message = (
            "paths.csv: no path has the separator ' > ' (option separator), so that every label is "
            "a root without a child; the first path is 'food/fruit'"
        )
        self.assertIn(f"warning: {message}", self.run_program(*command)[1])
        self.assert_fails(3, message, *command, "--strict")
        self.assertEqual(self.run_program(*command, "--separator", "/", "--strict")[1], "")

    def test_columns_of_paths_of_one_level_are_suspicious(self) -> None:
        self.write("paths.csv", "t,p,q\n" + "red apple,fruit,\nfast car,goods,\n" * 3)
        columns = ["--text-column", "t", "--path-columns", "p,q"]
        command = [*FLAT, *columns, "paths.csv", "model"]
        message = "paths.csv: no path has a second level (option path-columns), so that every label"
        err = self.run_program(*command)[1]
        self.assertEqual(err.count(f"warning: {message}"), 1)
        self.assert_fails(3, message, *command, "--strict")
        self.write("paths.csv", "t,p,q\n" + "red apple,fruit,\nfast car,goods,car\n" * 3)
        self.assertEqual(self.run_program(*command, "--strict")[1], "")

    def test_documents_given_as_the_hierarchy_are_suspicious(self) -> None:
        self.write("turned", "a1 a\na2 a\nb1 b\nb2 b\n")
        for hierarchy, data, *options in (("texts", "texts", "--text"), ("turned", "train")):
            self.write("texts", "".join(f"l{k % 2}\tword{k} more words\n" for k in range(6)))
            command = [*FLAT, "--hierarchy", hierarchy, *options, data, "model"]
            message = f"{hierarchy}: every label of {data} is a root of this hierarchy"
            self.assertIn(f"warning: {message}", self.run_program(*command)[1])
            self.assert_fails(3, message, *command, "--strict")
        command = [*FLAT, "--hierarchy", "tree", "--strict", "train", "model"]
        self.assertEqual(self.run_program(*command)[1], "")

    def test_unknown_labels_name_the_hierarchy_and_the_option(self) -> None:
        self.write("small", "a a1\na a2\nb b1\n")
        remedy = ", the nodes of small; --unknown-labels drop leaves out the others"
        for options, data in (
            ([], "train"),
            (["--text"], "texts"),
            (COLUMNS, "table.csv"),
        ):
            known = "known labels" + remedy
            self.assert_fails(3, known, *FLAT, "--hierarchy", "small", *options, data, "model")
        self.run_program(
            *FLAT, "--hierarchy", "small", "--unknown-labels", "drop", "train", "model"
        )

    def test_info_tells_labels_from_inner_nodes(self) -> None:
        self.train()
        line = "labels                     8 (5 leaves, 3 inner nodes)\n"
        self.assertIn(line, self.run_program("info", "model")[0])
        self.run_program(*FLAT, "train", "model")
        line = "labels                     4\n"
        self.assertIn(line, self.run_program("info", "model")[0])


class Usage(MessagesTest):
    def test_what_is_no_verb_and_no_option_of_the_program_is_named(self) -> None:
        for message, *arguments in (
            ("--foo is no option of margrove, whose arguments begin with a verb\n", "--foo"),
            ("--foo is no option of margrove", "--foo", "train"),
            ("Did you mean --version?\n", "--verison"),
            ("foo is no verb of margrove\n", "foo"),
            ("trian is no verb of margrove\n", "help", "trian"),
            ("Did you mean train?\n", "trian", "--help"),
            ("A verb is missing", ""),
        ):
            self.assert_fails(2, message, *filter(None, arguments))

    def test_help_is_a_verb(self) -> None:
        self.assertEqual(self.run_program("help"), self.run_program("--help"))
        for verb in VERBS:
            self.assertEqual(self.run_program("help", verb), self.run_program(verb, "--help"))
        method = ["train", "--method", "nhsvm"]
        self.assertEqual(self.run_program("help", *method), self.run_program(*method, "--help"))

    def test_help_reads_well(self) -> None:
        for verb in VERBS:
            text = self.run_program(verb, "--help")[0]
            self.assertNotRegex(text, r"\{|\[default \]|default +>|FLOAT|UINT|Excludes|[NTR]=\d")
        text = " ".join(self.run_program("train", "--help")[0].split())
        self.assertIn("0: none [in [0, 0.9]; default 0]", text)
        self.assertIn("text between the levels of a path [default ' > ']", text)
        self.assertIn("--unknown-labels error|drop labels of rows", text)
        text = " ".join(self.run_program("predict", "--help")[0].split())
        self.assertIn("instead of its label set [>= 1; not with --min-confidence]", text)

    def test_a_method_that_is_the_default_is_named_as_such(self) -> None:
        method = "--losss is no option of train with method "
        without = ", the default where neither a hierarchy nor --method is given\n"
        with_hierarchy = ", the default where a hierarchy is given, but no --method\n"
        for message, *arguments in (
            ("flat-svm" + without,),
            ("level-svm" + with_hierarchy, "--hierarchy", "tree"),
            ("level-svm" + with_hierarchy, "--path-column=p"),
            ("level-svm\n", "--method", "level-svm", "--hierarchy", "tree"),
            ("flat-svm\n", "--method=flat-svm"),
        ):
            self.assert_fails(2, method + message, "train", "--losss", "hinge", *arguments,
                              "train", "model")  # fmt: skip

    def test_help_beside_a_hierarchy_has_the_options_of_its_default_method(self) -> None:
        named = self.run_program("train", "--method", "level-svm", "--help")
        self.assertEqual(self.run_program("train", "--hierarchy", "tree", "--help"), named)
        self.assertEqual(self.run_program("train", "--text", "--help"),
                         self.run_program("train", "--help"))  # fmt: skip

    def test_explain_says_what_is_missing(self) -> None:
        self.train()
        for message, *arguments in (
            ("option label is given, but the row whose score it explains is not: DATA and --row I",
             "--label", "a1"),
            ("DATA is given, but not which of its rows to explain: --row I", "test"),
            ("DATA is given, but not which of its rows", "test", "--label", "a1"),
            ("option row is 3, but DATA, the file of the rows, is missing", "--row", "3"),
            ("option label is 'aa1', but must be a label of the model; did you mean 'a1'?",
             "test", "--row", "1", "--label", "aa1"),
            ("option label is 'all', which has no score", "test", "--row", "1", "--label", "all"),
        ):  # fmt: skip
            self.assert_fails(2, message, "explain", "model", *arguments)


if __name__ == "__main__":
    unittest.main()
