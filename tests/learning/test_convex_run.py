"""What a convex run knows: the best weights, a gap in which doubts of inference count, and when it is over."""

import numpy as np
import pytest
from linear_problems import linear_problem

from neuralfactors.learning._convex_run import ConvexRun
from neuralfactors.learning._linear_passes import Pass


def noted(hinge, gap, dual, tol=0.1, C=2.0):
    """A run after one pass in which every sample had this hinge and this gap."""
    problem, run = linear_problem(0), ConvexRun(C, tol)
    run.note(problem, _pass(problem, hinge, gap), dual, n_constraints=3)
    return run


def _pass(problem, hinge, gap):
    n = len(problem)
    return Pass(problem.y, np.full(n, hinge), np.full(n, gap), optimal=1.0, within_tol=1.0, differing=0.0)


def test_the_gap_counts_what_inference_leaves_open():
    run = noted(hinge=5.0, gap=0.5, dual=9.5)
    assert (run.best, run.unproved, run.seen_gap, run.duality_gap) == pytest.approx((10.0, 1.0, 0.5, 1.5))
    assert not run.converged
    assert not run.held_up
    assert run.history[0]["constraints"] == 3


def test_a_run_is_over_where_inference_sees_no_more_to_gain():
    run = noted(hinge=5.0, gap=0.6, dual=9.5)
    assert run.held_up
    assert run.over(())
    assert not run.converged


def test_without_a_bound_there_is_no_gap_to_record():
    run = noted(hinge=5.0, gap=np.inf, dual=9.9)
    assert (run.history[0]["gap"], run.history[0]["duality_gap"]) == (None, None)


def test_the_best_weights_are_kept_and_end_in_the_model():
    problem, run = linear_problem(0), ConvexRun(1.0, 0.0)
    for value, hinge in ((0.0, 5.0), (0.1, 1.0), (0.2, 9.0)):
        problem.w[:] = value
        run.note(problem, _pass(problem, hinge, 0.0), 0.0, 0)
    run.finish(problem)
    assert (problem.w == 0.1).all()
    assert all((parameter == 0.1).all() for parameter in problem.model.parameters())


def test_a_tiny_objective_is_not_taken_for_none():
    run = noted(hinge=5.0, gap=0.0, dual=0.0, C=1e-16)
    assert run.duality_gap == run.best > 0
    assert not run.converged
