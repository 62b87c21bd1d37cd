"""No status claims what is not so: every method against enumeration, on the numbers that strangers bring.

`make fuzz` checks 100,000 problems; the test checks some.
"""

import itertools
import sys
import time
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import MapProblem, random_edges, random_tree

from neuralfactors.inference import METHODS, solve
from neuralfactors.inference._validate import RUN_TO_THE_END

EXACT = np.longdouble  # of 64 bits, so that the scores compared with are as good as true
KERNEL_METHODS = [method for method in METHODS if method != "exact"]
TIED, PENALISED, SHIFTED, FORBIDDEN = 0.3, 0.6, 0.4, 0.3  # shares of the problems


def random_graph(rng, n_nodes):
    kind = rng.choice(["tree", "any", "simple", "simple"])
    if kind == "tree":
        return random_tree(rng, n_nodes)
    edges = random_edges(rng, n_nodes, int(rng.integers(0, 2 * n_nodes + 1)))
    if kind == "any":
        return edges
    return np.unique(np.sort(edges[edges[:, 0] != edges[:, 1]], axis=1), axis=0)


def hostile_problem(rng, max_labellings=5000):
    """Scales of 1e-12 to 1e12, offsets up to 1e8 times the range, penalties up to 1e9 times it, −inf, ties."""
    n_labels = int(rng.integers(1, 5))
    n_nodes = int(rng.integers(1, 9 if n_labels < 3 else 8 if n_labels < 4 else 7))
    edges = random_graph(rng, n_nodes)
    arrays = [rng.standard_normal((n_nodes, n_labels)), rng.standard_normal((len(edges), n_labels, n_labels))]
    arrays[1] *= 10 ** rng.uniform(-1, 1)
    if rng.random() < TIED:
        arrays = [np.round(2 * array) for array in arrays]
    if rng.random() < PENALISED:
        penalise(rng, arrays[rng.integers(2) :])
    if rng.random() < SHIFTED:
        for array in arrays:
            size = (1,) * array.ndim if rng.random() < 0.5 else (len(array), *(1,) * (array.ndim - 1))
            array += 10 ** rng.uniform(0, 8) * rng.standard_normal(size)
    if rng.random() < FORBIDDEN:
        for array in arrays:
            array[rng.random(array.shape) < rng.choice([0.05, 0.3])] = -np.inf
    scale, dtype = 10.0 ** rng.integers(-12, 13), rng.choice([np.float32, np.float64])
    return MapProblem(*((scale * array).astype(dtype) for array in arrays), edges)


def penalise(rng, arrays):
    size, share = 10 ** rng.uniform(0, 9), rng.choice([0.05, 0.2, 0.6, 0.9])
    for array in arrays:
        hit = rng.random(array.shape) < share
        array[hit] -= size if rng.random() < 0.7 else size * rng.random(int(hit.sum()))
        if rng.random() < 0.15:  # a prize now and then
            array[rng.random(array.shape) < 0.05] += size


def all_scores(problem):
    """Score of every labelling, in the order of `itertools.product`."""
    n_nodes, n_labels = problem.unary.shape
    y = np.array(list(itertools.product(range(n_labels), repeat=n_nodes)))
    scores = problem.unary.astype(EXACT)[np.arange(n_nodes), y].sum(axis=1)
    for (i, j), table in zip(problem.edges, problem.interaction.astype(EXACT), strict=True):
        scores = scores + table[y[:, i], y[:, j]]
    return scores


def check_claims(problem, scores, r, tol):
    n_nodes, n_labels = problem.unary.shape
    best, mine = scores.max(), scores[int(r.labels @ n_labels ** np.arange(n_nodes)[::-1])]
    assert (mine == -np.inf) == (r.status in ("infeasible", "unresolved"))
    if r.status == "infeasible":
        assert best == -np.inf
    if mine == -np.inf:
        return
    rounding, regret = problem.rounding(r.labels), problem.regret(r.labels)
    assert abs(r.score - mine) <= rounding
    assert r.bound >= best - rounding
    if r.status == "optimal":
        assert best - mine <= rounding
    if r.status == "within_tol":
        assert best - mine <= tol * regret + rounding


def check_methods(rng, methods, told=None):
    problem = hostile_problem(rng)
    scores = all_scores(problem)
    for method in methods:
        tol = float(rng.choice([0.0, 1e-4, 1e-2]))
        max_iter = None if rng.random() < 0.7 else int(rng.integers(1, 30))
        limited = method not in (*RUN_TO_THE_END, "exact") and rng.random() < 0.3
        time_limit = 10 ** rng.uniform(-5, -2.5) if limited else None
        try:
            r = solve(*problem.arrays, method=method, tol=tol, max_iter=max_iter, time_limit=time_limit)
        except ValueError as refused:
            assert str(refused).startswith(f"method '{method}' needs")  # noqa: PT017  a cycle, more than two labels
            continue
        check_claims(problem, scores, r, tol)
        if told is not None:
            told[method, r.status] += 1


@given(seed=st.integers(0, 2**32 - 1))
def test_no_claim_is_false(seed):
    check_methods(np.random.default_rng(seed), KERNEL_METHODS)


@given(seed=st.integers(0, 2**32 - 1))
def test_no_claim_of_exact_search_is_false(seed):
    check_methods(np.random.default_rng(seed), ["exact"])


@pytest.mark.parametrize("method", ["auto", "trws"])
@pytest.mark.parametrize("penalty", [1e3, 1e4, 1e6, 1e9])
def test_a_penalty_in_every_table_neither_fools_nor_hinders(method, penalty):
    """The usual soft constraint: such an entry must loosen no tolerance, and proofs are found as without it."""
    proved = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        edges = np.array([(i, j) for i in range(10) for j in range(i) if rng.random() < 0.4])
        unary, tables = rng.standard_normal((10, 3)), rng.standard_normal((len(edges), 3, 3))
        tables[np.arange(len(edges)), rng.integers(3, size=len(edges)), rng.integers(3, size=len(edges))] = -penalty
        r, best = solve(unary, tables, edges, method=method), solve(unary, tables, edges, method="exhaustive")
        assert r.status != "optimal" or r.score == pytest.approx(best.score, rel=1e-12)
        assert r.status != "within_tol" or r.score == pytest.approx(best.score, rel=1e-3)
        proved += r.status == "optimal"
    assert proved >= 15


def fuzz(n_problems, seed=0):
    """How often each method answered with each status."""
    rng, told = np.random.default_rng(seed), Counter()
    for k in range(n_problems):
        check_methods(rng, [*KERNEL_METHODS, "exact"] if k % 20 == 0 else KERNEL_METHODS, told)
    return told


if __name__ == "__main__":
    start = time.perf_counter()
    total = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    for (method, status), count in sorted(fuzz(total, seed=1).items()):
        print(f"{method:16} {status:12} {count:8}")  # noqa: T201
    print(f"{total} problems, no false claim, {time.perf_counter() - start:.0f} s")  # noqa: T201
