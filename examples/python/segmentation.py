"""Separates figure and ground in images by a graph cut; colours are noisy, neighbours agree.

y is 0 or 1 for each pixel, f(x, y) = sum of <u, x_p> over the pixels with y_p = 1, plus v for each
pair of neighbours that are equal. If v >= 0, the maximum is a minimum cut. If v < 0, it is one with
every other pixel of the grid turned round, as on a chessboard: then neighbours should be equal.
"""

import numpy as np
from margrove.structured import StructuredSVM
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

SIDE = 8
PIXELS = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
LEFT = np.concatenate([PIXELS[:, :-1].ravel(), PIXELS[:-1].ravel()])  # pairs of neighbours
RIGHT = np.concatenate([PIXELS[:, 1:].ravel(), PIXELS[1:].ravel()])
CHESSBOARD = np.indices((SIDE, SIDE)).sum(axis=0).ravel() % 2
SOURCE, SINK = SIDE * SIDE, SIDE * SIDE + 1


def minimum_cut(gains, coupling):
    """The y with the largest gains · y + coupling (number of equal neighbours), coupling >= 0."""
    scale = 2**24 / (np.abs(gains).sum() + 4 * len(gains) * coupling + 1e-300)  # to whole numbers
    pixels = PIXELS.ravel()
    start = np.concatenate([np.full(len(pixels), SOURCE), pixels, LEFT, RIGHT])
    end = np.concatenate([pixels, np.full(len(pixels), SINK), RIGHT, LEFT])
    to_neighbours = np.full(2 * len(LEFT), coupling)
    capacity = np.concatenate([np.maximum(gains, 0), np.maximum(-gains, 0), to_neighbours])
    whole = np.rint(scale * capacity).astype(np.int32)
    graph = csr_array((whole, (start, end)), shape=(SINK + 1, SINK + 1))
    rest = csr_array(graph - maximum_flow(graph, SOURCE, SINK).flow)
    rest.eliminate_zeros()
    y = np.zeros(SINK + 1, dtype=int)
    y[breadth_first_order(rest, SOURCE, return_predecessors=False)] = 1
    return y[:SOURCE]


class Segmentation:
    def joint_feature(self, x, y):
        return np.append(y @ x, np.sum(y[LEFT] == y[RIGHT]))

    def loss(self, y, y_hat):
        return np.sum(y != y_hat)

    def argmax(self, x, w, truth, w_m, w_g):
        gains, coupling = w_m * (x @ w[:-1]), w_m * w[-1]
        if truth is not None:
            gains = gains + w_g * (1 - 2 * truth)
        if coupling >= 0:
            return minimum_cut(gains, coupling)
        turned = minimum_cut(np.where(CHESSBOARD, -gains, gains), -coupling)
        return turned ^ CHESSBOARD


def images(size, seed):
    """Discs on a ground; a colour of three numbers and a constant for each pixel."""
    random = np.random.default_rng(seed)
    rows, columns = np.indices((SIDE, SIDE))
    X, Y = [], []
    for _ in range(size):
        (i, j), radius = random.uniform(1, SIDE - 2, size=2), random.uniform(1.5, 3.5)
        y = ((rows - i) ** 2 + (columns - j) ** 2 < radius**2).astype(int).ravel()
        colours = np.outer(y, [1.0, -0.5, 0.5]) + random.normal(size=(SIDE * SIDE, 3))
        X.append(np.column_stack([colours, np.ones(SIDE * SIDE)]))
        Y.append(y)
    return X, Y


class Pixels(Segmentation):
    """The same without neighbours."""

    def joint_feature(self, x, y):
        return np.append(y @ x, 0)


X, y = images(40, seed=1)
X_test, y_test = images(100, seed=2)
for model in (Pixels(), Segmentation()):
    fitted = StructuredSVM(model, C=0.01).fit(X, y)
    print(
        f"{type(model).__name__}: {-fitted.score(X_test, y_test):.1f} of 64 pixels wrong", end=", "
    )
    print(f"gap {fitted.report_['relative_gap']:.0e}, certified: {fitted.report_['certified']}")
