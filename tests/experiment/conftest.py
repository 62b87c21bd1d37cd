"""Small scenes to run experiments on."""

import pytest

from neuralfactors.datasets import write_scenes


@pytest.fixture(scope="session")
def scenes(tmp_path_factory):
    """A folder of 20 small scenes; tests read it only."""
    return write_scenes(tmp_path_factory.mktemp("scenes"), 20, shape=(48, 64))
