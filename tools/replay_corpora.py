#!/usr/bin/env python3
"""Gives every fuzz target its kept seeds once.

usage: tools/replay_corpora.py PROGRAM

PROGRAM is build/tests/replay_seeds. The seeds of a target are the files of tests/fuzz/corpus/TARGET
and of TARGET.tar.zst beside it, what runs of libFuzzer kept (tools/run_fuzzers).
"""

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FUZZ = ROOT / "tests" / "fuzz"


def fuzz_targets() -> list[str]:
    return sorted(path.stem.removeprefix("fuzz_") for path in FUZZ.glob("fuzz_*.cpp"))


def seeds_of(target: str, scratch: Path) -> list[Path]:
    """The seeds; those of the archive are unpacked below `scratch`."""
    folder = scratch / f"seeds-{target}"
    folder.mkdir()
    packed = FUZZ / "corpus" / f"{target}.tar.zst"
    if packed.exists():
        subprocess.run(["tar", "-xf", str(packed), "-C", str(folder)], check=True)
    plain = FUZZ / "corpus" / target
    return [
        path for place in (folder, plain) if place.exists()
        for path in sorted(place.iterdir()) if path.is_file()
    ]  # fmt: skip


def main() -> int:
    if len(sys.argv) != 2:
        print("replay_corpora: usage: replay_corpora.py PROGRAM", file=sys.stderr)
        return 2
    program = Path(sys.argv[1]).resolve()
    failed = False
    with tempfile.TemporaryDirectory() as name:
        for target in fuzz_targets():
            seeds = seeds_of(target, Path(name))
            if not seeds:
                print(f"replay_corpora: {target} has no seeds")
                failed = True
                continue
            done = subprocess.run(
                [str(program), target, *map(str, seeds)],
                cwd=name, capture_output=True, text=True, check=False,
            )  # fmt: skip
            verdict = "ok" if done.returncode == 0 else f"FAILED (exit {done.returncode})"
            print(f"replay_corpora: {target} {verdict}, {len(seeds)} seeds")
            if done.returncode != 0:
                print(done.stderr[-4000:])
                failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
