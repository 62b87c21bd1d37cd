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
