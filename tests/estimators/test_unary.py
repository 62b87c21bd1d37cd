"""UnaryClassifier: a classifier of nodes, and a transformer of graphs."""

import copy

import numpy as np
import pytest
from learners import indexed
from scipy.sparse import csr_array
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline

from neuralfactors import Graph
from neuralfactors.datasets import make_chains
from neuralfactors.estimators import (
    StructuralSVM,
    UnaryClassifier,
)


def test_label_255_may_be_a_class():
    X, Y = [Graph(np.ones((256, 1)))], [np.arange(256)]
    assert UnaryClassifier(max_iter=1).fit(X, Y).n_labels_ == 256
    few = [Graph(np.ones((2, 1)))], [[0, 255]]
    classifier = UnaryClassifier(max_iter=1, n_labels=256, warm_start=True).fit(*few, validation=few)
    assert classifier.set_params(n_labels=None).fit(*few).partial_fit(*few).n_labels_ == 256
    assert classifier.score(*few) >= 0


def test_a_transformer_takes_graphs_by_position():
    X, Y = make_chains(4, 5, 3)
    classifier = UnaryClassifier(max_iter=1).fit(X, Y)
    both = zip(classifier.transform(X), classifier.transform(indexed(X, Y)[0]), strict=True)
    assert all((a.node_features == b.node_features).all() for a, b in both)


@pytest.fixture(scope="module")
def fitted(chains):
    return UnaryClassifier(max_iter=5).fit(*chains)


def test_probabilities(chains, fitted):
    for proba, y_pred, graph in zip(fitted.predict_proba(chains[0]), fitted.predict(chains[0]), chains[0], strict=True):
        assert proba.shape == (graph.n_nodes, 3)
        np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-6)
        np.testing.assert_array_equal(proba.argmax(axis=1), y_pred)


def test_outputs_of_the_transformer_are_one_another_transformed(chains, fitted):
    X = chains[0][:3]
    outputs = {}
    for name in ("probability", "log_probability", "decision"):
        graphs = clone_with(fitted, output=name).transform(X)
        outputs[name] = np.concatenate([graph.node_features for graph in graphs])
        for before, after in zip(X, graphs, strict=True):
            np.testing.assert_array_equal(before.edges, after.edges)
            assert before.n_nodes == after.n_nodes
    np.testing.assert_allclose(np.exp(outputs["log_probability"]), outputs["probability"], rtol=1e-6)
    np.testing.assert_allclose(softmax(outputs["decision"], axis=1), outputs["probability"], rtol=1e-5)


def clone_with(fitted, **parameters):
    """The same fitted classifier with other parameters."""
    return copy.copy(fitted).set_params(**parameters)


def test_large_scores_do_not_overflow(fitted):
    far = [Graph(np.full((2, fitted.n_node_features_), 1e30))]
    assert np.isfinite(fitted.predict_proba(far)[0]).all()


def test_an_output_that_nobody_knows(chains, fitted):
    with pytest.raises(ValueError, match=r"output must be one of .*probability.* got 'logit'"):
        clone_with(fitted, output="logit").transform(chains[0])


def test_edges_do_not_matter(chains, fitted):
    X = [Graph(graph.node_features) for graph in chains[0]]
    for with_edges, without in zip(fitted.predict_proba(chains[0]), fitted.predict_proba(X), strict=True):
        np.testing.assert_array_equal(with_edges, without)


def test_one_node_a_graph_is_logistic_regression():
    rng = np.random.default_rng(0)
    features, labels = rng.normal(size=(60, 2)), rng.integers(3, size=60)
    features += 0.7 * np.array([[1, 0], [0, 1], [-1, -1]])[labels]
    X, Y = [Graph(row[None]) for row in features], [[label] for label in labels]
    ours = UnaryClassifier(C=60.0, max_iter=400).set_params(
        unary__bias=False, trainer__dtype="float64", trainer__learning_rate=0.05, batch_size=None
    )
    theirs = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-8).fit(features, labels)
    proba = np.concatenate(ours.fit(X, Y).predict_proba(X))
    np.testing.assert_allclose(proba, theirs.predict_proba(features), atol=5e-3)


def test_bifurcated_training_is_a_pipeline(chains):
    X, Y = chains
    first = UnaryClassifier(max_iter=5)
    pipeline = Pipeline([("first", first), ("model", StructuralSVM((), (), max_iter=5))]).fit(X, Y)
    assert pipeline.score(X, Y) >= first.score(X, Y) - 0.05
    assert pipeline[-1].n_node_features_ == 3


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_features_of_either_type_give_what_dense_ones_do(chains, dtype):
    X, Y = chains
    sparse = [Graph(csr_array(graph.node_features.astype(dtype)), graph.edges) for graph in X]
    dense = [Graph(graph.node_features, graph.edges) for graph in X]
    learnt = UnaryClassifier(max_iter=5).fit(sparse, Y)
    assert learnt.score(sparse, Y) == UnaryClassifier(max_iter=5).fit(dense, Y).score(dense, Y)
    assert learnt.transform(sparse)[0].node_features.shape == (X[0].n_nodes, 3)
