import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, balanced_accuracy_score, jaccard_score
from sklearn.metrics import confusion_matrix as reference

from neuralfactors.metrics import Scores, confusion_matrix


def labels(seed, n=60, n_labels=4, void=0.0):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(n_labels), rng.integers(n_labels, size=n)])  # every label occurs
    y_pred = np.where(rng.random(len(y)) < 0.6, y, rng.integers(n_labels, size=len(y)))
    return np.where(rng.random(len(y)) < void, -1, y), y_pred


@pytest.mark.parametrize("name", ["y", "y_pred"])
def test_masked_labels_are_refused(name):
    given = {"y": [0, 1, 1], "y_pred": [0, 1, 0]}
    with pytest.raises(ValueError, match=f"{name} must not have masked entries: fill them, with -1 where"):
        confusion_matrix(**{**given, name: np.ma.masked_equal(given[name], 0)}, n_labels=2)


@given(seed=st.integers(0, 2**16))
def test_figures_are_those_of_scikit_learn(seed):
    y, y_pred = labels(seed)
    scores = Scores.of([(y, y_pred)], 4)
    np.testing.assert_array_equal(scores.confusion, reference(y, y_pred))
    assert math.isclose(scores.pixel_accuracy, accuracy_score(y, y_pred))
    assert math.isclose(scores.class_mean_accuracy, balanced_accuracy_score(y, y_pred))
    np.testing.assert_allclose(scores.iou, jaccard_score(y, y_pred, average=None))
    assert math.isclose(scores.mean_iou, jaccard_score(y, y_pred, average="macro"))


@given(seed=st.integers(0, 2**16))
def test_void_is_not_counted(seed):
    y, y_pred = labels(seed, void=0.3)
    np.testing.assert_array_equal(confusion_matrix(y, y_pred, 4), confusion_matrix(y[y >= 0], y_pred[y >= 0], 4))


def test_images_add_up_and_may_be_a_generator():
    pairs = [labels(seed, n=30) for seed in range(3)]
    together = [np.concatenate(parts) for parts in zip(*pairs, strict=True)]
    np.testing.assert_array_equal(Scores.of(iter(pairs), 4).confusion, confusion_matrix(*together, 4))


def test_weights():
    matrix = confusion_matrix([0, 1, 1, -1], [0, 0, 1, 1], 2, weight=[5, 2, 3, 100])
    np.testing.assert_array_equal(matrix, [[5, 0], [2, 3]])


def test_a_label_that_does_not_occur_is_left_out_of_the_means():
    scores = Scores.of([([0, 0, 1, 1], [0, 2, 1, 1])], 4)
    np.testing.assert_array_equal(scores.class_accuracy, [0.5, 1, np.nan, np.nan])
    assert scores.class_mean_accuracy == 0.75
    np.testing.assert_array_equal(scores.iou, [0.5, 1, 0, np.nan])
    assert scores.mean_iou == 0.75


def test_nothing_counted():
    scores = Scores.of([([-1, -1], [0, 1])], 2)
    assert math.isnan(scores.pixel_accuracy)
    assert math.isnan(scores.class_mean_accuracy)
    assert math.isnan(scores.mean_iou)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 1], [0], 2), r"the same shape, got \(2,\) and \(1,\)"),
        (([0, 2], [0, 1], 2), "y must contain labels from 0 to 1, got 2"),
        (([0, -2], [0, 1], 2), "y must contain labels from 0 to 1, got -2"),
        (([0, 1], [0, -1], 2), "y_pred must contain labels from 0 to 1, got -1"),
        (([0.0, 1.0], [0, 1], 2), "y must contain integers, got dtype float64"),
        (([0, 1], [0, 1], 2, [1.0]), r"weight must have the shape of y, \(2,\), got \(1,\)"),
    ],
)
def test_wrong_input_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        confusion_matrix(*arguments)
