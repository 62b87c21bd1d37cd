"""Label maps that are mostly void: thin strokes label the regions that they cross, and training goes by how few."""

import numpy as np
import pytest

from neuralfactors.datasets import SCENE_CLASSES, make_scenes
from neuralfactors.segmentation import Segmenter, default_parameters
from neuralfactors.segmentation._defaults import SPARSE
from neuralfactors.segmentation._labelled_images import to_samples
from neuralfactors.segmentation._targets import Targets
from neuralfactors.vision import FeatureSettings

SCENES = make_scenes(6, shape=(60, 80))
SETTINGS = FeatureSettings(n_regions=60)
pytestmark = pytest.mark.filterwarnings("ignore:The regions, about", "ignore:The model has learnt hardly more")


def strokes(labels, every=30):
    """The labels along a few rows of pixels."""
    few = np.full_like(labels, -1)
    few[every // 2 :: every] = labels[every // 2 :: every]
    return few


@pytest.fixture(scope="module")
def described():
    pairs = [(image, strokes(labels)) for image, labels in SCENES]
    samples, classes = to_samples(pairs, "train", SCENE_CLASSES)
    describer = Segmenter(SETTINGS).describer(classes)
    return describer, describer.learn(samples)


def test_strokes_label_the_regions_that_they_cross(described):
    describer, graphs = described
    assert 0 < graphs.labelled_share < SPARSE
    learnt = Targets().of(graphs, describer.n_labels)
    for y, truth in zip(learnt.Y, graphs.truth, strict=True):
        np.testing.assert_array_equal(y >= 0, np.isin(np.arange(len(y)), truth.node))
    assert sum((y >= 0).sum() for y in graphs.Y) == 0  # void has the majority of pixels everywhere


def test_void_votes_where_most_regions_are_labelled():
    samples, classes = to_samples(SCENES, "train", SCENE_CLASSES)
    describer = Segmenter(SETTINGS).describer(classes)
    graphs = describer.learn(samples)
    assert graphs.labelled_share == 1.0
    for y, truth in zip(Targets().of(graphs, describer.n_labels).Y, graphs.truth, strict=True):
        np.testing.assert_array_equal(y, truth.y)


def test_few_labels_count_as_few_images():
    usual, sparse = (default_parameters(276, {}, cnn=False, labelled=share) for share in (0.9, 0.01))
    assert usual == default_parameters(276, {}, cnn=False)
    assert (usual["C"], sparse["C"]) == (100.0, 20.0)
    assert (usual["trainer__pretrain"], sparse["trainer__pretrain"]) == (0, 14)
    assert sparse["trainer__learning_rate"] == default_parameters(10, {}, cnn=False)["trainer__learning_rate"]
    many = default_parameters(2760, {}, cnn=False, labelled=0.4)
    assert many["trainer__pretrain"] == 0


def test_a_model_learns_from_strokes():
    pairs = [(image, strokes(labels)) for image, labels in SCENES[:5]]
    segmenter = Segmenter(SETTINGS, classes=SCENE_CLASSES).fit(pairs)
    image, labels = SCENES[5]
    assert segmenter.stages_[-1].C == 20.0
    assert (segmenter.predict_one(image) == labels).mean() > 0.4  # a seventh by chance


def test_strokes_judge_as_they_teach():
    pairs = [(image, strokes(labels)) for image, labels in SCENES]
    segmenter = Segmenter(SETTINGS, classes=SCENE_CLASSES).fit(pairs[:4], validation=pairs[4:])
    assert 0 < segmenter.stages_[-1].history_[-1]["accuracy"] <= 1
