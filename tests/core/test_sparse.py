"""Sparse features: shared with the caller, stacked into batches, refused where they are no numbers."""

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from neuralfactors import FactorModel, Graph, GraphBatch, Network
from neuralfactors._core.sparse import row_blocks


def test_sparse_features_stay_sparse_and_shared():
    rows = csr_array(np.array([[0.0, 2.0], [0.0, 0.0], [1.0, 0.0]], np.float32))
    graph = Graph(rows, [[0, 1], [1, 2]])
    assert np.shares_memory(graph.node_features.data, rows.data)
    assert graph.n_nodes == 3
    assert graph.nbytes == rows.data.nbytes + rows.indices.nbytes + rows.indptr.nbytes + graph.edges.nbytes
    part = graph.subgraph(np.array([True, False, True]))
    assert part.node_features.toarray().tolist() == [[0.0, 2.0], [1.0, 0.0]]
    batch = GraphBatch.from_graphs([graph, part, Graph([[5.0, 6.0]])], torch.float64)
    assert batch.node_features.layout == torch.sparse_csr
    assert batch.node_features.to_dense().tolist() == [[0, 2], [0, 0], [1, 0], [0, 2], [1, 0], [5, 6]]


def test_sparse_features_that_name_an_entry_twice_are_added_up():
    rows = csr_array((np.ones(2, np.float32), np.array([1, 1]), np.array([0, 2])), shape=(1, 2))
    assert Graph(rows).node_features.toarray().tolist() == [[0.0, 2.0]]
    assert rows.nnz == 2  # those of the caller are as they were


@pytest.mark.parametrize("most", [1, 2, 5, 100])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_blocks_are_the_rows_in_order(most, index):
    rows = np.array([[1, 0, 2], [0, 0, 0], [3, 4, 5], [0, 6, 0], [0, 0, 0]], np.float32)
    matrix = csr_array(rows)
    matrix.indices, matrix.indptr = matrix.indices.astype(index), matrix.indptr.astype(index)
    whole = GraphBatch.from_graphs([Graph(matrix)], torch.float64, convert_sparse=False).node_features
    assert np.shares_memory(whole.values().numpy(), matrix.data)
    blocks = list(row_blocks(whole, torch.float64, most))
    assert torch.cat([block.to_dense() for block in blocks]).tolist() == rows.tolist()
    assert all(block.values().numel() <= max(most, 3) and block.dtype == torch.float64 for block in blocks)
    assert (len(blocks) == 1) == (most == 100)


def test_no_rows_are_one_block():
    (block,) = row_blocks(torch.zeros(0, 3).to_sparse_csr(), torch.float64)
    assert block.shape == (0, 3)


@pytest.mark.parametrize("hidden", [(), (4,)])
def test_predictions_from_blocks_are_those_of_the_whole(monkeypatch, hidden):
    monkeypatch.setattr(row_blocks, "__defaults__", (3,))
    model = FactorModel(Network(hidden).build(3, 2), None, 2).double()
    torch.nn.init.normal_(model.unary.weight)
    graph = Graph(csr_array(np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)))
    with torch.no_grad():
        found = model(GraphBatch.from_graphs([graph], torch.float64, convert_sparse=False)).unary
    expected = model(GraphBatch.from_graphs([graph], torch.float64)).unary
    torch.testing.assert_close(found, expected.detach())


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[0.0, 1.0], [np.nan, 0.0]], r"node_features must be finite, got nan at \(1, 0\)"),
        ([[1j, 0.0]], "node_features must hold numbers, got dtype complex128"),
    ],
)
def test_bad_sparse_features_are_refused(values, message):
    with pytest.raises(ValueError, match=message):
        Graph(csr_array(np.array(values)))
