"""UnaryClassifier: a classifier of nodes, and a transformer of graphs."""

import numpy as np
from learners import indexed

from neuralfactors.datasets.chains import make_chains
from neuralfactors.estimators import (
    UnaryClassifier,
)
from neuralfactors.graph import Graph


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
