"""How to descend: the settings of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from neuralfactors.learning.losses import AUTO, check_count, check_option, check_positive
from neuralfactors.learning.optimizers import SCHEDULES, MakeOptimizer

Pair = tuple[Any, Any]  # numbers, or "auto"


@dataclass(frozen=True)
class Settings:
    """How to descend; a pair holds one value for the unary and one for the interaction factor.

    C, learning_rate, max_iter and batch_size may be "auto" until `neuralfactors.learning.auto.resolve` has replaced it.
    """

    C: Pair = (1.0, 1.0)
    learning_rate: Pair = (1e-3, 1e-3)
    momentum: tuple[float, float] = (0.9, 0.9)
    t0: float = 0.0
    schedule: str = "inverse"
    optimizer: str | MakeOptimizer = "sgd"
    max_iter: Any = 100
    batch_size: Any = None  # None: all graphs
    n_hidden: tuple[int, int] = (0, 0)  # layers, by which "auto" chooses the learning rate
    keep: str = "objective"  # which iterate is returned: "objective", "validation" or "last"
    averaging: str | None = None
    patience: int | None = None
    tol: float = 1e-4
    loss: str = "hinge"  # or "perceptron", without margin, or "cross-entropy" of every node by itself
    regularise: bool = True
    void: str = "drop"
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("C", "learning_rate"):
            for value in getattr(self, name):
                check_positive(name, value)
        if not all(0 <= value < 1 for value in self.momentum):
            raise ValueError(f"momentum must be at least 0 and below 1, got {self.momentum}")
        for name in ("max_iter", "batch_size", "patience"):
            if getattr(self, name) is not None and getattr(self, name) != AUTO:
                check_count(name, getattr(self, name))
        if self.t0 < 0 or self.tol < 0:
            raise ValueError(f"t0 and tol must not be negative, got t0={self.t0} and tol={self.tol}")
        check_option("keep", self.keep, ("objective", "validation", "last"))
        check_option("void", self.void, ("drop", "complete"))
        check_option("schedule", self.schedule, SCHEDULES)
