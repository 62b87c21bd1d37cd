"""Figures of label vectors are those of scikit-learn on all nodes at once, and work in its searches by name."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline

from neuralfactors.datasets import make_chains
from neuralfactors.estimators import GraphScaler, UnaryClassifier
from neuralfactors.metrics import exact_match, get_scorer, macro_f1, node_accuracy

NAMES = np.array(["a", "b", "c", "d"])


@given(seed=st.integers(0, 2**16), named=st.booleans())
def test_figures_are_those_of_scikit_learn(seed, named):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, size=4)
    Y, Y_pred = ([rng.integers(0, 4, size=n) for n in sizes] for _ in range(2))
    void = [rng.random(n) < 0.3 for n in sizes]
    void[0][:] = False
    weight = rng.integers(1, 4, size=4)
    counted = np.concatenate([~v for v in void])
    truth, predicted = (np.concatenate(A)[counted] for A in (Y, Y_pred))
    each = np.repeat(weight, sizes)[counted]
    if named:
        Y = [np.where(v, None, NAMES[y]) for y, v in zip(Y, void, strict=True)]
        Y_pred = [NAMES[y] for y in Y_pred]
    else:
        Y = [np.where(v, -1, y) for y, v in zip(Y, void, strict=True)]
    assert node_accuracy(Y, Y_pred) == pytest.approx(accuracy_score(truth, predicted))
    assert macro_f1(Y, Y_pred) == pytest.approx(f1_score(truth, predicted, average="macro"))
    assert node_accuracy(Y, Y_pred, weight) == pytest.approx(accuracy_score(truth, predicted, sample_weight=each))
    assert macro_f1(Y, Y_pred, weight) == pytest.approx(f1_score(truth, predicted, average="macro", sample_weight=each))
    right = [all((a == b) | v) for a, b, v in zip(Y, Y_pred, void, strict=True)]
    assert exact_match(Y, Y_pred) == np.mean(right)
    assert exact_match(Y, Y_pred, weight) == pytest.approx(np.average(right, weights=weight))


@pytest.mark.parametrize("figure", [node_accuracy, macro_f1, exact_match])
def test_no_graph_and_no_label_are_no_number(figure):
    assert np.isnan(figure([], []))
    assert np.isnan(figure([[0, 1]], [[0, 1]], [0.0]))
    assert np.isnan(figure([[-1]], [[0]])) or figure is exact_match
    assert figure([[-1, 0]], [[5, 0]]) == 1.0


def test_labels_may_be_bool_as_in_fit():
    assert node_accuracy([np.array([True, False])], [np.array([1, 1])]) == 0.5


BAD = [
    (([[0]], [[0], [1]]), "Y and Y_pred need an array per graph, got 1 and 2"),
    (([[0, 0, 0]], [[0]]), r"Y\[0\] and Y_pred\[0\] must have the same shape, got \(3,\) and \(1,\)"),
    (([[0, 1], [0]], [[0], [0, 1]]), r"Y\[0\] and Y_pred\[0\] must have the same shape"),
    (([[0]], [[0.0]]), "Y_pred must contain integers, got dtype float64"),
    (([[0]], [[0]], [1.0, 2.0]), "sample_weight needs a finite number ≥ 0 for each of 1 graphs"),
    (([[0], [1]], [[0], [1]], [1.0, -1.0]), "sample_weight needs a finite number ≥ 0 for each of 2 graphs"),
    (([[0], [1]], [[0], [1]], [1.0, np.nan]), "sample_weight needs a finite number ≥ 0 for each of 2 graphs"),
]


@pytest.mark.parametrize("figure", [node_accuracy, macro_f1, exact_match])
@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_what_does_not_fit_is_refused(figure, arguments, message):
    with pytest.raises(ValueError, match=message):
        figure(*arguments)


def test_scorers_have_names():
    with pytest.raises(ValueError, match=r"name must be one of \['exact_match', 'macro_f1', 'node_accuracy'\]"):
        get_scorer("f1")


def test_searches_use_scorers_by_name():
    X, Y = make_chains(12, 5, 3, noise=0.7)
    named = [NAMES[y] for y in Y]
    model = make_pipeline(GraphScaler(), UnaryClassifier(max_iter=5))
    scores = cross_val_score(model, X, named, cv=3, scoring=get_scorer("macro_f1"))
    assert ((scores > 0.2) & (scores <= 1)).all()
    several = {name: get_scorer(name) for name in ("node_accuracy", "exact_match")}
    found = cross_validate(model, X, named, cv=3, scoring=several)
    assert (found["test_exact_match"] <= found["test_node_accuracy"]).all()
    assert found["test_node_accuracy"] == pytest.approx(cross_val_score(model, X, named, cv=3))
    search = GridSearchCV(model, {"unaryclassifier__C": [0.1, 10.0]}, cv=2, scoring=get_scorer("node_accuracy"))
    assert search.fit(X, named).predict(X)[0][0] in NAMES
    assert search.classes_.tolist() == ["a", "b", "c"]
    assert search.n_features_in_ == 3
