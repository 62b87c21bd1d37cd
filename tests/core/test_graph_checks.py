"""What a Graph refuses, and in what words; and the types that it keeps."""

import numpy as np
import pytest
import torch

from neuralfactors import Graph, StructuralSVM
from neuralfactors._core.graph_checks import check_labels


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
        ({"node_features": [["a"]]}, "node_features must contain numbers, got dtype <U1"),
        ({"node_features": [[1.0, np.nan]]}, r"node_features must be finite, got nan at \(0, 1\)"),
        ({"node_features": [[1.0], [1.0, 2.0]]}, "node_features must be an array, but its rows differ in length"),
        ({"edges": [[0, 1], [2]]}, "edges must be an array, but its rows differ in length"),
        (
            {"edges": [[0, 1, 2], [1, 0, 1]], "order": 3},
            r"edges of order 3 must join distinct nodes, got \[1, 0, 1\] at row 1",
        ),
        ({"edges": [[0, 3]]}, r"edges must contain node numbers from 0 to 2, got \[0, 3\] at row 0"),
        ({"edges": [[0, 1], [-1, 0]]}, r"got \[-1, 0\] at row 1"),
        ({"edges": [[0.0, 1.0]]}, "edges must contain integers, got dtype float64"),
        ({"edges": [0, 1]}, r"edges must have shape \(E, 2\), got \(2,\)$"),
        ({"edges": [[0], [1]]}, r"edges must have shape \(E, 2\), got \(2, 1\): transpose them$"),
        (
            {"edges": [[0, 1, 2], [1, 2, 0]]},
            r"edges must have shape \(E, 2\), got \(2, 3\): transpose them, or pass order=3 if 3 nodes share",
        ),
        (
            {"edges": [[0, 1]], "order": 3},
            r"shape \(E, 3\), got \(1, 2\): pass order=2 if 2 nodes share an interaction",
        ),
        ({"order": 1}, "order must be an integer ≥ 2, got 1"),
        (
            {"edges": [[0, 1]], "edge_features": np.ones((2, 1))},
            "edge_features needs one row per edge: expected 1 rows, got 2",
        ),
        ({"edges": [[0, 1]], "edge_features": [[np.inf]]}, r"edge_features must be finite, got inf at \(0, 0\)"),
        (
            {"node_weight": [1.0]},
            r"node_weight needs one entry per node: expected shape \(3,\) or \(3, L\), got \(1,\)",
        ),
        ({"node_weight": [[1.0, 0.0]]}, r"node_weight needs one entry per node: .* got \(1, 2\)"),
        (
            {"node_weight": [[1.0, 1.0], [1.0, -2.0], [1.0, 1.0]]},
            "node_weight must not be negative, got -2.0 at node 1",
        ),
        ({"node_weight": [1.0, -1.0, 1.0]}, "node_weight must not be negative, got -1.0 at node 1"),
    ],
)
def test_bad_graphs_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Graph(**{"node_features": np.ones((3, 2)), **arguments})


@pytest.mark.parametrize("name", ["node_features", "edges", "edge_features", "node_weight", "node_types"])
def test_masked_entries_are_refused(name):
    arguments = {"node_features": np.ones((2, 1)), "edges": [[0, 1]], "edge_features": [[1.0]], "node_weight": [1, 1]}
    arguments["node_types"] = [0, 1]
    assert Graph(**{**arguments, name: np.ma.array(arguments[name])}).n_nodes == 2
    values = np.ma.array(arguments[name])
    values[(0,) * values.ndim] = np.ma.masked
    with pytest.raises(ValueError, match=f"{name} must not have masked entries: fill them"):
        Graph(**{**arguments, name: values})


def test_masked_labels_are_refused():
    y = np.ma.masked_equal([0, 7], 7)
    assert check_labels(np.ma.array([0, 7]), 2).tolist() == [0, 7]
    with pytest.raises(ValueError, match=r"y must not have masked entries: fill them, with -1 where there is no label"):
        check_labels(y, 2)
    for labels in (y, np.ma.masked_equal(["a", "b"], "b")):
        with pytest.raises(ValueError, match=r"Y\[1\] must not have masked entries"):
            StructuralSVM((), ()).fit([Graph(np.eye(2))] * 2, [[0, 1], labels])


@pytest.mark.parametrize("name", ["node_features", "edge_features", "node_weight"])
def test_outputs_of_a_network_are_refused(name):
    arguments = {"node_features": torch.ones(2, 1), "edge_features": torch.ones(1, 1), "node_weight": torch.ones(2)}
    arguments[name] = torch.nn.Parameter(arguments[name])
    with pytest.raises(ValueError, match=f"{name} requires grad, but no gradient flows through a Graph.* or detach it"):
        Graph(edges=[[0, 1]], **arguments)
    arguments[name] = arguments[name].detach()
    assert Graph(edges=[[0, 1]], **arguments).n_edges == 1


def test_higher_order_is_asked_for_and_kept():
    graph = Graph(np.eye(4), [[0, 1, 2], [1, 2, 3]], order=3)
    assert graph.order == graph.with_node_features(np.ones((4, 1))).order == 3
    assert Graph(np.eye(4), order=3).edges.shape == (0, 3)
