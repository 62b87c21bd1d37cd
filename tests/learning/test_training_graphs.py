"""Samples: chunks of bounded size, void nodes dropped, class weights, lazily read graphs."""

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from neuralfactors import Graph
from neuralfactors.datasets import make_chains
from neuralfactors.learning import _training_graphs
from neuralfactors.learning._training_graphs import Samples

GRAPHS, LABELS = [Graph([[0.0], [1.0]], [[0, 1]]), Graph([[2.0], [3.0]], [[0, 1]])], [[0, 1], [2, 0]]


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


@pytest.mark.parametrize(
    ("X", "Y", "message"),
    [
        (3, [[0]], "X must be a sequence with one entry per graph, got int"),
        ("graphs", [[0]], "X must be a sequence with one entry per graph, got str"),
        (GRAPHS, {"a": 1}, "Y must be a sequence with one entry per graph, got dict"),
        (GRAPHS, [[0, 1]], "Y needs one label vector per graph: expected 2, got 1"),
        (GRAPHS, [[0, 1], [0]], r"Y\[1\]"),
        (GRAPHS, [[-1, -1], [-1, -1]], "Y must label at least one node, but all nodes are void"),
        (GRAPHS, [[0, 255], [1, 0]], "Y contains 255, which often marks void: use −1 .* or fit with n_labels=256"),
    ],
)
def test_what_does_not_fit_is_refused(X, Y, message):
    with pytest.raises(ValueError, match=message):
        Samples.check(X, Y)


def test_labels_beyond_their_number_are_refused():
    with pytest.raises(ValueError, match="Y must contain labels below n_labels=3, got 4"):
        Samples.check(GRAPHS, [[0, 4], [1, 2]], 3)
    assert Samples.check(GRAPHS, [[0, 255], [1, 2]], 256).n_labels == 256


def test_only_one_class_beside_void_is_warned_of():
    with pytest.warns(UserWarning, match="Y contains only −1 and 1, and −1 means void: if it is a class, number"):
        Samples.check(GRAPHS, [[-1, 1], [1, -1]])


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1.0], r"sample_weight needs one number per graph: expected shape \(2,\), got \(1,\)"),
        ([1.0, -1.0], "sample_weight must be finite and not negative"),
        ([1.0, np.nan], "sample_weight must be finite and not negative"),
        ([0.0, 0.0], "sample_weight must contain at least one non-zero number"),
    ],
)
def test_weights_of_graphs_are_checked(weight, message):
    with pytest.raises(ValueError, match=message):
        Samples.check(GRAPHS, LABELS, sample_weight=weight)


def test_weights_of_graphs_come_in_the_order_of_the_chunk():
    samples = Samples.check(GRAPHS, LABELS, sample_weight=[1.0, 3.0])
    assert samples.weights([1, 0]).tolist() == [3.0, 1.0]
    assert Samples.check(GRAPHS, LABELS).weights([1, 0]) is None
    digests = [Samples.check(GRAPHS, LABELS, sample_weight=weight).digest() for weight in (None, [1, 1], [1, 3])]
    assert len(set(digests)) == 3


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("heavy", "class_weight must be None, \"balanced\", a dict or an array, got 'heavy'"),
        ([1.0, 2.0], r"class_weight needs 3 entries, one per label, got shape \(2,\)"),
        ({7: 2.0}, "class_weight names 7, which is none of the 3 classes"),
        ([[1.0, 2.0], [1.0]], 'class_weight must be None, "balanced", a dict or an array of numbers, got list'),
    ],
)
def test_class_weights_that_fit_no_class_are_refused(option, message):
    with pytest.raises(ValueError, match=message):
        Samples.check(GRAPHS, LABELS).class_weight(option)


def test_class_weights_by_class():
    samples = Samples.check(GRAPHS, LABELS)
    assert samples.class_weight(None) is None
    assert samples.class_weight({2: 5.0}).tolist() == [1.0, 1.0, 5.0]
    assert samples.class_weight(1 - np.eye(3)).shape == (3, 3)
    named = Samples.check(GRAPHS, [["b", "a"], ["a", "c"]])
    assert named.class_weight({"c": 2.0}).tolist() == [1.0, 1.0, 2.0]
    assert named.class_counts().tolist() == [2, 1, 1]


def test_costs_by_label_must_be_of_all_labels():
    graph = Graph([[0.0], [1.0]], [[0, 1]], node_weight=np.ones((2, 4)))
    assert Samples.check([graph], [[0, 1]]).n_labels == 4
    with pytest.raises(ValueError, match=r"a node_weight of shape \(V, L\) needs L=3, the number of labels, got L=4"):
        Samples.check([graph], [[0, 1]], 3)


@pytest.mark.filterwarnings("ignore:Y contains only")
@given(void=st.lists(st.booleans(), min_size=5, max_size=5))
def test_the_share_of_edges_left_is_that_of_the_batch(void):
    graph = Graph(np.zeros((5, 1)), [[0, 1], [1, 2], [2, 3], [3, 4], [0, 4]])
    y = np.where(void, -1, [0, 1, 0, 1, 1])
    assume((y >= 0).any())
    samples = Samples.check([graph], [y], 2)
    batch, labels = samples.batch([0], torch.float32)
    assert samples.edges_left() == batch.n_edges / 5
    assert labels.tolist() == y[y >= 0].tolist()
    assert Samples.check([graph], [y], 2, drop_void=False).few_labels == (sum(void) > 2)
