"""Decoder: a method that takes one graph at a time gives for a batch what the others give."""

import numpy as np
import pytest
import torch
from oracles import random_potentials

from neuralfactors import Potentials
from neuralfactors.learning import Decoder


@pytest.mark.parametrize("seed", range(3))
def test_exact_agrees_with_enumeration(seed):
    potentials, _ = random_potentials(seed, sizes=(4, 1, 5))
    exact, enumerated = Decoder("exact")(potentials), Decoder("exhaustive")(potentials)
    assert exact.labels.tolist() == enumerated.labels.tolist()
    assert exact.optimal.all()
    np.testing.assert_allclose(exact.score, enumerated.score, rtol=1e-6)
    np.testing.assert_allclose(exact.bound, enumerated.score, rtol=1e-4)


@pytest.mark.parametrize("method", ["auto", "exact"])
def test_a_batch_of_no_graphs(method):
    no_edges, start = torch.zeros((0, 2), dtype=torch.int64), torch.zeros(1, dtype=torch.int64)
    found = Decoder(method)(Potentials(torch.zeros(0, 3), torch.zeros(0, 3, 3), no_edges, start, start))
    assert found.labels.dtype == torch.int64
    assert found.optimal.dtype == torch.bool
    assert len(found.labels) == len(found.score) == len(found.bound) == len(found.optimal) == 0
