"""Bounds of problems too large to enumerate, against elimination by hand; allowed labellings beside large scores."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import SLACK, MapProblem, make_problem

from neuralfactors import grid_edges
from neuralfactors.inference import solve


def best_on_grid(problem, height, width):
    """Highest score on a grid with the edges of `grid_edges`: column after column, over all labellings of a column."""
    n_labels, n_right = problem.unary.shape[1], height * (width - 1)
    unary = problem.unary.reshape(height, width, n_labels)
    right = problem.interaction[:n_right].reshape(height, width - 1, n_labels, n_labels)
    below = problem.interaction[n_right:].reshape(height - 1, width, n_labels, n_labels)

    def column(c):
        nodes = (unary[r, c].reshape([-1 if k == r else 1 for k in range(height)]) for r in range(height))
        axes = [[n_labels if k in (r, r + 1) else 1 for k in range(height)] for r in range(height - 1)]
        return sum(nodes) + sum(below[r, c].reshape(axes[r]) for r in range(height - 1))

    best = column(0)
    for c in range(1, width):
        for r in range(height):  # the label of row r gives way to that of its neighbour on the right
            best = np.moveaxis((np.moveaxis(best, r, -1)[..., None] + right[r, c - 1]).max(axis=-2), -1, r)
        best = best + column(c)
    return best.max()


def check_bounds(problem, best, budgets):
    for max_iter in budgets:
        r = solve(*problem.arrays, max_iter=max_iter)
        assert r.score <= best + SLACK * problem.magnitude
        assert r.bound >= best - SLACK * problem.magnitude
        if r.status == "optimal":
            assert r.score >= best - problem.rounding(r.labels)


@given(
    seed=st.integers(0, 2**32 - 1),
    n_labels=st.integers(9, 12),
    shape=st.sampled_from([(2, 3), (2, 7), (3, 3), (3, 5)]),
    strength=st.sampled_from([0.2, 0.6, 1.0, 3.0]),
)
def test_bounds_hold_with_many_labels(seed, n_labels, shape, strength):
    rng = np.random.default_rng(seed)
    problem = make_problem(rng, shape[0] * shape[1], n_labels, grid_edges(*shape), strength=strength)
    check_bounds(problem, best_on_grid(problem, *shape), (None, 60, 200))


@pytest.mark.parametrize("seed", [1804, 5888, 6576, 14183, 20185])
def test_bounds_hold_where_the_best_labels_alone_were_proved(seed):
    """With more than 8 labels a later part of the search looks at the best ones of each node only."""
    rng = np.random.default_rng(seed)
    n_labels, width = int(rng.integers(9, 16)), int(rng.integers(3, 9))
    edges, strength = grid_edges(3, width), rng.choice([0.6, 0.8, 1.0])
    problem = make_problem(rng, 3 * width, n_labels, edges, strength=strength)
    best = best_on_grid(problem, 3, width)
    assert solve(*problem.arrays, method="exact").score == pytest.approx(best, abs=1e-9)
    check_bounds(problem, best, (None, 60, 200))


@pytest.mark.parametrize("method", ["auto", "alpha-expansion", "trws", "bp", "icm", "exact"])
@pytest.mark.parametrize("seed", range(10))
def test_a_large_row_does_not_hide_what_is_forbidden(method, seed):
    rng = np.random.default_rng(seed)
    unary, tables = (0.001 * rng.random(size).astype(np.float32) for size in ((4, 3), (5, 3, 3)))
    unary[0] = 1e6
    unary[0, rng.integers(0, 3, 2)] = -np.inf
    problem = MapProblem(unary, tables, np.array([[0, 1], [1, 2], [2, 0], [2, 3], [3, 0]]))
    r = solve(*problem.arrays, method=method)
    assert np.isfinite(problem.score(r.labels))
    if method == "auto":
        assert r.score >= solve(*problem.arrays, method="exhaustive").score - 1e-3


@pytest.mark.parametrize("size", [0.3, 1e4, 1e9])
def test_scores_that_differ_by_rounding_alone_do_not_hide_what_is_forbidden(size):
    rng = np.random.default_rng(0)
    edges = np.c_[np.triu_indices(6, 1)]
    for _ in range(100):
        unary, tables = (np.where(rng.random(s) < 0.5, size, np.nextafter(size, 0)) for s in ((6, 3), (15, 3, 3)))
        tables[rng.random(tables.shape) < 0.3] = -np.inf
        status = solve(unary, tables, edges, method="exhaustive").status
        assert solve(unary, tables, edges).status == status


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_labels", [2, 3, 7, 8, 9, 15, 63, 64, 65, 130])
def test_reduced_costs_of_an_edge_are_no_more_than_its_labels_lose(n_labels, dtype):
    rng = np.random.default_rng(n_labels)
    unary, table = rng.normal(size=(2, n_labels)).astype(dtype), rng.normal(size=(1, n_labels, n_labels)).astype(dtype)
    r = solve(unary, table, [[0, 1]], method="trws", tol=0, reduced_costs=True)
    scores = unary[0][:, None].astype(float) + unary[1] + table[0]
    over = [r.bound - costs - best for costs, best in zip(r.reduced_costs, (scores.max(1), scores.max(0)), strict=True)]
    assert min(map(np.min, over)) > -1e-9
    assert min(map(np.max, over)) < 1e-9  # exact for the node that the last sweep came to


@pytest.mark.parametrize("n_nodes", [6, 8, 10])
def test_a_proof_leaves_no_gap_on_dense_graphs(n_nodes):
    """The search for labellings may prove the optimum where no relaxation comes near it."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        problem = make_problem(rng, n_nodes, 3, np.c_[np.triu_indices(n_nodes, 1)], strength=3)
        r = solve(*problem.arrays)
        if r.status == "optimal":
            assert r.gap <= problem.rounding(r.labels)


def test_what_cannot_be_is_proved_on_a_dense_graph():
    """Five nodes with three labels, no two alike."""
    edges = np.c_[np.triu_indices(5, 1)]
    r = solve(np.zeros((5, 3)), np.where(np.eye(3), -np.inf, 0.0)[None], edges)
    assert (r.status, r.bound) == ("infeasible", -np.inf)
