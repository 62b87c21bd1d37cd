"""What a wrong label costs, by pairs of labels: what it changes in training, and loss-augmented prediction."""

import itertools

import numpy as np
import pytest
import torch

from neuralfactors import point_graphs
from neuralfactors.estimators import FrankWolfeSVM, StructuralSVM, UnaryClassifier

MATRIX = np.array([[0.0, 1.0, 4.0], [0.5, 0.0, 1.0], [2.0, 1.0, 0.0]])


def by_pairs(class_weight):
    """What label b costs where label a is right, (3, 3)."""
    weight = np.ones(3) if class_weight is None else np.asarray(class_weight)
    return weight if weight.ndim == 2 else weight[:, None] * (1 - np.eye(3))


@pytest.mark.parametrize("class_weight", [None, [1.0, 2.0, 0.5], MATRIX])
def test_loss_augmented_prediction_is_the_best_of_all(chains, class_weight):
    X, Y = chains
    svm = StructuralSVM((), (), max_iter=4, C=100.0, class_weight=class_weight).fit(X, Y)
    costs = by_pairs(class_weight)
    for graph, y, z in zip(X[:5], Y, svm.loss_augmented_predict(X, Y), strict=False):
        (potentials,) = svm.potentials([graph])
        values = {
            labels: float(potentials.score(torch.tensor(labels))) + costs[y, labels].sum()
            for labels in itertools.product(range(3), repeat=len(y))
        }
        assert values[tuple(z.tolist())] == pytest.approx(max(values.values()), rel=1e-5)


def test_dear_mistakes_are_avoided():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=400)
    X = point_graphs((y + 0.8 * rng.normal(size=400))[:, None])
    plain, careful = (
        np.concatenate(StructuralSVM((), (), class_weight=weight, max_iter=20).fit(X, y[:, None]).predict(X))
        for weight in (None, [[0.0, 1.0], [8.0, 0.0]])
    )
    missed = [float(np.mean(z[y == 1] == 0)) for z in (plain, careful)]
    assert missed[1] < 0.3 * missed[0]


@pytest.mark.parametrize("estimator", [FrankWolfeSVM(), UnaryClassifier()])
def test_learners_without_pairs_of_labels_say_so(chains, estimator):
    with pytest.raises(ValueError, match=r"class_weight must have one entry per label here, got shape \(3, 3\)"):
        estimator.set_params(class_weight=MATRIX).fit(*chains)
