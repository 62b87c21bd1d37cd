"""Nodes with numbers of labels of their own: every method, beside the same problem padded with forbidden labels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import SLACK, MapProblem, brute_force, problems, random_tree

from neuralfactors.inference import marginals, sample, solve, solve_batch, topk
from neuralfactors.inference._exact import solve_exact
from neuralfactors.inference._ragged import is_ragged
from neuralfactors.inference._validate import check_problem

GENERAL = ["auto", "alpha-expansion", "trws", "bp", "icm", "exhaustive"]


def cut(p, sizes):
    """Rows and tables of the labels that nodes with `sizes` labels have, and the problem that forbids all others."""
    padded = p.unary.copy()
    padded[np.arange(padded.shape[1]) >= np.array(sizes, int)[:, None]] = -np.inf
    rows = [row[:size] for row, size in zip(p.unary, sizes, strict=True)]
    tables = [t[: sizes[u], : sizes[v]] for t, (u, v) in zip(p.interaction, p.edges.tolist(), strict=True)]
    return (rows, tables, p.edges), MapProblem(padded, p.interaction, p.edges)


@st.composite
def ragged_problems(draw, **options):
    p = draw(problems(**options).filter(lambda p: len(p.unary) > 0))
    sizes = draw(st.lists(st.integers(1, p.unary.shape[1]), min_size=len(p.unary), max_size=len(p.unary)))
    return cut(p, sizes)


@pytest.mark.parametrize("method", GENERAL)
@given(drawn=ragged_problems(max_nodes=5))
def test_labels_are_allowed_and_scores_and_bounds_are_true(method, drawn):
    arrays, padded = drawn
    optimum, slack = brute_force(padded), SLACK * padded.magnitude
    r = solve(*arrays, method=method)
    assert all(0 <= label < len(row) for label, row in zip(r.labels, arrays[0], strict=True))
    assert r.score == pytest.approx(padded.score(r.labels), abs=slack)
    assert r.score <= optimum + slack
    assert r.bound >= optimum - slack
    if method == "exhaustive" or r.status == "optimal":
        assert r.score == pytest.approx(optimum, abs=slack)


@pytest.mark.parametrize("method", [*GENERAL, "exact"])
@given(drawn=ragged_problems(max_nodes=4, max_labels=3, forbid=True))
def test_forbidden_entries_are_respected(method, drawn):
    arrays, padded = drawn
    optimum, slack = brute_force(padded), SLACK * padded.magnitude
    r = solve(*arrays, method=method)
    assert r.score <= optimum + slack
    assert r.bound >= optimum - slack
    if method in ("exhaustive", "exact"):
        assert r.score == pytest.approx(optimum, abs=slack)
        assert r.status == ("infeasible" if optimum == -np.inf else "optimal")


@pytest.mark.parametrize("method", ["tree", "auto"])
@given(drawn=ragged_problems(max_nodes=6, edges_of=random_tree, forbid=True))
def test_forests_are_solved_exactly_and_costs_are_those_of_labels(method, drawn):
    arrays, padded = drawn
    r = solve(*arrays, method=method, reduced_costs=True)
    slack = SLACK * padded.magnitude
    optimum = brute_force(padded)
    assert r.score == pytest.approx(optimum, abs=slack)
    if optimum == -np.inf:
        return
    assert [len(costs) for costs in r.reduced_costs] == [len(row) for row in arrays[0]]
    for i, costs in enumerate(r.reduced_costs):
        for a, cost in enumerate(costs):
            only = padded.unary.copy()
            only[i, np.arange(only.shape[1]) != a] = -np.inf
            best = brute_force(MapProblem(only, padded.interaction, padded.edges))
            assert optimum - cost == pytest.approx(best, abs=slack)


@given(drawn=ragged_problems(max_nodes=5), costly=st.booleans())
def test_reduced_costs_bound_the_labels_of_any_graph(drawn, costly):
    arrays, padded = drawn
    r = solve(*arrays, method="auto" if costly else "trws", reduced_costs=True)
    for i, costs in enumerate(r.reduced_costs):
        for a, cost in enumerate(costs):
            only = padded.unary.copy()
            only[i, np.arange(only.shape[1]) != a] = -np.inf
            best = brute_force(MapProblem(only, padded.interaction, padded.edges))
            assert r.bound - cost >= best - SLACK * padded.magnitude


@given(drawn=ragged_problems(max_nodes=6, max_labels=2), seed=st.integers(0, 99))
def test_one_label_or_two_by_one_cut(drawn, seed):
    rng = np.random.default_rng(seed)
    rows, tables, edges = drawn[0]
    tables = [np.abs(rng.normal()) * np.eye(*t.shape) for t in tables]
    r = solve(rows, tables, edges, method="maxflow")
    assert r.status == "optimal"
    assert r.score == pytest.approx(
        solve(rows, tables, edges, method="exhaustive").score, abs=SLACK * drawn[1].magnitude
    )


def factors_over(rng, sizes):
    """Tables over up to four nodes, of which a tenth of the entries is forbidden."""
    scopes = [rng.permutation(len(sizes))[: rng.integers(1, min(4, len(sizes)) + 1)] for _ in range(3)]
    tables = [rng.normal(size=[sizes[i] for i in scope]) for scope in scopes]
    return [(scope, np.where(rng.random(t.shape) < 0.1, -np.inf, t)) for scope, t in zip(scopes, tables, strict=True)]


@pytest.mark.parametrize("method", ["auto", "trws", "bp", "icm", "exact"])
@given(drawn=ragged_problems(max_nodes=5), seed=st.integers(0, 2**16))
def test_factors_of_any_order(method, drawn, seed):
    rows, tables, edges = drawn[0]
    factors = factors_over(np.random.default_rng(seed), [len(row) for row in rows])
    best = solve(rows, tables, edges, factors, method="exhaustive")
    r = solve(rows, tables, edges, factors, method=method)
    slack = SLACK * (100 + drawn[1].magnitude)
    assert r.score <= best.score + slack
    assert r.bound >= best.score - slack
    if method == "exact":
        assert r.score == pytest.approx(best.score, abs=slack)
        assert r.status == best.status


@given(drawn=st.lists(ragged_problems(max_nodes=4), min_size=1, max_size=3), n_threads=st.integers(1, 2))
def test_graphs_of_a_batch_are_solved_each_for_itself(drawn, n_threads):
    graphs = [arrays for arrays, _ in drawn]
    nodes = np.cumsum([0, *(len(rows) for rows, _, _ in graphs)])
    pairs = np.cumsum([0, *(len(edges) for _, _, edges in graphs)])
    rows = [row for one, _, _ in graphs for row in one]
    tables = [table for _, one, _ in graphs for table in one]
    edges = np.concatenate([edges + first for (_, _, edges), first in zip(graphs, nodes, strict=False)])
    dtype = np.result_type(*rows)
    if not is_ragged(rows):
        return
    found = solve_batch(rows, tables, edges, nodes, pairs, n_threads=n_threads)
    for r, (own, own_tables, own_edges) in zip(found, graphs, strict=True):
        alone = solve(
            [np.asarray(row, dtype) for row in own],
            np.array(own_tables) if not is_ragged(own) else [np.asarray(t, dtype) for t in own_tables],
            own_edges,
        )
        np.testing.assert_array_equal(r.labels, alone.labels)
        assert (r.score, r.status) == (alone.score, alone.status)
    problem = check_problem(rows, tables, edges, nodes, pairs)
    assert [r.score for r in solve_exact(problem)] == pytest.approx(
        [solve_exact(problem.graph(g))[0].score for g in range(len(graphs))]
    )


def assert_same_marginals(found, padded, rows, tables, **tolerance):
    """What lists give is the part of `padded` that they have; the rest is 0."""
    assert found.log_partition == pytest.approx(padded.log_partition, abs=1e-6)
    assert (found.status, found.converged) == (padded.status, padded.converged)
    for own, twin, row in zip(found.nodes, padded.nodes, rows, strict=True):
        np.testing.assert_allclose(own, twin[: len(row)], **tolerance)
        assert own.shape == np.shape(row)
    for own, twin, table in zip(found.edges, padded.edges, tables, strict=True):
        np.testing.assert_allclose(own, twin[tuple(map(slice, np.shape(table)))], **tolerance)
        assert own.shape == np.shape(table)


@pytest.mark.parametrize("method", ["exact", "trw", "bethe"])
@given(drawn=ragged_problems(max_nodes=4, max_labels=3))
def test_sums_are_those_of_the_padded_problem(method, drawn):
    (rows, tables, edges), padded = drawn
    scale = 1 + padded.magnitude
    rows, tables = [row / scale for row in rows], [t / scale for t in tables]
    arrays = padded.unary / scale, padded.interaction / scale, edges
    found, twin = marginals(rows, tables, edges, method=method), marginals(*arrays, method=method)
    assert_same_marginals(found, twin, rows, tables, atol=1e-5)
    labellings = list(np.ndindex(*map(len, rows)))
    log_z = np.log(np.exp([padded.score(y) / scale for y in labellings]).sum())
    if method == "exact":
        assert found.log_partition == pytest.approx(log_z, abs=1e-5)
    if method == "trw":
        assert found.log_partition >= log_z - 1e-5


@given(drawn=ragged_problems(max_nodes=4, max_labels=3), seed=st.integers(0, 99))
def test_samples_and_best_labellings_are_those_of_the_padded_problem(drawn, seed):
    arrays, padded = drawn
    np.testing.assert_array_equal(
        sample(*arrays, n=5, random_state=seed), sample(*padded.arrays, n=5, random_state=seed)
    )
    for max_entries in (1, 1000):
        found = topk(*arrays, k=4, max_entries=max_entries)
        scores = [padded.score(y) for y in found.labels if y[0] >= 0]
        np.testing.assert_allclose(found.score[: len(scores), 0], scores, atol=SLACK * padded.magnitude)
    best = sorted((padded.score(y) for y in np.ndindex(*map(len, arrays[0]))), reverse=True)[:4]
    np.testing.assert_allclose(found.score[: len(best), 0], best, atol=SLACK * padded.magnitude)


def test_interactions_of_three_nodes_with_labels_of_their_own():
    rows = [[0.0, 1.0], [0.0, 0.0, 2.0], [0.5]]
    table = np.arange(6.0).reshape(2, 3, 1)
    found = marginals(rows, [table], [[0, 1, 2]])
    p = np.exp(np.add.outer(*rows[:2]) + table[..., 0])
    np.testing.assert_allclose(found.edges[0][..., 0], p / p.sum())
    assert found.log_partition == pytest.approx(np.log(p.sum()) + 0.5)
    rough = topk(rows, [table], [[0, 1, 2]], k=2, max_entries=1)
    assert (rough.labels[0].tolist(), rough.score[0, 0], rough.status[0]) == ([1, 2, 0], 8.5, "approximate")


def test_a_wide_node_does_not_make_sums_over_narrow_ones_dear():
    """3000 edges of four entries each: padded to the 500 labels of one node, they would be 750 million."""
    n = 3000
    rows = [np.zeros(500), *np.zeros((n, 2))]
    edges = np.stack([np.arange(n), np.arange(1, n + 1)], 1)
    tables = [np.zeros((500, 2)), *np.zeros((n - 1, 2, 2))]
    for method in ("exact", "trw", "bethe"):
        found = marginals(rows, tables, edges, method=method, max_iter=5)
        assert found.log_partition == pytest.approx(np.log(500) + n * np.log(2))
    assert sample(rows, tables, edges).shape == (1, n + 1)


def test_larger_problems_agree_with_their_padded_twins():
    rng = np.random.default_rng(0)
    for n_labels in (3, 9, 30):
        sizes = rng.integers(1, n_labels + 1, 60)
        edges = rng.integers(60, size=(150, 2))
        p = MapProblem(rng.normal(size=(60, n_labels)), 0.1 * rng.normal(size=(150, n_labels, n_labels)), edges)
        for dtype in (np.float32, np.float64):
            arrays, padded = cut(MapProblem(p.unary.astype(dtype), p.interaction.astype(dtype), edges), sizes)
            found, twin = solve(*arrays), solve(*padded.arrays)
            assert found.status == "optimal"
            assert found.score >= twin.score - 1e-6
            assert found.bound <= twin.bound + 1e-6


def test_a_start_has_labels_of_its_nodes():
    rows, tables, edges = [[0.0, 1.0], [0.0, 0.0, 2.0]], [np.eye(2, 3)], [[0, 1]]
    assert solve(rows, tables, edges, init=[0, 2], method="icm").score == 3.0
    with pytest.raises(ValueError, match=r"init\[0\] is 2, but labels run from 0 to 1"):
        solve(rows, tables, edges, init=[2, 2])


def test_one_table_for_all_edges_and_arrays_of_tables():
    rows, edges = [[0.0, 1.0], [0.0, 0.0, 2.0], [3.0, 0.0]], [[0, 1], [2, 1]]
    table = np.arange(6.0).reshape(2, 3)
    for tables in (table, np.stack([table, table]), [table.tolist()] * 2):
        assert solve(rows, tables, edges).score == 1 + 2 + 3 + 5 + 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"unary": [[0.0], []]}, r"unary\[1\] must be a vector with a score for each label of its node, got \(0,\)"),
        ({"unary": [[0.0], 1.0]}, r"unary\[1\] must be a vector with a score for each label of its node, got \(\)"),
        ({"unary": [[0.0], ["a", "b"]]}, r"unary\[1\] must be of type float32, float64 or integer, got <U1"),
        ({"unary": [[0.0], [np.nan, 1.0]]}, r"unary\[1, 0\] is NaN"),
        ({"edges": [[0, 2]]}, r"edges\[0\] is \(0, 2\), but the nodes are numbered 0 to 1"),
        ({"interaction": []}, "interaction must contain a table for each of the 1 edges, got 0"),
        ({"interaction": 1.0}, "interaction must contain a table for each of the 1 edges, got float"),
        ({"interaction": [[[0.0], [1.0]]]}, r"interaction\[0\] must have the shape \(1, 2\), the numbers of labels"),
        ({"interaction": [[[0.0], [1.0, 2.0]]]}, r"interaction\[0\] must be an array of numbers"),
        ({"interaction": [[[0.0, np.inf]]]}, r"interaction\[0, 0, 1\] is \+inf"),
        ({"factors": [((0, 1), np.zeros((2, 2)))]}, r"the table of factors\[0\] must have the shape \(1, 2\)"),
        ({"factors": [((1, 0), [[0.0], [np.nan]])]}, r"factors\[0\]\[1\]\[1, 0\] is NaN"),
    ],
)
def test_what_is_refused(change, message):
    call = {"unary": [[0.0], [1.0, 2.0]], "interaction": [[[0.0, 1.0]]], "edges": [[0, 1]]}
    solve(**call)
    with pytest.raises(ValueError, match=message):
        solve(**(call | change))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"unary": [[0.0], [np.nan, 1.0]]}, r"an entry of unary\[1\] is NaN"),
        ({"interaction": [[[0.0, np.inf]]]}, r"an entry of interaction\[0\] is \+inf"),
        ({"edges": [[0, 2]]}, r"edges\[0\] is \(0, 2\), but the nodes are numbered 0 to 1"),
    ],
)
def test_what_sums_refuse(change, message):
    call = {"unary": [[0.0], [1.0, 2.0]], "interaction": [[[0.0, 1.0]]], "edges": [[0, 1]]}
    marginals(**call)
    with pytest.raises(ValueError, match=message):
        marginals(**(call | change))
