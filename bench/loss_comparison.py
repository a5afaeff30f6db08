#!/usr/bin/env python3
"""What the losses of margrove.losses cost beside each other and beside a pool of processes.

32 sentences of 25 words in float32, as in bench/score_loss_speed.py, with gradients. The pool, as
libraries for decision-focused learning use it, sends each sentence to one of two processes, which
finds the maximum of margin rescaling with NumPy or with Margrove. Milliseconds: the median time of
the processor in 21 calls, with one thread; for the pool, whose processes work beside it, the
shortest of 21 by the clock. With PyTorch installed, a second table has the steps of training a
network.

usage: PYTHONPATH=build/python .venv/bin/python bench/loss_comparison.py
"""

import importlib.util
import multiprocessing
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from margrove.losses import (
    Chain,
    SpanningTrees,
    best_labellings,
    log_likelihood_loss,
    perturbed_loss,
    structured_loss,
)
from score_loss_speed import SENTENCES, WORDS, chains, trees

LOSSES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "margin": structured_loss,
    "slack": lambda s, y, o: structured_loss(s, y, o, "slack", max_bans=0),
    "slack, tolerance 0.01": lambda s, y, o: structured_loss(
        s, y, o, "slack", max_bans=0, tolerance=0.01
    ),
    "log-likelihood": log_likelihood_loss,
    "perturbed, 10 samples": perturbed_loss,
    "best labelling": lambda s, _, o: best_labellings(s, o),
}


def viterbi(problem: tuple[Any, Any, Any]) -> Any:
    """The tags of largest emissions and transitions plus Hamming loss."""
    emissions, transitions, truth = problem
    nodes = emissions + 1.0
    nodes[np.arange(WORDS), truth] -= 1.0
    best, back = nodes[0], []
    for own in nodes[1:]:
        through = best[:, None] + transitions
        back.append(through.argmax(axis=0))
        best = own + through.max(axis=0)
    tags = [int(best.argmax())]
    for each in reversed(back):
        tags.append(int(each[tags[-1]]))
    return np.array(tags[::-1])


def eisner(problem: tuple[Any, Any]) -> Any:
    """The heads of the best projective tree plus Hamming loss; the root stands before the words."""
    arcs, truth = problem
    size = WORDS + 1
    arcs = arcs + 1.0
    arcs[truth, np.arange(1, size)] -= 1.0
    complete, incomplete = np.zeros((2, size, size)), np.zeros((2, size, size))
    splits = np.zeros((4, size, size), dtype=int)
    for length in range(1, size):
        for s in range(size - length):
            t = s + length
            inner = complete[1, s, s:t] + complete[0, s + 1 : t + 1, t]
            if s == 0:  # the root has one word
                inner[1:] = -np.inf
            splits[0, s, t] = splits[1, s, t] = s + inner.argmax()
            incomplete[0, s, t] = inner.max() + arcs[t, s]
            incomplete[1, s, t] = inner.max() + arcs[s, t]
            left = complete[0, s, s:t] + incomplete[0, s:t, t]
            splits[2, s, t], complete[0, s, t] = s + left.argmax(), left.max()
            right = incomplete[1, s, s + 1 : t + 1] + complete[1, s + 1 : t + 1, t]
            splits[3, s, t], complete[1, s, t] = s + 1 + right.argmax(), right.max()
    heads, todo = np.zeros(size, dtype=int), [(3, 0, WORDS)]
    while todo:
        kind, s, t = todo.pop()
        if s == t:
            continue
        r = splits[kind, s, t]
        if kind == 2:
            todo += [(2, s, r), (0, r, t)]
        elif kind == 3:
            todo += [(1, s, r), (3, r, t)]
        else:
            heads[t if kind else s] = s if kind else t
            todo += [(3, s, r), (2, r + 1, t)]
    return heads[1:]


def by_margrove(problem: tuple[Any, ...]) -> Any:
    """One sentence."""
    *parts, truth, output = problem
    scores = tuple(each[None] if k == 0 else each for k, each in enumerate(parts))
    return structured_loss(scores, truth[None], output).y_star[0]


def times(clock: Callable[[], float], run: Callable[..., Any], *arguments: Any) -> list[float]:
    """Milliseconds of each of 21 calls."""
    found = []
    for _ in range(21):
        start = clock()
        run(*arguments)
        found.append(1e3 * (clock() - start))
    return found


def median(run: Callable[..., Any], *arguments: Any) -> str:
    """Of the processor."""
    return f"{statistics.median(times(time.process_time, run, *arguments)):.2f}"


def shortest(run: Callable[..., Any], *arguments: Any) -> str:
    """By the clock."""
    return f"{min(times(time.perf_counter, run, *arguments)):.1f}"


def in_pool(pool: Any, scores: Any, truth: Any, output: Any) -> list[str]:
    """The times of one batch, with a solver of NumPy and with Margrove's."""
    is_chain = isinstance(scores, tuple)
    parts = [(s, scores[1]) for s in scores[0]] if is_chain else [(s,) for s in scores]
    own = [(*part, y) for part, y in zip(parts, truth, strict=True)]
    cells = ["–"]
    if not isinstance(output, SpanningTrees):
        solver: Any = viterbi if is_chain else eisner
        cells = [shortest(pool.map, solver, own)]
    whole = [(*each, output) for each in own]
    return [*cells, shortest(pool.map, by_margrove, whole)]


def training_steps() -> None:
    """Prints the time of a step of Adam for taggers and parsers over a BiLSTM."""
    import torch
    from margrove.torch import LogLikelihoodLoss, StructuredLoss

    torch.manual_seed(0)
    torch.set_num_threads(1)
    words = torch.randint(1000, (SENTENCES, WORDS + 1))

    def network(tags: int) -> Any:
        return torch.nn.ModuleDict(
            {
                "embedding": torch.nn.Embedding(1000, 100),
                "lstm": torch.nn.LSTM(100, 200, 2, bidirectional=True, batch_first=True),
                "heads": torch.nn.Linear(400, 300),
                "words": torch.nn.Linear(400, 300),
                "emissions": torch.nn.Linear(400, tags),
                "transitions": torch.nn.Linear(1, tags * tags),
            }
        )

    def scores_of(layers: Any, is_tagger: bool) -> Any:
        states, _ = layers["lstm"](layers["embedding"](words))
        if is_tagger:
            return layers["emissions"](states[:, 1:]), layers["transitions"].bias.reshape(17, 17)
        return layers["heads"](states).relu() @ layers["words"](states).relu().transpose(1, 2)

    def step(layers: Any, optimizer: Any, loss: Any, truth: Any) -> None:
        optimizer.zero_grad()
        loss(scores_of(layers, isinstance(loss.output, Chain)), truth).backward()
        optimizer.step()

    print("\n| output | " + " | ".join(["margin", "slack", "log", "log-likelihood"]) + " |")
    print("|---|---|---|---|---|")
    random = np.random.default_rng(0)
    for name, draw in (("chains", chains), ("projective trees", trees), ("all trees", trees)):
        _, truth, output = draw(random, 0.0)
        output = SpanningTrees() if name == "all trees" else output
        cells = []
        for loss in (
            StructuredLoss(output),
            StructuredLoss(output, "slack", max_bans=0),
            StructuredLoss(output, "log", max_bans=0),
            LogLikelihoodLoss(output),
        ):
            layers = network(17)
            optimizer = torch.optim.Adam(layers.parameters(), 1e-3)

            step(layers, optimizer, loss, truth)
            cells.append(median(step, layers, optimizer, loss, truth))
        print(f"| {name} | {' | '.join(cells)} |")


def main() -> None:
    """Prints tables."""
    print(f"| output | lead | {' | '.join(LOSSES)} | pool, NumPy | pool, Margrove |")
    print("|---|" + "---|" * (len(LOSSES) + 3))
    with multiprocessing.Pool(2) as pool:
        for name, draw in (("chains", chains), ("projective trees", trees), ("all trees", trees)):
            for lead in (0.0, 4.0):
                scores, truth, output = draw(np.random.default_rng(0), lead)
                output = SpanningTrees() if name == "all trees" else output
                cells = [median(loss, scores, truth, output) for loss in LOSSES.values()]
                cells += in_pool(pool, scores, truth, output)
                print(f"| {name} | {lead:g} | {' | '.join(cells)} |")
    if importlib.util.find_spec("torch"):
        training_steps()


if __name__ == "__main__":
    main()
