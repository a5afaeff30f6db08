"""Do the defaults of the dependency parser hold on treebanks of one genre?

    python bench/treebank_genres.py --program build/margrove --data DIR

Divides ud-english-ewt by the genre of its sentences into two treebanks, reviews with answers and
weblogs with newsgroups and email, each with the training, development and test part that its
sentences have. Trains `--method structured --model dependency` on each with its defaults and with
other C, losses and relations. Prints CPU seconds of the whole command, passes, and the
attachment scores on both parts; the development part would choose.
"""

import argparse
import tempfile
from pathlib import Path

from structured_runs import metrics, train

GENRES = {
    "reviews, answers": ("reviews", "answers"),
    "weblog, newsgroup, email": ("weblog", "newsgroup", "email"),
}
RUNS = {
    "default (C .1, joint, labelled)": [],
    "C .03": ["--C", "0.03"],
    "C .3": ["--C", "0.3"],
    "loss heads": ["--loss", "heads"],
    "relations separate": ["--relations", "separate"],
}


def select(source: Path, target: Path, genres: tuple[str, ...]) -> None:
    """The sentences whose identifier begins with one of the genres."""
    blocks = source.read_text(encoding="utf-8").strip().split("\n\n")
    starts = tuple(f"# sent_id = {genre}-" for genre in genres)
    kept = [b for b in blocks if any(line.startswith(starts) for line in b.split("\n"))]
    target.write_text("\n\n".join(kept) + "\n\n", encoding="utf-8")


def measure(program: str, options: list[str], files: list[Path], model: Path) -> str:
    run = train(program, ["--model", "dependency", *options], files[0], model)
    cells = [f"{run.cpu:.0f}", run.values()["passes"]]
    for file in files[1:]:
        found = metrics(program, model, file)
        cells += [f"{found[name]:.4f}" for name in ("uas", "las")]
    return " | ".join(cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--data", type=Path, required=True)
    arguments = parser.parse_args()
    print("| genres | options | CPU s | passes | dev UAS | dev LAS | test UAS | test LAS |")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name, genres in GENRES.items():
            files = [folder / f"{part}.conllu" for part in ("train", "dev", "test")]
            for file in files:
                select(arguments.data / "ud-english-ewt" / file.name, file, genres)
            for run, options in RUNS.items():
                line = measure(arguments.program, options, files, folder / "model")
                print(f"| {name} | {run} | {line} |", flush=True)


if __name__ == "__main__":
    main()
