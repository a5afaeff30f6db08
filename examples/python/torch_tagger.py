"""Tags of tokens by a recurrent network of PyTorch, trained with slack rescaling of the chain."""

import torch
from margrove.losses import Chain
from margrove.torch import StructuredLoss

torch.manual_seed(0)
torch.set_num_threads(1)
words = torch.randint(20, (100, 10))  # sentences of 10 words, tags 0 to 4
tags = (words + words.roll(1, dims=1)).remainder(5)  # a word alone does not tell its tag


class Tagger(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(20, 16)
        self.recurrent = torch.nn.GRU(16, 32, bidirectional=True, batch_first=True)
        self.emissions = torch.nn.Linear(64, 5)
        self.transitions = torch.nn.Parameter(torch.zeros(5, 5))

    def forward(self, words):
        states, _ = self.recurrent(self.embedding(words))
        return self.emissions(states), self.transitions


tagger, loss = Tagger(), StructuredLoss(Chain(), surrogate="slack", max_bans=0)
optimizer = torch.optim.Adam(tagger.parameters(), lr=0.02)
history = []
for _ in range(50):
    value = loss(tagger(words), tags)
    optimizer.zero_grad()
    value.backward()
    optimizer.step()
    history.append(value.item())
print(f"the loss fell below a quarter: {history[-1] < history[0] / 4}")
