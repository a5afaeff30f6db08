#!/usr/bin/env python3
"""Makes the figures of docs/gallery.md from data of the package, as SVG.

    tools/make_figures.py [--check]

--check draws them again without writing and compares: every number in the drawing may differ by two
units of its 460 x 300, so that another version of matplotlib or another processor changes nothing.
Needs the package (`make python`).
"""

import argparse
import io
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import margrove
import matplotlib as mpl
import numpy as np
from margrove import datasets, metrics

mpl.use("svg")
import matplotlib.pyplot as plt

PICTURES = Path(__file__).resolve().parent.parent / "docs" / "pictures"
STYLE: Any = {
    "svg.hashsalt": "margrove",
    "svg.fonttype": "none",  # texts stay texts
    "figure.figsize": (4.6, 3.0),
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
BLUE, ORANGE, GREY = "#2166ac", "#b35806", "#777777"
ATTRIBUTE, FRACTION = re.compile(r'"[^"]*"'), re.compile(r"\d+\.\d{3,}")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def animals() -> tuple[Any, Any, Any, Any]:
    """The texts as features, with labels: training and test rows."""
    train, test = datasets.load_animals(), datasets.load_animals("test")
    words = margrove.TextFeatures().fit(train.data)
    return train, test, words.transform(train.data), words.transform(test.data)


def models() -> dict[str, Any]:
    train, _, X, _ = animals()
    tree = {"hierarchy": train.hierarchy, "calibration": 0.2}
    return {
        "nhsvm": margrove.NHSVC(**tree).fit(X, train.target),
        "flat-svm": margrove.FlatSVC(calibration=0.2).fit(X, train.target),
    }


def levels() -> None:
    """Accuracy at each level of a taxonomy, with and without it."""
    train, test, _, X = animals()
    for k, (name, model) in enumerate(models().items()):
        accuracy = metrics.accuracy_by_level(
            test.target, model.predict(X), hierarchy=train.hierarchy
        )
        depth = np.arange(1, len(accuracy) + 1)
        plt.bar(depth + 0.4 * (k - 0.5), accuracy, 0.38, color=(BLUE, ORANGE)[k], label=name)
    plt.xlabel("level below the root")
    plt.ylabel("accuracy")
    plt.ylim(0, 1.2)
    plt.legend(frameon=False, ncols=2)


def coverage() -> None:
    """Accuracy on the rows of which a model is most confident."""
    _, test, _, X = animals()
    for (name, model), colour in zip(models().items(), (BLUE, ORANGE), strict=True):
        confidence = model.predict_proba(X).max(axis=1)
        curve = metrics.risk_coverage(test.target, model.predict(X), confidence)
        plt.plot(curve.coverage, 1 - np.asarray(curve.risk), color=colour, label=name)
    plt.xlabel("share of rows answered, the most confident first")
    plt.ylabel("accuracy")
    plt.ylim(0, 1.02)
    plt.legend(frameon=False)


def convergence() -> None:
    """Bounds on the objective by pass: training ends when they meet."""
    train, _, X, _ = animals()
    model = margrove.NHSVC(hierarchy=train.hierarchy, tolerance=1e-4).fit(X, train.target)
    passes, primal, dual = np.array(model.report_["curve"], dtype=float).T
    plt.plot(passes, primal, color=BLUE, label="objective of the weights so far")
    plt.plot(passes, dual, color=ORANGE, label="dual: no weights have a lower objective")
    plt.xlabel("pass over the rows")
    plt.ylim(0.5 * primal.min(), 1.5 * primal.min())
    plt.legend(frameon=False)


def shapes() -> None:
    """What the surrogates of structured learning make of a labelling, by its margin violation."""
    violation = np.linspace(-3, 1, 100)
    for loss, style in ((1.0, "--"), (3.0, "-")):
        for name, value, colour in (
            ("margin", loss + violation, BLUE),
            ("slack", loss * (1 + violation), ORANGE),
        ):
            label = f"{name} rescaling, task loss {loss:g}"
            plt.plot(violation, np.maximum(0, value), style, color=colour, label=label)
    plt.axvline(0, color=GREY, linewidth=0.5)
    plt.xlabel("margin violation")
    plt.ylabel("surrogate")
    plt.legend(frameon=False)


def kernels() -> None:
    """Learned weights of kernels: colour and shape tell the class together only."""
    random = np.random.default_rng(1)
    colour, shape = random.normal(size=(200, 2)), random.normal(size=(200, 2))
    views = {"colour": colour, "shape": shape, "noise": random.normal(size=(200, 6))}
    y = ((colour[:, 0] > 0) ^ (shape[:, 0] > 0)).astype(int)
    network = {
        "kernels": {view: {"type": "gaussian", "view": view, "width": "median"} for view in views},
        "root": {
            "sum": [
                *({"product": [view], "name": f"{view} alone"} for view in views),
                {"product": ["colour", "shape"], "name": "colour with shape"},
            ]
        },
    }
    weights = margrove.SPNMKLClassifier(network=network).fit(views, y).weights_
    plt.barh(list(weights), list(weights.values()), color=BLUE)
    plt.gca().invert_yaxis()
    plt.xlabel("weight")


FIGURES: dict[str, Callable[[], None]] = {
    "levels": levels,
    "coverage": coverage,
    "convergence": convergence,
    "surrogates": shapes,
    "kernel-weights": kernels,
}


def drawn(draw: Callable[[], None]) -> str:
    with plt.rc_context(STYLE):
        figure = plt.figure()
        draw()
        figure.tight_layout()
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
        plt.close(figure)
    # Coordinates need no more digits, and a seventh one differs between processors.
    return ATTRIBUTE.sub(
        lambda found: FRACTION.sub(lambda number: f"{float(number[0]):.2f}", found[0]),
        text.getvalue(),
    )


def difference(name: str, text: str) -> str:
    """What is different in a figure that was drawn again; empty if nothing is."""
    path = PICTURES / f"{name}.svg"
    if not path.exists():
        return f"{path.name} is missing"
    old = path.read_text(encoding="utf-8")
    body = [part[part.index("<g ") :] for part in (old, text)]
    words = [NUMBER.sub("#", part) for part in body]
    if words[0] != words[1]:
        return f"{path.name} has other texts or parts"
    numbers = [np.array([float(n) for n in NUMBER.findall(part)]) for part in body]
    furthest = np.abs(numbers[0] - numbers[1]).max()
    return f"{path.name} differs by {furthest:.1f}" if furthest > 2 else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare and write nothing")
    given = parser.parse_args()
    errors = []
    for name, draw in FIGURES.items():
        text = drawn(draw)
        if given.check:
            errors.append(difference(name, text))
        else:
            (PICTURES / f"{name}.svg").write_text(text, encoding="utf-8")
    for error in filter(None, errors):
        print(f"make_figures: {error}; tools/make_figures.py draws it again", file=sys.stderr)
    return 1 if any(errors) else 0


if __name__ == "__main__":
    sys.exit(main())
