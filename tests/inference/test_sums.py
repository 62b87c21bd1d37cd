"""Partition functions and marginals against enumeration."""

import numpy as np
import pytest
from enumeration import enumerated, grid, make_problem
from hypothesis import given
from hypothesis import strategies as st
from problems import random_edges

from neuralfactors.inference import marginals, marginals_batch, sample


def assert_equals_enumeration(problem, tol=1e-9, **options):
    found = marginals(*problem, **options)
    value, nodes, pairs = enumerated(*problem)
    assert found.status == "exact"
    assert found.log_partition == pytest.approx(value, rel=tol, abs=tol)
    np.testing.assert_allclose(found.nodes, nodes, atol=tol)
    np.testing.assert_allclose(found.edges, pairs, atol=tol)


@given(
    seed=st.integers(0, 2**16),
    n_labels=st.integers(1, 4),
    order=st.sampled_from([1, 2, 2, 3]),
    shared=st.booleans(),
    forbidden=st.sampled_from([0.0, 0.4]),
    kind=st.sampled_from(["any", "tree", "chain"]),
)
def test_sums_equal_enumeration(seed, n_labels, order, shared, forbidden, kind):
    options = {"n_labels": n_labels, "order": order, "shared": shared, "forbidden": forbidden, "kind": kind}
    assert_equals_enumeration(make_problem(seed, **options))
    assert_equals_enumeration(make_problem(seed, dtype=np.float32, **options), tol=1e-6)


@pytest.mark.parametrize("offset", [0.0, 1e5, -1e5])
@pytest.mark.parametrize("strength", [1.0, 100.0, 400.0])
@pytest.mark.parametrize("seed", range(3))
def test_large_scores_and_offsets_do_not_overflow(seed, strength, offset):
    """Chains with one table leave the fast path where numbers would underflow."""
    for shared in (True, False):
        unary, interaction, edges = make_problem(seed, kind="chain", shared=shared, forbidden=0.3)
        problem = strength * unary + offset, strength * interaction - offset, edges
        assert_equals_enumeration(problem, tol=1e-8 if offset == 0 else 1e-6)


def test_a_rare_but_only_allowed_way_is_not_lost():
    """What leads on is e^-1000 times as probable as what does not."""
    unary = np.array([[0.0, -1000.0], [0.0, 0.0], [-np.inf, 0.0]])
    interaction = np.array([[[0.0, -np.inf], [-np.inf, 0.0]]])
    found = marginals(unary, interaction, np.array([[0, 1], [1, 2]]))
    assert found.log_partition == pytest.approx(-1000.0)
    assert found.nodes[:, 1].tolist() == [1.0, 1.0, 1.0]


def test_the_fast_path_equals_the_general_one():
    rng = np.random.default_rng(0)
    unary, table = rng.standard_normal((26, 30)), rng.standard_normal((1, 30, 30))
    table[0, rng.random((30, 30)) < 0.2] = -np.inf
    edges = np.stack([np.arange(25), np.arange(1, 26)], axis=1)
    fast, general = marginals(unary, table, edges), marginals(unary, np.repeat(table, 25, axis=0), edges)
    assert fast.log_partition == pytest.approx(general.log_partition, rel=1e-13)
    np.testing.assert_allclose(fast.nodes, general.nodes, atol=1e-13)
    np.testing.assert_allclose(fast.edges, general.edges, atol=1e-13)


def test_a_batch_is_its_graphs_for_any_number_of_threads():
    rng = np.random.default_rng(1)
    sizes = [3, 1, 0, 5, 4]
    node_ptr, edge_ptr, edges = [0], [0], []
    for size in sizes:
        edges += (random_edges(rng, size, size) + node_ptr[-1]).tolist()
        node_ptr.append(node_ptr[-1] + size)
        edge_ptr.append(len(edges))
    edges = np.array(edges)
    unary, interaction = rng.standard_normal((13, 3)), rng.standard_normal((len(edges), 3, 3))
    one, two = (marginals_batch(unary, interaction, edges, node_ptr, edge_ptr, n_threads=n) for n in (1, 2))
    assert len(one) == 5
    assert (one.nodes == two.nodes).all()
    assert (one.edges == two.edges).all()
    for g, found in enumerate(one):
        nodes, rows = slice(node_ptr[g], node_ptr[g + 1]), slice(edge_ptr[g], edge_ptr[g + 1])
        value, *_ = enumerated(unary[nodes], interaction[rows], edges[rows] - node_ptr[g])
        assert found.log_partition == pytest.approx(value)
        assert found.nodes.shape == (sizes[g], 3)


@given(seed=st.integers(0, 2**16), shared=st.booleans(), forbidden=st.sampled_from([0.0, 0.3]))
def test_tree_reweighted_sums_are_upper_bounds(seed, shared, forbidden):
    problem = make_problem(seed, shared=shared, forbidden=forbidden)
    value, *_ = enumerated(*problem)
    for max_iter in (1, 200):  # converged or not
        found = marginals(*problem, method="trw", max_iter=max_iter)
        assert found.status == "upper_bound"
        assert found.log_partition >= value - 1e-7 * max(1.0, abs(value))
        np.testing.assert_allclose(found.nodes.sum(axis=1), 1.0)


@pytest.mark.parametrize("method", ["trw", "bethe"])
@given(seed=st.integers(0, 2**16), shared=st.booleans())
def test_message_passing_is_exact_on_forests(method, seed, shared):
    problem = make_problem(seed, kind="tree", shared=shared)
    found = marginals(*problem, method=method)
    value, nodes, pairs = enumerated(*problem)
    assert found.converged
    assert found.log_partition == pytest.approx(value)
    np.testing.assert_allclose(found.nodes, nodes, atol=1e-6)
    np.testing.assert_allclose(found.edges, pairs, atol=1e-6)


def test_large_graphs_with_cycles_get_a_bound_and_an_approximation():
    rng = np.random.default_rng(2)
    edges = grid(8)
    unary, interaction = rng.standard_normal((64, 3)), 0.5 * rng.standard_normal((len(edges), 3, 3))
    exact = marginals(unary, interaction, edges)
    bound = marginals(unary, interaction, edges, max_entries=100)
    bethe = marginals(unary, interaction, edges, method="bethe")
    assert (exact.status, bound.status, bethe.status) == ("exact", "upper_bound", "approximation")
    assert bound.converged
    assert bethe.converged
    assert exact.log_partition < bound.log_partition < exact.log_partition + 4
    assert bethe.log_partition == pytest.approx(exact.log_partition, abs=0.1)
    assert np.abs(bethe.nodes - exact.nodes).max() < 0.05
    np.testing.assert_allclose(bound.edges.sum(axis=2), bound.nodes[edges[:, 0]], atol=1e-4)
    with pytest.raises(ValueError, match="max_entries"):
        marginals(unary, interaction, edges, method="exact", max_entries=100)


def test_a_long_chain_needs_no_larger_budget():
    found = marginals(
        np.zeros((3000, 2)), np.zeros((2999, 2, 2)), np.stack([np.arange(2999), np.arange(1, 3000)], 1), max_entries=10
    )
    assert found.status == "exact"
    assert found.log_partition == pytest.approx(3000 * np.log(2))


@pytest.mark.parametrize("method", ["exact", "trw", "bethe"])
@pytest.mark.parametrize("shared", [True, False])
def test_where_all_is_forbidden_there_is_a_sentence(method, shared):
    edges = np.array([[0, 1], [1, 2]])
    forbidden = np.full((1 if shared else 2, 2, 2), -np.inf)
    with pytest.raises(ValueError, match="every labelling of the graph is forbidden"):
        marginals(np.zeros((3, 2)), forbidden, edges, method=method)
    with pytest.raises(ValueError, match="every labelling of the graph is forbidden"):
        marginals(np.full((3, 2), -np.inf), np.zeros_like(forbidden), edges, method=method)
    with pytest.raises(ValueError, match="graph 1 of the batch"):
        sample(np.zeros((4, 2)), forbidden, edges + 1, node_ptr=[0, 1, 4], edge_ptr=[0, 0, 2])


def test_message_passing_takes_pairs_only():
    with pytest.raises(ValueError, match="'trw' takes edges of two nodes"):
        marginals(np.zeros((3, 2)), np.zeros((1, 2, 2, 2)), np.array([[0, 1, 2]]), method="trw")
