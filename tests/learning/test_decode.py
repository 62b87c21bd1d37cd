"""Decoder: a method that takes one graph at a time gives for a batch what the others give."""

import numpy as np
import pytest
from oracles import random_potentials

from neuralfactors.learning.decode import Decoder


@pytest.mark.parametrize("seed", range(3))
def test_exact_agrees_with_enumeration(seed):
    potentials, _ = random_potentials(seed, sizes=(4, 1, 5))
    exact, enumerated = Decoder("exact")(potentials), Decoder("exhaustive")(potentials)
    assert exact.labels.tolist() == enumerated.labels.tolist()
    assert exact.optimal.all()
    np.testing.assert_allclose(exact.score, enumerated.score, rtol=1e-6)
    np.testing.assert_allclose(exact.bound, enumerated.score, rtol=1e-4)
