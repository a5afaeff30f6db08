"""The forms of answers: lines, CSV, JSON lines.

Run and configured like test_cli.py, whose helpers it uses.
"""

# ruff: noqa: PT009 - unittest, so that it runs with nothing installed

import csv
import io
import json
import pathlib
import subprocess
import unittest

from test_cli import MARGROVE, CliTest


class OutputFormat(CliTest):
    def setUp(self) -> None:
        super().setUp()
        self.run_program(
            "train", "--quiet", "--method", "nhsvm", "--hierarchy", "tree", "train", "model"
        )

    def answers(self, form: str, *options: str) -> str:
        return self.run_program(
            "predict", "--quiet", "--output-format", form, *options, "model", "test"
        )[0]

    def table(self, *options: str) -> list[dict[str, str]]:
        return list(csv.DictReader(io.StringIO(self.answers("csv", *options))))

    def test_csv_has_a_column_for_each_of_the_best_labels(self) -> None:
        lines = self.answers("lines").splitlines()
        self.assertEqual([row["labels"] for row in self.table()], lines)
        for option, name in (("--scores", "score"), (None, "")):
            options = ["--top", "3", *([option] if option else [])]
            table = self.table(*options)
            lines = self.answers("lines", *options).splitlines()
            self.assertEqual(len(table), len(lines))
            for row, line in zip(table, lines, strict=True):
                if option:
                    cells = [f"{row[f'label_{k}']}:{row[f'{name}_{k}']}" for k in (1, 2, 3)]
                    self.assertEqual(cells, line.split(" "))
                else:
                    self.assertEqual([row[f"label_{k}"] for k in (1, 2, 3)], line.split(","))
        header = self.answers("csv", "--top", "1000").split("\n", 1)[0].split(",")
        self.assertEqual(header[-1], f"label_{len(header)}")  # no more than there are labels
        self.assertLess(len(header), 50)

    def test_json_lines_have_an_object_for_each_row(self) -> None:
        objects = [json.loads(line) for line in self.answers("jsonl", "--scores").splitlines()]
        table = self.table("--scores")
        self.assertEqual([o["labels"] for o in objects], [[row["labels"]] for row in table])
        self.assertEqual([o["scores"] for o in objects], [[float(r["scores"])] for r in table])

    def test_names_with_commas_and_quotes_are_quoted(self) -> None:
        shelves = 'title,shelf\nred shoe,"Shoes, ""new"""\ngreen lamp,Light\n'
        self.write("table.csv", shelves)
        columns = ["--text-column", "title", "--label-column", "shelf"]
        self.run_program("train", "--quiet", "--method", "flat-svm", *columns, "table.csv", "shop")
        out, _ = self.run_program("predict", "--output-format", "csv", "shop", "table.csv")
        self.assertEqual(
            list(csv.reader(io.StringIO(out))), [["labels"], ['Shoes, "new"'], ["Light"]]
        )

    def test_rows_that_are_skipped_keep_their_place(self) -> None:
        rows = "".join(pathlib.Path(self.path("test")).read_text("utf-8").splitlines(True)[:2])
        self.write("bad", f"{rows}leaf 1:x\n{rows}")
        for source in ("bad", "-"):
            for form, expected in (("csv", '""'), ("jsonl", "null"), ("lines", "")):
                done = subprocess.run(
                    [
                        MARGROVE,
                        "predict",
                        "--on-error",
                        "skip",
                        "--output-format",
                        form,
                        "model",
                        source,
                    ],
                    cwd=self.directory.name,
                    input=pathlib.Path(self.path("bad")).read_text("utf-8"),
                    capture_output=True,
                    text=True,
                    check=True,
                )
                lines = done.stdout.splitlines()[1 if form == "csv" else 0 :]
                self.assertEqual((len(lines), lines[2]), (5, expected))
        best = ["--top", "2", "--scores", "--output-format", "csv"]
        out, _ = self.run_program("predict", "--on-error", "skip", *best, "model", "bad")
        self.assertEqual(out.splitlines()[3], ",,,")

    def test_models_of_sentences_and_other_forms_are_refused(self) -> None:
        self.assert_fails(2, "xml", "predict", "--output-format", "xml", "model", "test")
        self.write("tags", "a DET\ndog NOUN\n\n")
        self.run_program("train", "--quiet", "--method", "structured", "tags", "tagger")
        self.assertNotIn("training rows", self.run_program("info", "tagger")[0])
        self.assert_fails(2, "option output-format is given, but the examples of method structured",
                          "predict", "--output-format", "csv", "tagger", "tags")  # fmt: skip

    def test_tags_with_blanks_need_tabs(self) -> None:
        self.write("tags", "a\tbig DET\ndog\tNOUN\n\n" * 3)
        self.run_program("train", "--quiet", "--method", "structured", "tags", "tagger")
        out, _ = self.run_program("predict", "tagger", "tags")
        self.assertEqual(out.split("\n")[:2], ["big DET", "NOUN"])
        self.write("blanks", "a\ndog\n\n")
        self.assert_fails(3, "blanks: tag 'big DET' has a blank, but blanks separate the",
                          "predict", "--with-input", "tagger", "blanks")  # fmt: skip

    def test_labels_with_commas_and_blanks_are_separated_by_tabs(self) -> None:
        self.write("table.csv", 'x,k\n1,"New York;Rome"\n2,"a,b"\n3,Rome\n')
        columns = ["--numeric-columns", "x", "--label-column", "k"]
        self.run_program("train", "--quiet", "--method", "flat-svm", *columns, "table.csv", "m")
        out, _ = self.run_program("predict", "--quiet", "--top", "3", "m", "table.csv")
        self.assertEqual({frozenset(line.split("\t")) for line in out.splitlines()},
                         {frozenset(["New York;Rome", "a,b", "Rome"])})  # fmt: skip
        out, _ = self.run_program("predict", "--quiet", "--top", "1", "m", "table.csv")
        self.write("first", out)
        self.run_program("compare", *columns, "table.csv", "first", "first")


if __name__ == "__main__":
    unittest.main()
