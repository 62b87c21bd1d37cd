"""The start of hidden states: of the right label, different where surroundings differ, and seeded."""

import numpy as np
from scipy.sparse import csr_array

from neuralfactors import Graph, grid_graph
from neuralfactors.datasets import make_crosses
from neuralfactors.estimators import FrankWolfeSVM, LatentSVM
from neuralfactors.estimators._start_states import start_states
from neuralfactors.estimators._states import States
from neuralfactors.learning._training_graphs import Samples


def test_states_have_their_label_and_tell_surroundings_apart():
    X, Y = make_crosses(6, size=8, n_crosses=1, noise=0)
    samples = Samples.check([grid_graph(x) for x in X], Y.reshape(6, -1), drop_void=False)
    state_label = np.array([0, 1, 1])
    found = start_states(samples, States((state_label,)), 0)
    for states, y in zip(found, samples.Y, strict=True):
        assert (state_label[states] == y).all()
        assert sorted(np.bincount(states, minlength=3)[1:].tolist()) == [1, 4]
    again = start_states(samples, States((state_label,)), 0)
    assert all((a == b).all() for a, b in zip(found, again, strict=True))


def test_sparse_features_give_the_states_of_dense_ones(chains):
    X, Y = chains
    sparse = [Graph(csr_array(x.node_features), x.edges, x.edge_features) for x in X]
    found = [
        start_states(Samples.check(given, Y, drop_void=False), States((np.repeat(np.arange(3), 2),)), 0)
        for given in (X, sparse)
    ]
    same = np.mean(np.concatenate(found[0]) == np.concatenate(found[1]))
    assert same > 0.95  # but for what rounding does to k-means
    latent = LatentSVM([2, 1, 1], base=FrankWolfeSVM(C=5.0), max_iter=2).fit(sparse, Y)
    assert latent.score(sparse, Y) > 0.8


def test_sparse_features_that_are_the_same_everywhere_tell_nothing():
    points = np.column_stack([np.tile([0.0, 1.0], 50), np.full(100, 0.7)])
    samples = Samples.check([Graph(csr_array(points))], [np.zeros(100, int)], drop_void=False)
    (states,) = start_states(samples, States((np.array([0, 0]),)), 0)
    assert np.bincount(states).tolist() == [50, 50]
    assert len(np.unique(states[points[:, 0] == 0])) == 1


def test_equal_rows_of_sparse_features_are_one_point():
    graph = Graph(csr_array(np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])))
    samples = Samples.check([graph], [[0, 0, 1]], drop_void=False)
    (states,) = start_states(samples, States((np.array([0, 0, 0, 1]),)), 0)
    assert states.tolist() == [0, 0, 3]


def test_hidden_nodes_get_any_state_and_few_points_no_more_than_there_are(chains):
    X, Y = chains
    hidden = [np.where(np.arange(len(y)) == 2, -1, y) for y in Y]
    samples = Samples.check(X[:1], hidden[:1], 3, drop_void=False)
    (states,) = start_states(samples, States((np.repeat(np.arange(3), 5),)), 0)
    assert 0 <= states.min() <= states.max() < 15
