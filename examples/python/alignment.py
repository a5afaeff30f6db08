"""Aligns two texts: learns the costs of substitutions and gaps from alignments that are known.

y is the path of an alignment, a text of M (match or substitution), D (gap in b) and I (gap in a).
f(x, y) weighs equal letters, vowels for vowels, other substitutions and gaps. The loss counts the
pairs of positions that are aligned in one of the two paths only, the letters of a counted once.
"""

import numpy as np
from margrove.structured import StructuredSVM

VOWELS = set("aeiou")


def kind(a, b):
    return 0 if a == b else 1 if a in VOWELS and b in VOWELS else 2


def partners(path):
    """For each letter of a, its position in b, or -1."""
    found, j = [], 0
    for step in path:
        if step != "I":
            found.append(j if step == "M" else -1)
        j += step != "D"
    return np.array(found)


class Alignment:
    def joint_feature(self, x, y):
        (a, b), counts, i, j = x, np.zeros(4), 0, 0
        for step in y:
            counts[kind(a[i], b[j]) if step == "M" else 3] += 1
            i, j = i + (step != "I"), j + (step != "D")
        return counts

    def loss(self, y, y_hat):
        return np.sum(partners(y) != partners(y_hat))

    def argmax(self, x, w, truth, w_m, w_g):  # Needleman and Wunsch
        a, b = x
        wrong = np.zeros((len(a), len(b) + 1))  # what it costs to align i with j; the last: a gap
        if truth is not None:
            wrong += w_g
            wrong[np.arange(len(a)), partners(truth)] -= w_g
        best = {(0, 0): (0.0, "")}
        for i in range(len(a) + 1):
            for j in range(len(b) + 1):
                ways = []
                if i and j:
                    gain = w_m * w[kind(a[i - 1], b[j - 1])] + wrong[i - 1, j - 1]
                    ways.append((best[i - 1, j - 1][0] + gain, "M", (i - 1, j - 1)))
                if i:
                    gain = w_m * w[3] + wrong[i - 1, -1]
                    ways.append((best[i - 1, j][0] + gain, "D", (i - 1, j)))
                if j:
                    ways.append((best[i, j - 1][0] + w_m * w[3], "I", (i, j - 1)))
                if ways:
                    value, step, start = max(ways)
                    best[i, j] = value, best[start][1] + step
        return best[len(a), len(b)][1]


def words(size, seed):
    """Words, and what is left of them after sound changes: vowels shift, letters are lost."""
    random = np.random.default_rng(seed)
    X, Y = [], []
    while len(X) < size:
        a, b, path = "".join(random.choice(list("aeioumnrst"), size=7)), "", ""
        for letter in a:
            if random.random() < 0.2:
                path += "D"
                continue
            if random.random() < 0.1:
                b, path = b + "h", path + "I"
            shifts = letter in VOWELS and random.random() < 0.5
            b, path = b + (random.choice(sorted(VOWELS)) if shifts else letter), path + "M"
        if b:
            X.append((a, b))
            Y.append(path)
    return X, Y


X, y = words(80, seed=1)
X_test, y_test = words(100, seed=2)
model = StructuredSVM(Alignment(), C=0.05).fit(X, y)
equal, vowels, other, gap = model.coef_
print(f"order of the weights: {equal > vowels > gap > other}")
print(f"wrong letters of 7: {-model.score(X_test, y_test):.2f}")
print(f"gap {model.report_['relative_gap']:.1e}, certified: {model.report_['certified']}")
