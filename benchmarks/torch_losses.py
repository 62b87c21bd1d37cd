"""Losses of chains whose edges share one table, forward and backward, beside pytorch-crf's likelihood."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import harness
import torch
from torchcrf import CRF

from neuralfactors import Decoder, Potentials, StructuredHingeLoss

N_CHAINS, N_STEPS = 32, 25
TARGET = 3.0  # times as fast as pytorch-crf


def rivals(n_labels: int) -> dict[str, Callable[[], None]]:
    """One step of each loss, from the same emissions and transitions: value and gradients."""
    torch.manual_seed(0)
    emissions = torch.randn(N_CHAINS, N_STEPS, n_labels, requires_grad=True)
    y = torch.randint(n_labels, (N_CHAINS, N_STEPS))
    crf, hinge = CRF(n_labels, batch_first=True), StructuredHingeLoss(Decoder(n_threads=1))

    def ours() -> None:
        chain = Potentials.chain(emissions, crf.transitions, start=crf.start_transitions, end=crf.end_transitions)
        hinge(chain, y).backward()

    def theirs() -> None:
        (-crf(emissions, y, reduction="mean")).backward()

    return {"hinge": ours, "pytorch-crf": theirs}


def measure(report: harness.Report, quick: bool) -> None:
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", module="torchcrf")
    for n_labels in (23, 100):
        seconds = harness.interleave(rivals(n_labels), repeats=3 if quick else 25)
        case = f"{N_CHAINS} chains of {N_STEPS}, {n_labels} labels, one table"
        for name, value in seconds.items():
            report.measured(case, f"{name}, ms", 1e3 * value)
        report.at_least(case, "hinge: times as fast", seconds["pytorch-crf"] / seconds["hinge"], TARGET)


if __name__ == "__main__":
    harness.main("Torch losses", measure)
