import warnings

import numpy as np
import pytest

from neuralfactors import FrankWolfeSVM, StructuralSVM, chain_graph
from neuralfactors.learning._training_graphs import Samples
from neuralfactors.learning._training_warnings import constant_hinge


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
