"""The objective of dependency parsing (kind dependency) over all projective trees."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tools.convex_bounds import surrogate
from tools.gap_objectives import Objective, differences, loss_weight
from tools.model_reader import Model

WORD = (1 << 64) - 1
ROOT, EDGE = 1, 2


def mix(a: int, b: int) -> int:
    x = ((a ^ (b + 0x9E3779B97F4A7C15 + (a << 6) + (a >> 2))) & WORD) * 0xFF51AFD7ED558CCD & WORD
    return x ^ (x >> 32)


def hash_text(text: str) -> int:
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = ((value ^ byte) * 0x100000001B3) & WORD
    return mix(value, len(text.encode()))


class Sentence:
    """Forms, tags and fine tags of the words as hashes, and their heads."""

    def __init__(self, lines: list[str]) -> None:
        cells = [line.split("\t") for line in lines]
        self.forms = [hash_text(cell[1]) for cell in cells]
        self.tags = [hash_text(cell[3]) for cell in cells]
        self.fine = [hash_text(cell[4]) for cell in cells]
        self.heads = tuple(int(cell[6]) for cell in cells)

    def tag(self, position: int) -> int:
        inside = 1 <= position <= len(self.tags)
        return self.tags[position - 1] if inside else EDGE

    def features(self, head: int, word: int, bits: int) -> list[int]:
        def at(of: list[int], position: int) -> int:
            return of[position - 1] if position else ROOT

        h, ht, hf = (at(of, head) for of in (self.forms, self.tags, self.fine))
        w, wt, wf = (at(of, word) for of in (self.forms, self.tags, self.fine))
        hl, hr = self.tag(head - 1), self.tag(head + 1)
        wl, wr = self.tag(word - 1), self.tag(word + 1)
        d = abs(head - word)
        direction = int(head < word)
        distance = 2 * (d if d < 5 else 5 if d < 10 else 6) + direction
        h_ht, w_wt, ht_wt = mix(h, ht), mix(w, wt), mix(ht, wt)
        keys = [h_ht, h, w_wt, w, ht, wt, ht_wt, mix(hf, wf), mix(h, w), mix(h_ht, w_wt)]
        keys += [mix(h_ht, wt), mix(ht, w_wt), mix(h_ht, w), mix(h, w_wt)]
        keys += [mix(ht_wt, mix(a, b)) for a, b in ((hr, wl), (hl, wl), (hr, wr), (hl, wr))]
        keys += [mix(ht_wt, near) for near in (hr, hl, wl, wr)]
        found = []
        for number, key in enumerate(keys, start=1):
            numbered = mix(key, number)
            found += [mix(numbered, 100 + direction), mix(numbered, 200 + distance)]
        between = self.tags[min(head, word) : max(head, word) - 1]
        for tag in list(dict.fromkeys(between))[:8]:
            found.append(mix(mix(mix(ht_wt, tag), len(keys) + 1), direction))
        return [(key ^ (key >> 29)) & ((1 << bits) - 1) for key in found]


def projective_trees(size: int) -> Iterator[tuple[int, ...]]:
    """Heads of all projective trees with one root."""
    for heads in itertools.product(range(size + 1), repeat=size):
        if sum(head == 0 for head in heads) != 1:
            continue
        above = []
        for word in range(1, size + 1):
            path = {word}
            at = heads[word - 1]
            while at and at not in path:
                path.add(at)
                at = heads[at - 1]
            above.append(path if at == 0 else set())
        if not all(above):
            continue
        spans = ((min(head, word), max(head, word), head) for word, head in enumerate(heads, 1))
        if all(head in above[k - 1] or head == 0 for a, b, head in spans for k in range(a + 1, b)):
            yield heads


def dependency(model: Model, data: Path) -> Objective:
    bits = int(model.metadata["dependency.bits"])
    blocks = data.read_text().strip().split("\n\n")
    sentences = [Sentence(block.splitlines()) for block in blocks]
    used: dict[int, int] = {}  # features that occur; all others have weight 0
    every = []
    for sentence in sentences:
        trees = list(projective_trees(len(sentence.heads)))
        counts = []
        for heads in trees:
            count: dict[int, int] = {}
            for word, head in enumerate(heads, 1):
                for feature in sentence.features(head, word, bits):
                    at = used.setdefault(feature, len(used))
                    count[at] = count.get(at, 0) + 1
            counts.append(count)
        every.append((sentence, trees, counts))
    name = model.option("surrogate", "margin")
    surrogate(name)
    examples = []
    for sentence, trees, counts in every:
        features = []
        for count in counts:
            phi = np.zeros(len(used))
            phi[list(count)] = list(count.values())
            features.append(phi)
        own = trees.index(sentence.heads)
        losses = np.array(
            [sum(a != b for a, b in zip(y, sentence.heads, strict=True)) for y in trees], float
        )
        weight = loss_weight(model)
        examples.append(differences(weight, features, (losses, np.ones(len(trees))), own, name))
    w = model.tensors["dependency.weights"].astype(float)
    if np.count_nonzero(w) != np.count_nonzero(w[list(used)]):
        raise AssertionError("the model has weights of features that do not occur")
    return Objective(examples, w[list(used)])
