"""Findings: verdicts on the paper's claims, seed by seed."""

import pytest

from neuralfactors.report.findings import gains, points, verdict


@pytest.mark.parametrize(
    ("measures", "expected"),
    [
        ([[1.0, 2.0], [0.5, 0.1]], "holds"),
        ([[3.0, -1.0], [0.5, 0.1]], "holds on average"),
        ([[3.0, 1.0], [-0.5, -0.1]], "holds in part"),
        ([[-3.0, 1.0], [-0.5, -0.1]], "does not hold"),
        ([[], []], "not measured"),
    ],
)
def test_verdicts(measures, expected):
    assert verdict(measures) == expected


def test_gains_are_paired_by_seed():
    assert gains({0: 5.0, 1: 7.0, 2: 9.0}, {1: 4.0, 0: 4.0}) == [1.0, 3.0]
    assert points([[0.01, 0.03], [-0.01]]) == "+2.0 ± 1.4 / −1.0"
