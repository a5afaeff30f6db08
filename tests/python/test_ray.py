"""Training on Ray: the bits of one machine, although workers and the driver are killed."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from margrove import HSVC, FlatSVC, shards
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

ray = pytest.importorskip("ray", reason="needs Ray: tools/setup --optional")
import margrove.ray  # noqa: E402

BOUNDS: dict[str, Any] = {"num_cpus": 2, "object_store_memory": 100_000_000}
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def cluster() -> Iterator[None]:
    ray.init(include_dashboard=False, log_to_driver=False, **BOUNDS)
    yield
    ray.shutdown()


def rows(count: int, labels: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    numbers = np.random.default_rng(5)
    y = numbers.integers(0, labels, count)
    X = numbers.normal(size=(count, 60)).astype(np.float32)
    X[np.arange(count), y % 60] += 0.5
    return X, y


def state_of(estimator: Any) -> bytes:
    state: bytes = estimator.model_.__reduce__()[1][0]
    return state


def slow() -> FlatSVC:
    """A training of some seconds."""
    return FlatSVC(C=10, tolerance=1e-5)


def test_any_number_of_shards_and_workers_gives_the_bits_of_one_machine(cluster: None) -> None:
    X, y = rows(500, 40)
    plain = state_of(FlatSVC().fit(X, y))
    lines: list[str] = []
    for number, threads in [(1, 1), (2, 2), (4, 1)]:
        machine = margrove.ray.fit(
            FlatSVC(), X, y, shards=number, threads=threads, progress=lines.append
        )
        assert state_of(machine) == plain
    assert "ray: 4 of 4 shards, gap" in lines[-2]
    assert "MB of weights written" in lines[-1]


def workers() -> list[int]:
    """The processes below this one that train a shard now."""
    parent_of, training = {}, []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            parent_of[int(entry.name)] = int(
                (entry / "stat").read_text().rpartition(")")[2].split()[1]
            )
            if (entry / "cmdline").read_bytes().startswith(b"ray::shard "):
                training.append(int(entry.name))
        except OSError:
            continue  # it has ended

    def is_below(pid: int) -> bool:
        while pid in parent_of and pid != os.getpid():
            pid = parent_of[pid]
        return pid == os.getpid()

    return [pid for pid in training if is_below(pid)]


def test_killed_workers_change_nothing(cluster: None, tmp_path: Path) -> None:
    X, y = rows(4000, 128)
    plain = state_of(slow().fit(X, y))
    chance = random.Random(1)
    killed: list[int] = []
    done = threading.Event()

    def kill_now_and_then() -> None:
        while not done.is_set() and len(killed) < 4:
            candidates = workers()
            if candidates:
                pid = chance.choice(candidates)
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
                killed.append(pid)
            done.wait(0.5 if killed else 0.02)

    killer = threading.Thread(target=kill_now_and_then)
    killer.start()
    try:
        machine = margrove.ray.fit(slow(), X, y, shards=6, work=tmp_path, retries=10)
    finally:
        done.set()
        killer.join()
    assert killed
    assert state_of(machine) == plain


def test_a_killed_driver_is_continued(tmp_path: Path) -> None:
    X, y = rows(4000, 128)
    plain = state_of(slow().fit(X, y))

    class PlannedError(Exception):
        pass

    def plan_only(folder: str) -> None:
        raise PlannedError

    with pytest.raises(PlannedError):
        shards.fit(slow(), X, y, shards=6, work=tmp_path, engine=plan_only)
    code = f"import margrove.ray as r; r.train_shards({str(tmp_path)!r}, **{BOUNDS!r})"
    driver = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    try:
        while not list(tmp_path.glob("shard-*.safetensors")) and driver.poll() is None:
            time.sleep(0.05)
    finally:
        driver.kill()
        driver.wait()
    time.sleep(1)  # what the driver started may still write
    finished = {path: path.stat().st_mtime_ns for path in tmp_path.glob("shard-*.safetensors")}
    assert finished
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, timeout=300)
    machine = shards.fit(slow(), X, y, shards=6, work=tmp_path, engine=lambda folder: None)
    assert state_of(machine) == plain
    assert all(path.stat().st_mtime_ns == before for path, before in finished.items())


def test_an_error_of_a_task_is_the_error_of_the_caller(cluster: None, tmp_path: Path) -> None:
    X, y = rows(500, 40)
    shards.fit(FlatSVC(), X, y, shards=2, work=tmp_path)
    shard = tmp_path / "shard-00000.safetensors"
    shard.unlink()
    shard.mkdir()  # in the way of the file
    with pytest.raises(ValueError, match="shard-00000"):
        margrove.ray.train_shards(tmp_path, progress=False)


def test_a_program_trains_on_ray(tmp_path: Path) -> None:
    program = os.environ.get("MARGROVE", str(ROOT / "build" / "margrove"))
    X, y = rows(300, 20)
    lines = [
        f"{label} " + " ".join(f"{j + 1}:{v:.4f}" for j, v in enumerate(row))
        for label, row in zip(y, X, strict=True)
    ]
    (tmp_path / "rows").write_text("\n".join(lines) + "\n", encoding="utf-8")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"

    def train(*options: str) -> None:
        subprocess.run(
            [program, "train", "--method", "flat-svm", *options],
            cwd=tmp_path,
            env=os.environ | {"PATH": path},
            check=True,
            capture_output=True,
            timeout=300,
        )

    train("rows", "local.model")
    train("--engine", "ray", "--shards", "3", "--quiet", "rows", "ray.model")
    assert (tmp_path / "ray.model").read_bytes() == (tmp_path / "local.model").read_bytes()
    assert not (tmp_path / "ray.model.shards").exists()


def test_threads_are_at_least_one(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="threads is 0, but must be >= 1"):
        margrove.ray.train_shards(tmp_path, threads=0)


def test_every_fit_of_a_block_is_trained_on_one_session() -> None:
    X, y = rows(500, 40)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), FlatSVC()), {"flatsvc__C": [0.1, 1]}, cv=2
    )
    plain = clone(search).fit(X, y)
    scores = cross_val_score(FlatSVC(), X, y, cv=2)
    lines: list[str] = []
    with margrove.cluster("ray", shards=3, progress=lines.append, **BOUNDS):
        session = ray.get_runtime_context().get_job_id()
        search.fit(X, y)
        np.testing.assert_array_equal(cross_val_score(FlatSVC(), X, y, cv=2), scores)
        assert ray.get_runtime_context().get_job_id() == session
    assert state_of(search.best_estimator_[-1]) == state_of(plain.best_estimator_[-1])
    assert search.best_params_ == plain.best_params_
    assert sum("3 of 3 shards" in line for line in lines) == 7
    assert not ray.is_initialized()


def test_an_open_session_outlives_the_block(cluster: None, tmp_path: Path) -> None:
    texts, kinds = ["red shoe", "blue hat", "green shoe", "red hat"], ["shoe", "hat"] * 2
    plain = state_of(FlatSVC().fit(texts, kinds))
    with margrove.cluster("ray", work=tmp_path):
        assert state_of(FlatSVC().fit(texts, kinds)) == plain
        with pytest.raises(ValueError, match="method hsvm with these options cannot be trained"):
            HSVC(hierarchy=[("thing", "shoe"), ("thing", "hat")]).fit(texts, kinds)
    assert ray.is_initialized()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shards": 0}, "shards is 0, but must be >= 1"),
        ({"threads": 0}, "threads is 0, but must be >= 1"),
        ({"retries": -1}, "retries is -1, but must be >= 0"),
        ({"worker": 2}, "worker is no option of the engine 'ray', which has: shards, work, addr"),
    ],
)
def test_wrong_options_are_refused_before_the_block(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        margrove.cluster("ray", **options)
    assert not ray.is_initialized()


INTERRUPTED = """
import numpy as np, margrove.ray
from margrove import FlatSVC
numbers = np.random.default_rng(5)
X, y = numbers.normal(size=(20000, 200)).astype(np.float32), numbers.integers(0, 128, 20000)
margrove.ray.fit(FlatSVC(C=100, tolerance=1e-9), X, y, shards=6, work=WORK, **BOUNDS)
"""


def marked(mark: str) -> list[int]:
    """The processes whose environment has this text."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark.encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue  # it has ended
    return found


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_an_interrupted_driver_leaves_no_process(name: str, tmp_path: Path) -> None:
    mark = f"MARGROVE_TEST_OF_RAY={tmp_path}"
    code = f"WORK, BOUNDS = {str(tmp_path)!r}, {BOUNDS!r}" + INTERRUPTED
    driver = subprocess.Popen(
        [sys.executable, "-c", code],
        env=os.environ | dict([mark.split("=", 1)]),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while not workers() and driver.poll() is None:
            time.sleep(0.05)
        assert len(marked(mark)) > 1
        time.sleep(1)  # until all tasks are submitted, and the driver waits for them
        driver.send_signal(signal.Signals[name])
        assert driver.wait(timeout=60) != 0
        for _ in range(300):
            if not marked(mark):
                break
            time.sleep(0.1)
        assert marked(mark) == []
    finally:
        for pid in marked(mark):
            os.kill(pid, signal.SIGKILL)
        driver.wait()
