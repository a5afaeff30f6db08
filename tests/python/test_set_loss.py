"""The task losses of label sets: set_loss of HSVC and NHSVC."""

from typing import Any

import numpy as np
import pytest
from margrove import HSVC, NHSVC

TREE = [("a", "c"), ("a", "d"), ("b", "e"), ("b", "f")]
DAG = [*TREE, ("b", "d")]


def label_sets(seed: int = 0) -> tuple[Any, list[set[str]]]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(40, 6)).astype(np.float32)
    scores = X[:, :4] + 0.3 * random.normal(size=(40, 4))
    y = [{"cdef"[k] for k in np.flatnonzero(row > 0)} or {"c"} for row in scores]
    return X, y


@pytest.mark.parametrize("hierarchy", [TREE, DAG])
@pytest.mark.parametrize("estimator", [HSVC, NHSVC])
def test_each_loss_is_a_problem_of_its_own_with_a_certified_optimum(
    estimator: Any, hierarchy: list[tuple[str, str]]
) -> None:
    X, y = label_sets()
    how: Any = {"hierarchy": hierarchy, "C": 1.0, "tolerance": 1e-3, "decision": "argmax"}
    objectives = set()
    for loss in ("leaves", "nodes", "normalized"):
        bans = {"max_bans": 100} if loss == "normalized" else {}
        model = estimator(set_loss=loss, **how, **bans).fit(X, y)
        assert model.report_["stop"] == "converged", loss
        assert model.report_["relative_gap"] <= 1e-3
        assert np.mean([set(a) == set(b) for a, b in zip(model.predict(X), y, strict=True)]) > 0.4
        objectives.add(round(model.report_["primal"], 6))
    assert len(objectives) == 3
    assert objectives == {
        *objectives,
        round(estimator(**how).fit(X, y).report_["primal"], 6),  # leaves
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"surrogate": "slack"}, "set_loss is normalized, which needs surrogate margin, but"),
        ({"inference": "relaxed"}, "set_loss is normalized, but inference is relaxed"),
        ({"set_loss": "edges"}, "set_loss is 'edges', but must be one of leaves, nodes"),
    ],
)
def test_options_that_do_not_go_together_are_errors(options: dict[str, Any], message: str) -> None:
    X, y = label_sets()
    how: Any = {"hierarchy": TREE, "set_loss": "normalized"} | options
    with pytest.raises(ValueError, match=message):
        NHSVC(**how).fit(X, y)


def test_rows_with_one_label_have_a_loss_of_paths() -> None:
    X, y = label_sets()
    with pytest.raises(ValueError, match="set_loss is nodes, but every row has one label"):
        NHSVC(hierarchy=TREE, set_loss="nodes").fit(X, [min(labels) for labels in y])
