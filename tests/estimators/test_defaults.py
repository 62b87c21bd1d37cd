"""Estimators as they come: what they learn with nothing set but the factors, and what C does to them."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
import torch
from learners import make
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split

from neuralfactors import Graph, GraphBatch, grid_edges
from neuralfactors.datasets import make_chains
from neuralfactors.estimators import (
    CuttingPlaneSVM,
    FrankWolfeSVM,
    StructuralSVM,
    StructuredPerceptron,
    Subgradient,
    UnaryClassifier,
)
from neuralfactors.learning import StructuredHingeLoss

LINEAR = [StructuralSVM((), ()), CuttingPlaneSVM(), FrankWolfeSVM(), StructuredPerceptron()]
pytestmark = pytest.mark.filterwarnings("ignore:.*duality gap")  # of cutting planes, which is not what is tested


def name_of(estimator):
    return type(estimator).__name__


def iris():
    """Training and test points, each a graph of one node."""
    X, y = load_iris(return_X_y=True)
    parts = train_test_split(X, y, test_size=0.4, random_state=0, stratify=y)
    points = [[Graph(x[None]) for x in part] for part in parts[:2]]
    return [(X, [[label] for label in labels]) for X, labels in zip(points, parts[2:], strict=True)]


def stripes(n_graphs, seed):
    """Grids of three vertical stripes in one order, so that only directions tell a label from its neighbour."""
    rng = np.random.default_rng(seed)
    y, edges = np.repeat(np.tile([0, 1, 2], (10, 1)), 4, axis=1).ravel(), grid_edges(10, 12)
    right = np.arange(len(edges)) < 10 * 11
    directions = np.column_stack([right, ~right]).astype(np.float32)
    X = [Graph(np.eye(3)[y] + 1.5 * rng.normal(size=(120, 3)), edges, directions) for _ in range(n_graphs)]
    return X, [y] * n_graphs


@pytest.mark.parametrize("estimator", [*LINEAR, StructuralSVM(), UnaryClassifier()], ids=name_of)
def test_points(estimator):
    train, test = iris()
    assert estimator.fit(*train).score(*test) >= 0.95


@pytest.mark.parametrize("estimator", [*LINEAR, StructuralSVM()], ids=name_of)
def test_directional_grids(estimator):
    assert estimator.fit(*stripes(20, 0)).score(*stripes(20, 1)) >= 0.92


@pytest.mark.parametrize("estimator", [StructuralSVM((), ()), StructuralSVM(), StructuredPerceptron()], ids=name_of)
def test_many_small_chains(estimator):
    train, test = make_chains(2000, length=6, n_labels=5), make_chains(300, length=6, n_labels=5, random_state=1)
    assert estimator.fit(*train).score(*test) >= 0.74


def partly_labelled(n_nodes, share, seed=0):
    """One graph whose neighbours mostly share a class, with noisy features; labels of a part, and of the others."""
    rng = np.random.default_rng(seed)
    y = rng.integers(5, size=n_nodes)
    ends = rng.integers(n_nodes, size=(40 * n_nodes, 2))
    likely = np.where(y[ends[:, 0]] == y[ends[:, 1]], 0.5, 0.015)
    edges = ends[(rng.random(len(ends)) < likely) & (ends[:, 0] != ends[:, 1])][: 2 * n_nodes]
    graph = Graph(0.5 * np.eye(5)[y] + rng.normal(size=(n_nodes, 5)), edges)
    given = rng.random(n_nodes) < share
    return ([graph], [np.where(given, y, -1)]), ([graph], [np.where(given, -1, y)])


def test_one_graph_with_few_labels():
    train, test = partly_labelled(1000, 0.3)
    alone = UnaryClassifier().fit(*train).score(*test)
    assert StructuralSVM((), ()).fit(*train).score(*test) > alone + 0.3


@pytest.mark.parametrize(
    "estimator",
    [
        StructuralSVM((), (), void="drop", max_iter=20),
        StructuredPerceptron(),
        CuttingPlaneSVM(),
        FrankWolfeSVM(),
    ],
    ids=name_of,
)
def test_dropping_most_edges_is_told(estimator):
    X, Y = make_chains(20, 7, 3)
    sparse, dense = [y.copy() for y in Y], [y.copy() for y in Y]
    for y, other in zip(sparse, dense, strict=True):
        y[3] = -1  # four of six edges are left
        other[[1, 5]] = -1  # two of six
    with pytest.warns(UserWarning, match='33% of the edges are left to learn interactions from: .*void="complete"'):
        estimator.fit(X, dense)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        estimator.fit(X, sparse)
        UnaryClassifier(max_iter=20).fit(X, dense)  # which learns from no edges


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (StructuralSVM(C=1e-3), "mean hinge of 3.* where constant scores would give 4:"),
        (
            StructuralSVM((), (), trainer=Subgradient(learning_rate=1e-7), batch_size=None, max_iter=3),
            "constant scores would give 4: try another",
        ),
        (
            StructuralSVM(trainer=Subgradient(learning_rate=1e-9), max_iter=2, class_weight=[1.0, 1.0]),
            "constant scores would give 4: try another",
        ),
        (
            UnaryClassifier(trainer=Subgradient(learning_rate=1e-7), max_iter=3),
            "mean cross-entropy of 2.7.*, where .* give 2.77259:",
        ),
        (
            StructuralSVM(
                (),
                (),
                trainer=Subgradient(optimizer="sgd", learning_rate=3.0, schedule="constant"),
                batch_size=None,
                max_iter=2,
            ),
            "training ended with .*: try another learning_rate, a higher max_iter or C, or scaled features",
        ),
    ],
)
def test_training_that_ends_where_it_began_is_told(estimator, message):
    X, Y = make_chains(20, 4, 2)
    with pytest.warns(ConvergenceWarning, match=message):
        estimator.fit(X, Y)


@pytest.mark.parametrize("estimator", [StructuralSVM(max_iter=5), UnaryClassifier(max_iter=5), StructuredPerceptron()])
def test_training_that_learns_is_quiet(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimator.fit(*make_chains(20, 4, 2))
        estimator.partial_fit(*make_chains(20, 4, 2))
        estimator.set_params(batch_size=None, max_iter=30).fit(*make_chains(20, 4, 2))


def objective(estimator, X, Y):
    """Eq. (6) in double precision."""
    model = estimator.model_.double().requires_grad_(False)
    batch, y = GraphBatch.from_graphs(X, torch.float64), torch.from_numpy(np.concatenate(Y))
    hinge = StructuredHingeLoss()(model(batch), y, batch.node_weight)
    return 0.5 * sum(float(p.square().sum()) for p in model.parameters()) + estimator.C_ * float(hinge)


@pytest.mark.parametrize("optimizer", ["adam", "adamw", "rmsprop", "adagrad", "sgd"])
def test_every_optimiser_reaches_the_convex_optimum(optimizer):
    X, Y = make_chains(60, length=6, n_labels=3, noise=1.0)
    for C in (0.06, 0.6, 6.0, 60.0, 600.0):  # a thousandth of the number of graphs, to ten times as much
        least = objective(FrankWolfeSVM(C, tol=1e-2 if C > 60 else 1e-3).fit(X, Y), X, Y)
        found = objective(make(StructuralSVM, (), (), C=C, trainer__optimizer=optimizer).fit(X, Y), X, Y)
        assert found < 1.02 * least, C


@pytest.mark.parametrize("optimizer", ["adam", "adamw", "rmsprop", "adagrad", "sgd"])
def test_weights_of_neural_factors_shrink_with_C(optimizer):
    X, Y = make_chains(60, length=6, n_labels=3)
    norms = []
    for C in (60.0, 6.0, 0.6, 0.06):
        svm = make(StructuralSVM, (16,), (), C=C, trainer__optimizer=optimizer).fit(X, Y)
        norms.append(sum(float(p.detach().square().sum()) for p in svm.model_.parameters()) ** 0.5)
    assert all(after < 0.9 * before for before, after in pairwise(norms)), norms
