"""Graphs and batches: what is accepted, what is refused and in which words, and other libraries' graphs."""

from types import SimpleNamespace

import networkx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

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


@pytest.mark.parametrize("label", [1.7, float("nan"), "cat", -2])
def test_labels_from_elsewhere_must_be_integers(label):
    source = networkx.path_graph(2)
    for node in source:
        source.nodes[node].update(x=1.0, kind=label if node else 0)
    data = SimpleNamespace(x=torch.eye(2), edge_index=torch.tensor([[0], [1]]), y=np.array([0, label]))
    with pytest.raises(ValueError, match=r"kind (must contain integers|contains -2 at node 1)"):
        Graph.from_networkx(source, label="kind")
    with pytest.raises(ValueError, match=r"y (must contain integers|contains -2 at node 1)"):
        Graph.from_pyg(data)


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


@st.composite
def graphs(draw, order=2):
    """Graphs of at most seven nodes with features, weights and, now and then, types."""
    n_nodes = draw(st.integers(order, 7))
    ends = st.lists(st.integers(0, n_nodes - 1), min_size=order, max_size=order, unique=True)
    edges = draw(st.lists(ends, max_size=9))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    types = rng.integers(0, 2, n_nodes) if order == 2 and draw(st.booleans()) else None
    features = rng.normal(size=(len(edges), 2))
    return Graph(
        rng.normal(size=(n_nodes, 3)), np.array(edges, dtype=int).reshape(-1, order), features, rng.random(n_nodes),
        order=order, node_types=types,
    )  # fmt: skip


def edge_set(graph):
    """The edges of a graph by the features of their ends, which renumbering does not change."""
    ends = graph.node_features[graph.edges].reshape(graph.n_edges, 3 * graph.order)
    return sorted(map(tuple, np.column_stack([ends, graph.edge_features]).tolist()))


@given(graph=graphs(order=2) | graphs(order=3), data=st.data())
def test_a_subgraph_has_the_edges_between_its_nodes(graph, data):
    keep = np.array(data.draw(st.lists(st.booleans(), min_size=graph.n_nodes, max_size=graph.n_nodes)))
    part = graph.subgraph(keep)
    np.testing.assert_array_equal(part.node_features, graph.node_features[keep])
    np.testing.assert_array_equal(part.node_weight, graph.node_weight[keep])
    rows = [e for e, nodes in enumerate(graph.edges.tolist()) if all(keep[nodes])]
    inside = Graph.unchecked(graph.node_features, graph.edges[rows], graph.edge_features[rows], None)
    assert edge_set(part) == edge_set(inside)
    assert part.order == graph.order
    assert (part.node_types is None) == (graph.node_types is None)


@given(graph=graphs(), data=st.data())
def test_a_subgraph_of_a_subgraph_is_one(graph, data):
    masks = st.lists(st.booleans(), min_size=graph.n_nodes, max_size=graph.n_nodes).map(np.array)
    first, second = data.draw(masks), data.draw(masks)
    twice, once = graph.subgraph(first).subgraph(second[first]), graph.subgraph(first & second)
    for name in ("node_features", "edges", "edge_features", "node_weight"):
        np.testing.assert_array_equal(getattr(twice, name), getattr(once, name))


@given(graph=graphs())
def test_networkx_and_back(graph):
    source = networkx.MultiDiGraph()
    for node in range(graph.n_nodes):
        source.add_node(f"node {node}", x=graph.node_features[node], y=node % 3)
    for (i, j), features in zip(graph.edges.tolist(), graph.edge_features, strict=True):
        source.add_edge(f"node {i}", f"node {j}", w=features)
    found, y = Graph.from_networkx(source, edge_features="w", label="y")
    np.testing.assert_array_equal(found.node_features, graph.node_features)
    assert y.tolist() == [node % 3 for node in range(graph.n_nodes)]
    assert edge_set(found) == edge_set(graph)


@given(graph=graphs())
def test_edges_in_both_directions_are_halved(graph):
    edges = np.unique(np.sort(graph.edges, axis=1), axis=0).reshape(-1, 2)
    both = np.concatenate([edges, edges[:, ::-1]])
    order = np.random.default_rng(0).permutation(len(both))
    index = torch.from_numpy(np.ascontiguousarray(both[order].T))
    found, _ = Graph.from_pyg(SimpleNamespace(x=torch.from_numpy(graph.node_features), edge_index=index))
    assert sorted(found.edges.tolist()) == edges.tolist()


@given(graph=graphs())
def test_other_features_leave_the_rest(graph):
    other = graph.with_node_features(np.ones((graph.n_nodes, 1)))
    assert other.node_features.shape == (graph.n_nodes, 1)
    assert other.edges is graph.edges
    assert other.nbytes == graph.nbytes - graph.node_features.nbytes + 8 * graph.n_nodes
    with pytest.raises(ValueError, match=f"edges|node_weight|{graph.n_nodes}"):
        graph.with_node_features(np.ones((graph.n_nodes + 1, 1)))


def test_types_come_one_after_another():
    graph = Graph.of_types([np.ones((2, 3)), 2 * np.ones((1, 1)), np.zeros((0, 2))], [[0, 2]])
    assert graph.node_types.tolist() == [0, 0, 1]
    assert graph.node_features.tolist() == [[1, 1, 1], [1, 1, 1], [2, 0, 0]]
    with pytest.raises(ValueError, match="node_types needs order=2, got order=3"):
        Graph(np.ones((3, 1)), [[0, 1, 2]], order=3, node_types=[0, 0, 1])
