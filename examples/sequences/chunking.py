"""
Tag sequences by a BiLSTM, under hinge and likelihood
=====================================================
A BiLSTM scores the tags of every word; a table scores pairs of neighbouring tags. :class:`~neuralfactors.CRFLoss` is
the log-likelihood of the true tags, :class:`~neuralfactors.StructuredHingeLoss` asks for a margin between them and
all others. Both take the same potentials, as does prediction.

With CoNLL-2000 in ``NEURALFACTORS_DATA`` the tags are those of chunks. Without it, the page makes up a language.
"""

import os
from collections import Counter
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

from neuralfactors import CRFLoss, Potentials, StructuredHingeLoss

n_train, n_test = 800, 200
n_epochs = 8  # 1 in tests


def read_conll(path, n_sentences):
    """Words and tags of the first sentences of a file."""
    blocks = path.read_text().lower().strip().split("\n\n")[:n_sentences]
    rows = [[line.split() for line in block.splitlines()] for block in blocks]
    return [([row[0] for row in sentence], [row[-1] for row in sentence]) for sentence in rows]


def made_up(n_sentences, rng):
    """Sentences of a language in which half of the words can stand for several tags."""
    tags = ["b-np", "i-np", "b-vp", "i-vp", "o"]
    follow = np.array(
        [[1, 5, 4, 0, 1], [1, 2, 6, 0, 1], [5, 0, 1, 3, 1], [5, 0, 1, 1, 2], [4, 0, 2, 0, 1]], dtype=float
    )
    sentences = []
    for _ in range(n_sentences):
        state = [rng.choice([0, 2, 4])]
        while len(state) < 18:
            state.append(rng.choice(5, p=follow[state[-1]] / follow[state[-1]].sum()))
        words = [f"w{rng.integers(40)}" if rng.random() < 0.6 else f"{tags[k]}{rng.integers(80)}" for k in state]
        sentences.append((words, [tags[k] for k in state]))
    return sentences


folder = Path(os.environ.get("NEURALFACTORS_DATA", "")) / "conll2000"
if folder.is_dir():
    train, test = read_conll(folder / "train.txt", n_train), read_conll(folder / "test.txt", n_test)
else:
    rng = np.random.default_rng(0)
    train, test = made_up(n_train, rng), made_up(n_test, rng)

# %%
# Words that occur twice get a number; all others share the number 0. Sentences are padded, and labels are −100 in the
# padding, as usual in torch.

counts = Counter(word for words, _ in train for word in words)
known = {word: k for k, word in enumerate((word for word, n in counts.items() if n > 1), start=1)}
tag_names = sorted({tag for _, tags in train for tag in tags})
tag_numbers = {tag: k for k, tag in enumerate(tag_names)}


def encode(sentences):
    """Numbers of words, 0 in the padding, and of tags, -100 there, both (B, T)."""
    words = [torch.tensor([known.get(word, 0) for word in words]) for words, _ in sentences]
    tags = [torch.tensor([tag_numbers.get(tag, -100) for tag in tags]) for _, tags in sentences]
    return pad_sequence(words, batch_first=True), pad_sequence(tags, batch_first=True, padding_value=-100)


class Tagger(nn.Module):
    """A BiLSTM for the scores of tags, and one table for all pairs of neighbours."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(len(known) + 1, 64)
        self.lstm = nn.LSTM(64, 48, bidirectional=True, batch_first=True)
        self.dropout = nn.Dropout(0.3)
        self.score = nn.Linear(96, len(tag_names))
        self.table = nn.Parameter(torch.zeros(len(tag_names), len(tag_names)))

    def forward(self, words, mask):
        states = self.lstm(self.dropout(self.embed(words)))[0]
        return Potentials.chain(self.score(self.dropout(states)), self.table, mask)


# %%
# One loop for all losses. Cross-entropy, which sees every word by itself, is the third for comparison.


def by_word(potentials, y):
    """Cross-entropy of every word, whatever its neighbours."""
    return nn.functional.cross_entropy(potentials.unary, y[y >= 0])


possible = torch.zeros(len(tag_names), len(tag_names), dtype=torch.bool)
for _, tags in train:
    numbers = [tag_numbers[tag] for tag in tags]
    possible[numbers[:-1], numbers[1:]] = True


def impossible(found, mask):
    """The share of sentences with a pair of neighbouring tags that training has never seen."""
    pairs = ~possible[found[:, :-1], found[:, 1:]] & mask[:, 1:]
    return pairs.any(dim=1).double().mean().item()


def train_tagger(loss):
    """The tagger; of the test sentences after each epoch, the share of right tags and of impossible sentences."""
    torch.manual_seed(0)
    tagger = Tagger()
    optimizer = torch.optim.Adam(tagger.parameters(), lr=0.005)
    records = []
    words_test, tags_test = encode(test)
    for _ in range(n_epochs):
        tagger.train()
        for start in range(0, len(train), 32):
            words, tags = encode(train[start : start + 32])
            optimizer.zero_grad()
            loss(tagger(words, tags >= 0), tags).backward()
            optimizer.step()
        with torch.no_grad():
            potentials = tagger.eval()(words_test, tags_test >= 0)
        alone = potentials.unflatten(potentials.unary.argmax(1))
        found = alone if loss is by_word else potentials.argmax()
        right = (found == tags_test)[tags_test >= 0].double().mean().item()
        records.append((right, impossible(found, tags_test >= 0)))
    return tagger, records


losses = {"likelihood": CRFLoss(), "hinge": StructuredHingeLoss(), "word by word": by_word}
taggers, records = {}, {}
for name, loss in losses.items():
    taggers[name], records[name] = train_tagger(loss)
    right, wrong = records[name][-1]
    print(f"{name}: {right:.3f} of the tags right, {wrong:.3f} of the sentences impossible")

# %%
# Tags right are much the same: the LSTM sees the neighbouring words. But only joint models know that tags must fit
# together. On the right, what follows what, in the learned table of the likelihood.

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
for name, values in records.items():
    left.plot(range(1, n_epochs + 1), [value[0] for value in values], "o-", label=name)
    middle.plot(range(1, n_epochs + 1), [value[1] for value in values], "o-", label=name)
left.set(xlabel="epoch", title="tags right")
middle.set(xlabel="epoch", title="sentences with an impossible pair of tags")
left.legend(frameon=False)
often = [tag_numbers[tag] for tag, _ in Counter(tag for _, tags in train for tag in tags).most_common(8)]
shown = taggers["likelihood"].table.detach().numpy()[np.ix_(often, often)]
right.imshow(shown, cmap="coolwarm", vmin=-abs(shown).max(), vmax=abs(shown).max())
right.set_xticks(range(len(often)), [tag_names[k] for k in often], rotation=60)
right.set_yticks(range(len(often)), [tag_names[k] for k in often])
right.set(xlabel="tag", ylabel="tag before it")
plt.show()
