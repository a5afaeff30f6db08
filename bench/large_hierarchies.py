#!/usr/bin/env python3
"""Hierarchical methods on generated data of the sizes of LSHTC 2010, DMOZ 2012 and SWIKI 2011.

    bench/large_hierarchies.py PROGRAM --json FILE [--shapes REGEX] [--methods REGEX]
                               [--seconds N] [--memory-limit GB]

PROGRAM is the margrove program. For each shape and method: the estimate of memory, the largest
resident memory, CPU seconds, how training ended, and the accuracy on 20,000 other rows, or micro-F1
where rows have several labels. Each run is added to FILE, and runs that are there are not repeated.
One thread. --seconds ends a training, whose model is then made of what it has (default: 14,400). A
dash stands where the estimate is above the limit. As a Markdown table.
"""

import argparse
import json
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from memory_estimates import run

SHAPES = {
    "LSHTC 2010": "--num-rows 128710 --num-labels 12294 --num-features 381581 --branching 3.5",
    "DMOZ 2012": "--num-rows 383408 --num-labels 11947 --num-features 348548 --branching 8",
    "SWIKI 2011": "--num-rows 456886 --num-labels 36504 --num-features 346299 --branching 3.64 "
    "--mean-parents 1.3 --mean-labels 1.9",
}
TEST_ROWS = 20_000
METHODS = {
    name: ["--method", name]
    for name in ("flat-svm", "top-down-svm", "label-trees", "level-svm", "hr-svm", "nhsvm", "hsvm",
                 "flat-lr", "hr-lr", "shared-svm")
}  # fmt: skip
METHODS["nhsvm, sgd"] = ["--method", "nhsvm", "--solver", "sgd"]


def generate(program: str, options: list[str], folder: Path) -> None:
    """Files train, test and hierarchy, unless they are there."""
    if (folder / "test").exists():
        return
    num_rows = options[options.index("--num-rows") + 1]
    test = [str(TEST_ROWS) if each == num_rows else each for each in options]
    for name, own in (("train", options), ("test", [*test, "--first-row", num_rows])):
        command = [program, "generate", "zipf", *own, "--hierarchy", str(folder / "hierarchy")]
        subprocess.run([*command, str(folder / name)], check=True, stdout=subprocess.DEVNULL)


def measure(program: str, options: list[str], folder: Path, limits: list[str]) -> dict[str, Any]:
    model = folder / "model"
    command = [program, "train", "--tfidf", *options, *limits, "--threads", "1", "--log", "json"]
    rows = ["--hierarchy", str(folder / "hierarchy"), str(folder / "train"), str(model)]
    model.unlink(missing_ok=True)
    done = run([*command, *rows])
    result = {"estimate": done.estimate(), "peak": done.peak, "cpu": done.cpu, "code": done.code}
    if done.code != 0:
        return result | {"error": done.err.splitlines()[-1]}
    told = subprocess.run([program, "evaluate", "--json", str(model), str(folder / "test")],
                          capture_output=True, text=True, check=True).stdout  # fmt: skip
    report = subprocess.run([program, "info", str(model)], capture_output=True, text=True,
                            check=True).stdout  # fmt: skip
    stop = re.search(r"^stop +(\S+)", report, re.MULTILINE)
    metrics = json.loads(told)
    name = "micro_f1" if "--mean-labels" in SHAPES[folder.name] else "accuracy"
    return result | {
        "score": metrics[name],
        "bytes": model.stat().st_size,
        "stop": stop.group(1) if stop else "",
    }


def gigabytes(count: float | None) -> str:
    return "–" if count is None else f"{count / 1e9:.1f}"


def print_table(results: dict[str, Any], shapes: list[str]) -> None:
    print("| shape | method | estimate, GB | peak, GB | CPU s | stop | model, GB | score |")
    print("|---" * 8 + "|")
    for shape in shapes:
        for name in METHODS:
            found = results.get(f"{shape}/{name}")
            if found is None:
                continue
            cells = [shape, f"`{name}`", gigabytes(found["estimate"])]
            if "score" in found:
                cells += [gigabytes(found["peak"]), f"{found['cpu']:.0f}", found["stop"]]
                cells += [gigabytes(found["bytes"]), f"{found['score']:.4f}"]
            else:
                cells += ["–"] * 5
            print("| " + " | ".join(cells) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--json", required=True, help="file of the runs")
    parser.add_argument("--shapes", default="", help="regular expression of their names")
    parser.add_argument("--methods", default="", help="regular expression of their names")
    parser.add_argument("--seconds", type=float, default=14_400, help="of a training")
    parser.add_argument("--memory-limit", type=float, default=16, help="of a training, in GB")
    given = parser.parse_args()
    program = str(Path(given.program).resolve())
    path = Path(given.json)
    results = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    limits = ["--time-limit-seconds", str(given.seconds), "--memory-limit", str(given.memory_limit)]
    shapes = [name for name in SHAPES if re.search(given.shapes, name)]
    with tempfile.TemporaryDirectory() as scratch:
        for shape in shapes:
            folder = Path(scratch) / shape
            folder.mkdir()
            for name, options in METHODS.items():
                if not re.search(given.methods, name) or f"{shape}/{name}" in results:
                    continue
                generate(program, SHAPES[shape].split(), folder)
                results[f"{shape}/{name}"] = measure(program, options, folder, limits)
                path.write_text(json.dumps(results, indent=1), encoding="utf-8")
    print_table(results, shapes)


if __name__ == "__main__":
    main()
