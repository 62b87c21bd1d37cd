"""Method `auto` with factors: elimination proves what it can, and more time finds better labellings."""

import itertools
import math
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralfactors.inference import solve, solve_batch

NO_EDGES = np.zeros((0, 2), np.int64)


def run(unary, factors, **options):
    return solve(list(unary), [], NO_EDGES, factors, **options)


def random_problem(rng, sizes, n_factors, orders=(1, 2, 3, 4), strength=1.0):
    """Rows and factors over nodes with `sizes` labels, all of them normal."""
    orders = [q for q in orders if q <= len(sizes)]
    scopes = [rng.choice(len(sizes), rng.choice(orders), replace=False) for _ in range(n_factors)]
    factors = [(scope, strength * rng.normal(size=[sizes[i] for i in scope])) for scope in scopes]
    return [rng.normal(size=size) for size in sizes], factors


def parity_checks(rng, n_nodes, n_checks, order=4, penalty=-np.inf):
    """Two labels; the number of ones among the nodes of a check should be even, or odd."""
    odd = np.indices((2,) * order).sum(axis=0) % 2
    scopes = [rng.choice(n_nodes, order, replace=False) for _ in range(n_checks)]
    factors = [(scope, np.where(odd == rng.integers(2), 0.0, penalty)) for scope in scopes]
    return [0.3 * rng.normal(size=2) for _ in range(n_nodes)], factors


def spin_glass(n_nodes, n_factors, seed=0):
    """Products of three spins with random signs, which the relaxation says nothing about."""
    rng, sign = np.random.default_rng(seed), np.array([-1.0, 1.0])
    product = sign[:, None, None] * sign[:, None] * sign
    factors = [(rng.choice(n_nodes, 3, replace=False), rng.normal() * product) for _ in range(n_factors)]
    return [0.1 * rng.normal(size=2) for _ in range(n_nodes)], factors


def hostile_problem(rng):
    """Ragged; scales of 1e-12 to 1e12, offsets, penalties up to 1e9 times the range, -inf, ties."""
    sizes = rng.integers(1, 4, int(rng.integers(1, 8)))
    unary, factors = random_problem(rng, sizes, int(rng.integers(1, 9)), strength=10 ** rng.uniform(-1, 1))
    tables = [*unary, *(table for _, table in factors)]
    if rng.random() < 0.3:
        for table in tables:
            table[...] = np.round(2 * table)
    if rng.random() < 0.5:
        penalty = 10 ** rng.uniform(0, 9)
        for table in tables:
            table[rng.random(table.shape) < 0.3] -= penalty
    if rng.random() < 0.4:
        for table in tables:
            table += 10 ** rng.uniform(0, 8) * rng.normal()
    if rng.random() < 0.4:
        for table in tables:
            table[rng.random(table.shape) < 0.3] = -np.inf
    scale = 10.0 ** rng.integers(-12, 13)
    return [scale * row for row in unary], [(scope, scale * table) for scope, table in factors]


def terms(problem):
    unary, factors = problem
    return [*(((i,), row) for i, row in enumerate(unary)), *((tuple(scope), table) for scope, table in factors)]


def best_score(problem):
    labellings = itertools.product(*(range(len(row)) for row in problem[0]))
    return max(score(problem, y) for y in labellings)


def score(problem, y):
    return math.fsum(table[tuple(y[i] for i in scope)] for scope, table in terms(problem))


def yardstick(problem, y):
    """Rounding and regret of a labelling, by the formulas of `Result` and `solve`."""
    best_and_used = [(table.max(), table[tuple(y[i] for i in scope)]) for scope, table in terms(problem)]
    size = math.fsum(max(abs(best), abs(used)) for best, used in best_and_used)
    regrets = sorted(best - used for best, used in best_and_used if best > used)
    most = 100 * regrets[len(regrets) // 2] if regrets else 0
    return len(best_and_used) * 2.0**-48 * size, math.fsum(min(r, most) for r in regrets)


def check_claims(problem, r, tol):
    best, mine = best_score(problem), score(problem, r.labels)
    assert (mine == -np.inf) == (r.status in ("infeasible", "unresolved"))
    if r.status == "infeasible":
        assert best == -np.inf
    if mine == -np.inf:
        return
    rounding, regret = yardstick(problem, r.labels)
    assert abs(r.score - mine) <= rounding
    assert r.bound >= best - rounding
    if r.status == "optimal":
        assert best - mine <= rounding
    if r.status == "within_tol":
        assert best - mine <= tol * regret + rounding


@pytest.mark.parametrize("method", ["auto", "trws", "bp"])
@given(seed=st.integers(0, 2**32 - 1))
def test_no_claim_is_false(method, seed):
    rng = np.random.default_rng(seed)
    problem, tol = hostile_problem(rng), float(rng.choice([0.0, 1e-4, 1e-2]))
    max_iter = None if rng.random() < 0.7 else int(rng.integers(1, 30))
    time_limit = 10 ** rng.uniform(-5, -2.5) if rng.random() < 0.3 else None
    check_claims(problem, run(*problem, method=method, tol=tol, max_iter=max_iter, time_limit=time_limit), tol)


@given(seed=st.integers(0, 2**32 - 1))
def test_small_problems_are_settled(seed):
    problem = hostile_problem(np.random.default_rng(seed))
    r = run(*problem, tol=0)
    assert r.status in ("optimal", "infeasible")
    best = best_score(problem)
    if best > -np.inf:
        assert r.score == pytest.approx(best, abs=yardstick(problem, r.labels)[0])


@pytest.mark.parametrize("seed", range(12))
def test_parity_checks_are_settled(seed):
    problem = parity_checks(np.random.default_rng(seed), 14, 10)
    r, best = run(*problem), run(*problem, method="exhaustive")
    assert (r.status, r.score) == (best.status, pytest.approx(best.score))


def test_no_labelling_satisfies_checks_that_contradict_each_other():
    odd = np.indices((2,) * 4).sum(axis=0) % 2
    even_sums = [(scope, np.where(odd, -np.inf, 0.0)) for scope in [(0, 1, 2, 3), (2, 3, 4, 5), (0, 1, 6, 7)]]
    odd_sum = ((4, 5, 6, 7), np.where(odd, 0.0, -np.inf))
    r = run(np.zeros((8, 2)), [*even_sums, odd_sum], reduced_costs=True)
    assert (r.status, r.score, r.bound) == ("infeasible", -np.inf, -np.inf)


MEDIUM = {
    "order 3": random_problem(np.random.default_rng(0), [3] * 40, 60, (3,)),
    "ragged": random_problem(np.random.default_rng(1), list(range(2, 6)) * 10, 50, (2, 3)),
    "spins": spin_glass(60, 110),
    "soft checks": parity_checks(np.random.default_rng(2), 60, 55, penalty=-2.0),
    "hard checks": parity_checks(np.random.default_rng(3), 60, 40),
}


@pytest.mark.parametrize("name", MEDIUM)
def test_auto_is_never_below_its_parts(name):
    auto = run(*MEDIUM[name])
    for part in ("trws", "bp"):
        r = run(*MEDIUM[name], method=part)
        assert auto.score >= r.score, part
        assert auto.bound <= r.bound, part


@pytest.mark.parametrize("name", MEDIUM)
def test_results_only_get_better_with_time(name):
    later = run(*MEDIUM[name], time_limit=2)  # long enough for a busy machine to get as far as without a limit
    for before in (run(*MEDIUM[name]), run(*MEDIUM[name], time_limit=0.02)):
        assert later.score >= before.score
        assert later.bound <= before.bound


def test_time_is_used_and_finds_better_labellings():
    problem = spin_glass(300, 600)
    first, start = run(*problem), time.perf_counter()
    later = run(*problem, time_limit=1.0)
    assert time.perf_counter() - start >= 1.0
    assert later.score > first.score
    assert later.status == first.status == "approximate"


def test_a_proof_ends_the_search():
    problem, start = parity_checks(np.random.default_rng(0), 14, 8), time.process_time()
    assert run(*problem, time_limit=60).status == "optimal"
    assert time.process_time() - start < 10


def test_a_coarse_tolerance_ends_the_search():
    problem, start = random_problem(np.random.default_rng(0), [3] * 60, 60, (3,)), time.process_time()
    assert run(*problem, tol=0.5, time_limit=60).status in ("within_tol", "optimal")
    assert time.process_time() - start < 10


def test_seeds_repeat():
    problem = spin_glass(300, 600)
    runs = [run(*problem, random_state=seed) for seed in (0, 0, 1, 2, 3, 4)]
    np.testing.assert_array_equal(runs[0].labels, runs[1].labels)
    assert (runs[0].score, runs[0].bound) == (runs[1].score, runs[1].bound)
    assert len({tuple(r.labels) for r in runs}) > 1


def test_a_batch_answers_as_single_graphs_do():
    problems = [spin_glass(50, 90, seed) for seed in range(4)]
    unary = [row for rows, _ in problems for row in rows]
    factors = [(scope + 50 * g, table) for g, (_, own) in enumerate(problems) for scope, table in own]
    batch = solve_batch(unary, [], NO_EDGES, 50 * np.arange(5), np.zeros(5, np.int64), factors, n_threads=2)
    for r, problem in zip(batch, problems, strict=True):
        np.testing.assert_array_equal(r.labels, run(*problem).labels)


@pytest.mark.parametrize("name", ["spins", "hard checks", "ragged"])
def test_callback_hears_of_every_step_forward(name):
    heard = []
    r = run(*MEDIUM[name], time_limit=0.3, callback=lambda *news: heard.append(news))
    seconds, scores, bounds = np.array(heard).T
    assert len(heard) > 2
    assert (np.diff(seconds) >= 0).all()
    assert (scores[1:] >= scores[:-1]).all()
    assert (np.diff(bounds) <= 1e-12 * abs(r.bound)).all()  # the last one is rounded up
    assert (scores[-1], bounds[-1]) == (r.score, r.bound)


def test_an_exception_in_the_callback_ends_the_search():
    problem = spin_glass(300, 600)
    first = run(*problem)

    def stop(seconds, score, bound):
        if score > first.score:
            raise InterruptedError("enough")

    with pytest.raises(InterruptedError, match="enough"):
        run(*problem, time_limit=60, callback=stop)
