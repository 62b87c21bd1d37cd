"""Batches of graphs, with labels: from pairs in a DataLoader, to devices and page-locked memory."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import DataLoader

from neuralfactors import Factor, FactorModel, Graph, GraphBatch, StructuredHingeLoss


def path(n_nodes):
    edges = np.stack([np.arange(n_nodes - 1), np.arange(1, n_nodes)], axis=1)
    return Graph(np.random.default_rng(n_nodes).normal(size=(n_nodes, 2)), edges, np.ones((n_nodes - 1, 1)))


@pytest.fixture
def pairs():
    rng = np.random.default_rng(0)
    sizes = (3, 1, 4)
    graphs = [
        Graph(rng.normal(size=(n, 2)), [[i, i + 1] for i in range(n - 1)], rng.normal(size=(n - 1, 1))) for n in sizes
    ]
    return [(graph, rng.integers(-1, 3, graph.n_nodes)) for graph in graphs]


def test_a_loader_makes_batches_with_labels(pairs):
    (batch,) = DataLoader(pairs, batch_size=3, collate_fn=GraphBatch.collate)
    assert batch.y.tolist() == np.concatenate([y for _, y in pairs]).tolist()
    assert batch.y.dtype == torch.int64
    model = FactorModel(Factor(2, 3), Factor(1, 3, order=2), n_labels=3)
    assert StructuredHingeLoss()(model(batch), batch.y) > 0


def test_graphs_without_labels_make_a_batch_without(pairs):
    batch = GraphBatch.collate([graph for graph, _ in pairs])
    assert (batch.y, batch.n_graphs) == (None, 3)
    with pytest.raises(ValueError, match=r"X must contain neuralfactors.Graph objects, got tuple at position 1"):
        GraphBatch.collate([pairs[0][0], pairs[1]])


def test_labels_must_fit_the_graphs(pairs):
    graphs, labels = zip(*pairs, strict=True)
    with pytest.raises(ValueError, match="y needs the labels of every graph: expected 3, got 2"):
        GraphBatch.from_graphs(graphs, y=labels[:2])
    with pytest.raises(ValueError, match=r"y\[1\] needs one label per node: expected shape \(1,\), got \(3,\)"):
        GraphBatch.from_graphs(graphs, y=[labels[0], labels[0], labels[2]])


def test_labels_move_with_the_batch_and_pointers_stay(pairs):
    moved = GraphBatch.collate(pairs).to("meta", non_blocking=True)
    assert {moved.y.device.type, moved.edges.device.type, moved.node_features.device.type} == {"meta"}
    assert moved.node_ptr.device.type == "cpu"


def test_every_tensor_is_pinned(pairs, monkeypatch):
    pinned = []
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda tensor: pinned.append(tensor) or tensor.clone())
    batch = GraphBatch.collate(pairs)
    assert torch.equal(batch.pin_memory().y, batch.y)
    assert len(pinned) == 6  # features of nodes and edges, edges, labels, two pointers


def test_batch_is_one_disconnected_graph():
    graphs = [path(3), Graph(np.ones((2, 2))), path(4)]
    batch = GraphBatch.from_graphs(graphs)
    assert batch.node_ptr.tolist() == [0, 3, 5, 9]
    assert batch.edge_ptr.tolist() == [0, 2, 2, 5]
    assert batch.edges.tolist() == [[0, 1], [1, 2], [5, 6], [6, 7], [7, 8]]
    assert batch.edge_features.dtype == torch.float32
    assert batch.sizes == [3, 2, 4]
    np.testing.assert_allclose(batch.node_features[5:], graphs[2].node_features, rtol=1e-6)


def test_batch_of_graphs_without_edges():
    batch = GraphBatch.from_graphs([Graph(np.ones((1, 2))), Graph(np.ones((2, 2)))])
    assert batch.edges.shape == (0, 2)
    assert batch.edge_ptr.tolist() == [0, 0, 0]


def test_a_batch_refuses_transposed_edges():
    batch = GraphBatch.from_graphs([path(4)])
    message = r"one row per interaction, got shapes \(2, 3\) and \(3, 1\): transpose edges"
    with pytest.raises(ValueError, match=message):
        replace(batch, edges=batch.edges.t())


def test_costs_by_label_are_for_all_graphs_of_a_batch():
    costs = [Graph(np.ones((n, 1)), node_weight=np.eye(2)[:n]) for n in (1, 2)]
    assert GraphBatch.from_graphs(costs).node_weight.tolist() == [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    for other in (Graph(np.ones((1, 1))), Graph(np.ones((1, 1)), node_weight=[1.0])):
        with pytest.raises(ValueError, match=r"node_weight must be of shape \(V, L\) in all graphs of a batch"):
            GraphBatch.from_graphs([*costs, other])


def test_batch_fills_in_missing_node_weights():
    batch = GraphBatch.from_graphs([Graph(np.ones((1, 1)), node_weight=[3.0]), Graph(np.ones((2, 1)))])
    assert batch.node_weight.tolist() == [3.0, 1.0, 1.0]
    assert batch.to("cpu").node_weight.tolist() == [3.0, 1.0, 1.0]


@given(sizes=st.lists(st.integers(1, 5), min_size=1, max_size=6), seed=st.integers(0, 2**16))
def test_a_batch_comes_apart_into_its_graphs(sizes, seed):
    rng = np.random.default_rng(seed)
    graphs = []
    for n in sizes:
        edges = np.array([(i, j) for i in range(n) for j in range(i) if rng.random() < 0.5]).reshape(-1, 2)
        graphs.append(Graph(rng.normal(size=(n, 2)), edges, rng.normal(size=(len(edges), 3)), rng.random(n)))
    labels = [rng.integers(-1, 4, n) for n in sizes]
    batch = GraphBatch.from_graphs(graphs, torch.float64, labels)
    assert (batch.n_graphs, batch.n_nodes, batch.sizes) == (len(sizes), sum(sizes), sizes)
    for g, (graph, y) in enumerate(zip(graphs, labels, strict=True)):
        nodes, rows = slice(*batch.node_ptr[g : g + 2].tolist()), slice(*batch.edge_ptr[g : g + 2].tolist())
        np.testing.assert_array_equal(batch.node_features[nodes], graph.node_features)
        np.testing.assert_array_equal(batch.node_weight[nodes], graph.node_weight)
        np.testing.assert_array_equal(batch.y[nodes], y)
        np.testing.assert_array_equal(batch.edges[rows] - batch.node_ptr[g], graph.edges)
        if graph.n_edges:
            np.testing.assert_array_equal(batch.edge_features[rows], graph.edge_features)


@pytest.mark.parametrize("order", [2, 3])
def test_the_order_of_graphs_is_their_order_in_a_batch(order):
    def clique(n):
        edges = np.array(list(combinations(range(n), order))).reshape(-1, order)
        return Graph(np.full((n, 1), n), edges, np.full((len(edges), 1), n), order=order)

    one, other = GraphBatch.from_graphs(map(clique, (3, 4))), GraphBatch.from_graphs(map(clique, (4, 3)))
    assert one.node_features[:, 0].tolist() == [3.0] * 3 + [4.0] * 4
    assert other.node_features[:, 0].tolist() == [4.0] * 4 + [3.0] * 3
    assert one.edges.shape[1] == other.edges.shape[1] == order
    assert sorted(one.edge_features[:, 0].tolist()) == sorted(other.edge_features[:, 0].tolist())


def test_types_are_for_all_graphs_of_a_batch():
    typed, plain = Graph(np.ones((2, 1)), node_types=[0, 1]), Graph(np.ones((1, 1)))
    assert GraphBatch.from_graphs([typed, typed]).node_types.tolist() == [0, 1, 0, 1]
    with pytest.raises(ValueError, match="graphs must all have node_types, or none, got 1 of 2"):
        GraphBatch.from_graphs([typed, plain])


def test_potentials_of_a_batch_are_those_of_its_graphs():
    graphs = [path(3), path(1), path(4)]
    model = FactorModel(Factor(2, 3, 1, (4,)), Factor(1, 3, 2, (4,)), n_labels=3)
    together = model(GraphBatch.from_graphs(graphs))
    for g, graph in enumerate(graphs):
        alone, part = model(GraphBatch.from_graphs([graph])), together.graph(g)
        torch.testing.assert_close(part.unary, alone.unary)
        torch.testing.assert_close(part.interaction, alone.interaction)
        assert torch.equal(part.edges, alone.edges)
