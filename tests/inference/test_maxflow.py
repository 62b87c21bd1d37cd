"""Method "maxflow": exact for two labels, against enumeration, dynamic programming and SciPy's maximum flow."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import SLACK, MapProblem, brute_force, make_problem, planar_graph, problems, random_tree
from scipy.sparse import coo_array
from scipy.sparse.csgraph import maximum_flow

from neuralfactors.inference import solve

TRIANGLE = np.array([[0, 1], [1, 2], [2, 0]])
NOT_QUITE_MODULAR = (90, 173, 1152, 3163)  # seeds whose tables are submodular but for rounding


def cut(problem, **options):
    return solve(*problem.arrays, method="maxflow", **options)


def swap_labels(problem, swapped):
    """The same problem with labels 0 and 1 exchanged at the nodes of the mask."""
    unary = np.where(swapped[:, None], problem.unary[:, ::-1], problem.unary)
    tail, head = (swapped[ends][:, None, None] for ends in problem.edges.T)
    tables = np.where(tail, problem.interaction[:, ::-1], problem.interaction)
    return MapProblem(unary, np.where(head, tables[:, :, ::-1], tables), problem.edges)


def submodular(problem):
    """The same problem with the columns of a table exchanged where equal labels would score less than unequal ones."""
    t = problem.interaction
    wrong = t[:, 0, 0] + t[:, 1, 1] < t[:, 0, 1] + t[:, 1, 0]
    return MapProblem(problem.unary, np.where(wrong[:, None, None], t[:, :, ::-1], t), problem.edges)


def best_score_by_scipy(problem):
    """Optimum of a submodular problem of integers by the textbook network: source side is label 0, cuts are losses."""
    source, sink = len(problem.unary), len(problem.unary) + 1
    arcs = []  # (from, to, capacity)
    loss = problem.unary.max(axis=1, keepdims=True) - problem.unary
    total = problem.unary.max(axis=1).sum()
    for i, (zero, one) in enumerate(loss):
        arcs += [(source, i, one), (i, sink, zero)]
    for (u, v), t in zip(problem.edges, problem.interaction, strict=True):
        # -t = -t[1, 1] + a [u has label 0] + b [v has label 0] + c [u has label 0 and v label 1]
        a, b, c = t[1, 0] - t[0, 0], t[1, 1] - t[1, 0], t[0, 0] + t[1, 1] - t[0, 1] - t[1, 0]
        arcs.append((u, v, c))
        total += t[1, 1]
        for node, cost in ((u, a), (v, b)):
            arcs.append((node, sink, cost) if cost >= 0 else (source, node, -cost))
            total -= min(cost, 0)
    i, j, capacity = np.array(arcs, dtype=np.int32).T
    network = coo_array((capacity, (i, j)), shape=(sink + 1, sink + 1)).tocsr()
    return total - maximum_flow(network, source, sink).flow_value


def grid_edges(side):
    nodes = np.arange(side * side).reshape(side, side)
    pairs = [(nodes[:, :-1], nodes[:, 1:]), (nodes[:-1], nodes[1:])]
    return np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in pairs])


@given(problem=problems(max_nodes=6, max_labels=2), seed=st.integers(0, 2**16))
def test_optimum_of_submodular_tables_with_swapped_labels(problem, seed):
    if problem.unary.shape[1] == 2:
        problem = merge_parallel(problem)
        swapped = np.random.default_rng(seed).random(len(problem.unary)) < 0.5
        problem = swap_labels(submodular(problem), swapped)
    r = cut(problem)
    # float32 tables are taken to be modular where they are within the rounding of their entries; the bound says by how
    # much they are not
    single, optimum = problem.unary.dtype == np.float32, brute_force(problem)
    slack = (SLACK + 1e-6 * single) * problem.magnitude
    assert r.score == pytest.approx(optimum, abs=slack)
    assert optimum - SLACK * problem.magnitude <= r.bound <= r.score + slack
    if not single:
        assert (r.bound, r.status) == (r.score, "optimal")


@pytest.mark.parametrize("seed", [*range(20), *NOT_QUITE_MODULAR])
def test_bound_covers_what_rounding_made_of_modular_tables(seed):
    rng = np.random.default_rng(seed)
    offset = 1e3 * rng.standard_normal((3, 1, 1))
    tables = (1e-12 * (0.2 * rng.integers(-2, 3, (3, 2, 2)) + offset)).astype(np.float32)
    unary = (1e-12 * rng.integers(-2, 3, (3, 2))).astype(np.float32)
    p = submodular(MapProblem(unary, tables, TRIANGLE))
    r, optimum = cut(p), brute_force(p)
    assert optimum - SLACK * p.magnitude <= r.bound <= optimum + 1e-6 * p.magnitude
    assert r.status != "optimal" or r.score >= optimum - p.rounding(r.labels)


@pytest.mark.parametrize("method", ["auto", "maxflow", "exhaustive"])
def test_large_offsets_in_single_precision_change_no_label(method):
    unary = np.array([[0, 0.15], [0.15, 0], [0, 0.1]], np.float32)
    tables = (np.stack([0.1875 * np.eye(2)] * 3) + 1e6).astype(np.float32)
    assert solve(unary, tables, TRIANGLE, method=method).labels.tolist() == [1, 1, 1]


def merge_parallel(problem):
    """The same problem on a simple graph: only then can its tables be made submodular one by one."""
    keep, seen = [], set()
    for e, (u, v) in enumerate(problem.edges):
        if u != v and (u, v) not in seen:
            keep.append(e)
            seen |= {(u, v), (v, u)}
    return MapProblem(problem.unary, problem.interaction[keep], problem.edges[keep])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("range_", [3, 1000])  # many ties, hardly any
def test_agrees_with_scipy_on_grids(seed, range_):
    rng = np.random.default_rng(seed)
    edges = grid_edges(30)
    unary = rng.integers(-3 * range_, 3 * range_ + 1, (900, 2))
    tables = rng.integers(-range_, range_ + 1, (len(edges), 2, 2))
    p = submodular(MapProblem(unary, tables, edges))
    expected = best_score_by_scipy(p)
    r = cut(swap_labels(MapProblem(p.unary.astype(float), p.interaction.astype(float), edges), rng.random(900) < 0.5))
    assert (r.score, r.bound, r.status) == (expected, expected, "optimal")


@given(seed=st.integers(0, 2**16))
def test_every_forest_can_be_cut(seed):
    rng = np.random.default_rng(seed)
    p = make_problem(rng, 40, 2, random_tree(rng, 40), strength=3.0)
    assert cut(p).score == pytest.approx(solve(*p.arrays, method="tree").score)


@given(seed=st.integers(0, 2**16))
def test_capacities_of_all_sizes_at_once(seed):
    rng = np.random.default_rng(seed)
    edges = planar_graph(rng, 10)
    unary, tables = rng.standard_normal((10, 2)), rng.standard_normal((len(edges), 2, 2))
    sizes = [10.0 ** rng.integers(-9, 10, a.shape) for a in (unary, tables)]
    p = submodular(MapProblem(unary * sizes[0], tables * sizes[1], edges))
    r = cut(p)
    assert r.score == pytest.approx(brute_force(p), abs=1e-14 * p.magnitude)


@pytest.mark.parametrize("size", [1e2, 1e6])
@given(seed=st.integers(0, 2**16))
def test_modular_tables_stay_modular_under_rounding(size, seed):
    rng = np.random.default_rng(seed)
    edges = planar_graph(rng, 8)
    row, column = size * rng.standard_normal((2, len(edges), 2))
    p = MapProblem(rng.standard_normal((8, 2)), row[:, :, None] + column[:, None, :], edges)
    r = cut(p)
    assert r.score == pytest.approx(brute_force(p), abs=1e-13 * p.magnitude)


def test_ties_give_label_0():
    edges = grid_edges(5)
    r = cut(MapProblem(np.zeros((25, 2)), np.zeros((len(edges), 2, 2)), edges))
    assert r.labels.tolist() == [0] * 25
    attract = np.broadcast_to(np.eye(2), (len(edges), 2, 2)).copy()
    assert cut(MapProblem(np.zeros((25, 2)), attract, edges)).labels.tolist() == [0] * 25


def test_frustrated_cycle_is_refused():
    repel = np.array([[0.0, 1.0], [1.0, 0.0]])
    triangle = MapProblem(np.zeros((3, 2)), np.stack([repel] * 3), np.array([[0, 1], [1, 2], [2, 0]]))
    with pytest.raises(ValueError, match="'maxflow' needs submodular tables"):
        cut(triangle)
    square = MapProblem(np.zeros((4, 2)), np.stack([repel] * 4), np.array([[0, 1], [1, 2], [2, 3], [3, 0]]))
    assert cut(square).score == 4


def test_three_labels_are_refused():
    with pytest.raises(ValueError, match="'maxflow' needs at most 2 labels, got 3"):
        solve(np.zeros((2, 3)), np.zeros((1, 3, 3)), [[0, 1]], method="maxflow")
