"""What `random_state` may be, in every room."""

import numpy as np
import pytest

from neuralfactors._common.seeds import seed_of
from neuralfactors.datasets import ImageFolder, make_chains, make_grids, make_scenes, make_synergy, write_scenes
from neuralfactors.vision import FeatureSettings


def test_integers_are_seeds_and_generators_give_the_next():
    assert seed_of(5) == seed_of(np.uint8(5)) == 5
    for make in (np.random.RandomState, np.random.default_rng):
        generator, again = make(0), make(0)
        assert [seed_of(generator), seed_of(generator)] == [seed_of(again), seed_of(again)]
        assert seed_of(generator) != seed_of(generator)
    assert seed_of(None) != seed_of(None)


@pytest.mark.parametrize("wrong", [-1, 2**63, True, 1.5, "0"])
def test_anything_else_is_refused(wrong):
    with pytest.raises(ValueError, match="random_state must be None, a numpy Generator or RandomState, or an integer"):
        seed_of(wrong)


@pytest.mark.parametrize("make", [make_chains, make_grids, make_synergy])
def test_graphs_accept_generators(make):
    first, again = (make(2, random_state=np.random.RandomState(1))[0] for _ in range(2))
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a.node_features, b.node_features)


def test_pictures_and_folders_accept_generators(tmp_path):
    first, again = (make_scenes(1, shape=(8, 8), random_state=np.random.default_rng(1))[0][0] for _ in range(2))
    np.testing.assert_array_equal(first, again)
    folder = write_scenes(tmp_path, 3, shape=(8, 8), random_state=np.random.RandomState(1))
    assert len(ImageFolder(folder, random_state=np.random.RandomState(1))["train"]) == 1
    assert FeatureSettings(random_state=np.random.default_rng(1)).random_state == seed_of(np.random.default_rng(1))
