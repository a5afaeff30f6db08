"""A dependency parser: biaffine scores over a recurrent network, trained with margrove.torch.

python parser.py train MODEL train.conllu dev.conllu [--loss prob] [--vectors minilm] ...
python parser.py evaluate MODEL test.conllu
python parser.py parse MODEL FILE.conllu > parsed.conllu     (FILE -: lines of words)
"""

import pickle
import random
from argparse import ArgumentDefaultsHelpFormatter, ArgumentParser
from collections import Counter

import torch
from margrove.losses import ProjectiveTrees, best_labellings
from margrove.torch import LogLikelihoodLoss, StructuredLoss
from network import TABLES, Network, Transformer
from sentences import ABSENT, batches, read

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
LETTERS = 20  # of a word at most
OPTIONS = {
    "loss": ("margin", "likelihood, margin, slack, prob, or another surrogate of margrove.torch"),
    "vectors": ("none", "contextual vectors: none, minilm, or a model of transformers"),
    "epochs": (8, "passes over the sentences"),
    "margin_epochs": (-1, "first ones, by margin rescaling; -1: half of them for prob, else 0"),
    "later_rate": (1.0, "factor of the step size after these"),
    "max_bans": (0, "rounds of bans in a search for the maximum of a loss at most"),
    "rate": (2e-3, "step size of Adam at first; it falls to 0"),
    "batch": (800, "words of a batch"),
    "width": (200, "states of the recurrent network in each direction"),
    "layers": (1, "its layers"),
    "dropout": (0.33, "share of states, and of what is known of a word, left out in training"),
    "seed": (0, "of weights, order and dropout"),
}


def vocabulary(sentences):
    """The words, tags, ... that a parser knows; numbers 0 and 1 are for absent and unknown ones."""
    keys = {name: {key for s in sentences for key in getattr(s, name)} for name in TABLES}
    keys["words"] = {w for w, n in Counter(w for s in sentences for w in s.words).items() if n > 1}
    keys["letters"] = {letter for s in sentences for form in s.forms for letter in form}
    lists = {name: [ABSENT, "<unknown>", *sorted(each - {ABSENT})] for name, each in keys.items()}
    return lists | {"relations": sorted({key for s in sentences for key in s.relations})}


class Parser:
    def __init__(self, options, lists, transformer=None):
        self.options, self.lists, vectors = options, lists, options["vectors"]
        try:
            if vectors != "none" and transformer is None:
                transformer = Transformer(vectors, DEVICE)
        except (ImportError, OSError) as error:
            raise ValueError(f"vectors are {vectors}: {error}") from error
        self.numbers = {name: {key: k for k, key in enumerate(lists[name])} for name in lists}
        torch.manual_seed(options["seed"])
        shape = (options[name] for name in ("width", "layers", "dropout"))
        self.transformer, width = transformer, transformer.width if transformer else 0
        self.network = Network(self.numbers, width, *shape).to(DEVICE)

    def encode(self, sentences):
        """Of each sentence the network's inputs and the tree, a row for each word."""
        encoded = []
        for s in sentences:
            keys = {name: getattr(s, name) for name in TABLES}
            keys["letters"] = "".join(form[:LETTERS].ljust(LETTERS, ABSENT) for form in s.forms)
            rows = {name: [self.numbers[name].get(key, 1) for key in keys[name]] for name in keys}
            rows["heads"] = [-1 if head is None else head for head in s.heads]
            rows["relations"] = [self.numbers["relations"].get(key, -1) for key in s.relations]
            encoded.append({name: torch.tensor(row) for name, row in rows.items()})
            encoded[-1]["letters"] = encoded[-1]["letters"].view(len(s), LETTERS)
        for k, of_s in enumerate(self.transformer.vectors(sentences) if self.transformer else ()):
            encoded[k]["vectors"] = of_s
        return encoded

    def scores(self, encoded):
        """The batch, padded by 0 and its trees by -1, lengths, scores of arcs, states of words."""
        pad, absent = torch.nn.utils.rnn.pad_sequence, {"heads": -1, "relations": -1}
        columns = {name: [each[name] for each in encoded] for name in encoded[0]}
        batch = {k: pad(rows, True, absent.get(k, 0)).to(DEVICE) for k, rows in columns.items()}
        lengths = torch.tensor([len(each["words"]) for each in encoded])
        return batch, lengths, *self.network(batch, lengths)

    def fit(self, train, dev):
        """Trains; yields after each epoch the loss per word, and UAS and LAS of dev."""
        options = self.options
        losses = [loss_of_arcs(name, options["max_bans"]) for name in ("margin", options["loss"])]
        encoded, of_dev = self.encode(train), self.encode(dev)
        shuffle = random.Random(options["seed"]).shuffle
        optimizer = torch.optim.Adam(self.network.parameters(), betas=(0.9, 0.9))
        entropy = torch.nn.CrossEntropyLoss(ignore_index=-1, reduction="sum")
        first = options["margin_epochs"]
        first = first if first >= 0 else options["epochs"] // 2 * (options["loss"] == "prob")
        for epoch in range(options["epochs"]):
            of_arcs, total = losses[epoch >= first], 0.0
            rate = options["rate"] * (options["later_rate"] if 0 < first <= epoch else 1)
            optimizer.param_groups[0]["lr"] = rate * (1 - epoch / options["epochs"])
            self.network.train()
            for part in batches(train, options["batch"], shuffle):
                batch, lengths, arcs, states = self.scores([encoded[i] for i in part])
                relations = self.network.relations(states, batch["heads"]).flatten(0, 1)
                # searches begin with the maxima of the last epoch
                keys = [part] if isinstance(of_arcs, StructuredLoss) else []
                loss = of_arcs(arcs, batch["heads"], lengths, *keys)
                loss = loss + entropy(relations, batch["relations"].flatten())
                optimizer.zero_grad()
                (loss / lengths.sum()).backward()
                torch.nn.utils.clip_grad_norm_(self.network.parameters(), 5.0)
                optimizer.step()
                total += loss.item()
            yield total / sum(map(len, train)), *attachment(self.parse(dev, of_dev), dev)

    @torch.inference_mode()
    def parse(self, sentences, encoded=None):
        """The sentences with their best trees."""
        encoded, parsed = encoded or self.encode(sentences), list(sentences)
        self.network.eval()
        for part in batches(sentences, 2000):
            _, lengths, arcs, states = self.scores([encoded[i] for i in part])
            heads = best_labellings(arcs.cpu().numpy(), ProjectiveTrees(), lengths=lengths).y
            best = self.network.relations(states, torch.from_numpy(heads).to(DEVICE)).argmax(2)
            for i, of_i, relations in zip(part, heads.tolist(), best.tolist(), strict=True):
                names = [self.lists["relations"][r] for r in relations[: len(sentences[i])]]
                parsed[i] = sentences[i].with_tree(of_i[: len(names)], names)
        return parsed

    def save(self, path):
        torch.save((self.options, self.lists, self.network.state_dict()), path)

    @classmethod
    def load(cls, path):
        try:
            options, lists, weights = torch.load(path, map_location=DEVICE, weights_only=True)
        except (EOFError, pickle.UnpicklingError, RuntimeError, TypeError) as error:
            raise ValueError(f"{path} is not a model of this parser") from error
        parser = cls(options, lists)
        parser.network.load_state_dict(weights)
        return parser


def loss_of_arcs(name, bans):
    if name == "likelihood":
        return LogLikelihoodLoss(ProjectiveTrees(), reduction="sum")
    return StructuredLoss(ProjectiveTrees(), name, reduction="sum", max_bans=bans, tolerance=0.01)


def right(parsed, gold):
    """The words of a sentence with the true head, and those with its relation, too."""
    arcs = [[(w["head"], w["deprel"]) for w in s.rows] for s in (parsed, gold)]
    return [sum(a[:k] == b[:k] for a, b in zip(*arcs, strict=True)) for k in (1, 2)]


def attachment(parsed, gold):
    """UAS and LAS: the shares of these over all sentences."""
    return [sum(k) / sum(map(len, gold)) for k in zip(*map(right, parsed, gold), strict=True)]


def train(model, train, dev, **options):
    for name in ("epochs", "later_rate", "rate", "batch", "width", "layers"):
        if not 0 < options[name] < float("inf"):
            raise ValueError(f"{name} is {options[name]}, but must be finite and > 0")
    if not -1 <= options["margin_epochs"] < options["epochs"]:
        raise ValueError("{margin_epochs} of {epochs} epochs by margin rescaling".format(**options))
    sentences, dev = [s for s in read(train) if s.is_projective()], read(dev)
    if not sentences:
        raise ValueError(f"{train}: the arcs of every sentence cross")
    parser, best = Parser(options, vocabulary(sentences)), -1.0
    open(model, "ab").close()  # an error now rather than after an epoch
    for epoch, (loss, uas, las) in enumerate(parser.fit(sentences, dev), 1):
        print(f"epoch {epoch}: loss {loss:.4f}, UAS {uas:.4f}, LAS {las:.4f}", flush=True)
        if las > best:
            best = las
            parser.save(model)


def evaluate(model, test):
    gold = read(test)
    print("UAS {:.4f}, LAS {:.4f}".format(*attachment(Parser.load(model).parse(gold), gold)))


def parse(model, file):
    for s in Parser.load(model).parse(read(file, with_trees=False)):
        print(s.tokens.serialize(), end="")


def main():
    top = ArgumentParser(description=__doc__.split("\n")[0])
    commands = top.add_subparsers(required=True)
    for run, files in (train, "model train dev"), (evaluate, "model test"), (parse, "model file"):
        command = commands.add_parser(run.__name__, formatter_class=ArgumentDefaultsHelpFormatter)
        command.set_defaults(run=run)
        for name in files.split():
            command.add_argument(name)
        for name, (default, words) in OPTIONS.items() if run is train else ():
            option = f"--{name.replace('_', '-')}"
            command.add_argument(option, type=type(default), default=default, help=words)
    arguments = vars(top.parse_args())
    try:
        arguments.pop("run")(**arguments)
    except (OSError, ValueError) as error:
        raise SystemExit(f"parser.py: {error}") from error


if __name__ == "__main__":
    main()
