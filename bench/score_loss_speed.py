#!/usr/bin/env python3
"""What a batch of structured losses of given scores costs, with gradients (margrove.losses).

32 sentences of 25 words, normal scores in float32, one thread: projective trees, and chains of 17
tags. Scores as at the start of training (deviation 1) and as near its end, where the truth is
ahead of most labellings. The median of the
processor's time for 21 calls.

usage: PYTHONPATH=build/python .venv/bin/python bench/score_loss_speed.py
"""

import itertools
import statistics
import time
from typing import Any

import numpy as np
from margrove.losses import Chain, ProjectiveTrees, structured_loss

SENTENCES, WORDS, TAGS = 32, 25, 17
SURROGATES = ("margin", "slack", "log", "prob", "micro-f1")
SEARCHES: dict[str, dict[str, Any]] = {
    "exact": {},
    "no bans": {"max_bans": 0},
    "no bans, tolerance 0.01": {"max_bans": 0, "tolerance": 0.01},
}


def milliseconds(scores: Any, truth: Any, output: Any, surrogate: str, how: Any) -> float:
    """Of one call."""
    times = []
    for _ in range(21):
        start = time.process_time()
        structured_loss(scores, truth, output, surrogate, **how)
        times.append(time.process_time() - start)
    return 1e3 * statistics.median(times)


def trees(random: Any, lead: float) -> tuple[Any, Any, Any]:
    """Arcs; each word depends on the one before it or on the first, and has this lead."""
    heads = np.where(random.random((SENTENCES, WORDS)) < 0.5, np.arange(WORDS), 1)
    heads[:, :2] = [0, 1]
    heads = np.where(np.arange(WORDS) < 2, heads, np.arange(WORDS))
    arcs = random.normal(size=(SENTENCES, WORDS + 1, WORDS + 1)).astype(np.float32)
    for i in range(SENTENCES):
        arcs[i, heads[i], np.arange(1, WORDS + 1)] += lead
    return arcs, heads, ProjectiveTrees()


def chains(random: Any, lead: float) -> tuple[Any, Any, Any]:
    """Emissions and transitions; the true tags have this lead."""
    tags = random.integers(0, TAGS, size=(SENTENCES, WORDS))
    emissions = random.normal(size=(SENTENCES, WORDS, TAGS)).astype(np.float32)
    np.put_along_axis(
        emissions,
        tags[..., None],
        np.take_along_axis(emissions, tags[..., None], axis=2) + np.float32(lead),
        axis=2,
    )
    transitions = random.normal(size=(TAGS, TAGS)).astype(np.float32)
    return (emissions, transitions), tags, Chain()


def main() -> None:
    """Prints a table."""
    print("| output | lead of the truth | search | " + " | ".join(SURROGATES) + " |")
    print("|---|" + "---|" * (len(SURROGATES) + 2))
    for name, draw in (("trees", trees), ("chains", chains)):
        for lead, (search, how) in itertools.product((0.0, 4.0), SEARCHES.items()):
            problem = draw(np.random.default_rng(0), lead)
            cells = [
                "–"
                if name == "trees" and surrogate == "micro-f1"
                else f"{milliseconds(*problem, surrogate, how):.1f}"
                for surrogate in SURROGATES
            ]
            print(f"| {name} | {lead:g} | {search} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
