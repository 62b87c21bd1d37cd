"""Synthetic chains and grids: seeded, of the stated shape, and as hard as they claim to be."""

import numpy as np
import pytest

from neuralfactors.datasets import make_chains, make_grids, make_synergy


@pytest.mark.parametrize(("make", "n_labels"), [(make_chains, 4), (make_grids, 3), (make_synergy, 4)])
def test_seeded_and_shaped(make, n_labels):
    (X, Y), (X_again, Y_again), (X_other, _) = make(4), make(4), make(4, random_state=1)
    assert len(X) == len(Y) == 4
    assert all(graph.n_nodes == len(y) for graph, y in zip(X, Y, strict=True))
    assert max(y.max() for y in Y) < n_labels
    assert all((a == b).all() for a, b in zip(Y, Y_again, strict=True))
    assert (X[0].node_features == X_again[0].node_features).all()
    assert not (X[0].node_features == X_other[0].node_features).all()


def test_synergy_hides_part_of_the_label_from_nodes_and_part_from_edges():
    X, Y = make_synergy(50, noise=0.0)
    for graph, y in zip(X, Y, strict=True):
        signs, state = np.sign(graph.node_features[:, :2]), y % 2
        assert ((signs[:, 0] != signs[:, 1]) == y // 2).all()
        assert ((graph.edge_features[:, 0] > 0) == (state[1:] != state[:-1])).all()
        assert graph.node_features[0, 2] == 2 * state[0] - 1


@pytest.mark.parametrize("n_labels", [2, 5])
def test_labels_of_chains_mostly_count_upwards(n_labels):
    X, Y = make_chains(200, 11, n_labels, noise=0.0)
    steps = np.concatenate([np.diff(y) % n_labels for y in Y])
    expected = 0.9 + 0.1 / n_labels
    assert abs((steps == 1).mean() - expected) < 4 * np.sqrt(expected * (1 - expected) / len(steps))
    assert all((graph.node_features.argmax(axis=1) == y).all() for graph, y in zip(X, Y, strict=True))
    assert all(graph.edges.tolist() == [[i, i + 1] for i in range(10)] for graph in X)


def test_grids_are_striped_and_know_which_way_an_edge_runs():
    X, Y = make_grids(5, side=6, n_labels=3, noise=0.0)
    for graph, y in zip(X, Y, strict=True):
        picture = y.reshape(6, 6)
        assert (picture == picture[0]).all()
        assert (picture[0, ::2] == picture[0, 1::2]).all()
        assert (graph.node_features.argmax(axis=1) == y).all()
        along = np.diff(graph.edges, axis=1)[:, 0] == 1
        assert len(np.unique(graph.edge_features[along], axis=0)) == 1
        assert (graph.edge_features[along][0] != graph.edge_features[~along][0]).any()


def test_neither_factor_alone_can_tell_the_labels_of_synergy():
    X, Y = make_synergy(400, noise=0.0)
    nodes, labels = np.concatenate([g.node_features[1:] for g in X]), np.concatenate([y[1:] for y in Y])
    for signs in ([-1, -1], [-1, 1], [1, -1], [1, 1]):  # the state is as likely the one as the other
        states = labels[(np.sign(nodes[:, :2]) == signs).all(axis=1)] % 2
        assert abs(states.mean() - 0.5) < 4 * 0.5 / np.sqrt(len(states))
    for column in (0, 1):  # and no sign alone tells the part
        parts = labels[nodes[:, column] > 0] // 2
        assert abs(parts.mean() - 0.5) < 4 * 0.5 / np.sqrt(len(parts))
    assert all(g.node_features[0, 2] == 2 * (y[0] % 2) - 1 for g, y in zip(X, Y, strict=True))
