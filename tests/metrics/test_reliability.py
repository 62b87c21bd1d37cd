"""Calibration errors are those of a plain loop, vanish for honest probabilities, and count what they are told to."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralfactors.metrics import Reliability, expected_calibration_error


def drawn(seed, n=50, L=3):
    rng = np.random.default_rng(seed)
    return rng.integers(-1, L, size=n), rng.dirichlet(np.ones(L), size=n)


def by_hand(y, P, n_bins, weight):
    total = error = 0.0
    for b in range(n_bins):
        inside = [
            i for i in range(len(y)) if y[i] >= 0 and min(int(P[i].max() * n_bins), n_bins - 1) == b
        ]  # fmt: skip
        mass = sum(weight[i] for i in inside)
        if mass:
            right = sum(weight[i] for i in inside if P[i].argmax() == y[i]) / mass
            sure = sum(weight[i] * P[i].max() for i in inside) / mass
            total, error = total + mass, error + mass * abs(right - sure)
    return error / total


@given(seed=st.integers(0, 2**16), n_bins=st.integers(1, 12))
def test_the_error_is_that_of_a_loop(seed, n_bins):
    y, P = drawn(seed)
    weight = np.random.default_rng(seed).random(len(y))
    split = lambda values: [values[:20], values[20:]]  # noqa: E731
    found = Reliability.of(split(y), split(P), weight=split(weight), n_bins=n_bins)
    assert found.expected_calibration_error == pytest.approx(by_hand(y, P, n_bins, weight))
    assert found.share.sum() == pytest.approx(1.0)
    plain = expected_calibration_error(split(y), split(P), n_bins=n_bins)
    assert plain == pytest.approx(by_hand(y, P, n_bins, np.ones(len(y))))


def test_honest_probabilities_lie_on_the_diagonal():
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(3), size=20000)
    y = (P.cumsum(axis=1) < rng.random((len(P), 1))).sum(axis=1)
    assert expected_calibration_error([y], [P]) < 0.02
    assert expected_calibration_error([y], [P**4 / (P**4).sum(axis=1, keepdims=True)]) > 0.1


def test_labels_may_be_names():
    y, P = drawn(0)
    names = np.array(["a", "b", "c"])
    named = np.where(y < 0, None, names[y])
    assert expected_calibration_error([named], [P], classes=names) == expected_calibration_error([y], [P])
    assert Reliability.of([["z"]], [[[0.9, 0.1, 0.0]]], classes=names).accuracy[9] == 0.0


def test_where_nothing_is_labelled_nothing_is_perfect():
    assert np.isnan(expected_calibration_error([[-1, -1]], [[[0.9, 0.1], [0.4, 0.6]]]))


EVEN = [[0.5, 0.5]]
BAD = [
    ({"Y": [[0]], "P": [EVEN, EVEN]}, "Y, P and weight need an array per graph, got 1, 2 and 1"),
    ({"Y": [[0]], "P": [EVEN * 2]}, r"Y\[0\], P\[0\] and the weight of graph 0 need an entry per node, got shapes"),
    ({"Y": [[0, 1], [0]], "P": [EVEN, EVEN * 2]}, r"got shapes \(2,\), \(1, 2\) and \(2,\)"),
    ({"Y": [[0]], "P": [[0.5, 0.5]]}, r"got shapes \(1,\), \(2,\) and \(1,\)"),
    ({"Y": [[0]], "P": [EVEN], "weight": [[1.0, 1.0]]}, r"got shapes \(1,\), \(1, 2\) and \(2,\)"),
    ({"Y": [[0]], "P": [[[3.0, -1.0]]]}, r"P\[0\] must contain probabilities, from 0 to 1, got -1 to 3"),
    ({"Y": [[0]], "P": [[[np.nan, 0.5]]]}, r"P\[0\] must contain probabilities"),
    (
        {"Y": [["a", "c"]], "P": [[[0.9, 0.1, 0.0], [0.0, 0.1, 0.9]]]},
        "classes must be those of the estimator, classes_",
    ),
    ({"Y": [[0]], "P": [EVEN], "n_bins": 0}, "n_bins must be at least 1, got 0"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_what_does_not_fit_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Reliability.of(**arguments)


@given(seed=st.integers(0, 2**16))
def test_the_order_of_graphs_and_the_unit_of_weights_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, size=4)
    Y, P = zip(*(drawn(seed + k, n) for k, n in enumerate(sizes)), strict=True)
    weight, order = [rng.random(n) for n in sizes], rng.permutation(4)
    found = Reliability.of(Y, P, weight=weight)
    again = Reliability.of([Y[k] for k in order], [P[k] for k in order], weight=[7 * weight[k] for k in order])
    for name in ("confidence", "accuracy", "share"):
        np.testing.assert_allclose(getattr(again, name), getattr(found, name), atol=1e-12)
