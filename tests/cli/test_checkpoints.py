"""`train --checkpoint`: a training that was killed goes on, and what is no checkpoint of it is
refused."""

# ruff: noqa: PT009 - unittest, so that it runs with nothing installed

import json
import os
import random
import signal
import subprocess
import time
import unittest

from test_cli import MARGROVE, CliTest, rows

SANITIZED = bool(os.environ.get("MARGROVE_SANITIZED"))
NHSVM = ("--method", "nhsvm", "--hierarchy", "tree")
CHECKPOINT = ("--checkpoint", "state", "--checkpoint-seconds", "0")


def tagged(sentences: int, seed: int) -> str:
    """Tokens with tags, of which half need their neighbours."""
    draw = random.Random(seed)
    text = ""
    for _ in range(sentences):
        before = "A"
        for _ in range(8):
            tag = draw.choice("ABC")
            text += f"{draw.choice([tag, before, 'x', 'y'])}{draw.randrange(6)} {tag}\n"
            before = tag
        text += "\n"
    return text


def parsed(sentences: int, seed: int) -> str:
    draw = random.Random(seed)
    text = ""
    for _ in range(sentences):
        for k in range(1, 8):
            head = 0 if k == 1 else draw.randrange(max(1, k - 2), k)
            form = f"w{draw.randrange(40)}"
            text += f"{k}\t{form}\t_\tT{draw.randrange(4)}\t_\t_\t{head}\tdep\t_\t_\n"
        text += "\n"
    return text


class Checkpoints(CliTest):
    def setUp(self) -> None:
        super().setUp()
        self.write("hard", rows(1500, 3))
        several = rows(400, 4).splitlines()
        self.write(
            "sets",
            "".join(
                f"{line.split()[0]}{',b3' if k % 3 == 0 else ''} {line.split(maxsplit=1)[1]}\n"
                for k, line in enumerate(several)
            ),
        )

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [MARGROVE, "train", "--log", "json", *arguments, "model"], cwd=self.directory.name,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def facts(self, out: str) -> dict[str, str]:
        return dict(line.split("\t") for line in out.splitlines())

    def kill_until_done(self, *arguments: str, seed: int, kills: int = 5) -> tuple[str, int]:
        """Runs with --resume, killed after random times; the output, and how often it went on."""
        draw = random.Random(seed)
        resumed = 0
        for _ in range(kills):
            running = self.start(*arguments, *CHECKPOINT, "--resume")
            # From before the first checkpoint to some passes after it, and within a write.
            assert running.stderr is not None
            begin, reports = "", draw.choice([2, 20, 60, 150])
            for line in running.stderr:
                begin += line
                reports -= '"done":' in line
                if reports == 0:
                    break
            time.sleep(draw.uniform(0, 0.02))
            running.kill()
            running.communicate(timeout=300)
            resumed += "state: going on after" in begin
            if running.returncode == 0:
                break
        running = self.start(*arguments, *CHECKPOINT, "--resume")
        out, err = running.communicate(timeout=300)
        self.assertEqual(running.returncode, 0, err)
        self.assertFalse(os.path.exists(self.path("state")))
        self.assertEqual(
            [name for name in os.listdir(self.directory.name) if name.startswith("state")], []
        )
        return out, resumed + ("state: going on after" in err)

    def test_a_killed_training_reaches_the_same_certified_optimum(self) -> None:
        tolerance = 1e-4
        hard = (
            *NHSVM,
            "--tolerance",
            str(tolerance),
            "--C",
            "30",
            "--max-passes",
            "100000",
            "hard",
        )
        reference = self.facts(self.run_program("train", *hard, "reference")[0])
        resumed = 0
        for seed in range(3):
            out, times = self.kill_until_done(*hard, seed=seed)
            resumed += times
            facts = self.facts(out)
            self.assertEqual(facts["stop"], "converged")
            self.assertLessEqual(float(facts["relative_gap"]), tolerance)
            # Two objectives that are both within the gap of the optimum.
            one, other = float(facts["objective"]), float(reference["objective"])
            self.assertLessEqual(abs(one - other), 2 * tolerance * other)
        self.assertGreater(resumed, 0)

    def test_epochs_of_two_runs_are_those_of_one(self) -> None:
        epochs = ("--method", "hsvm", "--hierarchy", "tree", "--solver", "sgd", "--epochs", "300",
                  "hard")  # fmt: skip
        self.run_program("train", *epochs, "reference")
        scores = ("predict", "--scores", "--top", "3")
        expected = self.run_program(*scores, "reference", "test")[0]
        _, resumed = self.kill_until_done(*epochs, seed=1)
        self.assertGreater(resumed, 0)
        self.assertEqual(self.run_program(*scores, "model", "test")[0], expected)
        self.assertRegex(self.run_program("info", "model")[0], r"\npasses +300\n")

    def test_one_vs_rest_goes_on_with_the_labels_that_are_left_and_has_the_same_bytes(self) -> None:
        draw = random.Random(2)
        many = "".join(
            f"l{draw.randrange(800)} "
            + " ".join(f"{j}:{draw.random():.3f}" for j in sorted(draw.sample(range(1, 60), 8)))
            + "\n"
            for _ in range(2500)
        )
        self.write("many", many)
        self.write("flat", "".join(f"g{k % 20} l{k}\n" for k in range(800)))
        cases = [
            ["--method", "flat-svm"],
            ["--method", "flat-lr"],
            ["--method", "top-down-svm", "--hierarchy", "flat"],
            ["--method", "level-svm", "--multiclass", "ovr", "--hierarchy", "flat"],
        ]
        for k, options in enumerate(cases):
            with self.subTest(options[1]):
                hard = [*options, "--C", "10", "--tolerance", "1e-4", "--threads", "1", "many"]
                self.run_program("train", *hard, "reference")
                _, resumed = self.kill_until_done(*hard, seed=k)
                self.assertGreater(resumed, 0)
                self.assertEqual(self.read("model"), self.read("reference"))

    def test_tuned_decisions_are_kept_with_their_folds(self) -> None:
        options = ["--method", "flat-svm", "--decision", "threshold", "sets"]
        self.run_program("train", *options, "reference")
        self.kill_until_done(*options, seed=4, kills=2)
        self.assertEqual(self.read("model"), self.read("reference"))

    def test_an_interrupted_training_goes_on(self) -> None:
        """Every kind of labelling, by SIGINT after the first pass."""
        self.write("tags", tagged(200, 1))
        structured = ("--method", "structured", "--solver", "bcfw", "--model")
        endless = ("--max-passes", "100000", "--tolerance", "1e-6", "--C", "100")
        cases = [
            (*NHSVM, "hard"),
            (*NHSVM, "--surrogate", "slack", "hard"),
            (*NHSVM, "--decision", "argmax", "sets"),
            (*NHSVM, "--inference", "relaxed", "--decision", "argmax", "sets"),
            ("--method", "flat-svm", "--multiclass", "crammer-singer", "hard"),
            (*structured, "chain", "tags"),
            (*structured, "hierarchy", "--hierarchy", "tree", "--decision", "argmax", "sets"),
            (*structured, "multilabel-field", "--decision", "argmax", "sets"),
            (*structured, "multilabel-field", "--inference", "relaxed", "--decision", "argmax",
             "sets"),
        ]  # fmt: skip
        for case in cases:
            with self.subTest(" ".join(case)):
                running = self.start(*endless, *case, "--checkpoint", "state")
                assert running.stderr is not None
                for line in running.stderr:
                    if '"stage":"bcfw","done":2,' in line:
                        break
                running.send_signal(signal.SIGINT)
                out, err = running.communicate(timeout=300)
                self.assertEqual(running.returncode, 130, err)
                before = self.facts(out)
                self.assertEqual(before["stop"], "interrupted")
                self.assertTrue(os.path.exists(self.path("state")))
                # The limit of time leaves the state as well.
                out, err = self.run_program(
                    "train", *endless, *case, "--checkpoint", "state", "--resume",
                    "--time-limit-seconds", "0.3", "model",
                )  # fmt: skip
                self.assertIn("state: going on after", err)
                after = self.facts(out)
                self.assertGreaterEqual(int(after["passes"]), int(before["passes"]))
                if after["stop"] == "time_limit":
                    self.assertTrue(os.path.exists(self.path("state")))
                    self.assertGreater(float(after["dual"]), 0.999 * float(before.get("dual", 0)))
                    os.unlink(self.path("state"))

    def test_other_data_and_options_and_damaged_files_are_refused(self) -> None:
        endless = [*NHSVM, "--tolerance", "1e-12", "--max-passes", "100000000", "--C", "1e6"]
        limit = ["--time-limit-seconds", "0.5"]
        self.run_program("train", *endless, *limit, "--checkpoint", "state", "hard", "model")
        state = self.read("state")
        resume = ["--checkpoint", "state", "--resume", *limit]
        self.write("other", rows(1500, 4))
        of_other = "state: the checkpoint is of another training: data, method, options or the"
        for arguments in (
            [*endless, "other"],
            [*endless[:-1], "1e5", "hard"],
            ["--method", "hsvm", *endless[2:], "hard"],
            [*endless, "--normalize", "hard"],
        ):
            with self.subTest(arguments=arguments):
                _, err = self.run_program("train", *arguments, *resume, "model", code=4)
                self.assertIn(of_other, err)
        self.assertEqual(self.read("state"), state)
        damaged = bytearray(state)
        damaged[-5] ^= 1
        for content, message in (
            (bytes(damaged), "state: the checkpoint is damaged"),
            (state[:100], "state: byte "),
            (self.read("model"), "state: the file is no checkpoint"),
            (b"", "state: "),
        ):
            with self.subTest(message=message):
                with open(self.path("state"), "wb") as file:
                    file.write(content)
                _, err = self.run_program("train", *endless, *resume, "hard", "model", code=4)
                self.assertIn(message, err)
                self.assertEqual(err.count("\n"), 1 + err.count("training takes"))

    def test_another_matrix_of_costs_is_another_training(self) -> None:
        labels = ["a1", "a2", "b1", "b2", "b3"]
        lines = [",".join(["", *labels])]
        for one in labels:
            lines.append(",".join([one, *("0" if one == other else "2" for other in labels)]))
        costs = "\n".join(lines) + "\n"
        self.write("costs", costs)
        given = [*NHSVM, "--cost-matrix", "costs", "--tolerance", "1e-12", "--C", "1e6",
                 "--max-passes", "100000000", "--time-limit-seconds", "0.5",
                 "--checkpoint", "state", "hard", "model"]  # fmt: skip
        self.run_program("train", *given)
        self.write("costs", costs.replace("2", "3"))
        _, err = self.run_program("train", "--resume", *given, code=4)
        self.assertIn("state: the checkpoint is of another training", err)

    def test_what_cannot_be_kept_is_refused(self) -> None:
        keep = ["--checkpoint", "state"]
        self.write("trees", parsed(5, 1))
        self.write("partial", rows(60, 6) + "a 1:1\nb 1:-1\n")
        no_state = (
            "with these options does not keep its state. top-down-svm and label-trees do, "
            "flat-svm, flat-lr and level-svm with multiclass ovr (in a stack centroids at most) do"
        )
        hierarchy = ["--hierarchy", "tree"]
        cases = [
            (["--method", "hr-svm", *hierarchy, *keep], f"method hr-svm {no_state}"),
            (["--method", "level-svm", *hierarchy, *keep], f"method level-svm {no_state}"),
            (
                ["--method", "flat-lr", "--multiclass", "softmax", *keep],
                f"method flat-lr {no_state}",
            ),
            (["--method", "kernel-ridge", *keep], f"method kernel-ridge {no_state}"),
            (["--method", "shared-svm", *hierarchy, *keep], f"method shared-svm {no_state}"),
            ([*NHSVM, "--solver", "one-slack", *keep], f"method nhsvm {no_state}"),
            ([*NHSVM, "--partial-labels", *keep], f"method nhsvm {no_state}"),
            (["--method", "structured", "--model", "dependency", *keep], "structured with these"),
            ([*NHSVM, "--resume"], "option resume is given, but needs --checkpoint FILE"),
            (
                [*NHSVM, "--checkpoint-seconds", "3"],
                "option checkpoint-seconds is given, but needs",
            ),
            (
                ["--method", "flat-svm", "--engine", "ray", *keep],
                "but engine ray does not offer it",
            ),
        ]
        for arguments, message in cases:
            with self.subTest(arguments=arguments):
                data = "partial" if "--partial-labels" in arguments else "train"
                data = "trees" if "dependency" in arguments else data
                _, err = self.run_program("train", *arguments, data, "model", code=2)
                self.assertIn(message, err)
        for path, message in (("train", "train"), ("model", "model"), ("no/state", "no/state")):
            with self.subTest(path=path):
                _, err = self.run_program(
                    "train", *NHSVM, "--checkpoint", path, "train", "model", code=3
                )
                self.assertIn(message, err)
        self.write("state", "a file of somebody\n")
        _, err = self.run_program("train", *NHSVM, *keep, "train", "model", code=3)
        self.assertIn("state: the file exists; --resume goes on from a checkpoint", err)
        self.assertEqual(self.read("state"), b"a file of somebody\n")

    def test_labels_that_are_missing_make_no_model(self) -> None:
        draw = random.Random(5)
        many = "".join(
            f"l{draw.randrange(600)} "
            + " ".join(f"{j}:{draw.random():.3f}" for j in sorted(draw.sample(range(1, 80), 9)))
            + "\n"
            for _ in range(4000)
        )
        self.write("many", many)
        train = [
            "--method",
            "flat-svm",
            "--C",
            "1e4",
            "--tolerance",
            "1e-9",
            "--checkpoint",
            "state",
        ]
        out, err = self.run_program(
            "train", *train, "--time-limit-seconds", "0.7", "many", "model", code=5
        )
        self.assertRegex(
            err, r"many: \d+ of 599 classifiers are trained and in the checkpoint; --res"
        )
        self.assertEqual(out, "")
        self.assertTrue(os.path.exists(self.path("state")))
        running = self.start(*train, "--resume", "many")
        assert running.stderr is not None
        for line in running.stderr:
            if '"stage":"one-vs-rest"' in line:
                self.assertEqual(json.loads(line)["total"], 599)
                break
        running.send_signal(signal.SIGTERM)
        out, err = running.communicate(timeout=300)
        self.assertEqual((running.returncode, out), (130, ""), err)
        self.assertIn("classifiers are trained and in the checkpoint", err)

    def test_a_checkpoint_that_cannot_be_written_does_not_end_the_training(self) -> None:
        os.mkdir(self.path("folder"))
        running = self.start(
            *NHSVM, "--tolerance", "1e-12", "--C", "1e6", "--max-passes", "100000000", "hard",
            "--checkpoint", "folder/state", "--checkpoint-seconds", "0",
            "--time-limit-seconds", "6",
        )  # fmt: skip
        assert running.stderr is not None
        for line in running.stderr:
            if '"stage":"bcfw","done":1,' in line:
                break
        os.rename(self.path("folder"), self.path("elsewhere"))  # at once, whatever is written there
        out, err = running.communicate(timeout=300)
        self.assertEqual(running.returncode, 0, err)
        self.assertIn("stop\ttime_limit\n", out)
        self.assertIn("warning: the last checkpoint could not be written: folder/state: ", err)


if __name__ == "__main__":
    unittest.main()
