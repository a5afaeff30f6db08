#!/usr/bin/env python3
"""How late a time limit and Ctrl-C end a run, for every method and solver and for hard cases.

    python bench/time_limits.py --program build/margrove [--data DATA] [--limits 1 5] [--only hsvm]

Prints a Markdown table: wall seconds of the process beyond each limit where the model goes to
/dev/null; the same for the last limit where it goes to a file, which is written, read back and
renamed, and the size of that file; and wall seconds from Ctrl-C to the end. Each run would go on
for minutes: tolerances are out of reach. DATA has cellcycle-go, whose rows are repeated; without it
that case is left out.
"""

import argparse
import random
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

OUT_OF_TIME = 5  # exit code
HARD = ["--tolerance", "1e-14", "--max-passes", "100000000"]


class Case(NamedTuple):
    name: str
    options: list[str]  # of train, with the file of rows last


def write_tree(folder: Path, rng: random.Random) -> None:
    """6,000 noisy rows of 120 features in a tree of 40 leaves, one label and several."""
    leaves = [f"l{k}" for k in range(40)]
    edges = [f"root g{k}\n" for k in range(8)] + [f"g{k % 8} l{k}\n" for k in range(40)]
    (folder / "tree").write_text("".join(edges))
    (folder / "graph").write_text("".join(f"l{k} l{(k + 1) % 40}\n" for k in range(40)))
    few = folder / "few"  # Gram matrices of all rows take longer than short limits
    with (folder / "one").open("w") as one, (folder / "sets").open("w") as sets:
        for _ in range(6000):
            k = rng.randrange(40)
            features = sorted(rng.sample(range(1, 121), 30))
            values = " ".join(
                f"{j}:{rng.gauss(1.0 if j % 40 == k else 0.0, 1):.3f}" for j in features
            )
            one.write(f"{leaves[k]} {values}\n")
            sets.write(f"{leaves[k]},{leaves[(k * 7 + 3) % 40]} {values}\n")
    few.write_text("".join((folder / "one").read_text().splitlines(keepends=True)[:1500]))


def write_dag(folder: Path, rng: random.Random) -> None:
    """Four rows with twelve labels each on a dense graph of 403 nodes."""
    with (folder / "dag").open("w") as file:
        for n in range(1, 403):
            for p in rng.sample(range(n), min(n, 6)):
                file.write(f"n{p} n{n}\n")
    with (folder / "four").open("w") as file:
        for _ in range(4):
            labels = ",".join(f"n{n}" for n in sorted(rng.sample(range(200, 403), 12)))
            values = " ".join(f"{j}:{rng.random():.3f}" for j in range(1, 30))
            file.write(f"{labels} {values}\n")


def write_sequences(folder: Path, rng: random.Random) -> None:
    def sentence(length: int, num_tags: int) -> str:
        words = (rng.randrange(5000) for _ in range(length))
        return "".join(f"w{w} T{(w * 7 + rng.randrange(3)) % num_tags}\n" for w in words) + "\n"

    (folder / "tags").write_text("".join(sentence(20, 60) for _ in range(2000)))
    (folder / "many_tags").write_text("".join(sentence(30, 3000) for _ in range(400)))

    def tree(length: int) -> str:
        return "".join(
            f"{i}\tw{rng.randrange(97)}\t_\tN{rng.randrange(11)}\t_\t_\t{i - 1}\tdep\t_\t_\n"
            for i in range(1, length + 1)
        )

    (folder / "trees.conllu").write_text("".join(tree(25) + "\n" for _ in range(1500)))
    (folder / "long.conllu").write_text(tree(2000) + "\n")


def repeat_rows(folder: Path, data: Path, times: int) -> None:
    rows = "".join((data / part).read_text() for part in ("train.svm", "valid.svm"))
    (folder / "go").write_text(rows * times)
    (folder / "go_dag").write_text((data / "hierarchy.txt").read_text())


def cases(has_go: bool) -> Iterator[Case]:
    for method in ("flat-svm", "flat-lr"):
        yield Case(method, ["--method", method, "--C", "1e4", *HARD, "one"])
    yield Case("flat-svm, Crammer-Singer", ["--method", "flat-svm", "--multiclass",
               "crammer-singer", "--C", "1e4", *HARD, "one"])  # fmt: skip
    tree = ["--hierarchy", "tree"]
    for method in ("hsvm", "nhsvm"):
        for data in ("one", "sets"):
            for solver in ("bcfw", "sgd", "cutting-plane", "one-slack"):
                length = (
                    ["--epochs", "1000000"] if solver == "sgd"
                    else ["--tolerance", "1e-14", "--max-passes", "1000000"]
                )  # fmt: skip
                yield Case(f"{method}, {solver}, {data}", ["--method", method, *tree, "--solver",
                           solver, "--C", "1e4", *length, data])  # fmt: skip
    yield Case("shared-svm", ["--method", "shared-svm", *tree, "--C", "1e4", *HARD, "one"])
    for method in ("hr-svm", "hr-lr"):
        yield Case(method, ["--method", method, *tree, "--C", "1e4", "--tolerance", "1e-14", "one"])
        yield Case(f"{method}, label graph", ["--method", method, "--label-graph", "graph",
                   "--C", "1e4", "--tolerance", "1e-14", "one"])  # fmt: skip
    yield Case("top-down-svm", ["--method", "top-down-svm", *tree, "--C", "1e4", *HARD, "one"])
    for method in ("spn-mkl", "lp-mkl", "simple-mkl", "average-mkl"):
        options = ["--method", method, "--C", "1e3", "--tolerance", "1e-12"]
        yield Case(method, [*options, "one"])
        yield Case(f"{method}, 1,500 rows", [*options, "--max-rounds", "1000000", "few"])
    for model, data in (("chain", "tags"), ("dependency", "trees.conllu"),
                        ("multilabel-field", "sets")):  # fmt: skip
        for solver in ("bcfw", "sgd", "cutting-plane", "one-slack"):
            length = ["--max-passes", "1000000"]
            if solver != "sgd":
                length += ["--tolerance", "1e-14"]
            yield Case(f"structured {model}, {solver}", ["--method", "structured", "--model", model,
                       "--solver", solver, *length, data])  # fmt: skip
    yield Case("four rows, 403-node DAG", ["--method", "nhsvm", "--hierarchy", "dag", *HARD,
               "four"])  # fmt: skip
    yield Case("chain, 3,000 tags", ["--method", "structured", "--model", "chain", *HARD,
               "many_tags"])  # fmt: skip
    yield Case("parser, 2,000 words", ["--method", "structured", "--model", "dependency",
               "--hash-bits", "12", *HARD, "long.conllu"])  # fmt: skip
    if has_go:
        yield Case("cellcycle-go, repeated", ["--method", "nhsvm", "--hierarchy", "go_dag", *HARD,
                   "go"])  # fmt: skip


def overrun(
    program: str, folder: Path, case: Case, limit: float, model: str = "/dev/null"
) -> tuple[float, str]:
    """Wall seconds beyond the limit, and how it ended."""
    command = [program, "train", "--quiet", "--time-limit-seconds", str(limit), *case.options]
    command.append(model)
    start = time.monotonic()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    seconds = time.monotonic() - start - limit
    stop = [line.split("\t")[1] for line in done.stdout.splitlines() if line.startswith("stop\t")]
    if done.returncode == OUT_OF_TIME:
        return seconds, "exit 5"  # there are no weights yet
    error = done.stderr.strip().splitlines()[-1:] or [""]
    return seconds, stop[0] if stop else f"exit {done.returncode}: {error[0]}"


def reaction(program: str, folder: Path, case: Case, after: float) -> tuple[float, int]:
    """Wall seconds from Ctrl-C to the end of the process, and its exit code."""
    command = [program, "train", "--quiet", *case.options, "m"]
    running = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    time.sleep(after)
    start = time.monotonic()
    running.send_signal(signal.SIGINT)
    running.communicate()
    return time.monotonic() - start, running.returncode


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, type=lambda path: str(Path(path).resolve()))
    parser.add_argument("--data", type=Path)
    parser.add_argument("--limits", nargs="+", type=float, default=[1.0, 5.0])
    parser.add_argument("--only", default="", help="cases whose names have this in them")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rng = random.Random(1)
        for write in (write_tree, write_dag, write_sequences):
            write(folder, rng)
        go = given.data / "cellcycle-go" if given.data else None
        if go is not None:
            repeat_rows(folder, go, 16)
        limits = " | ".join(f"beyond {limit:g} s" for limit in given.limits)
        print(f"| case | {limits} | with its file | MB | ended by | after Ctrl-C |")
        print("|---|" + "---|" * (len(given.limits) + 4))
        for case in cases(go is not None):
            if given.only not in case.name:
                continue
            results = [overrun(given.program, folder, case, limit) for limit in given.limits]
            seconds, code = reaction(given.program, folder, case, given.limits[0])
            model = folder / "m"
            model.unlink(missing_ok=True)
            results.append(overrun(given.program, folder, case, given.limits[-1], "m"))
            columns = [f"{late:.2f}" for late, _ in results]
            columns += [f"{model.stat().st_size / 1e6:.1f}" if model.exists() else "none"]
            columns += [", ".join(dict.fromkeys(stop for _, stop in results))]
            columns += [f"{seconds:.2f}" if code == 130 else f"done before ({code})"]
            print(f"| {case.name} | " + " | ".join(columns) + " |", flush=True)


if __name__ == "__main__":
    main()
