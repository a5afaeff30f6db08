#!/usr/bin/env python3
"""The time and memory of loading a large model, of compressing it, and of loading the result.

usage: bench/model_loading.py PROGRAM [--labels 1500] [--features 50000]

Trains flat-lr on random rows, so that its weights are labels x features float32 numbers, mostly
zero after two passes, compresses the model, and predicts twenty rows. Prints, for the model and for
its compression, the bytes of the file, the CPU seconds and the peak resident memory of `margrove
predict`, then those of `margrove compress`. The memory also holds the program itself. Needs Linux.
"""

import argparse
import os
import random
import subprocess
import tempfile
from pathlib import Path


def measured(*command: str | Path, folder: Path) -> tuple[float, float]:
    """CPU seconds and peak resident MB of a process."""
    running = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(running.pid, 0)
    if status != 0:
        raise SystemExit(f"{command[1]} failed")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=Path)
    parser.add_argument("--labels", type=int, default=1500)
    parser.add_argument("--features", type=int, default=50000)
    given = parser.parse_args()
    program = given.program.resolve()
    draw = random.Random(1)
    lines = []
    for i in range(2 * given.labels):
        columns = sorted(draw.sample(range(1, given.features + 1), 20))
        lines.append(f"l{i % given.labels} " + " ".join(f"{j}:1" for j in columns) + "\n")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "rows").write_text("".join(lines), encoding="utf-8")
        (folder / "few").write_text("".join(lines[:20]), encoding="utf-8")
        train = ["--method", "flat-lr", "--C", "10", "--max-passes", "2", "--scale", "none"]
        trained = [program, "train", *train, "--quiet", "rows", "whole"]
        subprocess.run(trained, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        compress = (program, "compress", "--quiet", "--output", "compressed", "whole")
        compressions = {
            arguments: measured(*compress, *arguments.split(), folder=folder)
            for arguments in ("few", "--keep 0.1", "--keep 1")
        }
        print("model       file MB  CPU s  peak MB")
        for model in ("whole", "compressed"):
            predict = ("predict", "--quiet", "--threads", "1", model, "few")
            seconds, peak = measured(program, *predict, folder=folder)
            size = (folder / model).stat().st_size / 1e6
            print(f"{model:10} {size:8.1f} {seconds:6.2f} {peak:8.1f}")
        for arguments, (seconds, peak) in compressions.items():
            print(f"compress {arguments:10} {seconds:6.2f} {peak:8.1f}")


if __name__ == "__main__":
    main()
