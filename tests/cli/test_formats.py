"""Files of rows in the forms of other programs: what is read, what the model keeps of the form.

Run and configured like test_cli.py, whose helpers it uses.
"""

# ruff: noqa: PT009 - unittest, so that it runs with nothing installed

import json
import os
import subprocess
import unittest

from test_cli import MARGROVE, CliTest, rows


def from_zero(text: str) -> str:
    """The rows with indices that count from 0."""
    lines = []
    for line in text.splitlines():
        label, *features = line.split(" ")
        pairs = (feature.split(":") for feature in features)
        lines.append(" ".join([label, *(f"{int(index) - 1}:{value}" for index, value in pairs)]))
    return "".join(line + "\n" for line in lines)


class IndexBase(CliTest):
    def predict_lines(self, model: str, text: str) -> str:
        """The answers to rows on standard input."""
        done = subprocess.run(
            [MARGROVE, "predict", "--quiet", model, "-"],
            cwd=self.directory.name,
            input=text,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    def test_is_kept_by_the_model_for_all_its_rows(self) -> None:
        train, test = rows(120, 1), rows(60, 2)
        zero, zero_test = from_zero(train), from_zero(test)
        self.write("one", train)
        self.write("one_test", test)
        self.write("zero", zero)
        self.write("zero_test", zero_test)
        fit = ["train", "--method", "flat-svm", "--quiet", "--threads", "1"]
        self.run_program(*fit, "one", "model_one")
        self.run_program(*fit, "--index-base", "0", "zero", "model_zero")
        labels = {"a1": "0", "a2": "1", "b1": "2", "b2": "3"}
        numbered = "".join(labels[line[:2]] + line[2:] + "\n" for line in zero.splitlines())
        self.write("headed", f"120 3 4\n{numbered}")
        self.run_program(*fit, "headed", "model_headed")

        expected, _ = self.run_program("predict", "--quiet", "model_one", "one_test")
        scores, _ = self.run_program("evaluate", "--quiet", "model_one", "one_test")
        self.assertEqual(
            self.run_program("predict", "--quiet", "model_zero", "zero_test")[0], expected
        )
        self.assertEqual(
            self.run_program("evaluate", "--quiet", "model_zero", "zero_test")[0], scores
        )
        self.assertEqual(self.predict_lines("model_zero", zero_test), expected)
        # Rows without a header, for a model of a file with one.
        as_numbers = "".join(labels[label] + "\n" for label in expected.split())
        self.assertEqual(self.predict_lines("model_headed", zero_test), as_numbers)

        out, _ = self.run_program("explain", "model_one", "one_test", "--row", "1")
        self.assertIn("feature 1", out)
        out, _ = self.run_program("explain", "model_zero", "zero_test", "--row", "1")
        self.assertIn("feature 0", out)

    def test_of_0_is_named_where_an_index_is_0(self) -> None:
        self.write("zero", from_zero(rows(20, 1)))
        fit = ["train", "--method", "flat-svm", "--quiet"]
        self.assert_fails(
            3,
            "zero:1:4: feature index is 0, but must be at least 1; for a file whose indices count "
            "from 0, train with option index-base 0 (--index-base 0), which the model keeps",
            *fit,
            "zero",
            "model",
        )
        self.write("texts", "a\tone\nb\ttwo\n")
        self.assert_fails(
            2,
            "option index-base is 0, which is for rows of index:value, but these are others",
            *fit,
            "--index-base",
            "0",
            "--text",
            "texts",
            "model",
        )


class Liblinear(CliTest):
    MODEL = "solver_type L2R_L2LOSS_SVC_DUAL\nnr_class 2\nlabel 1 -1\nnr_feature 2\nbias 1\nw\n"

    def accuracy(self, model: str, data: str) -> str:
        out, err = self.run_program(
            "evaluate", "--quiet", "--metrics", "accuracy", "--json", model, data
        )
        self.assertEqual(err, "")
        return str(json.loads(out)["accuracy"])

    def test_labels_match_in_every_spelling_and_go_back(self) -> None:
        self.write("liblinear", self.MODEL + "0.8 \n0 \n0 \n")
        self.run_program("import", "liblinear", "model")
        for positive, negative in (("+1", "-1"), ("1", "-1"), ("1.0", "-1.0")):
            with self.subTest(positive):
                self.write(
                    "signs",
                    f"{positive} 1:1\n{negative} 1:-1\n{positive} 1:2 2:1\n{negative} 1:-2\n",
                )
                self.assertEqual(float(self.accuracy("model", "signs")), 1)
                self.run_program("train", "--method", "flat-svm", "--quiet", "signs", "own")
                self.run_program("export", "own", "exported")
                self.assertIn(
                    b"label 1 -1\n" if positive == "+1" else b"label -1 1\n", self.read("exported")
                )
                self.run_program("import", "exported", "again")
                self.assertEqual(float(self.accuracy("again", "signs")), 1)


class Annif(CliTest):
    def test_folders_and_columns_with_uris_in_brackets_are_read(self) -> None:
        os.mkdir(self.path("texts"))
        subjects = {"owl": "bird", "lynx": "cat", "hen": "bird", "lion": "cat"}
        lines = ["text,subject_uris"]
        for word, subject in subjects.items():
            self.write(f"texts/{word}.txt", f"a {word} and\nthe {subject}\n")
            self.write(f"texts/{word}.tsv", f"<http://x/{subject}>\t{subject}\n")
            lines.append(f"a {word} and the {subject},<http://x/{subject}>")
        self.write("rows.csv", "\n".join(lines) + "\n")
        self.write("edges", "http://x/all http://x/bird\nhttp://x/all http://x/cat\n")
        fit = ["train", "--method", "hsvm", "--quiet", "--hierarchy", "edges"]
        self.run_program(*fit, "--text", "texts", "folder_model")
        columns = ["--text-column", "text", "--label-column", "subject_uris"]
        self.run_program(*fit, *columns, "--label-separator", " ", "rows.csv", "csv_model")
        birds_and_cats = "http://x/bird\nhttp://x/cat\nhttp://x/cat\nhttp://x/bird\n"
        self.assertEqual(
            self.run_program("predict", "--quiet", "folder_model", "texts")[0], birds_and_cats
        )
        for model, data in (("folder_model", "texts"), ("csv_model", "rows.csv")):
            out, err = self.run_program("evaluate", "--quiet", model, data)
            self.assertRegex(out, r"accuracy +1\.0")
            self.assertEqual(err, "")


class Columns(CliTest):
    TAGGED = "# id 1\nred B-X\nfox I-X\n\n# id 2\nowl B-X\nran O\n"

    def test_comments_are_left_out_where_the_model_was_trained_so(self) -> None:
        self.write("tagged", self.TAGGED)
        fit = ["train", "--method", "structured", "--model", "chain", "--quiet"]
        hint = "; --comments hash leaves out lines that begin with '#' and a blank"
        self.assert_fails(3, hint, *fit, "tagged", "model")
        self.run_program(*fit, "--comments", "hash", "tagged", "model")
        answers, _ = self.run_program("predict", "--quiet", "model", "tagged")
        self.assertEqual(answers, "B-X\nI-X\n\nB-X\nO\n\n")
        out, _ = self.run_program("evaluate", "--quiet", "model", "tagged")
        self.assertRegex(out, r"span_f1 +1\.0")

    def test_spans_are_scored_in_bilou_and_without_types(self) -> None:
        fit = ["train", "--method", "structured", "--model", "chain", "--quiet"]
        for name, text in (
            ("bilou", "a B-X\nb L-X\nc U-X\nd O\n\na B-X\nb L-X\n"),
            ("bare", "we O\nred B\nfox I\nrun O\n\nan O\nowl B\n"),
        ):
            with self.subTest(name):
                self.write(name, text)
                self.run_program(*fit, name, "model")
                out, _ = self.run_program("evaluate", "--quiet", "model", name)
                for metric in ("span_precision", "span_recall", "span_f1"):
                    self.assertRegex(out, metric + r" +1\.0")


if __name__ == "__main__":
    unittest.main()
