"""Small chains, and one thread: results must not depend on the machine's cores."""

import pytest
import torch

from neuralfactors.datasets import make_chains


@pytest.fixture(autouse=True)
def single_thread():
    """Run torch on one thread for the time of a test."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def chains():
    """Graphs small enough to train on many times."""
    return make_chains(30, 6, 3, noise=0.7)
