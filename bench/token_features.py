"""What pairs of words, clusters of words and the second order of chains are worth.

    python bench/token_features.py --program build/margrove --data DIR [--only NAME ...]

Trains `--method structured` with its defaults and with other features and orders on wikigold (of
its documents three fifths for training, one for development, one for the test), wnut17 and
ud-english-ewt-pos, with seeds 0 to 2. Prints means over the seeds: CPU seconds of the whole
training, span F1 or token accuracy on the development and on the test part, bytes of the model.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
from structured_runs import files_of, metrics, train

NONE = ["--word-pairs=false", "--word-clusters", "0"]
RUNS = {
    "neither": NONE,
    "pairs": ["--word-clusters", "0"],
    "clusters": ["--word-pairs=false", "--word-clusters", "64"],
    "pairs and clusters": ["--word-clusters", "64"],
    "order 2, neither": ["--order", "2", *NONE],
    "order 2, pairs": ["--order", "2", "--word-clusters", "0"],
    "order 2, pairs and clusters": ["--order", "2", "--word-clusters", "64"],
}
SEEDS = range(3)


def measure(program: str, options: list[str], files: list[Path], metric: str) -> list[float]:
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model"
        seconds = train(program, options, files[0], model).cpu
        scores = [metrics(program, model, file)[metric] for file in files[1:]]
        return [seconds, *scores, model.stat().st_size]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=["wikigold", "wnut17", "ud-english-ewt-pos"])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.only:
            files = files_of(arguments.data, name, Path(folder))
            metric = "token_accuracy" if name.endswith("-pos") else "span_f1"
            for run, options in RUNS.items():
                rows = [
                    measure(arguments.program, [*options, "--seed", str(seed)], files, metric)
                    for seed in SEEDS
                ]
                seconds, dev, test, size = np.mean(rows, axis=0)
                spread = np.std([row[2] for row in rows], ddof=1)
                print(f"| {name} | {run} | {seconds:.1f} | {dev:.4f} | {test:.4f} ± {spread:.4f} | "
                      f"{size / 1e6:.1f} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
