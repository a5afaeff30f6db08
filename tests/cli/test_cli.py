"""The program from outside: every verb, every exit code, its help texts and its messages.

Needs only the standard library; MARGROVE names the program. MARGROVE_UPDATE_GOLDEN=1 rewrites
tests/golden/help and docs/options.md instead of comparing.
"""

# ruff: noqa: PT009 - unittest, so that it runs with nothing installed

import collections
import json
import math
import os
import pathlib
import random
import re
import resource
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Callable

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tools.declared_methods import declared_methods  # noqa: E402

MARGROVE = os.environ.get("MARGROVE", str(ROOT / "build" / "margrove"))
UPDATE = os.environ.get("MARGROVE_UPDATE_GOLDEN") == "1"
DECLARED = declared_methods(MARGROVE)
METHODS = [method.name for method in DECLARED]
ROW_METHODS = [method.name for method in DECLARED if method.takes_rows]
LINEAR_METHODS = [each.name for each in DECLARED if each.takes_rows and not each.has_kernels]
KERNEL_METHODS = [method.name for method in DECLARED if method.has_kernels]
NETWORK_METHODS = [method.name for method in DECLARED if method.has_network]
VERBS = ["auto", "train", "predict", "evaluate", "tune", "info", "explain", "compare", "hierarchy"]
VERBS += [
    "report",
    "serve",
    "compress",
    "export",
    "import",
    "generate",
    "plan-shards",
    "train-shard",
    "merge-shards",
    "completion",
    "manual",
]

HIERARCHY = "all a\nall b\na a1\na a2\nb b1\nb b2\nb b3\n"


def rows(count: int, seed: int) -> str:
    """Rows whose label can be read off the signs of the first two features."""
    labels = ("a1", "a2", "b1", "b2")
    rng = random.Random(seed)
    lines = []
    for _ in range(count):
        k = rng.randrange(4)
        x = [1.0 if k < 2 else -1.0, 1.0 if k % 2 == 0 else -1.0, 0.0]
        values = [v + rng.gauss(0, 0.3) for v in x]
        features = " ".join(f"{j + 1}:{v:.4f}" for j, v in enumerate(values))
        lines.append(f"{labels[k]} {features}\n")
    return "".join(lines)


class CliTest(unittest.TestCase):
    def setUp(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.write("tree", HIERARCHY)
        self.write("train", rows(120, 1))
        self.write("test", rows(60, 2))

    def path(self, name: str) -> str:
        return os.path.join(self.directory.name, name)

    def write(self, name: str, text: str) -> None:
        pathlib.Path(self.path(name)).write_text(text, encoding="utf-8")

    def read(self, name: str) -> bytes:
        return pathlib.Path(self.path(name)).read_bytes()

    def run_program(
        self, *arguments: str, code: int = 0, preexec_fn: Callable[[], None] | None = None
    ) -> tuple[str, str]:
        """Runs in the test's directory, checks the exit code, returns stdout and stderr."""
        done = subprocess.run(
            [MARGROVE, *arguments],
            cwd=self.directory.name,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            preexec_fn=preexec_fn,
            env=os.environ | {"COLUMNS": "100"},
        )
        self.assertEqual(done.returncode, code, f"{arguments}: {done.stdout}{done.stderr}")
        return done.stdout, done.stderr

    def train(
        self, *options: str, method: str = "nhsvm", model: str = "model", data: str = "train"
    ) -> tuple[str, str]:
        return self.run_program(
            "train", "--method", method, "--hierarchy", "tree", *options, data, model
        )

    def assert_fails(self, code: int, message: str, *arguments: str) -> None:
        out, err = self.run_program(*arguments, code=code)
        self.assertIn(message, err)
        self.assertEqual(out, "")


class Help(CliTest):
    def compare(self, name: str, text: str) -> None:
        golden = ROOT / "tests" / "golden" / "help" / f"{name}.txt"
        if UPDATE:
            golden.parent.mkdir(parents=True, exist_ok=True)
            golden.write_text(text, encoding="utf-8")
        self.assertEqual(text, golden.read_text(encoding="utf-8"), name)

    def test_of_the_program_and_every_verb_is_as_agreed(self) -> None:
        self.compare("margrove", self.run_program("--help")[0])
        for verb in VERBS:
            self.compare(verb, self.run_program(verb, "--help")[0])

    def test_of_every_method_is_as_agreed(self) -> None:
        for method in METHODS:
            self.compare(
                f"train-{method}", self.run_program("train", "--method", method, "--help")[0]
            )

    def test_options_page_is_what_the_tables_say(self) -> None:
        page = ROOT / "docs" / "options.md"
        text = self.run_program("train", "--options-reference")[0]
        if UPDATE:
            page.write_text(text, encoding="utf-8")
        self.assertEqual(text, page.read_text(encoding="utf-8"))

    def test_version(self) -> None:
        self.assertRegex(self.run_program("--version")[0], r"^margrove \d+\.\d+\.\d+\n$")


class EndToEnd(CliTest):
    def test_every_method_learns_the_tree(self) -> None:
        for method in ROW_METHODS:
            out, _ = self.train(method=method)
            self.assertIn(f"method\t{method}\n", out)
            result = json.loads(self.run_program("evaluate", "model", "test", "--json")[0])
            self.assertEqual(result["examples"], 60)
            self.assertGreater(result["accuracy"], 0.9, method)

    def test_json_has_the_agreed_names_within_0_and_1(self) -> None:
        self.train()
        result = json.loads(self.run_program("evaluate", "model", "test", "--json")[0])
        names = ["examples", "accuracy", "jaccard", "instance_f1", "micro_f1", "macro_f1"]
        names += [f"hierarchical_{m}" for m in ("precision", "recall", "f1")] + ["hamming_loss"]
        names += ["hierarchical_f1_macro", "hierarchical_f1_instance", "lca_f1"]
        names += [f"accuracy_level_{level}" for level in (1, 2)]
        for metric in ("precision", "recall", "f1", "ndcg", "psp"):
            names += [f"{metric}_at_{k}" for k in (1, 3, 5)]
        names += ["r_precision", "au_prc", "au_prc_macro", "au_prc_weighted", "f_max"]
        names += ["risk_coverage_area"]
        self.assertCountEqual(result, [*names, "tree_distance", "coverage_error"])
        for name in names[1:]:
            self.assertTrue(0 <= result[name] <= 1, name)

    def test_evaluate_agrees_with_predict(self) -> None:
        self.train()
        predicted = self.run_program("predict", "model", "test")[0].split("\n")[:-1]
        truth = [line.split()[0] for line in self.read("test").decode().splitlines()]
        hits = sum(p == t for p, t in zip(predicted, truth, strict=True)) / len(truth)
        result = json.loads(self.run_program("evaluate", "model", "test", "--json")[0])
        self.assertEqual(result["accuracy"], hits)
        lines = self.run_program("evaluate", "model", "test")[0]
        self.assertIn(f"accuracy                 {hits:.4f}", lines)

    def test_output_file_has_what_stdout_has(self) -> None:
        self.train()
        out, _ = self.run_program("predict", "model", "test")
        nothing, _ = self.run_program("predict", "model", "test", "--output", "predicted")
        self.assertEqual(nothing, "")
        self.assertEqual(self.read("predicted").decode(), out)

    def test_top_and_scores_agree_with_the_prediction(self) -> None:
        self.train()
        best = self.run_program("predict", "model", "test")[0].splitlines()
        top = self.run_program("predict", "model", "test", "--top", "3")[0].splitlines()
        scored = self.run_program("predict", "model", "test", "--scores")[0].splitlines()
        both = self.run_program("predict", "model", "test", "--top", "2", "--scores")[0]
        for i, line in enumerate(both.splitlines()):
            pairs = [(p.rsplit(":", 1)[0], float(p.rsplit(":", 1)[1])) for p in line.split(" ")]
            self.assertEqual(pairs[0][0], best[i])
            self.assertEqual(top[i].split(",")[:2], [label for label, _ in pairs])
            self.assertGreaterEqual(pairs[0][1], pairs[1][1])
            self.assertEqual(scored[i], line.split(" ")[0])

    def test_same_model_file_on_any_number_of_threads(self) -> None:
        for method in ROW_METHODS:
            self.train("--threads", "1", method=method, model="one")
            for threads in ("2", "5"):
                self.train("--threads", threads, method=method, model="many")
                self.assertEqual(self.read("one"), self.read("many"), method)

    def test_flat_methods_need_no_hierarchy(self) -> None:
        self.run_program("train", "--method", "flat-svm", "train", "model")
        self.assertIn("hierarchy                  none", self.run_program("info", "model")[0])

    def test_info_names_options_sizes_and_training(self) -> None:
        self.train("--C", "0.25")
        out, _ = self.run_program("info", "model")
        for line in (
            "method                     nhsvm",
            "option C                   0.25",
            "option alpha               share:0.5",
            "labels                     8 (5 leaves, 3 inner nodes)",
            "labels with training rows  4",
            "hierarchy                  tree of 8 nodes and 7 edges",
            "stop                       converged",
            "features                   3",
            f"file bytes                 {len(self.read('model'))}",
        ):
            self.assertIn(line + "\n", out)

    def test_explanation_shows_the_path_and_adds_up(self) -> None:
        self.train()
        out, _ = self.run_program(
            "explain", "model", "test", "--row", "2", "--label", "b1", "--features", "9"
        )
        lines = out.splitlines()
        self.assertTrue(lines[0].startswith("row 2: predicted "))
        self.assertTrue(lines[1].startswith("label b1: score "))
        nodes = [line for line in lines if line.startswith("  ") and line[2] != " "]
        self.assertEqual([n.split(":")[0].strip() for n in nodes], ["b", "b1"])
        total = float(lines[1].rsplit(" ", 1)[1])
        self.assertAlmostEqual(sum(float(n.rsplit(" ", 1)[1]) for n in nodes), total, places=4)
        self.assertIn("(intercept) = 1", out)
        self.assertIn("feature 1 = ", out)

    def test_text_is_learned_and_explained_in_words(self) -> None:
        self.write(
            "texts",
            "fruit\tred apple\nfruit\tgreen apple tree\ncar\tfast car\ncar\tred car engine\n" * 3,
        )
        self.run_program("train", "--method", "flat-svm", "--text", "texts", "model")
        self.write("new", "\tan apple\n\tthe engine\n")
        self.assertEqual(self.run_program("predict", "model", "new")[0], "fruit\ncar\n")
        out, _ = self.run_program("explain", "model", "new", "--row", "1")
        self.assertIn("apple = ", out)
        self.assertIn("vocabulary", self.run_program("info", "model")[0])

    def write_raw_columns(self) -> None:
        """The rows of train and test with columns of 1, 1000 and 100000."""
        for name in ("train", "test"):
            lines = []
            for line in self.read(name).decode().splitlines():
                label, *cells = line.split()
                x = [float(cell.split(":")[1]) for cell in cells]
                lines.append(f"{label} 1:{x[0]} 2:{1000 * x[1]} 3:{1e5 * x[2] + 1e5}\n")
            self.write(f"{name}.raw", "".join(lines))

    def test_raw_columns_are_scaled_by_the_model_and_explained_in_their_units(self) -> None:
        self.write_raw_columns()
        self.train(method="flat-svm", data="train.raw")
        result = json.loads(self.run_program("evaluate", "model", "test.raw", "--json")[0])
        self.assertGreater(result["accuracy"], 0.9)
        facts = self.run_program("info", "model")[0]
        self.assertIn("preprocessing              scale\n", facts)
        self.assertIn("scale                      standard\n", facts)
        value = self.read("test.raw").decode().split()[2].split(":")[1]
        out, _ = self.run_program("explain", "model", "test.raw", "--row", "1")
        self.assertRegex(out, rf"feature 2 = {float(value):.6g} \(centre [-0-9.]+\), weight ")

    def test_every_scale_can_be_asked_for_and_none_gets_to_the_gap_too(self) -> None:
        self.write_raw_columns()
        for scale in ("none", "standard", "max-abs", "robust", "common"):
            for method in ("flat-svm", "flat-lr"):
                with self.subTest(scale=scale, method=method):
                    out, _ = self.train("--scale", scale, method=method, data="train.raw")
                    self.assertIn("stop\tconverged\n", out)
                    kind = "none" if scale == "none" else "scale"
                    facts = self.run_program("info", "model")[0]
                    self.assertIn(f"preprocessing              {kind}\n", facts)

    def test_sparse_rows_and_unit_rows_are_left_alone_but_for_counts(self) -> None:
        self.write("sparse", "".join(f"x {j}:100.5\ny {j + 1}:5\n" for j in range(1, 30, 2)))
        self.write("unit", "x 1:0.6 2:0.8\ny 1:-0.8 2:0.6\n" * 5)
        self.write("counts", "".join(f"x {j}:100\ny {j + 1}:5\n" for j in range(1, 30, 2)))
        for data, kind in (("sparse", "none"), ("unit", "none"), ("counts", "normalize")):
            self.run_program("train", "--method", "flat-svm", data, "model")
            self.assertIn(
                f"preprocessing              {kind}\n", self.run_program("info", "model")[0]
            )

    def test_exported_models_take_raw_columns(self) -> None:
        self.write_raw_columns()
        numbers = {"a1": "1", "a2": "2", "b1": "3", "b2": "4"}
        for name in ("train.raw", "test.raw"):
            text = self.read(name).decode()
            for label, number in numbers.items():
                text = text.replace(f"{label} ", f"{number} ")
            self.write(name, text)
        for bias in ("1", "0"):
            self.run_program("train", "--method", "flat-svm", "--bias", bias, "train.raw", "model")
            self.run_program("export", "model", "liblinear")
            self.run_program("import", "liblinear", "imported")
            self.assertEqual(
                self.run_program("predict", "imported", "test.raw")[0],
                self.run_program("predict", "model", "test.raw")[0],
            )

    def test_rows_with_several_labels_get_sets(self) -> None:
        lines = "x 1:1\ny 2:1\nx,y 1:1 2:1\n 3:1\n" * 10
        self.write("multi", lines)
        self.run_program("train", "--method", "flat-svm", "--C", "10", "multi", "model")
        out, _ = self.run_program("predict", "model", "multi")
        self.assertEqual(out, "x\ny\nx,y\n\n" * 10)

    def test_labels_of_sets_have_probabilities_of_their_own(self) -> None:
        self.write("multi", "x 1:1\ny 2:1\nx,y 1:1 2:1\n 3:1\n" * 10)
        self.write("above", "top x\ntop y\n")
        train = ["train", "--hierarchy", "above", "multi", "model", "--method"]

        def answers(*options: str) -> list[dict[str, float]]:
            out, _ = self.run_program("predict", "model", "multi", *options)
            pairs = [[pair.split(":") for pair in line.split(",") if pair]
                     for line in out.replace(" ", ",").splitlines()]  # fmt: skip
            return [{label: float(number) for label, number in row} for row in pairs[:4]]

        for method in ("flat-lr", "hr-lr", "kernel-ridge"):
            self.run_program(*train, method)
            scores = answers("--top", "2", "--scores")
            for row, found in zip(scores, answers("--top", "2", "--probabilities"), strict=True):
                for label, score in row.items():
                    p = 1 / (1 + math.exp(-score)) if method != "kernel-ridge" else score
                    self.assertAlmostEqual(found[label], min(max(p, 0), 1), places=5)
            labels = [sorted(row) for row in answers("--probabilities")]
            out, _ = self.run_program("predict", "model", "multi")
            sets = [sorted(filter(None, line.split(","))) for line in out.splitlines()[:4]]
            self.assertEqual(labels, sets)
            sure = answers("--probabilities", "--min-confidence", "0.5")
            self.assertEqual([sorted(row) for row in sure][:3], [["x"], ["y"], ["x", "y"]])
            for row, either in zip(answers("--top", "2", "--probabilities"),
                                   answers("--probabilities", "--min-confidence", "0"),
                                   strict=True):  # fmt: skip
                self.assertLessEqual(set(either), {"x", "y", "top"})
                self.assertTrue(row)
        self.run_program(*train, "flat-svm")
        for option in (["--probabilities"], ["--min-confidence", "0.5"]):
            _, err = self.run_program("predict", "model", "multi", *option, code=3)
            self.assertIn("a model of method flat-svm gives none: train it with calibration", err)

    def test_hierarchy_shows_shape_weights_and_path_sums(self) -> None:
        out, _ = self.run_program("hierarchy", "tree", "--alpha", "power:2")
        self.assertIn("nodes                      8\n", out)
        self.assertIn("leaves                     5\n", out)
        sums = out.split("leaf\tpath_sum\n")[1].splitlines()
        self.assertEqual(len(sums), 5)
        for line in sums:
            self.assertAlmostEqual(float(line.split("\t")[1]), 1, places=12)
        self.assertNotIn("path_sum", self.run_program("hierarchy", "tree")[0])

    def test_hierarchy_warns_of_leaves_without_weight(self) -> None:
        self.write("shared", "a x\na both\nb both\nb y\n")
        warning = "margrove: warning: node weights: 1 of 3 leaves have weight 0"
        _, err = self.run_program("hierarchy", "shared", "--alpha", "power:2")
        self.assertIn(warning, err)
        _, err = self.run_program("hierarchy", "shared", "--alpha", "maxmin")
        self.assertNotIn("warning", err)

    def test_label_graph_stands_in_for_the_hierarchy(self) -> None:
        self.write("pairs", "a1 a2\nb1 b2  # alike\n")
        graph = ["--method", "hr-svm", "--label-graph", "pairs", "--anchor", "0.1"]
        self.run_program("train", *graph, "train", "model")
        result = json.loads(self.run_program("evaluate", "model", "test", "--json")[0])
        self.assertGreater(result["accuracy"], 0.9)
        info = self.run_program("info", "model")[0]
        self.assertIn("option label_graph         pairs\n", info)
        self.assertIn("hierarchy                  none\n", info)
        out, _ = self.run_program(
            "tune", *graph, "--grid", "C=0.1,1", "--folds", "2", "train", "model"
        )
        self.assertEqual(out.splitlines()[0], "C\tmicro_f1")

    def test_label_graph_of_the_tree_with_its_root_anchored_is_the_tree(self) -> None:
        self.train("--tolerance", "1e-8", method="hr-lr")
        tree = self.run_program("predict", "model", "test", "--top", "4", "--scores")[0]
        self.train(
            "--tolerance", "1e-8", "--label-graph", "tree", "--anchor", "all=1", method="hr-lr"
        )
        graph = self.run_program("predict", "model", "test", "--top", "4", "--scores")[0]
        for one, other in zip(tree.split(), graph.split(), strict=True):
            self.assertEqual(one.rsplit(":", 1)[0], other.rsplit(":", 1)[0])
            self.assertAlmostEqual(
                float(one.rsplit(":", 1)[1]), float(other.rsplit(":", 1)[1]), delta=0.01
            )

    def test_top_down_explains_margins_along_the_path(self) -> None:
        self.train("--beam", "2", method="top-down-svm")
        out, _ = self.run_program("explain", "model", "test", "--row", "1", "--label", "a2")
        nodes = [line for line in out.splitlines() if line.startswith("  ") and line[2] != " "]
        self.assertEqual([n.split(":")[0].strip() for n in nodes], ["all", "a", "a2"])
        self.assertIn("beam                       2\n", self.run_program("info", "model")[0])

    def test_rows_with_several_labels_get_label_sets_on_trees_and_graphs(self) -> None:
        both = "".join(
            line.replace("a1 ", "a1,b1 ").replace("a2 ", "a,b2 ")
            for line in rows(120, 1).splitlines(keepends=True)
        )
        self.write("sets", both)
        self.write("graph", HIERARCHY + "b a2\nall c\nc b2\n")
        for hierarchy in ("tree", "graph"):
            for method in ("hsvm", "nhsvm", "shared-svm"):
                with self.subTest(hierarchy=hierarchy, method=method):
                    self.run_program(
                        "train", "--method", method, "--hierarchy", hierarchy, "--quiet", "sets",
                        "model",
                    )  # fmt: skip
                    self.assertRegex(
                        self.run_program("info", "model")[0],
                        r"(?m)^decision +offset\noffset +[-0-9]",
                    )
                    result = json.loads(self.run_program("evaluate", "model", "sets", "--json")[0])
                    self.assertGreater(result["accuracy"], 0.9)
                    predicted = self.run_program("predict", "model", "sets", "--quiet")[0]
                    self.assertTrue({"a1,b1", "a,b2"} <= set(predicted.splitlines()))

    def test_decision_of_label_sets_is_tuned_for_the_metric_asked_for(self) -> None:
        for name, seed in (("sets", 1), ("new", 2)):
            noisy = rows(400, seed).splitlines(keepends=True)
            for i, line in enumerate(noisy):  # a second label, more often missing than not
                label, rest = line.split(" ", 1)
                noisy[i] = f"{label}{',b3' if i % 40 < 19 else ''} {rest}"
            self.write(name, "".join(noisy))
        offsets = {}
        for metric in ("micro-f1", "accuracy"):
            self.train("--decision", "offset", "--decision-metric", metric, "--quiet", data="sets")
            out = self.run_program("info", "model")[0]
            offsets[metric] = float(re.search(r"(?m)^offset +(\S+)$", out)[1])  # type: ignore[index]
        self.assertNotEqual(offsets["micro-f1"], offsets["accuracy"])
        self.train("--decision", "argmax", "--quiet", data="sets")
        self.assertIn("label-set", self.run_program("info", "model")[0])
        argmax = json.loads(self.run_program("evaluate", "model", "new", "--json")[0])
        self.train("--quiet", data="sets")
        tuned = json.loads(self.run_program("evaluate", "model", "new", "--json")[0])
        self.assertGreater(tuned["micro_f1"], argmax["micro_f1"])
        self.assert_fails(
            2, "option decision is offset, which is for rows with several labels",
            "train", "--method", "hsvm", "--hierarchy", "tree", "--decision", "offset", "train",
            "m",
        )  # fmt: skip

    def test_decision_of_tags_finds_more_spans(self) -> None:
        for name, seed in (("words", 4), ("new", 5)):
            rng = random.Random(seed)
            sentences = []
            for _ in range(300):
                tokens = []
                for _ in range(6):  # fewer than half of the words with a capital are names
                    has_capital = rng.random() < 0.3
                    tag = "B-X" if has_capital and rng.random() < 0.45 else "O"
                    tokens.append(f"{'Zo' if has_capital else 'la'}\t{tag}")
                sentences.append("\n".join(tokens) + "\n\n")
            self.write(name, "".join(sentences))
        spans = {}
        for decision in ("argmax", "auto"):
            self.run_program(
                "train", "--method", "structured", "--model", "chain", "--decision", decision,
                "--quiet", "words", "m",
            )  # fmt: skip
            measured = json.loads(self.run_program("evaluate", "m", "new", "--json")[0])
            spans[decision] = measured["span_f1"]
        self.assertGreater(spans["auto"], spans["argmax"])
        self.assertRegex(self.run_program("info", "m")[0], r"(?m)^tag without offset +O$")
        for message, *options in (
            ("option decision-metric is macro-f1, but must be micro-f1 or accuracy",
             "--model", "chain", "--decision-metric", "macro-f1", "words"),
            ("option decision is offset, which model dependency does not offer",
             "--model", "dependency", "--decision", "offset", "trees"),
        ):  # fmt: skip
            self.write("trees", "1\tWe\t_\tPRON\t_\t_\t0\troot\t_\t_\n\n")
            self.assert_fails(2, message, "train", "--method", "structured", *options, "m")

    def test_generated_data_are_the_same_every_time_and_can_be_continued(self) -> None:
        size = ["--num-features", "5", "--seed", "3"]
        for kind in ("balanced", "unbalanced"):
            for name in ("first", "second"):
                self.run_program(
                    "generate", kind, "--num-rows", "60", *size, "--hierarchy", f"{name}-tree", name
                )
            self.assertEqual(self.read("first"), self.read("second"))
            self.assertEqual(self.read("first-tree"), self.read("second-tree"))
            self.run_program(
                "generate", kind, "--num-rows", "20", "--first-row", "40", *size, "rest"
            )
            lines = self.read("first").splitlines()
            self.assertEqual(lines[40:], self.read("rest").splitlines())
            self.run_program(
                "generate", kind, "--num-rows", "60", "--num-features", "5", "--seed", "4", "other"
            )
            self.assertNotEqual(lines, self.read("other").splitlines())
            self.run_program(
                "train", "--method", "nhsvm", "--hierarchy", "first-tree", "--quiet", "first", "m"
            )

    def test_generated_texts_are_the_same_every_time_and_can_be_continued(self) -> None:
        size = ["--num-features", "5000", "--seed", "3"]
        for name in ("first", "second"):
            self.run_program("generate", "zipf", "--num-rows", "2000", *size, "--hierarchy",
                             f"{name}-tree", name)  # fmt: skip
        self.assertEqual(self.read("first"), self.read("second"))
        self.assertEqual(self.read("first-tree"), self.read("second-tree"))
        self.run_program(
            "generate", "zipf", "--num-rows", "700", "--first-row", "1500", *size, "rest"
        )
        lines = self.read("first").splitlines()
        rest = self.read("rest").splitlines()
        self.assertEqual(lines[1500:], rest[:500])
        self.assertRegex(lines[0], rb"^\d+( \d+:\d+)+$")
        test = rest[500:]
        self.write("test", b"\n".join([*test, b""]).decode())
        most_frequent = collections.Counter(line.split()[0] for line in test).most_common(1)[0][1]
        for method in ("top-down-svm", "flat-svm"):
            with self.subTest(method=method):
                self.run_program(
                    "train", "--method", method, "--hierarchy", "first-tree", "--tfidf", "--quiet",
                    "first", "m",
                )  # fmt: skip
                result = json.loads(self.run_program("evaluate", "m", "test", "--json")[0])
                self.assertGreater(result["accuracy"], most_frequent / 200 + 0.2)
                self.assertLess(result["accuracy"], 0.95)

    def test_generated_texts_of_a_dag_have_several_labels(self) -> None:
        self.run_program(
            "generate", "zipf", "--num-rows", "200", "--num-labels", "30", "--branching", "3",
            "--mean-parents", "2", "--mean-labels", "3", "--hierarchy", "dag", "rows",
        )  # fmt: skip
        self.assertIn("graph", self.run_program("hierarchy", "dag")[0])
        labels = [line.split()[0].split(b",") for line in self.read("rows").splitlines()]
        self.assertGreater(max(map(len, labels)), 4)
        self.assertTrue(all(len(set(of_row)) == len(of_row) for of_row in labels))

    def test_compare_counts_wins_and_gives_both_tests(self) -> None:
        labels = [line.split()[0] for line in self.read("test").decode().splitlines()]
        self.write("right", "".join(f"{label}\n" for label in labels))
        wrong = ["nowhere"] * 8 + labels[8:]
        self.write("wrong", "".join(f"{label}\n" for label in wrong))
        tests = json.loads(self.run_program("compare", "test", "right", "wrong", "--json")[0])
        sign, wilcoxon = tests["micro_sign_test"], tests["macro_wilcoxon"]
        # Each wrong row misses a label and has one that is not there.
        self.assertEqual((sign["first_better"], sign["second_better"]), (16, 0))
        self.assertAlmostEqual(sign["p_value"], 2 * 0.5**16)
        self.assertEqual(wilcoxon["first_better"], len(set(labels[:8])))
        self.assertEqual(wilcoxon["second_better"], 0)
        lines = self.run_program("compare", "test", "wrong", "right")[0].splitlines()
        self.assertEqual(lines[1].split(), ["micro_sign_test", "0", "16", "0", "3.05e-05"])
        self.assertEqual(lines[2].split()[:3], ["macro_wilcoxon", "0", str(len(set(labels[:8])))])

    def test_compare_takes_what_predict_wrote_for_documents(self) -> None:
        self.write("texts", "fruit\tred apple\ncar\tfast car\n" * 3)
        self.run_program("train", "--method", "flat-svm", "--text", "texts", "model")
        self.run_program("predict", "model", "texts", "--output", "predicted")
        tests = self.run_program("compare", "--text", "--json", "texts", "predicted", "predicted")
        self.assertEqual(json.loads(tests[0])["micro_sign_test"]["p_value"], 1)

    def test_compare_takes_columns_as_train_does(self) -> None:
        columns = ["--text-column", "words", "--label-column", "class"]
        self.write("texts.csv", "words,class\nred apple,fruit\nfast car,car\n")
        self.run_program("train", "--method", "flat-svm", *columns, "texts.csv", "model")
        self.run_program("predict", "model", "texts.csv", "--output", "predicted")
        self.write("wrong", "car\ncar\n")
        out, _ = self.run_program("compare", *columns, "--json", "texts.csv", "predicted", "wrong")
        self.assertEqual(json.loads(out)["micro_sign_test"]["first_better"], 2)

    def test_tune_prints_the_grid_and_keeps_the_winner(self) -> None:
        out, _ = self.run_program(
            "tune", "--method", "flat-svm", "--grid", "C=0.01,1", "--grid", "bias=0,1",
            "--folds", "3", "train", "model",
        )  # fmt: skip
        lines = out.splitlines()
        self.assertEqual(lines[0], "C\tbias\tmicro_f1")
        self.assertEqual([line.split("\t")[0] for line in lines[1:5]], ["0.01", "0.01", "1", "1"])
        winner = [line for line in lines[1:5] if line.endswith(" *")]
        self.assertEqual(len(winner), 1)
        means = [float(line.split("\t")[2].split()[0]) for line in lines[1:5]]
        self.assertEqual(float(winner[0].split("\t")[2].split()[0]), max(means))
        C, bias = winner[0].split("\t")[:2]
        info, _ = self.run_program("info", "model")
        self.assertIn(f"option C                   {C}\n", info)
        self.assertIn(f"option bias                {bias}\n", info)

    def test_tune_does_not_depend_on_threads_and_hold_out_works(self) -> None:
        outs = []
        for threads in ("1", "3"):
            out, _ = self.run_program(
                "tune", "--method", "nhsvm", "--hierarchy", "tree", "--grid", "C=0.01,1",
                "--holdout", "0.3", "--threads", threads, "train", "model" + threads,
            )  # fmt: skip
            outs.append([line for line in out.splitlines() if not line.startswith("seconds")])
        self.assertEqual(outs[0], outs[1])
        self.assertEqual(self.read("model1"), self.read("model3"))

    def test_time_limit_gives_a_model_and_a_warning(self) -> None:
        self.write("hard", rows(2000, 3))
        out, err = self.train(
            "--time-limit-seconds", "0.3", "--tolerance", "1e-12", "--max-passes", "100000000",
            "--C", "1e6", data="hard",
        )  # fmt: skip
        self.assertIn("stop\ttime_limit\n", out)
        passes = out.split("passes\t")[1].split("\n")[0]
        self.assertIn(f"the time limit ended training after {passes} passes, at a relative gap of",
                      err)  # fmt: skip
        self.run_program("evaluate", "model", "test")

    def test_time_limits_end_long_searches(self) -> None:
        def word(i: int, head: int) -> str:
            return f"{i}\tw{i % 97}\t_\tN{i % 11}\t_\t_\t{head}\tdep\t_\t_\n"

        # One search takes some seconds.
        self.write("long.conllu", "".join(word(i, i - 1) for i in range(1, 1600)) + "\n")
        for solver in ("bcfw", "sgd", "cutting-plane", "one-slack"):
            train = ["train", "--method", "structured", "--model", "dependency", "--solver",
                     solver, "--hash-bits", "10", "--time-limit-seconds"]  # fmt: skip
            with self.subTest(solver):
                self.assert_fails(
                    5, "long.conllu: the time limit ended training before the end of the first "
                    "pass; there is no model", *train, "0.2", "long.conllu", "model",
                )  # fmt: skip
                self.assert_fails(
                    5, "long.conllu: the time limit ended reading; nothing is trained", *train,
                    "1e-6", "long.conllu", "model",
                )  # fmt: skip

    def test_sentences_too_long_to_parse_are_refused(self) -> None:
        self.write(
            "long.conllu",
            "".join(f"{i}\tw\t_\tN\t_\t_\t{i - 1}\tdep\t_\t_\n" for i in range(1, 3000)),
        )
        self.assert_fails(
            3, "long.conllu:2049:6: the sentence has more than 2048 words", "train", "--method",
            "structured", "--model", "dependency", "long.conllu", "model",
        )  # fmt: skip

    def test_the_default_method_is_that_of_the_rows(self) -> None:
        paths = "".join(f"g{k % 2}/l{k % 4},{k % 4},{k % 3}\n" for k in range(24))
        self.write("paths.csv", "path,x,y\n" + paths)
        cases = [
            ("flat-svm", ["train"]),
            ("level-svm", ["--hierarchy", "tree", "train"]),
            ("level-svm", ["--hierarchy=tree", "train"]),
            ("level-svm", ["--path-column", "path", "--numeric-columns", "x,y", "paths.csv"]),
            ("flat-svm", ["--label-column", "path", "--numeric-columns", "x,y", "paths.csv"]),
            ("hsvm", ["--hierarchy", "tree", "--method=hsvm", "train"]),
        ]
        for method, arguments in cases:
            with self.subTest(arguments=arguments):
                out = self.run_program("train", "--quiet", *arguments, "model")[0]
                self.assertTrue(out.startswith(f"method\t{method}\n"), out)
                out = self.run_program("tune", "--quiet", "--grid", "C=1", *arguments, "tuned")[0]
                self.assertIn(f"method\t{method}\n", out)

    def test_quiet_prints_nothing_on_stderr_and_results_on_stdout(self) -> None:
        out, err = self.train("--quiet")
        self.assertEqual(err, "")
        self.assertIn("objective\t", out)


class ExitCodes(CliTest):
    def test_2_for_wrong_usage(self) -> None:
        start = ["train", "--method", "nhsvm", "--hierarchy", "tree"]
        for message, arguments in [
            ("A verb is missing", []),
            ("--unknown", ["info", "--unknown", "x"]),
            ("MODEL is required", ["info"]),
            ("TRAIN is required", ["train"]),
            ("--method needs a value", ["train", "train", "model", "--method"]),
            ("--losss is no option of train with method level-svm",
             ["train", "--hierarchy", "tree", "--losss", "hinge", "train", "model"]),
            ("--losss is no option of train with method flat-svm",
             ["train", "--losss", "hinge", "train", "model"]),
            ("method is 'svm', but must be one of", ["train", "--method", "svm", "train", "m"]),
            ("did you mean 'flat-svm'?", ["train", "--method", "flat-smv", "train", "m"]),
            ("columns or a format are selected, but with option flat the models say",
             ["compare", "--flat", "train", "m", "m", "--label-column", "l"]),
            ("option text is given, but columns are selected",
             ["compare", "--text", "train", "m", "m", "--text-column", "t", "--label-column", "l"]),
            ("option C is 'x', but must be a number", [*start, "--C", "x", "train", "m"]),
            ("option C is 0, but must be auto or > 0", [*start, "--C", "0", "train", "m"]),
            ("option class-weight (or sample_weight) gives the rows weights, but method "
             "average-mkl takes none; leave it out, or take a linear method such as flat-svm",
             ["train", "--method", "average-mkl", "--quiet", "--class-weight", "balanced",
              "train", "m"]),
            ("option decision-folds is 100000, but must be at most ",
             [*start, "--quiet", "--decision-folds", "100000", "train", "m"]),
            ("option C is nan", [*start, "--C", "nan", "train", "m"]),
            ("options C and lambda are both given",
             [*start, "--C", "1", "--lambda", "1", "train", "m"]),
            ("option bias is -1, but must be >= 0", [*start, "--bias", "-1", "train", "m"]),
            ("option seed is 'y', but must be a whole number",
             [*start, "--seed", "y", "train", "m"]),
            ("option max-passes is 0", [*start, "--max-passes", "0", "train", "m"]),
            ("option tolerance is 0", [*start, "--tolerance", "0", "train", "m"]),
            ("option surrogate is 'magic'", [*start, "--surrogate", "magic", "train", "m"]),
            ("gold", [*start, "--alpha", "gold", "train", "m"]),
            ("option threads is -1", [*start, "--threads", "-1", "train", "m"]),
            ("option memory-limit is -1", [*start, "--memory-limit", "-1", "train", "m"]),
            ("option time-limit-seconds is 'soon'",
             [*start, "--time-limit-seconds", "soon", "train", "m"]),
            ("more than one is given", [*start, "--tfidf", "--normalize", "train", "m"]),
            ("option scale is 'log', but must be one of auto, none, standard, max-abs, robust",
             [*start, "--scale", "log", "train", "m"]),
            ("option scale is standard, which is for columns of numbers, but must be none beside",
             [*start, "--normalize", "--scale", "standard", "train", "m"]),
            ("option epochs is 7, but solver is bcfw; it is for sgd",
             [*start, "--epochs", "7", "train", "m"]),
            ("option loss is 'cubic'",
             ["train", "--method", "flat-svm", "--loss", "cubic", "train", "m"]),
            ("option multiclass is 'ava'",
             ["train", "--method", "flat-svm", "--multiclass", "ava", "train", "m"]),
            ("option decision is 'dice', but must be one of auto, argmax, zero, threshold, scut",
             ["train", "--method", "flat-lr", "--decision", "dice", "train", "m"]),
            ("option decision is 'instance', but must be one of auto, argmax, offset",
             [*start, "--decision", "instance", "train", "m"]),
            ("option decision-metric is 'luck', but must be one of micro-f1, instance-f1",
             [*start, "--decision-metric", "luck", "train", "m"]),
            ("option decision-folds is 1",
             ["train", "--method", "flat-lr", "--decision-folds", "1", "train", "m"]),
            ("--loss", [*start, "--loss", "hinge", "train", "m"]),
            ("needs a hierarchy: give --hierarchy FILE",
             ["train", "--method", "nhsvm", "train", "m"]),
            ("needs a hierarchy: give --hierarchy FILE",
             ["train", "--method", "hr-svm", "train", "m"]),
            ("option anchor is '1', but must not be given without label-graph",
             ["train", "--method", "hr-svm", "--hierarchy", "tree", "--anchor", "1", "train", "m"]),
            ("option beam is -1",
             ["train", "--method", "top-down-svm", "--hierarchy", "tree", "--beam", "-1",
              "train", "m"]),
            ("option grid is not given, but must be, because method kernel-ridge has no option C",
             ["tune", "--method", "kernel-ridge", "train", "m"]),
            ("option grid is 'C'", ["tune", *start[1:], "--grid", "C", "train", "m"]),
            ("unknown option Q", ["tune", *start[1:], "--grid", "Q=1", "train", "m"]),
            ("option C is given twice",
             ["tune", *start[1:], "--grid", "C=1", "--C", "2", "train", "m"]),
            ("--C may be given once only\n", [*start, "--C", "1", "--C", "2", "train", "m"]),
            ("--C needs a value\n", [*start, "train", "m", "--C"]),
            ("--match-names takes a value after '=' only: --match-names=true\n",
             ["train", "--method", "flat-svm", "--match-names", "true", "train", "m"]),
            ("option hierarchy is empty, but must name a file\n",
             ["train", "--method", "flat-svm", "--hierarchy", "", "train", "m"]),
            ("option vector-file is empty, but must name a file\n",
             [*start, "--vector-file", "", "train", "m"]),
            ("option folds is 1", ["tune", *start[1:], "--grid", "C=1", "--folds", "1",
                                   "train", "m"]),
            ("folds and holdout are both given",
             ["tune", *start[1:], "--grid", "C=1", "--folds", "2", "--holdout", "0.1",
              "train", "m"]),
            ("option holdout is 2", ["tune", *start[1:], "--grid", "C=1", "--holdout", "2",
                                     "train", "m"]),
            ("metric is 'joy'", ["tune", *start[1:], "--grid", "C=1", "--metric", "joy",
                                 "train", "m"]),
            ("option top is 0, but must be >= 1\n", ["predict", "m", "train", "--top", "0"]),
            ("option top is 'x', but must be a whole number\n",
             ["predict", "m", "train", "--top", "x"]),
            ("option min-confidence is -1, but must be in [0, 1]\n",
             ["predict", "m", "train", "--min-confidence", "-1"]),
            ("option show is 'all', but must be one of name, path, id\n",
             ["predict", "m", "train", "--show", "all"]),
            ("--scores excludes --paths\n", ["predict", "m", "train", "--scores", "--paths"]),
            ("--top excludes --min-confidence\n",
             ["predict", "m", "train", "--top", "2", "--min-confidence", "0.5"]),
            ("option features is -1, but must be >= 0\n",
             ["explain", "m", "train", "--row", "1", "--features", "-1"]),
            ("--threads: value is -2, but must be >= 0\n",
             ["predict", "m", "train", "--threads", "-2"]),
            ("option class-weight is given, but method structured reads",
             ["train", "--method", "structured", "--class-weight", "balanced", "train", "m"]),
            ("silver", ["hierarchy", "tree", "--alpha", "silver"]),
            ("lopsided", ["generate", "lopsided", "rows"]),
            ("option num-rows is 0", ["generate", "balanced", "--num-rows", "0", "rows"]),
            ("option num-labels is 1, but must be >= 2",
             ["generate", "zipf", "--num-labels", "1", "rows"]),
            ("option mean-nonzeros is 60, but must be at most a quarter of num-features, 5\n",
             ["generate", "zipf", "--num-features", "20", "rows"]),
            ("option depth is given, but is not an option of kind zipf\n",
             ["generate", "zipf", "--depth", "2", "rows"]),
            ("option topic-share is given, but is not an option of kind unbalanced\n",
             ["generate", "unbalanced", "--topic-share", "0.5", "rows"]),
        ]:  # fmt: skip
            with self.subTest(arguments=arguments):
                _, err = self.run_program(*arguments, code=2)
                self.assertIn(message, err)
        self.assertFalse(os.path.exists(self.path("m")))

    def test_2_for_rows_and_labels_that_are_not_there(self) -> None:
        self.train()
        self.assert_fails(2, "--row", "explain", "model", "test", "--row", "0")
        self.assert_fails(
            2, "option row is 61, but the data have only 60", "explain", "model", "test",
            "--row", "61", "--quiet",
        )  # fmt: skip
        self.run_program("explain", "model", "test", "--row", "1", "--label", "zebra", code=2)

    def test_3_for_bad_input(self) -> None:
        self.train()
        self.write("broken", "a1 1:1 2:x\n")
        self.write("stranger", "a1 1:1\nb1 1:2\nzebra 1:1\n")
        self.write("cycle", "a b\nb a\n")
        self.write("two", "a1,b1 1:1\n")
        self.write("sets", "a1\n" * 60)
        self.write("gap", "a1\nb1,,b2\n")
        self.write("pairs", "a1 a2\na1 zebra\n")
        self.write("weights", "a1\t2\nzebra\t1\n")
        no_probabilities = "a model of method nhsvm gives none: train it with calibration"
        weighed = ["--class-weight", "balanced"]
        graph = ["train", "--method", "hr-lr", "--quiet", "--label-graph"]
        flat = ["train", "--method", "flat-svm", "--quiet"]
        tree = ["train", "--method", "nhsvm", "--quiet", "--hierarchy"]
        for message, arguments in [
            ("missing", [*flat, "missing", "m"]),
            ("broken:1:", [*flat, "broken", "m"]),
            ("stranger:3:1", [*tree, "tree", "stranger", "m"]),
            ("cycle:2", [*tree, "cycle", "train", "m"]),
            ("two: row 1 has 2 labels", [*flat, "--multiclass", "crammer-singer", "two", "m"]),
            ("weights:2:1: label is 'zebra'", [*flat, "--class-weight", "weights", "train", "m"]),
            ("two: row 1 has 2 labels, but class weights", [*flat, *weighed, "two", "m"]),
            (no_probabilities, ["predict", "--min-confidence", "0.5", "model", "test"]),
            (no_probabilities, ["predict", "--probabilities", "model", "test"]),
            ("no/such/folder", [*flat, "train", "no/such/folder/m"]),
            ("broken:1:", ["evaluate", "model", "broken"]),
            ("must not take more than 1e-09 GB", [*flat, "--memory-limit", "1e-9", "train", "m"]),
            ("missing", ["hierarchy", "missing"]),
            ("missing", ["compare", "test", "sets", "missing"]),
            ("missing", [*graph, "missing", "train", "m"]),
            ("pairs:2:4: label is 'zebra', but must be one of", [*graph, "pairs", "train", "m"]),
            ("gap:2:4: label is empty", ["compare", "test", "sets", "gap"]),
            (
                "sets: the file has 60 rows, but must have 120 like train",
                ["compare", "train", "sets", "sets"],
            ),
        ]:
            with self.subTest(arguments=arguments):
                _, err = self.run_program(*arguments, code=3)
                self.assertIn(message, err)
        self.assertFalse(os.path.exists(self.path("m")))

    def test_4_for_bad_model_files(self) -> None:
        self.train()
        model = self.read("model")
        pathlib.Path(self.path("short")).write_bytes(model[:-1])
        for verb in (["info"], ["predict"], ["evaluate"], ["explain", "--row", "1"]):
            data = [] if verb == ["info"] else ["test"]
            for name in ("missing", "short", "train"):
                with self.subTest(verb=verb, name=name):
                    _, err = self.run_program(*verb, name, *data, code=4)
                    self.assertIn(f"margrove: {name}: ", err)

    @unittest.skipIf(
        os.environ.get("MARGROVE_SANITIZED"), "a sanitizer's shadow memory exceeds any limit"
    )
    def test_1_when_memory_runs_out(self) -> None:
        features = " ".join(f"{j}:1" for j in range(1, 2_000_000))
        self.write("long", f"a {features}\nb 1:1\n")
        limit = 60_000_000
        _, err = self.run_program(
            "train", "--method", "flat-svm", "--threads", "1", "long", "model", code=1,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
        )  # fmt: skip
        self.assertIn("out of memory", err)
        self.assertFalse(os.path.exists(self.path("model")))


class Accidents(CliTest):
    """What goes wrong around the program must lose nothing."""

    def test_standard_error_that_cannot_be_written_loses_no_model(self) -> None:
        command = [MARGROVE, "train", "--method", "nhsvm", "--hierarchy", "tree", "train", "model"]
        self.train(model="expected")
        for name, full in (("full", "/dev/full"), ("closed", None)):
            with self.subTest(name):
                if full is None:
                    done = subprocess.run(
                        ["/bin/sh", "-c", 'exec "$@" 2>&-', "sh", *command],
                        cwd=self.directory.name, stdout=subprocess.PIPE, check=False,
                    )  # fmt: skip
                else:
                    with open(full, "wb") as broken:
                        done = subprocess.run(
                            command, cwd=self.directory.name, stdout=subprocess.PIPE,
                            stderr=broken, check=False,
                        )  # fmt: skip
                self.assertEqual(done.returncode, 0)
                self.assertEqual(self.read("model"), self.read("expected"))

    def test_a_reader_that_has_left_is_no_error_and_loses_no_model(self) -> None:
        self.train(model="expected")
        train = ["train", "--method", "nhsvm", "--hierarchy", "tree", "train", "model", "--quiet"]
        for command in (
            ["manual"], ["completion", "bash"], ["--help"], ["train", "--help"], train,
            ["predict", "expected", "test"], ["predict", "expected", "-"],
            ["evaluate", "expected", "test"], ["info", "expected"], ["hierarchy", "tree"],
        ):  # fmt: skip
            with self.subTest(command):
                reader, writer = os.pipe()
                os.close(reader)
                with open(self.path("test"), "rb") as rows:
                    done = subprocess.run(
                        [MARGROVE, *command], cwd=self.directory.name, stdin=rows, stdout=writer,
                        stderr=subprocess.PIPE, check=False, timeout=300,
                    )  # fmt: skip
                os.close(writer)
                self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(self.read("model"), self.read("expected"))
        with open("/dev/full", "wb") as full:
            for command in (["manual"], ["--help"], ["predict", "expected", "test"]):
                done = subprocess.run(
                    [MARGROVE, *command], cwd=self.directory.name, stdout=full, check=False,
                    stderr=subprocess.PIPE,
                )  # fmt: skip
                self.assertEqual(done.returncode, 3)
                self.assertIn(b"standard output: the result cannot be written", done.stderr)

    def test_a_model_that_could_not_be_read_takes_no_place(self) -> None:
        self.train()
        before = self.read("model")
        self.write("huge", "dog 1:3e38\ncat 1:-3e38 2:3e38\ndog 2:-3e38\n")
        self.run_program(
            "train", "--method", "flat-lr", "--C", "1e300",
            "huge", "model", code=3,
        )  # fmt: skip
        self.assertEqual(self.read("model"), before)
        self.assertEqual([name for name in os.listdir(self.directory.name) if ".tmp-" in name], [])

    def test_kernel_models_of_rows_without_features_predict_rows_with_some(self) -> None:
        self.write("empty", "a \nb \na \nb \n")
        self.write("full", "a 1:1 2:2\nb 3:1\n")
        for method in KERNEL_METHODS:
            with self.subTest(method):
                self.run_program("train", "--method", method, "empty", "model")
                out, _ = self.run_program("predict", "model", "full")
                self.assertEqual(len(out.splitlines()), 2)

    def test_a_result_that_cannot_be_written_is_found_before_the_work(self) -> None:
        self.train()
        os.mkdir(self.path("folder"))
        before = sorted(os.listdir(self.directory.name))
        for arguments in (
            ["train", "--method", "flat-svm", "absent", "OUT"],
            ["tune", "--method", "flat-svm", "--grid", "C=1", "absent", "OUT"],
            ["predict", "absent", "absent", "--output", "OUT"],
            ["report", "absent", "absent", "--output", "OUT"],
            ["explain", "absent", "--svg", "OUT"],
            ["explain", "absent", "--dot", "OUT"],
            ["export", "absent", "OUT"],
            ["import", "absent", "OUT"],
        ):
            for path in ("no/such/m", "folder"):
                with self.subTest(arguments=arguments, path=path):
                    filled = [path if each == "OUT" else each for each in arguments]
                    self.assert_fails(3, f"margrove: {path}: cannot ", *filled)
        self.assert_fails(3, "is empty", "train", "--method", "flat-svm", "absent", "")
        model = self.read("model")
        self.run_program("train", "--method", "flat-svm", "absent", "model", code=3)
        self.assertEqual(self.read("model"), model)
        self.assertEqual(sorted(os.listdir(self.directory.name)), before)

    def test_a_link_to_a_file_that_does_not_exist_yet_is_followed(self) -> None:
        os.symlink("real", self.path("link"))
        self.train(model="link")
        self.assertTrue(os.path.islink(self.path("link")))
        self.assertIn("nhsvm", self.run_program("info", "real")[0])
        os.symlink("no/such/m", self.path("dangling"))
        self.run_program("train", "--method", "flat-svm", "train", "dangling", code=3)
        self.assertTrue(os.path.islink(self.path("dangling")))

    def test_a_file_beyond_the_limit_of_sizes_leaves_nothing(self) -> None:
        before = sorted(os.listdir(self.directory.name))
        _, err = self.run_program(
            "train", "--method", "flat-svm", "train", "model", code=3,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500)),
        )  # fmt: skip
        self.assertIn("model: cannot write to it: File too large", err)
        self.assertEqual(sorted(os.listdir(self.directory.name)), before)

    @unittest.skipIf(
        os.environ.get("MARGROVE_SANITIZED"), "a sanitizer's shadow memory exceeds any limit"
    )
    def test_threads_that_cannot_be_made_are_done_without(self) -> None:
        def few_threads() -> None:  # memory for some stacks only
            resource.setrlimit(resource.RLIMIT_STACK, (1 << 28, 1 << 28))
            resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))

        self.train("--threads", "1", model="one")
        self.run_program(
            "train", "--method", "nhsvm", "--hierarchy", "tree", "--threads", "64", "train", "few",
            preexec_fn=few_threads,
        )  # fmt: skip
        self.assertEqual(self.read("few"), self.read("one"))

    def test_a_million_threads_are_bounded(self) -> None:
        self.train("--threads", "1", model="one")
        self.train("--threads", "1000000", model="many")
        self.assertEqual(self.read("many"), self.read("one"))

    def test_files_of_labels_alone_are_no_rows_of_features(self) -> None:
        self.train()
        self.write("table", "1.5,2,3\n4,5,6\n")
        self.write("json", '{"a":1,"b":2}\n{"a":3,"b":4}\n')
        for name in ("table", "json"):
            message = (
                f"{name}:1:1: the row has no index:value, and no other row has one; rows must be "
                "`label,label index:value ...`, separated by blanks. For CSV or JSON lines name "
                "the columns, with --format csv"
            )
            flat = ["--method", "flat-svm", "--quiet"]
            for arguments in (
                ["train", *flat, name, "m"],
                ["tune", *flat, "--grid", "C=1", name, "m"],
                ["predict", "model", name],
                ["evaluate", "model", name],
            ):
                with self.subTest(arguments=arguments):
                    self.assert_fails(3, message, *arguments)
        self.write("some", "a\nb 1:1\na\nb 1:1\n")
        self.run_program("train", "--method", "flat-svm", "some", "m")
        self.write("labels", "a\nb\n")
        self.run_program("compare", "labels", "labels", "labels")

    def test_sentences_are_written_with_their_answers(self) -> None:
        self.write("words", "one O\ntwo X\n\n" * 9)
        train = ["train", "--method", "structured", "--quiet", "--model"]
        self.run_program(*train, "chain", "words", "model")
        self.write("new", "-DOCSTART- O\n\ntwo a\none b\r\n\n\none c")
        self.run_program("predict", "model", "words")
        out, _ = self.run_program("predict", "--with-input", "model", "new")
        self.assertEqual(out, "-DOCSTART- O\n\ntwo a X\none b O\n\n\none c O\n")
        self.write("tabs", "one\tb\n")
        self.assertEqual(self.run_program("predict", "--with-input", "model", "tabs")[0],
                         "one\tb\tO\n")  # fmt: skip
        self.run_program(*train, "chain", "--comments", "hash", "words", "model")
        self.write("new", "-DOCSTART-\n\n# 1\n#\ntwo\n#\none\n\n# 3\none\n")
        out, _ = self.run_program("predict", "--with-input", "model", "new")
        answers = self.run_program("predict", "model", "new")[0].split()
        self.assertEqual(
            out, "-DOCSTART-\n\n# 1\n#\ntwo {}\n# {}\none {}\n\n# 3\none {}\n".format(*answers)
        )
        self.assertEqual((len(answers), answers[0], answers[3]), (4, "X", "O"))
        words = ("1\tthe\t_\tDET\t_\t_\t{}\ta=b\n", "2\tdog\t_\tNOUN\t_\t_\t{}\t_\n")
        tree = (words[0] + words[1]).format("2\tdet\t_", "0\troot\t_") + "\n"
        self.write("trees", tree * 9)
        self.run_program(*train, "dependency", "trees", "model")
        between = "2.1\tis\t_\t_\t_\t_\t_\t_\t_\t_\n"
        text = "# the = dog\n1-2\tthedog" + "\t_" * 8 + "\n" + words[0] + words[1] + between
        self.write("new", text.format("_\t_\t_", "1\tx\t1:x"))
        out, _ = self.run_program("predict", "--with-input", "model", "new")
        self.assertEqual(out, text.format("2\tdet\t_", "0\troot\t_"))
        self.run_program("evaluate", "model", "new", code=3)
        self.write("answered", out)
        self.assertIn("las                      1.0000",
                      self.run_program("evaluate", "model", "answered")[0])  # fmt: skip
        self.train()
        self.assert_fails(2, "option with-input is given, but the examples of method nhsvm are "
                          "rows", "predict", "--with-input", "model", "test")  # fmt: skip

    def test_models_of_sentences_refuse_what_is_for_rows(self) -> None:
        self.write("words", "one O\ntwo X\n\n" * 9)
        self.run_program(
            *["train", "--method", "structured", "--model", "chain", "--quiet", "words", "model"]
        )
        for option in (
            ["--top", "2"], ["--scores"], ["--probabilities"], ["--min-confidence", "0.5"],
            ["--paths"], ["--show", "name"], ["--output-format", "lines"],
        ):  # fmt: skip
            name = option[0].removeprefix("--")
            self.assert_fails(
                2, f"option {name} is given, but the examples of method structured are not rows",
                "predict", "model", "words", *option,
            )  # fmt: skip
        self.assert_fails(
            2, "the examples of method structured are not rows, but files of examples, which "
            "predict, evaluate and info alone take", "report", "--output", "page", "model", "words",
        )  # fmt: skip
        for arguments in (["model"], ["model", "words"], ["--row", "1", "model", "words"]):
            self.assert_fails(
                2, "a model of method structured and kind chain has no explanations",
                "explain", *arguments,
            )  # fmt: skip

    def test_numbers_of_columns_must_be_finite(self) -> None:
        for number in ("nan", "inf", "-inf", "1e39", "-1e999"):
            self.write("words", f"one size:1 O\ntwo size:{number} X\n")
            self.assert_fails(
                3, f"words:2:5: column 2 is 'size:{number}', but its number must be finite",
                "train", "--method", "structured", "--model", "chain", "--quiet", "words", "m",
            )  # fmt: skip


class Messages(CliTest):
    def test_labels_the_model_does_not_know_are_counted_not_fatal(self) -> None:
        self.train()
        self.write("mixed", "a1 1:1\nzebra 1:1\nlion 1:1\nzebra 2:1\n")
        _, err = self.run_program("evaluate", "model", "mixed")
        self.assertIn("3 rows have labels that the model does not know (2 of them)", err)

    def test_rows_without_label_are_left_out_with_a_count(self) -> None:
        self.write("gaps", rows(40, 1) + " 1:1\n 2:1\n")
        _, err = self.train(data="gaps")
        self.assertIn("2 of 42 rows have no label and were left out", err)

    def test_estimate_of_memory_comes_before_training(self) -> None:
        _, err = self.train()
        self.assertIn("120 rows, 3 features, 8 labels; training takes about", err)


if __name__ == "__main__":
    unittest.main()
