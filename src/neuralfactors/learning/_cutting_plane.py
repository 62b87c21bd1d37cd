"""Cutting planes for structural SVMs with linear factors: N-slack with lazily generated constraints, and 1-slack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuralfactors._core.weight_signs import Signs, project
from neuralfactors.inference import _kernels
from neuralfactors.learning._convex_run import ConvexRun
from neuralfactors.learning._history import Callback
from neuralfactors.learning._linear_passes import LinearProblem
from neuralfactors.learning._simplex import maximise_on_simplex
from neuralfactors.learning._warm_start import KeptBlocks, KeptLabellings


def n_slack(
    problem: LinearProblem,
    C: float,
    tol: float,
    max_iter: int,
    callbacks: Sequence[Callback] = (),
    kept: KeptBlocks | None = None,
) -> ConvexRun:
    """Minimise with one slack a sample: add every sample's most violated constraint, re-optimise over all found so far.

    A round adds constraints twice: of all samples under the same weights, which certifies the gap, and of one sample
    after another under the weights that the ones before have changed, which closes it in half as many passes. The
    quadratic programme is solved in its dual by exact steps on the block of one sample at a time, until a sweep over
    all samples sees less than a third of the duality gap left in it.

    `C` weighs the mean hinge. A run ends when the duality gap is at most the share `tol` of the objective, after
    `max_iter` rounds of two passes of inference each, or when a callback returns True. It begins with the constraints
    that an earlier run has `kept`, and replaces them. The best weights are in the model of `problem` afterwards.
    """
    run, rng = ConvexRun(C, tol), np.random.default_rng(0)
    sets = _kernels.WorkingSets(problem.kernel, C, with_gram=True)
    if kept is not None:
        kept.restore(problem, sets, C)
    for _ in range(max_iter):
        found = problem.most_violated()
        run.note(problem, found, sets.dual(), sets.n_constraints)
        if run.over(callbacks):
            break
        sets.add(found.labels)
        _reoptimise(sets, len(problem), 0.3 * run.seen_gap, rng)
        sets.frank_wolfe_pass(rng.permutation(len(problem)), True)
        _reoptimise(sets, len(problem), 0.3 * run.seen_gap, rng)
    if kept is not None:
        kept.keep(problem, sets, C)
    run.finish(problem)
    return run


def _reoptimise(
    sets: _kernels.WorkingSets, n_samples: int, enough: float, rng: np.random.Generator, max_sweeps: int = 1000
) -> None:
    """Improve the blocks of samples until a sweep over all sees no more than `enough` left to gain."""
    active = everyone = np.arange(n_samples)
    for _ in range(max_sweeps):
        # In random order: where one class follows the other, each step of a class finds its gap closed by the step
        # before, and the sum of gaps is small although w still swings from one class to the other.
        active = rng.permutation(active)
        gaps = np.empty(len(active))
        sets.sweep(active, gaps)
        if gaps.sum() > enough:
            active = active[gaps > enough / n_samples]  # the others' share is small for now
        elif len(active) < n_samples:
            active = everyone
        else:
            break
    sets.prune()  # what carries no weight now is found again if it ever should


@dataclass
class OneSlackSet:
    """Constraints ⟨w, ψ̄_k⟩ ≥ ℓ̄_k − ξ, each a mean over all samples, and their weights, which sum to at most C.

    Where weights must have certain signs, w is the projection of v = Σ α_k ψ̄_k, and what that changes, w − v, acts on
    the constraints like a constant; `cpp/linear/signs.hpp` says why. The weights and w are then optimised in turn.
    """

    psi: NDArray[np.float64]  # (K, dim); row 0 is zero and takes the weight that no constraint needs
    loss: NDArray[np.float64]  # (K,)
    alpha: NDArray[np.float64]  # (K,)
    gram: NDArray[np.float64]  # (K, K)
    idle: NDArray[np.int64]  # (K,) iterations since it carried weight
    signs: Signs | None = None  # (dim,)
    labels: list[NDArray[np.int32]] | None = None  # the labelling (V,) of every constraint but the first, where wanted

    MAX_IDLE = 30
    MAX_TURNS = 100

    @classmethod
    def empty(cls, dim: int, C: float, signs: Signs | None = None) -> OneSlackSet:
        """No constraint yet."""
        return cls(np.zeros((1, dim)), np.zeros(1), np.array([C]), np.zeros((1, 1)), np.zeros(1, np.int64), signs)

    def add(self, psi: NDArray[np.float64], loss: float, labels: NDArray[np.int32] | None = None) -> None:
        """Add a constraint and optimise all weights."""
        self.extend(psi, loss, labels)
        self.optimise()

    def extend(
        self, psi: NDArray[np.float64], loss: float, labels: NDArray[np.int32] | None = None, weight: float = 0.0
    ) -> None:
        """Add a constraint, to which the first one gives its weight."""
        if self.labels is not None and labels is not None:
            self.labels.append(labels.copy())
        products = self.psi @ psi
        self.gram = np.block([[self.gram, products[:, None]], [products[None], np.array([[psi @ psi]])]])
        self.psi, self.loss = np.vstack([self.psi, psi]), np.append(self.loss, loss)
        self.alpha, self.idle = np.append(self.alpha, weight), np.append(self.idle, 0)
        self.alpha[0] -= weight

    def optimise(self) -> None:
        """Give all constraints their best weights, and forget those that have long had none."""
        self._maximise()
        self.idle = np.where(self.alpha > 0, 0, self.idle + 1)
        keep = self.idle < self.MAX_IDLE
        keep[0] = True
        self.psi, self.loss, self.alpha, self.idle = self.psi[keep], self.loss[keep], self.alpha[keep], self.idle[keep]
        self.gram = self.gram[np.ix_(keep, keep)]
        if self.labels is not None:
            self.labels = [labels for labels, kept in zip(self.labels, keep[1:], strict=True) if kept]

    def _maximise(self) -> None:
        """Maximise the dual; where weights have signs, by turns with the multipliers of these."""
        if self.signs is None:
            self.alpha = maximise_on_simplex(self.gram, self.loss, self.alpha)
            return
        for _ in range(self.MAX_TURNS):
            before, changed = self.dual, self.weights - self.alpha @ self.psi
            self.alpha = maximise_on_simplex(self.gram, self.loss - self.psi @ changed, self.alpha)
            if self.dual - before <= 1e-6 * abs(before):
                break

    @property
    def weights(self) -> NDArray[np.float64]:
        """W = Σ α_k ψ̄_k, with the signs that it must have."""
        return project(self.alpha @ self.psi, self.signs)

    @property
    def dual(self) -> float:
        """Value of the dual at α."""
        w = self.weights
        return float(self.alpha @ self.loss - 0.5 * w @ w)

    @property
    def slack(self) -> float:
        """ξ: what the constraints in the set are violated by under their own weights."""
        return float((self.loss - self.psi @ self.weights).max())


def one_slack(
    problem: LinearProblem,
    C: float,
    tol: float,
    max_iter: int,
    cache_size: int = 10,
    callbacks: Sequence[Callback] = (),
    kept: KeptLabellings | None = None,
) -> ConvexRun:
    """Minimise with one slack for all samples; constraints come from the cache while it has one that cuts enough.

    Arguments as for `n_slack`. The cache holds `cache_size` labellings of every sample; `max_iter` counts passes of
    inference, which constraints from the cache do without.
    """
    run, constraints = ConvexRun(C, tol), _first_constraints(problem, C, kept)
    cache = _kernels.InferenceCache(problem.kernel, cache_size) if cache_size else None
    last_cut, cached = np.inf, np.empty(len(problem.y), np.int32)
    while len(run.history) < max_iter:
        if cache is not None and run.history:
            cache.best(cached)
            psi, loss = problem.mean_constraint(cached)
            cut = loss - float(psi @ problem.w) - constraints.slack
            if cut > 0.5 * last_cut and cut > 0:
                constraints.add(psi, loss, cached)
                problem.w[:] = constraints.weights
                continue
        found = problem.most_violated()
        run.note(problem, found, constraints.dual, len(constraints.alpha) - 1)
        if run.over(callbacks):
            break
        last_cut = float(found.hinge.mean()) - max(0.0, constraints.slack)
        if cache is not None:
            cache.store(found.labels)
        constraints.add(*problem.mean_constraint(found.labels), found.labels)
        problem.w[:] = constraints.weights
    if kept is not None and constraints.labels:
        kept.keep(problem, np.stack(constraints.labels), constraints.alpha[1:] / C)
    run.finish(problem)
    return run


def _first_constraints(problem: LinearProblem, C: float, kept: KeptLabellings | None) -> OneSlackSet:
    """Those of an earlier run where they are kept and fit the problem, whose weights become theirs; else none."""
    constraints = OneSlackSet.empty(len(problem.w), C, problem.signs)
    if kept is None:
        return constraints
    constraints.labels = []
    for labels, share in zip(*(kept.restore(problem) or ((), ())), strict=True):
        constraints.extend(*problem.mean_constraint(labels), labels, C * share)
    problem.w[:] = constraints.weights
    return constraints
