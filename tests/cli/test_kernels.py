"""Kernel methods from outside: kernels, networks, views in several files, explanations, drawings.

Run and configured like test_cli.py, whose helpers it uses.
"""

# ruff: noqa: PT009 - unittest, so that it runs with nothing installed

import json
import math
import os
import pathlib
import random
import re
import struct
import subprocess
import unittest
from xml.etree import ElementTree as ET

from test_cli import KERNEL_METHODS, MARGROVE, NETWORK_METHODS, CliTest

NETWORK = {
    "kernels": {
        "c": {"type": "gaussian", "view": "main", "widths": ["0.5 median", "median"]},
        "s": {"type": "polynomial", "degree": 2, "view": "shape"},
        "l": {"type": "linear", "view": "shape"},
    },
    "root": {
        "sum": [
            {"product": [{"sum": ["c", "l"]}], "name": "alone"},
            {"product": [{"sum": ["c"]}, {"sum": ["s"]}], "name": "together", "p": 1.5},
        ]
    },
}

Row = tuple[str, list[float], list[float]]


def view_rows(count: int, seed: int) -> list[Row]:
    """Two columns in the first view and three in the second; the label needs both."""
    rng = random.Random(seed)
    rows = []
    for _ in range(count):
        first, second = rng.choice((-1, 1)), rng.choice((-1, 1))
        label = ("a", "b", "c", "d")[(first > 0) + 2 * (second > 0)]
        x = [first + rng.gauss(0, 0.3), rng.gauss(0, 0.3)]
        z = [second + rng.gauss(0, 0.3), rng.gauss(0, 0.3), rng.gauss(0, 0.3)]
        rows.append((label, x, z))
    return rows


def line(label: str, values: list[float]) -> str:
    return f"{label} " + " ".join(f"{j + 1}:{v:.4f}" for j, v in enumerate(values)) + "\n"


def npy(values: list[list[float]], dtype: str = "<f4", *, by_columns: bool = False) -> bytes:
    """The file that numpy.save() writes of these rows."""
    shape = (len(values), len(values[0]))
    header = f"{{'descr': '{dtype}', 'fortran_order': {by_columns}, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    numbers = [v for row in (zip(*values, strict=True) if by_columns else values) for v in row]
    form = f"<{len(numbers)}{ {'<f2': 'e', '<f4': 'f', '<f8': 'd'}[dtype] }"
    start = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header))
    return start + header.encode("ascii") + struct.pack(form, *numbers)


class KernelTest(CliTest):
    def setUp(self) -> None:
        super().setUp()
        for name, count, seed in (("train", 160, 1), ("test", 80, 2)):
            rows = view_rows(count, seed)
            self.write(name, "".join(line(y, x) for y, x, _ in rows))
            self.write(f"{name}.shape", "".join(line(y, z) for y, _, z in rows))
            self.write(f"{name}.bare", "".join(line("", z) for _, _, z in rows))
            self.write(f"{name}.joined", "".join(line(y, x + z) for y, x, z in rows))
        self.write("network", json.dumps(NETWORK))

    def fit(self, *options: str, method: str = "spn-mkl", data: str = "train") -> str:
        arguments = ["train", "--method", method, *options, data, "model", "--quiet"]
        out: str = self.run_program(*arguments)[0]
        return out

    def accuracy(self, *arguments: str) -> float:
        out = self.run_program("evaluate", "model", *arguments, "--json")[0]
        return float(json.loads(out)["accuracy"])


class Views(KernelTest):
    def test_in_files_and_in_columns_of_one_file_are_the_same(self) -> None:
        network = json.loads(json.dumps(NETWORK))
        network["views"] = {"main": "1-2", "shape": "3-5"}
        self.write("columns", json.dumps(network))
        in_columns = self.fit("--network", "columns", data="train.joined")
        predicted = self.run_program("predict", "model", "test.joined", "--scores")[0]
        for shape in ("shape", "bare"):
            in_files = self.fit("--network", "network", "--view", f"shape=train.{shape}")
            for name in ("objective", "dual"):
                value = re.compile(rf"^{name}\t.*$", re.M)
                self.assertEqual(value.findall(in_files), value.findall(in_columns))
            self.assertEqual(
                self.run_program(
                    "predict", "model", "test", "--view", f"shape=test.{shape}", "--scores"
                )[0],
                predicted,
            )
        self.assertGreater(self.accuracy("test", "--view", "shape=test.shape"), 0.9)

    def test_serve_every_kernel_method_without_a_network(self) -> None:
        for method in NETWORK_METHODS:
            self.fit("--view", "shape=train.shape", method=method)
            self.assertGreater(self.accuracy("test", "--view", "shape=test.shape"), 0.9, method)
            out, _ = self.run_program("explain", "model")
            self.assertIn("main/gaussian/0.25: gaussian", out)
            self.assertIn("shape/gaussian/4: gaussian", out)

    def test_none_of_which_has_a_weight_is_a_warning(self) -> None:
        train = ["train", "--method", "spn-mkl", "--C", "1e-7", "--quiet", "train", "model"]
        _, err = self.run_program(*train)
        self.assertIn("no kernel has a weight, so that all rows have the same scores", err)
        _, err = self.run_program(*train[:3], *train[5:])
        self.assertNotIn("no kernel has a weight", err)

    def test_serve_linear_methods_as_columns_side_by_side(self) -> None:
        self.fit("--view", "shape=train.shape", method="flat-svm")
        apart = self.run_program("predict", "model", "test", "--view", "shape=test.shape")[0]
        out, _ = self.run_program(
            "explain", "model", "test", "--view", "shape=test.shape", "--row", "1"
        )
        self.assertIn("shape feature 1 = ", out)
        self.fit(method="flat-svm", data="train.joined")
        self.assertEqual(self.run_program("predict", "model", "test.joined")[0], apart)

    def test_may_come_in_any_order_and_be_tuned(self) -> None:
        views = ["--view", "shape=train.shape", "--view", "more=train"]
        out, _ = self.run_program(
            "tune", "--method", "simple-mkl", *views, "--grid", "C=0.1,1", "--folds", "2",
            "train", "model",
        )  # fmt: skip
        self.assertIn(" *\n", out)
        one = self.accuracy("test", "--view", "shape=test.shape", "--view", "more=test")
        other = self.accuracy("test", "--view", "more=test", "--view", "shape=test.shape")
        self.assertEqual(one, other)
        self.assertGreater(one, 0.9)

    def test_features_that_training_did_not_see_are_dropped(self) -> None:
        self.fit("--view", "shape=train.shape")
        first = self.run_program("predict", "model", "test", "--view", "shape=test.shape")[0]
        wide = self.read("test").decode().replace("\n", " 3:100\n")
        self.write("wide", wide)
        again = self.run_program("predict", "model", "wide", "--view", "shape=test.shape")[0]
        self.assertEqual(again, first)

    def test_that_do_not_fit_are_named(self) -> None:
        rows = self.read("train.shape").decode().splitlines(keepends=True)
        self.write("short", "".join(rows[:-1]))
        other = "b" if rows[0][0] != "b" else "c"
        self.write("shifted", other + "".join(rows)[1:])
        self.write("empty", "".join(f"{row[0]}\n" for row in rows))
        start = ["train", "--method", "spn-mkl", "--quiet"]
        for code, message, view in [
            (2, "option view is 'shape', but must be NAME=FILE", ["shape"]),
            (2, "option view is '=f', but must be NAME=FILE", ["=f"]),
            (3, "missing", ["shape=missing"]),
            (3, "short: it has 159 rows, but must have 160 as train", ["shape=short"]),
            (3, f"shifted: row 1: label is '{other}', but must be one that the row has in train",
             ["shape=shifted"]),
            (3, "view 'shape': its columns [2, 2) must begin at 2 and not be empty",
             ["shape=empty"]),
            (3, "view 'main' occurs twice", ["main=train.shape"]),
        ]:  # fmt: skip
            with self.subTest(view=view):
                options = [part for each in view for part in ("--view", each)]
                self.assert_fails(code, message, *start, *options, "train", "m")
        self.write("texts", "a\tred apple\nb\tfast car\n")
        self.assert_fails(
            3, "texts: the rows are texts, but only numbers can have further views", "train",
            "--method", "flat-svm", "--text", "--quiet", "--view", "x=train", "texts", "m",
        )  # fmt: skip
        self.write("chain", "a X\nb Y\n\na X\n\n")
        self.assert_fails(
            2, "option view is given, but method structured reads examples that are not rows",
            "train", "--method", "structured", "--model", "chain", "--view", "x=train", "--quiet",
            "chain", "m",
        )  # fmt: skip

    def test_of_the_model_must_be_given(self) -> None:
        self.fit("--view", "shape=train.shape")
        views = "the model has the views main, shape (test is the first)"
        for message, arguments in [
            (f"test: comes with 0 further views, but {views}; give a file for each", ["test"]),
            (f"test.shape: is given as view 'form', but {views}",
             ["test", "--view", "form=test.shape"]),
            (f"test: is given as view 'main', but {views}", ["test", "--view", "main=test"]),
            ("view 'shape' is given twice",
             ["test", "--view", "shape=test.shape", "--view", "shape=test.shape"]),
        ]:  # fmt: skip
            with self.subTest(message=message):
                self.assert_fails(3, message, "predict", "model", *arguments, "--quiet")
                self.assert_fails(3, message, "evaluate", "model", *arguments, "--quiet")
        self.fit()
        self.assert_fails(
            3, "test.shape: is given as view 'shape', but the model has no views", "predict",
            "model", "test", "--view", "shape=test.shape", "--quiet",
        )  # fmt: skip


class ArrayViews(KernelTest):
    """Views in files of NumPy give what the same numbers give in rows of SVMlight."""

    def setUp(self) -> None:
        super().setUp()
        self.values = {}
        for name, count, seed in (("train", 160, 1), ("test", 80, 2)):
            values = [[float(f"{v:.4f}") for v in z] for _, _, z in view_rows(count, seed)]
            values[3] = [0.5, 0.0, 0.0]
            self.values[name] = values
            self.write_bytes(f"{name}.npy", npy(values))
            self.write(f"{name}.same", "".join(line("", z) for z in values))

    def write_bytes(self, name: str, content: bytes) -> None:
        pathlib.Path(self.path(name)).write_bytes(content)

    def answers(self, kind: str) -> list[str]:
        view = ["--view", f"shape=test.{kind}"]
        return [
            self.run_program(*verb.split(), "model", "test", *view, "--quiet")[0]
            for verb in ("predict --scores", "evaluate")
        ]

    def test_of_every_kind_of_method_answer_alike(self) -> None:
        for method in ("flat-svm", "flat-lr", "kernel-ridge", "spn-mkl"):
            with self.subTest(method):
                self.fit("--view", "shape=train.same", method=method)
                expected = self.answers("same")
                self.assertEqual(self.answers("npy"), expected)
                self.fit("--view", "shape=train.npy", method=method)
                self.assertEqual(self.answers("npy"), expected)
                self.assertGreater(self.accuracy("test", "--view", "shape=test.npy"), 0.9)

    def test_of_all_types_and_orders_are_read(self) -> None:
        self.fit("--view", "shape=train.same", method="flat-svm")
        expected = self.answers("same")
        for dtype in ("<f4", "<f8"):
            for by_columns in (False, True):
                self.write_bytes("test.npy", npy(self.values["test"], dtype, by_columns=by_columns))
                self.assertEqual(self.answers("npy"), expected)
        self.write_bytes("test.npy", npy(self.values["test"], "<f2"))
        self.assertEqual(self.answers("npy")[1], expected[1])

    def test_are_tuned_and_explained(self) -> None:
        outputs = []
        for kind in ("same", "npy"):
            out, _ = self.run_program(
                "tune", "--method", "flat-svm", "--view", f"shape=train.{kind}", "--grid",
                "C=0.1,1", "--folds", "2", "--quiet", "train", "model",
            )  # fmt: skip
            self.assertIn(" *\n", out)
            row = ["test", "--view", f"shape=test.{kind}", "--row", "1"]
            outputs.append(self.run_program("explain", "model", *row)[0])
        self.assertIn("shape feature 1 = ", outputs[0])
        self.assertEqual(outputs[0], outputs[1])

    def test_may_stand_between_other_views(self) -> None:
        outputs = []
        for kind in ("same", "npy"):
            views = ["--view", f"shape=train.{kind}", "--view", "more=train"]
            self.fit(*views, method="flat-svm")
            views = ["--view", "more=test", "--view", f"shape=test.{kind}"]
            outputs.append(self.run_program("predict", "model", "test", *views, "--scores")[0])
        self.assertEqual(outputs[0], outputs[1])

    def test_that_do_not_fit_are_named(self) -> None:
        values = self.values["train"]
        whole = npy(values)
        wrong = [[math.nan if (i, j) == (6, 1) else v for j, v in enumerate(row)]
                 for i, row in enumerate(values)]  # fmt: skip
        self.assertIn(b"(160, 3)", whole)
        for message, content in [
            ("it does not begin as a file of NumPy, but must be an array that numpy.save wrote",
             b"a 1:1\n"),
            ("the version of the format is 9.0, but must be 1.0, 2.0 or 3.0",
             whole[:6] + b"\x09" + whole[7:]),
            ("the file ends in its header", whole[:50]),
            ("the header is '{'descr'", whole.replace(b"False", b"Maybe")),
            ("the numbers have dtype '<i4', but must be float32, float64 or float16",
             whole.replace(b"<f4", b"<i4")),
            ("the numbers have dtype '>f4'", whole.replace(b"<f4", b">f4")),
            ("the array has the shape (480,  ), but must have two dimensions, rows and columns",
             whole.replace(b"(160, 3)", b"(480,  )")),
            ("the array has the shape (160, 3) of float32, but its numbers take 1919 bytes",
             whole[:-1]),
            ("the array has the shape (160, 9) of float32, but its numbers take 1920 bytes",
             whole.replace(b"(160, 3)", b"(160, 9)")),
            ("it has 159 rows, but must have 160 as train", npy(values[1:])),
            ("row 7, column 2: the number is nan, but must be a number that fits a 32-bit float",
             npy(wrong)),
        ]:  # fmt: skip
            with self.subTest(message):
                self.write_bytes("x.npy", content)
                self.assert_fails(
                    3, f"margrove: x.npy: {message}", "train", "--method", "flat-svm", "--quiet",
                    "--view", "shape=x.npy", "train", "m",
                )  # fmt: skip

    def test_of_a_model_must_have_its_columns(self) -> None:
        self.fit("--view", "shape=train.npy", method="flat-svm")
        self.write_bytes("test.npy", npy([row[:2] for row in self.values["test"]]))
        for verb in ("predict", "evaluate"):
            self.assert_fails(
                3, "test.npy: it has 2 columns, but view 'shape' of the model has 3", verb,
                "model", "test", "--view", "shape=test.npy", "--quiet",
            )  # fmt: skip
        self.write("texts", "a\tred apple\nb\tfast car\n")
        self.assert_fails(
            3, "texts: the rows are texts, but only numbers can have further views", "train",
            "--method", "flat-svm", "--text", "--quiet", "--view", "x=train.npy", "texts", "m",
        )  # fmt: skip


class Explanations(KernelTest):
    def setUp(self) -> None:
        super().setUp()
        self.fit("--network", "network", "--view", "shape=train.shape")

    def test_print_the_network_with_its_weights(self) -> None:
        out, _ = self.run_program("explain", "model")
        self.assertRegex(out, r"(?m)^sum ")
        for name in ("alone", "together"):
            self.assertRegex(out, rf"(?m)^  product {name} = [0-9.e-]+$")
        self.assertIn("s: polynomial of degree 2 on 3-5", out)

    def test_draw_it_as_svg_and_for_graphviz(self) -> None:
        out, _ = self.run_program("explain", "model", "--svg", "n.svg", "--dot", "n.dot")
        self.assertEqual(out, "")
        svg = ET.fromstring(self.read("n.svg").decode())
        texts = [element.text or "" for element in svg.iter() if element.tag.endswith("text")]
        self.assertTrue(any(text.startswith("together ") for text in texts), texts)
        dot = self.read("n.dot").decode()
        self.assertTrue(dot.startswith("digraph network {"))
        self.assertIn('label="+"', dot)

    def test_take_a_score_apart_by_view_and_kernel(self) -> None:
        data = ["test", "--view", "shape=test.shape"]
        scores = self.run_program("predict", "model", *data, "--top", "4", "--scores")[0]
        for label, score in (p.split(":") for p in scores.splitlines()[2].split(" ")):
            out, _ = self.run_program(
                "explain", "model", *data, "--row", "3", "--label", label, "--features", "99"
            )
            lines = out.splitlines()
            self.assertEqual(lines[1].split(":")[0], f"label {label}")
            self.assertAlmostEqual(float(lines[1].rsplit(" ", 1)[1]), float(score), places=4)
            sources = [row for row in lines if row.startswith("  ") and row[2] != " "]
            names = sorted(row.strip().split(":")[0] for row in sources)
            self.assertEqual(
                names, ["(intercept)", "view main", "view main * view shape", "view shape"]
            )
            total = math.fsum(float(row.rsplit(" ", 1)[1]) for row in sources)
            self.assertAlmostEqual(total, float(score), places=3)
            kernels = [row for row in lines if row.startswith("    ")]
            self.assertEqual(len(kernels), 5)  # c twice, l, and c * s twice
            parts = math.fsum(float(row.split()[0]) for row in kernels)
            bias = next(row for row in sources if "(intercept)" in row)
            self.assertAlmostEqual(parts + float(bias.rsplit(" ", 1)[1]), float(score), places=3)

    def test_without_row_or_network_say_what_is_missing(self) -> None:
        self.assert_fails(2, "DATA is given, but not which of its rows", "explain", "model", "test")
        self.assert_fails(2, "option row is 1, but DATA", "explain", "model", "--row", "1")
        self.fit(method="flat-svm")
        self.assert_fails(2, "has no network of kernels to show", "explain", "model")
        self.assert_fails(
            2, "has no network of kernels to show", "explain", "model", "test", "--row", "1",
            "--svg", "n.svg",
        )  # fmt: skip
        self.assertFalse(os.path.exists(self.path("n.svg")))


class Kernels(KernelTest):
    def test_of_every_type_can_be_asked_for(self) -> None:
        lines = []
        for row in self.read("train.joined").decode().splitlines():
            label, *cells = row.split()
            values = [float(cell.split(":")[1]) for cell in cells]
            lines.append(line(label, [max(v, 0) + 0.1 for v in values]))
        self.write("positive", "".join(lines))
        for kernel in [
            {"type": "linear"},
            {"type": "polynomial", "degrees": [1, 2, 3]},
            {"type": "gaussian", "widths": [0.5, "median", "2 median"]},
            {"type": "laplacian", "width": "median"},
            {"type": "chi2"},
            {"type": "exponential-chi2", "width": "median"},
            {"type": "intersection"},
            {"type": "cosine", "scaling": "none"},
        ]:
            for method in ("spn-mkl", "average-mkl"):
                with self.subTest(kernel=kernel, method=method):
                    network = {"kernels": {"k": kernel}, "shape": "one-layer"}
                    out = self.fit("--network", json.dumps(network), method=method, data="positive")
                    self.assertIn("stop\tconverged\n", out)
                    self.run_program("evaluate", "model", "positive")

    def test_from_a_file_do_what_the_same_kernel_from_rows_does(self) -> None:
        rows = [
            [float(cell.split(":")[1]) for cell in row.split()[1:]]
            for row in self.read("train.joined").decode().splitlines()
        ]
        table = "\n".join(
            " ".join(f"{sum(a * b for a, b in zip(x, z, strict=True)):.9g}" for z in rows)
            for x in rows
        )
        self.write("table", table + "\n")
        labels = [row.split()[0] for row in self.read("train.joined").decode().splitlines()]
        self.write("numbers", "".join(f"{y} 1:{i + 1}\n" for i, y in enumerate(labels)))
        kernel = {"type": "precomputed", "file": "table", "columns": "1", "scaling": "trace"}
        from_file = {"kernels": {"k": kernel}, "shape": "one-layer"}
        from_rows = {"kernels": {"k": {"type": "linear"}}, "shape": "one-layer"}
        objective = re.compile(r"^objective\t(.*)$", re.M)
        found = []
        for network, data in ((from_file, "numbers"), (from_rows, "train.joined")):
            out = self.fit("--network", json.dumps(network), "--tolerance", "1e-6", data=data)
            found.append(float(objective.findall(out)[0]))
        self.assertAlmostEqual(found[0] / found[1], 1, places=5)

    def test_of_a_network_that_is_wrong_are_named(self) -> None:
        for message, network in [
            ("network: not JSON", "{"),
            ("nowhere", "nowhere"),
            ("view 'colour', which does not exist",
             '{"kernels": {"k": {"type": "linear", "view": "colour"}}, "shape": "one-layer"}'),
            ("type", '{"kernels": {"k": {"type": "magic"}}, "shape": "one-layer"}'),
        ]:  # fmt: skip
            with self.subTest(network=network):
                self.assert_fails(
                    3, message, "train", "--method", "spn-mkl", "--network", network, "--quiet",
                    "train", "m",
                )  # fmt: skip


class Memory(KernelTest):
    @unittest.skipIf(
        os.environ.get("MARGROVE_SANITIZED"), "a sanitizer's shadow memory exceeds any estimate"
    )
    def test_of_training_stays_under_the_estimate_printed_before(self) -> None:
        rows = view_rows(1500, 3)
        self.write("large", "".join(line(y, x + z) for y, x, z in rows))

        def peak(*arguments: str) -> tuple[float, str]:
            """Largest resident memory in bytes, and stderr."""
            running = subprocess.Popen(
                [MARGROVE, *arguments], cwd=self.directory.name, stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE, text=True,
            )  # fmt: skip
            assert running.stderr is not None
            err = running.stderr.read()
            _, status, usage = os.wait4(running.pid, 0)
            running.stderr.close()
            running.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(running.returncode, 0, err)
            return usage.ru_maxrss * 1024, err

        train = ["train", "--threads", "2", "--method"]
        # The program with its libraries and the rows: what the estimate does not hold.
        before, _ = peak(*train, "flat-svm", "large", "model")
        many = ",".join(str(1 + k / 4) for k in range(12))
        for method in KERNEL_METHODS:
            # kernel-ridge has a few matrices, one width after the other.
            widths, matrices = (many, 12) if method in NETWORK_METHODS else ("1,2", 2)
            whole, err = peak(*train, method, "--widths", widths, "--log", "json", "large", "model")
            lines = [json.loads(text) for text in err.splitlines()]
            estimate = next(each["memory_bytes"] for each in lines if each["stage"] == "plan")
            self.assertGreater(estimate, matrices * 1500 * 1500 * 2, method)
            # What the allocator and the threads' stacks take, as in memory_test.cpp.
            self.assertLess(whole - before, estimate + 8e6, method)


if __name__ == "__main__":
    unittest.main()
