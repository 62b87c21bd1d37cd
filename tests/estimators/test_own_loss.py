"""What a wrong label costs, by pairs of labels: what it changes in training, and loss-augmented prediction."""

import itertools
from functools import partial

import numpy as np
import pytest
import torch
from linear_problems import solve_primal

from neuralfactors import Graph, point_graphs
from neuralfactors.estimators import CuttingPlaneSVM, FrankWolfeSVM, StructuralSVM, Subgradient, UnaryClassifier

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


def small_problem(seed=0, n_graphs=4):
    """Chains of three nodes without edge features, labels, and costs (3, 3) of labels at nodes."""
    rng = np.random.default_rng(seed)
    X = [Graph(rng.normal(size=(3, 2)), [[0, 1], [1, 2]]) for _ in range(n_graphs)]
    return X, [rng.integers(3, size=3) for _ in X], [rng.random((3, 3)) for _ in X]


def constraints(x, y, costs):
    """ψ(z) and Δ(y, z) − Δ(y, y) of every labelling z."""

    def phi(z):
        pairs = sum(np.eye(9)[3 * z[i] + z[j]] for i, j in x.edges)
        return np.concatenate([x.node_features.T @ np.eye(3)[z], np.eye(3)[z].sum(0, keepdims=True)]).T.ravel(), pairs

    Z = list(itertools.product(range(3), repeat=3))
    psi = [np.concatenate(phi(y)) - np.concatenate(phi(list(z))) for z in Z]
    nodes = np.arange(3)
    return np.array(psi), np.array([(costs[nodes, z] - costs[nodes, y]).sum() for z in Z])


@pytest.mark.parametrize("make", [CuttingPlaneSVM, partial(CuttingPlaneSVM, slack="1"), FrankWolfeSVM])
@pytest.mark.parametrize("kind", ["pairs", "pairs and weights", "nodes", "nodes and classes"])
def test_linear_learners_reach_the_optimum_of_ones_own_loss(make, kind):
    X, Y, costs = small_problem()
    classes = np.array([1.0, 3.0, 0.5])
    weight = np.array([1.0, 2.0, 0.5])
    node_weight = {"pairs": [None] * 4, "pairs and weights": [weight] * 4}.get(kind, costs)
    class_weight = {"nodes": None, "nodes and classes": classes}.get(kind, MATRIX)
    rows = {
        "pairs": lambda n: MATRIX[Y[n]],
        "pairs and weights": lambda n: MATRIX[Y[n]] * weight[:, None],
        "nodes": lambda n: costs[n],
        "nodes and classes": lambda n: costs[n] * classes[Y[n]][:, None],
    }[kind]
    X = [Graph(x.node_features, x.edges, node_weight=w) for x, w in zip(X, node_weight, strict=True)]
    learner = make(3.0, class_weight=class_weight, n_labels=3, tol=1e-6, max_iter=1000).fit(X, Y)
    _, least = solve_primal([constraints(x, y, rows(n)) for n, (x, y) in enumerate(zip(X, Y, strict=True))], 3.0)
    assert learner.objective_ == pytest.approx(least, rel=1e-5)


def test_costs_by_node_and_label_mean_the_same_to_all_learners():
    X, Y, costs = small_problem(n_graphs=8)
    X = [Graph(x.node_features, x.edges, node_weight=c) for x, c in zip(X, costs, strict=True)]
    trainer = Subgradient(
        optimizer="sgd", schedule="inverse", learning_rate=1.0, momentum=0.0, averaging="linear", dtype="float64"
    )
    svm = StructuralSVM((), (), C=1.0, batch_size=None, max_iter=300, trainer=trainer).fit(X, Y)
    dual = CuttingPlaneSVM(1.0, tol=1e-6).fit(X, Y)
    assert dual.n_labels_ == 3  # which the costs tell, whatever Y holds
    for x, y in zip(X, Y, strict=True):
        torch.testing.assert_close(*(learner.potentials([x])[0].unary for learner in (svm, dual)), atol=0.05, rtol=0.1)
        assert svm.loss_augmented_predict([x], [y])[0].shape == (3,)
    right = np.concatenate(svm.predict(X)) == np.concatenate(Y)
    assert svm.score(X, Y) == pytest.approx(right.mean())


def test_costs_of_another_number_of_labels_are_refused():
    X, Y, costs = small_problem()
    X = [Graph(x.node_features, x.edges, node_weight=c) for x, c in zip(X, costs, strict=True)]
    for learner in (FrankWolfeSVM(n_labels=4), StructuralSVM((), (), n_labels=4)):
        with pytest.raises(ValueError, match=r"of shape \(V, L\) needs L=4, the number of labels, got L=3"):
            learner.fit(X, Y)


def test_a_cross_entropy_takes_no_pairs_of_labels(chains):
    with pytest.raises(ValueError, match=r"class_weight must have one entry per label here, got shape \(3, 3\)"):
        UnaryClassifier(class_weight=MATRIX).fit(*chains)
