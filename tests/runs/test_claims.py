"""What intervals say of a claim."""

import pytest

from neuralfactors._runs.claims import Interval, verdict


@pytest.mark.parametrize(
    ("pixel", "class_mean", "expected"),
    [
        ((0.02, 0.01, 0.03), (0.0, -0.01, 0.01), "holds"),
        ((0.02, 0.01, 0.03), (-0.001, -0.01, 0.01), "undecided"),
        ((0.02, -0.01, 0.03), (0.01, -0.01, 0.03), "undecided"),
        ((-0.02, -0.03, -0.01), (-0.01, -0.03, 0.01), "does not hold"),
        ((-0.02, -0.03, -0.01), (0.01, -0.03, 0.02), "undecided"),
    ],
)
def test_verdicts(pixel, class_mean, expected):
    assert verdict({"pixel": Interval(*pixel), "class_mean": Interval(*class_mean)}) == expected
