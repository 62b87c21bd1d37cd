"""The dual of an N-slack structural SVM: per sample, the labellings found so far and their weights α.

maximise Σ α_nk ℓ_nk − ½‖w‖² with w = Σ α_nk ψ_nk, α ≥ 0 and Σ_k α_nk = C/N for every n, where entry 0 of each sample is
its true labelling, with ψ = 0 and ℓ = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralfactors.learning.linear import LinearProblem, Sample
from neuralfactors.learning.simplex import maximise_on_simplex


@dataclass
class Block:
    """The constraints of one sample."""

    Z: NDArray[np.int64]  # (K, V) labellings; row 0 is y
    loss: NDArray[np.float64]  # (K,)
    alpha: NDArray[np.float64]  # (K,)
    gram: NDArray[np.float64] | None = None  # (K, K) products of the ψ, where they are wanted


class WorkingSets:
    """The blocks of all samples, and the weight vector that they make.

    With `with_gram` the products of constraints are kept as well, which `solve_block` needs.
    """

    def __init__(self, problem: LinearProblem, C: float, *, with_gram: bool) -> None:
        self.problem = problem
        self.share = C / len(problem)
        self.with_gram = with_gram
        self.blocks: list[Block | None] = [None] * len(problem)
        self.dual_linear = 0.0  # Σ α ℓ

    @property
    def n_constraints(self) -> int:
        """Number of labellings found, the true ones not counted."""
        return sum(len(block.Z) - 1 for block in self.blocks if block is not None)

    def dual(self) -> float:
        """Value of the dual at α, a lower bound on the objective."""
        return self.dual_linear - 0.5 * float(self.problem.w @ self.problem.w)

    def block(self, n: int, sample: Sample) -> Block:
        """The block of sample n, made at first use with all its weight on the true labelling."""
        found = self.blocks[n]
        if found is None:
            gram = np.zeros((1, 1)) if self.with_gram else None
            found = Block(_compact(sample.y[None]), np.zeros(1), np.array([self.share]), gram)
            self.blocks[n] = found
        return found

    def position(self, n: int, sample: Sample, z: NDArray[np.int64]) -> int:
        """Where the labelling z stands in the block of sample n; it is added, without weight, if it is new."""
        block = self.block(n, sample)
        same = np.flatnonzero((z == block.Z).all(axis=1))
        if len(same):
            return int(same[0])
        block.Z = np.vstack([block.Z, _compact(z[None])])
        block.loss = np.append(block.loss, self.problem.losses(sample, z[None]))
        block.alpha = np.append(block.alpha, 0.0)
        if block.gram is not None:
            direction = np.zeros_like(self.problem.w)
            self.problem.add_(direction, sample, z[None], np.ones(1))
            new = self.problem.products(sample, block.Z.astype(np.int64), direction)
            block.gram = np.block([[block.gram, new[:-1, None]], [new[None]]])
        return len(block.Z) - 1

    def solve_block(self, n: int) -> float:
        """How much the dual was short of its maximum over the weights of sample n, which now have their best values."""
        block = self.blocks[n]
        if block is None or len(block.Z) == 1 or block.gram is None:
            return 0.0
        sample = self.problem.sample(n)
        gradient = block.loss - self.problem.products(sample, block.Z.astype(np.int64), self.problem.w)
        gap = float(self.share * gradient.max() - block.alpha @ gradient)
        # A few moves do: by the next pass the other samples will have changed the problem.
        linear, moves = gradient + block.gram @ block.alpha, len(block.alpha)
        best = maximise_on_simplex(block.gram, linear, block.alpha, tol=1e-7, max_iter=moves)
        self.move(n, sample, best - block.alpha)
        return gap

    def move(self, n: int, sample: Sample, change: NDArray[np.float64]) -> None:
        """Add `change` (K,) to the weights of sample n, and to w and the dual what follows from it."""
        block = self.block(n, sample)
        moved = np.flatnonzero(change)
        if len(moved):
            self.problem.add_(self.problem.w, sample, block.Z[moved].astype(np.int64), change[moved])
            self.dual_linear += float(change @ block.loss)
            block.alpha = block.alpha + change

    def prune(self, n: int) -> None:
        """Forget the labellings of sample n that carry no weight, but for the true one."""
        block = self.blocks[n]
        if block is not None and (block.alpha[1:] <= 0).any():
            keep = np.append(0, 1 + np.flatnonzero(block.alpha[1:] > 0))
            gram = None if block.gram is None else block.gram[np.ix_(keep, keep)]
            self.blocks[n] = Block(block.Z[keep], block.loss[keep], block.alpha[keep], gram)


def _compact(Z: NDArray[np.int64]) -> NDArray[Any]:
    return Z.astype(np.int16)
