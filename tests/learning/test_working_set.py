"""Working sets: whatever steps are taken, w, the dual and the weights of every sample stay what the formulas say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from linear_problems import every_labelling, linear_problem, objective, psi

from neuralfactors.learning.working_set import WorkingSets

C = 3.0


def assert_consistent(sets):
    """w = Σ α ψ and the dual from the labellings and their weights, which sum to C/N for every sample."""
    problem, w, linear = sets.problem, np.zeros_like(sets.problem.w), 0.0
    for n, block in enumerate(sets.blocks):
        if block is None:
            continue
        assert block.alpha.sum() == pytest.approx(C / len(problem))
        assert block.alpha.min() >= -1e-12
        np.testing.assert_array_equal(block.Z[0], problem.sample(n).y)
        assert len({tuple(z) for z in block.Z.tolist()}) == len(block.Z)
        rows = np.array([psi(problem, n, z) for z in block.Z.astype(np.int64)])
        w += block.alpha @ rows
        linear += block.alpha @ problem.losses(problem.sample(n), block.Z)
        if block.gram is not None:
            np.testing.assert_allclose(block.gram, rows @ rows.T, atol=1e-9)
    np.testing.assert_allclose(problem.w, w, atol=1e-9)
    assert sets.dual() == pytest.approx(linear - 0.5 * w @ w)


@given(seed=st.integers(0, 2**16), steps=st.lists(st.sampled_from(["find", "draw", "solve", "prune"]), max_size=12))
def test_every_step_keeps_the_books(seed, steps):
    problem, rng = linear_problem(seed, weights=True), np.random.default_rng(seed)
    sets = WorkingSets(problem, C, with_gram=True)
    for step in steps:
        n, before = int(rng.integers(len(problem))), sets.dual()
        sample = problem.sample(n)
        if step == "find":
            sets.position(n, sample, problem.most_violated_of(sample))
        elif step == "draw":
            sets.position(n, sample, rng.integers(3, size=len(sample.y)))
        elif step == "solve":
            assert sets.solve_block(n) >= -1e-9
            assert sets.dual() >= before - 1e-9
        else:
            sets.prune(n)
        if step != "solve":
            assert sets.dual() == pytest.approx(before)
    assert_consistent(sets)
    assert sets.dual() <= objective(problem, C) + 1e-9  # weak duality


def test_a_labelling_has_one_place():
    sets = WorkingSets(linear_problem(0), C, with_gram=False)
    sample = sets.problem.sample(0)
    assert sets.position(0, sample, sample.y) == 0
    places = [sets.position(0, sample, z) for z in every_labelling(sets.problem, 0)]
    assert sorted(places) == list(range(len(places)))
    assert [sets.position(0, sample, z) for z in every_labelling(sets.problem, 0)] == places
    assert sets.n_constraints == len(places) - 1
    sets.prune(0)
    assert sets.n_constraints == 0  # none of them carried weight


def test_solving_over_all_labellings_of_one_sample_reaches_its_optimum():
    problem = linear_problem(5, n_graphs=2)
    sets = WorkingSets(problem, C, with_gram=True)
    sample = problem.sample(0)
    for z in every_labelling(problem, 0):
        sets.position(0, sample, z)
    gaps = [sets.solve_block(0) for _ in range(50)]
    assert gaps[-1] == pytest.approx(0, abs=1e-5)
    assert_consistent(sets)


def test_nothing_to_solve():
    sets = WorkingSets(linear_problem(0), C, with_gram=True)
    assert sets.solve_block(0) == 0.0
    sets.prune(0)
    assert (sets.dual(), sets.n_constraints) == (0.0, 0)
