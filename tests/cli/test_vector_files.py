"""Vectors of texts and of rows with named columns in files of NumPy (--vector-file).

Run and configured like test_cli.py, whose helpers it uses.
"""

# ruff: noqa: PT009 - unittest, so that it runs with nothing installed

import csv
import json
import math
import pathlib
import subprocess
import unittest

from test_cli import MARGROVE, CliTest
from test_kernels import npy
from test_serve import Server

LABELS = ["lamp", "sofa", "shoe"]
WORDS = ["bright light", "soft seat", "fast sole"]
URI = "http://x/"
TRAIN = ["train", "--method", "flat-svm", "--quiet"]
COLUMNS = ["--text-column", "text", "--numeric-columns", "price", "--label-column", "label"]


def made(count: int) -> list[tuple[str, str, float, list[float]]]:
    """Rows of label, text, price and vector."""
    rows = []
    for i in range(count):
        k = i % 3
        vector = [math.sin(i), math.cos(i), 0.25 * i - 2, float(k == 1)]
        vector[k] += 3
        word = WORDS[(i * i) % 3] if i % 4 == 0 else WORDS[k]
        rows.append((LABELS[k], f"{word} {i % 5}", float(i % 7), vector))
    return rows


class VectorFiles(CliTest):
    def setUp(self) -> None:
        super().setUp()
        self.rows = {"train": made(60), "test": made(25)[4:]}
        for name, rows in self.rows.items():
            self.write(f"{name}.txt", "".join(f"{label}\t{text}\n" for label, text, _, _ in rows))
            self.write(f"{name}.annif", "".join(f"{text}\t<{URI}{label}>\n"
                                                for label, text, _, _ in rows))  # fmt: skip
            self.write_array(f"{name}.npy", [vector for _, _, _, vector in rows])
            with pathlib.Path(self.path(f"{name}.csv")).open("w", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(["label", "text", "price"])
                writer.writerows(row[:3] for row in rows)
            as_floats = [self.floats(vector) for _, _, _, vector in rows]
            self.write(f"{name}.jsonl", "".join(
                json.dumps({"label": row[0], "text": row[1], "price": row[2], "vectors": vector})
                + "\n" for row, vector in zip(rows, as_floats, strict=True)))  # fmt: skip

    def write_array(self, name: str, values: list[list[float]]) -> None:
        pathlib.Path(self.path(name)).write_bytes(npy(values, "<f8"))

    @staticmethod
    def floats(vector: list[float]) -> list[float]:
        """The numbers as JSON lines that are rounded to the same floats."""
        return [float(repr(number)) for number in vector]

    def fit(self, *options: str, model: str = "model") -> bytes:
        self.run_program(*TRAIN, *options, model)
        return self.read(model)

    def fit_texts(self, *options: str, model: str = "model") -> None:
        self.fit("--text", "--vector-file", "train.npy", *options, "train.txt", model=model)

    def fit_records(self, *options: str) -> bytes:
        return self.fit(*COLUMNS, "--vector-file", "train.npy", *options, "train.csv")

    def answers(self, *data: str, verb: str = "predict --scores", model: str = "model") -> str:
        return self.run_program(*verb.split(), "--quiet", model, *data)[0]

    def piped(self, text: str, *arguments: str, code: int = 0) -> tuple[str, str]:
        done = subprocess.run(
            [MARGROVE, *arguments], cwd=self.directory.name, input=text, capture_output=True,
            text=True, timeout=300, check=False,
        )  # fmt: skip
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout, done.stderr


class Meaning(VectorFiles):
    """A file of vectors is what the list of JSON lines is."""

    def setUp(self) -> None:
        super().setUp()
        self.in_columns = ["--text-column", "text", "--vector-columns", "vectors"]
        self.in_columns += ["--label-column", "label"]

    def test_of_texts_is_that_of_lists(self) -> None:
        for share in ([], ["--vector-share", "0.4"]):
            with self.subTest(share):
                self.fit(*self.in_columns, *share, "train.jsonl", model="lists")
                self.fit_texts(*share)
                expected = self.answers("test.jsonl", model="lists")
                beside = ["test.txt", "--vector-file", "test.npy"]
                self.assertEqual(self.answers(*beside), expected)
                self.assertEqual(self.answers("test.jsonl"), expected)
                again = self.answers("test.jsonl", *beside[1:], model="lists")
                self.assertEqual(again, expected)  # the array replaces the column
                self.assertEqual(
                    self.answers(*beside, verb="evaluate"),
                    self.answers("test.jsonl", verb="evaluate", model="lists"),
                )
                facts = self.run_program("info", "model")[0]
                self.assertIn("vectors, 4 numbers", facts)
        told = self.answers("--row", "2", *beside, verb="explain")
        self.assertIn("labels in the data: ", told)
        self.assertIn("vector of vectors = ", told)
        self.run_program("report", "model", *beside, "--output", "page.html", "--quiet")
        self.assertIn(b"vector of vectors", self.read("page.html"))

    def test_of_texts_are_texts_whatever_they_begin_with(self) -> None:
        self.fit_texts()
        expected = self.answers("test.txt", "--vector-file", "test.npy")
        lines = self.read("test.txt").decode()
        self.write("braces.txt", "".join(f"{{{line}" for line in lines.splitlines(keepends=True)))
        self.assertEqual(self.answers("braces.txt", "--vector-file", "test.npy"), expected)
        self.assert_fails(3, "the line has no tab, but must be label[,label]<TAB>text; the line is "
                          "JSON", "predict", "model", "test.jsonl", "--vector-file",
                          "test.npy")  # fmt: skip

    def test_of_the_format_of_annif_is_that_of_texts(self) -> None:
        self.fit_texts()
        expected = self.answers("test.txt", "--vector-file", "test.npy")
        self.fit("--format", "annif", "--vector-file", "train.npy", "train.annif")
        got = self.answers("test.annif", "--vector-file", "test.npy")
        self.assertEqual(got.replace(URI, ""), expected)
        folder = pathlib.Path(self.path("documents"))
        folder.mkdir()
        for i, (label, text, _, _) in enumerate(self.rows["test"]):
            (folder / f"{i:02}.txt").write_text(text)
            (folder / f"{i:02}.tsv").write_text(f"<{URI}{label}>\n")
        self.assertEqual(self.answers("documents", "--vector-file", "test.npy"), got)

    def test_of_named_columns_gives_the_same_model_as_lists(self) -> None:
        vectors = ["--vector-file", "train.npy"]
        expected = self.fit(*COLUMNS, "--vector-columns", "vectors", "train.jsonl")
        answers = self.answers("test.jsonl")
        self.assertEqual(self.fit_records(), expected)
        self.assertEqual(self.fit(*COLUMNS, *vectors, "train.jsonl"), expected)
        self.write("train.tsv", self.read("train.csv").decode().replace(",", "\t"))
        self.assertEqual(self.fit(*COLUMNS, *vectors, "train.tsv"), expected)
        self.assertEqual(self.answers("test.csv", "--vector-file", "test.npy"), answers)
        self.assertEqual(self.answers("test.jsonl", "--vector-file", "test.npy"), answers)

    def test_of_vectors_alone_is_that_of_lists(self) -> None:
        alone = ["--label-column", "label"]
        expected = self.fit(*alone, "--vector-columns", "vectors", "train.jsonl")
        answers = self.answers("test.jsonl")
        for data in ("csv", "jsonl"):
            self.assertEqual(
                self.fit(*alone, "--vector-file", "train.npy", f"train.{data}"), expected
            )
            self.assertEqual(self.answers(f"test.{data}", "--vector-file", "test.npy"), answers)
        self.write("none.jsonl", '{"label": "lamp"}\n')
        self.assert_fails(
            3, "the record has none of the keys 'vectors', but must have at least one; option "
            "vector-file gives vectors of a file", "predict", "model", "none.jsonl",
        )  # fmt: skip

    def test_patterns_leave_out_a_column_of_the_same_name(self) -> None:
        numbers = ["--numeric-columns", "*", "--label-column", "label"]
        self.write("more.csv", "label,text,vectors,price\nlamp,1,2,3\nsofa,4,5,6\n")
        self.write_array("two.npy", [[1, 2], [3, 4]])
        as_label = ["--text-column", "text", "--label-column", "vectors"]
        more = ["--vector-file", "two.npy", "more.csv"]
        message = "more.csv: column 'vectors' is selected, but option vector-file gives the column"
        self.assert_fails(3, message, *TRAIN, *numbers, *more, "model")
        self.assert_fails(3, message, *TRAIN, *as_label, *more, "model")
        self.fit(*numbers, "--ignore-columns", "vectors", *more)
        self.assertIn("text, price", self.run_program("info", "model")[0])

    def test_is_kept_by_tune_auto_and_shards(self) -> None:
        beside = ["test.txt", "--vector-file", "test.npy"]
        texts = ["--text", "--vector-file", "train.npy"]
        out, _ = self.run_program(
            "tune", "--method", "flat-svm", *texts, "--grid", "vector-share=0.3,0.7", "--folds",
            "2", "--quiet", "train.txt", "model",
        )  # fmt: skip
        self.assertIn("vector_share", out)
        self.answers(*beside, verb="evaluate")
        self.run_program(
            "auto", *texts, "--time-limit-seconds", "20", "--time", "cpu", "--quiet", "train.txt",
            "model",
        )  # fmt: skip
        self.answers(*beside, verb="evaluate")
        self.fit(*texts, "train.txt")
        self.run_program("plan-shards", "--method", "flat-svm", "--shards", "2", *texts,
                         "train.txt", "shards")  # fmt: skip
        for shard in ("0", "1"):
            self.run_program("train-shard", "shards", shard)
        self.run_program("merge-shards", "shards", "merged")
        self.assertEqual(self.answers(*beside, model="merged"), self.answers(*beside))

    def test_needs_no_vectors_where_labels_alone_count(self) -> None:
        self.fit_texts()
        beside = ["test.txt", "--vector-file", "test.npy"]
        alone = self.answers(*beside, "--metrics", "psp_at_1", verb="evaluate")
        again = self.answers(*beside, "--metrics", "psp_at_1", "--train", "train.txt",
                             verb="evaluate")  # fmt: skip
        self.assertEqual(again, alone)

    def test_compare_takes_them_for_two_models(self) -> None:
        self.fit_texts(model="flat")
        self.write("tree", "thing lamp\nthing sofa\nthing shoe\n")
        self.run_program("train", "--method", "nhsvm", "--quiet", "--hierarchy", "tree", "--text",
                         "--vector-file", "train.npy", "train.txt", "model")  # fmt: skip
        compare = ["compare", "--flat", "test.txt", "model", "flat"]
        out, _ = self.run_program(*compare, "--vector-file", "test.npy", "--json")
        beside = ["test.txt", "--vector-file", "test.npy", "--metrics", "micro_f1", "--json"]
        for model, name in (("model", "with_hierarchy"), ("flat", "flat")):
            value = json.loads(self.answers(*beside, verb="evaluate", model=model))["micro_f1"]
            self.assertEqual(json.loads(out)[name]["micro_f1"], value)
        self.assert_fails(3, "test.txt: the model takes vectors of a file, --vector-file FILE.npy",
                          *compare)  # fmt: skip
        plain = [*compare[:1], "test.txt", "model", "flat", "--vector-file", "test.npy"]
        self.run_program(*plain, code=2)

    def test_serve_takes_the_text_and_the_list(self) -> None:
        self.fit_texts()
        expected = self.answers("test.jsonl", verb="predict").split()
        server = Server("model", cwd=self.directory.name)
        try:
            rows = [json.loads(line) for line in self.read("test.jsonl").splitlines()]
            rows = [{"text": row["text"], "vectors": row["vectors"]} for row in rows]
            status, answer = server.ask("POST", "/predict", {"rows": rows})
        finally:
            server.process.terminate()
            server.process.communicate()
        self.assertEqual(status, 200, answer)
        self.assertEqual([row["labels"] for row in answer["predictions"]], [[y] for y in expected])


class Errors(VectorFiles):
    """Files that do not fit the rows, and options that do not fit each other."""

    def test_of_the_array_name_the_file(self) -> None:
        values = [vector for _, _, _, vector in self.rows["train"]]
        wrong = [*values[:6], [1.0, math.nan, 0.0, 0.0], *values[7:]]
        none: list[list[float]] = [[] for _ in values]
        for message, array in (
            ("it has 59 rows, but must have 60 as train.txt", values[1:]),
            ("row 7, column 2: the number is nan, but must be a number that fits a 32-bit", wrong),
            ("it has no columns, but must have at least one", none),
        ):
            self.write_array("x.npy", array)
            self.assert_fails(3, f"margrove: x.npy: {message}", *TRAIN, "--text", "--vector-file",
                              "x.npy", "train.txt", "m")  # fmt: skip
        self.fit_texts()
        self.write_array("x.npy", [vector[:3] for _, _, _, vector in self.rows["test"]])
        for verb in ("predict", "evaluate"):
            self.assert_fails(3, "x.npy: it has 3 columns, but must have 4 as in training", verb,
                              "model", "test.txt", "--vector-file", "x.npy")  # fmt: skip
        self.assert_fails(3, "train.npy: it has 60 rows, but must have 21 as test.txt", "predict",
                          "model", "test.txt", "--vector-file", "train.npy")  # fmt: skip

    def test_of_a_file_that_is_missing_name_the_option(self) -> None:
        message = (
            "the model takes vectors of a file, --vector-file FILE.npy, or rows in JSON lines with "
            "a list of numbers in column 'vectors'"
        )
        self.fit_texts()
        for verb in (["predict"], ["evaluate"], ["explain", "--row", "1"]):
            self.assert_fails(3, f"test.txt: {message}", *verb, "model", "test.txt")
        _, err = self.piped("a\tb\n", "predict", "model", "-", code=3)
        self.assertIn(f"standard input: {message}", err)
        self.fit_records()
        self.assert_fails(3, f"test.csv: {message}", "predict", "model", "test.csv")
        self.write("bare.jsonl", '{"text": "x", "price": 1}\n')
        self.assert_fails(
            3, "column 'vectors' has no number, but must have one or a list of them; vectors have "
            "no gaps; option vector-file gives vectors of a file", "predict", "model", "bare.jsonl",
        )  # fmt: skip

    def test_of_rows_without_labels_say_so(self) -> None:
        self.fit_texts()
        message = "no row has a label, because the model was trained without a column of labels"
        self.assert_fails(3, f"test.jsonl: {message}", "evaluate", "model", "test.jsonl")
        _, err = self.piped(self.read("test.jsonl").decode(), "evaluate", "model", "-", code=3)
        self.assertIn(f"standard input: {message}", err)

    def test_of_models_without_vectors_of_a_file(self) -> None:
        message = "option vector-file is given, but the model takes no vectors of a file"
        self.fit("--text", "train.txt")
        self.assert_fails(2, message, "predict", "model", "test.txt", "--vector-file", "test.npy")
        self.write("e.jsonl", self.read("train.jsonl").decode().replace("vectors", "e"))
        self.fit("--vector-columns", "e", "--label-column", "label", "e.jsonl")
        self.assert_fails(2, message, "predict", "model", "e.jsonl", "--vector-file", "train.npy")

    def test_of_options_that_exclude_each_other(self) -> None:
        given = ["--vector-file", "train.npy"]
        for message, options in (
            ("options vector-file and vector-columns are both given, but a row has one vector",
             [*COLUMNS, "--vector-columns", "price", "train.csv"]),
            ("options vectors and vector-file are both given, but a row has one vector",
             ["--text", "--vectors", "minilm", "train.txt"]),
            ("option vector-file is given, but the rows are numbers, not texts (option text) or "
             "rows with named columns; an array beside numbers is a view: --view NAME=FILE.npy",
             ["train.svm"]),
            ("option vector-share is given, but there are no features beside the vectors",
             ["--label-column", "label", "--vector-share", "0.5", "train.csv"]),
        ):  # fmt: skip
            self.write("train.svm", "a 1:1\n" * 60)
            self.assert_fails(2, message, *TRAIN, *given, *options, "m")
        self.assert_fails(
            2, "option vector-share is given, but there are no vectors: none of vectors, "
            "vector-columns and vector-file is given", *TRAIN, "--text", "--vector-share", "0.5",
            "train.txt", "m",
        )  # fmt: skip
        self.write("tags", "a\tA\n\nb\tB\n\n")
        sentences = ["--method", "structured", "--model", "chain"]
        self.run_program("train", *sentences, "--quiet", "tags", "chain")
        self.assert_fails(2, "option vector-file is given, but the examples of method structured "
                          "are not rows", "predict", "chain", "tags", *given)  # fmt: skip

    def test_of_rows_that_are_read_one_by_one(self) -> None:
        message = (
            "option vector-file is given, but its vectors are those of the rows of a whole file; "
            "leave --on-error skip out, and give a file instead of -"
        )
        self.fit_texts()
        given = ["--vector-file", "test.npy"]
        for verb in ("predict", "evaluate"):
            self.assertIn(message, self.piped("", verb, "model", "-", *given, code=2)[1])
        self.assert_fails(2, message, "predict", "model", "test.txt", "--on-error", "skip", *given)
        self.assert_fails(3, "-: cannot open: No such file or directory", "predict", "model",
                          "test.txt", "--vector-file", "-")  # fmt: skip
        line = self.read("test.jsonl").splitlines()[0].decode() + "\n"
        expected = self.answers("test.jsonl", verb="predict").splitlines()[0]
        self.assertEqual(self.piped(line, "predict", "model", "-")[0], expected + "\n")

    def test_a_file_that_is_read_is_not_written(self) -> None:
        given = ["--text", "--vector-file", "train.npy", "train.txt"]
        self.assert_fails(3, "the result would replace train.npy", *TRAIN, *given, "train.npy")


if __name__ == "__main__":
    unittest.main()
