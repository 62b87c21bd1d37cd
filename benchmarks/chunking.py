"""CoNLL-2000 chunking by a BiLSTM: chunk F1 of hinge and likelihood beside pytorch-crf, the mean of five seeds.

All three train the same network from the same start for the same number of steps, on 2000 sentences. Each tries six
learning rates, with two seeds of their own, on the next 500 sentences. The test sentences are read after that.
"""

from __future__ import annotations

import math
import os
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import harness
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torchcrf import CRF

from neuralfactors import CRFLoss, Decoder, Potentials, StructuredHingeLoss

DATA = Path(os.environ.get("NEURALFACTORS_DATA", "../shared/data")) / "conll2000"
N_TRAIN, N_VALIDATION = 2000, 500
RATES = (5e-3, 7e-3, 1e-2, 1.4e-2, 2e-2, 2.8e-2)
MARGIN = 0.3  # of the hinge; the best of 0.1, 0.3, 1 and 3 when trained on sentences 3000 to 5000
N_SEEDS, N_TRIAL_SEEDS, N_EPOCHS, BATCH_SIZE = 5, 2, 6, 32
UNKNOWN = "?"  # stands for words that training has seen once or never
Encoded = list[tuple[Tensor, Tensor]]  # of every sentence: words and parts of speech (T, 2), tags (T,)
Loss = Callable[["Tagger", Tensor, Tensor, Tensor], Tensor]


class Sentence(NamedTuple):
    words: tuple[str, ...]
    parts: tuple[str, ...]  # of speech
    tags: tuple[str, ...]


def read_sentences(path: Path) -> list[Sentence]:
    blocks = path.read_text().lower().strip().split("\n\n")
    return [Sentence(*zip(*map(str.split, block.splitlines()), strict=True)) for block in blocks]


class Vocabulary:
    """Numbers for the strings that occur at least `least` times, and one for all others."""

    def __init__(self, values: Sequence[tuple[str, ...]], least: int = 1) -> None:
        counts = Counter(value for row in values for value in row)
        self.names = [UNKNOWN, *(value for value, count in counts.items() if count >= least)]
        self.numbers = {name: k for k, name in enumerate(self.names)}

    def __len__(self) -> int:
        return len(self.names)

    def encode(self, values: Sequence[str]) -> Tensor:
        return torch.tensor([self.numbers.get(value, 0) for value in values])


class Vocabularies:
    """Those of words, parts of speech and tags, learned from the training sentences."""

    def __init__(self, sentences: Sequence[Sentence]) -> None:
        words, parts, tags = zip(*sentences, strict=True)
        self.words, self.parts, self.tags = Vocabulary(words, least=2), Vocabulary(parts), Vocabulary(tags)

    def encode(self, sentences: Sequence[Sentence]) -> Encoded:
        tokens = (torch.stack([self.words.encode(s.words), self.parts.encode(s.parts)], 1) for s in sentences)
        return list(zip(tokens, (self.tags.encode(s.tags) for s in sentences), strict=True))


class Tagger(nn.Module):
    """A BiLSTM for emissions; pytorch-crf's layer holds the transitions, whoever computes the loss."""

    def __init__(self, known: Vocabularies) -> None:
        super().__init__()
        self.words, self.parts = nn.Embedding(len(known.words), 64), nn.Embedding(len(known.parts), 32)
        self.lstm = nn.LSTM(96, 64, bidirectional=True, batch_first=True)
        self.dropout, self.scores = nn.Dropout(0.3), nn.Linear(128, len(known.tags))
        self.crf = CRF(len(known.tags), batch_first=True)

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Words and parts of speech (B, T, 2) in, emissions (B, T, L) out."""
        words, parts = tokens.unbind(-1)
        embedded = self.dropout(torch.cat([self.words(words), self.parts(parts)], -1))
        packed = pack_padded_sequence(embedded, mask.sum(1), batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        return self.scores(self.dropout(states))

    def potentials(self, tokens: Tensor, mask: Tensor) -> Potentials:
        ends = self.crf.start_transitions, self.crf.end_transitions
        return Potentials.chain(self(tokens, mask), self.crf.transitions, mask, *ends)


def by_potentials(loss: nn.Module) -> Loss:
    return lambda tagger, tokens, tags, mask: loss(tagger.potentials(tokens, mask), tags)


def by_pytorch_crf(tagger: Tagger, tokens: Tensor, tags: Tensor, mask: Tensor) -> Tensor:
    return -tagger.crf(tagger(tokens, mask), tags, mask, reduction="mean")


def losses(n_tags: int) -> dict[str, Loss]:
    hinge = StructuredHingeLoss(Decoder(n_threads=1), class_weight=torch.full((n_tags,), MARGIN))
    likelihood = CRFLoss(n_threads=1)
    return {"pytorch-crf": by_pytorch_crf, "likelihood": by_potentials(likelihood), "hinge": by_potentials(hinge)}


def batches(sentences: Encoded, order: Sequence[int]) -> list[tuple[Tensor, Tensor, Tensor]]:
    """Padded tokens, tags and mask of the sentences in that order."""
    found = []
    for start in range(0, len(order), BATCH_SIZE):
        tokens, tags = zip(*(sentences[n] for n in order[start : start + BATCH_SIZE]), strict=True)
        mask = pad_sequence([torch.ones(len(row), dtype=torch.bool) for row in tags], batch_first=True)
        found.append((pad_sequence(tokens, batch_first=True), pad_sequence(tags, batch_first=True), mask))
    return found


def train(known: Vocabularies, sentences: Encoded, loss: Loss, rate: float, seed: int, n_epochs: int) -> Tagger:
    torch.manual_seed(seed)
    tagger = Tagger(known)
    optimizer = torch.optim.Adam(tagger.parameters(), lr=rate)
    n_steps = n_epochs * -(-len(sentences) // BATCH_SIZE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, n_steps)
    for _ in range(n_epochs):
        for batch in batches(sentences, torch.randperm(len(sentences)).tolist()):
            optimizer.zero_grad()
            loss(tagger, *batch).backward()
            optimizer.step()
            schedule.step()
    return tagger.eval()


@torch.no_grad()
def predict(tagger: Tagger, sentences: Encoded, known: Vocabularies) -> list[list[str]]:
    """The tags of highest score, which are the same whoever finds them."""
    found = []
    for tokens, _, mask in batches(sentences, range(len(sentences))):
        for labels, inside in zip(tagger.potentials(tokens, mask).argmax(n_threads=1), mask, strict=True):
            found.append([known.tags.names[k] for k in labels[inside]])
    return found


def chunks(rows: Sequence[Sequence[str]]) -> set[tuple[int, int, int, str]]:
    """Sentence, first word, word after the last, and kind of every chunk; "i-np" after another kind begins one too."""
    found = set()
    for n, tags in enumerate(rows):
        start, kind = 0, ""
        for t, tag in enumerate([*tags, "o"]):
            mark, _, name = tag.partition("-")
            if mark != "i" or name != kind:
                found |= {(n, start, t, kind)} if kind else set()
                start, kind = t, name
    return found


def f1(predicted: Sequence[Sequence[str]], true: Sequence[Sequence[str]]) -> float:
    ours, theirs = chunks(predicted), chunks(true)
    return 2 * len(ours & theirs) / max(1, len(ours) + len(theirs))


class Data:
    """The first sentences of CoNLL-2000 to learn from, the next to choose by, and those to test on."""

    def __init__(self, n_train: int, n_validation: int, n_test: int | None) -> None:
        first = read_sentences(DATA / "train.txt")[: n_train + n_validation]
        self.known = Vocabularies(first[:n_train])
        self.training = self.known.encode(first[:n_train])
        self.validation = first[n_train:]
        self.test = read_sentences(DATA / "test.txt")[:n_test]

    def f1(self, tagger: Tagger, sentences: Sequence[Sentence]) -> float:
        predicted = predict(tagger, self.known.encode(sentences), self.known)
        return f1(predicted, [sentence.tags for sentence in sentences])


def measure_loss(
    report: harness.Report, case: str, name: str, loss: Loss, data: Data, n_seeds: int, n_epochs: int
) -> float:
    """Mean F1 on the test sentences over the seeds, at the rate that validation sentences prefer."""
    start = time.process_time()

    def fit(rate: float, seed: int) -> Tagger:
        return train(data.known, data.training, loss, rate, seed, n_epochs)

    def judge(rate: float) -> float:
        return float(np.mean([data.f1(fit(rate, n_seeds + k), data.validation) for k in range(N_TRIAL_SEEDS)]))

    chosen = max(RATES, key=judge)
    found = [data.f1(fit(chosen, seed), data.test) for seed in range(n_seeds)]
    report.measured(case, f"{name}, CPU seconds", time.process_time() - start)
    report.measured(case, f"{name}, F1, deviation", float(np.std(found)))
    report.note(f"{name}: validation chose a rate of {chosen:g}.")
    return float(np.mean(found))


def measure(report: harness.Report, quick: bool) -> None:
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", module="torchcrf")
    if not DATA.exists():
        report.note(f"Nothing was measured: there is no {DATA}.")
        return
    data = Data(100, 50, 50) if quick else Data(N_TRAIN, N_VALIDATION, None)
    n_seeds, n_epochs = (2, 2) if quick else (N_SEEDS, N_EPOCHS)
    case = f"CoNLL-2000, {len(data.training)} sentences, BiLSTM"
    means = {
        name: measure_loss(report, case, name, loss, data, n_seeds, n_epochs)
        for name, loss in losses(len(data.known.tags)).items()
    }
    reference = means.pop("pytorch-crf")
    report.measured(case, "pytorch-crf, F1", reference)
    for name, mean in means.items():
        report.at_least(case, f"{name}, F1", mean, math.floor(1e4 * reference) / 1e4)


if __name__ == "__main__":
    harness.main("Chunking", measure)
