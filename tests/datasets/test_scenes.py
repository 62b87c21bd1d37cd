import numpy as np
import pytest
from scipy.ndimage import binary_erosion
from sklearn.ensemble import RandomForestClassifier

from neuralfactors.datasets import SCENE_CLASSES, make_scenes
from neuralfactors.datasets._scenes import BALLOON, BOAT, FOREST, MEADOW, MOUNTAIN, SKY, WATER

SCENES = make_scenes(30, shape=(60, 80))


def test_the_same_for_a_seed_whatever_the_number():
    for one, two in zip(make_scenes(3, shape=(60, 80)), SCENES, strict=False):
        for first, second in zip(one, two, strict=True):
            np.testing.assert_array_equal(first, second)
    assert (make_scenes(1, shape=(60, 80), random_state=1)[0][0] != SCENES[0][0]).any()


def test_every_class_occurs():
    present = np.unique(np.concatenate([labels.ravel() for _, labels in SCENES]))
    assert present.tolist() == [-1, *range(len(SCENE_CLASSES))]


def test_sky_is_above_land_and_water_below():
    for _, labels in SCENES:
        for column in labels.T:
            order = list(dict.fromkeys(column[np.isin(column, [SKY, WATER, MOUNTAIN, FOREST, MEADOW])].tolist()))
            if SKY in order:
                assert order.index(SKY) == 0
            if WATER in order:
                assert order.index(WATER) > 0
            if MEADOW in order and WATER in order:
                assert order.index(MEADOW) > order.index(WATER)


def test_boundaries_are_void():
    for _, labels in SCENES:
        for label in (SKY, WATER, BALLOON, BOAT):
            core = binary_erosion(labels == label)
            assert (labels[core] == label).all()
        beside = (labels[:, 1:] != labels[:, :-1]) & (labels[:, 1:] >= 0) & (labels[:, :-1] >= 0)
        assert not beside.any()


@pytest.mark.parametrize("pair", [(SKY, WATER), (FOREST, MEADOW), (BALLOON, BOAT)])
def test_the_local_look_does_not_tell(pair):
    """A forest on the mean colours and contrasts of parts cannot tell the two classes of a pair apart."""
    looks, labels = [], []
    for image, truth in make_scenes(150, shape=(60, 80), random_state=5):
        for label in pair:
            inside = binary_erosion(truth == label, iterations=3)  # where no other part shines through
            pixels = image[inside].astype(float)
            if len(pixels) > 20:
                looks.append([*pixels.mean(axis=0), *pixels.std(axis=0)])
                labels.append(label)
    half = len(labels) // 2
    forest = RandomForestClassifier(50, random_state=0).fit(looks[:half], labels[:half])
    chance = max(np.mean(np.array(labels[half:]) == label) for label in pair)
    assert forest.score(looks[half:], labels[half:]) < chance + 0.15
