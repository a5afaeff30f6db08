"""Two built-in models once more, in Python, for tests and bench/own_model_speed.py."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator


class MultiClass(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """One row of weights per class; the loss is an entry of a matrix."""

    def __init__(self, costs: Any) -> None:
        self.costs = costs

    def joint_feature(self, x: Any, y: int) -> Any:
        phi = np.zeros((len(self.costs), len(x)))
        phi[y] = x
        return phi.ravel()

    def loss(self, y: int, y_hat: int) -> float:
        return float(self.costs[y, y_hat])

    def argmax(self, x: Any, w: Any, truth: int | None, w_m: float, w_g: float) -> int:
        values = w_m * w.reshape(len(self.costs), -1) @ x
        if truth is not None:
            values = values + w_g * self.costs[truth]
        return int(np.argmax(values))


class Chain:
    """Tags of tokens, with the weights of the built-in chain; Viterbi's algorithm."""

    def __init__(self, num_tags: int) -> None:
        self.K = num_tags

    def joint_feature(self, x: Any, y: Any) -> Any:
        y = np.asarray(y)
        tokens = np.zeros((x.shape[1], self.K))
        np.add.at(tokens.T, y, x)
        pairs, ends = np.zeros((self.K, self.K)), np.zeros((2, self.K))
        np.add.at(pairs, (y[:-1], y[1:]), 1.0)
        ends[0, y[0]] = ends[1, y[-1]] = 1.0
        return np.concatenate([tokens.ravel(), pairs.ravel(), ends.ravel()])

    def loss(self, y: Any, y_hat: Any) -> float:
        return float(np.sum(np.asarray(y) != np.asarray(y_hat)))

    def argmax(self, x: Any, w: Any, truth: Any, w_m: float, w_g: float) -> tuple[int, ...]:
        K, T = self.K, len(x)
        tokens, pairs, ends = np.split(w_m * w, [x.shape[1] * K, x.shape[1] * K + K * K])
        nodes = x @ tokens.reshape(-1, K)
        if truth is not None:
            nodes += w_g
            nodes[np.arange(T), np.asarray(truth)] -= w_g
        nodes[0] += ends[:K]
        nodes[-1] += ends[K:]
        best, back = nodes[0], []
        for t in range(1, T):
            through = best[:, None] + pairs.reshape(K, K)
            back.append(np.argmax(through, axis=0))
            best = through.max(axis=0) + nodes[t]
        tags = [int(np.argmax(best))]
        for step in reversed(back):
            tags.append(int(step[tags[-1]]))
        return tuple(reversed(tags))


def letter_features(words: str, letters: str) -> Any:
    """The features that the built-in chain makes of tokens of one letter."""
    rows = []
    for t, word in enumerate(words):
        found = ["bias", f"w={word}", f"form={word}", "s=x"]
        for distance in (-2, -1, 1, 2):
            if 0 <= t + distance < len(words):
                found += [f"w{distance}={words[t + distance]}", f"s{distance}"]
            elif abs(distance) == 1:
                found.append(f"edge{distance}")
        rows.append(found)
    every = ["bias", *(f"{k}={word}" for k in ("w", "form") for word in letters), "s=x"]
    for distance in (-2, -1, 1, 2):
        every += [f"w{distance}={word}" for word in letters] + [f"s{distance}"]
    every += ["edge-1", "edge1"]
    names = {name: k for k, name in enumerate(every)}
    return np.array([np.bincount([names[f] for f in row], minlength=len(names)) for row in rows])
