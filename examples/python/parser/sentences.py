"""Sentences of CoNLL-U files."""

import conllu
from conllu.serializer import serialize_field as text

ABSENT = "\0"  # a tag that is not given


class Sentence:
    """A sentence with all that its file says. The words that a token is split into count, the
    token itself and empty nodes do not."""

    def __init__(self, tokens):
        self.tokens = tokens
        self.rows = [row for row in tokens if isinstance(row["id"], int)]
        self.forms = [row["form"] for row in self.rows]
        self.words = [form.lower() for form in self.forms]
        self.tags = [row.get("upos") or ABSENT for row in self.rows]
        self.morphology = [text(r.get("feats")) if r.get("upos") else ABSENT for r in self.rows]
        self.heads = [row.get("head") for row in self.rows]  # 0: the root
        self.relations = [row.get("deprel") or "" for row in self.rows]

    def __len__(self):
        return len(self.rows)

    def has_tree(self):
        below = {0}  # the root, and the words that are known to be below it
        while more := {w for w, head in enumerate(self.heads, 1) if head in below} - below:
            below |= more
        return len(below) == len(self) + 1 and self.heads.count(0) == 1

    def is_projective(self):
        arcs = [(min(h, w), max(h, w)) for w, h in enumerate(self.heads, 1)]
        return not any(a < c < b < d for a, b in arcs for c, d in arcs)

    def with_tree(self, heads, relations):
        made = Sentence(conllu.TokenList([row.copy() for row in self.tokens], self.tokens.metadata))
        for row, head, relation in zip(made.rows, heads, relations, strict=True):
            row["head"], row["deprel"], row["deps"] = head, relation, None
        return Sentence(made.tokens)


def read(path, with_trees=True):
    """The sentences of a file, or of lines of words for `-`; an error if one of them should have a
    tree and has none."""
    try:
        with open(0 if path == "-" else path, encoding="utf-8") as file:
            found = map(of_words, file) if path == "-" else map(Sentence, conllu.parse_incr(file))
            sentences = [s for s in found if len(s)]
    except (conllu.exceptions.ParseException, UnicodeDecodeError) as error:
        raise SystemExit(f"{path}: {error}") from error
    for number, s in enumerate(sentences, 1):
        if with_trees and not s.has_tree():
            raise SystemExit(f"{path}: sentence {number}, {' '.join(s.forms)}: it has no tree")
    if not sentences:
        raise SystemExit(f"{path}: no sentences")
    return sentences


def of_words(line):
    """A sentence of which only the words are known."""
    row = dict.fromkeys(conllu.parser.DEFAULT_FIELDS)
    rows = [conllu.Token(row | {"id": k, "form": word}) for k, word in enumerate(line.split(), 1)]
    return Sentence(conllu.TokenList(rows))


def batches(sentences, words, shuffle=lambda parts: None):
    """Places of sentences of similar length, at most so many words together, padding included."""
    order, parts = list(range(len(sentences))), []
    shuffle(order)
    for i in sorted(order, key=lambda i: len(sentences[i])):
        if not parts or (len(parts[-1]) + 1) * len(sentences[i]) > words:
            parts.append([])
        parts[-1].append(i)
    shuffle(parts)
    return parts
