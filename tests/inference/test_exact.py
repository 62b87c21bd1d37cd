"""Method exact: against enumeration, its solvers against each other, the time limit, and the learned potentials."""

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
from problems import leave_all_to_the_solver, random_graph

from neuralfactors.inference import _exact as exact
from neuralfactors.inference import solve
from neuralfactors.inference._exact import solve_exact
from neuralfactors.inference._general_solvers import SOLVERS
from neuralfactors.inference._local_problem import eliminate, split
from neuralfactors.inference._validate import check_problem

pytest.importorskip("highspy", reason="the extra exact is not installed")
pytest.importorskip("pytoulbar2", reason="the extra exact is not installed")


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


@pytest.mark.parametrize("seed", range(5))
def test_dense_problems_are_beyond_elimination_and_solved(seed):
    arguments = random_graph(seed, n_nodes=24, n_labels=4, n_edges=140)
    problem = check_problem(*arguments)
    _, (part,) = split(problem.tables(), np.ones(problem.unary.shape, bool))
    assert eliminate(part.problem, exact._MAX_ENTRIES) is None
    r = solve(*arguments, method="exact")
    assert r.status == "optimal"
    assert r.gap < 1e-8
    assert r.score >= solve(*arguments, method="auto").score - 1e-9


@pytest.mark.parametrize("name", SOLVERS)
def test_time_limit_gives_the_best_so_far(name):
    problem = check_problem(*random_graph(0, n_nodes=150, n_labels=8, n_edges=900, strength=2))
    begin = time.monotonic()
    r = solve_exact(problem, time_limit=1.5, solver=name)[0]
    assert time.monotonic() - begin < 60  # the limit, and a busy machine
    assert r.status == "approximate"
    assert -np.inf < r.score < r.bound < np.inf
    assert r.score >= solve(problem.unary, problem.interaction, problem.edges).score - 1e-9


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    leave_all_to_the_solver(monkeypatch)
    problem = check_problem(*random_graph(0, n_nodes=10, n_labels=3, n_edges=30))
    message = "method 'exact' needs pytoulbar2 or highspy for this problem: pip install 'neuralfactors[exact]'"
    with pytest.raises(ImportError, match=re.escape(message)):
        solve_exact(problem)
    with pytest.raises(ImportError, match="needs highspy for"):
        solve_exact(problem, solver="highs")


def test_no_package_is_needed_where_elimination_does(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    leave_all_to_the_solver(monkeypatch, but_small_ones=True)
    r = solve_exact(check_problem(*random_graph(0, n_nodes=10, n_labels=3, n_edges=30)))[0]
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
from neuralfactors.inference._exact import solve_exact
from neuralfactors.inference._validate import check_problem
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
            _, errors = process.communicate(timeout=240)
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
