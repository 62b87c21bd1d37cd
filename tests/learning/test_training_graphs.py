"""Samples: chunks of bounded size, void nodes dropped, class weights, lazily read graphs."""

import numpy as np
import pytest
import torch

from neuralfactors.datasets import make_chains
from neuralfactors.learning import _training_graphs
from neuralfactors.learning._training_graphs import Samples


def test_chunks_cover_the_indices_and_stay_small(monkeypatch):
    monkeypatch.setattr(_training_graphs, "CHUNK_ENTRIES", 150)
    samples = Samples.check(*make_chains(10, 6, 3))  # 5 edges × 9 + 6 nodes × 3 = 63 entries each
    chunks = list(samples.chunks([3, 1, 4, 1, 5]))
    assert chunks == [[3, 1], [4, 1], [5]]
    monkeypatch.setattr(_training_graphs, "CHUNK_ENTRIES", 1)
    assert list(samples.chunks([0, 1])) == [[0], [1]]


def test_void_nodes_are_dropped():
    X, Y = make_chains(2, 4, 3)
    Y[0][1] = -1
    batch, y = Samples.check(X, Y).batch([0, 1], torch.float32)
    assert batch.node_ptr.tolist() == [0, 3, 7]
    assert batch.edges.tolist() == [[1, 2], [3, 4], [4, 5], [5, 6]]
    assert y.tolist() == [*Y[0][[0, 2, 3]], *Y[1]]
    assert Samples.check(X, Y, drop_void=False).batch([0], torch.float32)[1].tolist() == Y[0].tolist()


def test_balanced_class_weight_has_mean_one():
    X, Y = make_chains(2, 4, 3)
    Y = [np.array([0, 0, 0, 1]), np.array([0, 1, -1, -1])]
    weight = Samples.check(X, Y, 4).class_weight("balanced")
    np.testing.assert_allclose(weight, [6 / (2 * 4), 6 / (2 * 2), 0, 0])
    assert (weight[[0, 0, 0, 1, 0, 1]]).mean() == pytest.approx(1.0)


class Lazy:
    """A sequence that counts how many graphs it holds at a time: one."""

    def __init__(self, X):
        self.X = X

    def __len__(self):
        return len(self.X)

    def __getitem__(self, n):
        return self.X[n]


def test_lazy_sequences_are_enough():
    X, Y = make_chains(5, 4, 3)
    lazy, plain = Samples.check(Lazy(X), Y), Samples.check(X, Y)
    assert lazy.digest() == plain.digest()
    assert torch.equal(lazy.batch([1, 2], torch.float32)[0].edges, plain.batch([1, 2], torch.float32)[0].edges)


def test_digest_tells_data_apart():
    X, Y = make_chains(3, 4, 3)
    other = [y.copy() for y in Y]
    other[2][0] = (other[2][0] + 1) % 3
    assert Samples.check(X, Y).digest() != Samples.check(X, other, 3).digest()
