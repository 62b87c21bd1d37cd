"""The quadratic programme over a simplex against its optimality conditions and a brute-force grid."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralfactors.learning._simplex import maximise_on_simplex


@given(seed=st.integers(0, 2**16), size=st.integers(1, 8), total=st.sampled_from([1e-3, 1.0, 50.0]))
def test_optimality_conditions(seed, size, total):
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(size, 3))
    gram, linear = factor @ factor.T, rng.normal(size=size)
    alpha = maximise_on_simplex(gram, linear, np.eye(size)[0] * total)
    gradient = linear - gram @ alpha
    assert alpha.min() >= 0
    assert alpha.sum() == pytest.approx(total)
    used = alpha > 1e-9 * total
    assert gradient[used].min() >= gradient.max() - 1e-6 * max(1.0, np.abs(linear).max())


def test_two_entries_by_hand():
    grid = np.linspace(0, 1, 10_001)
    gram, linear = np.array([[2.0, 0.3], [0.3, 1.0]]), np.array([0.4, 0.1])
    points = np.stack([grid, 1 - grid], axis=1)
    values = points @ linear - 0.5 * np.einsum("ni,ij,nj->n", points, gram, points)
    found = maximise_on_simplex(gram, linear, np.array([0.0, 1.0]))
    np.testing.assert_allclose(found, points[values.argmax()], atol=1e-3)
