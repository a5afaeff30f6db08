#!/usr/bin/env python3
"""The systems of bench/library_peers.py behind one interface, and the process that runs one.

    bench/peer_systems.py train|predict SPEC.json

SPEC has the system, its settings, the folder of a prepared part (X.npz, Y.npz, X_test.npz), the
hierarchy, if there is one, margrove's program, and where the model goes. Each run is such a
process, so that no system finds another's memory or caches, and each may have an interpreter of its
own. The last line of its output is JSON: CPU seconds of the measured call alone, without the start
of the interpreter and the reading of the arrays, and the growth of its resident memory during it.
Of margrove's program it is all that the process takes, its start and the reading of the rows from
text included.
"""

import json
import math
import os
import pickle
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from measured_runs import measured_run

PLACES = 10  # of a ranking
ENDED = 124  # exit code: more CPU time than the limit

Settings = dict[str, Any]


@dataclass
class Part:
    """The rows of a run. Columns of Y are the labels that a training row has; `labels` has their
    names."""

    X: Any
    Y: Any
    labels: list[str]
    hierarchy: str | None
    folder: Path
    model: Path
    program: str

    def sets(self) -> list[list[int]]:
        bounds = zip(self.Y.indptr[:-1], self.Y.indptr[1:], strict=True)
        return [self.Y.indices[begin:end].tolist() for begin, end in bounds]

    def first_labels(self) -> Any:
        """The label of each row, for systems that take one."""
        return np.array([labels[0] for labels in self.sets()])


def best_columns(scores: Any) -> Any:
    order = np.argpartition(-scores, min(PLACES, scores.shape[1]) - 1, axis=1)[:, :PLACES]
    inner = np.argsort(-np.take_along_axis(scores, order, axis=1), axis=1, kind="stable")
    return np.take_along_axis(order, inner, axis=1)


def filled(rows: Any) -> Any:
    """Lists of labels as an array with -1 in empty places."""
    ranking = np.full((len(rows), PLACES), -1, np.int64)
    for place, row in zip(ranking, rows, strict=True):
        labels = list(row)[:PLACES]
        place[: len(labels)] = labels
    return ranking


def fit_and_pickle(model: Any, X: Any, y: Any, path: Path) -> Callable[[], None]:
    """The training of an estimator like those of scikit-learn, which writes it, too."""

    def train() -> None:
        model.fit(X, y)
        with path.open("wb") as file:
            pickle.dump(model, file, protocol=pickle.HIGHEST_PROTOCOL)

    return train


def from_pickle(path: Path) -> Any:
    with path.open("rb") as file:
        return pickle.load(file)


# Margrove, by its program, as a reader would run it


def write_svmlight(X: Any, sets: list[list[int]], names: list[str], path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        for i, labels in enumerate(sets):
            begin, end = X.indptr[i : i + 2]
            cells = zip(X.indices[begin:end] + 1, X.data[begin:end], strict=True)
            row = (f"{j}:{value:.6g}" for j, value in cells)
            print(",".join(names[label] for label in labels), *row, file=file)


def of_program(command: list[str]) -> dict[str, float]:
    """CPU seconds and peak memory of a program; it has this process's limit of CPU time."""
    try:
        run = measured_run(command)
    except SystemExit:
        if time_of_children() + 1 >= resource.getrlimit(resource.RLIMIT_CPU)[0]:
            sys.exit(ENDED)
        raise
    return {"seconds": run.cpu, "megabytes": run.megabytes * 1024**2 / 1e6}


def time_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def train_margrove(system: str, part: Part, settings: Settings, limit: float) -> dict[str, float]:
    rows, sets = part.model.with_suffix(".svm"), part.sets()
    write_svmlight(part.X, sets, part.labels, rows)
    method = system.split()[1]
    options = ["--method", method, "--threads", "1", "--quiet"]
    if SYSTEMS[system].needs_hierarchy:
        options += ["--hierarchy", str(part.hierarchy)]
    elif any(len(labels) > 1 for labels in sets):
        # Rankings need no thresholds, whose cross-validation takes three more trainings.
        options += ["--decision", "zero"]
    for name, value in settings.items():
        options += [f"--{name}", f"{value:g}"]
    limit_cpu(limit)
    return of_program([part.program, "train", *options, str(rows), str(part.model)])


def predict_margrove(spec: dict[str, Any], part: Part, X: Any) -> tuple[Any, dict[str, float]]:
    """The time is that of all rows less that of one, which is start and reading of the model."""
    files = [part.model.with_suffix(suffix) for suffix in (".one", ".test", ".answers")]
    placeholder = [[0]] * X.shape[0]  # the program ignores the labels of these rows
    write_svmlight(X[:1], placeholder[:1], part.labels, files[0])
    write_svmlight(X, placeholder, part.labels, files[1])
    options = ["--quiet", "--threads", "1", "--top", str(PLACES), "--output", str(files[2])]
    limit_cpu(spec["limit"])
    one, all_rows = (
        least(
            [
                of_program([part.program, "predict", *options, str(part.model), str(file)])
                for _ in range(spec["repeat"])
            ]
        )
        for file in files[:2]
    )
    number = {label: k for k, label in enumerate(part.labels)}
    lines = files[2].read_text(encoding="utf-8").splitlines()
    # A hierarchy has nodes that no training row has; they are wrong answers, too.
    ranking = filled([[number.get(label, -1) for label in line.split(",")] for line in lines])
    return ranking, all_rows | {"seconds": max(0.001, all_rows["seconds"] - one["seconds"])}


# omikuji


def write_rows(part: Part, path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        print(part.X.shape[0], part.X.shape[1], part.Y.shape[1], file=file)
        for i, labels in enumerate(part.sets()):
            begin, end = part.X.indptr[i : i + 2]
            cells = zip(part.X.indices[begin:end], part.X.data[begin:end], strict=True)
            row = (f"{j}:{value:.6g}" for j, value in cells)
            print(",".join(map(str, labels)), *row, file=file)


def prepare_omikuji(system: str, part: Part, settings: Settings) -> Callable[[], None]:
    import omikuji

    rows = part.model.with_suffix(".txt")
    write_rows(part, rows)
    hyper = omikuji.Model.default_hyper_param()
    bonsai = {"cluster_balanced": False, "cluster_k": 100, "max_depth": 3}
    given = (bonsai if "Bonsai" in system else {}) | settings
    for name, value in given.items():
        if name == "beam_size":
            continue
        if not hasattr(hyper, name):
            raise AttributeError(name)
        setattr(hyper, name, value)

    def train() -> None:
        model = omikuji.Model.train_on_data(str(rows), hyper, n_threads=1)
        rows.unlink()
        model.save(str(part.model))

    return train


def load_omikuji(system: str, part: Part, settings: Settings) -> Callable[[Any], Any]:
    import omikuji

    model = omikuji.Model.load(str(part.model))
    beam = settings.get("beam_size", 10)

    def predict(X: Any) -> Any:
        ranking = []
        for begin, end in zip(X.indptr[:-1], X.indptr[1:], strict=True):
            row = zip(X.indices[begin:end].tolist(), X.data[begin:end].tolist(), strict=True)
            ranking.append([k for k, _ in model.predict(list(row), beam, PLACES)])
        return filled(ranking)

    return predict


# XR-Linear of PECOS


def prepare_pecos(system: str, part: Part, settings: Settings) -> Callable[[], None]:
    from pecos.xmc import Indexer, LabelEmbeddingFactory
    from pecos.xmc.xlinear.model import XLinearModel

    X = sp.csr_matrix(part.X, dtype=np.float32)
    Y = sp.csc_matrix(part.Y, dtype=np.float32)
    given = {name: value for name, value in settings.items() if name != "beam_size"}

    def train() -> None:
        vectors = LabelEmbeddingFactory.create(Y, X, method="pifa")
        clusters = Indexer.gen(vectors, indexer_type="hierarchicalkmeans", threads=1)
        XLinearModel.train(X, Y, C=clusters, threads=1, **given).save(str(part.model))

    return train


def load_pecos(system: str, part: Part, settings: Settings) -> Callable[[Any], Any]:
    from pecos.xmc.xlinear.model import XLinearModel

    model = XLinearModel.load(str(part.model), is_predict_only=True)
    beam = settings.get("beam_size", 10)

    def predict(X: Any) -> Any:
        found = model.predict(
            sp.csr_matrix(X, dtype=np.float32), beam_size=beam, only_topk=PLACES, threads=1
        )
        rows = []
        for begin, end in zip(found.indptr[:-1], found.indptr[1:], strict=True):
            order = np.argsort(-found.data[begin:end], kind="stable")
            rows.append(found.indices[begin:end][order])
        return filled(rows)

    return predict


# napkinXC


def napkinxc_model(system: str, path: Path, settings: Settings) -> Any:
    from napkinxc.models import BR, PLT

    return (BR if system.endswith("BR") else PLT)(str(path), threads=1, **settings)


def prepare_napkinxc(system: str, part: Part, settings: Settings) -> Callable[[], None]:
    X, sets = sp.csr_matrix(part.X, dtype=np.float32), part.sets()
    model = napkinxc_model(system, part.model, settings)
    return lambda: model.fit(X, sets)  # which writes the model


def load_napkinxc(system: str, part: Part, settings: Settings) -> Callable[[Any], Any]:
    model = napkinxc_model(system, part.model, settings)
    model.load()
    return lambda X: filled(model.predict(sp.csr_matrix(X, dtype=np.float32), top_k=PLACES))


# HiClass and scikit-learn


def parents_of(path: str) -> dict[str, str]:
    """The first parent of each node."""
    parents: dict[str, str] = {}
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        parent, child = line.split()
        parents.setdefault(child, parent)
    return parents


def paths(labels: list[str], parents: dict[str, str]) -> Any:
    """Rows of names from below the root to the label, filled up with empty texts."""
    rows = []
    for label in labels:
        path = [label]
        while path[-1] in parents:
            path.append(parents[path[-1]])
        rows.append(path[-2::-1])
    width = max(map(len, rows))
    return np.array([row + [""] * (width - len(row)) for row in rows], dtype=object)


def without_wide_indices(X: Any) -> Any:
    """LinearSVC takes indices of 32 bits only."""
    X = sp.csr_matrix(X)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X


def prepare_hiclass(system: str, part: Part, settings: Settings) -> Callable[[], None]:
    from hiclass import LocalClassifierPerParentNode
    from sklearn.svm import LinearSVC

    assert part.hierarchy is not None
    names = [part.labels[label] for label in part.first_labels()]
    y, X = paths(names, parents_of(part.hierarchy)), without_wide_indices(part.X)
    model = LocalClassifierPerParentNode(local_classifier=LinearSVC(**settings), n_jobs=1)
    return fit_and_pickle(model, X, y, part.model)


def load_hiclass(system: str, part: Part, settings: Settings) -> Callable[[Any], Any]:
    model = from_pickle(part.model)
    number = {label: k for k, label in enumerate(part.labels)}

    def predict(X: Any) -> Any:
        found = model.predict(without_wide_indices(X))
        return filled([[number.get([n for n in row if n][-1], -1)] for row in found])

    return predict


def prepare_linear_svc(system: str, part: Part, settings: Settings) -> Callable[[], None]:
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.svm import LinearSVC

    X, Y = without_wide_indices(part.X), sp.csr_matrix(part.Y, dtype=np.int64)
    model = OneVsRestClassifier(LinearSVC(**settings))
    return fit_and_pickle(model, X, Y, part.model)


def load_linear_svc(system: str, part: Part, settings: Settings) -> Callable[[Any], Any]:
    model = from_pickle(part.model)
    return lambda X: best_columns(model.decision_function(without_wide_indices(X)))


Prepare = Callable[[str, Part, Settings], Callable[[], None]]
Load = Callable[[str, Part, Settings], Callable[[Any], Any]]


@dataclass
class System:
    """How a system trains and answers, and the changes of settings that tuning tries, the default
    first."""

    grid: list[Settings]
    prepare: Prepare | None = None  # None: by margrove's program
    load: Load | None = None
    needs_hierarchy: bool = False
    needs_one_label: bool = False
    needs_tree: bool = False
    most_cells: float = math.inf  # of rows x labels


@dataclass
class Grids:
    """The changes that tuning tries: each is made to the best settings before it."""

    c: list[Settings] = field(
        default_factory=lambda: [{}, *({"C": C} for C in (0.3, 3.0, 0.1, 10.0))]
    )
    label_trees: list[Settings] = field(
        default_factory=lambda: [
            *({}, {"C": 3.0}, {"C": 0.3}, {"trees": 6.0}, {"beam": 30.0}, {"max-leaves": 30.0}),
        ]
    )
    omikuji: list[Settings] = field(
        default_factory=lambda: [
            *({}, {"linear_c": 3.0}, {"linear_c": 0.3}, {"linear_c": 10.0}),
            *({"linear_weight_threshold": 0.03}, {"beam_size": 30}, {"n_trees": 6}),
        ]
    )
    pecos: list[Settings] = field(
        default_factory=lambda: [
            *({}, {"Cp": 3.0, "Cn": 3.0}, {"Cp": 0.3, "Cn": 0.3}, {"Cp": 10.0, "Cn": 10.0}),
            *({"threshold": 0.01}, {"beam_size": 30}),
        ]
    )
    napkinxc: list[Settings] = field(
        default_factory=lambda: [
            *({}, {"loss": "l2"}, {"liblinear_c": 1.0}, {"liblinear_c": 100.0}),
            *({"weights_threshold": 0.01}, {"ensemble": 3}),
        ]
    )


GRIDS = Grids()
OMIKUJI = (GRIDS.omikuji, prepare_omikuji, load_omikuji)
NAPKINXC = (prepare_napkinxc, load_napkinxc)
SYSTEMS = {
    "margrove flat-svm": System(GRIDS.c),
    "margrove label-trees": System(GRIDS.label_trees),
    "margrove level-svm": System(GRIDS.c, needs_hierarchy=True),
    "margrove nhsvm": System(GRIDS.c, needs_hierarchy=True, needs_one_label=True),
    "omikuji Parabel": System(*OMIKUJI),
    "omikuji Bonsai": System(*OMIKUJI),
    "PECOS XR-Linear": System(GRIDS.pecos, prepare_pecos, load_pecos),
    "napkinXC PLT": System(GRIDS.napkinxc, *NAPKINXC),
    "napkinXC BR": System(GRIDS.napkinxc[:-1], *NAPKINXC, most_cells=5e7),
    "HiClass per parent": System(
        *(GRIDS.c, prepare_hiclass, load_hiclass),
        needs_hierarchy=True,
        needs_one_label=True,
        needs_tree=True,
    ),
    "LinearSVC one-vs-rest": System(GRIDS.c, prepare_linear_svc, load_linear_svc),
}


# One run


def read_status(name: str) -> float:
    """A line of this process's memory, in MB."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise KeyError(name)


def limit_cpu(seconds: float) -> None:
    """Ends this process after so many CPU seconds from now."""
    last = math.ceil(time.process_time() + seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (last, last + 1))


def measured(call: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """The result of a call, its CPU seconds, and by how much it made the resident memory grow:
    the kernel forgets the peak of the loading before."""
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    before, start = read_status("VmRSS"), time.process_time()
    result = call()
    seconds = time.process_time() - start
    return result, {"seconds": seconds, "megabytes": max(0.0, read_status("VmHWM") - before)}


def least(runs: list[dict[str, float]]) -> dict[str, float]:
    """The fastest of several runs, as other work on the machine only adds time."""
    return min(runs, key=lambda run: run["seconds"])


def bytes_of(path: Path) -> int:
    if path.is_file():
        return path.stat().st_size
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def read_part(spec: dict[str, Any]) -> tuple[Part, Any]:
    """The part, and of each of its labels the column among all labels, which is its name."""
    folder = Path(spec["folder"])
    Y = sp.csr_matrix(sp.load_npz(folder / "Y.npz"))
    used = np.flatnonzero(np.asarray(Y.sum(axis=0)).ravel())
    X = sp.csr_matrix(sp.load_npz(folder / "X.npz"))
    names = [str(k) for k in used]
    rest = spec["hierarchy"], folder, Path(spec["model"]), spec["program"]
    return Part(X, Y[:, used], names, *rest), used


def train(spec: dict[str, Any], part: Part) -> dict[str, float]:
    name, settings = spec["system"], spec["settings"]
    system = SYSTEMS[name]
    if system.prepare is None:
        values = train_margrove(name, part, settings, spec["limit"])
    else:
        call = system.prepare(name, part, settings)
        limit_cpu(spec["limit"])
        _, values = measured(call)
    return values | {"model_megabytes": bytes_of(part.model) / 1e6}


def predict(spec: dict[str, Any], part: Part, used: Any) -> dict[str, float]:
    name, settings = spec["system"], spec["settings"]
    system = SYSTEMS[name]
    X_test = sp.csr_matrix(sp.load_npz(part.folder / "X_test.npz"))
    if system.load is None:
        ranking, values = predict_margrove(spec, part, X_test)
    else:
        call = system.load(name, part, settings)
        limit_cpu(spec["limit"])
        runs = [measured(lambda: call(X_test)) for _ in range(spec["repeat"])]
        ranking, values = runs[0][0], least([run[1] for run in runs])
    np.save(spec["answers"], np.where(ranking < 0, -1, used[np.maximum(ranking, 0)]))
    return values


def main() -> None:
    verb, spec = sys.argv[1], json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))
    part, used = read_part(spec)
    values = train(spec, part) if verb == "train" else predict(spec, part, used)
    print(json.dumps(values), flush=True)
    os._exit(0)  # some libraries take seconds to end


if __name__ == "__main__":
    main()
