"""The verbs of trainings in shards: plan-shards, train-shard, merge-shards, and train --engine."""

# ruff: noqa: PT009 - unittest, so that it runs with nothing installed

import os
import random
import shutil
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

from test_cli import MARGROVE, CliTest

TOP_DOWN = ["--method", "top-down-svm", "--hierarchy", "tree"]
LEVELS = ["--method", "level-svm", "--multiclass", "ovr", "--hierarchy", "tree"]


class Shards(CliTest):
    def plan(self, *options: str, shards: int = 3, data: str = "train") -> str:
        options = options or ("--method", "flat-svm")
        return self.run_program("plan-shards", *options, "--shards", str(shards), data, "work")[0]

    def train_all(self, shards: int) -> None:
        for shard in reversed(range(shards)):  # in any order
            self.run_program("train-shard", "work", str(shard), "--threads", "1", "--quiet")

    def test_the_model_has_the_bytes_of_train(self) -> None:
        several = "".join(
            f"{line.split()[0]}{',b3' if k % 3 == 0 else ''} {line.split(maxsplit=1)[1]}\n"
            for k, line in enumerate(self.read("train").decode().splitlines())
        )
        self.write("several", several)
        cases = [
            (["--method", "flat-svm"], "train"),
            (["--method", "flat-lr"], "several"),
            (["--method", "flat-svm", "--normalize", "--loss", "squared-hinge"], "several"),
            (["--method", "flat-svm", "--intercept-penalty", "0"], "several"),
            ([*TOP_DOWN, "--intercept-penalty", "0"], "train"),
            (TOP_DOWN, "train"),
            (TOP_DOWN, "several"),
            (LEVELS, "train"),
            ([*LEVELS, "--intercept-penalty", "0"], "several"),
            ([*LEVELS, "--stack", "centroids"], "train"),
            ([*LEVELS, "--stack", "centroids"], "several"),
            (["--method", "flat-svm", "--kernel-features", "nystroem:20"], "train"),
            (["--method", "flat-svm", "--kernel-features", "fourier:30"], "several"),
        ]
        for options, data in cases:
            with self.subTest(options=options, data=data):
                self.run_program("train", *options, data, "model")
                out = self.plan(*options, data=data)
                self.assertIn("finished\t0\n", out)
                shards = int(out.split()[1])
                self.train_all(shards)
                self.run_program("merge-shards", "work", "merged")
                self.assertEqual(self.read("merged"), self.read("model"))
                for file in Path(self.path("work")).iterdir():
                    file.unlink()

    def test_what_is_no_shard_is_refused_and_no_link_followed(self) -> None:
        self.plan()
        self.write("mine", "my text")
        link = Path(self.path("work")) / "shard-00000.safetensors"
        link.symlink_to(self.path("mine"))
        message = "shard-00000.safetensors: it is a symbolic link"
        self.assert_fails(4, message, "train-shard", "work", "0", "--quiet")
        self.assertEqual(self.read("mine"), b"my text")
        link.unlink()
        link.write_text("notes")
        self.assert_fails(4, "remove it", "train-shard", "work", "0", "--quiet")
        self.assertEqual(link.read_text(), "notes")
        link.unlink()
        self.run_program("train-shard", "work", "0", "--quiet")

    def test_the_names_of_a_vocabulary_are_kept(self) -> None:
        self.write("go.obo", "format-version: 1.2\n[Term]\nid: GO:1\nname: cell part\n"
                             "[Term]\nid: GO:2\nis_a: GO:1\n")  # fmt: skip
        self.write("genes", "GO:2 1:1\nGO:1 2:1\n")
        options = ["--method", "flat-svm", "--hierarchy", "go.obo"]
        self.run_program("train", *options, "genes", "model")
        self.plan(*options, shards=1, data="genes")
        self.train_all(1)
        self.run_program("merge-shards", "work", "merged")
        self.assertEqual(self.read("merged"), self.read("model"))

    def test_a_finished_shard_is_not_trained_again(self) -> None:
        self.plan()
        first = self.run_program("train-shard", "work", "0")[0]
        self.assertIn("state\ttrained\n", first)
        self.assertIn("state\twas finished\n", self.run_program("train-shard", "work", "0")[0])
        self.assertIn("finished\t1\n", self.plan())

    def test_the_folder_is_all_that_is_needed(self) -> None:
        self.run_program("train", "--method", "flat-svm", "train", "model")
        self.plan()
        os.unlink(self.path("train"))
        os.rename(self.path("work"), self.path("moved"))
        for shard in range(3):
            self.run_program("train-shard", "moved", str(shard))
        self.run_program("merge-shards", "moved", "merged")
        self.assertEqual(self.read("merged"), self.read("model"))

    def test_a_task_that_is_killed_leaves_nothing_half_written(self) -> None:
        chance = random.Random(3)
        lines = [
            f"c{k % 64} " + " ".join(f"{j}:{chance.gauss(0, 1):.2f}" for j in range(1, 60))
            for k in range(4000)
        ]
        self.write("large", "\n".join(lines) + "\n")
        options = ("--method", "flat-svm", "--C", "10", "--tolerance", "1e-6")
        self.run_program("train", *options, "large", "model")
        for delay in (0.2, 0.05, 0.02, 0.01):  # shorter where the shard was done before
            shutil.rmtree(self.path("work"), ignore_errors=True)
            self.plan(*options, data="large", shards=2)
            task = subprocess.Popen(
                [MARGROVE, "train-shard", "work", "0", "--quiet"], cwd=self.directory.name
            )
            time.sleep(delay)
            task.send_signal(signal.SIGKILL)
            killed = task.wait() == -signal.SIGKILL
            found = os.listdir(self.path("work"))
            # A process can also be killed between its last write and its end.
            if killed and "shard-00000.safetensors" not in found:
                break
        else:
            self.fail("the shard was too small for the test")
        # Nor does it remove the temporary file that it writes when it is killed.
        self.assertEqual([f for f in found if ".tmp-" not in f], ["data.safetensors"])
        self.assertIn("finished\t0\n", self.plan(*options, data="large", shards=2))
        self.train_all(2)
        self.run_program("merge-shards", "work", "merged")
        self.assertEqual(self.read("merged"), self.read("model"))

    def test_mistakes_have_messages(self) -> None:
        self.assert_fails(
            2,
            "method hsvm with these options cannot be trained in shards: its labels are trained "
            "together. flat-svm, flat-lr and level-svm with multiclass ovr (in a stack centroids "
            "at most), top-down-svm and label-trees can",
            *("plan-shards", "--method", "hsvm", "--hierarchy", "tree", "train", "work"),
        )
        self.assert_fails(
            2,
            "method level-svm with these options cannot be trained in shards",
            *("plan-shards", *LEVELS, "--stack", "nhsvm", "train", "work"),
        )
        self.assert_fails(
            2,
            "method level-svm, the default where a hierarchy is given, but no --method, trains "
            "labels together with these options and rows, which shards cannot: give --multiclass "
            "ovr, and in a --stack centroids at most",
            *("plan-shards", "--hierarchy", "tree", "train", "work"),
        )
        self.assert_fails(
            2,
            "method flat-svm, the default where neither a hierarchy nor --method is given, trains "
            "labels together with these options and rows, which shards cannot: give --multiclass "
            "ovr\n",
            *("plan-shards", "--multiclass", "crammer-singer", "train", "work"),
        )
        self.assert_fails(
            2,
            "option time-limit-seconds is given, but shards are trained to the end",
            *("plan-shards", "--method", "flat-svm", "--time-limit-seconds", "5", "train", "work"),
        )
        self.plan()
        self.write("train", self.read("test").decode())
        self.assert_fails(
            3,
            "work: the folder holds the shards of another training",
            *("plan-shards", "--method", "flat-svm", "--shards", "3", "train", "work"),
        )
        self.assert_fails(3, "3 of 3 shards are not trained: 0, 1, 2", "merge-shards", "work", "m")
        self.assert_fails(2, "shard is 3, but must be below 3", "train-shard", "work", "3")
        self.assert_fails(
            4, "nothing/data.safetensors: cannot be read", "train-shard", "nothing", "0"
        )

    def test_a_folder_that_cannot_be_made_is_named(self) -> None:
        self.write("work", "a file")
        self.assert_fails(
            3,
            "work: the folder cannot be made",
            "plan-shards",
            "--method",
            "flat-svm",
            "train",
            "work",
        )


class Engine(CliTest):
    def test_options_of_ray_need_ray(self) -> None:
        for option in (["--address", "auto"], ["--shards", "3"], ["--work", "folder"]):
            self.assert_fails(
                2,
                f"option {option[0][2:]} is given, but needs --engine ray",
                *("train", "--method", "flat-svm", *option, "train", "model"),
            )

    def test_calibration_is_refused(self) -> None:
        self.assert_fails(
            2,
            "option calibration is given, but engine ray does not offer it",
            *("train", "--method", "flat-svm", "--engine", "ray", "--calibration", "0.2"),
            *("train", "model"),
        )

    def test_json_logs_are_refused(self) -> None:
        self.assert_fails(
            2,
            "option log is json, but engine ray does not offer it",
            *("train", "--method", "flat-svm", "--engine", "ray", "--log", "json"),
            *("train", "model"),
        )

    def assert_ray_is_missing(self, path: str) -> str:
        """A training on Ray, with programs from `path`, is refused and leaves no files; what it
        wrote on stderr."""
        self.write("model", "old\n")
        before = sorted(os.listdir(self.directory.name))
        done = subprocess.run(
            [MARGROVE, "train", "--method", "flat-svm", "--engine", "ray", "train", "model"],
            cwd=self.directory.name,
            env=os.environ | {"PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn(
            "engine ray needs python3 with the packages margrove and ray on the PATH: "
            "pip install 'margrove[ray]'",
            done.stderr,
        )
        self.assertEqual(self.read("model"), b"old\n")
        self.assertEqual(sorted(os.listdir(self.directory.name)), before)
        return done.stderr

    def test_a_missing_package_is_named_before_the_work(self) -> None:
        # A python3 that cannot import it, as Python says it, or that a signal ends.
        for k, end in enumerate(("exit 1", "kill -9 $$")):
            fake = Path(self.path(f"bin{k}")) / "python3"
            fake.parent.mkdir()
            fake.write_text(f"#!/bin/sh\n{end}\n", encoding="utf-8")
            fake.chmod(0o755)
            self.assert_ray_is_missing(f"{fake.parent}:{os.environ['PATH']}")

    def test_a_package_that_python_lacks_gives_no_traceback(self) -> None:
        fake = Path(self.path("bin")) / "python3"
        fake.parent.mkdir()
        # Isolated and without site-packages, Python finds neither package.
        fake.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n', encoding="utf-8")
        fake.chmod(0o755)
        self.assertNotIn(
            "Traceback", self.assert_ray_is_missing(f"{fake.parent}:{os.environ['PATH']}")
        )

    def test_a_missing_python_is_named_before_the_work(self) -> None:
        empty = Path(self.path("bin"))
        empty.mkdir()
        self.assert_ray_is_missing(str(empty))


if __name__ == "__main__":
    unittest.main()
