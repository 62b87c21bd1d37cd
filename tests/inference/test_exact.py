"""Method exact: against enumeration, its solvers against each other, the time limit, and the learned potentials."""

import itertools
import json
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from neuralfactors.inference import exact, solve
from neuralfactors.inference.elimination import eliminate, elimination_order
from neuralfactors.inference.exact import solve_exact
from neuralfactors.inference.factor_graph import make_factor_graph
from neuralfactors.inference.general_solvers import SOLVERS, run_solver
from neuralfactors.inference.higher_order import solve_factor_graph
from neuralfactors.inference.integer_program import make_program
from neuralfactors.inference.local_problem import LocalProblem, split
from neuralfactors.inference.validate import check_problem


def random_graph(seed, n_nodes, n_labels, n_edges, strength=1.0):
    """A problem, and the pairs of its edges; large strengths make the relaxation loose."""
    rng = np.random.default_rng(seed)
    edges = np.array([rng.choice(n_nodes, 2, replace=False) for _ in range(n_edges)])
    tables = strength * rng.normal(size=(n_edges, n_labels, n_labels))
    return rng.normal(size=(n_nodes, n_labels)), tables, edges


def random_local(seed, n_variables, max_size, n_tables, forbid=0.0, scale=1.0):
    """A local problem whose variables have different numbers of values."""
    rng = np.random.default_rng(seed)
    sizes = [int(size) for size in rng.integers(1, max_size + 1, n_variables)]
    scopes = [(v,) for v in range(n_variables)]
    scopes += [tuple(rng.permutation(n_variables)[: rng.integers(1, min(4, n_variables) + 1)]) for _ in range(n_tables)]
    tables = [scale * rng.normal(size=[sizes[v] for v in scope]) for scope in scopes]
    for table in tables:
        table[rng.random(table.shape) < forbid] = -np.inf
    return LocalProblem(sizes, list(zip(scopes, tables, strict=True)))


def best_score(problem):
    return max(problem.score(np.array(y)) for y in itertools.product(*map(range, problem.sizes)))


@given(
    seed=st.integers(0, 2**32),
    scale=st.sampled_from([1e-12, 1.0, 1e12]),
    forbid=st.sampled_from([0.0, 0.2]),
    with_factor=st.booleans(),
)
def test_exact_finds_what_exhaustive_finds(seed, scale, forbid, with_factor):
    rng = np.random.default_rng(seed)
    n_nodes, n_labels = int(rng.integers(1, 6)), int(rng.integers(1, 4))
    n_edges = int(rng.integers(0, 8))
    unary, tables = rng.normal(size=(n_nodes, n_labels)), 2 * rng.normal(size=(n_edges, n_labels, n_labels))
    tables[rng.random(tables.shape) < forbid] = -np.inf
    edges = rng.integers(0, n_nodes, (n_edges, 2))
    factors = []
    if with_factor:
        scope = rng.permutation(n_nodes)[:3]
        factors = [(scope, scale * rng.normal(size=(n_labels,) * len(scope)))]
    arguments = scale * unary, scale * tables, edges
    r, reference = (solve(*arguments, factors, method=method) for method in ("exact", "exhaustive"))
    assert r.score == pytest.approx(reference.score, abs=1e-8 * scale)
    assert r.bound == pytest.approx(reference.score, abs=1e-8 * scale)
    assert r.bound >= r.score
    assert r.status == reference.status


def test_the_only_labelling_is_proved():
    """Then tolerances are zero, and the sums differ by rounding."""
    triangle = [[0, 1], [1, 2], [2, 0]]
    for seed in range(20):
        rng = np.random.default_rng(seed)
        assert solve(rng.normal(size=(3, 1)), rng.normal(size=(3, 1, 1)), triangle, method="exact").status == "optimal"


@pytest.mark.parametrize("n_labels", range(1, 8))
def test_constant_tables_are_proved(n_labels):
    """The mean of equal numbers, and with it the tolerance, must not come out on the wrong side by rounding."""
    triangle = [[0, 1], [1, 2], [2, 0]]
    r = solve(np.full((3, n_labels), 0.1), np.full((3, n_labels, n_labels), 0.3), triangle, method="exact")
    assert (r.bound, r.status) == (r.score, "optimal")


@given(seed=st.integers(0, 2**32), forbid=st.sampled_from([0.0, 0.3]))
def test_elimination_finds_the_optimum(seed, forbid):
    problem = random_local(seed, n_variables=5, max_size=3, n_tables=5, forbid=forbid)
    values = eliminate(problem, elimination_order(problem, 1e6))
    assert problem.score(values) == pytest.approx(best_score(problem), abs=1e-9)


def test_elimination_keeps_its_tables_small():
    grid = [(i, i + 1) for i in range(99) if i % 10 != 9] + [(i, i + 10) for i in range(90)]
    problem = LocalProblem([2] * 100, [(scope, np.zeros((2, 2))) for scope in grid])
    order = elimination_order(problem, 2**14)
    assert sorted(order) == list(range(100))
    assert elimination_order(problem, 2**8) is None  # a grid of 10 x 10 needs tables of 2 ** 11


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
    monkeypatch.setattr(exact, "_MAX_ENTRIES", 0)  # nothing is left to elimination
    monkeypatch.setattr(exact, "run_solver", lambda name, *arguments: SOLVERS[name](*arguments))  # in this process
    unary, tables, edges = random_graph(seed, n_nodes=14 + seed % 5, n_labels=2 + seed % 3, n_edges=30)
    factors = [((0, 1, 2), np.random.default_rng(seed).normal(size=(unary.shape[1],) * 3))] if seed % 2 else []
    problem = check_problem(unary, tables, edges)
    by_toulbar2, by_highs = (solve_exact(problem, factors, solver=name) for name in ("toulbar2", "highs"))
    assert by_toulbar2.status == "optimal"
    assert by_highs.status in ("optimal", "within_tol")  # it keeps to tolerances of its own
    assert by_toulbar2.score == pytest.approx(by_highs.score, abs=1e-8)
    for r in (by_toulbar2, by_highs):
        assert 0 <= r.gap < 1e-5
        assert r.score == pytest.approx(make_factor_graph(problem, factors).score(r.labels), abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_dense_problems_are_beyond_elimination_and_solved(seed):
    arguments = random_graph(seed, n_nodes=24, n_labels=4, n_edges=140)
    graph = make_factor_graph(check_problem(*arguments))
    _, (part,) = split(graph, np.ones(graph.unary.shape, bool))
    assert elimination_order(part.problem, exact._MAX_ENTRIES) is None
    r = solve(*arguments, method="exact")
    assert r.status == "optimal"
    assert r.gap < 1e-8
    assert r.score >= solve(*arguments, method="auto").score - 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_dual_bound_is_that_of_the_relaxation(seed):
    graph = make_factor_graph(check_problem(*random_graph(seed, n_nodes=10, n_labels=3, n_edges=14)))
    _, parts = split(graph, np.ones(graph.unary.shape, bool))
    relaxed = 0.0
    for part in parts:
        program = make_program(part.problem)
        found = linprog(-program.gains, A_eq=program.matrix, b_eq=program.right, bounds=(0, 1))
        relaxed += program.offset - found.fun
    bound = solve_factor_graph(graph, "trws", tol=0, max_iter=2000).bound
    assert relaxed - 1e-9 <= bound <= relaxed + 1  # of some 50: message passing may stop a little short of it


def test_parts_add_up_to_the_whole():
    rng = np.random.default_rng(0)
    unary, tables, edges = random_graph(0, n_nodes=8, n_labels=3, n_edges=7)
    graph = make_factor_graph(check_problem(unary, tables, edges), [((5, 6, 7), rng.normal(size=(3, 3, 3)))])
    allowed = rng.random(unary.shape) < 0.6
    allowed[:, 0] = True
    constant, parts = split(graph, allowed)
    labels = np.array([rng.choice(np.flatnonzero(row)) for row in allowed])
    assert sum(len(part.nodes) for part in parts) == (allowed.sum(axis=1) > 1).sum()
    assert constant + sum(p.problem.score(p.values(labels)) for p in parts) == pytest.approx(graph.score(labels))
    for part in parts:
        np.testing.assert_array_equal(part.labels(part.values(labels)), labels[part.nodes])


@pytest.mark.parametrize("name", SOLVERS)
def test_time_limit_gives_the_best_so_far(name):
    problem = check_problem(*random_graph(0, n_nodes=150, n_labels=8, n_edges=900, strength=2))
    begin = time.monotonic()
    r = solve_exact(problem, time_limit=1.5, solver=name)
    assert time.monotonic() - begin < 60  # the limit, and a busy machine
    assert r.status == "approximate"
    assert -np.inf < r.score < r.bound < np.inf
    assert r.score >= solve(problem.unary, problem.interaction, problem.edges).score - 1e-9


def test_toulbar2_proves_nothing_when_it_is_cut_short():
    """On a busy machine its timer fires before the limit has been spent in processor time: here, as if none had."""
    script = """
import time
import numpy as np
from neuralfactors.inference.local_problem import LocalProblem
from neuralfactors.inference.toulbar2 import solve_by_toulbar2
time.process_time = lambda: 0.0
rng = np.random.default_rng(0)
problem = LocalProblem([8] * 150, [(tuple(rng.permutation(150)[:2]), rng.normal(size=(8, 8))) for _ in range(900)])
answer = solve_by_toulbar2(problem, None, 1.0)
print(answer.bound - problem.score(answer.values))
"""
    # In a process of its own: the timer stays set in the process that has used it.
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
    assert float(run.stdout.split()[-1]) > 1


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    monkeypatch.setattr(exact, "_MAX_ENTRIES", 0)
    problem = check_problem(*random_graph(0, n_nodes=10, n_labels=3, n_edges=30))
    message = "method 'exact' needs pytoulbar2 or highspy for this problem: pip install 'neuralfactors[exact]'"
    with pytest.raises(ImportError, match=re.escape(message)):
        solve_exact(problem)
    with pytest.raises(ImportError, match="needs highspy for"):
        solve_exact(problem, solver="highs")


def test_no_package_is_needed_where_elimination_does(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    r = solve_exact(check_problem(*random_graph(0, n_nodes=10, n_labels=3, n_edges=30)))
    assert r.status == "optimal"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"solver": "cplex"}, "solver must be one of toulbar2, highs, got 'cplex'"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        solve_exact(check_problem(*random_graph(0, n_nodes=3, n_labels=2, n_edges=2)), **options)


@pytest.mark.parametrize("name", SOLVERS)
def test_ctrl_c_ends_the_search(name):
    code = f"""
import numpy as np
from neuralfactors.inference.exact import solve_exact
from neuralfactors.inference.validate import check_problem
rng = np.random.default_rng(0)
edges = np.array([rng.choice(150, 2, replace=False) for _ in range(900)])
problem = check_problem(rng.normal(size=(150, 8)), 2 * rng.normal(size=(900, 8, 8)), edges)
print("ready", flush=True)
solve_exact(problem, solver={name!r})
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline().strip() == b"ready"
        time.sleep(2.5)
        process.send_signal(signal.SIGINT)
        try:
            _, errors = process.communicate(timeout=20)
        finally:
            process.kill()
    assert errors.decode().strip().endswith("KeyboardInterrupt")


@pytest.mark.realdata
def test_learned_potentials_are_solved_to_the_optimum(data_dir):
    folder = data_dir / "potentials"
    known = json.loads((folder / "best.json").read_text())
    for name, reference in known.items():
        with np.load(folder / name) as data:
            unary, tables = data["unary"].astype(np.float32), data["interaction"].astype(np.float32)
            r = solve(unary, tables, data["edges"], method="exact")
        tolerance = 1e-4 + 1e-6 * abs(reference["bound"])
        assert r.status == "optimal", name
        assert r.gap < 1e-7, name
        assert reference["best_known"] - tolerance <= r.score <= reference["bound"] + tolerance, name
