"""Constraints that a convex learner found, for its next run.

A constraint is kept as a labelling, and its weight as a share of what all may weigh. Both make a feasible point of the
dual for any features, labels, costs and C: what they are worth there is computed anew. So a warm start can only be
better or worse, never wrong. Graphs are matched by their place; one with another number of nodes starts afresh.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from neuralfactors.inference import _kernels
from neuralfactors.learning._linear_passes import LinearProblem


@dataclass
class KeptBlocks:
    """Labellings of every graph, and their shares of its C/N: for learners with one slack a graph."""

    blocks: list[tuple[NDArray[np.uint16], NDArray[np.float64]]] = field(default_factory=list)  # (K, V) and (K,)

    def restore(self, problem: LinearProblem, sets: _kernels.WorkingSets, C: float) -> bool:
        """Put what fits the graphs of `problem` into fresh sets, and its weights there; whether there was anything."""
        for n, (labels, shares) in enumerate(self.blocks[: len(problem)]):
            if problem.admits(labels, n):
                sets.restore(n, labels, shares * (C / len(problem)))
        return sets.n_constraints > 0

    def keep(self, problem: LinearProblem, sets: _kernels.WorkingSets, C: float) -> None:
        """Take over the constraints of `sets`, which belong to `problem` and `C`."""
        found = (sets.block(n) for n in range(len(problem)))
        self.blocks = [(labels, alpha * (len(problem) / C)) for labels, alpha in found]


@dataclass
class KeptLabellings:
    """Labellings of all graphs together, and their shares of C: for learners with one slack."""

    labels: NDArray[np.int32] | None = None  # (K, V)
    shares: NDArray[np.float64] | None = None  # (K,)
    n_nodes: tuple[int, ...] = ()

    def restore(self, problem: LinearProblem) -> tuple[NDArray[np.int32], NDArray[np.float64]] | None:
        """Labellings (K, V) and shares (K,) where they fit the graphs of `problem`, else None."""
        if self.labels is None or self.shares is None or self.n_nodes != problem.n_nodes:
            return None
        return (self.labels, self.shares) if problem.admits(self.labels) else None

    def keep(self, problem: LinearProblem, labels: NDArray[np.int32], shares: NDArray[np.float64]) -> None:
        """Take over the constraints of a run on `problem`."""
        self.labels, self.shares, self.n_nodes = labels, shares, problem.n_nodes
