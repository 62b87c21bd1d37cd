"""Known labels: kept by predictions, whose others are the best of all that go with them; learnt from by default."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

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
    for graph, kept, y in zip(X[:10], known, svm.predict(X, known), strict=False):
        assert (y[kept >= 0] == kept[kept >= 0]).all()
        (potentials,) = svm.potentials([graph])
        free = np.flatnonzero(kept < 0)
        best = -np.inf
        for labels in itertools.product(range(3), repeat=len(free)):
            z = kept.copy()
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
    for kept, y in zip(known, estimator.fit(X, Y).predict(X, known), strict=True):
        assert (y[kept >= 0] == kept[kept >= 0]).all()


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


def random_trees(seed, n=4):
    """Graphs of up to five nodes, each joined to one before it, or to none; and labels, some of them void."""
    rng = np.random.default_rng(seed)
    X, Y = [], []
    for _ in range(n):
        size = rng.integers(1, 6)
        joined = [[rng.integers(i), i] for i in range(1, size) if rng.random() < 0.8]
        X.append(Graph(rng.normal(size=(size, 3)), np.array(joined, dtype=int).reshape(-1, 2)))
        Y.append(rng.integers(-1, 3, size=size))
    return X, Y


def all_scores(svm, graph):
    """Every labelling (K, V) of a graph, and its score (K,)."""
    (potentials,) = svm.potentials([graph])
    every = np.array(list(itertools.product(range(3), repeat=graph.n_nodes)))
    return every, np.array([float(potentials.score(torch.from_numpy(z))) for z in every])


@given(seed=st.integers(0, 2**16))
def test_what_is_said_of_trees_equals_enumeration(svm, seed):
    X, Y = random_trees(seed)
    found = zip(svm.decision_function(X), svm.predict_proba(X), svm.loss_augmented_predict(X, Y), strict=True)
    for graph, y, (decision, proba, z) in zip(X, Y, found, strict=True):
        every, scores = all_scores(svm, graph)
        likely = np.exp(scores - scores.max())
        for i, a in itertools.product(range(graph.n_nodes), range(3)):
            with_it = every[:, i] == a
            assert decision[i, a] == pytest.approx(scores[with_it].max() - scores.max(), abs=1e-4)
            assert proba[i, a] == pytest.approx(likely[with_it].sum() / likely.sum(), abs=1e-5)
        augmented = scores + ((every != y) & (y >= 0)).sum(axis=1)
        assert augmented[(every == z).all(axis=1)] == pytest.approx(augmented.max(), abs=1e-4)


@given(seed=st.integers(0, 2**16))
def test_graphs_do_not_depend_on_those_beside_them(svm, seed):
    X, known = random_trees(seed)
    order = np.random.default_rng(seed).permutation(len(X))
    shuffled = [X[k] for k in order]
    for say in (svm.predict, svm.decision_function, svm.predict_proba):
        for k, among in zip(order, say(shuffled), strict=True):
            np.testing.assert_allclose(among, say([X[k]])[0], atol=1e-5)
    for k, among in zip(order, svm.predict(shuffled, [known[k] for k in order]), strict=True):
        np.testing.assert_array_equal(among, svm.predict([X[k]], [known[k]])[0])


def test_nothing_is_said_of_no_graph(svm):
    for say in (svm.predict, svm.predict_proba, svm.decision_function, svm.potentials):
        assert list(say([])) == []


def test_partly_labelled_graphs_are_completed_by_default():
    assert StructuralSVM().void == "complete"
