"""Linear models as ONNX graphs. Needs the package onnx (`pip install margrove[onnx]`)."""

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

if TYPE_CHECKING:
    from margrove._base import Classifier

MOST_BYTES = 2**31 - 2**20  # a protocol buffer cannot be larger


def _linear_parts(estimator: "Classifier") -> Any:
    if estimator.model_.kernel_features is not None:
        raise ValueError(
            "to_onnx: the model has weights of kernel features (option kernel_features "
            f"{estimator.model_.kernel_features[0]}), not of the columns of rows"
        )
    return estimator.model_.linear_parts


def to_onnx(estimator: "Classifier") -> Any:
    """An onnx.ModelProto of a fitted linear model that gives each row one label.

    Input `X`: float32, (rows, n_features_in_), preprocessed as the model was trained. Outputs
    `scores`: float32, one column per class of classes_ as in `decision_function` (both columns also
    for two classes); `label`: the best class, int64 if all classes are integers, otherwise text.
    Weights are stored densely. Raises ValueError if they would not fit into a protocol buffer (2
    GB), or if the model is not linear in the columns of X or does not give each row one label.
    """
    try:
        import onnx
        from onnx import TensorProto, helper, numpy_helper
    except ImportError as error:
        raise ImportError("to_onnx needs the package onnx: pip install onnx") from error

    weights, bias, edges, label_of_node, candidates, gives_best = _linear_parts(estimator)
    if not gives_best:
        raise ValueError("to_onnx: the model gives label sets, but must give each row one label")
    if estimator.model_.preprocessing == "text-tfidf":
        raise ValueError("to_onnx: the model takes texts, but must take numbers")
    matrix = _dense(weights, len(label_of_node))
    rows = matrix[: estimator.n_features_in_]
    # The columns of the classes in the scores; labels that are never predicted have none.
    node_of_label = np.full(len(estimator.nodes_), -1, dtype=np.int64)
    node_of_label[label_of_node[candidates]] = candidates
    columns = node_of_label[estimator._label_of_class]
    intercept = bias * matrix[-1] if bias > 0 else np.zeros(matrix.shape[1], dtype=np.float32)

    constants = {"weights": rows, "intercept": intercept.astype(np.float32), "columns": columns}
    nodes = [
        helper.make_node("MatMul", ["X", "weights"], ["products"]),
        helper.make_node("Add", ["products", "intercept"], ["own_0"]),
    ]
    last = "own_0"
    for depth, (above, has) in enumerate(_steps(edges, len(label_of_node)), start=1):
        # Scores of paths: each node adds its parent's sum, one level after the other.
        constants |= {f"parents_{depth}": above, f"has_parent_{depth}": has}
        nodes += [
            helper.make_node("Gather", [last, f"parents_{depth}"], [f"above_{depth}"], axis=1),
            helper.make_node("Mul", [f"above_{depth}", f"has_parent_{depth}"], [f"masked_{depth}"]),
            helper.make_node("Add", [last, f"masked_{depth}"], [f"own_{depth}"]),
        ]
        last = f"own_{depth}"
    labels = estimator.classes_
    whole = labels.dtype.kind in "iu"
    constants["labels"] = labels.astype(np.int64) if whole else labels.astype(str).astype(object)
    nodes += [
        helper.make_node("Gather", [last, "columns"], ["scores"], axis=1),
        helper.make_node("ArgMax", ["scores"], ["best"], axis=1, keepdims=0),
        helper.make_node("Gather", ["labels", "best"], ["label"]),
    ]
    graph = helper.make_graph(
        nodes,
        "margrove",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, [None, rows.shape[0]])],
        [
            helper.make_tensor_value_info(
                "label", TensorProto.INT64 if whole else TensorProto.STRING, [None]
            ),
            helper.make_tensor_value_info("scores", TensorProto.FLOAT, [None, len(labels)]),
        ],
        [numpy_helper.from_array(np.ascontiguousarray(v), name) for name, v in constants.items()],
    )
    model = helper.make_model(
        graph, producer_name="margrove", opset_imports=[helper.make_opsetid("", 17)], ir_version=8
    )
    onnx.checker.check_model(model)
    return model


def _dense(weights: Any, num_nodes: int) -> NDArray[np.float32]:
    """One row per feature (and the intercept's), one column per node."""
    num_rows = len(weights) if isinstance(weights, np.ndarray) else len(weights[1]) - 1
    num_bytes = 4 * num_rows * num_nodes
    if num_bytes > MOST_BYTES:
        raise ValueError(
            f"to_onnx: dense weights would take {num_bytes / 1e9:.1f} GB, but must not take more "
            "than 2.1 GB"
        )
    if isinstance(weights, np.ndarray):
        return weights
    _, pointers, columns, values = weights
    dense: NDArray[np.float32] = sp.csr_array(
        (values, columns, pointers), shape=(num_rows, num_nodes)
    ).toarray()
    return dense


def _steps(
    edges: NDArray[np.uint32], num_nodes: int
) -> list[tuple[NDArray[np.int64], NDArray[np.float32]]]:
    """For each level from the top: the parent of each node on it, and 1 for these nodes.

    Raises ValueError for nodes with several parents.
    """
    parent = np.full(num_nodes, -1, dtype=np.int64)
    children, counts = np.unique(edges[:, 1], return_counts=True)
    if (counts > 1).any():
        raise ValueError(
            f"to_onnx: {children[counts > 1].size} nodes have several parents, but must have one"
        )
    parent[edges[:, 1]] = edges[:, 0]
    level = np.flatnonzero(parent < 0)
    steps: list[tuple[NDArray[np.int64], NDArray[np.float32]]] = []
    while True:
        level = np.flatnonzero(np.isin(parent, level))
        if not level.size:
            return steps
        has = np.zeros(num_nodes, dtype=np.float32)
        has[level] = 1
        steps.append((np.where(has > 0, parent, 0), has))
