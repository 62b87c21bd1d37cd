"""Batches of graphs: one disconnected graph with pointers."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from neuralfactors.graph import Graph
from neuralfactors.graph_batch import GraphBatch


def path(n_nodes=3, n_features=2, n_edge_features=1, seed=0):
    rng = np.random.default_rng(seed)
    edges = np.stack([np.arange(n_nodes - 1), np.arange(1, n_nodes)], axis=1)
    return Graph(rng.normal(size=(n_nodes, n_features)), edges, rng.normal(size=(n_nodes - 1, n_edge_features)))


def test_batch_is_one_disconnected_graph():
    graphs = [path(3, seed=1), Graph(np.ones((2, 2))), path(4, seed=2)]
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


def test_batch_fills_in_missing_node_weights():
    batch = GraphBatch.from_graphs([Graph(np.ones((1, 1)), node_weight=[3.0]), Graph(np.ones((2, 1)))])
    assert batch.node_weight.tolist() == [3.0, 1.0, 1.0]
    assert batch.to("cpu").node_weight.tolist() == [3.0, 1.0, 1.0]
