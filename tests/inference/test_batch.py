"""Batches with factors, or by methods that take one graph at a time, against `solve` on each graph."""

import re

import numpy as np
import pytest
from problems import make_problem, planar_graph

from neuralfactors.inference import solve, solve_batch


@pytest.fixture
def batch():
    rng = np.random.default_rng(0)
    return [make_problem(rng, n, 3, planar_graph(rng, n)) for n in (4, 6, 5)]


def joined(problems):
    node_ptr = np.cumsum([0, *(len(p.unary) for p in problems)])
    return {
        "unary": np.concatenate([p.unary for p in problems]),
        "interaction": np.concatenate([p.interaction for p in problems]),
        "edges": np.concatenate([p.edges + first for p, first in zip(problems, node_ptr, strict=False)]),
        "node_ptr": node_ptr,
        "edge_ptr": np.cumsum([0, *(len(p.edges) for p in problems)]),
    }


@pytest.mark.parametrize("method", ["auto", "trws", "bp", "icm", "exact", "exhaustive"])
def test_factors_of_a_batch_are_those_of_its_graphs(batch, method):
    rng = np.random.default_rng(1)
    own = [
        [([0, 2, 3], rng.normal(size=(3, 3, 3)))],
        [],
        [([1, 4], rng.normal(size=(3, 3))), ([2], rng.normal(size=3))],
    ]
    arrays = joined(batch)
    first = arrays["node_ptr"]
    shifted = [(np.add(nodes, first[g]), table) for g, part in enumerate(own) for nodes, table in part]
    found = solve_batch(**arrays, factors=shifted, method=method)
    for p, part, result in zip(batch, own, found, strict=True):
        alone = solve(*p.arrays, part, method=method)
        assert result.labels.tolist() == alone.labels.tolist()
        assert (result.score, result.bound, result.status) == (alone.score, alone.bound, alone.status)
    for n_threads in (1, 3):
        again = solve_batch(**arrays, factors=shifted, method=method, n_threads=n_threads)
        assert again.labels.tolist() == found.labels.tolist()


def test_exact_takes_a_batch_with_starts_and_reduced_costs_come_back(batch):
    arrays = joined(batch)
    starts = np.zeros(len(arrays["unary"]), int)
    found = solve_batch(**arrays, method="exact", init=starts)
    assert found.status.tolist() == ["optimal"] * 3
    assert found.score == pytest.approx([solve(*p.arrays, method="exhaustive").score for p in batch])
    costs = solve_batch(**arrays, factors=[([0], np.zeros(3))], method="trws", reduced_costs=True).reduced_costs
    assert costs.shape == arrays["unary"].shape


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([0, 5], "factors[0] has nodes of several graphs, from 0 to 1"),
        ([15], "factors[0] has node 15, but the nodes are numbered 0 to 14"),
        ([-1], "factors[0] has node -1, but the nodes are numbered 0 to 14"),
    ],
)
def test_nodes_of_no_single_graph_are_refused(batch, nodes, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        solve_batch(**joined(batch), factors=[(nodes, np.zeros((3,) * len(nodes)))])


def test_edges_between_graphs_are_refused(batch):
    arrays = joined(batch)
    arrays["edges"][0] = [0, 5]
    with pytest.raises(ValueError, match=r"edges\[0\] is \(0, 5\), but the nodes of its graph are numbered 0 to 3"):
        solve_batch(**arrays, method="exact")


def test_integer_scores_are_scores(batch):
    p = batch[0]
    unary, tables = np.rint(5 * p.unary), np.rint(5 * p.interaction)
    counted = solve(unary.astype(int), tables.astype(np.int8), p.edges)
    assert counted.score == solve(unary, tables, p.edges).score


@pytest.mark.parametrize("kind", [np.random.RandomState, np.random.default_rng])
def test_generators_of_random_numbers_are_accepted(batch, kind):
    assert solve(*batch[0].arrays, random_state=kind(3)).score == solve(*batch[0].arrays, random_state=kind(3)).score
