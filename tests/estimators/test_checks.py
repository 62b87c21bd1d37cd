"""scikit-learn's own checks that need no data, called by name, for every estimator."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import estimator_checks

from neuralfactors.datasets.chains import make_chains
from neuralfactors.estimators import (
    CuttingPlaneSVM,
    FrankWolfeSVM,
    StructuralSVM,
    StructuredPerceptron,
    UnaryClassifier,
    load,
)
from neuralfactors.graph import Graph

ESTIMATORS = [StructuralSVM, UnaryClassifier, CuttingPlaneSVM, FrankWolfeSVM, StructuredPerceptron]
CHECKS = [
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_valid_tag_types",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_get_params_invariance",
    "check_set_params",
    "check_mixin_order",
    "check_do_not_raise_errors_in_init_or_set_params",
]


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_data_free_checks(kind, check):
    getattr(estimator_checks, check)(kind.__name__, kind())


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_every_estimator_fits_predicts_and_saves(kind, tmp_path):
    X, Y = make_chains(12, 5, 3, noise=0.5)
    estimator = kind(max_iter=10)
    with pytest.raises(NotFittedError):
        estimator.predict(X)
    assert estimator.fit(X, Y) is estimator
    y_pred = estimator.predict(X)
    estimator.save(tmp_path)
    again = load(tmp_path)
    assert type(again) is kind
    assert str(again.get_params()) == str(estimator.get_params())
    assert all((a == b).all() for a, b in zip(y_pred, again.predict(X), strict=True))
    same = clone(estimator).fit(X, Y).predict(X)
    assert all((a == b).all() for a, b in zip(y_pred, same, strict=True))


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_graphs_without_nodes_are_fine(kind):
    X, Y = make_chains(6, 5, 3, noise=0.5)
    X, Y = [*X, Graph(np.zeros((0, 3)))], [*Y, []]
    assert len(kind(max_iter=100).fit(X, Y).predict(X)[-1]) == 0


def test_a_perceptron_has_no_margin_to_weigh():
    assert "class_weight" not in StructuredPerceptron().get_params()
    X, Y = make_chains(6, 5, 3, noise=0.5)
    weighed = [Graph(x.node_features, x.edges, node_weight=[9.0, 1.0, 1.0, 1.0, 0.0]) for x in X]
    plain, other = (StructuredPerceptron(max_iter=3).fit(graphs, Y).decision(X)[0] for graphs in (X, weighed))
    assert (plain.unary == other.unary).all()
