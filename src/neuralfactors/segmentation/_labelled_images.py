"""Labelled images from wherever they come: a folder, samples, or arrays in memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from neuralfactors._common.files import file_digest
from neuralfactors._common.labels import VOID, refuse_masked
from neuralfactors.datasets import ImageFolder, read_image
from neuralfactors.datasets._classes import VOID_NAMES, ClassEntry, Classes
from neuralfactors.datasets._folder import Sample
from neuralfactors.learning._training_graphs import USUAL_VOID
from neuralfactors.vision._cache import content_key
from neuralfactors.vision._channels import Picture as AnyPicture
from neuralfactors.vision._channels import check_picture
from neuralfactors.vision._sources import ImageSource, KeyedSource, image_key


class LabelledImage(Protocol):
    """A picture with its label map; `datasets.Sample` is one.

    It has a `name`, which errors and files use, and reads picture and labels when it is asked.
    """

    @property
    def name(self) -> str:
        """What it is called in errors and files."""

    def read_image(self) -> AnyPicture:
        """The picture (H, W, 3), RGB and uint8; or (H, W, C) of other depths, alike in all pictures."""

    def read_labels(self) -> NDArray[np.int64]:
        """Label (H, W) of each pixel; −1 is void."""


@runtime_checkable
class Copied(LabelledImage, Protocol):
    """A labelled image that is made of another one."""

    def copy_key(self) -> str:
        """What tells its picture from all others, for caches."""


class InMemory:
    """A picture in memory, with its regions, its features or both; masks of these are kept, to be refused."""

    image: AnyPicture
    regions: NDArray[np.integer] | None
    features: NDArray[np.generic] | None

    def read_image(self) -> AnyPicture:
        """The picture.

        Returns
        -------
        ndarray of shape (H, W, 3)
            The one that was given.
        """
        return self.image

    @property
    def read_regions(self) -> Callable[[], NDArray[np.integer]] | None:
        """What reads the regions; None where they are to be found."""
        return None if self.regions is None else partial(np.asanyarray, self.regions)

    @property
    def read_features(self) -> Callable[[], NDArray[np.generic]] | None:
        """What reads the features; None where there are none."""
        return None if self.features is None else partial(np.asanyarray, self.features)


@dataclass(frozen=True, eq=False)
class ArraySample(InMemory):
    """A labelled image that is in memory.

    Parameters
    ----------
    name : str
        What errors call it.
    image : uint8 array of shape (H, W, 3)
        The picture; or (H, W, C) of 8, 16 or 32 bits or float, alike in all pictures.
    labels : int array of shape (H, W)
        Any integers, or bool; int64 afterwards. −1 is void.
    regions : int array of shape (H, W), default=None
        Regions to label, such as those of a watershed; any number for each. None: they are found.
    features : array of shape (H, W, D) or (R, D), default=None
        What describes pixels, on a grid that may be coarser than the picture, or the given regions in the order of
        their numbers. None: only what is computed from the picture.

    Raises
    ------
    ValueError
        If picture and labels are not of these types and of one size.
    """

    name: str
    image: AnyPicture
    labels: NDArray[np.int64]
    regions: NDArray[np.integer] | None = None
    features: NDArray[np.generic] | None = None

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "image", check_picture(self.image))
        except ValueError as error:
            raise ValueError(f"{self.name}: {error}") from None
        object.__setattr__(self, "labels", check_label_map(self.labels, self.name))
        height, width = self.image.shape[:2]
        if self.labels.shape != (height, width):
            sizes = f"{self.labels.shape[1]} × {self.labels.shape[0]}, but the image is {width} × {height}"
            raise ValueError(f"the label map of {self.name} is {sizes}")

    def read_labels(self) -> NDArray[np.int64]:
        """Label of each pixel.

        Returns
        -------
        ndarray of shape (H, W)
            int64; −1 is void.
        """
        return self.labels


@dataclass(frozen=True, eq=False)
class PreparedImage(InMemory):
    """A picture to label that comes with its regions, its features or both.

    Parameters
    ----------
    image : uint8 array of shape (H, W, 3)
        The picture; or (H, W, C) of 8, 16 or 32 bits or float, alike in all pictures.
    regions : int array of shape (H, W), default=None
        Any number for each region; None: they are found.
    features : array of shape (H, W, D) or (R, D), default=None
        As in `ArraySample`.
    """

    image: AnyPicture
    regions: NDArray[np.integer] | None = None
    features: NDArray[np.generic] | None = None


def reader_of(sample: object, what: str) -> Callable[[], NDArray[Any]] | None:
    """What reads the "regions" or "features" that come with `sample`, if any do."""
    reader: Callable[[], NDArray[Any]] | None = getattr(sample, f"read_{what}", None)
    return reader


def image_source(sample: LabelledImage | PreparedImage) -> ImageSource:
    """What reads the picture of `sample` and what comes with it, known by the digest of its file where it has one."""
    regions, features = reader_of(sample, "regions"), reader_of(sample, "features")
    plain = source_of_picture(sample)
    if regions is None and features is None:
        return plain
    told = plain.name if isinstance(plain, KeyedSource) else ""
    return KeyedSource(sample.read_image, partial(_digest_of_all, plain, regions, features), regions, features, told)


def source_of_picture(sample: LabelledImage | PreparedImage) -> ImageSource:
    """What reads the picture of `sample` alone."""
    if isinstance(sample, Copied):
        return KeyedSource(sample.read_image, sample.copy_key, name=sample.name)
    if isinstance(sample, Sample):
        return KeyedSource(sample.read_image, partial(_file_key, sample), name=str(sample.image_path))
    if isinstance(sample, PreparedImage):
        return sample.image
    return KeyedSource(sample.read_image, partial(_pixels_key, sample), name=sample.name)


def _pixels_key(sample: LabelledImage) -> str:
    return image_key(sample.read_image)


def _file_key(sample: Sample) -> str:
    digest = file_digest(sample.image_path)
    return digest if sample.pages is None else f"{digest} {sample.pages}"


def _digest_of_all(picture: ImageSource, *readers: Callable[[], NDArray[Any]] | None) -> str:
    return content_key(image_key(picture), *(None if reader is None else np.asarray(reader()) for reader in readers))


Picture = AnyPicture | str | os.PathLike[str] | LabelledImage | PreparedImage
Pair = tuple[AnyPicture, NDArray[np.integer[Any]]]
Dataset = ImageFolder | Sequence[LabelledImage] | Sequence[Pair]
Pictures = Dataset | Sequence[Picture]


def to_samples(
    dataset: Dataset, split: str, names: Sequence[str] | None = None
) -> tuple[Sequence[LabelledImage], Classes]:
    """The labelled images of what `Segmenter.fit` takes, at least one, and their classes.

    The classes are those of the folder or of the samples, else by `names`; where these are None, "0", "1", ...
    """
    if isinstance(dataset, ImageFolder):
        return dataset[split], dataset.classes
    if isinstance(dataset, (str, os.PathLike)):
        raise ValueError(f"dataset must be an ImageFolder or a sequence, got a path: use ImageFolder({dataset!r})")
    samples = [_to_sample(item, n) for n, item in enumerate(dataset)]
    if not samples:
        raise ValueError("the dataset contains no image")
    classes = getattr(samples[0], "classes", None)
    return samples, classes if isinstance(classes, Classes) else _name_labels(samples, names)


def refuse_other_classes(classes: Classes, known: Classes, whose: str) -> None:
    """Refuse the classes of data, which errors call `whose`, unless they are those that a model knows."""
    if classes.names != known.names:
        raise ValueError(f"{whose} has the classes {classes.names}, but the model was trained on {known.names}")


def are_named(classes: Classes) -> bool:
    """Whether classes have names of their own, not only the numbers of labels that nothing names."""
    return classes.names != [str(label) for label in range(len(classes.names))]


def to_pictures(images: Pictures, split: str) -> Sequence[Picture]:
    """The items of a sequence of pictures or of a dataset, each of which `read_picture` reads."""
    if isinstance(images, ImageFolder):
        return images[split]
    if isinstance(images, (str, os.PathLike)):
        raise ValueError(f"images must be a sequence of pictures, got the path {images!r}: put it into a list")
    if isinstance(images, np.ndarray) and images.ndim < 4:
        shape = images.shape
        raise ValueError(f"images must be a sequence of pictures, got one of shape {shape}: put it into a list")
    return [item[0] if isinstance(item, (tuple, list)) and len(item) == 2 else item for item in images]


def picture_source(item: Picture) -> ImageSource:
    """What reads the picture of an array, of a file or of a sample, and regions that come with it."""
    return read_picture(item) if isinstance(item, (np.ndarray, str, os.PathLike)) else image_source(item)


def read_picture(item: Picture) -> AnyPicture:
    """The picture (H, W, C) of an array, of a file or of a sample."""
    if isinstance(item, (str, os.PathLike)):
        return read_image(Path(item))
    return item if isinstance(item, np.ndarray) else item.read_image()


def check_label_map(labels: object, name: str) -> NDArray[np.int64]:
    """`labels` (H, W) of the image called `name` as int64; refused unless they are integers, or bool, from −1 on."""
    refuse_masked(labels, f"the label map of {name}")
    array = np.asarray(labels)
    if array.dtype.kind not in "biu" or array.ndim != 2:
        got = f"{array.dtype} of shape {array.shape}"
        raise ValueError(f"the labels of {name} must be integers of shape (H, W), −1 for void, got {got}")
    array = array.astype(np.int64, copy=False)
    if array.min(initial=VOID) < VOID:
        raise ValueError(f"the labels of {name} must be 0, 1, ..., or −1 for void, got {array.min()}")
    return array


def _to_sample(item: object, n: int) -> LabelledImage:
    if isinstance(item, (tuple, list)) and len(item) == 2:
        return ArraySample(f"image {n}", *item)
    if not hasattr(item, "read_labels"):
        got = f"{len(item)} items" if isinstance(item, (tuple, list)) else type(item).__name__
        raise ValueError(f"item {n} of the dataset must be a pair (image, labels) or a sample, got {got}")
    return cast(LabelledImage, item)


def _name_labels(samples: Sequence[LabelledImage], given: Sequence[str] | None) -> Classes:
    """The classes of labels that nothing describes except, perhaps, the `given` names."""
    if isinstance(given, str):
        raise ValueError(f"classes must be a sequence of names, got {given!r}: put it into a list")
    names = [] if given is None else [str(name) for name in given]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(f"classes must have a name of its own for each label, but {twice[0]!r} occurs more than once")
    void = [name for name in names if name.lower() in VOID_NAMES]
    if void:
        raise ValueError(f"classes must not name {void[0]!r}: void pixels are −1, not a label")
    highest = [int(check_label_map(sample.read_labels(), sample.name).max(initial=VOID)) for sample in samples]
    top, where = max(highest), samples[int(np.argmax(highest))].name
    if names and top >= len(names):
        raise ValueError(f"classes names {len(names)} labels, but there is a label {top} in {where}; void is −1")
    if not names and top == USUAL_VOID:
        raise ValueError(f"there is a label 255 in {where}: make it −1 if it means void, else name the classes")
    if not names and top == VOID:
        raise ValueError("every pixel of every image is void (−1): there is no label to learn")
    return Classes(tuple(ClassEntry(k, name) for k, name in enumerate(names or map(str, range(top + 1)))))
