"""What rows without a label mean: --unlabelled of train, tune, auto and plan-shards.

Run and configured like test_cli.py, whose helpers it uses.
"""

# ruff: noqa: PT009 - unittest, so that it runs with nothing installed

import json
import random
import unittest
from collections.abc import Iterator

from test_cli import DECLARED, CliTest
from test_structured_training import TAGS

from tools.declared_methods import Method

Row = tuple[str, float, float]  # labels with commas between, features

COUNT = "rows have no label and were left out"
BETWEEN = {"svm": ",", "csv": ";", "jsonl": "\t"}  # labels of an answer, by the format of rows
NEVER_EMPTY = ("kernel-ridge",)  # answers with at least one label (docs/formats.md)
COLUMNS = ("--label-column", "label", "--numeric-columns", "x,y")


def corner_rows(num_empty: int, *, several: bool = False) -> list[Row]:
    """Rows of a1 and b1 far from each other, and rows without a label far from both."""
    draw = random.Random(5)
    corners = [("a1", 8.0, 0.0)] * 20 + [("b1", 0.0, 8.0)] * 20 + [("", -8.0, -8.0)] * num_empty
    corners += [("a1,b1", 8.0, 8.0)] * (9 if several else 0)
    draw.shuffle(corners)
    return [(label, x + draw.gauss(0, 1), y + draw.gauss(0, 1)) for label, x, y in corners]


def texts_of(rows: list[Row]) -> dict[str, str]:
    """The rows in each format."""
    table = "".join(f"{label.replace(',', ';')},{x:.3f},{y:.3f}\n" for label, x, y in rows)
    records = (
        {"label": label.split(",") if "," in label else label or None, "x": x, "y": y}
        for label, x, y in rows
    )
    return {
        "svm": "".join(f"{label} 1:{x:.3f} 2:{y:.3f}\n" for label, x, y in rows),
        "csv": "label,x,y\n" + table,
        "jsonl": "".join(json.dumps(record) + "\n" for record in records),
    }


class Unlabelled(CliTest):
    def setUp(self) -> None:
        super().setUp()
        for name, data in (
            ("holes", corner_rows(12)),
            ("full", [row for row in corner_rows(12) if row[0]]),
            ("sets", corner_rows(12, several=True)),
            ("fullsets", [row for row in corner_rows(12, several=True) if row[0]]),
        ):
            for form, text in texts_of(data).items():
                self.write(f"{name}.{form}", text)

    def train_method(self, how: list[str], meaning: str, data: str, form: str = "svm") -> str:
        """Trains a model of the name `model` and returns stderr."""
        columns = [] if form == "svm" else [*COLUMNS]
        columns += ["--label-separator", ";"] if form == "csv" else []
        return self.run_program(
            "train", "--quiet", *how, "--unlabelled", meaning, *columns, f"{data}.{form}", "model"
        )[1]

    def answers(self, data: str = "holes", form: str = "svm") -> list[str]:
        return self.run_program("predict", "model", f"{data}.{form}")[0].split("\n")[:-1]

    @staticmethod
    def ways(method: Method) -> Iterator[tuple[list[str], bool]]:
        """Options of the method, and whether it takes rows with the empty set with them."""
        plain = ["--method", method.name, *(["--hierarchy", "tree"] * method.takes_hierarchy)]
        is_of_sentences = not method.takes_rows
        if is_of_sentences:
            plain += ["--model", "multilabel-field"]
        yield plain, method.empty_sets
        for option in method.no_empty_sets_with:
            yield ["--method", method.name, "--hierarchy", "tree", *option], False

    def test_keep_makes_label_sets_or_is_refused_by_every_method(self) -> None:
        taken = 0
        for method in DECLARED:
            for how, takes in self.ways(method):
                with self.subTest(" ".join(how)):
                    if not takes:
                        self.assert_fails(
                            2,
                            "margrove: option unlabelled is keep, but method "
                            f"{method.name} takes no rows without a label",
                            *("train", *how, "--unlabelled", "keep", "no-such-file", "model"),
                        )
                        continue
                    taken += 1
                    self.assertEqual(self.train_method(how, "keep", "holes"), "")
                    for answer, (label, *_) in zip(self.answers(), corner_rows(12), strict=True):
                        if label or method.name not in NEVER_EMPTY:
                            self.assertEqual(answer, label)
        self.assertGreaterEqual(taken, 4)

    def test_keep_is_for_rows_without_holes_too(self) -> None:
        for method in DECLARED:
            for how, takes in self.ways(method):
                if takes:
                    self.train_method(how, "keep", "full")
                    facts = self.run_program("evaluate", "--json", "model", "holes.svm")[0]
                    self.assertEqual(json.loads(facts)["examples"], 52, how)

    def test_the_others_are_named(self) -> None:
        names = [method.name for method in DECLARED if method.empty_sets]
        self.assert_fails(
            2, f"; methods that do: {', '.join(names)}\n",
            "train", "--method", "hsvm", "--hierarchy", "tree", "--unlabelled", "keep", "x", "y",
        )  # fmt: skip
        self.assert_fails(
            2, "takes no rows without a label where partial-labels is true; methods that do: ",
            "train", "--method", "flat-lr", "--hierarchy", "tree", "--partial-labels",
            "--unlabelled", "keep", "x", "y",
        )  # fmt: skip

    def test_drop_leaves_out_the_rows_of_every_method(self) -> None:
        for method in DECLARED:
            sources = ["holes", "sets"] if method.label_sets else ["holes"]
            for how, _ in self.ways(method):
                for data in sources[:1] if how[-1] in SINGLE else sources:
                    with self.subTest(" ".join([*how, data])):
                        err = self.train_method(how, "drop", data)
                        rows = 52 if data == "holes" else 61
                        self.assertEqual(
                            err, f"margrove: warning: {data}.svm: 12 of {rows} {COUNT}\n"
                        )

    def test_drop_is_training_on_the_other_rows(self) -> None:
        for method in DECLARED:
            if not method.label_sets:
                continue
            for how, _ in self.ways(method):
                if how[-1] in SINGLE:
                    continue
                with self.subTest(" ".join(how)):
                    self.train_method([*how, "--scale", "none"], "drop", "sets")
                    dropped = self.run_program("predict", "--scores", "model", "sets.svm")[0]
                    self.train_method([*how, "--scale", "none"], "auto", "fullsets")
                    expected = self.run_program("predict", "--scores", "model", "sets.svm")[0]
                    self.assertEqual(dropped, expected)

    def test_auto_is_what_it_was(self) -> None:
        how = ["--method", "flat-svm"]
        self.assertIn(f"12 of 52 {COUNT}", self.train_method(how, "auto", "holes"))
        model = self.read("model")
        self.assertIn(f"12 of 52 {COUNT}", self.train_method(how, "drop", "holes"))
        self.assertEqual(self.read("model"), model)
        self.assertEqual(self.train_method(how, "auto", "sets"), "")
        model = self.read("model")
        self.assertEqual(self.train_method(how, "keep", "sets"), "")
        self.assertEqual(self.read("model"), model)

    def test_every_format_of_rows(self) -> None:
        how = ["--method", "flat-svm"]
        for form, between in BETWEEN.items():
            for data, rows in (("holes", 52), ("sets", 61)):
                with self.subTest(f"{data}.{form}"):
                    self.assertEqual(self.train_method(how, "keep", data, form), "")
                    several = data == "sets"
                    rows_read = corner_rows(12, several=several)
                    labels = {label.replace(",", between) for label, *_ in rows_read}
                    self.assertEqual(set(self.answers(data, form)), labels)
                    err = self.train_method(how, "drop", data, form)
                    self.assertIn(f"12 of {rows} {COUNT}", err)

    def test_strict_training_keeps_them(self) -> None:
        how = ["--method", "flat-svm", "--strict"]
        self.assertEqual(self.train_method(how, "keep", "holes"), "")
        for meaning in ("auto", "drop"):
            self.assert_fails(
                3, "has no label; without --strict it is left out",
                "train", *how, "--unlabelled", meaning, "holes.svm", "model",
            )  # fmt: skip

    def test_no_row_with_a_label_is_an_error(self) -> None:
        self.write("none", " 1:1\n 2:1\n 1:1 2:1\n")
        for method in DECLARED:
            for how, takes in self.ways(method):
                for meaning in ("drop", "keep") if takes else ("drop",):
                    with self.subTest(" ".join([*how, meaning])):
                        err = self.run_program(
                            "train", "--quiet", *how, "--unlabelled", meaning, "none", "model",
                            code=3,
                        )[1]  # fmt: skip
                        self.assertRegex(err, "label")

    def test_sets_that_may_be_empty_can_be_calibrated(self) -> None:
        self.run_program(
            "train", "--method", "flat-lr", "--quiet", "--unlabelled", "keep", "--calibration",
            "0.3", "holes.svm", "model",
        )  # fmt: skip
        out, _ = self.run_program("info", "model")
        self.assertRegex(out, r"\nshift +\S+\n")

    def test_sentences_have_no_such_rows(self) -> None:
        self.write("tags", TAGS)
        for verb in ("train", "tune", "plan-shards"):
            for meaning in ("auto", "drop", "keep"):
                self.assert_fails(
                    2, "option unlabelled is given, but method structured reads examples that "
                    "are not rows: ",
                    verb, "--method", "structured", "--model", "chain", "--unlabelled", meaning,
                    "tags", "result",
                )  # fmt: skip
        self.assert_fails(
            2, "--unlabelled: some not in {auto,drop,keep}",
            "train", "--method", "flat-svm", "--unlabelled", "some", "holes.svm", "model",
        )  # fmt: skip

    def test_tune_measures_what_is_trained(self) -> None:
        tune = ["tune", "--quiet", "--method", "flat-svm", "--grid", "C=0.1,1"]
        tables = {}
        for meaning in ("auto", "drop", "keep"):
            out, err = self.run_program(
                *tune, "--metric", "accuracy", "--unlabelled", meaning, "holes.svm", "model"
            )
            tables[meaning] = [line for line in out.split("\n") if line.startswith(("0.1", "1\t"))]
            self.assertEqual(COUNT in err, meaning != "keep")
            self.assertEqual("" in self.answers(), meaning == "keep")
            self.assertIn("1.0000", tables[meaning][0])
        self.assertEqual(tables["auto"], tables["drop"])
        self.assert_fails(
            2, "option unlabelled is keep, but method hsvm takes no rows without a label",
            "tune", "--method", "hsvm", "--hierarchy", "tree", "--unlabelled", "keep", "x", "y",
        )  # fmt: skip
        self.assert_fails(
            2, "takes no rows without a label where multiclass is crammer-singer",
            "tune", "--method", "flat-svm", "--grid", "multiclass=ovr,crammer-singer",
            "--unlabelled", "keep", "x", "y",
        )  # fmt: skip

    def test_auto_chooses_among_those_that_can(self) -> None:
        auto = ["auto", "--quiet", "--time-limit-seconds", "0", "--hierarchy", "tree"]
        out, err = self.run_program(*auto, "--unlabelled", "keep", "holes.svm", "model")
        self.assertEqual(err, "")
        self.assertRegex(out, "left out: nhsvm: it takes no rows without a label\n")
        self.assertRegex(out, r"left out: flat-svm --multiclass crammer-singer: it ")
        self.assertIn("micro_f1", out)
        self.assertIn(" --hierarchy tree --unlabelled keep holes.svm model\n", out)
        self.assertIn("", self.answers())
        for meaning in ("auto", "drop"):
            out, err = self.run_program(*auto, "--unlabelled", meaning, "holes.svm", "model")
            self.assertIn(f"12 of 52 {COUNT}", err)
            self.assertIn("accuracy", out)
            self.assertNotIn("", self.answers())

    def test_shards_are_those_of_one_machine(self) -> None:
        for method in ("flat-svm", "flat-lr"):
            for meaning in ("drop", "keep"):
                with self.subTest(f"{method} {meaning}"):
                    how = ["--method", method]
                    self.train_method(how, meaning, "sets" if meaning == "drop" else "holes")
                    expected = self.read("model")
                    work = f"work-{method}-{meaning}"
                    data = "sets.svm" if meaning == "drop" else "holes.svm"
                    self.run_program(
                        "plan-shards", "--quiet", *how, "--unlabelled", meaning, "--shards", "2",
                        data, work,
                    )  # fmt: skip
                    self.run_program("train-shard", work, "0")
                    self.run_program("train-shard", work, "1")
                    self.run_program("merge-shards", work, "model")
                    self.assertEqual(self.read("model"), expected)
        self.assert_fails(
            2, "option unlabelled is keep, but method top-down-svm takes no",
            "plan-shards", "--method", "top-down-svm", "--hierarchy", "tree", "--unlabelled",
            "keep", "holes.svm", "other",
        )  # fmt: skip


SINGLE = ("crammer-singer", "softmax", "--partial-labels")  # options for rows with one label


if __name__ == "__main__":
    unittest.main()
