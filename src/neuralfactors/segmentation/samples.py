"""Labelled images from wherever they come: a folder, samples, or arrays in memory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from neuralfactors.datasets import ImageFolder
from neuralfactors.datasets.classes import ClassEntry, Classes


class LabelledImage(Protocol):
    """A picture with its label map; `datasets.Sample` is one."""

    @property
    def name(self) -> str:
        """What it is called in errors and files."""

    def read_image(self) -> NDArray[np.uint8]:
        """The picture (H, W, 3)."""

    def read_labels(self) -> NDArray[np.int64]:
        """Label (H, W) of each pixel; −1 is void."""


@dataclass(frozen=True, eq=False)
class ArraySample:
    """A labelled image that is in memory."""

    name: str
    image: NDArray[np.uint8]
    labels: NDArray[np.int64]

    def read_image(self) -> NDArray[np.uint8]:
        """The picture (H, W, 3)."""
        return self.image

    def read_labels(self) -> NDArray[np.int64]:
        """Label (H, W) of each pixel; −1 is void."""
        return self.labels


@dataclass(frozen=True)
class Mirrored:
    """A labelled image with left and right exchanged."""

    sample: LabelledImage

    @property
    def name(self) -> str:
        """What it is called in errors and files."""
        return f"{self.sample.name} (mirrored)"

    def read_image(self) -> NDArray[np.uint8]:
        """The picture (H, W, 3)."""
        return np.ascontiguousarray(self.sample.read_image()[:, ::-1])

    def read_labels(self) -> NDArray[np.int64]:
        """Label (H, W) of each pixel; −1 is void."""
        return np.ascontiguousarray(self.sample.read_labels()[:, ::-1])


def with_mirrored(samples: Sequence[LabelledImage]) -> list[LabelledImage]:
    """The `samples`, each followed by its mirror image: twice as much to learn from."""
    return [each for sample in samples for each in (sample, Mirrored(sample))]


Dataset = ImageFolder | Sequence[LabelledImage] | Sequence[tuple[NDArray[np.uint8], NDArray[np.int64]]]


def to_samples(
    dataset: Dataset, split: str, names: Sequence[str] | None = None
) -> tuple[Sequence[LabelledImage], Classes]:
    """The labelled images of a dataset, and their classes; those of arrays are called `names`, or "0", "1", ..."""
    if isinstance(dataset, ImageFolder):
        return dataset[split], dataset.classes
    if isinstance(dataset, (str, os.PathLike)):
        raise ValueError(f"dataset must be an ImageFolder or a sequence, got a path: use ImageFolder({dataset!r})")
    samples: list[LabelledImage] = []
    for n, item in enumerate(dataset):
        samples.append(ArraySample(f"image {n}", *item) if isinstance(item, tuple) else cast(LabelledImage, item))
    classes = getattr(samples[0], "classes", None) if samples else None
    if isinstance(classes, Classes):
        return samples, classes
    highest = max((int(sample.read_labels().max(initial=-1)) for sample in samples), default=-1)
    names = list(names or map(str, range(highest + 1)))
    if highest >= len(names):
        raise ValueError(f"classes names {len(names)} labels, but there is a label {highest}")
    return samples, Classes(tuple(ClassEntry(k, name) for k, name in enumerate(names)))
