#!/usr/bin/env python3
"""The losses of examples/python/parser, several seeds each, with paired tests, as a table.

    bench/deep_parser.py DATA --json FILE [--runs likelihood margin slack prob] [--seeds 0 1 2 3 4]
    bench/deep_parser.py DATA --json FILE [FILE ...] --table [--runs ...] [--against margin]

DATA has train.conllu, dev.conllu and test.conllu. A run is a loss, with options of its own behind
commas, such as prob,rate=0.001,margin_epochs=6; the other options are those of all runs. The
epoch with the best LAS on the development file is tested. Runs that a FILE has are not made again;
the first one is written after each run, so that it may be filled in parts. Contextual vectors are
computed once, into a file beside it. On one thread, in CPU seconds. Needs PyTorch and conllu, for
vectors transformers, too.

The table has means over the seeds with standard deviations. p is that of a permutation test of LAS
against the run --against: sentences of the test file change sides at random, all seeds of a
sentence together.
"""

import argparse
import importlib
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from structured_runs import p_of_swaps

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples" / "python" / "parser"))
example: Any = importlib.import_module("parser")

RUNS = ("likelihood", "margin", "slack", "prob")
Record = dict[str, Any]


class Vectors:
    """A transformer whose vectors of some sentences are known."""

    def __init__(self, name: str, sentences: list[Any], file: Path) -> None:
        if not file.exists():
            found = example.Transformer(name, example.DEVICE).vectors(sentences)
            np.savez(file, rows=torch.cat(found).numpy())
        rows = torch.from_numpy(np.load(file)["rows"])
        self.width = rows.shape[1]
        of_sentences = rows.split([len(s) for s in sentences])
        self._known = dict(zip(map(id, sentences), of_sentences, strict=True))

    def vectors(self, sentences: list[Any]) -> list[Any]:
        return [self._known[id(s)] for s in sentences]


class Bench:
    def __init__(self, data: Path, vectors: str, file: Path) -> None:
        read = importlib.import_module("sentences").read
        self.dev, self.test = read(data / "dev.conllu"), read(data / "test.conllu")
        self.train = [s for s in read(data / "train.conllu") if s.is_projective()]
        together = self.train + self.dev + self.test
        self.vectors = None if vectors == "none" else Vectors(vectors, together, file)

    def run(self, options: Record) -> Record:
        parser = example.Parser(options, example.vocabulary(self.train), self.vectors)
        start, best, weights, epochs = time.process_time(), -1.0, {}, []
        for loss, uas, las in parser.fit(self.train, self.dev):
            epochs.append((loss, uas, las))
            if las > best:
                best = las
                weights = {k: v.clone() for k, v in parser.network.state_dict().items()}
        seconds = time.process_time() - start
        parser.network.load_state_dict(weights)
        parsed = parser.parse(self.test)
        counts = [example.right(p, g) for p, g in zip(parsed, self.test, strict=True)]
        return {"epochs": epochs, "seconds": seconds, "right": counts}


def summary(records: list[Record], words: list[int]) -> Record:
    """Of the seeds of a run: the scores of each, and the true words of each sentence, which has so
    many."""
    found: Record = {}
    for k, name in enumerate(("uas", "las")):
        found[name] = np.array([[pair[k] for pair in r["right"]] for r in records], dtype=float)
        found[f"dev {name}"] = np.array(
            [max(r["epochs"], key=lambda e: e[2])[1 + k] for r in records]
        )
    right = found["las"].sum(axis=0)  # a value for each sentence
    found["counts"] = np.stack([right, len(records) * np.array(words, dtype=float)], axis=1)
    found["seconds"] = np.mean([r["seconds"] for r in records])
    return found


def print_table(runs: dict[str, list[Record]], against: str, words: list[int]) -> None:
    heads = ("run", "seeds", "CPU s", "dev UAS", "dev LAS", "test UAS", "test LAS", "p of LAS")
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    found = {name: summary(records, words) for name, records in runs.items()}
    for name, of_run in found.items():
        scores = [of_run["dev uas"], of_run["dev las"]]
        scores += [of_run[key].sum(axis=1) / sum(words) for key in ("uas", "las")]
        cells = [f"{np.mean(s):.4f} ± {np.std(s, ddof=len(s) > 1):.4f}" for s in scores]
        seeds = len(runs[name])
        with_other = name != against and len(runs.get(against, ())) == seeds
        p = f"{p_of_swaps(of_run['counts'], found[against]['counts']):.2g}" if with_other else "–"
        print(f"| {name} | {seeds} | {of_run['seconds']:.0f} | {' | '.join(cells)} | {p} |")


def options_of(run: str, shared: Record) -> Record:
    loss, *own = run.split(",")
    options = shared | {"loss": loss}
    for pair in own:
        name, value = pair.split("=")
        options[name] = type(options[name])(value)
    return options


def key_of(options: Record) -> str:
    return json.dumps(options, sort_keys=True)


def make(wanted: list[Record], records: dict[str, Record], arguments: argparse.Namespace) -> None:
    """Runs what the records lack."""
    torch.set_num_threads(1)
    file: Path = arguments.json[0]
    bench = Bench(arguments.data, arguments.vectors, file.with_suffix(".vectors.npz"))
    own = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    for options in wanted:
        key = key_of(options)
        if key not in records:
            own[key] = records[key] = bench.run(options)
            file.write_text(json.dumps(own), encoding="utf-8")
            print(key, records[key]["epochs"][-1], flush=True)


def main() -> None:
    top = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    top.add_argument("data", type=Path)
    top.add_argument("--json", type=Path, nargs="+", required=True)
    top.add_argument("--runs", nargs="+", default=RUNS)
    top.add_argument("--seeds", nargs="+", type=int, default=list(range(5)))
    top.add_argument("--table", action="store_true")
    top.add_argument("--against", default="margin")
    for name, (default, words) in example.OPTIONS.items():
        if name not in ("loss", "seed"):
            option = f"--{name.replace('_', '-')}"
            top.add_argument(option, type=type(default), default=default, help=words)
    arguments = top.parse_args()
    shared = {name: getattr(arguments, name, default)
              for name, (default, _) in example.OPTIONS.items()}  # fmt: skip
    records: dict[str, Record] = {}
    for file in filter(Path.exists, arguments.json):
        records |= json.loads(file.read_text(encoding="utf-8"))
    wanted = {run: [options_of(run, shared) | {"seed": seed} for seed in arguments.seeds]
              for run in arguments.runs}  # fmt: skip
    if not arguments.table:
        make([each for options in wanted.values() for each in options], records, arguments)
    found = {run: [records[key] for key in map(key_of, options) if key in records]
             for run, options in wanted.items()}  # fmt: skip
    gold = importlib.import_module("sentences").read(arguments.data / "test.conllu")
    made = {run: of_run for run, of_run in found.items() if of_run}
    print_table(made, arguments.against, list(map(len, gold)))


if __name__ == "__main__":
    main()
