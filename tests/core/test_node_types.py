"""Types of nodes: what graphs hold of them, and what labels each type has."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from neuralfactors import Graph
from neuralfactors._core.graph_batch import GraphBatch
from neuralfactors._core.node_types import NodeTypes, TypeCensus, check_node_types, stack_types


def graph():
    return Graph.of_types([[[1.0, 2.0], [3.0, 4.0]], [[5.0]]], edges=[[0, 2], [1, 2]], node_weight=[1.0, 2.0, 3.0])


def test_a_graph_keeps_its_types():
    one = graph()
    assert one.node_types.tolist() == [0, 0, 1]
    assert one.with_node_features(np.zeros((3, 4))).node_types.tolist() == [0, 0, 1]
    assert one.subgraph(np.array([False, True, True])).node_types.tolist() == [0, 1]
    batch = GraphBatch.from_graphs([one, one])
    assert batch.node_types.tolist() == [0, 0, 1, 0, 0, 1]
    assert batch.to("cpu").node_types.tolist() == batch.node_types.tolist()
    with pytest.raises(ValueError, match="graphs must all have node_types, or none, got 1 of 2"):
        GraphBatch.from_graphs([one, Graph(np.zeros((1, 2)))])


def test_features_of_types_are_stacked():
    features, types = stack_types([np.ones((1, 1)), np.zeros((0, 5)), np.ones((2, 3))])
    assert features.shape == (3, 5)
    assert types.tolist() == [0, 2, 2]
    assert features.sum(axis=1).tolist() == [1, 3, 3]


@pytest.mark.parametrize("kind", [np.array, csr_array])
def test_a_graph_may_lack_nodes_of_a_type(kind):
    graph = Graph.of_types([[], kind(np.array([[1.0, 2.0]], np.float32)), []], edges=[[0, 0]])
    assert graph.node_types.tolist() == [1]
    assert (graph.node_features.shape, graph.node_features.dtype) == ((1, 2), np.float32)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ([], "node_features must contain those of at least one type, got none"),
        ([[[1.0]], [1.0, 2.0]], r"node_features\[1\] must have 2 dimensions, got shape \(2,\)"),
        ([csr_array(np.eye(2)), np.zeros((2, 2, 2))], r"node_features\[1\] must have 2 dimensions, got shape"),
    ],
)
def test_features_of_types_have_a_row_per_node(features, message):
    with pytest.raises(ValueError, match=message):
        Graph.of_types(features)


@pytest.mark.parametrize(
    ("types", "message"),
    [
        ([0, 1], "node_types needs an integer per node"),
        ([0.0, 1.0, 0.0], "node_types needs an integer per node"),
        ([0, -1, 0], "node_types must not be negative, got -1 at node 1"),
    ],
)
def test_types_that_are_refused(types, message):
    with pytest.raises(ValueError, match=message):
        check_node_types(types, 3)


@pytest.mark.parametrize("kinds", [(csr_array, csr_array), (csr_array, np.asarray), (np.asarray, csr_array)])
def test_sparse_features_of_types_are_stacked(kinds):
    blocks = [np.array([[1.0, 2.0], [0.0, 3.0]]), np.array([[4.0]])]
    given = [kind(block) for kind, block in zip(kinds, blocks, strict=True)]
    one = Graph.of_types(given, edges=[[0, 2]])
    np.testing.assert_array_equal(one.node_features.toarray(), Graph.of_types(blocks).node_features)
    assert one.node_types.tolist() == [0, 0, 1]
    assert [block.shape for block in given] == [(2, 2), (1, 1)]  # those of the caller are as they were


def test_types_need_pairs():
    with pytest.raises(ValueError, match="node_types needs order=2, got order=3"):
        Graph(np.zeros((3, 1)), [[0, 1, 2]], order=3, node_types=[0, 0, 0])


def test_census_counts_labels_and_pairs():
    census = TypeCensus()
    census.see(np.array([0, 1, 0]), np.array([[0, 1], [2, 0]]), np.array([1, 4, -1]))
    census.see(np.array([2]), np.zeros((0, 2), np.int64), np.array([0]))
    assert census.types(None) == NodeTypes((2, 5, 1), ((0, 0), (0, 1)))
    assert census.types(7).n_labels == (7, 7, 7)
    assert census.types([2, 6, 3]).n_labels == (2, 6, 3)
    census.see(None, np.zeros((0, 2), np.int64), np.array([0]))
    with pytest.raises(ValueError, match="X must have node_types for all graphs or for none, got 2 of 3"):
        census.types(None)


def test_labels_by_type():
    types = NodeTypes((2, 3), ((0, 1),))
    kinds = np.array([0, 1])
    types.check_labels(np.array([1, 2]), kinds, "y")
    assert types.n_entries(kinds, np.array([[0, 1], [1, 1]])) == 6 + 9
    with pytest.raises(ValueError, match="y has label 2 at node 0, but nodes of type 0 have 2 labels"):
        types.check_labels(np.array([2, 2]), kinds, "y")
    with pytest.raises(ValueError, match="node_types must run from 0 to 1, got 2"):
        types.check_labels(np.array([0]), np.array([2]), "y")
    with pytest.raises(ValueError, match="n_labels must be one number, as X has no node_types"):
        TypeCensus().types([2, 3])
