#!/usr/bin/env python3
"""Which lines and branches of readers and loaders the unit tests and the fuzzers' corpora reach.

usage: tools/reader_coverage.py BUILD [--lines 90] [--branches 80] [--uncovered]

BUILD is a release build with libmargrove_internal.a. The files of FILES alone are compiled again,
by Clang with counters, and linked with the rest of that library and with the tests of TESTS, and
with all fuzz targets, which get each of their seeds once. The report has a line for each file; the
exit code is 1 if a file has less than the least share of lines or of branches.
--uncovered lists the lines that nothing reaches.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.replay_corpora import fuzz_targets, seeds_of  # noqa: E402

# Readers of data and of models, and what all loaders of models use. The library has several files
# in an object: what calls one of these within its object must be here, too, or its calls do not
# count.
FILES = [
    "src/data/*_reader.cpp",
    "src/data/*_parser.cpp",
    "src/data/input_descriptor.cpp",
    "src/data/input_file.cpp",
    "src/data/text_scan.cpp",
    "src/data/record*.cpp",
    "src/data/row_formats.cpp",
    "src/data/row_parts.cpp",
    "src/data/sentence_lines.cpp",
    "src/data/path_ids.cpp",
    "src/data/utf8.cpp",
    "src/data/vector_file.cpp",
    "src/io/*_model.cpp",
    "src/io/model_file.cpp",
    "src/io/safetensors.cpp",
    "src/io/shards.cpp",
    "src/base/tensors.cpp",
    "src/model/tensor_parts.cpp",
    "src/model/weight_compression.cpp",
    "src/outputs/predictor_parts.cpp",
    "src/outputs/*/*_reader.cpp",
    "src/kernel/network_json.cpp",
]
TESTS = [
    "tests/unit/data/*_test.cpp",
    "tests/unit/io/*_test.cpp",
    "tests/unit/kernel/network_json_test.cpp",
    "tests/unit/model/tensor_parts_test.cpp",
    "tests/unit/model/weight_compression_test.cpp",
    "tests/unit/outputs/column_reader_test.cpp",
    "tests/unit/outputs/conllu_reader_test.cpp",
    "tests/unit/outputs/predictor_parts_test.cpp",
]
COUNTED = ["-fprofile-instr-generate", "-fcoverage-mapping"]
LIBRARIES = ["-lfmt", "-lz", "-lzstd", "-lserd-0", "-lexpat", "-lstemmer", "-lpthread"]


def matching(patterns: Iterable[str]) -> list[Path]:
    return sorted({path for pattern in patterns for path in ROOT.glob(pattern)})


def configured(package: str, what: str) -> list[str]:
    done = subprocess.run(["pkg-config", what, package], capture_output=True, text=True, check=True)
    return done.stdout.split()


class Builder:
    """Compiles and links in a folder for scratch."""

    def __init__(self, build: Path, scratch: Path) -> None:
        self.build = build
        self.scratch = scratch
        folders = ["include", "src", "tests/support"]
        self.flags = ["-std=c++20", "-O0", "-g1", "-w",
                      *(f"-I{ROOT / folder}" for folder in folders), f"-I{scratch}",
                      *configured("eigen3", "--cflags"),
                      *configured("serd-0", "--cflags")]  # fmt: skip
        self.launcher = [found] if (found := shutil.which("ccache")) else []

    def compile(self, source: Path, name: str, *flags: str) -> Path:
        out = self.scratch / f"{name}.o"
        subprocess.run(
            [*self.launcher, "clang++-16", *self.flags, *flags, "-c", str(source), "-o", str(out)],
            check=True,
        )
        return out

    def link(self, name: str, objects: Iterable[Path], *libraries: str) -> Path:
        out = self.scratch / name
        archives = [self.build / f"libmargrove_{part}.a" for part in ("serve", "internal")]
        subprocess.run(
            # The counted objects come first: the archives define the same functions again.
            ["clang++-16", "-Wl,-z,muldefs", *COUNTED[:1], *map(str, objects), *map(str, archives),
             *libraries, *LIBRARIES, *configured("cbc", "--libs"), "-o", str(out)],
            check=True,
        )  # fmt: skip
        return out


def build_all(builder: Builder, files: list[Path], targets: list[str]) -> tuple[Path, Path]:
    """The unit tests and the program that replays seeds."""
    inc = "".join(f"MARGROVE_TARGET({name})\n" for name in targets)
    (builder.scratch / "fuzz_targets.inc").write_text(inc, encoding="utf-8")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        sources = [
            pool.submit(builder.compile, path, f"src-{k}", *COUNTED) for k, path in enumerate(files)
        ]
        tests = [
            pool.submit(builder.compile, path, f"test-{k}")
            for k, path in enumerate(matching(TESTS))
        ]
        fuzz = [
            pool.submit(
                builder.compile, ROOT / f"tests/fuzz/fuzz_{name}.cpp", f"fuzz-{name}",
                f"-DLLVMFuzzerTestOneInput=fuzz_{name}",
            )
            for name in targets
        ]  # fmt: skip
        main = pool.submit(builder.compile, ROOT / "tests/support/replay_seeds.cpp", "replay")
        folder = pool.submit(
            builder.compile, ROOT / "tests/support/source_folder.cpp", "folder",
            f'-DMARGROVE_SOURCE_DIR="{ROOT}"',
        )  # fmt: skip
        shared = [each.result() for each in sources]
        unit = builder.link(
            "test_readers", [*shared, *(each.result() for each in tests), folder.result()],
            "-lgtest_main", "-lgmock", "-lgtest", "-lrapidcheck",
        )  # fmt: skip
        replay = builder.link(
            "replay_seeds",
            [*shared, *(each.result() for each in fuzz), main.result(), folder.result()],
        )
    return unit, replay


def run_counted(program: Path, arguments: list[str], profile: Path, cwd: Path) -> None:
    done = subprocess.run(
        [str(program), *arguments], cwd=cwd, env=os.environ | {"LLVM_PROFILE_FILE": str(profile)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        failures = "\n".join(line for line in done.stdout.splitlines() if " OK " not in line)
        raise SystemExit(f"{program.name} {arguments[:1]}: {failures[-4000:]}{done.stderr}")


def share(covered: float, count: float) -> float:
    return 100 * covered / count if count else 100.0


def print_report(found: list[Any], least: dict[str, float]) -> list[str]:
    """Returns what is below the least shares of each file."""
    below = []
    totals = {"lines": [0.0, 0.0], "branches": [0.0, 0.0]}
    print(f"{'file':44} {'lines':>8} {'branches':>9}")
    for each in sorted(found, key=lambda one: str(one["filename"])):
        shares = []
        for what, total in totals.items():
            counted = each["summary"][what]
            total[0] += counted["covered"]
            total[1] += counted["count"]
            shares.append(share(counted["covered"], counted["count"]))
        path = Path(str(each["filename"])).relative_to(ROOT)
        below += [
            f"{path}: {of_file:.1f} % of {what}, but must be at least {most:g}"
            for of_file, (what, most) in zip(shares, least.items(), strict=True) if of_file < most
        ]  # fmt: skip
        print(f"{path!s:44} {shares[0]:7.1f}% {shares[1]:8.1f}%")
    lines, branches = (share(*total) for total in totals.values())
    print(f"{'together':44} {lines:7.1f}% {branches:8.1f}%")
    return below


def main() -> int:
    parser = argparse.ArgumentParser(description="coverage of readers and loaders")
    parser.add_argument("build", type=Path)
    parser.add_argument("--lines", type=float, default=90)
    parser.add_argument("--branches", type=float, default=80)
    parser.add_argument("--uncovered", action="store_true")
    given = parser.parse_args()
    files = matching(FILES)
    targets = fuzz_targets()
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        unit, replay = build_all(Builder(given.build.resolve(), scratch), files, targets)
        run_counted(unit, [], scratch / "unit.profraw", scratch)
        for target in targets:
            seeds = [target, *map(str, seeds_of(target, scratch))]
            run_counted(replay, seeds, scratch / f"{target}.profraw", scratch)
        profile = str(scratch / "all.profdata")
        raw = [str(path) for path in sorted(scratch.glob("*.profraw"))]
        subprocess.run(["llvm-profdata-16", "merge", "-sparse", *raw, "-o", profile], check=True)
        of_files = [f"-instr-profile={profile}", str(unit), "-object", str(replay),
                    "-sources", *map(str, files)]  # fmt: skip
        exported = subprocess.run(
            ["llvm-cov-16", "export", "-summary-only", *of_files], check=True, capture_output=True
        )
        if given.uncovered:
            shown = subprocess.run(["llvm-cov-16", "show", *of_files], check=True,
                                   capture_output=True, text=True).stdout  # fmt: skip
            print("\n".join(line for line in shown.splitlines()
                            if line.startswith("/") or "|      0|" in line))  # fmt: skip
    least = {"lines": given.lines, "branches": given.branches}
    below = print_report(json.loads(exported.stdout)["data"][0]["files"], least)
    for each in below:
        print(f"coverage: {each}")
    return int(bool(below))


if __name__ == "__main__":
    sys.exit(main())
