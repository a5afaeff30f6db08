#!/usr/bin/env python3
"""Margrove beside omikuji, PECOS, napkinXC, HiClass and scikit-learn on the same rows and features.

    PYTHONPATH=build/python bench/library_peers.py DATA [SET ...] [--systems ...] [--budget 60]
        [--last 600] [--program build/margrove] [--json FILE] [--page PAGE]
        [--python SYSTEM=INTERPRETER ...]

DATA is the folder of the data sets. Without SET: makupalat, wordnet-nouns, lshtc-small-rdf and
lshtc-small-valtrain; there are makupalat-words (words alone) and yso-finna-en (large), too.
Margrove's TextFeatures makes the terms of texts once, and term counts become tf-idf; all systems
get these arrays. Rows without a label are left out. Terms and weights are fitted on all training
rows, without their labels.

Every system tries settings on a held-out fifth of the training rows: its default first, then in a
fixed order changes of the best before them, until it has spent `--budget` CPU seconds in training
and predicting; the run that exceeds what is left is ended. The settings with the best nDCG@5 are
trained on all training rows, within `--last` CPU seconds, and measured on the test rows, which
tuning never sees. A system whose default does not end within the budget is trained with its
default. Each run is a process with one thread (peer_systems.py); a system that needs other versions
of packages gets its own interpreter.

Results are kept in FILE: a repeated command goes on. It prints the tables, or writes them into PAGE
below its line MADE.
"""

import argparse
import gzip
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from peer_systems import ENDED, SYSTEMS, Settings, System
from ranking_metrics import figures, inverse_propensities

SETS = ["makupalat", "wordnet-nouns", "lshtc-small-rdf", "lshtc-small-valtrain"]
NAMED_SETS = ["makupalat-words", "yso-finna-en"]
METRICS = ["P@1", "P@5", "nDCG@5", "nDCG@10", "PSP@1", "PSP@5"]
CHOSEN_BY = "nDCG@5"
MADE = "<!-- The rest is made by bench/library_peers.py -->\n"
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

Labels = list[list[str]]  # of each row


# Data


def yso_rows(path: Path) -> Iterator[tuple[list[str], str]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            labels, _, text = line.rstrip("\n").partition("\t")
            yield labels.split(","), text


def texts_of(name: str, data: Path) -> tuple[Any, Any, Labels, Labels]:
    """Terms and labels of a set of texts."""
    from margrove import TextFeatures

    if name == "yso-finna-en":
        train, test = (list(yso_rows(data / name / f"{part}.tsv.gz")) for part in ("train", "test"))
        features = TextFeatures(word_ngrams="1", char_ngrams="none", min_document_frequency=3)
    else:
        from text_peers import makupalat

        train, test = (
            [([label.strip("<>") for label in labels], text) for labels, text in part]
            for part in makupalat(data)
        )
        only_words: dict[str, Any] = {"word_ngrams": "1", "char_ngrams": "none"}
        features = TextFeatures(**(only_words if name.endswith("-words") else {}))
    X = features.fit_transform([text for _, text in train])
    X_test = features.transform([text for _, text in test])
    return X, X_test, [labels for labels, _ in train], [labels for labels, _ in test]


def arrays_of(name: str, data: Path) -> tuple[Any, Any, Labels, Labels]:
    """Columns and labels of a set in svmlight's format."""
    from sklearn.datasets import load_svmlight_files
    from sklearn.feature_extraction.text import TfidfTransformer

    files = [str(data / name / f"{part}.svm") for part in ("train", "test")]
    X, y, X_test, y_test = load_svmlight_files(files, multilabel=True)
    if name.startswith("lshtc"):
        tfidf = TfidfTransformer(sublinear_tf=True).fit(X)
        X, X_test = tfidf.transform(X), tfidf.transform(X_test)
    train, test = ([[str(int(label)) for label in row] for row in part] for part in (y, y_test))
    return X, X_test, train, test


def indicator(rows: Labels, number: dict[str, int]) -> Any:
    cells = [(i, number[label]) for i, labels in enumerate(rows) for label in sorted(set(labels))]
    at = np.array(cells, np.int64).T
    ones = np.ones(len(cells), np.float32)
    return sp.csr_matrix((ones, (at[0], at[1])), shape=(len(rows), len(number)))


def with_labels(X: Any, rows: Labels, test: bool) -> tuple[Any, Labels]:
    """Without rows that have no label, or in training no feature."""
    X = sp.csr_matrix(X, dtype=np.float32)
    kept = [
        i for i, labels in enumerate(rows) if labels and (test or X.indptr[i] < X.indptr[i + 1])
    ]
    return X[kept], [rows[i] for i in kept]


def write_part(folder: Path, arrays: dict[str, Any]) -> None:
    folder.mkdir(parents=True)
    for name, array in arrays.items():
        sp.save_npz(folder / f"{name}.npz", sp.csr_matrix(array))


def prepare(name: str, data: Path, work: Path) -> dict[str, Any]:
    """Writes the parts `tuning` and `all` of a set; returns what the page says of it."""
    of_texts = name.startswith("makupalat") or name == "yso-finna-en"
    X, X_test, train, test = (texts_of if of_texts else arrays_of)(name, data)
    X, train = with_labels(X, train, test=False)
    X_test, test = with_labels(X_test, test, test=True)
    labels = sorted({label for rows in (train, test) for row in rows for label in row})
    number = {label: k for k, label in enumerate(labels)}
    Y, Y_test = indicator(train, number), indicator(test, number)
    order = np.random.default_rng(0).permutation(X.shape[0])
    held, rest = np.sort(order[: len(order) // 5]), np.sort(order[len(order) // 5 :])
    tuning = {"X": X[rest], "Y": Y[rest], "X_test": X[held], "Y_test": Y[held]}
    write_part(work / name / "tuning", tuning)
    write_part(work / name / "all", {"X": X, "Y": Y, "X_test": X_test, "Y_test": Y_test})
    edges = edges_of(name, data)
    write_hierarchy(work / name / "hierarchy.txt", edges, number)
    children = [child for _, child in edges]
    return {
        "rows": X.shape[0],
        "test rows": X_test.shape[0],
        "columns": X.shape[1],
        "labels": int((np.asarray(Y.sum(axis=0)) > 0).sum()),
        "labels a row": float(Y.sum() / X.shape[0]),
        "one label": all(len(set(row)) == 1 for row in train + test),
        "hierarchy": bool(edges),
        "tree": len(children) == len(set(children)),
    }


def edges_of(name: str, data: Path) -> list[tuple[str, str]]:
    """Parents and children; none without a hierarchy."""
    if name.startswith("makupalat"):
        from margrove import Hierarchy

        return list(Hierarchy.of(str(data / "makupalat" / "ykl.ttl")).edges)
    path = data / name / "hierarchy.txt"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [(parent, child) for parent, child in map(str.split, lines)]


def write_hierarchy(path: Path, edges: list[tuple[str, str]], number: dict[str, int]) -> None:
    """With the numbers of the labels' columns, which all systems have instead of names."""
    numbers = dict(number)
    # A label that no edge has is a root.
    with path.open("w", encoding="utf-8") as file:
        for edge in edges:
            print(*(numbers.setdefault(node, len(numbers)) for node in edge), file=file)


# Runs


class EndedError(Exception):
    """A run needed more CPU time than it had."""


class Runner:
    """Runs systems on the parts of a set."""

    def __init__(self, name: str, arguments: argparse.Namespace, work: Path) -> None:
        self.folder = work / name
        self.program = str(arguments.program.resolve())
        self.interpreters = dict(given.split("=", 1) for given in arguments.python)

    def process(self, system: str, verb: str, spec: dict[str, Any]) -> dict[str, float]:
        path = self.folder / "spec.json"
        path.write_text(json.dumps(spec), encoding="utf-8")
        interpreter = self.interpreters.get(system, sys.executable)
        program = Path(__file__).with_name("peer_systems.py")
        done = subprocess.run(
            [interpreter, str(program), verb, str(path)],
            check=False,
            capture_output=True,
            text=True,
            env=os.environ | ONE_THREAD,
        )
        if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL, ENDED):
            raise EndedError
        if done.returncode != 0:
            raise SystemExit(f"{system}: exit code {done.returncode}\n{done.stderr}")
        values: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
        return values

    def run(self, system: str, settings: Settings, part: str, limit: float) -> dict[str, float]:
        """Trains, predicts and scores, or raises EndedError after `limit` CPU seconds."""
        folder = self.folder / part
        with tempfile.TemporaryDirectory(dir=self.folder) as scratch:
            answers = Path(scratch) / "answers.npy"
            spec = {
                "system": system,
                "settings": settings,
                "folder": str(folder),
                "hierarchy": str(self.folder / "hierarchy.txt"),
                "program": self.program,
                "model": str(Path(scratch) / "model"),
                "answers": str(answers),
                "repeat": 3 if part == "all" else 1,
            }
            trained = self.process(system, "train", spec | {"limit": limit})
            left = max(1.0, limit - trained["seconds"])
            predicted = self.process(system, "predict", spec | {"limit": left})
            ranking = np.load(answers)
        truth, Y = (sp.load_npz(folder / f"{array}.npz") for array in ("Y_test", "Y"))
        counts = np.asarray(Y.sum(axis=0)).ravel()
        values = figures(ranking, truth, inverse_propensities(counts, Y.shape[0]))
        return values | {
            "train seconds": trained["seconds"],
            "train megabytes": trained["megabytes"],
            "model megabytes": trained["model_megabytes"],
            "predict seconds": predicted["seconds"],
            "rows a second": truth.shape[0] / max(predicted["seconds"], 1e-3),
        }

    def tuned(self, system: str, budget: float) -> tuple[Settings, list[dict[str, Any]]]:
        """The best settings, the default if none ended, and all trials. Each trial changes the best
        settings before it, so that systems with several options can combine them."""
        spent, trials = 0.0, list[dict[str, Any]]()
        best: Settings = {}
        highest = -1.0
        for change in SYSTEMS[system].grid:
            settings = best | change
            try:
                found = self.run(system, settings, "tuning", budget - spent)
            except EndedError:
                trials.append({"settings": settings, "ended": True})
                break
            seconds = found["train seconds"] + found["predict seconds"]
            trials.append({"settings": settings, CHOSEN_BY: found[CHOSEN_BY], "seconds": seconds})
            if found[CHOSEN_BY] > highest:
                best, highest = settings, found[CHOSEN_BY]
            spent += seconds
            if spent >= budget:
                break
        return best, trials

    def measured(self, system: str, budget: float, last: float) -> dict[str, Any]:
        settings, trials = self.tuned(system, budget)
        record: dict[str, Any] = {"trials": trials, "settings": settings}
        try:
            return record | {"values": self.run(system, settings, "all", last)}
        except EndedError:
            return record | {"ended": last}


def reason_against(system: System, about: dict[str, Any]) -> str | None:
    """Why a system is not run on a set."""
    if system.needs_hierarchy and not about["hierarchy"]:
        return "needs a hierarchy"
    if system.needs_one_label and not about["one label"]:
        return "takes one label a row"
    if system.needs_tree and not about["tree"]:
        return "takes a tree"
    if about["rows"] * about["labels"] > system.most_cells:
        return f"not run with more than {system.most_cells:.0e} pairs of a row and a label"
    return None


# The page


def shown(settings: Settings) -> str:
    return ", ".join(f"{name} {value}" for name, value in settings.items()) or "default"


def row_of(system: str, record: dict[str, Any], best: dict[str, float]) -> str:
    """A line of a table; the best figures are bold."""
    trials = record["trials"]
    ended = [trial for trial in trials if "ended" in trial]
    tried = f"{len(trials) - len(ended)} of {len(SYSTEMS[system].grid)}"
    head = f"| {system} | {shown(record['settings'])} | {tried} |"
    if "values" not in record:
        return f"{head} > {record['ended']:g} |" + " |" * (3 + len(METRICS))
    values = record["values"]
    cells = [
        f"{values['train seconds']:.1f}",
        f"{values['train megabytes']:.0f}",
        f"{values['model megabytes']:.1f}",
        f"{values['rows a second']:,.0f}",
    ]
    for metric in METRICS:
        if system.startswith("HiClass") and metric in ("P@5", "PSP@5"):
            cells.append("–")
            continue
        text = f"{values[metric]:.3f}".lstrip("0")
        cells.append(f"**{text}**" if f"{values[metric]:.3f}" == f"{best[metric]:.3f}" else text)
    return f"{head} " + " | ".join(cells) + " |"


def table(name: str, about: dict[str, Any], records: dict[str, dict[str, Any]]) -> str:
    lines = [
        f"## {name}",
        "",
        f"{about['rows']:,} training and {about['test rows']:,} test rows, {about['columns']:,} "
        f"columns, {about['labels']:,} labels, {about['labels a row']:.2f} a row.",
        "",
        "| system | chosen | tried | train CPU s | MB | model MB | rows/s | "
        + " | ".join(METRICS)
        + " |",
        "|---" * (7 + len(METRICS)) + "|",
    ]
    done = [record["values"] for record in records.values() if "values" in record]
    best = {metric: max((values[metric] for values in done), default=0.0) for metric in METRICS}
    left_out = []
    for system in SYSTEMS:
        record = records.get(system)
        if record is None:
            continue
        if "reason" in record:
            lines.append(f"| {system} |" + " – |" * (6 + len(METRICS)))
            left_out.append(f"{system} {record['reason']}")
        else:
            lines.append(row_of(system, record, best))
    if left_out:
        lines += ["", f"Dashes: {'; '.join(left_out)}."]
    return "\n".join(lines) + "\n"


def load(path: Path | None) -> dict[str, Any]:
    known: dict[str, Any] = {}
    if path is not None and path.exists():
        known = json.loads(path.read_text(encoding="utf-8"))
    return known


def measure(name: str, arguments: argparse.Namespace, known: dict[str, Any], work: Path) -> None:
    """Runs the systems that `known` lacks, and writes it after each."""
    of_set = known.setdefault(name, {"systems": {}})
    missing = [system for system in arguments.systems if system not in of_set["systems"]]
    if not missing:
        return
    of_set["about"] = prepare(name, arguments.data, work)
    runner = Runner(name, arguments, work)
    for system in missing:
        reason = reason_against(SYSTEMS[system], of_set["about"])
        if reason is None:
            record = runner.measured(system, arguments.budget, arguments.last)
        else:
            record = {"reason": reason}
        of_set["systems"][system] = record
        print(name, system, json.dumps(record), file=sys.stderr, flush=True)
        if arguments.json is not None:
            arguments.json.write_text(json.dumps(known, indent=1), encoding="utf-8")


def parsed(given: Iterable[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("sets", nargs="*", default=SETS, metavar="set")
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), choices=list(SYSTEMS))
    parser.add_argument("--budget", type=float, default=60, help="CPU seconds of tuning")
    parser.add_argument("--last", type=float, default=600, help="CPU seconds of the last training")
    parser.add_argument("--program", type=Path, default=Path("build/margrove"))
    parser.add_argument("--json", type=Path, help="file that keeps the results")
    parser.add_argument("--page", type=Path, help="page that gets the tables")
    parser.add_argument("--python", nargs="+", default=[], metavar="SYSTEM=INTERPRETER")
    parser.add_argument("--work", type=Path, help="folder for arrays and models")
    arguments = parser.parse_args(None if given is None else list(given))
    unknown = set(arguments.sets) - {*SETS, *NAMED_SETS}
    if unknown:
        parser.error(f"no such set: {', '.join(sorted(unknown))}")
    return arguments


def main() -> None:
    arguments = parsed()
    known = load(arguments.json)
    with tempfile.TemporaryDirectory(dir=arguments.work) as work:
        for name in arguments.sets:
            measure(name, arguments, known, Path(work))
    tables = "\n".join(table(n, known[n]["about"], known[n]["systems"]) for n in arguments.sets)
    if arguments.page is None:
        print(tables)
        return
    text, made, _ = arguments.page.read_text(encoding="utf-8").partition(MADE)
    arguments.page.write_text(f"{text}{made or MADE}\n{tables}", encoding="utf-8")


if __name__ == "__main__":
    main()
