#!/usr/bin/env python3
"""One-vs-rest and the surrogates of the structured SVM side by side on multi-label sets.

bench/multilabel_tables.py --program build/margrove --data FOLDER --sets yeast scene
                           [--model multilabel-field] [--variants one-vs-rest margin slack]
                           [--C 0.01 0.1 1] [--by instance_f1] [--tune-rows N] [--json FILE]

FOLDER/SET holds train.svm, test.svm and, for --model hierarchy, hierarchy.txt. C is chosen on
held-out training rows as bench/hierarchy_tables.py does, by the metric --by; the best is trained on
all training rows and measured on the test rows. --rows: so many training rows are drawn in all;
--tune-rows: at most so many train while C is chosen. Markdown; CPU seconds are those of the final
training run.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
from typing import Any

from hierarchy_tables import PREPROCESSING, rows_of, split
from measured_runs import measured_run

METRICS = ["jaccard", "instance_f1", "micro_f1", "macro_f1", "hamming_loss"]
SURROGATES = {
    "margin": "margin",
    "beta 1/4": "beta:0.25",
    "beta 1/2": "beta:0.5",
    "beta 3/4": "beta:0.75",
    "slack": "slack",
    "micro-F1": "micro-f1",
}


class Bench:
    def __init__(self, given: argparse.Namespace, folder: pathlib.Path, scratch: pathlib.Path):
        self.given, self.folder, self.scratch = given, folder, scratch

    def margrove(self, *arguments: str) -> str:
        return subprocess.run(
            [self.given.program, *arguments], check=True, capture_output=True, text=True
        ).stdout

    def options(self, variant: str) -> list[str]:
        is_tree = self.given.model == "hierarchy"
        words = ["--hierarchy", str(self.folder / "hierarchy.txt")] if is_tree else []
        words += PREPROCESSING.get(self.folder.name, [])
        if variant == "one-vs-rest":
            return ["--method", "flat-svm", "--loss", "hinge", *words]
        if variant == "one-vs-rest at 0":
            return ["--method", "flat-svm", "--loss", "hinge", "--decision", "zero", *words]
        words += ["--method", "structured", "--model", self.given.model]
        words += ["--max-passes", self.given.max_passes, "--tolerance", self.given.tolerance]
        words += ["--solver", "bcfw"]
        if not is_tree:
            words += ["--inference", self.given.inference, "--pair-scale", self.given.pair_scale]
        return [*words, "--surrogate", SURROGATES[variant]]

    def fit(self, variant: str, C: str, rows: str, test: str) -> dict[str, Any]:
        model = str(self.scratch / "model")
        words = [*self.options(variant), "--C", C, "--threads", "1", "--quiet"]
        run = measured_run([self.given.program, "train", *words, str(self.scratch / rows), model])
        measured: dict[str, Any] = json.loads(
            self.margrove("evaluate", model, str(self.scratch / test), "--json")
        )
        return measured | {"C": C, "seconds": run.cpu, "gap": run.values().get("relative_gap", "")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--sets", nargs="+", required=True)
    parser.add_argument("--model", default="multilabel-field")
    parser.add_argument(
        "--variants", nargs="+", default=["one-vs-rest", "one-vs-rest at 0", *SURROGATES]
    )
    parser.add_argument("--C", nargs="+", default=["0.01", "0.1", "1"])
    parser.add_argument("--by", choices=METRICS[:4], default="micro_f1")
    parser.add_argument("--tune-rows", type=int)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--max-passes", default="50")
    parser.add_argument("--pair-scale", default="1")
    parser.add_argument("--tolerance", default="1e-2")
    parser.add_argument("--inference", default="exact", choices=["exact", "relaxed"])
    parser.add_argument("--json", type=pathlib.Path)
    given = parser.parse_args()
    everything = []
    for name in given.sets:
        train, held_out = split(given.data / name)
        if given.rows:
            train, held_out = train[: given.rows * 4 // 5], held_out[: given.rows // 5]
        print(f"\n`{name}`\n\n| training | C | " + " | ".join(METRICS) + " | gap | CPU s |")
        print("|---" * (len(METRICS) + 4) + "|", flush=True)
        with tempfile.TemporaryDirectory() as directory:
            scratch = pathlib.Path(directory)
            files = {
                "train": train[: given.tune_rows],
                "valid": held_out,
                "all": train + held_out,
                "test": rows_of(given.data / name / "test.svm"),
            }
            for file, lines in files.items():
                (scratch / file).write_text("".join(lines), encoding="utf-8")
            bench = Bench(given, given.data / name, scratch)
            for variant in given.variants:
                grid = []
                for C in given.C:
                    grid.append(bench.fit(variant, C, "train", "valid"))
                    shown = [grid[-1][key] for key in ("C", given.by, "gap", "seconds")]
                    print(name, variant, *shown, file=sys.stderr, flush=True)
                best = max(grid, key=lambda point: point[given.by])
                final = bench.fit(variant, best["C"], "all", "test")
                everything.append({"set": name, "variant": variant, "grid": grid, **final})
                cells = [f"{final[metric]:.4f}" for metric in METRICS]
                ending = f"{final['gap']} | {final['seconds']:.1f}"
                print(f"| {variant} | {best['C']} | {' | '.join(cells)} | {ending} |", flush=True)
    if given.json:
        given.json.write_text(json.dumps(everything, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
