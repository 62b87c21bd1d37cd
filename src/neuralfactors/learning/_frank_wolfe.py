"""Block-coordinate Frank-Wolfe for structural SVMs with linear factors: one sample a step, exact line search."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from neuralfactors.inference import _kernels
from neuralfactors.learning._convex_run import ConvexRun
from neuralfactors.learning._history import Callback
from neuralfactors.learning._linear_passes import LinearProblem


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
    run, sets = ConvexRun(C, tol), _kernels.WorkingSets(problem.kernel, C, with_gram=corrective)
    for epoch in range(max_iter):
        sets.frank_wolfe_pass(np.random.default_rng([seed, epoch]).permutation(len(problem)), corrective)
        if (epoch + 1) % check_every == 0 or epoch + 1 == max_iter:
            run.note(problem, problem.most_violated(), sets.dual(), sets.n_constraints)
            run.history[-1]["epoch"] = epoch + 1
            if run.over(callbacks):
                break
    run.finish(problem)
    return run
