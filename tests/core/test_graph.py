"""Graphs and batches: what is accepted, what is refused and in which words, and other libraries' graphs."""

from types import SimpleNamespace

import networkx
import numpy as np
import pytest
import torch

from neuralfactors import Graph
from neuralfactors._core.graph import check_agreement
from neuralfactors._core.graph_checks import check_labels


def path(n_nodes=3, n_features=2, n_edge_features=1, seed=0):
    rng = np.random.default_rng(seed)
    edges = np.stack([np.arange(n_nodes - 1), np.arange(1, n_nodes)], axis=1)
    return Graph(rng.normal(size=(n_nodes, n_features)), edges, rng.normal(size=(n_nodes - 1, n_edge_features)))


def test_defaults_are_empty():
    graph = Graph(np.ones((3, 2)))
    assert graph.edges.shape == (0, 2)
    assert graph.edge_features.shape == (0, 0)
    assert graph.node_weight is None


def test_subgraph_keeps_edges_inside():
    graph = Graph(np.arange(4.0)[:, None], [[0, 1], [1, 2], [3, 0]], [[1.0], [2.0], [3.0]], node_weight=[1, 2, 3, 4])
    part = graph.subgraph(np.array([True, False, True, True]))
    assert part.node_features[:, 0].tolist() == [0.0, 2.0, 3.0]
    assert part.edges.tolist() == [[2, 0]]
    assert part.edge_features.tolist() == [[3.0]]
    assert part.node_weight.tolist() == [1.0, 3.0, 4.0]
    assert graph.subgraph(np.ones(4, dtype=bool)) is graph


@pytest.mark.parametrize(
    ("graphs", "message"),
    [
        ([], "X must contain at least one Graph, got none"),
        ([path(), np.ones((2, 2))], "X must contain neuralfactors.Graph objects, got ndarray at position 1"),
        ([path(), path(n_features=3)], "graph 1 has 3 columns of node_features, but graph 0 has 2"),
        (
            [Graph(np.ones((1, 2))), path(), path(n_edge_features=2)],
            "graph 2 has 2 columns of edge_features, but graph 1 has 1",
        ),
        (
            [path(), Graph(np.ones((3, 2)), [[0, 1, 2]], [[1.0]], order=3)],
            "graph 1 has 3 nodes in an edge, but graph 0 has 2",
        ),
    ],
)
def test_graphs_that_disagree_are_refused(graphs, message):
    with pytest.raises(ValueError, match=message):
        check_agreement(graphs)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0, 1], r"y needs one label per node: expected shape \(3,\), got \(2,\)"),
        ([0.0, 1.0, 2.0], "y must contain integers, got dtype float64"),
        ([0, -2, 1], "y contains -2 at node 1: labels are 0, 1, ... or -1 for void"),
    ],
)
def test_bad_labels_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        check_labels(y, 3)


def test_a_graph_without_nodes_has_no_labels():
    assert check_labels([], 0).dtype == np.int64
    with pytest.raises(ValueError, match=r"expected shape \(1,\), got \(0,\)"):
        check_labels([], 1)


def test_from_networkx():
    source = networkx.Graph()
    source.add_node("a", x=[1.0, 2.0], y=1)
    source.add_node("b", x=[3.0, 4.0])
    source.add_edge("b", "a", w=[0.5])
    graph, y = Graph.from_networkx(source, edge_features="w", label="y")
    assert graph.node_features.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert y.tolist() == [1, -1]
    assert sorted(graph.edges[0].tolist()) == [0, 1]
    assert graph.edge_features.tolist() == [[0.5]]
    assert Graph.from_networkx(source)[1] is None
    with pytest.raises(ValueError, match=r"node 'a' has no attribute 'z'; it has \['x', 'y'\]"):
        Graph.from_networkx(source, node_features="z")


def test_from_pyg_keeps_one_direction_of_an_undirected_edge():
    data = SimpleNamespace(
        x=torch.eye(3), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]),
        edge_attr=torch.tensor([1.0, 1.0, 2.0, 2.0]), y=torch.tensor([0, 1, 0]),
    )  # fmt: skip
    graph, y = Graph.from_pyg(data)
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert graph.edge_features.tolist() == [[1.0], [2.0]]
    assert y.tolist() == [0, 1, 0]


def test_from_pyg_keeps_directed_edges():
    data = SimpleNamespace(x=torch.eye(3), edge_index=torch.tensor([[1, 2], [0, 1]]))
    graph, y = Graph.from_pyg(data)
    assert graph.edges.tolist() == [[1, 0], [2, 1]]
    assert y is None
    with pytest.raises(ValueError, match=r"edge_index must have shape \(2, E\), got \(2,\)"):
        Graph.from_pyg(SimpleNamespace(x=torch.eye(3), edge_index=torch.tensor([1, 2])))
