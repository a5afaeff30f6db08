"""ProbLoss from the weights of margin rescaling, as the thesis trains it, with several step sizes.

    python bench/prob_after_margin.py --program build/margrove --data DIR [--only NAME ...]

Trains `--method structured` on wnut17 and ud-english-ewt-pos with seeds 0 to 2: by margin
rescaling, by ProbLoss, and by ProbLoss with `--start` and `--learning-rate`, all with defaults
otherwise. Prints mean and standard deviation of span F1 or token accuracy on the development and on
the test part, and p of a permutation test against margin rescaling on the test part: sentences
change sides at random, all seeds of a sentence together.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from structured_runs import files_of, p_of_swaps, share
from tagger_peers import Options, Trained, counts, margrove, tags_of

RATES = ("auto", "0.1", "0.01", "0.001")
SEEDS = range(3)


def trainings(program: str, seed: int, files: list[Path], folder: Path) -> dict[str, Trained]:
    first = folder / "first"
    first.mkdir()

    def made(**options: Any) -> Trained:
        return margrove(program, {"seed": seed} | options, files, folder)

    found = {
        "margin": margrove(program, {"seed": seed}, files, first),
        "prob": made(surrogate="prob"),
    }
    for rate in RATES:
        how: Options = {"surrogate": "prob", "start": first / "model", "learning-rate": rate}
        found[f"prob from margin, rate {rate}"] = made(**how)
    return found


def measure(program: str, data: Path, name: str) -> None:
    runs: dict[str, list[list[np.ndarray]]] = {}
    for seed in SEEDS:
        with tempfile.TemporaryDirectory() as temporary:
            files = files_of(data, name, Path(temporary))
            truth = [tags_of(file) for file in files[1:]]
            found = trainings(program, seed, files, Path(temporary))
        for run, trained in found.items():
            answers = zip(truth, (trained.dev, trained.test), strict=True)
            rows = [counts(t, a, not name.endswith("-pos")) for t, a in answers]
            runs.setdefault(run, []).append(rows)
    together = {run: np.sum([rows[1] for rows in seeds], axis=0) for run, seeds in runs.items()}
    for run, seeds in runs.items():
        cells = [f"{np.mean(s):.4f} ± {np.std(s, ddof=1):.4f}" for s in
                 ([share(rows[part]) for rows in seeds] for part in range(2))]  # fmt: skip
        p = "" if run == "margin" else f"{p_of_swaps(together[run], together['margin']):.2g}"
        print(f"| {name} | {run} | {' | '.join(cells)} | {p} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=["wnut17", "ud-english-ewt-pos"])
    arguments = parser.parse_args()
    for name in arguments.only:
        measure(arguments.program, arguments.data, name)


if __name__ == "__main__":
    main()
