"""Graphs and batches: what is accepted, what is refused and in which words, and other libraries' graphs."""

from dataclasses import replace
from types import SimpleNamespace

import networkx
import numpy as np
import pytest
import torch

from neuralfactors.graph import Graph, check_agreement, check_labels
from neuralfactors.graph_batch import GraphBatch


def path(n_nodes=3, n_features=2, n_edge_features=1, seed=0):
    rng = np.random.default_rng(seed)
    edges = np.stack([np.arange(n_nodes - 1), np.arange(1, n_nodes)], axis=1)
    return Graph(rng.normal(size=(n_nodes, n_features)), edges, rng.normal(size=(n_nodes - 1, n_edge_features)))


def test_defaults_are_empty():
    graph = Graph(np.ones((3, 2)))
    assert graph.edges.shape == (0, 2)
    assert graph.edge_features.shape == (0, 0)
    assert graph.node_weight is None


def test_dtypes_are_kept_where_they_are_floats():
    assert Graph(np.ones((1, 1), dtype=np.float32)).node_features.dtype == np.float32
    assert Graph(np.ones((1, 1), dtype=np.float64)).node_features.dtype == np.float64
    assert Graph(np.ones((1, 1), dtype=np.int64)).node_features.dtype == np.float32
    assert Graph(torch.ones(1, 1)).node_features.dtype == np.float32
    assert Graph(torch.ones(1, 1, dtype=torch.bfloat16)).node_features.dtype == np.float32


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"node_features": [1.0, 2.0]}, r"node_features must have 2 dimensions, got shape \(2,\)"),
        ({"node_features": [["a"]]}, "node_features must hold numbers, got dtype <U1"),
        ({"node_features": [[1.0, np.nan]]}, r"node_features must be finite, got nan at \(0, 1\)"),
        ({"node_features": [[1.0], [1.0, 2.0]]}, "node_features must be an array, but its rows differ in length"),
        ({"edges": [[0, 1], [2]]}, "edges must be an array, but its rows differ in length"),
        (
            {"edges": [[0, 1, 2], [1, 0, 1]], "order": 3},
            r"edges of order 3 join distinct nodes, got \[1, 0, 1\] at row 1",
        ),
        ({"edges": [[0, 3]]}, r"edges must hold node numbers from 0 to 2, got \[0, 3\] at row 0"),
        ({"edges": [[0, 1], [-1, 0]]}, r"got \[-1, 0\] at row 1"),
        ({"edges": [[0.0, 1.0]]}, "edges must hold integers, got dtype float64"),
        ({"edges": [0, 1]}, r"edges must have shape \(E, 2\), got \(2,\)$"),
        ({"edges": [[0], [1]]}, r"edges must have shape \(E, 2\), got \(2, 1\): transpose them$"),
        (
            {"edges": [[0, 1, 2], [1, 2, 0]]},
            r"edges must have shape \(E, 2\), got \(2, 3\): transpose them, or pass order=3 if 3 nodes meet",
        ),
        (
            {"edges": [[0, 1]], "order": 3},
            r"shape \(E, 3\), got \(1, 2\): pass order=2 if 2 nodes meet in an interaction",
        ),
        ({"order": 1}, "order must be an integer ≥ 2, got 1"),
        (
            {"edges": [[0, 1]], "edge_features": np.ones((2, 1))},
            "edge_features needs one row per edge: expected 1 rows, got 2",
        ),
        ({"edges": [[0, 1]], "edge_features": [[np.inf]]}, r"edge_features must be finite, got inf at \(0, 0\)"),
        ({"node_weight": [1.0]}, r"node_weight needs one entry per node: expected shape \(3,\), got \(1,\)"),
        ({"node_weight": [1.0, -1.0, 1.0]}, "node_weight must not be negative, got -1.0 at node 1"),
    ],
)
def test_bad_graphs_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Graph(**{"node_features": np.ones((3, 2)), **arguments})


@pytest.mark.parametrize("name", ["node_features", "edge_features", "node_weight"])
def test_outputs_of_a_network_are_refused(name):
    arguments = {"node_features": torch.ones(2, 1), "edge_features": torch.ones(1, 1), "node_weight": torch.ones(2)}
    arguments[name] = torch.nn.Parameter(arguments[name])
    with pytest.raises(ValueError, match=f"{name} requires grad, but a Graph holds data .* or pass it detached"):
        Graph(edges=[[0, 1]], **arguments)
    arguments[name] = arguments[name].detach()
    assert Graph(edges=[[0, 1]], **arguments).n_edges == 1


def test_higher_order_is_asked_for_and_kept():
    graph = Graph(np.eye(4), [[0, 1, 2], [1, 2, 3]], order=3)
    assert graph.order == graph.with_node_features(np.ones((4, 1))).order == 3
    assert Graph(np.eye(4), order=3).edges.shape == (0, 3)


def test_subgraph_keeps_edges_inside():
    graph = Graph(np.arange(4.0)[:, None], [[0, 1], [1, 2], [3, 0]], [[1.0], [2.0], [3.0]], node_weight=[1, 2, 3, 4])
    part = graph.subgraph(np.array([True, False, True, True]))
    assert part.node_features[:, 0].tolist() == [0.0, 2.0, 3.0]
    assert part.edges.tolist() == [[2, 0]]
    assert part.edge_features.tolist() == [[3.0]]
    assert part.node_weight.tolist() == [1.0, 3.0, 4.0]
    assert graph.subgraph(np.ones(4, dtype=bool)) is graph


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


@pytest.mark.parametrize(
    ("graphs", "message"),
    [
        ([], "X must hold at least one Graph, got none"),
        ([path(), np.ones((2, 2))], "X must hold neuralfactors.Graph objects, got ndarray at position 1"),
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
        ([0.0, 1.0, 2.0], "y must hold integers, got dtype float64"),
        ([0, -2, 1], "y holds -2 at node 1: labels are 0, 1, ... or -1 for void"),
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
