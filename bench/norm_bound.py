#!/usr/bin/env python3
"""What a search for the most violating leaf could skip by a norm bound.

bench/norm_bound.py MODEL TRAIN [rows = 200]

MODEL is a single-label hsvm or nhsvm on a tree, TRAIN its training rows (--tfidf or plain numbers).
Below a node no leaf has more than  score of the path so far + ||x|| B,  B the largest norm of the
weights' sum along a path from there down to a leaf. The search knows the largest score from the
start, which no real one does, and skips every subtree that the bound rules out: no search by this
bound scores fewer nodes. A loss makes it no easier. Printed: the share of nodes that it scores.
"""

import json
import pathlib
import struct
import sys
from typing import Any

import numpy as np
from scipy import sparse


def read_model(path: pathlib.Path) -> tuple[dict[str, Any], dict[str, str]]:
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + size])
    metadata = header.pop("__metadata__")
    types = {"F32": "<f4", "F64": "<f8", "I64": "<i8", "U32": "<u4", "U8": "u1", "U64": "<u8"}
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        values = np.frombuffer(data[begin:end], dtype=types[entry["dtype"]])
        tensors[name] = values.reshape(entry["shape"])
    return tensors, metadata


def read_rows(path: pathlib.Path, num_features: int, limit: int) -> sparse.csr_matrix:
    columns, values, pointers = [], [], [0]
    for line in path.read_text(encoding="utf-8").splitlines():
        if ":" not in line:
            continue
        for pair in line.split()[1:]:
            column, value = pair.split(":")
            columns.append(int(column) - 1)
            values.append(float(value))
        pointers.append(len(columns))
        if len(pointers) > limit:
            break
    return sparse.csr_matrix((values, columns, pointers), (len(pointers) - 1, num_features))


def weights_of(tensors: dict[str, Any], num_nodes: int) -> sparse.csr_matrix:
    if "linear.weights.dense" in tensors:
        return sparse.csr_matrix(tensors["linear.weights.dense"])
    names = ("values", "columns", "row_pointers")
    parts = [tensors[f"linear.weights.{name}"] for name in names]
    return sparse.csr_matrix(tuple(parts), (len(parts[2]) - 1, num_nodes))


def prepare(
    X: sparse.csr_matrix, tensors: dict[str, Any], metadata: dict[str, str]
) -> sparse.csr_matrix:
    if "preprocessing.idf" in tensors:
        if metadata.get("preprocessing.sublinear_tf", "true") == "true":
            X.data = 1 + np.log(X.data)
        X = X @ sparse.diags(tensors["preprocessing.idf"].astype(float))
        X = sparse.diags(1 / np.sqrt(np.asarray(X.multiply(X).sum(1)).ravel())) @ X
    bias = float(metadata["linear.bias"])
    return sparse.hstack([X, np.full((X.shape[0], 1), bias)]).tocsr() if bias > 0 else X


class Tree:
    def __init__(self, edges: Any, num_nodes: int):
        self.children: list[list[int]] = [[] for _ in range(num_nodes)]
        is_root = np.ones(num_nodes, dtype=bool)
        for parent, child in edges.astype(int):
            self.children[parent].append(child)
            is_root[child] = False
        self.roots = [int(n) for n in np.flatnonzero(is_root)]
        self.order = list(self.roots)  # parents first
        for n in self.order:
            self.order.extend(self.children[n])

    def reach(self, U: sparse.csr_matrix) -> Any:
        """Largest norm of a sum of weights along a path down to a leaf, of each node."""
        by_node = U.tocsc().astype(float)
        reach = np.zeros(len(self.children))
        for top in self.order:
            stack = [(top, by_node[:, top])]
            while stack:
                n, total = stack.pop()
                if not self.children[n]:
                    reach[top] = max(reach[top], np.sqrt(total.multiply(total).sum()))
                stack.extend((c, total + by_node[:, c]) for c in self.children[n])
        return reach

    def best(self, node_scores: Any) -> float:
        path = np.array(node_scores, dtype=float)
        for n in self.order:
            for c in self.children[n]:
                path[c] += path[n]
        return float(max(path[n] for n in self.order if not self.children[n]))

    def count_scored(self, node_scores: Any, bounds: Any, best: float) -> int:
        scored, queue = 0, [(n, 0.0) for n in self.roots]
        while queue:
            n, above = queue.pop()
            if above + bounds[n] > best:
                scored += 1
                queue.extend((c, above + node_scores[n]) for c in self.children[n])
        return scored


def main() -> None:
    tensors, metadata = read_model(pathlib.Path(sys.argv[1]))
    num_nodes = len(tensors["linear.label_of_node"])
    U = weights_of(tensors, num_nodes)
    num_features = U.shape[0] - (float(metadata["linear.bias"]) > 0)
    rows = read_rows(pathlib.Path(sys.argv[2]), num_features, int((sys.argv[3:] or ["200"])[0]))
    X = prepare(rows, tensors, metadata)
    tree = Tree(tensors["linear.graph.edges"], num_nodes)
    reach = tree.reach(U)
    scores = (X @ U).toarray()
    norms = np.sqrt(np.asarray(X.multiply(X).sum(1)).ravel())
    shares = [
        tree.count_scored(own, norm * reach, tree.best(own)) / num_nodes
        for own, norm in zip(scores, norms, strict=True)
    ]
    print(
        f"{100 * np.mean(shares):.1f} % of {num_nodes} nodes scored on average, "
        f"median {100 * np.median(shares):.1f} %"
    )


if __name__ == "__main__":
    main()
