"""Partition functions, marginals, samples and best labellings against enumeration."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import random_edges, random_tree

from neuralfactors.inference import marginals, marginals_batch, sample, topk


def scores_of_all(unary, interaction, edges):
    """Every labelling and its score."""
    every = list(itertools.product(range(unary.shape[1]), repeat=len(unary)))
    labellings = np.array(every, int).reshape(len(every), len(unary))
    tables = np.broadcast_to(interaction, (len(edges), *interaction.shape[1:])).astype(np.float64)
    total = unary.astype(np.float64)[np.arange(len(unary)), labellings].sum(axis=1)
    for nodes, table in zip(edges, tables, strict=True):
        total = total + table[tuple(labellings[:, i] for i in nodes)]
    return labellings, total


def enumerated(unary, interaction, edges):
    """log Z, and the marginals of the nodes and of the interactions."""
    labellings, total = scores_of_all(unary, interaction, edges)
    top = total.max()
    weight = np.exp(total - top)
    p = weight / weight.sum()
    nodes = np.zeros(unary.shape)
    for i in range(len(unary)):
        np.add.at(nodes[i], labellings[:, i], p)
    pairs = np.zeros((len(edges), *interaction.shape[1:]))
    for e, ends in enumerate(edges):
        np.add.at(pairs[e], tuple(labellings[:, i] for i in ends), p)
    return top + np.log(weight.sum()), nodes, pairs


def make_problem(seed, *, n_labels=3, order=2, shared=False, forbidden=0.0, dtype=np.float64, kind="any"):
    """A random graph of up to five nodes: a chain, a forest or any, with self-loops and parallel edges."""
    rng = np.random.default_rng(seed)
    n_nodes = int(rng.integers(1, 6))
    if kind == "chain":
        edges = np.stack([np.arange(n_nodes - 1), np.arange(1, n_nodes)], axis=1)
    elif kind == "tree":
        edges = random_tree(rng, n_nodes)
    else:
        edges = rng.integers(0, n_nodes, (int(rng.integers(0, 7)), order))
    unary = (2 * rng.standard_normal((n_nodes, n_labels))).astype(dtype)
    rows = 1 if shared else len(edges)
    interaction = (2 * rng.standard_normal((rows, *(n_labels,) * edges.shape[1]))).astype(dtype)
    keep = rng.integers(0, n_labels, n_nodes)  # a labelling that stays allowed
    unary[(rng.random(unary.shape) < forbidden) & (np.arange(n_labels) != keep[:, None])] = -np.inf
    mask = rng.random(interaction.shape) < forbidden
    for e, ends in enumerate(edges):
        mask[(0 if shared else e, *keep[ends])] = False
    interaction[mask] = -np.inf
    return unary, interaction, edges


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


def grid(size):
    numbers = np.arange(size * size).reshape(size, size)
    rows = np.stack([numbers[:, :-1].ravel(), numbers[:, 1:].ravel()], axis=1)
    columns = np.stack([numbers[:-1].ravel(), numbers[1:].ravel()], axis=1)
    return np.concatenate([rows, columns])


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


def test_samples_follow_the_distribution():
    problem = make_problem(5, forbidden=0.2)
    labels = sample(*problem, n=20_000, random_state=3)
    _, nodes, _ = enumerated(*problem)
    shares = np.stack([(labels == a).mean(axis=0) for a in range(3)], axis=1)
    np.testing.assert_allclose(shares, nodes, atol=0.015)
    labellings, total = scores_of_all(*problem)
    assert {tuple(y) for y in labels.tolist()} <= {tuple(y) for y in labellings[total > -np.inf].tolist()}


def test_the_same_seed_draws_the_same_samples():
    unary, interaction, edges = make_problem(5)
    twice = (
        np.concatenate([unary, unary]),
        np.concatenate([interaction, interaction]),
        np.concatenate([edges, edges + len(unary)]),
    )
    pointers = {"node_ptr": [0, len(unary), 2 * len(unary)], "edge_ptr": [0, len(edges), 2 * len(edges)]}
    first = sample(*twice, n=50, random_state=1, n_threads=1, **pointers)
    assert (first == sample(*twice, n=50, random_state=1, n_threads=2, **pointers)).all()
    assert (first != sample(*twice, n=50, random_state=2, **pointers)).any()
    assert (first[:, : len(unary)] != first[:, len(unary) :]).any()


@given(seed=st.integers(0, 2**16), order=st.sampled_from([2, 3]), forbidden=st.sampled_from([0.0, 0.4]))
def test_topk_equals_enumeration(seed, order, forbidden):
    problem = make_problem(seed, order=order, forbidden=forbidden)
    found = topk(*problem, k=7)
    labellings, total = scores_of_all(*problem)
    best = np.sort(total[total > -np.inf])[::-1][:7]
    assert found.status.tolist() == ["optimal"]
    np.testing.assert_allclose(found.score[: len(best), 0], best, atol=1e-9)
    assert (found.score[len(best) :] == -np.inf).all()
    assert (found.labels[len(best) :] == -1).all()
    places = {tuple(y): k for k, y in enumerate(labellings.tolist())}
    chosen = [places[tuple(y)] for y in found.labels[: len(best)].tolist()]
    assert len(set(chosen)) == len(best)
    np.testing.assert_allclose(total[chosen], best, atol=1e-9)


@pytest.mark.parametrize("order", [2, 3])
def test_topk_of_large_graphs_says_that_nothing_is_proved(order):
    rng = np.random.default_rng(4)
    edges = grid(5) if order == 2 else np.stack([np.arange(23), np.arange(1, 24), np.arange(2, 25)], axis=1)
    unary, interaction = rng.standard_normal((25, 3)), rng.standard_normal((len(edges), *(3,) * order))
    rough, exact = topk(unary, interaction, edges, k=4, max_entries=20), topk(unary, interaction, edges, k=4)
    assert (rough.status[0], exact.status[0]) == ("approximate", "optimal")
    assert (np.diff(rough.score[:, 0]) <= 0).all()
    assert (rough.score <= exact.score + 1e-9).all()
    assert len({tuple(y) for y in rough.labels.tolist()}) == 4


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


BAD = [
    ({"unary": np.array([[0.0, np.nan]])}, r"unary\[0, 1\] is NaN"),
    ({"interaction": np.full((1, 2, 2), np.inf)}, r"interaction\[0, 0, 0\] is \+inf"),
    ({"interaction": np.zeros((2, 2, 2))}, r"interaction must have the shape \(1, 2, 2\)"),
    ({"edges": np.array([[0, 5]])}, r"edges\[0\] has node 5"),
    ({"edges": np.array([[0.0, 1.0]])}, "edges must be integers"),
    ({"unary": np.zeros(2)}, "unary must have the shape"),
    ({"method": "best"}, "method must be one of auto, exact, trw, bethe"),
    ({"max_entries": 0}, "max_entries must be a number of at least 1"),
    ({"tol": -1}, "tol must be"),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_wrong_arguments_are_named(change, message):
    arguments = {"unary": np.zeros((2, 2)), "interaction": np.zeros((1, 2, 2)), "edges": np.array([[0, 1]])} | change
    with pytest.raises(ValueError, match=message):
        marginals(**arguments)


def test_message_passing_takes_pairs_only():
    with pytest.raises(ValueError, match="'trw' takes edges of two nodes"):
        marginals(np.zeros((3, 2)), np.zeros((1, 2, 2, 2)), np.array([[0, 1, 2]]), method="trw")


@pytest.mark.parametrize("count", [0, 1.5, True])
def test_counts_are_positive_integers(count):
    arrays = np.zeros((2, 2)), np.zeros((1, 2, 2)), np.array([[0, 1]])
    with pytest.raises(ValueError, match="n must be a positive integer"):
        sample(*arrays, n=count)
    with pytest.raises(ValueError, match="k must be a positive integer"):
        topk(*arrays, k=count)
