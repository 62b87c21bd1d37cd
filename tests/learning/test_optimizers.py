"""Learning-rate curves and averages against their formulas."""

import math

import pytest
import torch

from neuralfactors.learning.optimizers import Average, learning_rate_factor


def test_learning_rate_curves():
    assert learning_rate_factor("inverse", 3.0, 2.0, 10) == pytest.approx(1 / 5)
    assert learning_rate_factor("constant", 3.0, 2.0, 10) == 1.0
    assert learning_rate_factor("cosine", 1.0, 0.0, 10) == 1.0
    assert learning_rate_factor("cosine", 6.0, 0.0, 10) == pytest.approx(0.5)
    assert learning_rate_factor("cosine", 11.0, 0.0, 10) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(("kind", "weights"), [("uniform", [1, 1, 1, 1]), ("linear", [1, 2, 3, 4])])
def test_averages(kind, weights):
    iterates = [torch.tensor([float(k), math.sin(k)], dtype=torch.float64) for k in range(4)]
    average = Average(kind, [torch.full((2,), 99.0, dtype=torch.float64)])
    for iterate in iterates:
        average.update([iterate])
    expected = sum(w * iterate for w, iterate in zip(weights, iterates, strict=True)) / sum(weights)
    torch.testing.assert_close(average.values[0], expected)
