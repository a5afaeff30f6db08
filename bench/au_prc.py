#!/usr/bin/env python3
"""Pooled AU(PRC) on the sets of C-HMCNN: auto, kernel-ridge, flat-lr and hr-lr, as a table.

    bench/au_prc.py PROGRAM DATA [SET ...] [--methods auto kernel-ridge flat-lr hr-lr]
                    [--seconds 600]

PROGRAM is the margrove program; DATA a folder with a folder for each set (train.svm, valid.svm
where there is one, test.svm, hierarchy.txt, labels.txt). kernel-ridge is trained on the rows of
train.svm and valid.svm together and chooses by left-out scores of these. C of the baselines is
chosen by AU(PRC) on valid.svm, or on the last third of train.svm where there is none, of models of
the other rows; the final model is trained on all of them, as that of C-HMCNN is. auto is one
command on all of these rows, with no option but the metric and a limit of CPU seconds.
"""

import argparse
import resource
import subprocess
import tempfile
from pathlib import Path

# Pooled AU(PRC) of C-HMCNN (Giunchiglia and Lukasiewicz, NeurIPS 2020, table 2).
PUBLISHED = {
    "cellcycle-fun": 0.255,
    "derisi-fun": 0.195,
    "eisen-fun": 0.306,
    "gasch2-fun": 0.258,
    "spo-fun": 0.215,
    "cellcycle-go": 0.413,
    "derisi-go": 0.370,
    "eisen-go": 0.455,
    "gasch2-go": 0.414,
    "spo-go": 0.382,
    "enron-hmc": 0.756,
    "clef": 0.956,
}
IGNORED = {"root", "GO0003674", "GO0005575", "GO0008150"}
STRENGTHS = (0.01, 0.1, 1)


def cpu_seconds(command: list[str]) -> tuple[str, float]:
    """Standard output of a command, and the CPU seconds that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return output, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


class Bench:
    """One set."""

    def __init__(self, program: str, folder: Path, scratch: Path) -> None:
        self.program, self.folder, self.scratch = program, folder, scratch
        train = (folder / "train.svm").read_text().splitlines(keepends=True)
        valid_file = folder / "valid.svm"
        if valid_file.exists():
            valid = valid_file.read_text().splitlines(keepends=True)
        else:
            valid = train[len(train) * 2 // 3 :]
            train = train[: len(train) * 2 // 3]
        self.rows = {"part": train, "valid": valid, "all": train + valid}
        for name, lines in self.rows.items():
            (scratch / f"{name}.svm").write_text("".join(lines))
        names = (line.split("\t") for line in (folder / "labels.txt").read_text().splitlines())
        self.ignored = ",".join(number for number, name in names if name in IGNORED)

    def train(self, rows: str, options: list[str]) -> float:
        """Trains on the named rows; the CPU seconds."""
        hierarchy = ["--hierarchy", str(self.folder / "hierarchy.txt")]
        command = [self.program, "train", *options, *hierarchy, "--quiet"]
        model = str(self.scratch / "model")
        return cpu_seconds([*command, str(self.scratch / f"{rows}.svm"), model])[1]

    def au_prc(self, rows: Path) -> float:
        """Pooled AU(PRC) of the last model."""
        ignored = ["--ignore-nodes", self.ignored]
        command = [self.program, "evaluate", "--metrics", "au_prc", *ignored]
        output, _ = cpu_seconds([*command, str(self.scratch / "model"), str(rows)])
        return next(
            float(line.split()[-1]) for line in output.splitlines() if line.startswith("au_prc")
        )

    def auto(self, limit: float) -> tuple[float, float]:
        """Pooled AU(PRC) of the model of `auto` on the test rows, and CPU seconds."""
        hierarchy = ["--hierarchy", str(self.folder / "hierarchy.txt")]
        limits = ["--time", "cpu", "--time-limit-seconds", str(limit)]
        rows, model = str(self.scratch / "all.svm"), str(self.scratch / "model")
        command = [self.program, "auto", "--metric", "au_prc", *hierarchy, *limits, "--quiet"]
        _, seconds = cpu_seconds([*command, rows, model])
        return self.au_prc(self.folder / "test.svm"), seconds

    def kernel_ridge(self) -> tuple[float, float]:
        """Pooled AU(PRC) on the test rows and CPU seconds."""
        seconds = self.train("all", ["--method", "kernel-ridge", "--scale", "standard"])
        return self.au_prc(self.folder / "test.svm"), seconds

    def linear(self, method: str) -> tuple[float, float]:
        """The same with C chosen on held-out rows."""
        options = ["--method", method, "--scale", "standard", "--C"]
        held_out, seconds = {}, 0.0
        for strength in STRENGTHS:
            seconds += self.train("part", [*options, str(strength)])
            held_out[strength] = self.au_prc(self.scratch / "valid.svm")
        best = max(held_out, key=lambda strength: held_out[strength])
        seconds += self.train("all", [*options, str(best)])
        return self.au_prc(self.folder / "test.svm"), seconds

    def run(self, method: str, limit: float) -> tuple[float, float]:
        if method == "auto":
            return self.auto(limit)
        return self.kernel_ridge() if method == "kernel-ridge" else self.linear(method)


def main() -> None:
    """Prints one row of the table per set."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("data", type=Path)
    parser.add_argument("sets", nargs="*")
    parser.add_argument(
        "--methods", nargs="+", default=["auto", "kernel-ridge", "flat-lr", "hr-lr"]
    )
    parser.add_argument("--seconds", type=float, default=600)
    arguments = parser.parse_args()
    print(f"| set | C-HMCNN | {' | '.join(arguments.methods)} | CPU seconds of each |")
    print("|" + "---|" * (len(arguments.methods) + 3))
    for name in arguments.sets or PUBLISHED:
        with tempfile.TemporaryDirectory() as scratch:
            bench = Bench(arguments.program, arguments.data / name, Path(scratch))
            runs = [bench.run(method, arguments.seconds) for method in arguments.methods]
        scores = " | ".join(f"{score:.3f}" for score, _ in runs)
        seconds = ", ".join(f"{taken:.0f}" for _, taken in runs)
        print(f"| {name} | {PUBLISHED[name]:.3f} | {scores} | {seconds} |", flush=True)


if __name__ == "__main__":
    main()
