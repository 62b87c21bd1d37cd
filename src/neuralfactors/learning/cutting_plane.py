"""Cutting planes for structural SVMs with linear factors: N-slack with lazily generated constraints, and 1-slack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from neuralfactors.learning.history import Callback, Record, tell
from neuralfactors.learning.linear import LinearProblem, Pass
from neuralfactors.learning.simplex import maximise_on_simplex
from neuralfactors.learning.working_set import WorkingSets


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
        objective = 0.5 * float(problem.w @ problem.w) + self.C * found.hinge / len(problem)
        if objective < self.best:
            self.best, self.unproved, self.w = objective, self.C * found.gap / len(problem), problem.w.copy()
        self.dual = max(self.dual, dual)
        now = perf_counter()
        self.history.append(
            {
                "epoch": len(self.history) + 1,
                "objective": objective,
                "dual": self.dual,
                "duality_gap": self.duality_gap if np.isfinite(self.duality_gap) else None,
                "hinge": found.hinge / len(problem),
                "gap": found.gap / len(problem) if np.isfinite(found.gap) else None,
                "optimal": found.optimal / len(problem),
                "within_tol": found.within_tol / len(problem),
                "differing": found.differing / max(1.0, found.labelled),
                "constraints": n_constraints,
                "seconds": {"total": now - self.last},
            }
        )
        self.last = now

    @property
    def seen_gap(self) -> float:
        """What is left to gain as far as inference sees; below zero where it has missed something."""
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
        """Whether inference alone leaves open more than is allowed, so that no number of passes would be enough."""
        return self.unproved > self._allowed

    @property
    def _allowed(self) -> float:
        return self.tol * max(abs(self.best), 1e-12)

    def over(self, callbacks: Sequence[Callback]) -> bool:
        """Whether the last record is the end: a callback says so, the gap is small enough, or no pass is of use now."""
        self.told_to_stop = tell(callbacks, self.history[-1])
        return self.told_to_stop or self.converged or (self.held_up and self.seen_gap <= self._allowed)

    def finish(self, problem: LinearProblem) -> None:
        """Put the best weights into the model."""
        if self.w is not None:
            problem.w[:] = self.w


def n_slack(
    problem: LinearProblem, C: float, tol: float, max_iter: int, callbacks: Sequence[Callback] = ()
) -> ConvexRun:
    """Minimise with one slack a sample: add every sample's most violated constraint, re-optimise over all found so far.

    The quadratic programme is solved in its dual by exact steps on the block of one sample at a time, until a sweep
    over all samples sees less than a third of the duality gap left in it.

    Parameters
    ----------
    problem : LinearProblem
        Samples and the weight vector.
    C : float
        Weight of the mean hinge.
    tol : float
        Stop when the duality gap is at most this share of the objective.
    max_iter : int
        Passes of inference over the samples.
    callbacks : sequence of callable, default=()
        Each gets the record of every pass; one that returns True ends the run.

    Returns
    -------
    ConvexRun
        The best weights are in the model of `problem`.
    """
    run, sets, rng = ConvexRun(C, tol), WorkingSets(problem, C, with_gram=True), np.random.default_rng(0)
    for _ in range(max_iter):
        found = problem.most_violated(range(len(problem)))
        run.note(problem, found, sets.dual(), sets.n_constraints)
        if run.over(callbacks):
            break
        for n, z in enumerate(found.z):
            sets.position(n, problem.sample(n), z)
        _reoptimise(sets, 0.3 * run.seen_gap, rng)
    run.finish(problem)
    return run


def _reoptimise(sets: WorkingSets, enough: float, rng: np.random.Generator, max_sweeps: int = 1000) -> None:
    everyone = np.arange(len(sets.blocks))
    active = everyone
    for _ in range(max_sweeps):
        # In random order: where one class follows the other, each step of a class finds its gap closed by the step
        # before, and the sum of gaps is small although w still swings from one class to the other.
        active = rng.permutation(active)
        gaps = np.array([sets.solve_block(n) for n in active.tolist()])
        if gaps.sum() > enough:
            active = active[gaps > enough / len(everyone)]  # the others' share is small for now
        elif len(active) < len(everyone):
            active = everyone
        else:
            break
    for n in everyone.tolist():
        sets.prune(n)  # what carries no weight now is found again if it ever should


class InferenceCache:
    """The last few labellings found for every sample, among which a violated constraint may be had for free."""

    def __init__(self, size: int, n_samples: int) -> None:
        self.size = size
        self.kept: list[list[NDArray[np.int16]]] = [[] for _ in range(n_samples)]

    def store(self, labellings: list[NDArray[np.int64]]) -> None:
        """Remember one labelling a sample, forgetting the oldest."""
        for kept, z in zip(self.kept, labellings, strict=True):
            kept.append(z.astype(np.int16))
            del kept[: -self.size]

    def best(self, problem: LinearProblem) -> list[NDArray[np.int64]]:
        """The most violated labelling in store, sample by sample."""
        found = []
        for n, kept in enumerate(self.kept):
            sample, Z = problem.sample(n), np.stack(kept).astype(np.int64)
            values = problem.losses(sample, Z) - problem.products(sample, Z, problem.w)
            found.append(Z[int(values.argmax())])
        return found


@dataclass
class OneSlackSet:
    """Constraints ⟨w, ψ̄_k⟩ ≥ ℓ̄_k − ξ, each a mean over all samples, and their weights, which sum to at most C."""

    psi: NDArray[np.float64]  # (K, dim); row 0 is zero and takes the weight that no constraint needs
    loss: NDArray[np.float64]  # (K,)
    alpha: NDArray[np.float64]  # (K,)
    gram: NDArray[np.float64]  # (K, K)
    idle: NDArray[np.int64]  # (K,) iterations since it carried weight

    MAX_IDLE = 30

    @classmethod
    def empty(cls, dim: int, C: float) -> OneSlackSet:
        """No constraint yet."""
        return cls(np.zeros((1, dim)), np.zeros(1), np.array([C]), np.zeros((1, 1)), np.zeros(1, np.int64))

    def add(self, psi: NDArray[np.float64], loss: float) -> None:
        """Take in a constraint and give all weights their best values."""
        products = self.psi @ psi
        self.gram = np.block([[self.gram, products[:, None]], [products[None], np.array([[psi @ psi]])]])
        self.psi, self.loss = np.vstack([self.psi, psi]), np.append(self.loss, loss)
        self.alpha, self.idle = np.append(self.alpha, 0.0), np.append(self.idle, 0)
        self.alpha = maximise_on_simplex(self.gram, self.loss, self.alpha)
        self.idle = np.where(self.alpha > 0, 0, self.idle + 1)
        keep = self.idle < self.MAX_IDLE
        keep[0] = True
        self.psi, self.loss, self.alpha, self.idle = self.psi[keep], self.loss[keep], self.alpha[keep], self.idle[keep]
        self.gram = self.gram[np.ix_(keep, keep)]

    @property
    def weights(self) -> NDArray[np.float64]:
        """W = Σ α_k ψ̄_k."""
        return self.alpha @ self.psi

    @property
    def dual(self) -> float:
        """Value of the dual at α."""
        return float(self.alpha @ self.loss - 0.5 * self.alpha @ self.gram @ self.alpha)

    @property
    def slack(self) -> float:
        """ξ: what the constraints in the set are violated by under their own weights."""
        return float((self.loss - self.gram @ self.alpha).max())


def one_slack(
    problem: LinearProblem,
    C: float,
    tol: float,
    max_iter: int,
    cache_size: int = 10,
    callbacks: Sequence[Callback] = (),
) -> ConvexRun:
    """Minimise with one slack for all samples; constraints come from the cache while it has one that cuts enough.

    Parameters
    ----------
    problem : LinearProblem
        Samples and the weight vector.
    C : float
        Weight of the mean hinge.
    tol : float
        Stop when the duality gap is at most this share of the objective.
    max_iter : int
        Passes of inference over the samples; constraints from the cache cost none.
    cache_size : int, default=10
        Labellings kept per sample.
    callbacks : sequence of callable, default=()
        As in `n_slack`.

    Returns
    -------
    ConvexRun
        The best weights are in the model of `problem`.
    """
    run, constraints = ConvexRun(C, tol), OneSlackSet.empty(len(problem.w), C)
    cache = InferenceCache(cache_size, len(problem)) if cache_size else None
    last_cut = np.inf
    while len(run.history) < max_iter:
        if cache is not None and run.history:
            cached = cache.best(problem)
            psi, loss = mean_constraint(problem, cached)
            cut = loss - float(psi @ problem.w) - constraints.slack
            if cut > 0.5 * last_cut and cut > 0:
                constraints.add(psi, loss)
                problem.w[:] = constraints.weights
                continue
        found = problem.most_violated(range(len(problem)))
        run.note(problem, found, constraints.dual, len(constraints.alpha) - 1)
        if run.over(callbacks):
            break
        last_cut = found.hinge / len(problem) - max(0.0, constraints.slack)
        if cache is not None:
            cache.store(found.z)
        constraints.add(*mean_constraint(problem, found.z))
        problem.w[:] = constraints.weights
    run.finish(problem)
    return run


def mean_constraint(problem: LinearProblem, labellings: list[NDArray[np.int64]]) -> tuple[NDArray[np.float64], float]:
    """ψ̄ and ℓ̄: the means over the samples of ψ(zⁿ) and Δ(yⁿ, zⁿ)."""
    total, loss = np.zeros_like(problem.w), 0.0
    share = np.array([1.0 / len(problem)])
    for n, z in enumerate(labellings):
        sample, row = problem.sample(n), z[None]
        problem.add_(total, sample, row, share)
        loss += float(problem.losses(sample, row)[0]) / len(problem)
    return total, loss
