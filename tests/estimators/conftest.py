"""One thread: these problems are too small to share, and results must not depend on the machine's cores."""

import pytest
import torch


@pytest.fixture(autouse=True)
def single_thread():
    """Run torch on one thread for the time of a test."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
