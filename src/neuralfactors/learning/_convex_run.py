"""The outcome of a convex learner: the best weights, what is proved of them, and a record of every certified pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from neuralfactors.learning._history import Callback, Record, tell
from neuralfactors.learning._linear_passes import LinearProblem, Pass


@dataclass
class ConvexRun:
    """Outcome of a solver that knows its duality gap: the best weights seen and a record of every certified pass.

    Where inference is approximate it may miss a more violated labelling. The objective that it sees is then too low by
    at most its own gap, which therefore counts in the duality gap.
    """

    C: float
    tol: float
    best: float = np.inf  # objective of the weights kept, as inference sees it
    unproved: float = np.inf  # by how much, at most, that is too low
    dual: float = -np.inf  # the highest value seen
    w: NDArray[np.float64] | None = None
    history: list[Record] = field(default_factory=list)
    last: float = field(default_factory=perf_counter)  # when the last record was made
    told_to_stop: bool = False  # by a callback

    def note(self, problem: LinearProblem, found: Pass, dual: float, n_constraints: int) -> None:
        """Record a pass under the present weights; remember them if their objective is the best so far."""
        hinge, gap = float(found.hinge.mean()), float(found.gap.mean())
        objective = 0.5 * float(problem.w @ problem.w) + self.C * hinge
        if objective < self.best:
            self.best, self.unproved, self.w = objective, self.C * gap, problem.w.copy()
        self.dual = max(self.dual, dual)
        now = perf_counter()
        self.history.append(
            {
                "epoch": len(self.history) + 1,
                "objective": objective,
                "dual": self.dual,
                "duality_gap": self.duality_gap if np.isfinite(self.duality_gap) else None,
                "hinge": hinge,
                "gap": gap if np.isfinite(gap) else None,
                "optimal": found.optimal,
                "within_tol": found.within_tol,
                "differing": found.differing,
                "constraints": n_constraints,
                "seconds": {"total": now - self.last},
            }
        )
        self.last = now

    @property
    def seen_gap(self) -> float:
        """The gap that is left as far as inference sees; negative where inference has missed a better labelling."""
        return self.best - self.dual

    @property
    def duality_gap(self) -> float:
        """How far the objective of the weights kept is from the least, at most; inf where inference has no bound."""
        return self.seen_gap + self.unproved

    @property
    def converged(self) -> bool:
        """Whether the duality gap is at most the share `tol` of the objective."""
        return self.duality_gap <= self._allowed

    @property
    def held_up(self) -> bool:
        """Whether inference alone leaves a larger gap than is allowed, so that no number of passes would be enough."""
        return self.unproved > self._allowed

    @property
    def _allowed(self) -> float:
        return self.tol * abs(self.best)

    def over(self, callbacks: Sequence[Callback]) -> bool:
        """Whether to stop: a callback says so, the gap is small enough, or no further pass would help."""
        self.told_to_stop = tell(callbacks, self.history[-1])
        return self.told_to_stop or self.converged or (self.held_up and self.seen_gap <= self._allowed)

    def finish(self, problem: LinearProblem) -> None:
        """Put the best weights into the model."""
        if self.w is not None:
            problem.w[:] = self.w
        problem.fill_model()
