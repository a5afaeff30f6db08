"""Names of labels as evidence: match_names."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from margrove import FlatLogisticRegression, FlatSVC, Hierarchy, LevelSVC

ANIMALS = ["dogs", "cats", "fish", "birds"]
WORDS = ["small", "large", "tame", "wild", "old", "young"]
TEXTS = [
    f"a book of {WORDS[i % 6]} {ANIMALS[i % 4]} in {WORDS[i // 6]} houses of insects"
    for i in range(36)
]
LABELS = [f"x:{i % 4}" for i in range(36)]
VOCABULARY = "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n" + "".join(
    f'<x:{k}> a skos:Concept ; skos:prefLabel "{name}"@en , "nimi {k}"@fi .\n'
    for k, name in enumerate([*ANIMALS, "beetles"])
)


@pytest.mark.parametrize("estimator", [FlatSVC, FlatLogisticRegression, LevelSVC])
def test_a_label_without_rows_is_answered_by_its_names(estimator: Any, tmp_path: Path) -> None:
    path = tmp_path / "animals.ttl"
    path.write_text(VOCABULARY + '<x:4> skos:altLabel "insects"@en , "chafers"@en .\n')
    model = estimator(hierarchy=path, match_names=True).fit(TEXTS, LABELS)
    assert model.report_["name_weight"] > 0
    assert list(model.predict(["insects", "small dogs"])) == ["x:4", "x:0"]
    plain = estimator(hierarchy=path, match_names=False).fit(TEXTS, LABELS)
    assert plain.predict(["insects"])[0] != "x:4"
    assert "name_weight" not in plain.report_


def test_level_svc_matches_names_by_default(tmp_path: Path) -> None:
    path = tmp_path / "animals.ttl"
    path.write_text(VOCABULARY)
    default = LevelSVC(hierarchy=path).fit(TEXTS, LABELS)
    named = LevelSVC(hierarchy=path, match_names=True).fit(TEXTS, LABELS)
    assert default.report_["name_weight"] == named.report_["name_weight"] > 0
    assert np.array_equal(default.decision_function(TEXTS), named.decision_function(TEXTS))
    for given in (default, named, LevelSVC(hierarchy=path, match_names=False).fit(TEXTS, LABELS)):
        given.save(tmp_path / "model")
        assert LevelSVC.load(tmp_path / "model").match_names == given.match_names
    rows = [[float(i % 5), 1.0] for i in range(36)]
    of_numbers = LevelSVC(hierarchy=path).fit(rows, LABELS)
    without = LevelSVC(hierarchy=path, match_names=False).fit(rows, LABELS)
    assert "name_weight" not in of_numbers.report_
    assert np.array_equal(of_numbers.decision_function(rows), without.decision_function(rows))


def test_labels_of_words_are_their_own_names() -> None:
    labels = [ANIMALS[i % 4] for i in range(36)]
    edges = [("vertebrates", animal) for animal in ANIMALS] + [("arthropods", "insects")]
    model = LevelSVC(hierarchy=edges).fit(TEXTS, labels)
    assert model.report_["name_weight"] > 0
    assert list(model.predict(["insects", "small dogs"])) == ["insects", "dogs"]
    flat = FlatSVC(match_names=True).fit(TEXTS, labels)
    assert flat.report_["name_weight"] > 0


def test_names_are_those_of_a_language_or_given(tmp_path: Path) -> None:
    path = tmp_path / "animals.ttl"
    path.write_text(VOCABULARY)
    assert Hierarchy.read(path).names == (*ANIMALS, "beetles")
    assert Hierarchy.read(path, language="fi").names[0] == "nimi 0"
    nodes = [*(f"x:{k}" for k in range(4)), "new"]
    given = Hierarchy(tuple(nodes), (), names=(*ANIMALS, "insects"))
    model = FlatSVC(hierarchy=given, match_names=True).fit(TEXTS, LABELS)
    assert model.predict(["insects"])[0] == "new"


def test_what_lacks_names_or_texts_is_refused() -> None:
    nameless = Hierarchy(tuple(f"x:{k}" for k in range(4)), ())
    with pytest.raises(ValueError, match="match_names is given, but the labels have no names"):
        FlatSVC(hierarchy=nameless, match_names=True).fit(TEXTS, LABELS)
    with pytest.raises(ValueError, match="match_names is given, but rows are not texts"):
        FlatSVC(match_names=True).fit([[1.0], [2.0]], ["a", "b"])
    with pytest.raises(ValueError, match="match_names is 'None', but must be one of auto, true"):
        LevelSVC(match_names=None).fit(TEXTS, LABELS)  # type: ignore[arg-type]
    few = Hierarchy(nameless.nodes, (), names=("dogs",))
    with pytest.raises(ValueError, match="names of 1 nodes, but must be of none or all 4"):
        FlatSVC(hierarchy=few, match_names=True).fit(TEXTS, LABELS)


@pytest.mark.parametrize("has_edges", [True, False])
def test_names_of_a_dict_are_those_of_a_file(has_edges: bool, tmp_path: Path) -> None:
    path = tmp_path / "animals.obo"
    terms = [f"[Term]\nid: x:{k}\nname: {name}\n" for k, name in enumerate([*ANIMALS, "beetles"])]
    if has_edges:
        terms = ["[Term]\nid: r\n", *(f"{term}is_a: r\n" for term in terms)]
    terms[-1] += 'synonym: "insects" EXACT []\n'
    path.write_text("format-version: 1.2\n" + "".join(terms))
    names: dict[str, Any] = {f"x:{k}": name for k, name in enumerate(ANIMALS)}
    names["x:4"] = ["beetles", "insects"]
    if has_edges:
        hierarchy = Hierarchy.of([("r", f"x:{k}") for k in range(5)]).with_names(names)
    else:
        hierarchy = Hierarchy.of_names(names)
    of_dict = FlatSVC(hierarchy=hierarchy, match_names=True).fit(TEXTS, LABELS)
    of_file = FlatSVC(hierarchy=path, match_names=True).fit(TEXTS, LABELS)
    assert list(of_dict.predict(["insects", "small dogs"])) == ["x:4", "x:0"]
    assert of_dict.report_["name_weight"] == of_file.report_["name_weight"]
    of_dict.save(tmp_path / "dict")
    of_file.save(tmp_path / "file")
    assert (tmp_path / "dict").read_bytes() == (tmp_path / "file").read_bytes()


def test_names_of_some_nodes_replace_theirs_and_the_others_stay() -> None:
    given = Hierarchy(("a", 1), (("a", 1),), names=("Alpha", "one"))
    assert given.with_names({np.int64(1): ["uno", "eins"]}).names == ("Alpha", "uno\neins")
    assert given.with_names({"1": []}).names == ("Alpha", "")
    assert given.names == ("Alpha", "one")
    assert Hierarchy.of({"b": "a"}).with_names({"b": "Beta"}).names == ("", "Beta")
    assert Hierarchy.of_names({"a": "Alpha", 2: []}) == Hierarchy(("a", 2), ())


def test_names_need_nodes_and_texts() -> None:
    given = Hierarchy(("a",), ())
    with pytest.raises(ValueError, match="names are given for 'z', which must be a node of it"):
        given.with_names({"z": "Zeta"})
    with pytest.raises(ValueError, match="a name of 'a' is 3, but must be a str"):
        given.with_names({"a": ["Alpha", 3]})  # type: ignore[list-item]
