#!/usr/bin/env python3
"""How small `margrove compress` makes models, and what that costs on test rows.

bench/small_models.py --program build/margrove --train FILE --test FILE [--hierarchy FILE]
    [--holdout FILE] [--metric accuracy] [--options "--text ..."] [--methods "flat-svm --C 3" ...]

For each method: a model is trained, compressed to the smallest share of its weights that loses at
most .002 of the metric on held-out rows (every tenth row of FILE, which is then not trained on,
unless there is a file of them), and both models are measured on the test rows.
"""

import argparse
import json
import pathlib
import shlex
import tempfile

from measured_runs import measured_run

METHODS = ["flat-svm --C 1", "flat-lr --C 30", "hr-svm --C 3", "hr-lr --C 10"]
METHODS += ["nhsvm --alpha maxmin --C 3"]


def split(train: pathlib.Path, work: pathlib.Path) -> tuple[pathlib.Path, pathlib.Path]:
    """Every tenth row is held out."""
    lines = train.read_text(encoding="utf-8").splitlines(keepends=True)
    kept, held_out = work / "train", work / "holdout"
    kept.write_text("".join(x for i, x in enumerate(lines) if i % 10 != 9), encoding="utf-8")
    held_out.write_text("".join(lines[9::10]), encoding="utf-8")
    return kept, held_out


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--program", default="build/margrove")
    for name in ("train", "test"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    parser.add_argument("--hierarchy", type=pathlib.Path)
    parser.add_argument("--holdout", type=pathlib.Path)
    parser.add_argument("--metric", default="accuracy")
    words = "--text --word-ngrams 1 --char-ngrams none"
    parser.add_argument("--options", default=words, help="options of train for all methods")
    parser.add_argument("--methods", nargs="+", default=METHODS)
    given = parser.parse_args()
    program, metric = given.program, given.metric
    options = shlex.split(given.options)
    if given.hierarchy:
        options += ["--hierarchy", str(given.hierarchy)]
    print(f"| method | MB | compressed | {metric} | compressed | predict CPU s | compressed |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        train, held_out = given.train, given.holdout
        if held_out is None:
            train, held_out = split(given.train, work)
        for method in given.methods:
            files = [work / "model", work / "small"]
            training = [program, "train", "--quiet", "--method", *method.split(), *options]
            measured_run([*training, str(train), str(files[0])])
            rows = [str(files[0]), str(held_out), "--metric", metric]
            measured_run([program, "compress", "--quiet", *rows, "--output", str(files[1])])
            sizes, values, seconds = [], [], []
            for file in files:
                test = [str(file), str(given.test), "--quiet"]
                run = measured_run([program, "evaluate", "--json", "--metrics", metric, *test])
                sizes.append(file.stat().st_size / 1e6)
                values.append(json.loads(run.output)[metric])
                run = measured_run([program, "predict", "--threads", "1", "--output",
                                    str(work / "answers"), *test])  # fmt: skip
                seconds.append(run.cpu)
            cells = [f"{x:.1f}" for x in sizes] + [f"{x:.4f}" for x in values]
            print("|", " | ".join([method, *cells, *(f"{x:.2f}" for x in seconds)]), "|")


if __name__ == "__main__":
    main()
