"""Losses of chains whose edges share one table, forward and backward, beside pytorch-crf's likelihood."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import harness
import torch
from torch import Tensor
from torchcrf import CRF

from neuralfactors import CRFLoss, Decoder, Potentials, StructuredHingeLoss

N_CHAINS, N_STEPS = 32, 25
TARGETS = {"hinge": 3.0, "likelihood": 2.0}  # times as fast as pytorch-crf
ROUNDING = 1e-4  # of single precision
Step = Callable[[], list[Tensor]]


def rivals(n_labels: int) -> dict[str, Step]:
    """One step of each loss, from the same emissions and transitions: value and gradients."""
    torch.manual_seed(0)
    emissions = torch.randn(N_CHAINS, N_STEPS, n_labels, requires_grad=True)
    y = torch.randint(n_labels, (N_CHAINS, N_STEPS))
    crf = CRF(n_labels, batch_first=True)
    parameters = emissions, crf.transitions, crf.start_transitions, crf.end_transitions

    def step(loss: Callable[[], Tensor]) -> Step:
        return lambda: [value := loss(), *torch.autograd.grad(value, parameters)]

    def ours(loss: torch.nn.Module) -> Step:
        return step(lambda: loss(Potentials.chain(emissions, crf.transitions, None, *parameters[2:]), y))

    return {
        "hinge": ours(StructuredHingeLoss(Decoder(n_threads=1))),
        "likelihood": ours(CRFLoss(n_threads=1)),
        "pytorch-crf": step(lambda: -crf(emissions, y, reduction="mean")),
    }


def measure(report: harness.Report, quick: bool) -> None:
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", module="torchcrf")
    for n_labels in (23, 100):
        steps = rivals(n_labels)
        case = f"{N_CHAINS} chains of {N_STEPS}, {n_labels} labels, one table"
        error = difference(steps["likelihood"](), steps["pytorch-crf"]())
        report.at_most(case, "likelihood: difference of values and gradients", error, ROUNDING)
        seconds = harness.interleave(steps, repeats=3 if quick else 25)
        for name, value in seconds.items():
            report.measured(case, f"{name}, ms", 1e3 * value)
        for name, target in TARGETS.items():
            report.at_least(case, f"{name}: times as fast", seconds["pytorch-crf"] / seconds[name], target)


def difference(ours: list[Tensor], theirs: list[Tensor]) -> float:
    return max(float((a - b).detach().abs().max()) for a, b in zip(ours, theirs, strict=True))


if __name__ == "__main__":
    harness.main("Torch losses", measure)
