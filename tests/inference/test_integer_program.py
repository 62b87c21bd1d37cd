"""The integer program of a MAP problem and its relaxation."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import best_score, random_graph, random_local
from scipy.optimize import linprog

from neuralfactors.inference import solve
from neuralfactors.inference._integer_program import _indicators, make_program, solve_by_highs
from neuralfactors.inference._local_problem import LocalProblem, split
from neuralfactors.inference._validate import check_problem


@pytest.mark.parametrize("seed", range(5))
def test_dual_bound_is_that_of_the_relaxation(seed):
    arrays = random_graph(seed, n_nodes=10, n_labels=3, n_edges=14)
    _, parts = split(check_problem(*arrays).tables(), np.ones(arrays[0].shape, bool))
    relaxed = 0.0
    for part in parts:
        program = make_program(part.problem)
        found = linprog(-program.gains, A_eq=program.matrix, b_eq=program.right, bounds=(0, 1))
        relaxed += program.offset - found.fun
    bound = solve(*arrays, [([0], np.zeros(3))], method="trws", tol=0, max_iter=2000).bound
    assert relaxed - 1e-9 <= bound <= relaxed + 1  # of some 50: message passing may stop a little short of it


def small(seed, forbid=0.0):
    return random_local(seed, n_variables=4, max_size=3, n_tables=5, forbid=forbid)


@given(seed=st.integers(0, 2**32), forbid=st.sampled_from([0.0, 0.3]), scale=st.sampled_from([1e-6, 1.0, 1e6]))
def test_highs_finds_the_best_of_all(seed, forbid, scale):
    problem = small(seed, forbid)
    problem.tables = [(scope, scale * table) for scope, table in problem.tables]
    best = best_score(problem)
    found = solve_by_highs(problem, None, 10.0)
    if not np.isfinite(best):
        assert (found.values, found.bound) == (None, -np.inf)
        return
    assert problem.score(found.values) == pytest.approx(best, abs=1e-9 * scale, rel=1e-9)
    assert best - 1e-9 * scale <= found.bound <= best + 1e-3 * scale


@given(seed=st.integers(0, 2**32))
def test_every_labelling_is_a_point_of_the_program(seed):
    problem = small(seed)
    program = make_program(problem)
    assert program.gains.max() <= 0
    for values in product(*map(range, problem.sizes)):
        y = np.array(values)
        point = _indicators(problem, program, y)
        np.testing.assert_allclose(program.matrix @ point, program.right)
        assert program.offset + program.gains @ point == pytest.approx(problem.score(y))


@given(seed=st.integers(0, 2**32))
def test_a_start_does_not_change_the_optimum(seed):
    problem = small(seed)
    start = np.zeros(len(problem.sizes), np.int64)
    alone, begun = solve_by_highs(problem, None, 10.0), solve_by_highs(problem, start, 10.0)
    assert problem.score(begun.values) == pytest.approx(problem.score(alone.values))


def test_forbidden_values_are_not_taken():
    table = np.array([[-np.inf, 3.0], [2.0, -np.inf]])
    problem = LocalProblem([2, 2], [((0, 1), table), ((0,), np.array([0.0, 5.0]))])
    found = solve_by_highs(problem, None, 10.0)
    assert found.values.tolist() == [1, 0]
    assert found.bound == pytest.approx(7.0, abs=1e-3)
