#!/usr/bin/env python3
"""How late a time limit and Ctrl-C end a run, for every method and solver and for hard cases.

    python bench/time_limits.py --program build/margrove [--data DATA] [--limits 1 5] [--only hsvm]

Prints a Markdown table: wall seconds of the process beyond each limit where the model goes to
/dev/null, and the CPU seconds of all its threads in that time, which a busy machine does not
change; the same for the last limit where it goes to a file, which is written, read back and
renamed, and the size of that file; wall seconds from Ctrl-C to the end, and whether a model was
written to /dev/null. Each run would go on for minutes: tolerances are out of reach. DATA has
cellcycle-go, whose rows are repeated; without it that case is left out. Needs Linux.
"""

import argparse
import os
import random
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

OUT_OF_TIME = 5  # exit codes
INTERRUPTED = 130
HARD = ["--tolerance", "1e-14", "--max-passes", "100000000"]


class Case(NamedTuple):
    name: str
    options: list[str]  # of the verb, with the file of rows last
    verb: str = "train"


class Overrun(NamedTuple):
    wall: float  # seconds beyond the limit
    cpu: float
    end: str

    def columns(self) -> list[str]:
        return [f"{self.wall:.2f}", f"{self.cpu:.2f}"]


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


def write_deep(folder: Path, rng: random.Random) -> None:
    """A random DAG and a random tree of 3,000 nodes each, and rows with the later half as labels.

    Each leaf of the DAG has hundreds of ancestors.
    """
    size = 3000
    for name, parents in (("deep_dag", 3), ("deep_tree", 1)):
        with (folder / name).open("w") as file:
            for n in range(1, size):
                file.writelines(f"n{p} n{n}\n" for p in rng.sample(range(n), min(n, parents)))
    for name, rows, labels in (("deep_one", 20000, 1), ("deep_sets", 4000, 5)):
        with (folder / name).open("w") as file:
            for _ in range(rows):
                own = ",".join(f"n{n}" for n in sorted(rng.sample(range(size // 2, size), labels)))
                columns = sorted(rng.sample(range(1, 5001), 30))
                values = " ".join(f"{j}:{rng.gauss(0, 1):.3f}" for j in columns)
                file.write(f"{own} {values}\n")


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
    yield from deep_cases()
    if has_go:
        yield Case("cellcycle-go, repeated", ["--method", "nhsvm", "--hierarchy", "go_dag", *HARD,
                   "go"])  # fmt: skip


def deep_cases() -> Iterator[Case]:
    for graph in ("dag", "tree"):
        for method in ("hsvm", "nhsvm", "shared-svm", "hr-svm", "hr-lr"):
            for data in ("one", "sets"):
                length = (
                    ["--tolerance", "1e-12"] if method == "shared-svm"
                    else ["--tolerance", "1e-12", "--max-passes", "100000"]
                )  # fmt: skip
                yield Case(f"deep {graph}, {method}, {data}", ["--method", method, "--hierarchy",
                           f"deep_{graph}", *length, f"deep_{data}"])  # fmt: skip
    for data in ("one", "sets"):
        yield Case(f"deep dag, auto, {data}", ["--hierarchy", "deep_dag", f"deep_{data}"], "auto")


def cpu_seconds(process: int) -> float | None:
    """CPU seconds of all threads so far; None if the process has ended."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    if fields[0] == "Z":
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def overrun(
    program: str, folder: Path, case: Case, limit: float, model: str = "/dev/null"
) -> Overrun:
    command = [program, case.verb, "--quiet", "--time-limit-seconds", str(limit), *case.options]
    command.append(model)
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        start = time.monotonic()
        running = subprocess.Popen(command, cwd=folder, stdout=out, stderr=err, text=True)
        before: float | None = 0.0
        while before is not None and time.monotonic() < start + limit:
            time.sleep(0.005)
            before = cpu_seconds(running.pid)
        _, status, used = os.wait4(running.pid, 0)
        wall = time.monotonic() - start - limit
        running.returncode = code = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        stop = [line.split("\t")[1].strip() for line in out if line.startswith("stop\t")]
        error = err.read().strip().splitlines()[-1:] or [""]
    total = used.ru_utime + used.ru_stime
    cpu = 0.0 if before is None else total - before  # it may have ended before the limit
    if code == OUT_OF_TIME:
        return Overrun(wall, cpu, "exit 5")  # there are no weights yet
    if not stop:
        stop = ["exit 0" if code == 0 else f"exit {code}: {error[0]}"]
    return Overrun(wall, cpu, stop[0])


def reaction(program: str, folder: Path, case: Case, after: float) -> tuple[float, str]:
    """Wall seconds from Ctrl-C to the end of the process, and what it has written."""
    command = [program, case.verb, "--quiet", *case.options, "/dev/null"]
    running = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    time.sleep(after)
    start = time.monotonic()
    running.send_signal(signal.SIGINT)
    out, err = running.communicate()
    seconds = time.monotonic() - start
    if running.returncode == 0:
        return seconds, "done before"
    if running.returncode != INTERRUPTED:
        return seconds, f"exit {running.returncode}: {err.strip().splitlines()[-1]}"
    return seconds, "a model" if "stop\t" in out else "nothing"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, type=lambda path: str(Path(path).resolve()))
    parser.add_argument("--data", type=Path)
    parser.add_argument("--limits", nargs="+", type=float, default=[1.0, 5.0])
    parser.add_argument("--only", default="", help="regular expression for the names of cases")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rng = random.Random(1)
        for write in (write_tree, write_dag, write_sequences, write_deep):
            write(folder, rng)
        go = given.data / "cellcycle-go" if given.data else None
        if go is not None:
            repeat_rows(folder, go, 16)
        limits = " | ".join(f"beyond {limit:g} s | CPU" for limit in given.limits)
        print(f"| case | {limits} | with its file | CPU | MB | ended by | after Ctrl-C | written |")
        print("|---|" + "---|" * (2 * len(given.limits) + 6))
        for case in cases(go is not None):
            if not re.search(given.only, case.name):
                continue
            results = [overrun(given.program, folder, case, limit) for limit in given.limits]
            seconds, written = reaction(given.program, folder, case, given.limits[0])
            model = folder / "m"
            model.unlink(missing_ok=True)
            results.append(overrun(given.program, folder, case, given.limits[-1], "m"))
            columns = [column for result in results for column in result.columns()]
            columns += [f"{model.stat().st_size / 1e6:.1f}" if model.exists() else "none"]
            columns += [", ".join(dict.fromkeys(result.end for result in results))]
            columns += [f"{seconds:.2f}", written]
            print(f"| {case.name} | " + " | ".join(columns) + " |", flush=True)


if __name__ == "__main__":
    main()
