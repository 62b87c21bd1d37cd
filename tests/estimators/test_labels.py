"""Every estimator learns labels of any kind as it learns their numbers, weighs graphs, and joins folds."""

import numpy as np
import pytest
from sklearn.model_selection import LeaveOneOut, cross_val_predict

from neuralfactors import Graph
from neuralfactors.datasets import make_chains
from neuralfactors.estimators import (
    CuttingPlaneSVM,
    FrankWolfeSVM,
    LatentSVM,
    StructuralSVM,
    StructuredPerceptron,
    UnaryClassifier,
    load,
)
from neuralfactors.estimators._labels import Predictions

NAMES = np.array(["cat", "dog", "emu"])
ESTIMATORS = [
    StructuralSVM((), (), max_iter=10),
    UnaryClassifier(max_iter=10),
    StructuredPerceptron(max_iter=10),
    CuttingPlaneSVM(max_iter=50, tol=0.1),
    FrankWolfeSVM(max_iter=50, tol=0.1),
    LatentSVM([1, 2, 1], max_iter=1),
]
KINDS = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)


@pytest.fixture(scope="module")
def chains():
    return make_chains(20, 5, 3, noise=0.7)


def hide(Y, void):
    """Labels with `void` at the first node of the first graph."""
    first = Y[0].astype(object)
    first[0] = void
    return [first, *Y[1:]]


@KINDS
def test_names_are_learned_as_their_numbers_are(estimator, chains):
    X, Y = chains
    numbers = [y.copy() for y in Y]
    numbers[0][0] = -1
    plain = estimator.fit(X, numbers)
    expected = plain.predict(X), np.concatenate(plain.predict_proba(X)), plain.score(X, Y)
    assert plain.classes_.tolist() == [0, 1, 2]
    assert plain.n_features_in_ == 3
    named = hide([NAMES[y] for y in Y], None)
    found = estimator.fit(X, named)
    assert found.classes_.tolist() == NAMES.tolist()
    assert all((NAMES[a] == b).all() for a, b in zip(expected[0], found.predict(X), strict=True))
    np.testing.assert_array_equal(np.concatenate(found.predict_proba(X)), expected[1])
    assert found.score(X, [NAMES[y] for y in Y]) == expected[2]
    assert found.score(X, [np.full(len(y), "gnu") for y in Y]) == 0.0
    known = [np.array([NAMES[y[0]], *[None] * 4], dtype=object) for y in Y]
    assert all(y_pred[0] == y[0] for y_pred, y in zip(found.predict(X, known), known, strict=True))
    with pytest.raises(ValueError, match=r"known\[0\] contains 'gnu', which is none of the 3 classes"):
        found.predict(X, [["gnu"] * 5] * len(X))


@pytest.mark.parametrize("values", [None, NAMES])
def test_files_keep_classes_and_temperature(values, chains, tmp_path):
    X, Y = chains
    weight = {1: 2.0} if values is None else {"dog": 2.0}
    svm = FrankWolfeSVM(max_iter=50, tol=0.1, class_weight=weight).fit(
        X, Y if values is None else [NAMES[y] for y in Y]
    )
    svm.temperature_ = 2.5
    svm.save(tmp_path)
    again = load(tmp_path)
    assert again.class_weight == weight
    assert again.classes_.dtype == svm.classes_.dtype
    np.testing.assert_array_equal(np.concatenate(again.predict_proba(X)), np.concatenate(svm.predict_proba(X)))
    np.testing.assert_array_equal(np.concatenate(again.predict(X)), np.concatenate(svm.predict(X)))


def test_partial_fit_and_validation_know_the_classes(chains):
    X, Y = chains
    named = [NAMES[y] for y in Y]
    few = [NAMES[np.minimum(y, 1)] for y in Y]
    svm = StructuralSVM((), (), max_iter=2).partial_fit(X, few, classes=NAMES)
    assert svm.partial_fit(X, named).classes_.tolist() == NAMES.tolist()
    with pytest.raises(ValueError, match=r"Y\[0\] contains 'gnu', which is none of the 3 classes"):
        svm.partial_fit(X[:1], [["gnu"] * 5])
    with pytest.raises(ValueError, match="n_labels=2 must be None, or 3, the number of classes in Y"):
        StructuralSVM(n_labels=2).fit(X, named)
    judged = StructuralSVM((), (), max_iter=2).fit(X, named, validation=(X, [np.full(5, "gnu")] * len(X)))
    assert judged.history_[-1]["accuracy"] == 0.0
    integers = StructuralSVM((), (), max_iter=2).fit(X, Y)
    with pytest.raises(ValueError, match="Y must contain integers, like the labels that the model was fitted with"):
        integers.score(X, named)


@pytest.mark.parametrize("weight", [{1: 3.0}, {"dog": 3.0}], ids=["integers", "names"])
@pytest.mark.parametrize("kind", [StructuralSVM, FrankWolfeSVM], ids=lambda kind: kind.__name__)
def test_weights_by_class_are_those_of_an_array(kind, weight, chains):
    X, Y = chains
    named = Y if 1 in weight else [NAMES[y] for y in Y]
    shape = ((), ()) if kind is StructuralSVM else ()
    by_class = kind(*shape, max_iter=100, class_weight=weight).fit(X, named).potentials(X[:1])[0]
    by_number = kind(*shape, max_iter=100, class_weight=[1.0, 3.0, 1.0]).fit(X, Y).potentials(X[:1])[0]
    assert (by_class.unary == by_number.unary).all()


def test_folds_of_graphs_of_any_sizes_are_joined():
    X, Y = make_chains(6, 4, 2, noise=0.5)
    X, Y = [*X, Graph([[1.0, 0.0]])], [*Y, np.array([0])]
    found = cross_val_predict(UnaryClassifier(max_iter=5), X, Y, cv=LeaveOneOut())
    assert [len(y) for y in found] == [4] * 6 + [1]
    again = cross_val_predict(UnaryClassifier(max_iter=5), X, [np.array(["a", "b"])[y] for y in Y], cv=3)
    assert set(np.concatenate(again)) <= {"a", "b"}


def test_predictions_are_a_list_to_numpy():
    predictions = Predictions([np.array([0, 1]), np.array([1, 1])])
    assert np.array(predictions).tolist() == [[0, 1], [1, 1]]
    assert np.concatenate(predictions).tolist() == [0, 1, 1, 1]
    assert np.array_equal(predictions, [[0, 1], [1, 1]])
    assert np.mean(predictions) == 0.75
    assert isinstance(predictions, list)
