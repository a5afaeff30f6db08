"""What tools/soak.py, tools/verify_gap.py and tools/inject_failures.py found, once each.

Run and configured like test_cli.py, whose helpers it uses.
"""

# ruff: noqa: PT009 - unittest, so that it runs with nothing installed

import ast
import contextlib
import json
import os
import pathlib
import random
import re
import subprocess
import unittest
from typing import Any

from test_cli import DECLARED, LINEAR_METHODS, MARGROVE, NETWORK_METHODS, ROOT, CliTest

DAG = "r n\nr m\nn a\nn b\nm b\nm c\nm d\n"
SETS = """a,b 1:3.132 2:-0.103 3:-0.306
b 1:0.412 2:2.621 3:0.133
c 1:-1.024 2:0.276 3:1.311
b,c 1:-0.413 2:1.226 3:0.518
a 1:1.815 2:-0.712 3:0.208
d 1:0.226 2:-0.435 3:-1.019
"""


class Page(unittest.TestCase):
    def test_names_tests_that_exist(self) -> None:
        page = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
        table = page.split("## Every case that was found")[1].split("\n## ")[0]
        sources = "".join(
            path.read_text(encoding="utf-8")
            for folder, suffix in (("cli", "py"), ("python", "py"), ("unit", "cpp"))
            for path in (ROOT / "tests" / folder).rglob(f"*.{suffix}")
        )
        named = re.findall(r"`([a-zA-Z0-9_]{16,})`", table)
        self.assertGreater(len(named), 40)
        for name in named:
            self.assertRegex(sources, rf"(def |, ){name}\(|(, ){name}\)", name)

    def test_counts_what_there_is(self) -> None:
        page = " ".join((ROOT / "docs" / "testing.md").read_text(encoding="utf-8").split())
        covered = constants(ROOT / "tools" / "reader_coverage.py")["FILES"]
        files = {path for pattern in covered for path in ROOT.glob(pattern)}
        corpora = (ROOT / "tests" / "fuzz" / "corpus").rglob("*")
        size = sum(path.stat().st_size for path in corpora if path.is_file())
        counts = {
            r"Some of its (\d+) models": len(constants(ROOT / "tools" / "verify_gap.py")["CASES"]),
            r"15 of the (\d+) targets": len(list((ROOT / "tests" / "fuzz").glob("fuzz_*.cpp"))),
            r"`tools/reader_coverage.py build` \| (\d+) files": len(files),
            r"All corpora together take (\d+) kB": round(size / 1000),
        }
        for pattern, count in counts.items():
            found = re.findall(pattern, page)
            self.assertEqual([int(number) for number in found], [count], pattern)


def constants(path: pathlib.Path) -> dict[str, Any]:
    """The values of the names that a program assigns without what it imports."""
    names: dict[str, Any] = {}
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.Assign):
            with contextlib.suppress(NameError):
                exec(compile(ast.Module([statement], []), str(path), "exec"), names)
    return names


class Findings(CliTest):
    def test_a_gap_that_no_search_proves_is_said_to_be_unproven(self) -> None:
        # The warning was overwritten by those of the data.
        self.write("dag", DAG)
        self.write("sets", SETS)
        options = "--hierarchy dag --decision argmax --surrogate slack --solver one-slack --quiet"
        command = f"train --method structured --model hierarchy {options} --max-bans 0 sets model"
        out, err = self.run_program(*command.split())
        self.assertIn("the gap may be larger than reported", err)
        self.assertRegex(out, r"stop\t(stalled|pass_limit)\n")

    def test_scores_that_overflow_end_training_with_an_error(self) -> None:
        # Where the best score was NaN, the oracle of paths read beyond the last leaf.
        self.write("huge", "a1 1:3e38\na2 1:-3e38 2:3e38\nb1 2:-3e38\nb2 1:3e38 2:3e38\n")
        for data, options in (
            ("huge", "--scale none"),
            ("huge", "--scale none --C 1e30"),
            ("train", "--C 1e300"),
        ):
            for solver in ("sgd", "bcfw", "cutting-plane", "one-slack"):
                for method in ("hsvm", "nhsvm"):
                    with self.subTest(data=data, options=options, solver=solver, method=method):
                        command = f"train --method {method} --hierarchy tree --solver {solver}"
                        done = subprocess.run(
                            [MARGROVE, *command.split(), *options.split(), "--max-passes", "20",
                             data, "model"],
                            cwd=self.directory.name, capture_output=True, text=True, check=False,
                        )  # fmt: skip
                        if done.returncode == 0:
                            if data == "huge":  # the others can be separated, at any C
                                self.assertNotIn("stop\tconverged", done.stdout)
                            self.run_program("predict", "model", "test")
                            os.remove(self.path("model"))
                        else:
                            self.assertEqual(done.returncode, 3, done.stderr)
                            self.assertRegex(done.stderr, "overflow|diverged|finite")
                            self.assertFalse(os.path.exists(self.path("model")))

    def test_the_column_that_spoils_the_conditioning_is_named(self) -> None:
        rng = random.Random(1)
        lines, table = [], ["clock," + ",".join(f"x{j}" for j in range(1, 13)) + ",label\n"]
        for _ in range(600):
            k = rng.randrange(4)
            values = [f"{rng.gauss(1.0 if j % 4 == k else 0.0, 1):.3f}" for j in range(12)]
            seconds = 1_600_000_000 + rng.randrange(90_000_000)
            label = ("a1", "a2", "b1", "b2")[k]
            features = " ".join(f"{j}:{value}" for j, value in enumerate(values, 1))
            lines.append(f"{label} {features} 13:{seconds}\n")
            table.append(f"{seconds},{','.join(values)},{label}\n")
        self.write("unix", "".join(lines))
        self.write("wide", "".join(line.replace(" 13:", " 30000000:") for line in lines))
        self.write("unix.csv", "".join(table))
        columns = "--numeric-columns clock," + ",".join(f"x{j}" for j in range(1, 13))
        for method in ("flat-lr", "hr-lr", "hr-svm", "nhsvm", "nhsvm --solver sgd"):
            for data, more, name in (
                ("unix", "", "feature 13"),
                ("wide", "", "feature 30000000"),
                ("unix.csv", f"--label-column label {columns}", "clock"),
            ):
                with self.subTest(method=method, data=data):
                    tree = "" if method.startswith("flat") else "--hierarchy tree"
                    command = f"train --method {method} {tree} --scale none --quiet {more}"
                    out, err = self.run_program(*command.split(), data, "model")
                    if method != "flat-lr":  # its second-order steps may converge
                        self.assertNotIn("stop\tconverged", out)
                    if "stop\tconverged" not in out:
                        self.assertRegex(
                            err, rf"values of {name} reach 1\.?6\S+, .*scale the columns"
                        )
        self.train("--strict", "--quiet", data="unix")  # scaled, it is no problem

    def test_converged_is_said_only_within_the_tolerance(self) -> None:
        # Said at gaps of 19,470 (flat-lr), .09 (squared hinge), .206 (average-mkl), 6e7 (hr-lr).
        rng = random.Random(2)
        plain, clock, wide = [], [], []
        for k in range(300):
            label = ("a1", "a2", "b1", "b2")[k % 4]
            x, y = rng.gauss(k % 2, 1), rng.gauss(k % 4 // 2, 1)
            plain.append(f"{label} 1:{x:.3f} 2:{y:.3f}\n")
            clock.append(f"{label} 1:{x:.3f} 2:{y:.3f} 3:{1.6e9 + rng.randrange(90_000_000):.0f}\n")
            wide.append(f"{label} 1:{1e4 * x:.1f} 2:{y:.3f} 3:{rng.gauss(0, 1e3):.2f}\n")
        for name, lines in (("plain", plain), ("clock", clock), ("wide", wide)):
            self.write(name, "".join(lines))
        for options, data in (
            ("flat-lr --scale none", "clock"),
            ("flat-svm --loss squared-hinge --C 10000 --scale none", "wide"),
            ("flat-svm --loss squared-hinge --C 10000 --scale none", "clock"),
            ("average-mkl --C 10000", "plain"),
            ("average-mkl --C 10000 --max-rounds 2", "plain"),
            ("hr-lr --hierarchy tree --scale none", "clock"),
            ("hr-lr --hierarchy tree --scale none --C 10000", "wide"),
        ):
            with self.subTest(options, data=data):
                command = f"train --quiet --method {options} {data} model"
                out, err = self.run_program(*command.split())
                found = dict(line.split("\t", 1) for line in out.splitlines())
                if float(found["relative_gap"]) <= 1e-3:
                    self.assertEqual((found["stop"], err), ("converged", ""))
                else:
                    self.assertNotEqual(found["stop"], "converged")
                    self.assertIn("warning: ", err)

    def test_hr_lr_separates_what_can_be_separated_at_any_C(self) -> None:
        # Newton's method, whose residuals have 8 bits, left the base rates from C = 1e7 on.
        rng = random.Random(3)
        lines = []
        for k in range(60):
            values = (f"{j}:{abs(rng.gauss(5.0 * (j == k % 3 + 1), 0.5)):.4f}" for j in (1, 2, 3))
            lines.append(f"{('a1', 'a2', 'b1')[k % 3]} {' '.join(values)}\n")
        self.write("separable", "".join(lines))
        for more in ("", "--intercept-penalty 0"):
            for C in ("100", "1e6", "1e7", "1e8", "1e10"):
                with self.subTest(C=C, more=more):
                    command = f"train --quiet --method hr-lr --hierarchy tree --C {C} {more}"
                    out, err = self.run_program(*command.split(), "separable", "model")
                    self.assertEqual("stop\tconverged" in out, err == "")
                    answers = self.run_program("evaluate", "model", "separable", "--json")[0]
                    self.assertEqual(json.loads(answers)["accuracy"], 1.0)

    def test_cutting_planes_that_rounding_stops_end_and_name_the_column(self) -> None:
        # Each of 1000 rounds went through 2000 sweeps that changed nothing.
        rng = random.Random(1)
        self.write(
            "unix",
            "".join(
                f"{'abcd'[k % 4]} 1:{k % 2 + rng.gauss(0, 0.7):.3f} 2:{rng.gauss(0, 0.7):.3f} "
                f"3:{1.7e9 + rng.randrange(30_000_000):.0f}\n"
                for k in range(400)
            ),
        )
        self.write("dag", "r n\nr m\nn a\nn b\nm c\nm d\n")
        for solver in ("cutting-plane", "one-slack"):
            with self.subTest(solver):
                command = f"train --method nhsvm --hierarchy dag --scale none --solver {solver}"
                out, err = self.run_program(*command.split(), "unix", "model")
                self.assertIn("stop\tstalled\n", out)
                self.assertRegex(err, "warning: .* values of feature 3 reach 17.*: scale the col")

    def test_every_method_with_label_sets_can_be_calibrated(self) -> None:
        # It was refused, before training and once only after it.
        self.write("sets", SETS)
        self.write("tree", "r n\nr m\nn a\nn b\nm c\nm d\n")
        for method in DECLARED:
            if not method.label_sets or not method.takes_rows:
                continue
            with self.subTest(method.name):
                hierarchy = " --hierarchy tree" if method.takes_hierarchy else ""
                command = f"train --method {method.name}{hierarchy} --calibration 0.3 sets model"
                self.run_program(*command.split())
                out, _ = self.run_program("info", "model")
                self.assertRegex(out, r"\ntemperature +\S+\nshift +\S+\n")
                out, _ = self.run_program("predict", "model", "sets", "--probabilities", "--top",
                                          "1")  # fmt: skip
                for line in out.splitlines():
                    self.assertTrue(0 < float(line.rsplit(":", 1)[1]) < 1, line)

    def test_rows_without_labels_train_no_structured_model(self) -> None:
        # A field of no labels was written and could not be read again.
        self.write("none", " 1:1\n 2:1\n 1:1 2:1\n")
        for model in ("multilabel-field", "hierarchy --hierarchy tree"):
            with self.subTest(model):
                command = f"train --method structured --model {model} none model"
                self.assert_fails(3, "none: no row has a label", *command.split())
        self.assertFalse(os.path.exists(self.path("model")))

    def test_a_penalty_of_no_intercept_is_refused_by_every_method_that_has_one(self) -> None:
        # The plan of top-down-svm was destroyed twice, and the program aborted.
        for method in LINEAR_METHODS:
            with self.subTest(method):
                command = f"train --method {method} --hierarchy tree --bias 0"
                self.assert_fails(
                    2,
                    "option intercept-penalty is 0.125, but bias is 0",
                    *command.split(),
                    *("--intercept-penalty", "0.125", "train", "model"),
                )

    def test_kernels_that_overflow_end_training_with_an_error(self) -> None:
        self.write("data", "a 1:1e30\nb 1:-1e30\na 1:2e30 2:1\nb 2:5e29\n")
        self.write(
            "network",
            '{"kernels": {"t": {"type": "polynomial", "degree": 9}, "u": {"type": "linear"}},'
            ' "root": {"sum": [{"product": [{"sum": ["t"]}]}, {"product": [{"sum": ["u"]}]}]}}',
        )
        for method in NETWORK_METHODS:
            with self.subTest(method):
                self.write("model", "old\n")
                command = f"train --quiet --method {method} --network network data model"
                self.assert_fails(3, "training diverged: the objective is not", *command.split())
                self.assertEqual(self.read("model"), b"old\n")

    def test_strict_mode_names_the_column_as_the_file_does(self) -> None:
        self.write("wide", "a1 1:1 5:2\na2 1:1 30000000:3e12\n")
        self.assert_fails(
            3, "wide: row 2: feature 30000000 is 3000000053248, which is beyond 1e+10",
            "train", "--method", "nhsvm", "--hierarchy", "tree", "--scale", "none", "--strict",
            "--quiet", "wide", "model",
        )  # fmt: skip
        self.write("table.csv", "x,clock,label\n1,2,a1\n2,3e12,a2\n")
        self.assert_fails(
            3, "table.csv: row 2: clock is 3000000053248, which is beyond 1e+10",
            "train", "--method", "nhsvm", "--hierarchy", "tree", "--scale", "none", "--strict",
            "--quiet", "--label-column", "label", "--numeric-columns", "x,clock", "table.csv",
            "model",
        )  # fmt: skip

    def test_rows_whose_columns_are_all_constant_and_left_out_train(self) -> None:
        # Without an intercept no column is left; the Newton method read the last one.
        self.write("constant", "a1 1:1 2:3\n" * 2)
        for method in ("hr-lr", "hr-svm", "flat-lr", "nhsvm", "top-down-svm"):
            command = f"train --method {method} --hierarchy tree --bias 0 --scale standard --quiet"
            self.run_program(*command.split(), "constant", "model")
            self.assertEqual(self.run_program("predict", "model", "constant")[0], "a1\na1\n")

    def test_rows_whose_scores_overflow_are_refused_by_evaluate(self) -> None:
        # They were predicted to have no label, and `evaluate` took the first one.
        self.write("overflow", "n0 n1\nn0 a\nn1 a\nn0 b\nn1 c\n")
        self.write("rows", "a 1:-6e29 2:-2e29 3:-7e29 4:3e29\n" * 2)
        options = "--hierarchy overflow --lambda 0.9 --surrogate log --max-passes 20 --quiet"
        self.run_program("train", "--method", "nhsvm", *options.split(), "rows", "model")
        message = "rows: row 1: the scores are not finite numbers, but must be; the values of the"
        self.assert_fails(3, message, "evaluate", "--quiet", "model", "rows")

    def test_cutting_planes_claim_no_gap_below_zero(self) -> None:
        # The dual value was that of weights with the rounding of all steps before.
        draw = random.Random(3)
        rows = ""
        for i in range(26):
            is_b = i % 2
            values = (is_b, draw.gauss(10, 1.5) if is_b else draw.gauss(0, 1), is_b, 1,
                      draw.gauss(0, 1), 1, 1, draw.gauss(0, 1))  # fmt: skip
            cells = " ".join(f"{j}:{value:.4g}" for j, value in enumerate(values, 1))
            rows += f"{'ab'[is_b]} {cells}\n"
        self.write("rows", rows)
        self.write("shallow", "n0 n1\nn0 n2\nn0 a\nn0 b\nn2 c\n")
        for passes in ("20", "200"):
            command = f"train --method nhsvm --hierarchy shallow --max-passes {passes} --quiet"
            out, _ = self.run_program(
                *command.split(),
                "--solver",
                "cutting-plane",
                "--tolerance",
                "1e-9",
                "rows",
                "model",
            )
            self.assertGreater(float(re.findall(r"relative_gap\t(\S+)", out)[0]), -1e-9)

    def test_a_bound_above_the_objective_is_no_convergence(self) -> None:
        # C = 1.5e8 times the rounding of 32-bit kernels; "converged" at a gap of -.005.
        draw = random.Random(1)
        rows = ""
        for _ in range(31):
            label = "ab"[draw.random() < 0.5]
            cells = [
                f"{j}:{draw.gauss(0, scale):.4g}"
                for j, scale in ((1, 5), (2, 5), (3, 0.003))
                if j == 3 or draw.random() < 0.3
            ]
            rows += f"{label} {' '.join(cells)}\n"
        self.write("rows", rows)
        command = (
            "train --method lp-mkl --C 1.5e8 --tolerance 1e-5 --max-rounds 13 --quiet rows model"
        )
        out, err = self.run_program(*command.split())
        self.assertLess(float(re.findall(r"relative_gap\t(\S+)", out)[0]), -1e-4)
        self.assertIn("stop\tstalled", out)
        self.assertIn("below its bound, more than the tolerance", err)

    def test_no_option_is_taken_and_ignored(self) -> None:
        self.write("tags", "w1 O\nw2 X\n\n")
        for option, name in (("--bias", "bias"), ("--intercept-penalty", "intercept-penalty")):
            command = f"train --method structured {option} 0 tags model"
            message = f"option {name} is 0, which serves rows of features only"
            self.assert_fails(2, message, *command.split())


if __name__ == "__main__":
    unittest.main()
