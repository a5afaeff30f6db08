#!/usr/bin/env python3
"""Draws the output of bench_structured_curves: objective against oracle calls and CPU time, test
score against CPU time (Thesis, figures 4.7 and 4.8).

bench/structured_curves.py CURVES.tsv docs/structured_curves.svg --title "yeast, slack rescaling"
"""

import argparse
import pathlib
from collections import defaultdict

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": "margrove", "font.size": 9}
from matplotlib import pyplot  # noqa: E402

COLUMNS = ["passes", "calls", "seconds", "objective", "jaccard", "instance_f1"]
PANELS = [
    ("calls", "objective", "oracle calls per row", "objective above the best"),
    ("seconds", "objective", "CPU seconds", ""),
    ("seconds", "jaccard", "CPU seconds", "jaccard on the test rows"),
]


def thinned(points: list[dict[str, float]]) -> list[dict[str, float]]:
    """Without points that coincide with the one before on a logarithmic axis."""
    kept = [points[0]]
    for point in points[1:]:
        if point["calls"] > 1.04 * kept[-1]["calls"] or point is points[-1]:
            kept.append(point)
    return kept


def read(path: pathlib.Path) -> dict[str, list[dict[str, float]]]:
    curves = defaultdict(list)
    for line in path.read_text(encoding="utf-8").splitlines():
        solver, *values = line.split("\t")
        curves[solver].append(dict(zip(COLUMNS, map(float, values), strict=True)))
    return {solver: thinned(points) for solver, points in curves.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("curves", type=pathlib.Path)
    parser.add_argument("svg", type=pathlib.Path)
    parser.add_argument("--title", default="")
    given = parser.parse_args()
    curves = read(given.curves)
    best = min(point["objective"] for points in curves.values() for point in points)
    figure, axes = pyplot.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
    for axis, (x, y, x_label, y_label) in zip(axes, PANELS, strict=True):
        for solver, points in curves.items():
            values = [point[y] / best - 1 if y == "objective" else point[y] for point in points]
            axis.plot([point[x] for point in points], values, label=solver, linewidth=1.2)
        axis.set_xscale("log")
        if y == "objective":
            axis.set_yscale("log")
            axis.set_ylim(bottom=1e-4)
        axis.set_xlabel(x_label)
        axis.set_ylabel(y_label)
    figure.suptitle(given.title)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    figure.savefig(given.svg, metadata={"Date": None})


if __name__ == "__main__":
    main()
