"""The bifurcated solution as one network: the same scores as the pipeline, and a regression that can be freed."""

import numpy as np
import torch

from neuralfactors._core.graph import Graph
from neuralfactors._experiment.claims.networks import on_regression
from neuralfactors.estimators import UnaryClassifier

RANDOM = np.random.default_rng(0)
X = [Graph(RANDOM.standard_normal((6, 4)).astype(np.float32)) for _ in range(3)]
Y = [RANDOM.integers(0, 3, 6) for _ in X]


def test_it_is_a_linear_factor_of_the_probabilities():
    first = UnaryClassifier(max_iter=5, n_labels=3).fit(X, Y)
    network = on_regression(first)
    assert not network(torch.from_numpy(X[0].node_features)).any()  # as every factor begins
    torch.nn.init.eye_(network.factor.weight)
    scores = network(torch.from_numpy(X[0].node_features)).detach().numpy()
    np.testing.assert_allclose(scores, first.transform(X)[0].node_features, atol=1e-6)


def test_freezing():
    network = on_regression(UnaryClassifier(max_iter=2, n_labels=3).fit(X, Y))
    for frozen in (True, False):
        network.freeze(frozen)
        assert all(p.requires_grad != frozen for p in network.regression.parameters())
        assert all(p.requires_grad for p in network.factor.parameters())
