"""Sparse features: shared with the caller, stacked into batches, refused where they are no numbers."""

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from neuralfactors import Graph, GraphBatch


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
