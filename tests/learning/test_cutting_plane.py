"""Cutting planes: bounds that close in on one optimum, constraints that are dropped and found again, and stopping."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from linear_problems import hinge, linear_problem, objective, psi, split, violation

from neuralfactors.inference import _kernels
from neuralfactors.learning._cutting_plane import OneSlackSet, n_slack, one_slack

C = 5.0
SOLVERS = {"n": n_slack, "1": one_slack, "1 without cache": lambda *a, **k: one_slack(*a, cache_size=0, **k)}


@pytest.mark.parametrize("solve", SOLVERS.values(), ids=SOLVERS)
@pytest.mark.parametrize("seed", range(2))
def test_bounds_close_in_on_the_optimum(solve, seed):
    problem = linear_problem(seed, weights=True)
    run = solve(problem, C, 1e-3, 2000)
    assert run.converged
    duals = [record["dual"] for record in run.history]
    assert duals == sorted(duals)
    assert min(record["objective"] for record in run.history) == run.best
    assert all(record["objective"] >= run.dual - 1e-9 for record in run.history)
    assert objective(problem, C) == pytest.approx(run.best)  # the weights that the model is left with
    assert run.best - run.dual <= 1e-3 * run.best + 1e-9


def test_solvers_agree():
    values = [solve(linear_problem(1), C, 1e-4, 3000).best for solve in SOLVERS.values()]
    assert values == pytest.approx([values[0]] * 3, rel=2e-4)


@pytest.mark.parametrize("solve", SOLVERS.values(), ids=SOLVERS)
def test_a_callback_ends_the_run_with_the_best_weights(solve):
    problem, seen = linear_problem(0), []
    run = solve(problem, C, 0.0, 100, callbacks=[seen.append, lambda record: record["epoch"] == 3])
    assert run.told_to_stop
    assert [record["epoch"] for record in seen] == [1, 2, 3]
    assert objective(problem, C) == pytest.approx(min(record["objective"] for record in seen))


def test_passes_are_limited():
    assert len(n_slack(linear_problem(0), C, 0.0, 2).history) == 2
    assert len(one_slack(linear_problem(0), C, 0.0, 2).history) == 2


@pytest.mark.parametrize("solve", SOLVERS.values(), ids=SOLVERS)
def test_rough_inference_proves_nothing(solve):
    run = solve(linear_problem(0, decoder="icm"), C, 1e-3, 30)
    assert not run.converged
    assert run.history[-1]["duality_gap"] > 1e-3 * run.best


def test_the_mean_constraint():
    problem = linear_problem(2)
    problem.w[:] = np.random.default_rng(0).normal(size=problem.w.shape)
    labels = problem.most_violated().labels
    vector, loss = problem.mean_constraint(labels)
    rows = [psi(problem, n, z) for n, z in enumerate(split(problem, labels))]
    np.testing.assert_allclose(vector, np.mean(rows, axis=0), atol=1e-12)
    assert loss - vector @ problem.w == pytest.approx(np.mean([hinge(problem, n) for n in range(len(problem))]))


@pytest.mark.parametrize("size", [1, 3])
def test_the_cache_holds_the_last_labellings_and_gives_the_most_violated(size):
    problem, rng = linear_problem(4), np.random.default_rng(0)
    cache, stored = _kernels.InferenceCache(problem.kernel, size), []
    for _ in range(5):
        labels = rng.integers(3, size=len(problem.y)).astype(np.int32)
        cache.store(labels)
        stored.append(split(problem, labels))
    problem.w[:] = rng.normal(size=problem.w.shape)
    best = np.empty_like(problem.y)
    cache.best(best)
    for n, z in enumerate(split(problem, best)):
        kept = [each[n] for each in stored[-size:]]
        np.testing.assert_array_equal(z, max(kept, key=lambda each: violation(problem, n, each)))


@given(seed=st.integers(0, 2**16), n=st.integers(1, 8))
def test_weights_of_constraints_are_the_best(seed, n):
    rng, found, dual = np.random.default_rng(seed), OneSlackSet.empty(4, C), 0.0
    for _ in range(n):
        found.add(rng.normal(size=4), rng.random())
        assert found.alpha.sum() == pytest.approx(C)
        assert found.alpha.min() >= 0
        assert found.dual >= dual - 1e-9
        dual = found.dual
        np.testing.assert_allclose(found.gram, found.psi @ found.psi.T, atol=1e-12)
        # At the optimum the primal value of its own weights is the dual: ½‖w‖² + C ξ.
        assert 0.5 * found.weights @ found.weights + C * found.slack == pytest.approx(dual, abs=1e-5)


def test_constraints_without_weight_are_dropped_in_time():
    found = OneSlackSet.empty(2, C)
    found.add(np.array([1.0, 0.0]), 0.01)
    for k in range(100):
        found.add(np.array([0.0, 1.0]), 1.0 + k)
    assert len(found.alpha) < 40
    assert (found.psi[0] == 0).all()  # what takes the weight that nothing needs stays
