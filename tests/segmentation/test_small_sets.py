"""Sets that people have: a dozen pictures of all sizes, classes that are rare or missing. The defaults must do."""

import numpy as np
import pytest

from neuralfactors.datasets import SCENE_CLASSES, make_scenes
from neuralfactors.estimators import UnaryClassifier
from neuralfactors.metrics import Scores
from neuralfactors.segmentation import Segmenter
from neuralfactors.vision import FeatureSettings

SIZES = [(60, 80), (200, 150), (62, 228), (90, 90), (120, 160), (50, 200), (150, 200), (64, 64)]
SETTINGS = FeatureSettings(n_regions=200)


def spotted(shape, seed):
    """A grainy picture with one spot of another grain, about two per cent of it; a rim of void around the spot."""
    rng = np.random.default_rng(seed)
    y, x = np.ogrid[: shape[0], : shape[1]]
    distance = np.hypot(y - rng.integers(shape[0]), x - rng.integers(shape[1])) / min(shape)
    spot = (distance < 0.1)[..., None]
    grain = rng.normal(size=(*shape, 3)) * np.where(spot, 0.02, 0.1)
    image = np.where(spot, (0.5, 0.45, 0.4), (0.4, 0.5, 0.45)) + grain
    labels = np.where(distance < 0.1, 1, np.where(distance < 0.13, -1, 0))
    return np.rint(255 * np.clip(image, 0, 1)).astype(np.uint8), labels


def accuracies(estimator, train, test, classes, **options):
    segmenter = Segmenter(SETTINGS, estimator=estimator, classes=classes, **options).fit(train)
    scores = Scores.of(((labels, segmenter.predict_one(image)) for image, labels in test), len(classes))
    return np.array([scores.pixel_accuracy, scores.class_mean_accuracy])


@pytest.fixture(scope="module")
def spots():
    return [spotted(shape, seed) for seed, shape in enumerate(SIZES)]


def test_rare_class_and_pictures_of_all_sizes(spots):
    joint = accuracies(None, spots[:5], spots[5:], ("ground", "spot"))
    alone = accuracies(UnaryClassifier(max_iter=30), spots[:5], spots[5:], ("ground", "spot"))
    assert (joint > 0.9).all()
    assert (joint >= alone - 0.02).all()


def test_context_helps_from_a_handful_of_scenes():
    scenes = make_scenes(18, shape=(60, 80), random_state=4)
    joint = accuracies(None, scenes[:9], scenes[9:], SCENE_CLASSES)
    alone = accuracies(UnaryClassifier(max_iter=30), scenes[:9], scenes[9:], SCENE_CLASSES)
    assert (joint > alone).all()


def test_a_class_that_the_training_images_lack(spots):
    names = ("ground", "spot", "unicorn")
    joint = accuracies(None, spots[:5], spots[5:], names)
    assert (joint > 0.9).all()  # classes that do not occur do not count
    unseen = [(image, np.where(labels == 1, 2, labels)) for image, labels in spots[5:]]
    assert accuracies(None, spots[:5], unseen, names)[1] == pytest.approx(0.5, abs=0.05)  # they cannot be right


def test_one_class_and_one_picture(spots):
    image, labels = spots[0]
    segmenter = Segmenter(SETTINGS, classes=("ground",)).fit([(image, np.minimum(labels, 0))])
    assert (segmenter.predict_one(spots[1][0]) == 0).all()
