"""Optimisers by name, learning-rate curves, and the average of iterates."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

Groups = list[dict[str, Any]]
MakeOptimizer = Callable[[Groups], torch.optim.Optimizer]


def _eager(kind: type[torch.optim.Optimizer]) -> type[torch.optim.Optimizer]:
    """`kind` without the decorators of its methods: these import torch's compiler, which takes longer than torch."""
    methods = inspect.getmembers(kind, lambda member: hasattr(member, "__wrapped__"))
    plain = {name: inspect.unwrap(method) for name, method in methods}
    plain["step"] = torch.no_grad()(inspect.unwrap(kind.step))
    return type(kind.__name__, (kind,), plain)


# Under names of this module, by which pickle finds them.
SGD, Adam, AdamW, RMSprop, Adagrad = map(
    _eager, (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.RMSprop, torch.optim.Adagrad)
)
OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    kind.__name__.lower(): kind for kind in (SGD, Adam, AdamW, RMSprop, Adagrad)
}
# The gradient they are given is θ + C/N Σ g of Eq. (6), so that it needs no decay of theirs.
FUSED = {"fused": True}  # one pass over the parameters instead of several
OPTIONS: dict[str, dict[str, Any]] = {"sgd": FUSED, "adam": FUSED, "adamw": {"weight_decay": 0.0, **FUSED}}
NORMALISING = (torch.optim.Adam, torch.optim.AdamW, torch.optim.RMSprop, torch.optim.Adagrad)
SCHEDULES = ("inverse", "constant", "cosine")
DUST = 1e-20  # parameters smaller than this are nothing
HUGE = 1e15  # beyond it, sums of products overflow float32


def make_optimizer(optimizer: str | MakeOptimizer, groups: Groups) -> torch.optim.Optimizer:
    """The optimiser called `optimizer`, or the one that it makes of parameter groups, each with `params` and `lr`."""
    if callable(optimizer):
        return optimizer(groups)
    if optimizer not in OPTIMIZERS:
        raise ValueError(f"optimizer must be one of {sorted(OPTIMIZERS)} or a callable, got {optimizer!r}")
    if optimizer not in ("sgd", "rmsprop"):
        groups = [{key: value for key, value in group.items() if key != "momentum"} for group in groups]
    return OPTIMIZERS[optimizer](groups, **OPTIONS.get(optimizer, {}))


def is_untouched(optimizer: torch.optim.Optimizer, parameter: Tensor) -> bool:
    """Whether no gradient of the loss has reached `parameter` yet, where the optimiser divides gradients by their size.

    The regulariser's gradient alone would make a whole step then: as the output layer is zero at first, the first step
    would move every hidden weight towards zero by the learning rate. Let such parameters be as they were initialised.
    """
    if not isinstance(optimizer, NORMALISING) or parameter.grad is None:
        return False
    return float(optimizer.state[parameter].get("step", 0)) == 0 and not bool(parameter.grad.any())


def learning_rate_factor(schedule: str, t: float, t0: float, max_iter: int) -> float:
    """What the learning rate is multiplied by in pass `t`, counted from 1: 1 / (t₀ + t) for "inverse", as in the paper.

    >>> learning_rate_factor("inverse", 1.0, 9.0, 100)
    0.1
    """
    if schedule == "inverse":
        return 1.0 / (t0 + t)
    if schedule == "cosine":
        return 0.5 * (1.0 + math.cos(math.pi * min(1.0, (t - 1.0) / max_iter)))
    return 1.0


@torch.no_grad()
def drop_dust(parameters: Sequence[Tensor]) -> None:
    """Set parameters that are nearly zero to zero.

    Those that only the regulariser moves, of label pairs that never meet, shrink by a share a step for ever. When they
    become denormal numbers, the processor takes several times as long for all products.
    """
    for parameter in parameters:
        torch.hardshrink(parameter, DUST, out=parameter)


@torch.no_grad()
def refuse_divergence(parameters: Sequence[Tensor]) -> None:
    """Refuse to continue with NaN or unbounded parameters, while the cause is still known."""
    largest = [parameter.abs().max() for parameter in parameters if parameter.numel()]
    if largest and not bool((torch.stack(largest) < HUGE).all()):
        raise ValueError("training diverges: parameters grow without bound; lower learning_rate, or scale the features")


class Average:
    """Running average of iterates: "linear" weighs iterate t by t, "uniform" weighs all the same."""

    KINDS = ("linear", "uniform")

    def __init__(self, kind: str, parameters: Sequence[Tensor]) -> None:
        if kind not in self.KINDS:
            raise ValueError(f"averaging must be None or one of {list(self.KINDS)}, got {kind!r}")
        self.kind = kind
        self.count = 0
        self.values = [parameter.detach().clone() for parameter in parameters]

    def update(self, parameters: Sequence[Tensor]) -> None:
        """Add the next iterate."""
        self.count += 1
        share = 2.0 / (self.count + 1) if self.kind == "linear" else 1.0 / self.count
        for value, parameter in zip(self.values, parameters, strict=True):
            value.lerp_(parameter.detach(), share)
