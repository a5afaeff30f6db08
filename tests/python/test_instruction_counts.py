"""The comparison of instruction counts finds what needs more of them."""

import json
import re
from pathlib import Path

import pytest

from tools import instruction_counts

PRINTED = """==7== Callgrind, a call-graph generating cache profiler
==7== Events    : Ir
==7== Collected : 123456789
==7==
==7== I   refs:      123,456,789
"""


def test_the_total_is_what_callgrind_collected() -> None:
    assert instruction_counts.parse_count(PRINTED) == 123456789


@pytest.mark.parametrize("text", ["", PRINTED + PRINTED])
def test_none_or_two_totals_are_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="must print 1"):
        instruction_counts.parse_count(text)


@pytest.mark.parametrize(("count", "allowed"), [(900, True), (1030, True), (1031, False)])
def test_three_per_cent_more_are_allowed(count: int, allowed: bool) -> None:
    (line,), found = instruction_counts.table({"a": count}, {"a": 1000})
    assert found == allowed
    assert f"{count / 1000:.4f}" in line
    assert ("too many" in line) != allowed


def test_workloads_of_one_side_only_are_not_allowed() -> None:
    assert instruction_counts.table({"a": 1, "b": 1}, {"a": 1})[1] is False
    lines, allowed = instruction_counts.table({"a": 1}, {"a": 1, "b": 1})
    assert allowed is False
    assert "in the baseline only" in lines[-1]


def test_without_a_baseline_everything_is_allowed() -> None:
    assert instruction_counts.table({"a": 1}, None)[1] is True


def test_a_baseline_is_cut_to_what_is_asked_for_and_must_be_of_the_same_data(
    tmp_path: Path,
) -> None:
    file = tmp_path / "counts.json"
    counts = {instruction_counts.START: 5, "train hsvm": 1, "predict hsvm": 2, "train flat": 3}
    file.write_text(json.dumps({"data": "public", "counts": counts}), encoding="utf-8")
    found = instruction_counts.read_baseline(file, "public", re.compile("hsvm"))
    assert list(found) == [instruction_counts.START, "train hsvm", "predict hsvm"]
    with pytest.raises(RuntimeError, match="recorded on public data, these are generated"):
        instruction_counts.read_baseline(file, "generated", re.compile(""))
