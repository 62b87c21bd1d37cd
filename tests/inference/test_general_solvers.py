"""General solvers, against enumeration and each other, in a process of their own."""

import numpy as np
import pytest
from problems import best_score, leave_all_to_the_solver, random_graph, random_local

from neuralfactors.inference import _exact as exact
from neuralfactors.inference._exact import solve_exact
from neuralfactors.inference._general_solvers import SOLVERS, run_solver
from neuralfactors.inference._kernel import judge
from neuralfactors.inference._local_problem import LocalProblem
from neuralfactors.inference._validate import check_problem

pytest.importorskip("highspy", reason="the extra exact is not installed")
pytest.importorskip("pytoulbar2", reason="the extra exact is not installed")


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("run", SOLVERS.values())
def test_solvers_find_the_optimum_of_small_problems(run, seed):
    scale = 10.0 ** [-12, -3, 0, 0, 0, 0, 3, 12][seed]
    problem = random_local(seed, n_variables=6, max_size=3, n_tables=6, forbid=0.15 * (seed % 2), scale=scale)
    optimum = best_score(problem)
    answer = run(problem, None, np.inf)
    assert answer.bound == pytest.approx(optimum, abs=1e-6 * scale)  # HiGHS keeps to tolerances
    if optimum == -np.inf:
        assert answer.values is None
    else:
        assert problem.score(answer.values) == pytest.approx(optimum, abs=1e-9 * scale)


@pytest.mark.parametrize("run", SOLVERS.values())
def test_solvers_know_when_their_start_is_best(run):
    problem = random_local(3, n_variables=6, max_size=3, n_tables=6)
    best = run(problem, None, np.inf)
    again = run(problem, best.values, np.inf)
    values = best.values if again.values is None else again.values
    assert problem.score(values) == pytest.approx(problem.score(best.values), abs=1e-9)
    assert again.bound == pytest.approx(problem.score(best.values), abs=1e-6)


@pytest.mark.parametrize("run", SOLVERS.values())
def test_solvers_know_when_everything_is_forbidden(run):
    unequal, equal = np.array([[-np.inf, 0], [0, -np.inf]]), np.array([[0, -np.inf], [-np.inf, 0]])
    problem = LocalProblem([2, 2], [((0, 1), unequal), ((1, 0), equal)])
    answer = run(problem, None, np.inf)
    assert (answer.values, answer.bound) == (None, -np.inf)


@pytest.mark.parametrize("name", SOLVERS)
def test_a_process_of_its_own_says_the_same(name):
    problem = random_local(5, n_variables=6, max_size=3, n_tables=6, forbid=0.1)
    here, there = SOLVERS[name](problem, None, np.inf), run_solver(name, problem, None, np.inf)
    np.testing.assert_array_equal(here.values, there.values)
    assert here.bound == there.bound
    assert run_solver(name, problem, here.values, 100).bound == pytest.approx(problem.score(here.values), abs=1e-6)


def test_the_failure_of_a_process_is_told():
    with pytest.raises(RuntimeError, match="highs failed: IndexError"):
        run_solver("highs", LocalProblem([2], [((0,), np.zeros(2))]), np.array([5]), np.inf)


@pytest.mark.parametrize("seed", range(50))
def test_solvers_agree_on_mid_size_problems(seed, monkeypatch):
    leave_all_to_the_solver(monkeypatch)
    monkeypatch.setattr(exact, "run_solver", lambda name, *arguments: SOLVERS[name](*arguments))  # in this process
    unary, tables, edges = random_graph(seed, n_nodes=14 + seed % 5, n_labels=2 + seed % 3, n_edges=30)
    factors = [((0, 1, 2), np.random.default_rng(seed).normal(size=(unary.shape[1],) * 3))] if seed % 2 else []
    problem = check_problem(unary, tables, edges, factors=factors)
    by_toulbar2, by_highs = (solve_exact(problem, solver=name)[0] for name in ("toulbar2", "highs"))
    assert by_toulbar2.status == "optimal"
    assert by_highs.status in ("optimal", "within_tol")  # it keeps to tolerances of its own
    assert by_toulbar2.score == pytest.approx(by_highs.score, abs=1e-8)
    for r in (by_toulbar2, by_highs):
        assert 0 <= r.gap < 1e-5
        assert r.score == pytest.approx(judge(problem, r.labels)[0], abs=1e-12)
