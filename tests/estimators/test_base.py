"""scikit-learn's own checks that need no data, called by name, for every estimator."""

import warnings

import numpy as np
import pytest
from learners import indexed
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import estimator_checks

from neuralfactors import Graph
from neuralfactors.datasets import make_chains
from neuralfactors.estimators import (
    CuttingPlaneSVM,
    FrankWolfeSVM,
    StructuralSVM,
    StructuredPerceptron,
    UnaryClassifier,
    load,
)

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
    assert again.plain_params() == estimator.plain_params()
    assert all((a == b).all() for a, b in zip(y_pred, again.predict(X), strict=True))
    same = clone(estimator).fit(X, Y).predict(X)
    assert all((a == b).all() for a, b in zip(y_pred, same, strict=True))


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_graphs_without_nodes_are_fine(kind):
    X, Y = make_chains(6, 5, 3, noise=0.5)
    X, Y = [*X, Graph(np.zeros((0, 3)))], [*Y, []]
    assert len(kind(max_iter=100).fit(X, Y).predict(X)[-1]) == 0


@pytest.mark.parametrize("kind", [k for k in ESTIMATORS if k is not UnaryClassifier], ids=lambda kind: kind.__name__)
def test_interactions_stay_without_bias_and_edge_features(kind):
    X, Y = make_chains(12, 5, 3, noise=0.5)
    convex = kind in (CuttingPlaneSVM, FrankWolfeSVM)
    without = {"bias": False} if convex else {"unary__bias": False, "interaction__bias": False}
    estimator = kind(max_iter=100).set_params(**without)
    model = estimator.fit(X, Y).model_
    assert model.unary.bias is None
    assert model.interaction.bias.abs().max() > 0.05
    featured = [Graph(x.node_features, x.edges, np.ones((4, 1))) for x in X]
    assert estimator.fit(featured, Y).model_.interaction.bias is None


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_labels_of_plus_and_minus_one_are_warned_of(kind):
    X, Y = make_chains(6, 5, 2, noise=0.5)
    with pytest.warns(
        UserWarning, match="Y contains only −1 and 1, and −1 means void: if it is a class, number the classes from 0"
    ):
        kind(max_iter=50).fit(X, [2 * y - 1 for y in Y])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message="without the void nodes")  # that is another matter
        kind(max_iter=50).fit(X, [*Y[:-1], np.full(5, -1)])
        estimator = kind(max_iter=50, n_labels=3).fit(X, [2 * y - 1 for y in Y])  # there are others: −1 is void
        if hasattr(kind, "partial_fit"):
            estimator.set_params(n_labels=None).partial_fit(X[:1], [[1, 1, -1, -1, 1]])


MARK = "Y contains 255, which often marks void: use −1 for void nodes, or fit with n_labels=256 if it is a class"


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_a_mark_for_void_is_not_taken_for_a_class(kind):
    X, Y = make_chains(6, 5, 2, noise=0.5)
    marked = [*Y[:-1], np.array([0, 1, 255, 1, 0])]
    with pytest.raises(ValueError, match=MARK):
        kind(max_iter=50).fit(X, marked)
    estimator = kind(max_iter=50).fit(X, Y)
    with pytest.raises(ValueError, match=MARK):
        estimator.score(X, marked)


def test_validation_data_may_not_hold_a_mark_for_void():
    X, Y = make_chains(6, 5, 2, noise=0.5)
    with pytest.raises(ValueError, match=f"validation data: {MARK}"):
        StructuralSVM().fit(X, Y, validation=(X[:1], [[0, 1, 255, 1, 0]]))


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_graphs_and_labels_are_taken_by_position(kind):
    X, Y = make_chains(12, 5, 3, noise=0.5)
    plain, other = kind(max_iter=50).fit(X, Y), kind(max_iter=50).fit(*indexed(X, Y))
    found = other.potentials(indexed(X, Y)[0])
    assert all((a.unary == b.unary).all() for a, b in zip(plain.potentials(X), found, strict=True))
    assert plain.score(*indexed(X, Y)) == plain.score(X, Y) > 0.5


@pytest.mark.parametrize("kind", [StructuralSVM, UnaryClassifier, StructuredPerceptron], ids=lambda kind: kind.__name__)
def test_validation_and_further_data_are_taken_by_position(kind):
    X, Y = make_chains(12, 5, 3, noise=0.5)
    for options, judged in (({"max_iter": 3}, True), ({"max_iter": 3, "trainer__validation_fraction": 0.5}, False)):
        plain = kind().set_params(**options).fit(X, Y, validation=(X, Y) if judged else None)
        other = kind().set_params(**options).fit(*indexed(X, Y), validation=indexed(X, Y) if judged else None)
        assert [r["accuracy"] for r in other.history_] == [r["accuracy"] for r in plain.history_]
    plain, other = kind().partial_fit(X, Y), kind().partial_fit(*indexed(X, Y))
    assert (plain.potentials(X)[0].unary == other.potentials(X)[0].unary).all()
