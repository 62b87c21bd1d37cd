"""Block-coordinate Frank-Wolfe for structural SVMs with linear factors: one sample a step, exact line search."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from neuralfactors.inference import _kernels
from neuralfactors.learning._convex_run import ConvexRun
from neuralfactors.learning._history import Callback
from neuralfactors.learning._linear_passes import LinearProblem
from neuralfactors.learning._warm_start import KeptBlocks


def block_frank_wolfe(
    problem: LinearProblem,
    C: float,
    tol: float,
    max_iter: int,
    seed: int,
    check_every: int,
    corrective: bool,
    callbacks: Sequence[Callback] = (),
    kept: KeptBlocks | None = None,
) -> ConvexRun:
    """Minimise by passes over the samples in random order, until the duality gap is at most the share `tol`.

    Arguments as for `n_slack`. Every `check_every` passes another one certifies the gap. A `corrective` step also gives
    all constraints found for its sample their best weights, which takes many fewer passes than moving towards one
    alone.
    """
    run, sets = ConvexRun(C, tol), _kernels.WorkingSets(problem.kernel, C, with_gram=corrective)
    warm = kept is not None and kept.restore(problem, sets, C)
    for epoch in range(0 if warm else 1, max_iter + 1):  # 0: what the constraints of the last run are worth by now
        if epoch:
            sets.frank_wolfe_pass(np.random.default_rng([seed, epoch - 1]).permutation(len(problem)), corrective)
        if epoch % check_every == 0 or epoch == max_iter:
            run.note(problem, problem.most_violated(), sets.dual(), sets.n_constraints)
            run.history[-1]["epoch"] = epoch
            if run.over(callbacks):
                break
    if kept is not None:
        kept.keep(problem, sets, C)
    run.finish(problem)
    return run
