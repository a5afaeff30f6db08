"""Rows with values near the largest float, for which a model has no finite scores.

Run and configured like test_cli.py, whose helpers it uses.
"""

# ruff: noqa: PT009 - unittest, so that it runs with nothing installed

import subprocess
import unittest

from test_cli import LINEAR_METHODS, MARGROVE, CliTest, rows

WHY = "the scores are not finite numbers, but must be; the values of the row are too large"
HUGE = "a1 1:3e38 2:3e38 3:-3e38\n"


class Overflow(CliTest):
    def setUp(self) -> None:
        super().setUp()
        # Small columns, so that weights become large.
        lines = [line.split() for line in rows(60, 3).splitlines()]
        small = [
            (label, [(j, float(x) / 1000) for j, x in (c.split(":") for c in cells)])
            for label, *cells in lines
        ]
        self.write("small", "".join(
            f"{label} {' '.join(f'{j}:{x:.7f}' for j, x in cells)}\n" for label, cells in small
        ))  # fmt: skip
        usual = self.read("small").decode().splitlines(keepends=True)
        self.write("bad", f"{usual[0]}\n{usual[1]}{HUGE}{usual[2]}")  # with a blank line
        self.usual = [usual[0], usual[1], usual[2]]

    def fit(self, method: str, *options: str) -> None:
        given = ["--method", method, "--hierarchy", "tree", "--scale", "none", "--C", "10000"]
        self.run_program("train", *given, *options, "--quiet", "small", "model")

    def test_predict_names_the_row_of_the_file(self) -> None:
        for method in LINEAR_METHODS:
            self.fit(method)
            for options in ([], ["--scores"], ["--top", "2"]):
                with self.subTest(method=method, options=options):
                    self.assert_fails(
                        3, f"margrove: bad: row 3: {WHY}", "predict", *options, "model", "bad"
                    )

    def test_rows_that_come_are_answered_up_to_the_one(self) -> None:
        self.fit("flat-svm")
        done = subprocess.run(
            [MARGROVE, "predict", "model", "-"], cwd=self.directory.name,
            input=self.read("bad").decode(), capture_output=True, text=True, check=False,
        )  # fmt: skip
        self.assertEqual(done.returncode, 3)
        self.assertEqual(done.stdout.splitlines(), [row.split()[0] for row in self.usual[:2]])
        self.assertIn(f"margrove: standard input:4: {WHY}", done.stderr)

    def test_they_are_left_out_with_on_error_skip(self) -> None:
        self.fit("hsvm")
        out, err = self.run_program("predict", "--on-error", "skip", "model", "bad")
        self.write("usual", "".join(self.usual))
        labels = self.run_program("predict", "model", "usual")[0].splitlines()
        self.assertEqual(out.split("\n")[:-1], [*labels[:2], "", labels[2]])
        self.assertIn(f"margrove: bad:4: {WHY}", err)
        self.assertIn("the row of line 4 is skipped", err)
        self.assertIn("1 of 4 rows have errors", err)

    def test_evaluate_report_and_explain_name_the_row(self) -> None:
        for method in LINEAR_METHODS:
            self.fit(method)
            with self.subTest(method):
                why = f"bad: row 3: {WHY}"
                self.assert_fails(3, why, "evaluate", "--quiet", "model", "bad")
                self.assert_fails(3, why, "explain", "model", "bad", "--row", "3")
                self.assert_fails(3, why, "explain", "model", "bad", "--row", "3", "--label", "a1")
                self.run_program("explain", "model", "bad", "--row", "2")
        self.assert_fails(3, why, "report", "--quiet", "model", "bad", "--output", "page.html")

    def test_sums_over_paths_are_named_as_well(self) -> None:
        # Each node has a finite score, but their sum over a path is not.
        self.write("sets", self.read("small").decode().replace("a1 ", "a1,b1 ", 1))
        self.run_program("train", "--method", "hsvm", "--hierarchy", "tree", "--scale", "none",
                         "--C", "1", "--quiet", "sets", "model")  # fmt: skip
        big = [f"a1 1:{x}e38 2:{x}e38 3:{x}e38\n" for x in (1, 2, 3)]
        self.write("bad", "".join(big))
        done = subprocess.run(
            [MARGROVE, "predict", "--scores", "model", "bad"], cwd=self.directory.name,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        self.assertNotRegex(done.stdout, "inf|nan")
        if done.returncode != 0:
            self.assertIn(WHY, done.stderr)


if __name__ == "__main__":
    unittest.main()
