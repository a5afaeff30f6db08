#!/usr/bin/env python3
"""Tests `margrove serve` against its OpenAPI description with schemathesis, on loopback.

    tools/fuzz_server.py PROGRAM [--examples 50] [--seed 1]

Serves models of texts, of named columns and of numbers, each in turn as the default, first without
and then with a token, and sends requests that the description allows and some that it does not.
Wrong are answers of status 5xx, statuses, media types and bodies that the description lacks,
requests that are taken though it forbids them, routes that answer without their token, and a server
that ends. That requests are refused though the description allows them is not wrong: what a row may
be depends on the model, and an option may stand in the query or in the body, but not in both.
Needs schemathesis (tools/requirements-fuzz.txt).
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROWS = {
    "texts": "cat\ta pet that purrs\ndog\ta pet that barks\ncat\tit purrs\ndog\tit barks\n" * 3,
    "columns": "title,price,shelf\nred shoe,10,clothes\nblue shoe,12,clothes\n"
    "green lamp,30,light\nwhite lamp,28,light\n",
    "numbers": "a 1:1 2:0.25\na 1:0.9\nb 2:1 3:0.5\nb 2:0.8 3:1\n",
}
OPTIONS = {
    "texts": ["--text", "--calibration", "0.3"],
    "columns": [
        *("--text-column", "title", "--numeric-columns", "price"),
        *("--label-column", "shelf"),
    ],
    "numbers": [],
}
TOKEN = "0123456789abcdef0123456789abcdef"


def train(program: Path, folder: Path) -> None:
    """A model of each kind of rows."""
    for name, rows in ROWS.items():
        data = f"{name}.csv" if name == "columns" else f"{name}.txt"
        (folder / data).write_text(rows, encoding="utf-8")
        command: list[str | Path] = [
            program,
            "train",
            "--method",
            "flat-svm",
            "--quiet",
            *OPTIONS[name],
            data,
            name,
        ]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)


def fuzz(program: Path, folder: Path, default: str, token: str, options: list[str]) -> bool:
    """One server and one run of schemathesis; whether nothing was found."""
    models = sorted(ROWS, key=lambda name: name != default)
    extra: list[str] = []
    if token:
        (folder / "token").write_text(token + "\n", encoding="ascii")
        (folder / "token").chmod(0o600)
        extra = ["--token-file", "token"]
    server = subprocess.Popen(
        [program, "serve", "--port", "0", *extra, *models],
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert server.stderr is not None
    address = re.search(r"serving on (\S+)$", server.stderr.readline().strip())
    if address is None:
        sys.exit(f"fuzz_server: the server did not start: {server.communicate()[1]}")
    header = ["--header", f"Authorization: Bearer {token}"] if token else []
    command: list[str | Path] = [Path(sys.executable).parent / "schemathesis", "run"]
    command += [*options, *header]
    found = subprocess.run(
        [*command, f"{address[1]}/openapi.json"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    server.terminate()
    errors = server.communicate(timeout=300)[1]
    is_right = found.returncode == 0 and server.returncode == 0
    if not is_right:
        print(found.stdout, errors, f"the server ended with code {server.returncode}", sep="\n")
    summary = re.search(r"^ *(\d+ generated.*)$", found.stdout, re.MULTILINE)
    what = f"{default}{', with a token' if token else ''}"
    print(f"fuzz_server: {what}: {summary[1] if summary else ''} {'ok' if is_right else 'FAILED'}")
    return is_right


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=Path)
    parser.add_argument("--examples", type=int, default=50, help="of each operation and phase")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    program = given.program.resolve()
    options = [
        *("--max-examples", str(given.examples), "--seed", str(given.seed)),
        *("--phases", "examples,coverage,fuzzing", "--checks", "all", "--no-color"),
        *("--exclude-checks", "positive_data_acceptance", "--continue-on-failure"),
        *("--generation-database", "none", "--request-timeout", "30"),
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        train(program, folder)
        runs = [("texts", ""), ("columns", ""), ("numbers", TOKEN)]
        results = [fuzz(program, folder, default, token, options) for default, token in runs]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
