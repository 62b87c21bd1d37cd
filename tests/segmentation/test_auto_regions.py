"""Regions as fine as the labels need."""

import numpy as np
import pytest

from neuralfactors import StructuralSVM
from neuralfactors.datasets import CELL_CLASSES, make_cells, make_scenes
from neuralfactors.segmentation import ArraySample, Segmenter
from neuralfactors.segmentation import _auto_regions as auto
from neuralfactors.segmentation._auto_regions import RegionTrial, choose_regions
from neuralfactors.vision import FeatureSettings

CELLS = [ArraySample(f"cells {n}", *pair) for n, pair in enumerate(make_cells(3, shape=(256, 256)))]
SCENES = [ArraySample(f"scene {n}", *pair) for n, pair in enumerate(make_scenes(4))]


def chosen(samples, n_labels, **settings):
    return choose_regions(FeatureSettings(**settings), samples, n_labels)


def test_thin_structures_get_finer_regions():
    settings = chosen(CELLS, 2)
    assert settings.n_regions >= 1200
    trial = RegionTrial(settings, CELLS, 2)
    coarse, fine = trial.ceiling(300, 30.0), trial.ceiling(settings.n_regions, settings.compactness)
    assert fine.class_mean > coarse.class_mean + 0.05


def test_large_parts_keep_the_usual_number():
    assert chosen(SCENES, 7).n_regions == 300
    assert chosen(SCENES, 7, features="cnn").n_regions == 1000


def test_no_region_is_too_small_to_describe():
    tiny = [ArraySample("tiny", *make_cells(1, shape=(32, 48))[0])]
    assert chosen(tiny, 2).n_regions == 32 * 48 // 16


def test_many_images_have_no_more_regions_than_can_be_learnt_from(monkeypatch):
    monkeypatch.setattr(auto, "ALL_OF_WORDS", 2000)
    assert chosen(CELLS, 2).n_regions == 600
    monkeypatch.setattr(auto, "ALL_OF_WORDS", 10)
    assert chosen(CELLS, 2).n_regions == 300  # the usual number is never too many


def test_the_compactness_is_chosen_by_the_ceiling():
    image = np.zeros((120, 120, 3), dtype=np.uint8)
    labels = (np.add.outer(np.arange(120), np.arange(120)) // 9 % 2).astype(np.int64)
    image[labels == 1] = 40
    image[0, 0] = 255  # so that the stripes are faint
    stripes = [ArraySample("stripes", image, labels)]
    trial = RegionTrial(FeatureSettings(), stripes, 2)
    settings = chosen(stripes, 2)
    heights = {shape: trial.ceiling(settings.n_regions, shape).pixel for shape in (15.0, 30.0, 60.0)}
    assert heights[settings.compactness] >= max(heights.values()) - 0.003


def test_what_was_chosen_is_kept_with_the_model(tmp_path):
    pairs = [(each.image, each.labels) for each in CELLS]
    model = StructuralSVM((8,), (8,), max_iter=1)
    with pytest.warns(UserWarning, match="too coarse|largest class"):
        segmenter = Segmenter(estimator=model, classes=CELL_CLASSES).fit(pairs)
    assert segmenter.features == "bow"
    found = segmenter.describer_.builder.settings
    assert found == chosen(CELLS, 2)
    segmenter.save(tmp_path)
    loaded = Segmenter.load(tmp_path)
    assert loaded.describer_.builder.settings == found
    np.testing.assert_array_equal(loaded.predict_one(CELLS[0].image), segmenter.predict_one(CELLS[0].image))


def test_large_pictures_are_looked_at_as_features_see_them():
    image, labels = make_cells(1, shape=(96, 192))[0]
    large = [
        ArraySample("large", image.repeat(4, axis=0).repeat(4, axis=1), labels.repeat(4, axis=0).repeat(4, axis=1))
    ]
    small = [ArraySample("small", image, labels)]
    settings = FeatureSettings(max_side=192)
    assert choose_regions(settings, large, 2).n_regions == choose_regions(settings, small, 2).n_regions
    ceilings = [RegionTrial(settings, samples, 2).ceiling(300, 30.0) for samples in (large, small)]
    assert ceilings[0].pixel == pytest.approx(ceilings[1].pixel, abs=0.01)
