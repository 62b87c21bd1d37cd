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


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="Y, P and weight need an entry per node, got 1, 2 and 1"):
        Reliability.of([[0]], [[[0.5, 0.5], [0.5, 0.5]]])
