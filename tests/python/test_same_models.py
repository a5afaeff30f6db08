"""The comparison of models sees what differs, and only that."""

import json
import struct
from pathlib import Path
from typing import Any

import pytest
from margrove import _core

from tools import same_models, sample_data
from tools.model_cases import CASES, FAILURES


def model_bytes(
    tensors: dict[str, bytes], metadata: dict[str, str] | None = None, dtype: str = "U8"
) -> bytes:
    """A safetensors file with the tensors one after the other."""
    header: dict[str, Any] = {"__metadata__": metadata or {}}
    end = 0
    for name, content in tensors.items():
        header[name] = {
            "dtype": dtype,
            "shape": [len(content)],
            "data_offsets": [end, end + len(content)],
        }
        end += len(content)
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + b"".join(tensors.values())


def result(**changes: Any) -> dict[str, Any]:
    base = {
        "file": "f",
        "warnings": "",
        "metadata": {"fit.primal": "2", "fit.dual": "1", "fit.passes": "7"},
        "tensors": {"weights": "w", "labels": "l"},
        "evaluate": {"accuracy": 0.5},
        "predict": {"sha256": "p", "lines": "aa bb cc"},
        "explain": {"sha256": "e", "lines": "dd"},
    }
    return base | changes


def test_a_tensor_is_known_by_its_bytes_its_shape_and_its_type() -> None:
    def first(*arguments: Any, **named: Any) -> str:
        return same_models.read_model(model_bytes(*arguments, **named)).tensors["a"]

    base = first({"a": b"1234", "b": b"5"})
    assert first({"b": b"5", "a": b"1234"}) == base
    assert first({"a": b"1235", "b": b"5"}) != base
    assert first({"a": b"1234", "b": b"5"}, dtype="I8") != base
    flat = model_bytes({"a": b"1234"})
    square = flat.replace(b"[4]", b"[ 2, 2]").replace(b"[0, 4]", b"[0,4]")
    square = struct.pack("<Q", len(square) - 12) + square[8:]
    assert same_models.read_model(square).tensors["a"] != base


def test_metadata_are_read_apart_from_the_tensors() -> None:
    file = same_models.read_model(model_bytes({"a": b"1"}, {"method": "nhsvm"}))
    assert file.metadata == {"method": "nhsvm"}
    assert list(file.tensors) == ["a"]


@pytest.mark.parametrize("kept", [3, 20, -1])
def test_a_file_cut_short_is_an_error(kept: int) -> None:
    with pytest.raises(ValueError, match=r"bytes|ends after"):
        same_models.read_model(model_bytes({"a": b"1234"})[:kept])


def test_identical_results_have_no_differences() -> None:
    assert same_models.differences(result(), result()) == []


def test_tensors_that_differ_come_with_the_objective_and_the_predictions() -> None:
    new = result(
        file="g",
        metadata={"fit.primal": "2.002", "fit.dual": "1", "fit.passes": "7"},
        tensors={"weights": "v", "labels": "l"},
        predict={"sha256": "q", "lines": "aa bx cx"},
    )
    assert same_models.differences(result(), new) == [
        "tensors: weights; objective and gap differ by 0.001",
        "metadata: fit.primal",
        "predict: 2 of 3 lines differ",
    ]


def test_tensors_that_are_only_on_one_side_differ() -> None:
    (found,) = same_models.differences(result(), result(file="g", tensors={"labels": "l"}))
    assert found.startswith("tensors: weights;")


def test_metadata_alone_are_named() -> None:
    new = result(file="g", metadata={"fit.primal": "2", "fit.dual": "1", "fit.passes": "8"})
    assert same_models.differences(result(), new) == ["metadata: fit.passes"]


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"file": "g"}, "file: the layout differs, but not the content"),
        ({"warnings": "slow"}, "warnings: 'slow', was ''"),
        ({"evaluate": {"accuracy": 0.25}}, "evaluate: accuracy"),
        ({"explain": {"sha256": "x", "lines": "dx"}}, "explain: 1 of 1 lines differ"),
        ({"explain": {"exit": 2, "message": "no"}}, "explain: 'no', was 'fine'"),
        ({"predict": {"sha256": "x", "lines": "aa bb"}}, "predict: 1 of 3 lines differ"),
    ],
)
def test_every_part_of_a_result_is_compared(change: dict[str, Any], found: str) -> None:
    assert same_models.differences(result(), result(**change)) == [found]


def test_another_message_and_a_failure_that_works_now_are_found() -> None:
    failed = {"exit": 2, "message": "option C is 0"}
    assert same_models.differences(failed, dict(failed)) == []
    assert same_models.differences(failed, {"exit": 3, "message": "option C is 0"}) == [
        "exit code 3, 'option C is 0'; was exit code 2, 'option C is 0'"
    ]
    assert same_models.differences(failed, result()) == [
        "a model; was exit code 2, 'option C is 0'"
    ]


def test_objectives_that_are_known_on_one_side_only_are_infinitely_far_apart() -> None:
    assert same_models.relative_difference("2", "2") == 0
    assert same_models.relative_difference(None, None) == 0
    assert same_models.relative_difference("-4", "-3") == 0.25
    assert same_models.relative_difference("2", None) == float("inf")


def test_runs_of_one_side_only_are_differences() -> None:
    compared = dict(
        same_models.compare({"a": result(), "b": result()}, {"b": result(), "c": result()})
    )
    assert compared == {"b": [], "c": ["not in the record"], "a": ["in the record only"]}


def test_a_model_that_depends_on_the_threads_is_found() -> None:
    names = [same_models.run_name(CASES[0], threads) for threads in (1, 2)]
    assert same_models.threads_matter({names[0]: result(), names[1]: result()}) == []
    record = {names[0]: result(), names[1]: result(file="g", tensors={"labels": "l"})}
    ((name, found),) = same_models.threads_matter(record)
    assert name == f"{CASES[0].name}: 1 and 2 threads"
    assert "weights" in found[0]


def test_cases_that_fail_and_failures_that_do_not_are_wrong() -> None:
    case = same_models.run_name(CASES[0], 1)
    right = {case: result(), FAILURES[0]: {"exit": 2, "message": "no"}}
    assert same_models.wrong_ends(right) == []
    wrong = {case: {"exit": 2, "message": "no\n"}, FAILURES[0]: {"exit": 0, "message": ""}}
    assert same_models.wrong_ends(wrong) == [f"{case}: no", f"{FAILURES[0]}: must fail"]


def test_no_case_occurs_twice() -> None:
    names = [case.name for case in CASES] + FAILURES
    assert len(names) == len(set(names))


def test_a_hierarchy_is_cut_to_what_is_above_the_labels() -> None:
    edges = ["r a", "r b", "a x", "b x", "b y", "r c"]
    assert sample_data.above(edges, ["x"]).splitlines() == ["r a", "r b", "a x", "b x"]


def test_generated_sets_are_the_same_every_time_and_have_every_kind() -> None:
    sets = sample_data.generated_sets()
    assert sets == sample_data.generated_sets()
    used = {case.data for case in CASES}
    assert used == {"tree", "dense", *sets}  # the program itself generates those two
    for name, parts in sets.items():
        assert parts["train"] != parts["test"], name


def test_the_folder_that_the_environment_names_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "repository"
    beside = tmp_path / "shared" / "data"
    monkeypatch.delenv("MARGROVE_DATA", raising=False)
    assert sample_data.shared_data(root) is None
    beside.mkdir(parents=True)
    assert sample_data.shared_data(root) == beside
    monkeypatch.setenv("MARGROVE_DATA", str(tmp_path))
    assert sample_data.shared_data(root) == tmp_path


def test_every_method_has_a_case() -> None:
    trained = {case.options.split("--method ")[1].split()[0] for case in CASES}
    assert trained == {name for name, *_ in _core.methods()}
