"""One table shared by all edges: the same result, bit for bit, as with a copy of it for every edge."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import MapProblem, brute_force, random_edges

from neuralfactors.inference import solve, solve_batch

METHODS = ["auto", "alpha-expansion", "trws", "bp", "icm", "exact", "exhaustive"]


def shared_problem(seed, n_nodes, n_labels, n_edges, dtype=np.float64, forbid=0.0, scale=1.0):
    rng = np.random.default_rng(seed)
    table = rng.normal(scale=scale, size=(n_labels, n_labels)).astype(dtype)
    table[rng.random(table.shape) < forbid] = -np.inf
    edges = random_edges(rng, n_nodes, n_edges) if n_nodes > 1 else np.zeros((0, 2), np.int64)
    return rng.normal(size=(n_nodes, n_labels)).astype(dtype), table, edges


def copied(table, edges):
    return np.repeat(table[None], len(edges), axis=0)


def assert_same(found, expected):
    assert found.labels.tolist() == expected.labels.tolist()
    assert (found.score, found.bound, found.status) == (expected.score, expected.bound, expected.status)


@given(
    seed=st.integers(0, 2**16),
    method=st.sampled_from(METHODS),
    n_nodes=st.integers(1, 6),
    n_labels=st.integers(1, 4),
    n_edges=st.integers(0, 9),
    dtype=st.sampled_from([np.float32, np.float64]),
    forbid=st.sampled_from([0.0, 0.3]),
    scale=st.sampled_from([1.0, 1e3, 1e26]),
)
def test_sharing_changes_nothing(seed, method, n_nodes, n_labels, n_edges, dtype, forbid, scale):
    unary, table, edges = shared_problem(seed, n_nodes, n_labels, n_edges, dtype, forbid, scale)
    expected = solve(unary, copied(table, edges), edges, method=method)
    assert_same(solve(unary, table, edges, method=method), expected)
    if method == "exhaustive" and not forbid:
        problem = MapProblem(unary, copied(table, edges), edges)
        assert expected.score == pytest.approx(brute_force(problem), rel=1e-6)


@pytest.mark.parametrize("method", ["auto", "alpha-expansion", "trws", "bp", "icm", "tree"])
@pytest.mark.parametrize("n_labels", [5, 16, 21])
def test_larger_graphs_and_reduced_costs(method, n_labels):
    unary, table, edges = shared_problem(0, 60, n_labels, 150, np.float32)
    if method == "tree":
        edges = np.stack([np.arange(59), np.arange(1, 60)], axis=1)
    table[0, 1] = -np.inf
    asked = {"method": method, "reduced_costs": method in ("auto", "trws", "tree")}
    found, expected = solve(unary, table, edges, **asked), solve(unary, copied(table, edges), edges, **asked)
    assert_same(found, expected)
    if asked["reduced_costs"]:
        np.testing.assert_array_equal(found.reduced_costs, expected.reduced_costs)


def test_self_loops_and_parallel_edges_of_a_shared_table():
    unary, table, _ = shared_problem(3, 4, 3, 0, np.float32)
    edges = np.array([[0, 0], [0, 1], [1, 0], [0, 1], [2, 3], [3, 2]])
    assert_same(solve(unary, table, edges), solve(unary, copied(table, edges), edges))


@pytest.mark.parametrize("method", ["auto", "exact"])
@pytest.mark.parametrize("form", ["(L, L)", "(1, L, L)", "broadcast", "list"])
def test_forms_of_a_shared_table_in_a_batch(form, method):
    unary, table, edges = shared_problem(1, 7, 3, 0)
    edges, pointers = np.array([[0, 1], [1, 2], [4, 5], [5, 6], [4, 6]]), {"node_ptr": [0, 4, 7], "edge_ptr": [0, 2, 5]}
    forms = {
        "(L, L)": table,
        "(1, L, L)": table[None],
        "broadcast": np.broadcast_to(table, (5, 3, 3)),
        "list": table.tolist(),
    }
    found = solve_batch(unary, forms[form], edges, **pointers, method=method)
    expected = solve_batch(unary, copied(table, edges), edges, **pointers, method=method)
    for one, other in zip(found, expected, strict=True):
        assert_same(one, other)


def test_a_broadcast_table_is_not_copied():
    n_labels, n_nodes = 60, 2000
    unary = np.random.default_rng(0).normal(size=(n_nodes, n_labels))
    edges = np.stack([np.arange(n_nodes - 1), np.arange(1, n_nodes)], axis=1)
    tables = np.broadcast_to(np.eye(n_labels, dtype=np.int64), (n_nodes - 1, n_labels, n_labels))
    tracemalloc.start()
    solve(unary, tables, edges)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < unary.nbytes  # the tables would take 60 times as much


def test_a_shared_table_without_edges():
    unary = np.array([[0.0, 1.0], [2.0, 0.0]])
    assert solve(unary, np.eye(2), np.zeros((0, 2), int)).labels.tolist() == [1, 0]


def test_faults_of_a_shared_table_name_its_place():
    unary, table, _ = shared_problem(1, 4, 3, 0)
    table[1, 2] = np.nan
    with pytest.raises(ValueError, match=r"interaction\[0, 1, 2\] is NaN"):
        solve_batch(unary, table, [[0, 1], [2, 3]], node_ptr=[0, 2, 4], edge_ptr=[0, 1, 2])


def test_tables_that_fit_no_edges_are_refused():
    with pytest.raises(
        ValueError, match=r"= \(2, 3, 3\), or \(3, 3\) for a table that all edges share, got \(1, 2, 2\)"
    ):
        solve(np.zeros((3, 3)), np.eye(2), [[0, 1], [1, 2]])
