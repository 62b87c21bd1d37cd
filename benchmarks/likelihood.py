"""Log-likelihood of chains: time of loss and gradient beside pytorch-crf, whose values it must equal."""

from __future__ import annotations

from collections.abc import Callable

import harness
import torch
from torch import Tensor
from torchcrf import CRF

from neuralfactors.learning import CRFLoss
from neuralfactors.potentials import Potentials

N_CHAINS, LENGTH = 32, 25
SPEED = 2.0  # times pytorch-crf's
ROUNDING = 1e-4  # of single precision


def measure(report: harness.Report, quick: bool) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)  # pytorch-crf draws its own parameters
    for n_labels in (5, 23, 100):
        case = f"{N_CHAINS} chains of {LENGTH}, {n_labels} labels"
        ours, theirs = _losses(n_labels)
        values = ours(), theirs()
        report.at_most(case, "largest difference of losses and gradients", _difference(*values), ROUNDING)
        seconds = harness.interleave({"ours": ours, "theirs": theirs}, 3 if quick else 30)
        report.measured(case, "loss and gradient, ms", 1000 * seconds["ours"])
        report.measured(case, "pytorch-crf, ms", 1000 * seconds["theirs"])
        report.at_least(case, "times as fast", seconds["theirs"] / seconds["ours"], SPEED)


def _losses(n_labels: int) -> tuple[Callable[[], list[Tensor]], Callable[[], list[Tensor]]]:
    """Functions that return the loss of the same chains and its gradients, by us and by pytorch-crf."""
    generator = torch.Generator().manual_seed(0)
    emissions = torch.randn(N_CHAINS, LENGTH, n_labels, generator=generator, requires_grad=True)
    y = torch.randint(n_labels, (N_CHAINS, LENGTH), generator=generator)
    crf, loss = CRF(n_labels, batch_first=True), CRFLoss(n_threads=1)
    mask = torch.ones_like(y, dtype=torch.bool)
    inputs = emissions, crf.transitions, crf.start_transitions, crf.end_transitions

    def ours() -> list[Tensor]:
        potentials = Potentials.chain(emissions, crf.transitions, None, crf.start_transitions, crf.end_transitions)
        value = loss(potentials, y.flatten())
        return [value, *torch.autograd.grad(value, inputs)]

    def theirs() -> list[Tensor]:
        value = -crf(emissions, y, mask, reduction="mean")
        return [value, *torch.autograd.grad(value, inputs)]

    return ours, theirs


def _difference(ours: list[Tensor], theirs: list[Tensor]) -> float:
    return max(float((a - b).detach().abs().max()) for a, b in zip(ours, theirs, strict=True))


if __name__ == "__main__":
    harness.main("Likelihood", measure)
