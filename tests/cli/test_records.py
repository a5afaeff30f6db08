"""Rows with named columns from outside: CSV, TSV and JSON lines, paths as labels.

Run and configured like test_cli.py, whose helpers it uses.
"""

# ruff: noqa: PT009 - unittest, so that it runs with nothing installed

import csv
import gzip
import io
import json
import os
import pathlib
import random
import unittest

from test_cli import CliTest

SHOPS = {"Books": "novel", "Phones": "screen", 'Garden, "home"': "rose"}
PARTS = {"Accessories": "cover", "New > fresh": "sealed"}
SELECTION = ["--text-column", "title", "--numeric-columns", "price"]
SELECTION += ["--categorical-columns", "colour"]
PATHS = ["--path-columns", "shop,part"]

Record = dict[str, str]


def records(count: int, seed: int) -> list[Record]:
    """Products whose title names shop and part; every part is below every shop."""
    rng = random.Random(seed)
    rows = []
    for i in range(count):
        shop, part = rng.choice(list(SHOPS)), rng.choice(list(PARTS))
        price = "" if i % 5 == 0 else f"{rng.gauss(5, 1):.2f}"
        title = f"{SHOPS[shop]}\n{PARTS[part]}" if i % 7 == 0 else f"{SHOPS[shop]} {PARTS[part]}"
        colour = rng.choice(["red", "blue, dark", ""])
        rows.append({"title": title, "price": price, "colour": colour, "shop": shop, "part": part})
    return rows


def as_csv(rows: list[Record], delimiter: str = ",", without: tuple[str, ...] = ()) -> str:
    names = [name for name in rows[0] if name not in without]
    file = io.StringIO()
    writer = csv.DictWriter(file, names, delimiter=delimiter, extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


class Records(CliTest):
    def setUp(self) -> None:
        super().setUp()
        self.write("rows.csv", as_csv(records(120, 1)))
        self.test = records(40, 2)
        self.write("test.csv", as_csv(self.test))

    def fit(self, *options: str, method: str = "flat-svm", data: str = "rows.csv") -> str:
        arguments = ["train", "--method", method, "--quiet", *options, data, "model"]
        return self.run_program(*arguments)[0]

    def accuracy(self, data: str = "test.csv") -> float:
        out, _ = self.run_program("evaluate", "model", data, "--json", "--quiet")
        return float(json.loads(out)["accuracy"])

    def predictions(self, *options: str, data: str = "test.csv") -> list[str]:
        return self.run_program("predict", "model", data, "--quiet", *options)[0].splitlines()


class Patterns(Records):
    """`*` among the names of columns."""

    def setUp(self) -> None:
        super().setUp()
        rng = random.Random(3)
        lines = [",id,m1,m2,colour,title,label"]
        for i in range(60):
            number = i % 2
            lines.append(f"{i},g{i},{number + rng.random()},{-number},red,word{number},l{number}")
        self.write("wide.csv", "\n".join(lines) + "\n")

    def same(self, patterns: list[str], names: list[str], data: str = "wide.csv") -> None:
        """Patterns give the model that names give."""
        self.fit(*names, "--label-column", "label", data=data)
        expected = self.read("model")
        self.fit(*patterns, "--label-column", "label", data=data)
        self.assertEqual(self.read("model"), expected)

    def test_a_star_is_every_column_that_no_other_option_names(self) -> None:
        text = ["--text-column", "title", "--categorical-columns", "colour"]
        self.same([*text, "--numeric-columns", "*", "--ignore-columns", "id"],
                  [*text, "--numeric-columns", "m1,m2"])  # fmt: skip
        self.same(["--numeric-columns", "m*", "--categorical-columns", "*"],
                  ["--numeric-columns", "m1,m2", "--categorical-columns", "id,colour,title"],
                  )  # fmt: skip
        # The model has the columns themselves: columns that come later change nothing.
        self.write("new.csv", "m9,title,m2,m1,id,colour\n7,word1,-1,1.5,g,red\n")
        self.assertEqual(self.predictions(data="new.csv"), ["l1"])
        self.assertNotIn("*", self.run_program("info", "model")[0])
        self.write("wide.tsv", self.read("wide.csv").decode().replace(",", "\t"))
        self.same(["--numeric-columns", "m*"], ["--numeric-columns", "m1,m2"], "wide.tsv")

    def test_a_column_of_the_name_is_no_pattern(self) -> None:
        self.write("stars.csv", "m*,m1,label\n" + "1,5,a\n2,5,b\n" * 10)
        self.fit("--numeric-columns", "m*", "--label-column", "label", data="stars.csv")
        self.write("new.csv", "m*\n1\n2\n")
        self.assertEqual(self.predictions(data="new.csv"), ["a", "b"])
        self.assert_fails(3, "new.csv:1:1: the header has no column 'm*'",
                          *self.renamed("m*", "m7", "new.csv"))  # fmt: skip

    def test_patterns_of_json_lines_are_those_of_csv(self) -> None:
        rows = [
            {"m1": f"{k % 7}", "m2": f"-{k}", "id": f"g{k}", "label": "ab"[k % 2]}
            for k in range(40)
        ]
        self.write("keys.csv", as_csv(rows))
        self.write("keys.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        given = ["--numeric-columns", "*", "--ignore-columns", "id", "--label-column", "label"]
        self.fit(*given, data="keys.csv")
        of_csv = self.read("model")
        self.fit(*given, data="keys.jsonl")
        self.assertEqual(self.read("model"), of_csv)
        os.mkfifo(self.path("pipe.jsonl"))
        self.assert_fails(3, "pipe.jsonl: patterns of keys need a file, which is read twice",
                          "train", "--method", "flat-svm", "--format", "jsonl", *given,
                          "pipe.jsonl", "m")  # fmt: skip

    def renamed(self, column: str, name: str, data: str) -> list[str]:
        self.write(data, self.read(data).decode().replace(column, name))
        return ["predict", "model", data]

    def test_errors_name_the_pattern_and_the_column(self) -> None:
        train = ["train", "--method", "flat-svm", "--quiet", "--label-column", "label"]
        self.write("rows.jsonl", '{"m1": 1, "label": "a"}\n')
        for code, message, options, data in (
            (3, "wide.csv:2:3: column 'id' is 'g0', but must be a number, or empty where it is "
             "missing; option ignore-columns keeps a column out of patterns",
             ["--numeric-columns", "*"], "wide.csv"),
            (3, "wide.csv: no column is left for 'z*' of option numeric-columns",
             ["--numeric-columns", "z*"], "wide.csv"),
            (3, "wide.csv: column 'm1' fits 'm*' of option numeric-columns and '*1' of option "
             "categorical-columns", ["--numeric-columns", "m*", "--categorical-columns", "*1"],
             "wide.csv"),
            (3, "wide.csv: no column is called 'key', which option ignore-columns names",
             ["--numeric-columns", "m*", "--ignore-columns", "key"], "wide.csv"),
            (2, "option ignore-columns is given, but the selected columns are named one by one",
             ["--numeric-columns", "m1", "--ignore-columns", "id"], "wide.csv"),
            (2, "option ignore-columns has 'm1', which is selected",
             ["--numeric-columns", "m1,*", "--ignore-columns", "m1"], "wide.csv"),
            (2, "none is given, but at least one must name the features",
             ["--ignore-columns", "m1"], "wide.csv"),
            (3, "rows.jsonl: no column is left for 'z*' of option numeric-columns; the columns are "
             "'m1', 'label'", ["--numeric-columns", "z*"], "rows.jsonl"),
        ):  # fmt: skip
            with self.subTest(options=options):
                self.assert_fails(code, message, *train, *options, data, "m")


class Columns(Records):
    def test_a_model_knows_its_columns_and_needs_no_option_and_no_label(self) -> None:
        self.fit(*SELECTION, "--label-column", "shop")
        self.assertEqual(self.predictions(), [row["shop"] for row in self.test])
        self.assertEqual(self.accuracy(), 1)
        self.write("new.csv", as_csv(self.test, ";", without=("shop", "part")))
        self.assertEqual(self.predictions(data="new.csv"), [row["shop"] for row in self.test])
        self.assert_fails(
            3, "new.csv:1:1: the header has no column 'shop'; its columns are 'title', 'price'",
            "evaluate", "model", "new.csv",
        )  # fmt: skip

    def test_every_delimiter_a_byte_order_mark_and_compression_give_the_same_model(self) -> None:
        self.fit(*SELECTION, "--label-column", "part")
        model = self.read("model")
        rows = records(120, 1)
        self.write("tabs", "\ufeff" + as_csv(rows, "\t"))
        self.write("semicolons", as_csv(rows, ";"))
        packed = gzip.compress(as_csv(rows).encode())
        pathlib.Path(self.path("packed")).write_bytes(packed)
        for name in ("tabs", "semicolons", "packed"):
            self.fit(*SELECTION, "--label-column", "part", data=name)
            self.assertEqual(self.read("model"), model, name)

    def test_json_lines_give_the_model_of_the_same_table(self) -> None:
        rows = records(120, 1)
        self.fit(*SELECTION, *PATHS)
        model = self.read("model")
        listed = [{**row, "price": float(row["price"]) if row["price"] else None} for row in rows]
        self.write("rows.jsonl", "".join(json.dumps(row) + "\n" for row in listed))
        self.fit(*SELECTION, *PATHS, data="rows.jsonl")
        self.assertEqual(self.read("model"), model)
        self.write("new.jsonl", json.dumps({"title": self.test[0]["title"]}) + "\n")
        self.assertEqual(self.predictions(data="new.jsonl"), self.predictions()[:1])

    def test_json_lines_may_be_nested_and_list_their_labels_and_names(self) -> None:
        lines = [
            {"product": {"title": [row["title"], "x"]}, "path": [row["shop"], row["part"]],
             "labels": [row["shop"], row["part"]]}
            for row in self.test
        ]  # fmt: skip
        self.write("nested", "".join(json.dumps(line) + "\n" for line in lines))
        text = ["--text-column", "product.title"]
        self.fit(*text, "--path-column", "path", "--C", "100", data="nested")
        self.assertEqual(self.accuracy("nested"), 1)
        self.fit(*text, "--label-column", "labels", "--C", "100", data="nested")
        sets = [set(line.split("\t")) for line in self.predictions(data="nested")]
        self.assertEqual(sets, [{row["shop"], row["part"]} for row in self.test])

    def test_unknown_categories_and_missing_numbers_are_no_faults_at_prediction(self) -> None:
        self.fit(*SELECTION, "--label-column", "shop")
        for row in self.test:
            row["colour"], row["price"] = "never seen", ""
        self.write("new.csv", as_csv(self.test))
        self.assertEqual(self.accuracy("new.csv"), 1)

    def test_several_labels_have_a_separator(self) -> None:
        for row in self.test:
            row["both"] = f"{row['shop']}; {row['part']}"
        self.write("sets.csv", as_csv(self.test))
        several = ["--label-column", "both", "--label-separator", ";"]
        self.fit("--text-column", "title", *several, "--C", "100", data="sets.csv")
        sets = [set(line.split(";")) for line in self.predictions(data="sets.csv")]
        self.assertEqual(sets, [{row["shop"], row["part"]} for row in self.test])

    def test_words_of_a_weighted_column_count_as_often_as_repeated_ones(self) -> None:
        columns = ["--text-column", "title,colour", "--label-column", "shop"]
        self.fit(*columns, "--text-weights", "title=3,colour=1")
        weighted = self.predictions("--scores")
        self.assertIn("title (3 times), colour\n", self.run_program("info", "model")[0])
        self.fit(*columns)
        self.assertNotEqual(self.predictions("--scores"), weighted)
        rows = records(120, 1)
        for row in rows + self.test:
            row["title"] = " ".join([row["title"]] * 3)
        self.write("repeated.csv", as_csv(rows))
        self.write("test.csv", as_csv(self.test))
        self.fit(*columns, data="repeated.csv")
        self.assertEqual(self.predictions("--scores"), weighted)

    def test_format_says_what_the_content_does_not(self) -> None:
        self.write("texts", "x\tone\ny\ttwo\n" * 5)
        self.fit("--format", "text", data="texts")
        self.assertEqual(self.predictions(data="texts")[:2], ["x", "y"])
        table = ["--text-column", "{title", "--label-column", "label", "rows", "m"]
        self.write("rows", "{title,label\none,x\ntwo,y\n")
        train = ["train", "--method", "flat-svm", "--quiet"]
        self.assert_fails(3, "rows:1:3: the line is not JSON", *train, *table)
        self.run_program(*train, "--format", "csv", *table)
        self.assert_fails(3, "the header has no column '{title'", *train, "--format", "tsv", *table)

    def test_explain_and_info_name_the_columns(self) -> None:
        self.fit(*SELECTION, "--label-column", "shop")
        out, _ = self.run_program(
            "explain", "model", "test.csv", "--row", "1", "--features", "99", "--quiet"
        )
        for name in ("price = ", "price is missing = 1", " = 1, weight"):
            self.assertIn(name, out)
        out, _ = self.run_program("info", "model")
        self.assertIn("text columns               title\n", out)
        self.assertIn("label column               shop\n", out)

    def test_tune_fits_the_columns_on_each_split_and_report_reads_them(self) -> None:
        tune = ["tune", "--method", "flat-svm", "--grid", "C=0.1,1", "--folds", "2", "--quiet"]
        out, _ = self.run_program(*tune, *SELECTION, *PATHS, "rows.csv", "model")
        self.assertIn("1.0000 (1.0000 1.0000) *", out)
        self.run_program("report", "model", "test.csv", "--output", "page.html", "--quiet")
        self.assertIn("Books > Accessories", self.read("page.html").decode())

    def test_hierarchies_beside_a_label_column_hold_the_labels(self) -> None:
        self.write("tree", 'all\tBooks\nall\tPhones\nall\tGarden, "home"\n')
        options = ["--hierarchy", "tree", *SELECTION, "--label-column", "shop"]
        self.fit(*options, method="nhsvm")
        self.assertEqual(self.accuracy(), 1)
        self.assertEqual(self.predictions("--show", "path")[0], "all > " + self.test[0]["shop"])
        self.write("small", "all\tBooks\nall\tPhones\n")
        options[1] = "small"
        self.assert_fails(
            3, "label is 'Garden, \"home\"', but must be one of the 3 known labels",
            "train", "--method", "nhsvm", "--quiet", *options, "rows.csv", "m",
        )  # fmt: skip


class Paths(Records):
    def test_equal_names_under_different_parents_are_different_nodes(self) -> None:
        truth = [(row["shop"], row["part"]) for row in self.test]
        for method in ("flat-svm", "nhsvm", "hr-svm", "top-down-svm", "level-svm"):
            out = self.fit(*SELECTION, *PATHS, method=method)
            self.assertIn(f"method\t{method}", out)
            self.assertEqual(self.accuracy(), 1, method)
            ids = [f"{shop} > {part}".replace("New > fresh", "New \\> fresh")
                   for shop, part in truth]  # fmt: skip
            self.assertEqual(self.predictions(), ids)
            self.assertEqual(self.predictions("--show", "path"), ids)
            self.assertEqual(self.predictions("--show", "id"), ids)
            names = self.predictions("--show", "name")
            self.assertEqual(names, [part for _, part in truth])
        self.assertIn("tree of 9 nodes and 6 edges", self.run_program("info", "model")[0])

    def test_predictions_read_back_as_paths(self) -> None:
        self.fit(*SELECTION, *PATHS)
        truth = self.predictions()
        for row, path in zip(self.test, truth, strict=True):
            row["path"] = path
        self.write("paths.csv", as_csv(self.test, without=("shop", "part")))
        self.fit(*SELECTION, "--path-column", "path", data="paths.csv")
        self.assertEqual(self.predictions(data="paths.csv"), truth)

    def test_a_row_may_end_at_an_inner_node_and_have_several_paths(self) -> None:
        self.write("some.csv", "t,p\na b,A/x;B/x\na,A\nb,B/x\nc,A/y\n" * 5)
        options = ["--text-column", "t", "--path-column", "p", "--separator", "/"]
        self.fit(*options, "--label-separator", ";", "--C", "100", data="some.csv")
        self.assertEqual(self.predictions(data="some.csv")[:4], ["A/x;B/x", "A", "B/x", "A/y"])

    def test_scores_and_ranks_are_separated_by_tabs(self) -> None:
        self.fit(*SELECTION, *PATHS)
        best = self.predictions()
        scored = self.predictions("--top", "2", "--scores")
        self.assertEqual([line.split("\t")[0].rsplit(":", 1)[0] for line in scored], best)
        above = self.predictions("--paths", "--show", "name")
        self.assertEqual(above[0].split("\t"), [self.test[0]["shop"], self.test[0]["part"]])

    def test_a_hierarchy_beside_paths_must_be_the_same(self) -> None:
        self.write("some.csv", "t,p\na,A > x\nb,B > x\n" * 5)
        options = ["--text-column", "t", "--path-column", "p"]
        self.write("same", "A\tA > x\nB\tB > x\n")
        self.fit("--hierarchy", "same", *options, data="some.csv")
        self.write("less", "A\tA > x\n")
        train = ["train", "--method", "flat-svm", "--quiet", *options, "some.csv", "m"]
        self.assert_fails(
            3, "less: there is no edge 'B' 'B > x', which some.csv has; leave --hierarchy out",
            *train, "--hierarchy", "less",
        )  # fmt: skip
        self.write("more", "A\tA > x\nB\tB > x\nB\tB > y\n")
        self.assert_fails(
            3, "some.csv: there is no edge 'B' 'B > y'", *train, "--hierarchy", "more"
        )


class Codes(Records):
    def test_codes_are_below_what_they_begin_with(self) -> None:
        words = {"631.2": "soil", "631.5": "harvest", "639": "fish", "91": "map"}
        lines = "".join(f"{code}\t{word} x\n" for code, word in words.items())
        self.write("rows", lines * 5)
        options = ["--hierarchy-from", "codes", "--text", "--C", "100"]
        self.fit(*options, method="hr-svm", data="rows")
        self.assertIn("tree of 6 nodes and 4 edges", self.run_program("info", "model")[0])
        self.assertEqual(self.predictions(data="rows")[:4], list(words))
        path = self.predictions("--show", "path", data="rows")[0]
        self.assertEqual(path, "63 > 631 > 631.2")
        train = ["train", "--method", "hr-svm", "--quiet", "--hierarchy-from", "codes"]
        self.assert_fails(
            2, "option hierarchy-from is given, but option hierarchy is, too",
            *train, "--hierarchy", "tree", "rows", "m",
        )  # fmt: skip
        self.assert_fails(
            2, "option hierarchy-from is given, but paths define the hierarchy",
            *train, "--text-column", "title", *PATHS, "rows.csv", "m",
        )  # fmt: skip


class Ontologies(Records):
    def test_obo_is_a_hierarchy_of_its_terms(self) -> None:
        terms = {"x:1": [], "x:2": ["is_a: x:1 ! one"], "x:3": ["relationship: part_of x:1"]}
        lines = ["format-version: 1.2"]
        for term, parents in terms.items():
            lines += ["[Term]", f"id: {term}", *parents]
        self.write("go.obo", "\n".join(lines))
        self.write("rows", "x:2\tsoil\nx:3\tfish\n" * 5)
        for options, edges in ([], 1), (["--part-of"], 2):
            self.fit("--hierarchy", "go.obo", "--text", *options, method="nhsvm", data="rows")
            info = self.run_program("info", "model")[0]
            self.assertIn(f"tree of 3 nodes and {edges} edges", info)
            out, _ = self.run_program("hierarchy", "go.obo", *options)
            self.assertIn("nodes                      3\n", out)
        train = ["train", "--method", "flat-svm", "--quiet", "--text", "--part-of", "rows", "m"]
        self.assert_fails(2, "option part-of is given, but needs a --hierarchy FILE in OBO", *train)
        self.assert_fails(
            2, "option part-of is given, but tree is not OBO", *train, "--hierarchy", "tree"
        )


class Faults(Records):
    def test_2_for_selections_that_do_not_fit_together(self) -> None:
        text, label = ["--text-column", "title"], ["--label-column", "shop"]
        for message, options in [
            ("none is given, but at least one must name the features", label),
            ("none is given, but at least one must name the features", ["--format", "csv"]),
            ("one must name the labels", text),
            ("more than one is given, but only one may name the labels", [*text, *label, *PATHS]),
            ("label-separator is given, but path-columns have one path",
             [*text, *PATHS, "--label-separator", ";"]),
            ("option separator is given, but path-column and path-columns are not",
             [*text, "--label-column", "both", "--separator", ";"]),
            ("option separator is empty", [*text, *PATHS, "--separator", ""]),
            ("option separator is '\\', but must have no backslash",
             [*text, *PATHS, "--separator", "\\"]),
            ("option text-column is 'a,,b', but has an empty name",
             [*label, "--text-column", "a,,b"]),
            ("option text-weights has 'title=0', but must have column=N with a whole number N",
             [*text, *label, "--text-weights", "title=0"]),
            *(("option text-weights has", [*text, *label, "--text-weights", weights])
              for weights in ("title", "title=101", "title=1.5", "title=2,title=3", "price=2")),
            ("option text-weights has 'title', but text-column must have it once",
             [*label, "--text-weights", "title=2"]),
            ("option format is 'xls', but must be one of", ["--format", "xls"]),
            ("option format is svmlight, which has no columns", [*label, "--format", "svmlight"]),
            ("option format is svmlight, but option text", ["--format", "svmlight", "--text"]),
            ("options text and tfidf: they are not for rows with named columns",
             [*text, *label, "--tfidf"]),
        ]:  # fmt: skip
            for verb in (["train"], ["tune", "--grid", "C=1"]):
                with self.subTest(verb=verb, options=options):
                    arguments = [*verb, "--method", "flat-svm", "--quiet", *options]
                    self.assert_fails(2, message, *arguments, "rows.csv", "m")
        arguments = ["train", "--method", "structured", "--model", "chain", *text, *label]
        self.write("words", "one O\n")
        message = "is given, but method structured reads examples that are not rows:"
        for model, form in (("chain", "CoNLL column"), ("dependency", "CoNLL-U")):
            arguments[4] = model
            for name, given in (
                ("text-column", arguments), ("text-column", arguments[:-2]),
                ("format", [*arguments[:5], "--format", "csv"]),
            ):  # fmt: skip
                refusal = f"option {name} {message} {form} files"
                self.assert_fails(2, refusal, *given, "rows.csv", "m")
        for option, *value in (
            ["--hierarchy", "tree"], ["--text"], ["--tfidf"], ["--scale", "standard"],
            ["--calibration", "0.2"], ["--class-weight", "balanced"], ["--view", "a=b"],
        ):  # fmt: skip
            name = option.removeprefix("--")
            words = ["train", "--method", "structured", "--model", "chain", option, *value]
            self.assert_fails(2, f"option {name} is given, but ", *words, "words", "m")

    def test_3_with_file_line_and_column_for_faults_of_a_file(self) -> None:
        self.write("prices.csv", "title,price,shop\na,1,x\nb,cheap,x\n")
        train = ["train", "--method", "flat-svm", "--quiet", "--label-column", "shop"]
        self.assert_fails(
            3, "prices.csv:3:3: column 'price' is 'cheap', but must be a number",
            *train, "--numeric-columns", "price", "prices.csv", "m",
        )  # fmt: skip
        self.assert_fails(
            3, "prices.csv:1:1: the header has no column 'cost'",
            *train, "--numeric-columns", "cost", "prices.csv", "m",
        )  # fmt: skip
        self.write("broken", '{"title": "a", "shop": "x"}\n{"title": }\n')
        self.assert_fails(
            3, "broken:2:11: the line is not JSON: syntax error",
            *train, "--text-column", "title", "broken", "m",
        )  # fmt: skip
        self.assert_fails(
            3, "the rows are records, but only numbers can have further views",
            *train, "--text-column", "title", "--view", "v=train", "rows.csv", "m",
        )  # fmt: skip


if __name__ == "__main__":
    unittest.main()
