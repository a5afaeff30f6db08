#!/usr/bin/env python3
"""Memory of texts: what the texts, their rows and the training on them take.

    bench/text_memory.py PROGRAM DATA

PROGRAM is the margrove program, DATA the folder of the data sets. For each set, with words and with
the default terms: the bytes of the texts, those of the rows that they become (8 for each number),
and the peak of memory of `margrove train --text`.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

from margrove import TextFeatures
from measured_runs import measured_run
from text_features import Rows, tibkat_rows, written

KINDS: dict[str, dict[str, Any]] = {
    "words": {"word_ngrams": 1, "char_ngrams": "none"},
    "default": {},
}


def options_of(terms: dict[str, Any]) -> list[str]:
    return [
        part
        for name, value in terms.items()
        for part in (f"--{name.replace('_', '-')}", f"{value}")
    ]


def makupalat(data: Path) -> Rows:
    lines = (data / "makupalat" / "train.tsv").read_text(encoding="utf-8").splitlines()
    pairs = (line.rsplit("\t", 1) for line in lines)
    return [(uris.split()[0].strip("<>"), text) for text, uris in pairs if uris.strip()]


def measure(program: str, folder: Path, name: str, rows: Rows) -> None:
    texts = [text for _, text in rows]
    bytes_of_texts = sum(len(text.encode()) for text in texts)
    file = written(rows, folder / "rows")
    for kind, terms in KINDS.items():
        X = TextFeatures(**terms).fit_transform(texts)
        run = measured_run(
            [program, "train", "--quiet", "--threads", "1", "--method", "flat-svm", "--text",
             *options_of(terms), str(file), str(folder / "model")]
        )  # fmt: skip
        print(f"{name}, {kind}: texts {bytes_of_texts / 1e6:.1f} MB, rows {8 * X.nnz / 1e6:.1f} MB "
              f"({8 * X.nnz / bytes_of_texts:.1f} times), training {run.megabytes:.0f} MB",
              flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("data", type=Path)
    given = parser.parse_args()
    program = str(Path(given.program).resolve())
    sets = {
        "tibkat, English titles": tibkat_rows(given.data, "train.jsonl.gz", "en", is_long=False),
        "tibkat, English abstracts": tibkat_rows(given.data, "train.jsonl.gz", "en", is_long=True)[
            :12_000
        ],
        "makupalat": makupalat(given.data),
    }
    for name, rows in sets.items():
        with tempfile.TemporaryDirectory() as scratch:
            measure(program, Path(scratch), name, rows)


if __name__ == "__main__":
    main()
