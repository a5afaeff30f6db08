"""The objective of each method, written out over all labellings of small problems.

`objective(model, data, folder)` gives the problem that the model's metadata and its training file
describe, and the model's own weights in it. What a method or an option does that is not written
here is a ValueError, never a guess.
"""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tools.convex_bounds import Array, Example, LogSumExp, Psi, logistic, squared_hinge, surrogate
from tools.label_graphs import Graph
from tools.model_reader import Model

HINGE = surrogate("margin")
MOST_LABELLINGS = 4096
LEAST_NODE_WEIGHT = 1e-8
LARGEST_OFFSET = 100  # relative to the weights of a node, in whose 32-bit intercept it is
Rows = list[tuple[list[str], dict[int, float]]]  # labels and features
Piece = tuple[int, Array, Array, Psi]  # row, pieces x nodes, g, psi


@dataclass
class Objective:
    """min 1/2 |v|^2 + examples; v is the model's point. Of several, the sum over the parts."""

    examples: list[Example]
    v: Array


def read_rows(path: Path) -> Rows:
    rows = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line:
            continue  # not a row
        first, _, rest = line.partition(" ")
        cells = (cell.split(":") for cell in rest.split())
        rows.append(
            ([name for name in first.split(",") if name], {int(j) - 1: float(x) for j, x in cells})
        )
    # Where rows have one label each, training leaves out those without.
    if max((len(labels) for labels, _ in rows), default=0) == 1:
        rows = [row for row in rows if row[0]]
    return rows


def matrix(model: Model, rows: Rows, num_columns: int, bias: float) -> Array:
    """Rows after the model's preprocessing, with the constant feature if there is one."""
    X = np.zeros((len(rows), num_columns))
    for i, (_, features) in enumerate(rows):
        for j, value in features.items():
            if j < num_columns:
                X[i, j] = np.float32(value)
    kind = model.metadata["preprocessing.kind"]
    if kind == "scale":
        centre = model.tensors["preprocessing.centre"]
        spread = model.tensors["preprocessing.spread"]
        used = spread > 0
        X = np.where(used, (X - centre) / np.where(used, spread, 1), 0).astype(np.float32)
    elif kind == "normalize":
        norms = np.sqrt((X * X).sum(axis=1, keepdims=True))
        X = (X / np.where(norms > 0, norms, 1)).astype(np.float32)
    elif kind != "none":
        raise ValueError(f"preprocessing {kind} is not written out here")
    X = X.astype(float)
    return np.hstack([X, np.full((len(rows), 1), bias)]) if bias > 0 else X


def loss_weight(model: Model) -> float:
    strength = float(model.option("lambda", "0") or 0)
    return 1 / (2 * strength) if strength > 0 else float(model.option("C"))


# Hierarchies ------------------------------------------------------------------------------------


def indicator(nodes: Iterable[int], size: int) -> Array:
    out = np.zeros(size)
    out[list(nodes)] = 1
    return out


class LinearParts:
    """What a model of kind linear says of its problem."""

    def __init__(self, model: Model, data: Path, prefix: str = "linear") -> None:
        self.model = model
        self.W = model.weights(prefix)
        self.num_nodes = self.W.shape[1]
        self.bias = float(model.metadata.get(f"{prefix}.bias", "0"))
        rows = read_rows(data)
        self.label_of_node = model.tensors[f"{prefix}.label_of_node"].astype(int)
        self.graph = Graph(self.num_nodes, model.tensors[f"{prefix}.graph.edges"])
        alpha = model.tensors.get(f"{prefix}.alpha")
        self.alpha = np.ones(self.num_nodes) if alpha is None else alpha.astype(float)
        if np.any((self.alpha > 0) & (self.alpha < LEAST_NODE_WEIGHT)):
            raise ValueError("32-bit weights do not hold the part of a node of so little weight")
        labels = model.texts("labels")
        self.candidates = model.tensors[f"{prefix}.candidates"].astype(int)
        node_of = {labels[self.label_of_node[n]]: int(n) for n in self.candidates}
        self.is_flat = not len(model.tensors[f"{prefix}.graph.edges"])
        keeps_empty = model.metadata["method"] in ("flat-svm", "flat-lr")
        self.rows = [row for row in rows if row[0] or keeps_empty]
        self.unknown: dict[int, tuple[int, frozenset[int]]] = {}  # see settle_partial_labels()
        if model.option("partial_labels") == "true":
            self.settle_partial_labels(labels, node_of)
        self.sets = [frozenset(node_of[name] for name in labels) for labels, _ in self.rows]
        self.X = matrix(model, self.rows, self.W.shape[0] - (self.bias > 0), self.bias)
        self.C = loss_weight(model)

    def settle_partial_labels(self, labels: list[str], node_of: dict[str, int]) -> None:
        """Rows of an inner node keep the candidates below it in `unknown`, after the node itself,
        and get no label; of one candidate they get the label, and of none they are left out."""
        hierarchy = Graph(len(labels), self.model.tensors["hierarchy.edges"])
        inner = {int(label): n for n, label in enumerate(self.label_of_node)}
        kept: list[tuple[list[str], dict[int, float]]] = []
        for names, features in self.rows:
            label = labels.index(names[0])
            below = [
                name for name in node_of if label in hierarchy.above(labels.index(name))
            ]  # with the label itself
            if len(below) > 1:
                self.unknown[len(kept)] = (
                    inner.get(label, -1), frozenset(node_of[name] for name in below)
                )  # fmt: skip
            if below:
                kept.append(([] if len(below) > 1 else below, features))
        self.rows = kept

    def objective(
        self, coefficients: list[Piece], R: Array, kind: type[Example] = Example
    ) -> Objective:
        """Examples (row, pieces x nodes, g, psi) where the regulariser is 1/2 |W R|^2; R is
        invertible on the nodes with weight."""
        inverse = np.linalg.pinv(R)
        examples = [
            kind(
                self.C,
                np.einsum("kn,j->kjn", c @ inverse.T, self.X[i]).reshape(len(c), -1),
                g,
                psi,
                has_zero=psi is not logistic,
            )
            for i, c, g, psi in coefficients
        ]
        return Objective(examples, (self.W @ R).ravel())

    def score(self, i: int, nodes: frozenset[int]) -> float:
        return float(sum(self.X[i] @ self.W[:, n] for n in nodes))

    def metric(self) -> Array:
        """R of the regulariser sum_n |W_n|^2 / (2 alpha_n)."""
        return np.diag(np.where(self.alpha > 0, 1 / np.sqrt(np.maximum(self.alpha, 1e-300)), 0))


def softmax(parts: LinearParts, R: Array, paths: list[Array]) -> Objective:
    """sum over rows of the log-sum-exp over candidates of <w_l - w_y, x>."""
    pieces: list[Piece] = []
    for i, nodes in enumerate(parts.sets):
        places = [leaf in nodes for leaf in parts.candidates]
        own = paths[places.index(True)]
        others = [path - own for path, is_own in zip(paths, places, strict=True) if not is_own]
        pieces.append((i, np.array(others), np.ones(len(others)), logistic))
    return parts.objective(pieces, R, LogSumExp)


def of_labels(parts: LinearParts, loss: str, R: Array, paths: list[Array]) -> Objective:
    """The loss of all candidates of each row: of each against the rest, or of their softmax."""
    if parts.model.option("multiclass") == "softmax":
        return softmax(parts, R, paths)
    psi = {"hinge": HINGE, "squared-hinge": squared_hinge, "logistic": logistic}[loss]
    pieces = []
    for i, nodes in enumerate(parts.sets):
        _, unknown = parts.unknown.get(i, (-1, frozenset()))
        for path, leaf in zip(paths, parts.candidates, strict=True):
            if leaf in unknown:
                continue
            sign = -1.0 if leaf in nodes else 1.0  # h = -y <w, x>
            pieces.append((i, sign * path[None, :], np.ones(1), psi))
    return parts.objective(pieces, R)


def recursive(parts: LinearParts, loss: str, data: Path) -> Objective:
    """hr-svm and hr-lr: additive along paths, or a label graph's Laplacian."""
    model = parts.model
    size = parts.num_nodes
    labels = model.texts("labels")
    pairs: list[tuple[int, int]] = []
    anchors = np.zeros(size)
    if model.option("label_graph"):
        for line in (data.parent / model.option("label_graph")).read_text().splitlines():
            a, b = line.split()
            pairs.append((labels.index(a), labels.index(b)))
        for part in filter(None, model.option("anchor").split(",")):
            name, _, value = part.rpartition("=")
            anchors[labels.index(name) if name else slice(None)] = float(value)
    elif model.option("dag") == "graph" and parts.is_flat:  # on trees both are the same problem
        pairs = [(int(a), int(b)) for a, b in model.tensors["hierarchy.edges"]]
        spawned = range(len(labels), size)
        pairs += [(int(parts.label_of_node[n]), n) for n in spawned]
        anchors[list(set(range(size)) - {b for _, b in pairs})] = 1
    else:
        paths = [indicator(parts.graph.above(int(n)), size) for n in parts.candidates]
        return of_labels(parts, loss, parts.metric(), paths)
    laplacian = np.diag(anchors)
    for one, other in pairs:
        laplacian[[one, other], [one, other]] += 1
        laplacian[[one, other], [other, one]] -= 1
    laplacian += np.diag((np.abs(laplacian).sum(axis=0) == 0).astype(float))
    # LinAlgError: not bounded by anchors, so without a gap.
    R: Array = np.linalg.cholesky(laplacian).astype(float)
    return of_labels(parts, loss, R, [indicator([int(n)], size) for n in parts.candidates])


def labellings(parts: LinearParts, has_sets: bool) -> list[tuple[frozenset[int], frozenset[int]]]:
    """(leaves, all nodes) of every labelling: a leaf, or a set of leaves."""
    sizes = range(1, len(parts.graph.leaves) + 1) if has_sets else [1]
    found = []
    for size in sizes:
        for chosen in itertools.combinations(parts.graph.leaves, size):
            found.append((frozenset(chosen), parts.graph.above_all(chosen)))
            if len(found) > MOST_LABELLINGS:
                raise ValueError("too many labellings")
    return found


def paths_or_sets(parts: LinearParts, loss: str, name: str, has_sets: bool) -> Objective:
    """Structured SVMs over paths or label sets. loss: hamming, normalized, zero-one, leaves or
    nodes."""
    every = labellings(parts, has_sets)
    size = parts.num_nodes
    above = parts.graph.above_all
    pieces = []

    def task_loss(leaves: frozenset[int], truth: frozenset[int]) -> float:
        apart = above(leaves) ^ above(truth)
        return {
            "hamming": float(len(apart)),
            "nodes": float(len(apart)),
            "normalized": float(np.sqrt(parts.alpha[list(apart)].sum())),
            "zero-one": float(leaves != truth),
            "leaves": float(len(leaves ^ truth)),
        }[loss]

    for i, known in enumerate(parts.sets):
        # The leaf of a row with a partial label is the best choice at the model's weights, as in
        # the last convex problem; the loss is that to the nearest choice.
        _, unknown = parts.unknown.get(i, (-1, frozenset()))
        choices = [frozenset([n]) for n in sorted(unknown)]
        truth = max(choices, key=lambda one: parts.score(i, above(one))) if choices else known
        own = above(truth)
        C, G = [], []
        for leaves, nodes in every:
            if leaves == truth:
                continue
            g = min(task_loss(leaves, one) for one in choices or [truth])
            total = len(nodes) + len(own)
            scale = 1 / total if name == "micro-f1" else 1.0
            C.append(scale * (indicator(nodes, size) - indicator(own, size)))
            G.append(scale * g)
        psi = HINGE if name == "micro-f1" else surrogate(name)
        pieces.append((i, np.array(C), np.array(G), psi))
    return parts.objective(pieces, parts.metric())


def one_of(own: Sequence[int], nodes: Iterable[int], size: int, psi: Psi) -> list[Piece]:
    """Crammer and Singer's problem among the nodes, of which each row has one."""
    pieces = []
    for i, truth in enumerate(own):
        others = [n for n in nodes if n != truth]
        C = np.array([indicator([n], size) - indicator([truth], size) for n in others])
        pieces.append((i, C, np.ones(len(others)), psi))
    return pieces


def crammer_singer(parts: LinearParts, name: str) -> Objective:
    own = [next(iter(truth)) for truth in parts.sets]
    pieces = one_of(own, range(parts.num_nodes), parts.num_nodes, surrogate(name))
    return parts.objective(pieces, np.eye(parts.num_nodes))


def label_trees(parts: LinearParts, loss: str) -> Objective:
    """The same in each tree, whose leaves all have the labels of the rows."""
    leaves: dict[int, set[int]] = {}
    for n in parts.graph.leaves:
        leaves.setdefault(int(parts.label_of_node[n]), set()).add(n)
    parts.sets = [
        frozenset().union(*(leaves[int(parts.label_of_node[n])] for n in own)) for own in parts.sets
    ]
    return top_down(parts, loss, has_trees=True)


def top_down(parts: LinearParts, loss: str, has_trees: bool = False) -> Objective:
    """One-vs-rest among the nodes with the same parents, on the rows below these. has_trees: the
    roots have no classifiers."""
    psi = {"hinge": HINGE, "squared-hinge": squared_hinge}[loss]
    below: dict[int, set[int]] = {}
    for i, truth in enumerate(parts.sets):
        known = {parts.unknown[i][0]} if i in parts.unknown else truth
        for node in known:
            for n in parts.graph.above(node):
                below.setdefault(n, set()).add(i)
    families: dict[tuple[int, ...], list[int]] = {}
    for n in below:
        families.setdefault(tuple(sorted(parts.graph.parents[n])), []).append(n)
    if has_trees:
        del families[()]
    pieces = []
    for parents, children in families.items():
        rows = set().union(*(below[n] for n in parents or children))
        above = parts.graph.above(children[0]) - {children[0]}
        rows -= {i for i, (label, *_) in parts.unknown.items() if label in above}
        if len(children) == 1 and rows == below[children[0]]:
            continue
        for child in children:
            for i in rows:
                sign = -1.0 if i in below[child] else 1.0
                pieces.append(
                    (i, sign * indicator([child], parts.num_nodes)[None], np.ones(1), psi)
                )
    return parts.objective(pieces, np.eye(parts.num_nodes))


def of_levels(parts: LinearParts, loss: str) -> Objective:
    """At levels where each row has one node Crammer and Singer's problem, at others one-vs-rest, of
    the nodes above labels of rows; the model has v w_n, c in the intercept."""
    psi = {"hinge": HINGE, "squared-hinge": squared_hinge}[loss]
    if "linear.stack_weights" in parts.model.tensors:
        raise ValueError("the model has the sum of a stack, which cannot be taken apart")
    v = parts.model.tensors["linear.level_weights"]
    c = parts.model.tensors["linear.level_offsets"]
    above = [parts.graph.above_all(leaves) for leaves in parts.sets]
    used = sorted(frozenset().union(*above))
    levels = parts.graph.levels()
    W = np.zeros_like(parts.W)
    for n in used:
        if v[levels[n]] == 0:
            raise ValueError("the model lacks the classifiers of a level of weight 0")
        W[:, n] = parts.W[:, n]
        if parts.bias > 0:
            offset = c[levels[n]] / parts.bias
            W[-1, n] -= offset
            if abs(offset) > LARGEST_OFFSET * np.linalg.norm(W[:, n]):
                raise ValueError("32-bit intercepts do not hold what is beside so large an offset")
        W[:, n] /= v[levels[n]]
    parts.W = W
    is_joint = max(map(len, parts.sets)) == 1 and parts.model.option("multiclass") != "ovr"
    pieces: list[Piece] = []
    for level in set(levels):
        nodes = [n for n in used if levels[n] == level]
        own = [sorted(found.intersection(nodes)) for found in above]
        if is_joint and len(nodes) > 1 and all(len(found) == 1 for found in own):
            pieces += one_of([found[0] for found in own], nodes, parts.num_nodes, HINGE)
            continue
        signs = [(i, n, -1.0 if n in found else 1.0) for i, found in enumerate(own) for n in nodes]
        pieces += [(i, sign * indicator([n], parts.num_nodes)[None], np.ones(1), psi)
                   for i, n, sign in signs]  # fmt: skip
    return parts.objective(pieces, np.eye(parts.num_nodes))


# Structured models ------------------------------------------------------------------------------


def differences(
    weight: float, features: Sequence[Array], criteria: tuple[Array, Array], truth: int, name: str
) -> Example:
    """An example from the features of all its labellings, of which `truth` is the true one.
    criteria: their losses, and how many of their parts are other than nothing."""
    losses, sizes = criteria
    others = [k for k in range(len(features)) if k != truth]
    A = np.array([features[k] - features[truth] for k in others])
    A = A.reshape(len(others), len(features[truth]))
    g = losses[others]
    if name == "micro-f1":
        total = sizes[others] + sizes[truth]
        return Example(weight, A / total[:, None], g / total, HINGE)
    return Example(weight, A, g, surrogate(name))


def token_features(words: Sequence[str], t: int, clusters: dict[str, str]) -> list[str]:
    """Names of a token's features; words are single lower-case letters, clusters their paths."""
    found = ["bias", f"w={words[t]}", f"form={words[t]}", "s=x"]
    for distance in (-2, -1, 1, 2):
        sign = f"{distance:+d}"
        if 0 <= t + distance < len(words):
            found += [f"w{sign}={words[t + distance]}", f"s{sign}=x"]
        elif abs(distance) == 1:
            found.append(f"edge{sign}=")
    if t > 0:
        found.append(f"w-1w={words[t - 1]} {words[t]}")
    if t + 1 < len(words):
        found.append(f"ww+1={words[t]} {words[t + 1]}")
    for sign, at in (("-1", t - 1), ("", t), ("+1", t + 1)):
        path = clusters.get(words[at]) if 0 <= at < len(words) else None
        if path is not None:
            found += [f"b{n}{sign}={path[:n]}" for n in (4, 6, 10)] + [f"b{sign}={path}"]
    return found


def chain(model: Model, data: Path, name: str) -> Objective:
    tags = model.texts("chain.tags")
    ids = {feature: k for k, feature in enumerate(model.texts("chain.features"))}
    w = model.tensors["chain.weights"].astype(float)
    K, F = len(tags), len(ids)
    outside = tags.index("O") if "O" in tags else 0
    bias = float(model.option("bias"))
    clusters = {}
    if "chain.clusters.words.bytes" in model.tensors:
        words_of_clusters = model.texts("chain.clusters.words")
        clusters = dict(zip(words_of_clusters, model.texts("chain.clusters.paths"), strict=True))
    examples = []
    for sentence in data.read_text().strip().split("\n\n"):
        words, names = zip(*(line.split() for line in sentence.splitlines()), strict=True)
        features = []
        losses, sizes = [], []
        every = list(itertools.product(range(K), repeat=len(words)))
        own = tuple(tags.index(tag) for tag in names)
        for y in every:
            phi = np.zeros(len(w))
            for t, tag in enumerate(y):
                for feature in set(token_features(words, t, clusters)) & ids.keys():
                    phi[ids[feature] * K + tag] += bias if feature == "bias" else 1
            for a, b in itertools.pairwise(y):
                phi[F * K + a * K + b] += 1
            phi[F * K + K * K + y[0]] += 1
            phi[F * K + K * K + K + y[-1]] += 1
            if model.option("order") == "2":
                for a, b, c in zip(y, y[1:], y[2:], strict=False):
                    phi[F * K + K * K + 2 * K + (a * K + b) * K + c] += 1
            features.append(phi)
            wrong = [(a, b) for a, b in zip(y, own, strict=True) if a != b]
            # Of micro-F1, a tag for another one is a false and a missed one.
            twice = sum(name == "micro-f1" and outside not in pair for pair in wrong)
            losses.append(len(wrong) + twice)
            sizes.append(sum(tag != outside for tag in y))
        examples.append(
            differences(
                loss_weight(model),
                features,
                (np.array(losses, float), np.array(sizes, float)),
                every.index(own),
                name,
            )
        )
    return Objective(examples, w)


def pairwise_field(model: Model, data: Path, name: str) -> Objective:
    labels = model.texts("labels")
    w = model.tensors["field.weights"].astype(float)
    K, columns = len(labels), int(model.number("field.features"))
    rows = read_rows(data)
    X = matrix(model, rows, columns, model.number("field.bias"))
    scale = float(model.option("pair_scale"))
    pairs = list(itertools.combinations(range(K), 2))
    every = list(itertools.product((0, 1), repeat=K))
    w[X.shape[1] * K :] /= scale  # the model has theta, the value of the feature times its weight
    examples = []
    for (names, _), x in zip(rows, X, strict=True):
        own = tuple(int(label in names) for label in labels)
        features = []
        for y in every:
            phi = np.zeros(len(w))
            phi[: len(x) * K] = np.outer(x, y).ravel()
            for at, (k, other) in enumerate(pairs):
                phi[len(x) * K + 4 * at + 2 * y[k] + y[other]] = scale
            features.append(phi)
        losses = np.array([sum(a != b for a, b in zip(y, own, strict=True)) for y in every], float)
        sizes = np.array([sum(y) for y in every], float)
        examples.append(
            differences(loss_weight(model), features, (losses, sizes), every.index(own), name)
        )
    return Objective(examples, w)


# Which problem a model solves -------------------------------------------------------------------


def of_linear(model: Model, data: Path) -> Objective:
    method = model.metadata["method"]
    if float(model.option("intercept_penalty", "1")) == 0:
        raise ValueError("free intercepts are not written out here")
    parts = LinearParts(model, data, model.metadata["kind"])
    has_sets = any(len(known) != 1 for i, known in enumerate(parts.sets) if i not in parts.unknown)
    name = model.option("surrogate", "margin")
    if model.option("cost_matrix") or model.option("inference", "exact") != "exact":
        raise ValueError("cost matrices and relaxed inference are not written out here")
    if method == "flat-svm" and model.option("multiclass") == "crammer-singer":
        return crammer_singer(parts, name)
    loss = model.option("loss", "logistic")
    if loss == "auto":  # of flat-svm
        loss = "squared-hinge"
    if method in ("flat-svm", "flat-lr"):
        paths = [indicator([n], parts.num_nodes) for n in parts.candidates]
        return of_labels(parts, loss, np.eye(parts.num_nodes), paths)
    if method in ("hr-svm", "hr-lr"):
        return recursive(parts, loss, data)
    of_nodes = {"top-down-svm": top_down, "label-trees": label_trees, "level-svm": of_levels}
    if method in of_nodes:
        return of_nodes[method](parts, loss)
    if method == "structured":
        return paths_or_sets(parts, "nodes", name, has_sets=True)
    losses = {"hsvm": "hamming", "nhsvm": "normalized"}
    if method not in losses:
        raise ValueError(f"method {method} is not written out here")
    if name == "normalized-difference":
        losses["hsvm"] = "normalized"
    return paths_or_sets(parts, "leaves" if has_sets else losses[method], name, has_sets)


def objective(model: Model, data: Path) -> Objective:
    """Raises ValueError where the problem is not written out here."""
    kind = model.metadata["kind"]
    name = model.option("surrogate", "margin")
    if kind in ("linear", "top-down", "label-trees"):
        return of_linear(model, data)
    if kind == "chain":
        return chain(model, data, name)
    if kind == "field" and model.option("inference") == "exact":
        return pairwise_field(model, data, name)
    raise ValueError(f"models of kind {kind} are not written out here")
