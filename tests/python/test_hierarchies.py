"""Hierarchies in all their forms, and what estimators say of them."""

from pathlib import Path
from typing import Any

import cvxpy as cp
import margrove
import numpy as np
import pytest
import scipy.sparse as sp
from margrove import HSVC, NHSVC, FlatSVC, Hierarchy, SharedSVC, read_annotations

EDGES = [("root", "a"), ("root", "b"), ("a", "a1"), ("a", "a2")]


class Frame:
    """What pandas' frames have of a frame."""

    def __init__(self, cells: list[list[Any]]) -> None:
        self.cells = np.array(cells, dtype=object)
        self.columns = range(self.cells.shape[1])

    def to_numpy(self) -> Any:
        return self.cells


class Graph:
    """What networkx' graphs have of a graph."""

    def __init__(self, directed: bool = True) -> None:
        self.directed = directed

    def is_directed(self) -> bool:
        return self.directed

    def edges(self) -> list[tuple[str, str]]:
        return EDGES

    def nodes(self) -> list[str]:
        return ["root", "a", "b", "a1", "a2", "lonely"]


@pytest.mark.parametrize(
    "given",
    [
        EDGES,
        np.array(EDGES),
        {"root": None, "a": "root", "b": "root", "a1": "a", "a2": "a"},
        {"root": ["a", "b"], "a": ("a1", "a2")},
        Frame([["root", "a", "a1"], ["root", "a", "a2"], ["root", "b", None]]),
        Frame([["root", "b", float("nan")], ["root", "a", "a2"], ["root", "a", "a1"]]),
        [["root", "a", "a1"], ["root", "a", "a2"], ["root", "b"]],
        Graph(),
    ],
    ids=["pairs", "array", "parents", "children", "paths", "gaps", "lists", "graph"],
)
def test_every_form_gives_the_same_edges(given: Any) -> None:
    assert set(Hierarchy.of(given).edges) == set(EDGES)


def test_a_file_gives_its_edges(tmp_path: Path) -> None:
    path = tmp_path / "tree.txt"
    path.write_text("".join(f"{p} {c}\n" for p, c in EDGES), encoding="utf-8")
    assert set(Hierarchy.of(path).edges) == set(EDGES)
    assert set(Hierarchy.of(str(path)).edges) == set(EDGES)
    path.write_text("root\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"tree\.txt:1"):
        Hierarchy.of(path)


def test_names_in_files_may_have_blanks_between_tabs(tmp_path: Path) -> None:
    path = tmp_path / "tree.txt"
    path.write_text("all things\tGarden, home\nall things\tBooks\n", encoding="utf-8")
    model = NHSVC(hierarchy=path, C=10).fit(np.eye(2), ["Garden, home", "Books"])
    assert model.predict_paths(np.eye(2)) == [
        ["all things", "Garden, home"],
        ["all things", "Books"],
    ]


def test_networkx_and_pandas_are_understood() -> None:
    networkx = pytest.importorskip("networkx")
    pandas = pytest.importorskip("pandas")
    assert set(Hierarchy.of(networkx.DiGraph(EDGES)).edges) == set(EDGES)
    frame = pandas.DataFrame([["root", "a", "a1"], ["root", "a", "a2"], ["root", "b", None]])
    assert set(Hierarchy.of(frame).edges) == set(EDGES)


def test_polars_frames_of_paths_are_understood() -> None:
    polars = pytest.importorskip("polars")
    rows = [["root", "a", "a1"], ["root", "a", "a2"], ["root", "b", None]]
    frame = polars.DataFrame(rows, schema=["top", "middle", "bottom"], orient="row")
    assert set(Hierarchy.of(frame).edges) == set(EDGES)


def test_nodes_without_edges_are_kept() -> None:
    assert "lonely" in Hierarchy.of(Graph()).nodes
    assert Hierarchy.of({"one": []}).nodes == ("one",)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (5, "hierarchy: it is a int, but must be"),
        ([("a", "b"), ("c",)], r"edge 1 is \('c',\), but must be a pair"),
        ([("a", None)], "must name two nodes"),
        (Graph(directed=False), "undirected"),
        (Frame([["a", None, "b"]]), "row 0 is .* must be a path without gaps"),
        (
            Frame([["Books", "New"], ["Books", "Accessories"], ["Phones", "Accessories"]]),
            "'Accessories' is below 'Books' in row 1 and below 'Phones' in row 2; give the paths",
        ),
        (Frame([["a", "b"], ["b", "c"]]), "'b' is below 'a' in row 0 and a root in row 1"),
    ],
)
def test_what_is_no_hierarchy_is_named(given: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Hierarchy.of(given)


def test_a_cycle_is_named() -> None:
    X, y = np.eye(4), ["a", "b", "c", "a"]
    with pytest.raises(ValueError, match="cycle"):
        NHSVC(hierarchy=[("a", "b"), ("b", "c"), ("c", "a")]).fit(X, y)


def labelled(names: list[Any], copies: int = 5) -> tuple[sp.csr_array, list[Any]]:
    X = sp.csr_array(np.tile(np.eye(len(names), dtype=np.float32), (copies, 1)))
    return X, names * copies


def test_paths_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(ValueError, match="'b' is below 'a' in row 0 and a root in row 1"):
        Hierarchy.of([("a", "b", "c"), ("b", "d")])


def test_models_of_paths_answer_with_paths_after_loading(tmp_path: Path) -> None:
    paths = [["Books", "Parts > bits"], ["Phones", "Parts \\>"], ["Phones", "Parts > bits"]]
    kind = np.arange(30) % 3
    X, y = np.eye(3)[kind], [paths[k] for k in kind]
    model = NHSVC().fit(X, y)
    model.save(tmp_path / "paths.model")
    loaded = margrove.load(tmp_path / "paths.model")
    assert loaded.predict(X) == model.predict(X) == y
    assert loaded.score(X, y) == 1.0


def test_paths_lead_from_the_root_to_the_label() -> None:
    X, y = labelled(["a1", "a2", "b"])
    model = NHSVC(hierarchy=EDGES, C=10).fit(X, y)
    assert model.predict_paths(X[:3]) == [["root", "a", "a1"], ["root", "a", "a2"], ["root", "b"]]
    assert FlatSVC().fit(X, y).predict_paths(X[:1]) == [["a1"]]


def test_paths_in_a_dag_hold_all_ancestors_once() -> None:
    edges = [("r", "p"), ("r", "q"), ("p", "both"), ("q", "both"), ("q", "other")]
    X, y = labelled(["both", "other"])
    path = HSVC(hierarchy=edges, C=10).fit(X, y).predict_paths(X[:1])[0]
    assert path[0] == "r"
    assert path[-1] == "both"
    assert sorted(path) == ["both", "p", "q", "r"]


def test_numbers_as_labels_match_the_hierarchys_numbers() -> None:
    X, y = labelled([11, 12, 20])
    model = NHSVC(hierarchy=[(1, 11), (1, 12), (2, 20)], C=10).fit(X, np.array(y))
    assert model.predict_paths(X[:3]) == [[1, 11], [1, 12], [2, 20]]


def test_rows_labelled_with_inner_nodes_are_predicted_there() -> None:
    X, y = labelled(["a", "a1", "b"])
    model = NHSVC(hierarchy=EDGES, C=100).fit(X, y)
    assert model.predict(X[:3]).tolist() == ["a", "a1", "b"]


def test_explanations_add_up_to_the_score() -> None:
    X, y = labelled(["a1", "a2", "b"])
    model = NHSVC(hierarchy=EDGES, C=10).fit(X, y)
    for i, explanation in enumerate(model.explain(X[:3], num_features=10)):
        assert explanation.label == y[i]
        score = model.decision_function(X[:3])[i][model.classes_.tolist().index(y[i])]
        assert explanation.score == pytest.approx(score, rel=1e-5)
        assert sum(node.score for node in explanation.nodes) == pytest.approx(score, rel=1e-5)
        for node in explanation.nodes:
            parts = sum(part.score for part in node.strongest)
            assert parts == pytest.approx(node.score, abs=1e-6)
        features = {part.feature for node in explanation.nodes for part in node.strongest}
        assert features == {i, "(intercept)"}
    assert model.explain(X[:2], label="b")[1].label == "b"
    assert str(model.explain(X[:1])[0]).startswith("label a1: score ")
    with pytest.raises(ValueError, match="label is 'nobody', but must be a label of the model"):
        model.explain(X[:1], label="nobody")


def test_top_k_is_cut_to_the_labels_with_data() -> None:
    X, y = labelled(["a1", "a2", "b"])
    labels, scores = NHSVC(hierarchy=EDGES, C=10).fit(X, y).top_k(X[:2], 7)
    assert labels.shape == scores.shape == (2, 3)
    assert labels[:, 0].tolist() == ["a1", "a2"]
    assert (np.diff(scores) <= 0).all()


CATERPILLAR = [("r", "0"), ("r", "s"), ("s", "1"), ("s", "t"), ("t", "2"), ("t", "u")]
CATERPILLAR += [("u", "3"), ("u", "4")]


@pytest.mark.parametrize("edges", [CATERPILLAR, [*CATERPILLAR, ("u", "1"), ("t", "0")]])
@pytest.mark.parametrize("C", [0.3, 10.0])
def test_shared_svc_reaches_the_optimum_over_vectors_and_node_weights(
    edges: list[tuple[str, str]], C: float
) -> None:
    rng = np.random.default_rng(5)
    X, leaf = rng.normal(size=(60, 6)), rng.integers(5, size=60)
    nodes = sorted({child for _, child in edges})
    above = {n: {n} for n in nodes}
    for parent, child in 4 * edges:
        above[child] |= above.get(parent, set())
    on_path = np.array([[n in above[str(k)] for n in nodes] for k in range(5)], dtype=float)

    U = cp.Variable((len(nodes), X.shape[1]))
    alpha = cp.Variable(len(nodes))
    scores = X @ U.T @ on_path.T
    wrong = np.arange(5) != leaf[:, None]
    losses = cp.max(scores + wrong, axis=1) - cp.sum(cp.multiply(scores, ~wrong), axis=1)
    regulariser = sum(cp.quad_over_lin(U[n], alpha[n]) / 2 for n in range(len(nodes)))
    problem = cp.Problem(
        cp.Minimize(regulariser + C * cp.sum(losses)), [alpha >= 0, on_path @ alpha <= 1]
    )
    problem.solve()

    model = SharedSVC(C=C, bias=0, hierarchy=edges, tolerance=1e-4, max_rounds=1000, scale="none")
    report = model.fit(X, leaf.astype(str)).report_
    assert report["stop"] == "converged"
    assert report["primal"] == pytest.approx(problem.value, rel=2e-4)
    assert report["dual"] <= problem.value * (1 + 1e-6)


ONTOLOGY = """format-version: 1.2
[Term]
id: GO:1
[Term]
id: GO:2
alt_id: GO:20
is_a: GO:1
[Term]
id: GO:3
is_a: GO:1
alt_id: GO:30
alt_id: GO:2
[Term]
id: GO:4
alt_id: GO:30
"""


def test_alternative_ids_of_terms_are_their_terms(tmp_path: Path) -> None:
    path = tmp_path / "go.obo"
    path.write_text(ONTOLOGY)
    # GO:30 would be two terms, GO:2 is a term itself.
    assert Hierarchy.of(path).alternatives == (("GO:20", "GO:2"),)
    X = np.array([[1, 0], [0, 1]] * 10, dtype=np.float32)
    y = np.array(["GO:20", "GO:3"] * 10)
    terms = np.array(["GO:2", "GO:3"] * 10)
    for estimator in (FlatSVC, NHSVC):
        fitted = estimator(hierarchy=path).fit(X, y)
        assert fitted.classes_.tolist() == ["GO:2", "GO:3"]
        assert fitted.predict(X).tolist() == terms.tolist()
        assert fitted.score(X, y) == fitted.score(X, terms) == 1.0
        assert margrove.report(fitted, X, y) == margrove.report(fitted, X, terms)
        fitted.save(tmp_path / "model")
        loaded = margrove.load(tmp_path / "model")
        assert loaded.hierarchy_ is not None
        assert loaded.hierarchy_.alternatives == (("GO:20", "GO:2"),)
        assert loaded.score(X, y) == 1.0
        assert margrove.report(loaded, X, y) == margrove.report(loaded, X, terms)
        assert loaded.fit(X, y).predict(X).tolist() == terms.tolist()
    sets = [{"GO:20", "GO:2"}, {"GO:3"}] * 10
    fitted = FlatSVC(hierarchy=path).fit(X, sets)
    assert fitted.predict(X) == [{"GO:2"}, {"GO:3"}] * 10
    assert fitted.score(X, sets) == 1.0
    assert margrove.metrics.hierarchical_f1(sets, fitted.predict(X), hierarchy=path) == 1.0
    assert margrove.metrics.tree_distance(y, terms, hierarchy=str(path)) == 0.0
    with pytest.raises(ValueError, match="row 1: label is 'GO:30', but must be a node of the hie"):
        FlatSVC(hierarchy=path).fit(X, ["GO:2", "GO:30"] * 10)


def test_alternatives_stand_for_one_node_of_the_hierarchy() -> None:
    X = np.array([[1, 0], [0, 1]] * 10, dtype=np.float32)
    for alternatives, says in [
        ((("x", "c"),), "hierarchy: an alternative id stands for 'c', which is no node"),
        ((("b", "a"),), "the alternative id 'b' stands for a label already"),
        ((("x", "a"), ("x", "b")), "the alternative id 'x' stands for a label already"),
    ]:
        hierarchy = Hierarchy(("a", "b"), (("a", "b"),), alternatives)
        with pytest.raises(ValueError, match=says):
            FlatSVC(hierarchy=hierarchy).fit(X, ["a", "b"] * 10)
    numbers = Hierarchy((1, 2), ((1, 2),), ((20, 2),))
    fitted = FlatSVC(hierarchy=numbers).fit(X, [1, 20] * 10)
    assert fitted.classes_.tolist() == [1, 2]
    assert fitted.score(X, [1, 20] * 10) == 1.0
    assert margrove.metrics.tree_distance([20], [2], hierarchy=numbers) == 0.0


def test_obo_is_read_with_part_of_and_warnings(tmp_path: Path) -> None:
    path = tmp_path / "go.obo"
    path.write_text("[Term]\nid: a\n[Term]\nid: b\nrelationship: part_of a\n")
    assert Hierarchy.of(path).edges == Hierarchy.read(path).edges == ()
    assert Hierarchy.read(path, part_of=True).edges == (("a", "b"),)
    path.write_text("[Term]\nid: a\nis_a: c\n[Term]\nid: b\nis_a: a\n")
    with pytest.warns(UserWarning, match="go.obo:3:7: parent is 'c'.* 1 edge to such parents"):
        assert Hierarchy.of(path).edges == (("a", "b"),)


def test_a_list_of_paths_is_a_file_of_a_hierarchy(tmp_path: Path) -> None:
    path = tmp_path / "taxonomy.txt"
    path.write_text("1 - A\n2 - A > B\n")
    assert Hierarchy.of(path).edges == (("1", "2"),)


def test_annotations_are_the_terms_of_objects(tmp_path: Path) -> None:
    path = tmp_path / "genes.gaf"
    line = "DB\t{}\tn\t\t{}\tR\t{}\t\t{}\t\t\tgene\ttaxon:1\t20260101\tDB\n"
    lines = [("g1", "x", "EXP", "F"), ("g1", "y", "IEA", "P"), ("g2", "x", "EXP", "F")]
    path.write_text("".join(line.format(*fields) for fields in lines))
    assert read_annotations(path) == {"g1": ["x", "y"], "g2": ["x"]}
    assert read_annotations(path, evidence=["IEA"]) == {"g1": ["y"]}
    assert read_annotations(path, aspects="F") == {"g1": ["x"], "g2": ["x"]}
    with pytest.raises(ValueError, match="evidence: it is 'IEA', but must be a list of codes"):
        read_annotations(path, evidence="IEA")
    path.write_text(path.read_text() + "x\n")
    with pytest.warns(UserWarning, match=r"genes.gaf:4:2: .*; 1 of 4 lines left out"):
        assert len(read_annotations(path)) == 2
