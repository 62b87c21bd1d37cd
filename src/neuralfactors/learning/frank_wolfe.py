"""Block-coordinate Frank-Wolfe for structural SVMs with linear factors: one sample a step, exact line search."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from neuralfactors.learning.cutting_plane import ConvexRun
from neuralfactors.learning.history import Callback
from neuralfactors.learning.linear import LinearProblem
from neuralfactors.learning.working_set import WorkingSets


def block_frank_wolfe(
    problem: LinearProblem,
    C: float,
    tol: float,
    max_iter: int,
    seed: int,
    check_every: int,
    corrective: bool,
    callbacks: Sequence[Callback] = (),
) -> ConvexRun:
    """Minimise by passes over the samples in random order, until the duality gap is at most the share `tol`.

    Parameters
    ----------
    problem : LinearProblem
        Samples and the weight vector.
    C : float
        Weight of the mean hinge.
    tol : float
        Share of the objective at which to stop.
    max_iter : int
        Passes over the samples.
    seed : int
        Of their order.
    check_every : int
        Passes between two that certify the gap, which takes a pass of its own.
    corrective : bool
        Whether a step also gives all constraints found for its sample their best weights, which takes many fewer passes
        than moving towards one alone.
    callbacks : sequence of callable, default=()
        As in `n_slack`.

    Returns
    -------
    ConvexRun
        The best weights are in the model of `problem`.
    """
    run, sets = ConvexRun(C, tol), WorkingSets(problem, C, with_gram=corrective)
    step = corrective_step if corrective else frank_wolfe_step
    for epoch in range(max_iter):
        for n in np.random.default_rng([seed, epoch]).permutation(len(problem)).tolist():
            step(sets, n)
        if (epoch + 1) % check_every == 0 or epoch + 1 == max_iter:
            found = problem.most_violated(range(len(problem)))
            run.note(problem, found, sets.dual(), sets.n_constraints)
            run.history[-1]["epoch"] = epoch + 1
            if run.over(callbacks):
                break
    run.finish(problem)
    return run


def frank_wolfe_step(sets: WorkingSets, n: int) -> None:
    """Move the weights of sample n towards its most violated constraint, as far as the dual grows."""
    problem = sets.problem
    sample = problem.sample(n)
    k = sets.position(n, sample, problem.most_violated_of(sample))
    block = sets.block(n, sample)
    Z = block.Z.astype(np.int64)
    direction = -block.alpha
    direction[k] += sets.share
    gain = float(direction @ (block.loss - problem.products(sample, Z, problem.w)))
    if gain > 0:
        moved = np.zeros_like(problem.w)
        problem.add_(moved, sample, Z, direction)
        curvature = float(moved @ moved)
        sets.move(n, sample, direction * (1.0 if curvature <= gain else gain / curvature))
    sets.prune(n)


def corrective_step(sets: WorkingSets, n: int) -> None:
    """Find the most violated constraint of sample n, then give all that were found for it their best weights."""
    sample = sets.problem.sample(n)
    sets.position(n, sample, sets.problem.most_violated_of(sample))
    sets.solve_block(n)
    sets.prune(n)
