"""Graphs with types of nodes: learnt, predicted, saved and continued, each type with its own labels."""

from contextlib import nullcontext

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from sklearn.base import clone
from torch import nn

from neuralfactors import (
    FrankWolfeSVM,
    Graph,
    Network,
    Potentials,
    StructuralSVM,
    StructuredPerceptron,
    UnaryClassifier,
)
from neuralfactors._core.factor_model import BatchModel
from neuralfactors._core.typed_model import TypedModel
from neuralfactors.learning import Subgradient


def flags_and_pictures(n=40, seed=0):
    """Three pixels with two labels each, and a node of another type that tells how many of them are 1."""
    rng = np.random.default_rng(seed)
    X, Y = [], []
    for _ in range(n):
        pixels = rng.integers(2, size=3)
        features = 2.0 * pixels[:, None] - 1 + 0.1 * rng.normal(size=(3, 1))
        edges = [(0, 3), (1, 3), (2, 3), (0, 1), (1, 2)]
        X.append(Graph.of_types([features, np.zeros((1, 0))], edges))
        Y.append(np.array([*pixels, pixels.sum()]))
    return X, Y


@pytest.fixture(scope="module")
def data():
    return flags_and_pictures()


@pytest.fixture(scope="module")
def fitted(data):
    return StructuralSVM((), (), C=100.0, max_iter=60, n_labels=[2, 4]).fit(*data)


def test_every_type_learns_its_labels(data, fitted):
    X, Y = data
    assert isinstance(fitted.model_, TypedModel)
    assert (fitted.type_labels_, fitted.type_pairs_, fitted.n_labels_) == ([2, 4], [[0, 0], [0, 1]], 4)
    pixels = np.concatenate([y[:3] == z[:3] for y, z in zip(Y, fitted.predict(X), strict=True)])
    assert pixels.mean() == 1
    assert max(y.max() for y in fitted.predict(X)) == 3  # which only the picture can be
    assert all((y[:3] < 2).all() for y in fitted.predict(X))
    assert fitted.score(*data) > 0.9


def test_linear_learners_learn_the_same(data):
    X, Y = data
    svm = FrankWolfeSVM(100.0, n_labels=[2, 4]).fit(X, Y)
    assert svm.converged_
    assert svm.score(X, Y) > 0.9
    assert all((y[:3] < 2).all() for y in svm.loss_augmented_predict(X, Y))


def test_unary_classifiers_have_a_factor_for_every_type(data):
    X, Y = data
    alone = UnaryClassifier(n_labels=[2, 4]).fit(X, Y)
    assert np.mean([(z == y)[:3] for y, z in zip(Y, alone.predict(X), strict=True)]) == 1
    (proba,) = alone.predict_proba(X[:1])
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-6)
    assert not proba[:3, 2:].any()
    for kind, factor in enumerate(alone.model_.unary):  # each is that of nodes of its type alone
        nodes = [np.flatnonzero(x.node_types == kind) for x in X]
        own = [Graph(x.node_features[rows]) for x, rows in zip(X, nodes, strict=True)]
        single = UnaryClassifier(n_labels=(2, 4)[kind], C=alone.C_, max_iter=alone.max_iter_)
        single.set_params(trainer__learning_rate=alone.learning_rate_, batch_size=alone.batch_size_)
        single.fit(own, [y[rows] for y, rows in zip(Y, nodes, strict=True)])
        torch.testing.assert_close(factor.weight, single.model_.unary.weight, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("output", ["probability", "log_probability", "decision"])
def test_outputs_of_unary_classifiers_are_features(data, output):
    alone = UnaryClassifier(n_labels=[2, 4], output=output, max_iter=2).fit(*data)
    (made,) = alone.transform(data[0][:1])
    assert made.node_features.shape == (4, 4)
    assert not made.node_features[:3, 2:].any()
    assert made.node_types.tolist() == [0, 0, 0, 1]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_unary_factors_of_types_may_learn_first(data):
    trainer = Subgradient(pretrain=20, learning_rate=1e-6)
    svm = StructuralSVM((), (), C=100.0, max_iter=1, n_labels=[2, 4], trainer=trainer).fit(*data)
    pixels = [(y == z)[:3] for y, z in zip(data[1], svm.predict(data[0]), strict=True)]
    assert np.mean(pixels) == 1


def test_sparse_features_give_what_dense_ones_do(data):
    X, Y = data
    sparse = [Graph(csr_array(x.node_features), x.edges, node_types=x.node_types) for x in X]
    for kind in (StructuralSVM((), (), C=100.0), StructuralSVM((4,), (), C=100.0), UnaryClassifier()):
        svm = kind.set_params(n_labels=[2, 4], max_iter=3)
        found = clone(svm).fit(sparse, Y).decision_function(sparse)
        for scores, expected in zip(found, clone(svm).fit(X, Y).decision_function(X), strict=True):
            np.testing.assert_allclose(scores, expected, rtol=1e-3, atol=1e-4)


def test_numbers_of_labels_are_found_in_the_labels(data, fitted):
    svm = StructuralSVM((), (), C=100.0, max_iter=1).fit(*data)
    assert svm.type_labels_ == [2, 4]
    assert StructuredPerceptron((), (), max_iter=1).fit(*data).type_labels_ == [2, 4]
    assert StructuralSVM((4,), (4,), max_iter=1, n_labels=5).fit(*data).type_labels_ == [5, 5]


def test_files(data, fitted, tmp_path):
    fitted.save(tmp_path / "model")
    again = StructuralSVM.load(tmp_path / "model")
    for y, z in zip(fitted.predict(data[0]), again.predict(data[0]), strict=True):
        np.testing.assert_array_equal(y, z)


def test_known_labels_scores_and_loss_augmented_labels(data, fitted):
    X, Y = data
    known = [np.array([-1, -1, -1, 3])] * len(X)
    assert all(y[3] == 3 for y in fitted.predict(X, known=known))
    with pytest.raises(ValueError, match=r"known\[0\] has label 3 at node 0, but nodes of type 0 have 2 labels"):
        fitted.predict(X[:1], known=[[3, -1, -1, -1]])
    assert [scores.shape for scores in fitted.decision_function(X[:1])] == [(4, 4)]
    assert (fitted.decision_function(X[:1])[0][:3, 2:] == -np.inf).all()
    assert all((y[:3] < 2).all() for y in fitted.loss_augmented_predict(X, Y))
    (proba,) = fitted.predict_proba(X[:1])
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-6)
    assert not proba[:3, 2:].any()
    (potentials,) = fitted.potentials(X[:1])
    assert potentials.sizes.tolist() == [2, 2, 2, 4]


def test_void_nodes_are_completed_or_dropped(data):
    X, Y = data
    some = [np.where(np.arange(4) == n % 4, -1, y) for n, y in enumerate(Y)]
    for void, warning in (("complete", nullcontext()), ("drop", pytest.warns(UserWarning, match="edges are left"))):
        with warning:
            svm = StructuralSVM((), (), C=100.0, max_iter=30, n_labels=[2, 4], void=void).fit(X, some)
        assert svm.score(X, Y) > 0.7


def test_training_goes_on(data, fitted):
    svm = StructuralSVM((), (), C=100.0, n_labels=[2, 4])
    for _ in range(2):
        svm.partial_fit(*data)
    assert svm.type_labels_ == [2, 4]
    with pytest.raises(ValueError, match=r"no factor for edges between nodes of the types \(1, 1\)"):
        svm.partial_fit([Graph([[0.0], [0.0]], [[0, 1]], node_types=[1, 1])], [[0, 0]])


def test_a_module_of_ones_own_makes_ragged_potentials(data):
    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.typed = TypedModel([nn.Linear(1, 2), nn.Linear(1, 4)], {(0, 1): nn.Linear(0, 8)}, [2, 4])

        def forward(self, batch) -> Potentials:
            return self.typed(batch)

    torch.manual_seed(0)
    svm = StructuralSVM(BatchModel(Own()), C=100.0, max_iter=20, n_labels=[2, 4]).fit(*data)
    assert svm.score(*data) > 0.7


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (StructuralSVM(nn.Linear(1, 2)), "need a Network or hidden units"),
        (StructuralSVM(class_weight="balanced"), "class_weight must be None where nodes have types"),
        (
            StructuralSVM(trainer=Subgradient(validation_fraction=0.5), class_weight={0: 2.0}),
            "class_weight must be None",
        ),
        (StructuralSVM(n_labels=[2, 3]), "has label 3 at node 3, but nodes of type 1 have 3 labels"),
    ],
)
def test_what_is_refused(data, learner, message):
    with pytest.raises(ValueError, match=message):
        learner.fit(*data)


def test_types_must_be_those_of_training(data, fitted):
    with pytest.raises(ValueError, match="X has no node_types, but StructuralSVM was fitted with them"):
        fitted.predict([Graph(np.zeros((2, 1)))])
    with pytest.raises(ValueError, match="node_types must run from 0 to 1, got 2"):
        fitted.predict([Graph(np.zeros((1, 1)), node_types=[2])])
    plain = StructuralSVM((), (), max_iter=1).fit([Graph([[0.0], [1.0]], [[0, 1]])], [[0, 1]])
    with pytest.raises(ValueError, match="X has node_types, but StructuralSVM was fitted without them"):
        plain.predict(data[0])


@pytest.mark.parametrize("make", [StructuralSVM, StructuredPerceptron])
def test_signs_hold_for_pairs_of_types(data, make, tmp_path):
    rows, columns = 2, 4
    sign = {(0, 0): 2 * np.eye(rows) - 1, (0, 1): -np.ones((rows, columns))}
    learner = make((), Network((), sign=sign), max_iter=20, n_labels=[rows, columns]).fit(*data)
    same, other = learner.model_.interaction.children()
    assert (same.bias.view(rows, rows) * torch.from_numpy(sign[0, 0]) >= 0).all()
    assert (other.bias <= 0).all()
    assert (other.bias < 0).any()
    learner.save(tmp_path)
    again = make.load(tmp_path)
    np.testing.assert_array_equal(again.interaction.sign[0, 1], sign[0, 1])
    assert all((a == b).all() for a, b in zip(again.predict(data[0]), learner.predict(data[0]), strict=True))


@pytest.mark.parametrize(
    ("sign", "message"),
    [
        (np.ones((2, 2)), r"sign must be a dict with some of the keys \[\(0, 0\), \(0, 1\)\], as X has node_types"),
        ({(1, 1): np.ones((4, 4))}, r"sign must be a dict with some of the keys \[\(0, 0\), \(0, 1\)\]"),
        ({(0, 1): np.ones((4, 2))}, r"sign must hold 1, -1 or 0 in the shape \(2, 4\) or \(1, 2, 4\)"),
    ],
)
def test_signs_of_other_pairs_are_refused(data, sign, message):
    with pytest.raises(ValueError, match=message):
        StructuralSVM((), Network((), sign=sign), n_labels=[2, 4]).fit(*data)
