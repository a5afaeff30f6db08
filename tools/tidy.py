#!/usr/bin/env python3
"""Runs clang-tidy on all sources of src/, as the build compiles them: usually several at once.

    tools/tidy.py BUILD    BUILD: a configured build folder, whose compile_commands.json is read

Headers are checked through the sources (HeaderFilterRegex of .clang-tidy). The exit code is 1 if
there is a finding, or a source that the build does not compile.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TIDY = ROOT / ".venv" / "bin" / "clang-tidy"
SECONDS = 600  # for one unit
NOISE = re.compile(
    r"^(\d+ warnings? (generated|treated)|Suppressed |Use -header-filter|\[[\d/]+\])"
)


def units(build: Path) -> dict[Path, list[Path]]:
    """The units of compilation that have sources of src/, each with these."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        unit = Path(entry["directory"], entry["file"])
        text = unit.read_text() if "Unity" in unit.parts else f'#include "{unit}"'
        sources = [Path(source) for source in re.findall(r'#include "(.*\.cpp)"', text)]
        if any(source.is_relative_to(ROOT / "src") for source in sources):
            found[unit] = sources
    return found


def check(build: Path, unit: Path) -> bool:
    """Whether the unit has no findings; those that it has are printed."""
    run = subprocess.run(
        # That such a unit includes sources is its purpose.
        [TIDY, "-p", build, "--quiet", "--checks=-bugprone-suspicious-include", unit],
        check=False,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=SECONDS,
    )
    lines = [line for line in run.stdout.splitlines() if not NOISE.match(line)]
    if lines:
        print("\n".join(lines), flush=True)
    return run.returncode == 0


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    build = Path(sys.argv[1]).resolve()
    to_check = units(build)
    compiled = {source for sources in to_check.values() for source in sources}
    listed = subprocess.run(
        ["git", "ls-files", "src/*.cpp"], cwd=ROOT, text=True, stdout=subprocess.PIPE, check=True
    )
    missing = [name for name in listed.stdout.split() if ROOT / name not in compiled]
    for name in missing:
        print(f"{name}: {build} does not compile it, so that it is not checked")
    jobs = int(os.environ.get("JOBS", os.cpu_count() or 1))
    with ThreadPoolExecutor(jobs) as pool:
        passed = list(pool.map(lambda unit: check(build, unit), to_check))
    return 0 if all(passed) and not missing else 1


if __name__ == "__main__":
    sys.exit(main())
