#!/usr/bin/env python3
"""What a batch of structured losses of given scores costs, with gradients (margrove.losses).

32 sentences of 25 words, normal scores in float32, one thread: projective trees, and chains of 17
tags. Scores as at the start of training (deviation 1) and as near its end, where the truth is
ahead of most labellings. With a start, searches begin with the maxima at scores that differ by
noise of deviation 0.3, as those of an earlier epoch. The median of the processor's time for 51
calls, and in brackets the ratio to margin rescaling.

The second table has starts at scores that differ by more or less noise, for searches without bans
with a tolerance of 0.01: the share of the maxima that have changed, and the ratio to margin
rescaling.

usage: PYTHONPATH=build/python .venv/bin/python bench/score_loss_speed.py
"""

import itertools
import statistics
import time
from typing import Any

import numpy as np
from margrove.losses import Chain, ProjectiveTrees, structured_loss

SENTENCES, WORDS, TAGS = 32, 25, 17
NOISE, NOISES = 0.3, (0.0, 0.03, 0.1, 0.3)
CALLS = 51
NONE = ("trees", "micro-f1")
SURROGATES = ("margin", "slack", "log", "prob", "micro-f1")
SEARCHES: dict[str, dict[str, Any]] = {
    "exact": {},
    "no bans": {"max_bans": 0},
    "no bans, tolerance 0.01": {"max_bans": 0, "tolerance": 0.01},
}


def costs(
    scores: Any, truth: Any, output: Any, surrogate: str, how: Any, start: Any = None
) -> tuple[float, float]:
    """Seconds of one call, and the ratio to calls of margin rescaling that alternate with it, as
    the speed of a machine changes."""
    times: dict[str, list[float]] = {"margin": [], surrogate: []}
    for _, (name, of_name) in itertools.product(range(CALLS), times.items()):
        begin = time.process_time()
        structured_loss(
            scores, truth, output, name, start=start if name == surrogate else None, **how
        )
        of_name.append(time.process_time() - begin)
    margin, own = statistics.median(times["margin"]), statistics.median(times[surrogate])
    return own, own / margin


def earlier_maxima(
    scores: Any, truth: Any, output: Any, surrogate: str, how: Any, noise: float
) -> Any:
    random = np.random.default_rng(1)
    parts = scores if isinstance(scores, tuple) else (scores,)
    before = tuple(s + noise * random.normal(size=s.shape).astype(np.float32) for s in parts)
    return structured_loss(before, truth, output, surrogate, **how).y_star


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


def print_searches() -> None:
    print("| output | lead of the truth | search | " + " | ".join(SURROGATES) + " |")
    print("|---|" + "---|" * (len(SURROGATES) + 2))
    for name, draw in (("trees", trees), ("chains", chains)):
        for lead, (search, how) in itertools.product((0.0, 4.0), SEARCHES.items()):
            problem = draw(np.random.default_rng(0), lead)
            for has_start in (False, True):
                cells = []
                for surrogate in SURROGATES:
                    if (has_start and surrogate == "margin") or (name, surrogate) == NONE:
                        cells.append("–")
                        continue
                    start = earlier_maxima(*problem, surrogate, how, NOISE) if has_start else None
                    seconds, ratio = costs(*problem, surrogate, how, start)
                    behind = "" if surrogate == "margin" else f" ({ratio:.1f})"
                    cells.append(f"{1e3 * seconds:.2f}{behind}")
                label = f"{search}, start" if has_start else search
                print(f"| {name} | {lead:g} | {label} | {' | '.join(cells)} |", flush=True)


def print_starts() -> None:
    surrogates, how = ("slack", "log", "prob"), SEARCHES["no bans, tolerance 0.01"]
    print("| output | lead of the truth | noise | changed | " + " | ".join(surrogates) + " |")
    print("|---|" + "---|" * (len(surrogates) + 3))
    draws = {"trees": trees, "chains": chains}
    for name, lead in itertools.product(draws, (0.0, 4.0)):
        problem = draws[name](np.random.default_rng(0), lead)
        for noise in NOISES:
            changed, cells = [], []
            for surrogate in surrogates:
                start = earlier_maxima(*problem, surrogate, how, noise)
                found = structured_loss(*problem, surrogate, **how).y_star
                changed.append((start != found).any(axis=1).mean())
                cells.append(f"{costs(*problem, surrogate, how, start)[1]:.1f}")
            share = f"{np.mean(changed):.0%}"
            print(f"| {name} | {lead:g} | {noise:g} | {share} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Prints both tables."""
    print_searches()
    print()
    print_starts()


if __name__ == "__main__":
    main()
