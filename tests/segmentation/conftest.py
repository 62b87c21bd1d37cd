"""A small model, and graphs that it has not seen."""

import pytest

from neuralfactors.datasets import SCENE_CLASSES, make_scenes
from neuralfactors.estimators import StructuralSVM
from neuralfactors.segmentation import Segmenter
from neuralfactors.segmentation._labelled_images import to_samples
from neuralfactors.vision import FeatureSettings


@pytest.fixture(scope="session")
def small_model():
    model = StructuralSVM((8,), (8,), max_iter=3)
    segmenter = Segmenter(FeatureSettings(n_regions=30), estimator=model, classes=SCENE_CLASSES)
    return segmenter.fit(make_scenes(6, shape=(48, 64)))


@pytest.fixture(scope="session")
def held_graphs(small_model):
    scenes = make_scenes(4, shape=(48, 64), random_state=9)
    scenes[0][1][:20] = -1  # void does not count
    return small_model.describer_.describe(to_samples(scenes, "test", SCENE_CLASSES)[0])


@pytest.fixture(scope="module")
def described():
    """A describer, and the graphs of the scenes that it has learnt from."""
    samples, classes = to_samples(make_scenes(5, shape=(48, 64)), "train")
    describer = Segmenter(FeatureSettings(n_regions=30)).describer(classes)
    return describer, describer.learn(samples)
