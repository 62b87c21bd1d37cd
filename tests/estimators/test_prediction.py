"""Known labels: kept by predictions, whose others are the best of all that go with them; learnt from by default."""

import itertools

import numpy as np
import pytest
import torch

from neuralfactors import Graph
from neuralfactors.estimators import FrankWolfeSVM, StructuralSVM, UnaryClassifier


@pytest.fixture(scope="module")
def svm(chains):
    return StructuralSVM((), (), max_iter=5, C=100.0).fit(*chains)


def hide(Y, seed, share=0.6):
    rng = np.random.default_rng(seed)
    return [np.where(rng.random(len(y)) < share, -1, y) for y in Y]


@pytest.mark.parametrize("seed", range(3))
def test_predictions_are_the_best_of_those_that_keep_the_known_labels(svm, chains, seed):
    X, Y = chains
    wrong = [(y + 1) % 3 for y in Y]  # so that the known labels are not those it would predict anyway
    known = hide(wrong, seed)
    for graph, given, y in zip(X[:10], known, svm.predict(X, known), strict=False):
        assert (y[given >= 0] == given[given >= 0]).all()
        (potentials,) = svm.potentials([graph])
        free = np.flatnonzero(given < 0)
        best = -np.inf
        for labels in itertools.product(range(3), repeat=len(free)):
            z = given.copy()
            z[free] = labels
            best = max(best, float(potentials.score(torch.from_numpy(z))))
        assert float(potentials.score(torch.from_numpy(y))) == pytest.approx(best, rel=1e-5)


def test_nothing_known_changes_nothing_and_all_known_is_returned(svm, chains):
    X, Y = chains
    nothing = [np.full(len(y), -1) for y in Y]
    plain = svm.predict(X)
    assert all((a == b).all() for a, b in zip(svm.predict(X, nothing), plain, strict=True))
    assert all((a == b).all() for a, b in zip(svm.predict(X, Y), Y, strict=True))


def test_known_labels_inform_their_neighbours(svm, chains):
    X, Y = chains
    known = hide(Y, 0)
    right = [np.mean(np.concatenate([(p == y)[k < 0] for p, y, k in zip(P, Y, known, strict=True)]))
             for P in (svm.predict(X), svm.predict(X, known))]  # fmt: skip
    assert right[1] > right[0]


@pytest.mark.parametrize("estimator", [FrankWolfeSVM(max_iter=2, tol=10.0), UnaryClassifier(max_iter=2)])
def test_all_estimators_keep_known_labels(estimator, chains):
    X, Y = chains
    known = hide([(y + 1) % 3 for y in Y], 1)
    for given, y in zip(known, estimator.fit(X, Y).predict(X, known), strict=True):
        assert (y[given >= 0] == given[given >= 0]).all()


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ([[0, 1]], r"known\[0\] needs one label per node"),
        ([[0, 1, 3]], "known must hold labels below 3, got 3"),
        ([], "expected 1, got 0"),
    ],
)
def test_what_does_not_fit_is_refused(svm, known, message):
    with pytest.raises(ValueError, match=message):
        svm.predict([Graph(np.zeros((3, 3)), [[0, 1], [1, 2]])], known)


def test_partly_labelled_graphs_are_completed_by_default():
    assert StructuralSVM().void == "complete"
