"""How many regions an image gets, and how compact they are, where nobody says: chosen by the labels to be learnt.

Regions are made finer until their ceiling is high enough, or hardly rises any more, or training would take too long.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from neuralfactors._common.ceiling import Ceiling
from neuralfactors.segmentation._graphs import RegionTruth, ceiling_of
from neuralfactors.segmentation._labelled_images import LabelledImage, check_label_map
from neuralfactors.vision import FeatureSettings
from neuralfactors.vision._channels import check_picture, reduce_to, rgb_of
from neuralfactors.vision._region_geometry import enlarge, label_counts
from neuralfactors.vision._regions import find_regions

LOOKED_AT = 10  # training images, at equal distances
SMALLEST_AREA = 16  # pixels of a region: with fewer there is little to describe
# Regions of all training images together: learning from them takes some ten minutes on one core and, at 1 KB a region
# described by words and 8 KB by a network, a gigabyte of memory at most.
ALL_OF_WORDS, ALL_OF_CNN = 250_000, 130_000
# Of the ceiling. By classes it asks for less: a few tiny ones among many are in one or two of the ten images, and on
# SIFT Flow the balance that goes with finer regions costs bags of words three points.
ENOUGH_BY_PIXEL, ENOUGH_BY_CLASS = 0.95, 0.70
LEAST_GAIN = 0.01  # of the ceiling, the mean of both figures: what twice as many regions must gain
LEAST_FOR_SHAPE = 0.003  # and what another compactness must
SHAPES = (0.5, 2.0)  # times the compactness of the settings


def choose_regions(settings: FeatureSettings, samples: Sequence[LabelledImage], n_labels: int) -> FeatureSettings:
    """The settings with the number of regions and the compactness that suit the labels of training images.

    Parameters
    ----------
    settings : FeatureSettings
        What else to compute.
    samples : sequence of LabelledImage
        All training images, of which ten are looked at.
    n_labels : int
        Number of labels.

    Returns
    -------
    FeatureSettings
        With at least the usual number of regions, 300 or with a network 1000, unless pictures are tiny.
    """
    trial = RegionTrial(settings, samples, n_labels)
    n_regions = _fine_enough(trial, settings)
    known = {settings.compactness: _height(trial.ceiling(n_regions, settings.compactness)) + LEAST_FOR_SHAPE}
    for factor in SHAPES:
        shape = factor * settings.compactness
        known[shape] = _height(trial.ceiling(n_regions, shape))
    return replace(settings, n_regions=n_regions, compactness=max(known, key=lambda shape: known[shape]))


class RegionTrial:
    """Some of the training images, to try regions on."""

    def __init__(self, settings: FeatureSettings, samples: Sequence[LabelledImage], n_labels: int) -> None:
        self._settings, self._n_labels, self._n_images = settings, n_labels, len(samples)
        self._samples = samples[:: -(-len(samples) // LOOKED_AT)]

    @cached_property
    def _pictures(self) -> list[tuple[NDArray[np.uint8], NDArray[np.int64]]]:
        return [self._reduced(each) for each in self._samples]

    def _reduced(self, sample: LabelledImage) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        # As the features will see it, and labels of the same size: ten large pictures would not fit in memory.
        image = rgb_of(reduce_to(check_picture(sample.read_image()), self._settings.max_side))
        labels = check_label_map(sample.read_labels(), sample.name)
        return image, enlarge(labels, (image.shape[0], image.shape[1]))

    @property
    def most(self) -> int:
        """How many regions an image may have."""
        usual, together = self._settings.usual_regions, ALL_OF_CNN if self._settings.uses_cnn else ALL_OF_WORDS
        pixels = float(np.median([image.shape[0] * image.shape[1] for image, _ in self._pictures]))
        return max(1, min(int(pixels) // SMALLEST_AREA, max(usual, together // self._n_images)))

    def ceiling(self, n_regions: int, compactness: float) -> Ceiling:
        """That of these images by such regions."""
        truth = []
        for image, labels in self._pictures:
            found = find_regions(image, n_regions, compactness=compactness, min_area=self._settings.min_area)
            truth.append(RegionTruth.of(label_counts(found, labels)))
        return ceiling_of(truth, self._n_labels)


def _fine_enough(trial: RegionTrial, settings: FeatureSettings) -> int:
    n_regions = min(settings.usual_regions, trial.most)
    reached = trial.ceiling(n_regions, settings.compactness)
    while not _is_enough(reached) and 2 * n_regions <= trial.most:
        finer = trial.ceiling(2 * n_regions, settings.compactness)
        if _height(finer) < _height(reached) + LEAST_GAIN:
            break
        n_regions, reached = 2 * n_regions, finer
    return n_regions


def _is_enough(ceiling: Ceiling) -> bool:
    if ceiling.pixel is None or ceiling.class_mean is None:
        return True  # nothing is labelled
    return ceiling.pixel >= ENOUGH_BY_PIXEL and ceiling.class_mean >= ENOUGH_BY_CLASS


def _height(ceiling: Ceiling) -> float:
    return ((ceiling.pixel or 0.0) + (ceiling.class_mean or 0.0)) / 2
