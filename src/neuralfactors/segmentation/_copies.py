"""Copies of labelled images to learn from besides: mirror images, and varied ones."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from neuralfactors.segmentation._labelled_images import LabelledImage, reader_of, source_of_picture
from neuralfactors.vision._channels import Picture, is_plain
from neuralfactors.vision._descriptors import to_grey
from neuralfactors.vision._region_geometry import enlarge
from neuralfactors.vision._sources import image_key

SCALE, TONE = 4 / 3, 1.2  # the most by which a varied image differs in size, and in gamma and saturation


@dataclass(frozen=True)
class Mirrored:
    """A labelled image with left and right exchanged."""

    sample: LabelledImage

    @property
    def name(self) -> str:
        """What it is called in errors and files."""
        return f"{self.sample.name} (mirrored)"

    def copy_key(self) -> str:
        """What tells its picture from all others, for caches."""
        return f"mirrored {image_key(source_of_picture(self.sample))}"

    def read_image(self) -> Picture:
        """The picture (H, W, C)."""
        return np.ascontiguousarray(self.sample.read_image()[:, ::-1])

    def read_labels(self) -> NDArray[np.int64]:
        """Label (H, W) of each pixel; −1 is void."""
        return np.ascontiguousarray(self.sample.read_labels()[:, ::-1])

    @property
    def read_regions(self) -> Callable[[], NDArray[np.integer]] | None:
        """What reads the regions, if there are any."""
        reader = reader_of(self.sample, "regions")
        return None if reader is None else lambda: reader()[:, ::-1]

    @property
    def read_features(self) -> Callable[[], NDArray[np.generic]] | None:
        """What reads the features, if there are any; those of regions stay in their order."""
        reader = reader_of(self.sample, "features")
        return None if reader is None else lambda: _turned(reader())


@dataclass(frozen=True)
class Varied:
    """A labelled image at another size, gamma and saturation.

    They are drawn by its name and the `number` of the copy, so that they are the same whenever they are asked for. The
    smallest is three quarters as high as the original, the largest four thirds; gamma and saturation differ by a fifth.

    >>> from neuralfactors.segmentation import ArraySample
    >>> sample = ArraySample("grey", np.full((30, 40, 3), 99, np.uint8), np.zeros((30, 40), int))
    >>> Varied(sample, 0).read_image().shape == Varied(sample, 1).read_image().shape
    False
    """

    sample: LabelledImage
    number: int

    def __post_init__(self) -> None:
        given = [what for what in ("regions", "features") if reader_of(self.sample, what) is not None]
        if given:
            raise ValueError(f"{self.sample.name} comes with {given[0]}, which cannot be varied: set varied to 0")

    @property
    def name(self) -> str:
        """What it is called in errors and files."""
        return f"{self.sample.name} (varied {self.number})"

    def copy_key(self) -> str:
        """What tells its picture from all others, for caches."""
        return f"{self._drawn()} {image_key(source_of_picture(self.sample))}"

    def _drawn(self) -> tuple[float, float, float]:
        """Factor of its size, exponent of its brightness and factor of its saturation."""
        generator = np.random.default_rng([self.number, zlib.crc32(self.sample.name.encode())])
        scale, gamma, saturation = np.array([SCALE, TONE, TONE]) ** generator.uniform(-1, 1, 3)
        return float(scale), float(gamma), float(saturation)

    def read_image(self) -> Picture:
        """The picture (H, W, 3), uint8."""
        image, (_, gamma, saturation) = self.sample.read_image(), self._drawn()
        if not is_plain(image):
            raise ValueError(f"{self.sample.name} is not RGB of 8 bits and cannot be varied: set varied to 0")
        height, width = self._shape(image)
        picture = np.asarray(Image.fromarray(image).resize((width, height), Image.Resampling.BICUBIC))
        grey = to_grey(picture)[..., None]
        colours = np.clip(grey + saturation * (picture / np.float32(255) - grey), 0, 1)
        return np.rint(255 * colours**gamma).astype(np.uint8)

    def read_labels(self) -> NDArray[np.int64]:
        """Label (H, W) of each pixel; −1 is void."""
        labels = self.sample.read_labels()
        return np.ascontiguousarray(enlarge(labels, self._shape(labels)))

    def _shape(self, pixels: NDArray[Any]) -> tuple[int, int]:
        scale = self._drawn()[0]
        return max(1, round(scale * pixels.shape[0])), max(1, round(scale * pixels.shape[1]))


def with_copies(samples: Sequence[LabelledImage], *, mirror: bool, varied: int = 0) -> Sequence[LabelledImage]:
    """The `samples`, each followed by its mirror image and by so many `varied` ones, if these are wanted.

    With `mirror`, every second one of the varied images is a mirror image, too.

    Parameters
    ----------
    samples : sequence of LabelledImage
        The training images.
    mirror : bool
        Whether left and right mean nothing, so that mirror images are as good.
    varied : int, default=0
        How many copies of each to make at other sizes, gammas and saturations.

    Returns
    -------
    sequence of LabelledImage
        The same one where there is nothing to add; each image is read when it is asked for.

    >>> from neuralfactors.segmentation import ArraySample
    >>> sample = ArraySample("one", np.zeros((4, 4, 3), np.uint8), np.zeros((4, 4), int))
    >>> [copy.name for copy in with_copies([sample], mirror=True, varied=2)]
    ['one', 'one (mirrored)', 'one (varied 0)', 'one (varied 1) (mirrored)']
    """
    if not mirror and not varied:
        return samples
    found: list[LabelledImage] = []
    for sample in samples:
        found += [sample, Mirrored(sample)] if mirror else [sample]
        copies = [Varied(sample, number) for number in range(varied)]
        found += [Mirrored(copy) if mirror and copy.number % 2 else copy for copy in copies]
    return found


def original(sample: LabelledImage) -> LabelledImage:
    """The image that `sample` is, or is a copy of."""
    while isinstance(sample, (Mirrored, Varied)):
        sample = sample.sample
    return sample


def _turned(features: NDArray[Any]) -> NDArray[Any]:
    return features[:, ::-1] if features.ndim == 3 else features
