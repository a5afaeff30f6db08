"""Sequence models on real data: the tables of docs/results/sequences-and-parsing.md.

    python bench/sequence_tables.py TASK --program bench_structured_tasks --data DIR

TASK: letters (handwritten words: passes to a gap of 1e-3 and test error by solver), wnut17,
wikigold or pos (surrogates by stochastic subgradients). C is chosen on the development file;
`wikigold` has no split, so of its documents each fifth is for testing and the one before it for
choosing C. A row: CPU seconds of one thread for the passes alone, passes, oracle calls per visit,
scores.
"""

import argparse
import re
import subprocess
import tempfile
from pathlib import Path

from structured_runs import files_of

GRID = (0.03, 0.1, 0.3, 1.0, 3.0)


def run(program: str, *arguments: object) -> str:
    command = [program, *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def values(line: str, name: str) -> list[float]:
    return [float(v) for v in re.findall(rf"\b{name} ([\d.]+|nan)", line)]


def letters(program: str, data: Path) -> None:
    path = data / "ocr-letters" / "letters.tsv"
    for fold in (0, -1):
        runs: list[tuple[str, list[object]]] = [("bcfw", ["tolerance=1e-3", "max_passes=2000"])]
        runs += [("sgd", [f"max_passes={n}", "tolerance=1e-9"]) for n in (10, 30, 100, 300)]
        if fold == 0:
            runs.append(("cutting-plane", ["tolerance=1e-3", "max_passes=2000"]))
            runs.append(("one-slack", ["tolerance=1e-3", "max_passes=400"]))
        for solver, options in runs:
            line = run(program, "ocr", path, fold, f"solver={solver}", "C=1", *options)
            passes, calls = values(line, "passes")[0], values(line, "calls_per_visit")[0]
            primal = (values(line, "objective") or values(line, "primal"))[0]
            print(
                f"fold {fold} {solver} passes {passes * calls:.0f} "
                f"cpu_s {values(line, 'cpu_s')[0]} primal {primal} "
                f"dual {values(line, 'dual')[0]} test_error {values(line, 'test_error')[0]}",
                flush=True,
            )


def tags(task: str, program: str, files: list[Path], passes: int, repeats: int) -> None:
    metric = "token_accuracy" if task == "pos" else "span_f1"
    # All tags of words are something, so Micro-F1 would be margin rescaling by length.
    surrogates = ["margin", "prob"] + ([] if task == "pos" else ["micro-f1"])
    best: dict[str, float] = {}

    def line_of(surrogate: str, c: float) -> str:
        options = ["solver=sgd", f"max_passes={passes}", "tolerance=1e-9"]
        options += ["word_clusters=64"] * (task != "pos")  # as by default
        options += [f"surrogate={surrogate}", f"C={c}"]
        return run(program, "tags", files[0], f"{files[1]},{files[2]}", *options)

    for surrogate in surrogates:
        on_dev = {c: values(line_of(surrogate, c), metric)[0] for c in GRID}
        best[surrogate] = max(GRID, key=lambda c: on_dev[c])
        print(f"{task} {surrogate} on dev {on_dev}", flush=True)
    lines = {s: line_of(s, best[s]) for s in surrogates}
    seconds = {s: values(lines[s], "cpu_s")[0] for s in surrogates}
    for _ in range(repeats - 1):
        for s in surrogates:
            seconds[s] = min(seconds[s], values(line_of(s, best[s]), "cpu_s")[0])
    for s in surrogates:
        dev, test = values(lines[s], metric)
        print(
            f"{task} {s} C {best[s]} cpu_s {seconds[s]} ratio {seconds[s] / seconds['margin']:.2f} "
            f"calls {values(lines[s], 'calls_per_visit')[0]} {metric} dev {dev} test {test}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", choices=("letters", "wnut17", "wikigold", "pos"))
    parser.add_argument("--program", required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--passes", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    if args.task == "letters":
        letters(args.program, args.data)
        return
    folder = args.data / {"pos": "ud-english-ewt-pos"}.get(args.task, args.task)
    with tempfile.TemporaryDirectory() as temporary:
        files = files_of(folder.parent, folder.name, Path(temporary))
        tags(args.task, args.program, files, args.passes, args.repeats)


if __name__ == "__main__":
    main()
