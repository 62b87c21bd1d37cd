"""Probabilities are the marginals that enumeration finds, given known labels too; a temperature calibrates them."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from neuralfactors import Decoder, Graph, Potentials, grid_graph
from neuralfactors.datasets import make_chains
from neuralfactors.estimators import LatentSVM, MultiLabelClassifier, StructuralSVM, UnaryClassifier
from neuralfactors.estimators._probabilities import best_temperature, node_marginals, scaled


def enumerated(potentials, known=None, temperature=1.0):
    """Marginals (V, L) by adding up every labelling that keeps the known labels."""
    V, L = potentials.unary.shape
    found = np.zeros((V, L))
    for labels in itertools.product(range(L), repeat=V):
        if known is None or all(k in (-1, y) for k, y in zip(known, labels, strict=True)):
            weight = np.exp(float(potentials.score(torch.tensor(labels))) / temperature)
            found[np.arange(V), labels] += weight
    return found / found.sum(axis=1, keepdims=True)


@pytest.fixture(scope="module")
def svm():
    return StructuralSVM((), (), max_iter=5).fit(*make_chains(10, 4, 3, noise=0.7))


@given(seed=st.integers(0, 2**16), temperature=st.sampled_from([0.5, 1.0, 3.0]))
def test_probabilities_are_marginals(svm, seed, temperature):
    X, Y = make_chains(2, 4, 3, noise=1.0, random_state=seed)
    known = [np.where(np.random.default_rng(seed).random(4) < 0.5, y, -1) for y in Y]
    svm.temperature_ = temperature
    for given_labels in (None, known):
        for n, proba in enumerate(svm.predict_proba(X, given_labels)):
            fixed = None if given_labels is None else given_labels[n]
            np.testing.assert_allclose(proba, enumerated(svm.potentials(X)[n], fixed, temperature), atol=1e-5)
    svm.temperature_ = 1.0


def test_cycles_are_summed_as_the_decoder_says(svm):
    rng = np.random.default_rng(0)
    graph = Graph(rng.normal(size=(4, 3)), [[0, 1], [1, 2], [2, 3], [3, 0]])
    exact = enumerated(svm.potentials([graph])[0])
    errors = {}
    for method in ("auto", "exact", "trw", "bethe", "perturb"):
        svm.set_params(decoder__marginals=method)
        proba = svm.predict_proba([graph])[0]
        np.testing.assert_allclose(proba.sum(axis=1), 1.0, atol=1e-5)
        errors[method] = np.abs(proba - exact).max()
    assert max(errors["auto"], errors["exact"]) < 1e-5
    assert 1e-5 < errors["trw"] < 0.2
    assert errors["bethe"] < 0.1
    assert errors["perturb"] < 0.3
    svm.set_params(decoder__marginals="other")
    with pytest.raises(ValueError, match=r"marginals must be one of .*'perturb'.*got 'other'"):
        svm.predict_proba([graph])
    svm.set_params(decoder=None)


def test_a_wide_grid_is_summed_too(svm):
    proba = svm.predict_proba([grid_graph(np.random.default_rng(0).normal(size=(20, 20, 3)))])[0]
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, atol=1e-4)


@pytest.mark.parametrize("temperature", [0.4, 1.0, 2.5])
def test_the_temperature_of_samples_is_found(temperature):
    generator = torch.Generator().manual_seed(0)
    unary = 2 * torch.randn(400, 5, 3, generator=generator)
    chains = Potentials.chain(unary, torch.randn(3, 3, generator=generator))
    y = scaled(chains, 1 / temperature).sample(1, generator)[0].flatten().numpy()
    found = best_temperature([chains], np.arange(len(y)), y, np.ones(len(y)), Decoder())
    assert found == pytest.approx(temperature, rel=0.15)

    def loss(value):
        proba = node_marginals(scaled(chains, 1 / value), Decoder())
        return -np.log(proba[np.arange(len(y)), y]).mean()

    assert loss(found) <= min(loss(0.9 * found), loss(1.1 * found))


def test_calibration_keeps_labels_and_improves_the_likelihood():
    X, Y = make_chains(400, 5, 3, noise=1.2)
    svm = StructuralSVM((), (), C=3000.0, max_iter=20).fit(X[:20], Y[:20])
    before, labels = svm.predict_proba(X[200:]), svm.predict(X)
    assert svm.calibrate(X[20:200], Y[20:200]) is svm
    assert svm.temperature_ != 1.0
    assert all((a == b).all() for a, b in zip(labels, svm.predict(X), strict=True))
    truth = np.concatenate(Y[200:])

    def likelihood(found):
        return np.log(np.concatenate(found)[np.arange(len(truth)), truth]).mean()

    assert likelihood(svm.predict_proba(X[200:])) > likelihood(before)
    for train in (svm.partial_fit, svm.partial_fit, svm.set_params(warm_start=True).fit):
        svm.temperature_ = 2.0
        assert train(X[:20], Y[:20]).temperature_ == 1.0  # it was that of other parameters


def test_labels_that_the_model_does_not_know_are_refused():
    X, Y = make_chains(4, 5, 3)
    svm = StructuralSVM((), (), max_iter=10).fit(X, Y)
    with pytest.raises(ValueError, match="Y must contain labels below n_labels=3, got 3"):
        svm.calibrate(X, [y + 1 for y in Y])


def test_a_classifier_of_nodes_is_calibrated_without_edges():
    X, Y = make_chains(40, 5, 3, noise=1.2)
    alone = UnaryClassifier(C=1e4, max_iter=50).fit(X[:10], Y[:10])
    alone.calibrate(X[10:], Y[10:])
    scores = alone.decision_function(X)[0] / alone.temperature_
    expected = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(alone.predict_proba(X)[0], expected, atol=1e-5)


def test_states_of_a_label_are_added_up():
    X, Y = make_chains(10, 4, 2, noise=0.7)
    latent = LatentSVM([1, 2], max_iter=1).fit(X, Y)
    states = enumerated(latent.base_.potentials(X)[0])
    expected = np.stack([states[:, 0], states[:, 1:].sum(axis=1)], axis=1)
    np.testing.assert_allclose(latent.predict_proba(X)[0], expected, atol=1e-5)


def test_several_labels_have_a_probability_each():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    Y = (X[:, [0, 0, 1]] + 0.5 * rng.normal(size=(30, 3)) > 0).astype(int)
    classifier = MultiLabelClassifier(hidden=()).fit(X, Y)
    found = classifier.predict_proba(X[:3])
    potentials = classifier.base_.potentials(classifier._graphs(X[:3].astype(np.float32)))
    np.testing.assert_allclose(found, [enumerated(p)[:, 1] for p in potentials], atol=1e-5)
    known = np.array([[1, -1, -1]] * 3)
    assert (classifier.predict_proba(X[:3], known)[:, 0] == 1).all()
