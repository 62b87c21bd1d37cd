"""Regions as fine as the labels need."""

from dataclasses import replace

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


def choice(samples, n_labels, **settings):
    return choose_regions(FeatureSettings(**settings), samples, n_labels)


def chosen(samples, n_labels, **settings):
    return choice(samples, n_labels, **settings).settings


def rings(n):
    """Pictures of discs and thin rings."""
    rng, (rows, columns), found = np.random.default_rng(3), np.mgrid[:180, :240], []
    for number in range(n):
        labels = np.zeros((180, 240), dtype=np.int64)
        for k in range(4):
            distance = np.hypot(rows - rng.uniform(30, 150), columns - rng.uniform(30, 210))
            radius = rng.uniform(12, 26)
            labels[(distance < radius) & ((k % 2 == 0) | (distance > radius - 5))] = 1 + k % 2
        grey = 110 + 60 * (labels > 0) + rng.normal(0, 25, labels.shape)
        image = np.repeat(grey.clip(0, 255).astype(np.uint8)[..., None], 3, axis=2)
        found.append(ArraySample(f"rings {number}", image, labels))
    return found


def test_thin_structures_get_finer_regions():
    settings = chosen(CELLS, 2)
    assert settings.n_regions >= 1200
    trial = RegionTrial(settings, CELLS, 2)
    coarse, fine = trial.ceiling(FeatureSettings(n_regions=300)), trial.ceiling(settings)
    assert fine.class_mean > coarse.class_mean + 0.05


def test_large_parts_keep_the_usual_number():
    assert chosen(SCENES, 7) == FeatureSettings(n_regions=300)
    assert choice(SCENES, 7).stop == "enough"
    assert chosen(SCENES, 7, features="cnn").n_regions == 1000


@pytest.mark.parametrize("features", ["bow", "cnn"])
def test_what_the_choice_is_satisfied_with_the_advice_is_silent_about(features):
    samples = rings(4)
    found = choice(samples, 3, features=features)
    ceiling = RegionTrial(found.settings, samples, 3).ceiling(found.settings)
    assert found.stop == "enough"
    assert not ceiling.is_low
    assert ceiling.advice(["background", "disc", "ring"], found.settings.n_regions, found.stop) == ""


def test_what_few_images_show_does_not_make_regions_finer():
    dark, inside = np.full((256, 256, 3), 60, dtype=np.uint8), np.zeros((256, 256), dtype=np.int64)
    found = choice([*CELLS[:2], *(ArraySample(f"plain {n}", dark, inside) for n in range(7))], 2)  # two of nine
    assert (found.settings.n_regions, found.stop) == (300, "rare")


def test_where_finer_regions_gain_nothing_the_choice_says_so():
    rng = np.random.default_rng(0)
    image = np.full((900, 900, 3), 90, dtype=np.uint8)
    noise = [ArraySample("noise", image, rng.integers(0, 2, (900, 900)))]  # of which the picture shows nothing
    found = choice(noise, 2)
    assert (found.settings.n_regions, found.stop) == (300, "flat")


def test_with_a_network_thin_structures_have_their_own_regions():
    assert [chosen(SCENES, 7, features=kind).merge_from for kind in ("bow", "cnn")] == [1, 4]


def test_no_region_is_too_small_to_describe():
    tiny = [ArraySample("tiny", *make_cells(1, shape=(32, 48))[0])]
    found = choice(tiny, 2)
    assert (found.settings.n_regions, found.stop) == (32 * 48 // 16, "pixels")


def test_many_images_have_no_more_regions_than_can_be_learnt_from(monkeypatch):
    monkeypatch.setattr(auto, "ALL_OF_WORDS", 2000)
    found = choice(CELLS, 2)
    assert (found.settings.n_regions, found.stop) == (600, "budget")
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
    shapes = (15.0, 30.0, 60.0)
    heights = {shape: trial.ceiling(replace(settings, compactness=shape)).pixel for shape in shapes}
    assert heights[settings.compactness] >= max(heights.values()) - 0.003


def test_what_was_chosen_is_kept_with_the_model(tmp_path):
    pairs = [(each.image, each.labels) for each in CELLS]
    model = StructuralSVM((8,), (8,), max_iter=1)
    segmenter = Segmenter(estimator=model, classes=CELL_CLASSES).fit(pairs)
    assert segmenter.features == "bow"
    found = segmenter.describer_.builder.settings
    assert found == chosen(CELLS, 2)
    segmenter.save(tmp_path)
    loaded = Segmenter.load(tmp_path)
    assert loaded.describer_.builder.settings == found
    assert loaded.describer_.stop == segmenter.describer_.stop == choice(CELLS, 2).stop
    np.testing.assert_array_equal(loaded.predict_one(CELLS[0].image), segmenter.predict_one(CELLS[0].image))


def test_large_pictures_are_looked_at_as_features_see_them():
    image, labels = make_cells(1, shape=(96, 192))[0]
    large = [
        ArraySample("large", image.repeat(4, axis=0).repeat(4, axis=1), labels.repeat(4, axis=0).repeat(4, axis=1))
    ]
    small = [ArraySample("small", image, labels)]
    settings = FeatureSettings(max_side=192)
    assert choose_regions(settings, large, 2) == choose_regions(settings, small, 2)
    ceilings = [
        RegionTrial(settings, samples, 2).ceiling(replace(settings, n_regions=300)) for samples in (large, small)
    ]
    assert ceilings[0].pixel == pytest.approx(ceilings[1].pixel, abs=0.01)
