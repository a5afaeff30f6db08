#!/usr/bin/env python3
"""Trains every method on small data and compares the models, bit by bit, with those of a record.

usage: tools/same_models.py PROGRAM --record FILE.json [--only REGEX] [--jobs N]
       tools/same_models.py PROGRAM --compare FILE.json [--only REGEX] [--jobs N]

A change that should not change results is checked by a record of the program before it and a
comparison of the program after it. Each case of tools/model_cases.py is trained with 1 and with 2
threads. A record has the digests of all tensors, the metadata, and what predict, evaluate and
explain print. Each command of FAILURES there must fail; its exit code and message are recorded. The
exit code is 1 if anything differs, or if a model depends on the number of threads.

The data are samples of the public sets in the folder that MARGROVE_DATA names, or in shared/data
next to the repository, or else generated data. A record is valid on the machine it was made on,
because others may round differently.
"""

import argparse
import hashlib
import json
import os
import re
import shlex
import struct
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools import sample_data  # noqa: E402
from tools.model_cases import CASES, FAILURES, MODEL, NETWORK, VIEWS, Case  # noqa: E402

THREADS = (1, 2)

Result = dict[str, Any]  # of one run
Record = dict[str, Result]  # by the run's name


# Models as files.


@dataclass(frozen=True)
class ModelFile:
    metadata: dict[str, str]
    tensors: dict[str, str]  # a digest of dtype, shape and bytes by name


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def read_model(data: bytes) -> ModelFile:
    """A safetensors file: 8 bytes with the length of the header, the header, the tensors."""
    if len(data) < 8:
        raise ValueError(f"the file has {len(data)} bytes, but must have at least 8")
    (length,) = struct.unpack_from("<Q", data)
    if length > len(data) - 8:
        raise ValueError(f"the header has {length} bytes, but the file only {len(data)}")
    header = json.loads(data[8 : 8 + length])
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        content = data[8 + length + begin : 8 + length + end]
        if len(content) != end - begin:
            raise ValueError(f"tensor {name} ends after the file")
        kind = f"{entry['dtype']} {entry['shape']} ".encode()
        tensors[name] = digest(kind + content)
    return ModelFile(metadata, tensors)


# Running the program.


class Runner:
    """Runs the program in a folder that holds the data sets."""

    def __init__(self, program: Path, folder: Path) -> None:
        self.program = program
        self.folder = folder

    def run(self, arguments: list[str]) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [str(self.program), *arguments], cwd=self.folder, capture_output=True, check=False
        )

    def output(self, arguments: list[str]) -> Result:
        """The digest of a command's output and a checksum of each line, or its failure."""
        ended = self.run(arguments)
        if ended.returncode != 0:
            return {"exit": ended.returncode, "message": ended.stderr.decode()}
        lines = ended.stdout.splitlines()
        return {
            "sha256": digest(ended.stdout),
            "lines": " ".join(f"{zlib.crc32(line):08x}" for line in lines),
        }

    def model(self, case: Case, threads: int, number: int) -> Result:
        """Trains the case and runs all verbs on the model."""
        model = f"{number}-{threads}.model"
        common = ["--quiet", "--threads", str(threads)]
        options = shlex.split(case.options.replace("{part}", "train"))
        ended = self.run(["train", *options, *common, f"{case.data}/train", model])
        if ended.returncode != 0:
            return {"exit": ended.returncode, "message": ended.stderr.decode()}
        content = (self.folder / model).read_bytes()
        file = read_model(content)
        views = shlex.split(VIEWS.replace("{part}", "test")) if VIEWS in case.options else []
        rows = [model, f"{case.data}/test", *views, *common]
        evaluated = self.run(["evaluate", "--json", *rows])
        result: Result = {
            "file": digest(content),
            "warnings": ended.stderr.decode(),
            "metadata": file.metadata,
            "tensors": file.tensors,
            "evaluate": json.loads(evaluated.stdout or "null") or evaluated.stderr.decode(),
            "predict": self.output(["predict", *rows, *shlex.split(case.predict)]),
            "explain": self.output(["explain", "--row", "1", *rows]),
        }
        (self.folder / model).unlink()
        return result

    def failure(self, command: str) -> Result:
        ended = self.run(shlex.split(command))
        return {"exit": ended.returncode, "message": ended.stderr.decode()}


def run_name(case: Case, threads: int) -> str:
    return f"{case.name} [{threads}]"


def measure(runner: Runner, only: re.Pattern[str], jobs: int) -> Record:
    """All runs whose names match, by name."""
    with ThreadPoolExecutor(jobs) as pool:
        waiting = {
            run_name(case, threads): pool.submit(runner.model, case, threads, number)
            for number, case in enumerate(CASES)
            for threads in THREADS
            if only.search(run_name(case, threads))
        }
        waiting |= {
            command: pool.submit(runner.failure, command)
            for command in FAILURES
            if only.search(command)
        }
        record = {}
        for name, result in waiting.items():
            record[name] = result.result()
            show_progress(len(record), len(waiting))
        return record


def show_progress(done: int, of: int) -> None:
    if sys.stderr.isatty():
        print(f"\r{done}/{of}", end="\n" if done == of else "", file=sys.stderr, flush=True)


def prepare(program: Path, data: Path | None, folder: Path) -> Runner:
    sample_data.make_sets(program, data, folder)
    (folder / "kernel/network").write_text(json.dumps(NETWORK), encoding="utf-8")
    runner = Runner(program, folder)
    options = "--method nhsvm --hierarchy tree/hierarchy --tolerance 0.1 --quiet tree/train"
    runner.run(["train", *options.split(), MODEL])
    return runner


# What differs.


def changed(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Keys that only one has, or whose values differ."""
    return sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))


def relative_difference(old: str | None, new: str | None) -> float:
    """|new - old| / |old|; infinite if only one is a number."""
    if old == new:
        return 0.0
    try:
        before, after = float(old or ""), float(new or "")
    except ValueError:
        return float("inf")
    return abs(after - before) / max(abs(before), 1e-300)


def report_difference(old: dict[str, str], new: dict[str, str]) -> float:
    """The largest one among primal, dual and relative gap."""
    keys = ("fit.primal", "fit.dual", "fit.relative_gap")
    return max(relative_difference(old.get(key), new.get(key)) for key in keys)


def lines_differing(old: str, new: str) -> tuple[int, int]:
    """(number of lines that differ, number of lines) of two lists of checksums."""
    before, after = old.split(), new.split()
    pairs = zip(before, after, strict=False)
    missing = abs(len(before) - len(after))
    return sum(a != b for a, b in pairs) + missing, max(len(before), len(after))


def difference_of_output(name: str, old: Result, new: Result) -> list[str]:
    if old == new:
        return []
    if "message" in old or "message" in new:
        return [f"{name}: {new.get('message', 'works now')!r}, was {old.get('message', 'fine')!r}"]
    differ, lines = lines_differing(old["lines"], new["lines"])
    return [f"{name}: {differ} of {lines} lines differ"]


def differences(old: Result, new: Result) -> list[str]:
    """Sentences about what differs between two results of a run; none if they are identical."""
    if old == new:
        return []
    if "message" in old or "message" in new:
        before, after = (
            f"exit code {r['exit']}, {r['message']!r}" if "message" in r else "a model"
            for r in (old, new)
        )
        return [f"{after}; was {before}"]
    found = []
    if tensors := changed(old["tensors"], new["tensors"]):
        apart = report_difference(old["metadata"], new["metadata"])
        found.append(f"tensors: {', '.join(tensors)}; objective and gap differ by {apart:.2g}")
    if metadata := changed(old["metadata"], new["metadata"]):
        found.append(f"metadata: {', '.join(metadata)}")
    if not found and old["file"] != new["file"]:
        found.append("file: the layout differs, but not the content")
    if old["warnings"] != new["warnings"]:
        found.append(f"warnings: {new['warnings']!r}, was {old['warnings']!r}")
    if old["evaluate"] != new["evaluate"]:
        both = isinstance(old["evaluate"], dict) and isinstance(new["evaluate"], dict)
        keys = changed(old["evaluate"], new["evaluate"]) if both else ["message"]
        found.append(f"evaluate: {', '.join(keys)}")
    for name in ("predict", "explain"):
        found += difference_of_output(name, old[name], new[name])
    return found


def compare(old: Record, new: Record) -> Iterator[tuple[str, list[str]]]:
    """Every run of either record with its differences."""
    for name in [*new, *(name for name in old if name not in new)]:
        if name not in old:
            yield name, ["not in the record"]
        elif name not in new:
            yield name, ["in the record only"]
        else:
            yield name, differences(old[name], new[name])


def threads_matter(record: Record) -> list[tuple[str, list[str]]]:
    """Cases whose models depend on the number of threads, which is a fault."""
    found = []
    for case in CASES:
        results = [record.get(run_name(case, threads)) for threads in THREADS]
        for threads, other in zip(THREADS[1:], results[1:], strict=True):
            if results[0] is not None and other is not None:
                apart = differences(results[0], other)
                found += [(f"{case.name}: 1 and {threads} threads", apart)] if apart else []
    return found


def wrong_ends(record: Record) -> list[str]:
    """Cases that fail, and commands that should fail but do not."""
    models = [run_name(case, threads) for case in CASES for threads in THREADS]
    return [
        f"{name}: {record[name]['message'].strip()}"
        for name in models
        if "message" in record.get(name, {})
    ] + [f"{name}: must fail" for name in FAILURES if record.get(name, {"exit": 1})["exit"] == 0]


# The program.


def write_record(path: Path, source: str, record: Record) -> int:
    wrong = wrong_ends(record)
    path.write_text(json.dumps({"data": source, "runs": record}, indent=1), encoding="utf-8")
    print(f"{len(record)} runs on {source} data in {path}")
    for line in wrong:
        print(f"wrong: {line}")
    return 1 if wrong else 0


def print_comparison(path: Path, source: str, record: Record, only: re.Pattern[str]) -> int:
    recorded = json.loads(path.read_text(encoding="utf-8"))
    if recorded["data"] != source:
        print(f"{path} was recorded on {recorded['data']} data, but these are {source}")
        return 1
    old = {name: result for name, result in recorded["runs"].items() if only.search(name)}
    differing = 0
    for name, found in compare(old, record):
        print(f"{name}: {'; '.join(found) or 'identical'}")
        differing += bool(found)
    print(f"{differing} of {len(old.keys() | record.keys())} runs differ")
    return 1 if differing else 0


def main() -> int:
    parser = argparse.ArgumentParser(description="compares models with recorded ones, bit by bit")
    parser.add_argument("program", type=Path)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--record", type=Path, metavar="FILE", help="write the record")
    what.add_argument("--compare", type=Path, metavar="FILE", help="compare with a record")
    parser.add_argument("--only", type=re.compile, default=re.compile(""), metavar="REGEX")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="runs at once")
    given = parser.parse_args()
    data = sample_data.shared_data(ROOT)
    source = "generated" if data is None else "public"
    with tempfile.TemporaryDirectory() as folder:
        runner = prepare(given.program.resolve(), data, Path(folder))
        record = measure(runner, given.only, given.jobs)
    if given.record:
        code = write_record(given.record, source, record)
    else:
        code = print_comparison(given.compare, source, record, given.only)
    dependent = threads_matter(record)
    for name, found in dependent:
        print(f"{name}: {'; '.join(found)}")
    return 1 if dependent else code


if __name__ == "__main__":
    sys.exit(main())
