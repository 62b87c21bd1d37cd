import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from torch import nn

from neuralfactors import FrankWolfeSVM, GraphScaler, StructuralSVM, chain_graph
from neuralfactors.learning._training_graphs import Samples
from neuralfactors.learning._training_warnings import constant_hinge, warn_of_scales


def noise(n_graphs=30, share=0.1, scales=(1.0, 1.0)):
    """Chains whose features say nothing of labels, most of which are 0."""
    rng = np.random.default_rng(0)
    X = [chain_graph(rng.normal(size=(10, 2)) * scales) for _ in range(n_graphs)]
    return X, [(rng.random(10) < share).astype(int) for _ in X]


@pytest.mark.parametrize("estimator", [StructuralSVM((), (), max_iter=20), FrankWolfeSVM()], ids=["descent", "convex"])
def test_one_label_for_all_is_told(estimator):
    X, Y = noise()
    with pytest.warns(UserWarning, match="mean hinge of .*, where constant scores would give 1.5"):
        estimator.fit(X, Y)
    assert not any(y.any() for y in estimator.predict(X))


@pytest.mark.parametrize("estimator", [StructuralSVM((), (), max_iter=20), FrankWolfeSVM()], ids=["descent", "convex"])
def test_features_of_very_different_scales_are_told(estimator):
    X, Y = noise(3, 0.5, (1000.0, 0.01))
    with pytest.warns(UserWarning, match=r"up to .*e\+03 in column 0, but to 0.0.* in column 1"):
        estimator.fit(X, Y)


def test_weighted_and_learnable_labels_are_not_warned_of():
    X, _ = noise()
    Y = [(graph.node_features[:, 0] > 1).astype(int) for graph in X]
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        FrankWolfeSVM().fit(X, Y)
        StructuralSVM((), (), max_iter=20).fit(X, Y)
    X, Y = noise()
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        FrankWolfeSVM(class_weight=[1.0, 0.5]).fit(X, Y)


def test_the_best_of_constant_scores():
    X, _ = noise(2)
    assert constant_hinge(Samples.check(X, [[0] * 10, [0] * 6 + [1] * 4])) == 4.0
    assert constant_hinge(Samples.check(X, [[0, 1] * 5, [0, 1] * 5])) == 10.0


def test_weights_of_mean_1_do_not_make_nodes_alike():
    rng = np.random.default_rng(0)
    Y = [rng.permutation(np.repeat([0, 1], [16, 4])) for _ in range(40)]  # balanced, they weigh 0.625 and 2.5
    X = [chain_graph(y[:, None] + rng.normal(size=(20, 1)) * 0.5) for y in Y]
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        StructuralSVM((), (), max_iter=30, class_weight="balanced").fit(X, Y)


@pytest.mark.parametrize("constant", [1.0, 0.1])
def test_a_bias_is_not_out_of_scale(constant):
    rng = np.random.default_rng(0)
    X = [chain_graph(np.column_stack([2000 * rng.normal(size=10), np.full(10, constant)])) for _ in range(3)]
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warn_of_scales(Samples.check(X, [[0, 1] * 5] * 3))
        warn_of_scales(Samples.check(GraphScaler().fit_transform(X), [[0, 1] * 5] * 3))


class Lookup(nn.Module):
    """Scores by the number of a word, which is a feature."""

    def __init__(self):
        super().__init__()
        self.rows = nn.Embedding(5000, 2)

    def forward(self, features):
        return self.rows(features[:, 0].long()) + features[:, 1:]


def test_a_module_of_ones_own_may_have_features_of_any_scale():
    rng = np.random.default_rng(0)
    X = [chain_graph(np.column_stack([rng.integers(0, 5000, 10), rng.normal(size=10)])) for _ in range(3)]
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="node features")
        warnings.simplefilter("ignore", ConvergenceWarning)
        StructuralSVM(Lookup(), (), max_iter=1).fit(X, [[0, 1] * 5] * 3)
