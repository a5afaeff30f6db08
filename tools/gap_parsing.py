"""The objective of dependency parsing (kind dependency) over all projective trees, and over all
relations of their arcs where these are learned."""

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


def ending(form: str) -> str:
    """The last three characters of a longer form."""
    return form[-3:] if len(form) > 3 else ""


class Sentence:
    """What is known of the words, as hashes, and their heads and relations."""

    def __init__(self, lines: list[str]) -> None:
        cells = [line.split("\t") for line in lines]
        lower = [cell[1].lower() for cell in cells]
        self.lemmas = [
            hash_text(form if cell[2] == "_" else cell[2])
            for form, cell in zip(lower, cells, strict=True)
        ]
        self.morphology = [hash_text(cell[5]) for cell in cells]
        self.endings = [hash_text(ending(form)) for form in lower]
        self.relations = tuple(cell[7] for cell in cells)
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

    def relation_features(self, head: int, word: int) -> list[int]:
        """The hashes of the features of which each relation has weights."""
        found: list[int] = []

        def at(of: list[int], position: int, offset: int = 0) -> int:
            if position == 0:
                return ROOT
            k = position + offset
            return of[k - 1] if 1 <= k <= len(of) else EDGE

        def add(group: int, keys: list[int]) -> None:
            prefix = 1000 * (2 * group + int(head < word))
            found.extend(mix(key, prefix + k) for k, key in enumerate(keys))

        tags, lemmas, morphology = self.tags, self.lemmas, self.morphology
        tag, lemma = at(tags, word), at(lemmas, word)
        before, after = at(tags, word, -1), at(tags, word, 1)
        of_word = [0, at(self.forms, word), lemma, tag, at(self.fine, word), at(morphology, word)]
        of_word += [at(self.endings, word), mix(tag, lemma), mix(tag, at(morphology, word))]
        of_word += [mix(tag, before), mix(tag, after), mix(mix(tag, before), after)]
        of_word += [mix(mix(tag, before), at(tags, word, -2))]
        of_word += [mix(tag, at(lemmas, word, offset)) for offset in (-1, -2, 1)]
        add(1, of_word)
        ht, hl = at(tags, head), at(lemmas, head)
        of_head = [hl, ht, at(self.fine, head), at(morphology, head), mix(ht, hl)]
        of_head += [mix(ht, at(tags, head, offset)) for offset in (-1, 1)]
        add(2, of_head)
        d = abs(head - word)
        distance = 2 * (d if d < 5 else 5 if d < 10 else 6) + int(head < word)
        both, hf = mix(ht, tag), at(self.fine, head)
        between = tags[min(head, word) : max(head, word) - 1]
        kinds = sum(mix(each, 7) for each in list(dict.fromkeys(between))[:8]) & WORD
        previous = at(lemmas, word, -1)
        of_pair = [both, mix(both, distance), mix(hf, at(self.fine, word))]
        of_pair += [mix(hf, at(morphology, word)), mix(hl, lemma), mix(hl, tag), mix(ht, lemma)]
        of_pair += [mix(mix(hl, tag), previous), mix(both, previous)]
        of_pair += [mix(both, before), mix(both, after)]
        of_pair += [mix(both, at(tags, head, offset)) for offset in (-1, 1)]
        of_pair += [mix(both, kinds), mix(both, min(between.count(tag), 2))]
        add(3, of_pair)
        return found


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


class Relations:
    """The places of the weights of relations, behind those of arcs."""

    def __init__(self, model: Model, bits: int) -> None:
        self.names = model.texts("dependency.relations")
        self.begin = 1 << bits
        width = (len(self.names) + 7) // 8 * 8
        self.num_places = (1 << bits) - width + 1

    def features(self, sentence: Sentence, head: int, word: int, relation: int) -> list[int]:
        hashes = sentence.relation_features(head, word)
        return [self.begin + ((h >> 32) * self.num_places >> 32) + relation for h in hashes]


Counted = tuple[list[dict[int, int]], list[float], int]  # features, losses, the true one


def counted(features: list[list[int]], used: dict[int, int]) -> list[dict[int, int]]:
    counts = []
    for each in features:
        count: dict[int, int] = {}
        for feature in each:
            at = used.setdefault(feature, len(used))
            count[at] = count.get(at, 0) + 1
        counts.append(count)
    return counts


def of_heads(sentence: Sentence, bits: int, used: dict[int, int]) -> Counted:
    trees = list(projective_trees(len(sentence.heads)))
    features = [
        [f for word, head in enumerate(heads, 1) for f in sentence.features(head, word, bits)]
        for heads in trees
    ]
    losses = [
        float(sum(a != b for a, b in zip(heads, sentence.heads, strict=True))) for heads in trees
    ]
    return counted(features, used), losses, trees.index(sentence.heads)


def of_labelled_trees(
    sentence: Sentence,
    bits: int,
    relations: Relations,
    counts_relations: bool,
    used: dict[int, int],
) -> Counted:
    size = len(sentence.heads)
    truth = tuple(relations.names.index(name) for name in sentence.relations)
    features, losses, labelled = [], [], []
    for heads in projective_trees(size):
        for chosen in itertools.product(range(len(relations.names)), repeat=size):
            found, wrong = [], 0.0
            for word, (head, relation) in enumerate(zip(heads, chosen, strict=True), 1):
                found += sentence.features(head, word, bits)
                found += relations.features(sentence, head, word, relation)
                wrong_relation = counts_relations and relation != truth[word - 1]
                wrong += head != sentence.heads[word - 1] or wrong_relation
            features.append(found)
            losses.append(wrong)
            labelled.append((heads, chosen))
    return counted(features, used), losses, labelled.index((sentence.heads, truth))


def of_relations(sentence: Sentence, relations: Relations, used: dict[int, int]) -> list[Counted]:
    """One example per word: the relation of its true arc."""
    found = []
    for word, (head, name) in enumerate(zip(sentence.heads, sentence.relations, strict=True), 1):
        features = [
            relations.features(sentence, head, word, relation)
            for relation in range(len(relations.names))
        ]
        truth = relations.names.index(name)
        losses = [float(relation != truth) for relation in range(len(relations.names))]
        found.append((counted(features, used), losses, truth))
    return found


def dependency(model: Model, data: Path) -> Objective:
    bits = int(model.metadata["dependency.bits"])
    kind = model.metadata.get("dependency.relation_kind", "table")
    if kind not in ("table", "joint", "separate"):
        raise ValueError(f"relations {kind} are not written out here")
    relations = Relations(model, bits)
    counts_relations = model.option("loss", "labelled") == "labelled"
    blocks = data.read_text().strip().split("\n\n")
    used: dict[int, int] = {}  # features that occur; all others have weight 0
    every: list[Counted] = []
    for sentence in (Sentence(block.splitlines()) for block in blocks):
        if kind == "joint":
            every.append(of_labelled_trees(sentence, bits, relations, counts_relations, used))
            continue
        every.append(of_heads(sentence, bits, used))
        if kind == "separate":
            every += of_relations(sentence, relations, used)
    name = model.option("surrogate", "margin")
    surrogate(name)
    examples = []
    for counts, losses, own in every:
        features = []
        for count in counts:
            phi = np.zeros(len(used))
            phi[list(count)] = list(count.values())
            features.append(phi)
        criteria = (np.array(losses, float), np.ones(len(counts)))
        examples.append(differences(loss_weight(model), features, criteria, own, name))
    w = model.tensors["dependency.weights"].astype(float)
    if kind != "table":
        w = np.concatenate([w, model.tensors["dependency.relation_weights"].astype(float)])
    if np.count_nonzero(w) != np.count_nonzero(w[list(used)]):
        raise AssertionError("the model has weights of features that do not occur")
    return Objective(examples, w[list(used)])
