"""Batches from objects of PyTorch Geometric, and from the real thing where it is installed."""

from types import SimpleNamespace

import pytest
import torch

from neuralfactors import Graph, GraphBatch


def undirected(n_nodes):
    there = torch.stack([torch.arange(n_nodes - 1), torch.arange(1, n_nodes)])
    return torch.cat([there, there.flip(0)], dim=1)


@pytest.mark.parametrize("named", ["ptr", "batch"])
def test_a_batch_of_pyg(named):
    edge_index = torch.cat([undirected(3), undirected(2) + 3], dim=1)
    data = SimpleNamespace(
        x=torch.randn(5, 2),
        edge_index=edge_index,
        edge_attr=torch.arange(6.0),
        y=torch.tensor([0, 1, -100, 2, 1]).int(),
    )
    setattr(data, named, torch.tensor([0, 3, 5]) if named == "ptr" else torch.tensor([0, 0, 0, 1, 1]))
    batch = GraphBatch.from_pyg(data)
    assert batch.node_features is data.x
    assert batch.edges.tolist() == [[0, 1], [1, 2], [3, 4]]
    assert batch.edge_features.tolist() == [[0.0], [1.0], [4.0]]
    assert (batch.node_ptr.tolist(), batch.edge_ptr.tolist()) == ([0, 3, 5], [0, 2, 3])
    assert batch.y.tolist() == [0, 1, -1, 2, 1]


def test_directed_edges_of_pyg_stay_and_come_graph_by_graph():
    data = SimpleNamespace(
        x=torch.zeros(4, 1), edge_index=torch.tensor([[2, 0, 3], [3, 1, 3]]), batch=torch.tensor([0, 0, 1, 1])
    )
    batch = GraphBatch.from_pyg(data)
    assert batch.edges.tolist() == [[0, 1], [2, 3], [3, 3]]
    assert batch.edge_ptr.tolist() == [0, 1, 3]
    assert batch.edge_features.shape == (3, 0)


def test_labels_outside_a_mask_of_pyg_are_void():
    data = SimpleNamespace(
        x=torch.zeros(2, 1),
        edge_index=undirected(2),
        y=torch.tensor([[1], [2]]),
        train_mask=torch.tensor([True, False]),
    )
    assert GraphBatch.from_pyg(data, mask="train_mask").y.tolist() == [1, -1]
    assert GraphBatch.from_pyg(data).n_graphs == 1


@pytest.mark.parametrize("y", [torch.tensor([1, 0]), torch.tensor([0.5, 2.0]), torch.zeros(2, 19)])
def test_labels_of_whole_graphs_are_none_of_nodes(y):
    ptr = torch.tensor([0, 2, 3])
    data = SimpleNamespace(x=torch.zeros(3, 1), edge_index=undirected(2), ptr=ptr, y=y)
    assert GraphBatch.from_pyg(data).y is None
    one = SimpleNamespace(x=torch.zeros(3, 1), edge_index=undirected(3), y=y[:1])
    assert Graph.from_pyg(one)[1] is None
    one.y = y[0, 0] if y.ndim > 1 else y[0]  # a scalar
    assert Graph.from_pyg(one)[1] is None


def test_features_of_no_edges_have_their_width():
    data = SimpleNamespace(x=torch.zeros(1, 2), edge_index=torch.zeros(2, 0).long(), edge_attr=torch.zeros(0, 3))
    assert GraphBatch.from_pyg(data).edge_features.shape == (0, 3)


def test_node_numbers_of_32_bits_do_not_overflow():
    data = SimpleNamespace(x=torch.zeros(2**16 + 1, 1), edge_index=torch.tensor([[2**16], [0]]).int())
    assert GraphBatch.from_pyg(data).edges.tolist() == [[2**16, 0]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"edge_index": torch.zeros(3, 2)}, r"edge_index must have shape \(2, E\), got \(3, 2\)"),
        ({"y": torch.tensor([1, 0])}, "y must contain an integer label for each of 3 nodes, got torch.int64"),
        ({"edge_attr": torch.zeros(8)}, r"edge_attr needs one row for each of 4 edges, got \(8,\)"),
        ({"batch": torch.tensor([0, 1, 0])}, "batch must name the nodes of one graph after those of the other"),
    ],
)
def test_bad_data_of_pyg_are_refused(change, message):
    data = SimpleNamespace(**{"x": torch.zeros(3, 1), "edge_index": undirected(3), **change})
    with pytest.raises(ValueError, match=message):
        GraphBatch.from_pyg(data)


def test_pyg_itself():
    geometric = pytest.importorskip("torch_geometric", reason="PyTorch Geometric is not installed")
    data = [geometric.data.Data(x=torch.randn(n, 2), edge_index=undirected(n), y=torch.arange(n)) for n in (3, 2)]
    (loaded,) = geometric.loader.DataLoader(data, batch_size=2)
    batch = GraphBatch.from_pyg(loaded)
    assert (batch.edges.tolist(), batch.edge_ptr.tolist()) == ([[0, 1], [1, 2], [3, 4]], [0, 2, 3])
    assert batch.y.tolist() == [0, 1, 2, 0, 1]
