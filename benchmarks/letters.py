"""Handwritten letters read by a CNN within a chain: trained on one fold of ten, or on nine, and tested on the others.

The network is that of `examples/letters_cnn.py`. Its dropout is chosen on a fifth of the training words; the chosen
estimator is then fitted to all of them and sees the test words once.
"""

from __future__ import annotations

import runpy
import time
from pathlib import Path

import harness
import torch
from chains import LETTERS, ONE_THREAD, choose, part
from sklearn.base import clone

from neuralfactors.datasets import load_letters
from neuralfactors.datasets._chains import GraphsAndLabels

EXAMPLE = Path(__file__).parents[1] / "examples" / "letters_cnn.py"
DROPOUT = (0.0, 0.3)


def measure_split(
    report: harness.Report, case: str, train: GraphsAndLabels, test: GraphsAndLabels, target: float, **options: int
) -> None:
    make_reader = runpy.run_path(str(EXAMPLE))["make_reader"]
    start, n_words = time.process_time(), len(train[0])
    chosen = choose([make_reader(n_words, share, decoder=ONE_THREAD, **options) for share in DROPOUT], train)
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
