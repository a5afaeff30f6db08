"""Which solver, C and number of passes should be the defaults of `--method structured`?

    python bench/structured_defaults.py --program build/margrove --data DIR [--only NAME ...]

Trains on every development problem with each solver and C, and prints CPU seconds, passes and the
score on the development part. No test file is read. Sequences: wikigold (three fifths of the
documents for training, one for development), wnut17, ud-english-ewt-pos, ocr-letters (fold 0 for
training, fold 1 for development). Label sets with pairwise terms: yeast, scene, bibtex-ml (each
fifth of the training rows for development). Dependency trees: ud-english-ewt.
"""

import argparse
import os
import resource
import signal
import subprocess
import tempfile
from pathlib import Path

from structured_runs import metrics, write_split

Problem = tuple[list[str], Path, Path, str]  # options, training file, development file, metric

ALL_PASSES = ["--solver", "sgd", "--tolerance", "1e-9", "--max-passes"]
SOLVERS = {
    "bcfw": ["--solver", "bcfw"],
    "sgd 5": [*ALL_PASSES, "5"],
    "sgd 15": [*ALL_PASSES, "15"],
    "sgd 50": [*ALL_PASSES, "50"],
    "sgd": ["--solver", "sgd"],
    "default": [],  # with the default C, too
}
GRID = (0.03, 0.1, 0.3, 1.0, 3.0)


def letters(source: Path, folder: Path) -> tuple[Path, Path]:
    """Words as sentences, one letter per line with its dark pixels as numeric cells."""
    files = [folder / "letters-train.conll", folder / "letters-dev.conll"]
    texts: list[list[str]] = [[], []]
    before = None
    for line in source.read_text().splitlines()[1:]:
        word, _, letter, fold, pixels = line.split("\t")
        if fold not in "01":
            continue
        out = texts[int(fold)]
        if word != before and out:
            out.append("")
        before = word
        cells = [f"p{k}:{pixel}" for k, pixel in enumerate(pixels)]
        out.append(" ".join(["x", *cells, letter]))
    for file, out in zip(files, texts, strict=True):
        file.write_text("\n".join(out) + "\n\n")
    return files[0], files[1]


def rows(source: Path, folder: Path) -> tuple[Path, Path]:
    """All rows but each fifth, and each fifth: some files are sorted by label."""
    lines = source.read_text().splitlines(keepends=True)
    files = folder / f"{source.parent.name}-train.svm", folder / f"{source.parent.name}-dev.svm"
    files[0].write_text("".join(line for k, line in enumerate(lines) if k % 5 != 4))
    files[1].write_text("".join(lines[4::5]))
    return files


def problems(data: Path, folder: Path) -> dict[str, Problem]:
    chain = ["--model", "chain"]
    wikigold = write_split(data / "wikigold" / "all.conll", folder)
    letter_files = letters(data / "ocr-letters" / "letters.tsv", folder)
    found: dict[str, Problem] = {
        "wikigold": (chain, wikigold[0], wikigold[1], "span_f1"),
        "ocr-letters": (chain, *letter_files, "token_accuracy"),
    }
    for name, metric in (("wnut17", "span_f1"), ("ud-english-ewt-pos", "token_accuracy")):
        found[name] = (chain, data / name / "train.conll", data / name / "dev.conll", metric)
    for name in ("yeast", "scene", "bibtex-ml"):
        files = rows(data / name / "train.svm", folder)
        scale = ["--scale", "none"] if name == "bibtex-ml" else []
        found[name] = (["--model", "multilabel-field", *scale], *files, "micro_f1")
    trees = data / "ud-english-ewt"
    found["ud-english-ewt"] = (
        ["--model", "dependency", "--hash-bits", "22"],
        trees / "train.conllu",
        trees / "dev.conllu",
        "las",
    )
    return found


def measure(program: str, problem: Problem, options: list[str], model: Path, limit: int) -> str:
    kind, train, dev, metric = problem
    command = [program, "train", "--quiet", "--threads", "1", "--method", "structured", *kind]
    command += [*options, str(train), str(model)]
    before = os.times()
    done = subprocess.run(
        command, capture_output=True, check=False, text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit)),
    )  # fmt: skip
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return f"more than {limit} s"
    done.check_returncode()
    after = os.times()
    seconds = after.children_user - before.children_user + after.children_system
    seconds -= before.children_system
    score = metrics(program, model, dev)[metric]
    passes = dict(line.split("\t", 1) for line in done.stdout.splitlines())["passes"]
    return f"{seconds:8.1f} {passes:>4}   {metric} {score:.4f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--solvers", nargs="*", default=list(SOLVERS))
    parser.add_argument("--grid", nargs="*", type=float, default=list(GRID))
    parser.add_argument("--limit", type=int, default=300, help="CPU seconds for one training")
    args = parser.parse_args()
    print("problem solver C: CPU seconds, passes, score on the development part")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name, problem in problems(args.data, folder).items():
            if args.only and name not in args.only:
                continue
            for solver in args.solvers:
                for c in args.grid if solver != "default" else ["-"]:
                    options = [*SOLVERS[solver], *(["--C", str(c)] if c != "-" else [])]
                    line = measure(args.program, problem, options, folder / "model", args.limit)
                    print(f"{name:20} {solver:8} {c:5} {line}", flush=True)


if __name__ == "__main__":
    main()
