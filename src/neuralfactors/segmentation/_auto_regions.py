"""How many regions an image gets, and how compact they are, where users do not say: chosen by the labels to be learnt.

Regions are made finer until their ceiling hardly rises any more, or training would take too long. Classes that few
images show do not count: they are hard to learn at all, and all others are harder to describe by finer regions. Where
the ceiling is still low then, the choice says why it stopped; where it is enough, there is no advice. Where labels
need it, SLIC finds more regions than that, of which those most alike are merged: thin structures have their own then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from neuralfactors._common.ceiling import Ceiling, Stop
from neuralfactors.segmentation._graphs import RegionTruth, ceiling_of
from neuralfactors.segmentation._labelled_images import LabelledImage, check_label_map
from neuralfactors.vision import FeatureSettings
from neuralfactors.vision._channels import check_picture, reduce_to, rgb_of
from neuralfactors.vision._features import regions_of
from neuralfactors.vision._region_geometry import enlarge, label_counts

LOOKED_AT = 10  # training images, evenly spaced
OFTEN = 0.25  # of these show a class that regions are made finer for
# Pixels of a region: with fewer than the first there is little to describe; finer ones than usual have the second.
SMALLEST_AREA, SMALLEST_IF_FINER = 16, 32
# Regions of all training images together: learning from them takes some half an hour on one core and, at 1 KB a region
# described by words and 5 KB by a network, two and a half gigabytes of memory at most.
ALL_OF_WORDS, ALL_OF_CNN = 500_000, 500_000
# Of the ceiling, the mean of both figures: what twice as many regions must gain where it is low, and where it is not.
LEAST_IF_LOW, LEAST_IF_HIGH = 0.0065, 0.02
LEAST_STEP = 1.25  # times as many regions: what is less is not worth a try
LEAST_FOR_SHAPE = 0.005  # of the ceiling: what another compactness, or merging or not, must gain
SHAPES = (0.5, 2.0)  # times the compactness of the settings
MERGE_FROM = 4  # times as many regions, of which the most alike are merged


@dataclass(frozen=True)
class RegionChoice:
    """Settings with the regions that were chosen, and why those are not finer."""

    settings: FeatureSettings
    stop: Stop


def choose_regions(settings: FeatureSettings, samples: Sequence[LabelledImage], n_labels: int) -> RegionChoice:
    """The settings with the number of regions and the compactness that suit the labels of training images.

    There are at least as many as usual, 300 or with a network 1000, unless pictures are tiny.
    """
    trial = RegionTrial(settings, samples, n_labels)
    start = replace(settings, n_regions=min(settings.usual_regions, trial.most))
    merged = replace(start, merge_from=max(MERGE_FROM, settings.merge_from))
    # Words are those of regions of one size; a network's features gain by merging on three public sets.
    if settings.uses_cnn:
        start = trial.best([merged, start])
    elif trial.aim(start).is_low:
        start = trial.best([start, merged])
    chosen = _fine_enough(trial, start)
    shapes = [replace(chosen.settings, compactness=factor * settings.compactness) for factor in SHAPES]
    best = trial.best([chosen.settings, *shapes])
    rare = chosen.stop == "enough" and trial.ceiling(best).is_low
    return RegionChoice(best, "rare" if rare else chosen.stop)


class RegionTrial:
    """Some of the training images, to try regions on."""

    def __init__(self, settings: FeatureSettings, samples: Sequence[LabelledImage], n_labels: int) -> None:
        self._settings, self._n_labels, self._n_images = settings, n_labels, len(samples)
        self._samples = samples[:: -(-len(samples) // LOOKED_AT)]
        self._known: dict[FeatureSettings, Ceiling] = {}

    @cached_property
    def _pictures(self) -> list[tuple[NDArray[np.uint8], NDArray[np.int64]]]:
        return [self._reduced(each) for each in self._samples]

    def _reduced(self, sample: LabelledImage) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Picture as the features will see it, and labels of its size: ten large pictures would not fit in memory."""
        image = rgb_of(reduce_to(check_picture(sample.read_image()), self._settings.max_side))
        labels = check_label_map(sample.read_labels(), sample.name)
        return image, enlarge(labels, (image.shape[0], image.shape[1]))

    @property
    def most_described(self) -> int:
        """How many regions an image has pixels for."""
        pixels = float(np.median([image.shape[0] * image.shape[1] for image, _ in self._pictures]))
        usual = min(self._settings.usual_regions, int(pixels) // SMALLEST_AREA)
        return max(1, usual, int(pixels) // SMALLEST_IF_FINER)

    @property
    def most(self) -> int:
        """How many regions an image may have."""
        usual, together = self._settings.usual_regions, ALL_OF_CNN if self._settings.uses_cnn else ALL_OF_WORDS
        return min(self.most_described, max(usual, together // self._n_images))

    def ceiling(self, settings: FeatureSettings) -> Ceiling:
        """That of these images by regions of such settings."""
        if settings not in self._known:
            truth = []
            for image, labels in self._pictures:
                truth.append(RegionTruth.of(label_counts(regions_of(image, settings), labels)))
            self._known[settings] = ceiling_of(truth, self._n_labels)
        return self._known[settings]

    def aim(self, settings: FeatureSettings) -> Ceiling:
        """Their ceiling over the classes that regions are made finer for."""
        return self.ceiling(settings).of_classes(self._often)

    @cached_property
    def _often(self) -> list[int]:
        shown = sum(np.isin(np.arange(self._n_labels), labels) for _, labels in self._pictures)
        return np.flatnonzero(shown >= OFTEN * len(self._pictures)).tolist()

    def best(self, several: Sequence[FeatureSettings]) -> FeatureSettings:
        """The settings of the highest ceiling; each must be clearly higher than those before it."""
        best, *others = several
        for settings in others:
            if _height(self.aim(settings)) > _height(self.aim(best)) + LEAST_FOR_SHAPE:
                best = settings
        return best


def _fine_enough(trial: RegionTrial, settings: FeatureSettings) -> RegionChoice:
    """Settings with twice as many regions as long as that pays, and why there are no more."""
    while True:
        reached, n_regions = trial.aim(settings), min(2 * settings.n_regions, trial.most)
        if n_regions < LEAST_STEP * settings.n_regions:
            limit: Stop = "pixels" if trial.most == trial.most_described else "budget"
            return RegionChoice(settings, limit if reached.is_low else "enough")
        finer = replace(settings, n_regions=n_regions)
        asked = (LEAST_IF_LOW if reached.is_low else LEAST_IF_HIGH) * (n_regions / settings.n_regions - 1)
        if _height(trial.aim(finer)) < _height(reached) + asked:
            return RegionChoice(settings, "flat" if reached.is_low else "enough")
        settings = finer


def _height(ceiling: Ceiling) -> float:
    return ((ceiling.pixel or 0.0) + (ceiling.class_mean or 0.0)) / 2
