"""A folder of labelled pictures: images/, labels/, classes.txt and, if there are any, splits/."""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from neuralfactors._common.seeds import RandomState, seed_of
from neuralfactors.datasets._arrays import NUMPY, open_array, read_array
from neuralfactors.datasets._classes import Classes, read_utf8
from neuralfactors.datasets._images import (
    Pages,
    count_pages,
    image_shape,
    list_pictures,
    read_image,
    read_labels,
    read_regions,
)

IMAGES, LABELS, SPLITS, CLASSES = "images", "labels", "splits", "classes.txt"  # what a data set is made of
What = Literal["regions", "features"]  # that users have made
RANDOM_SPLIT = {"train": 0.6, "val": 0.2, "test": 0.2}
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Sample:
    """A picture and its label map, on disk until they are read.

    Parameters
    ----------
    name : str
        File name without suffix.
    image_path : Path
        The picture.
    label_path : Path
        The label map: class indices, or class colours.
    classes : Classes
        What the indices and colours mean.
    regions_path : Path, default=None
        Regions of the picture that users have made; None: they are found.
    features_path : Path, default=None
        Features that users have computed; None: only those of the picture.
    pages : "channels" or int, default=None
        What to read of a TIFF of several pages: all of them as channels, or one, in both files.
    """

    name: str
    image_path: Path
    label_path: Path
    classes: Classes
    regions_path: Path | None = None
    features_path: Path | None = None
    pages: Pages = None

    @property
    def read_regions(self) -> Callable[[], NDArray[np.int64]] | None:
        """What reads the regions; None where they are to be found."""
        return None if self.regions_path is None else partial(read_regions, self.regions_path)

    @property
    def read_features(self) -> Callable[[], NDArray[np.generic]] | None:
        """What reads the features; None where there are none."""
        return None if self.features_path is None else partial(read_array, self.features_path)

    def read_image(self) -> NDArray[Any]:
        """The picture.

        Returns
        -------
        ndarray of shape (H, W, 3)
            RGB, uint8; or (H, W, C) of other depths.
        """
        return read_image(self.image_path, pages=self.pages)

    def read_labels(self) -> NDArray[np.int64]:
        """Label of each pixel.

        Returns
        -------
        ndarray of shape (H, W)
            int64; −1 is void.
        """
        return read_labels(self.label_path, self.classes, page=self.pages if isinstance(self.pages, int) else None)

    def read(self) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Picture and labels, refused unless they have the same size.

        Returns
        -------
        image : ndarray of shape (H, W, 3)
            As from `read_image`.
        labels : ndarray of shape (H, W)
            As from `read_labels`.
        """
        image, labels = self.read_image(), self.read_labels()
        check_size(self.label_path, image.shape[:2], labels.shape)
        return image, labels

    def check(self) -> None:
        """Refuse the sample unless its label map is whole, of known classes and of the size of the picture.

        Its regions, if it has any, must be of that size too, and its features must be readable.
        """
        shape = image_shape(self.image_path)
        check_size(self.label_path, shape, self.read_labels().shape)
        if self.regions_path is not None:
            check_size(self.regions_path, shape, read_regions(self.regions_path).shape)
        if self.features_path is not None:
            open_array(self.features_path)


class ImageFolder:
    """The samples of a folder, by split.

    Parameters
    ----------
    root : path
        Holds ``images/NAME.jpg`` (or .png, .webp, ...), ``labels/NAME.png``, ``classes.txt`` (``index name [R G B]`` a
        line) and, if the splits are given, ``splits/SPLIT.txt`` (a NAME a line).
    void : collection of str, default=()
        Names of classes whose pixels count as void, beside those called void, ignore, unlabelled or unlabeled.
    drop : collection of str, default=()
        The same, for classes that mean something but shall not be learned.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the random split into train, val and test (60, 20 and 20 %) where there is no ``splits/``; see
        `random_split` for what an image more or less changes.
    regions : path, default=None
        Folder of regions that users have made, ``NAME.png`` or ``NAME.npy``, in which all pixels of a region have the
        same number, or colour; None: they are found.
    features : path, default=None
        Folder of features that users have computed, ``NAME.npy``: an array (H, W, D), or a coarser grid, or with
        regions (R, D); None: only those of the pictures.
    pages : "channels" or "pictures", default=None
        What the pages of a TIFF of several are: channels of one picture, or pictures of their own, called NAME-000,
        NAME-001 and so on, whose label maps are the pages of ``labels/NAME.tif``. None: such files are refused, unless
        they say themselves that their pages are channels.

    Attributes
    ----------
    classes : Classes
        Names, indices and colours.
    splits : dict of str to list of str
        Names of the images of each split.
    is_split_at_random : bool
        Whether the folder gives no splits.

    Examples
    --------
    >>> folder = ImageFolder("msrc21", drop=["horse", "mountain"])  # doctest: +SKIP
    >>> image, labels = folder["train"][0].read()  # doctest: +SKIP
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        void: Collection[str] = (),
        drop: Collection[str] = (),
        random_state: RandomState = 0,
        regions: str | os.PathLike[str] | None = None,
        features: str | os.PathLike[str] | None = None,
        pages: Literal["channels", "pictures"] | None = None,
    ) -> None:
        self.root = Path(root)
        if not self.root.is_dir():
            raise ValueError(f"{self.root} is not a folder")
        self.classes = Classes.read(self.root / CLASSES, void={*void, *drop})
        if pages not in (None, "channels", "pictures"):
            raise ValueError(f"pages must be 'channels' or 'pictures', got {pages!r}")
        self._samples = self._find_samples()
        if pages == "pictures":
            self._samples = {page.name: page for each in self._samples.values() for page in pages_of(each)}
        elif pages == "channels":
            self._samples = {name: replace(each, pages="channels") for name, each in self._samples.items()}
        if regions is not None:
            found = {name: find_beside(Path(regions), name, "regions") for name in self._samples}
            self._samples = {name: replace(each, regions_path=found[name]) for name, each in self._samples.items()}
        if features is not None:
            found = {name: find_beside(Path(features), name, "features") for name in self._samples}
            self._samples = {name: replace(each, features_path=found[name]) for name, each in self._samples.items()}
        self.splits = self._read_splits()
        self.is_split_at_random = not self.splits
        if self.is_split_at_random:
            self.splits = random_split(list(self._samples), RANDOM_SPLIT, seed_of(random_state))

    def __getitem__(self, split: str) -> list[Sample]:
        """The samples of a split; of several where their names are joined by ``+``."""
        names = []
        for part in split.split("+"):
            if part not in self.splits:
                raise ValueError(f"there is no split {part!r} in {self.root}; there are {', '.join(self.splits)}")
            names += self.splits[part]
        return [self._samples[name] for name in names]

    def __len__(self) -> int:
        return len(self._samples)

    def _find_samples(self) -> dict[str, Sample]:
        """The images that have a label map, by name; refused where a label map has no image."""
        images, labels = _files(self.root / IMAGES), _files(self.root / LABELS)
        alone = sorted(labels.keys() - images.keys())
        if alone:
            raise ValueError(f"{labels[alone[0]]} is a label map without an image in {self.root / 'images'}")
        if not labels:
            raise ValueError(f"{self.root / 'labels'} contains no label map")
        if len(images) > len(labels):
            n_alone, place = len(images) - len(labels), self.root / IMAGES
            logger.info("%d of %d images in %s have no label map and are left out", n_alone, len(images), place)
        return {name: Sample(name, images[name], labels[name], self.classes) for name in sorted(labels)}

    def _read_splits(self) -> dict[str, list[str]]:
        splits = {}
        for path in sorted((self.root / SPLITS).glob("*.txt")):
            names = [line.strip() for line in read_utf8(path).splitlines() if line.strip()]
            check_split(names, self._samples, path, self.root / LABELS)
            splits[path.stem] = names
        return splits


def write_lists(folder: Path, classes: Classes, splits: Mapping[str, Iterable[str]]) -> None:
    """Write the classes of a data set and the names in each of its splits; without any, they are drawn at random."""
    classes.write(folder / CLASSES)
    for split, names in splits.items():
        (folder / SPLITS).mkdir(exist_ok=True)
        (folder / SPLITS / f"{split}.txt").write_text("".join(f"{name}\n" for name in names), encoding="utf-8")


def pages_of(sample: Sample) -> list[Sample]:
    """A sample for each page of the picture, or the same where that has only one."""
    n_pages = count_pages(sample.image_path)
    if n_pages == 1:
        return [sample]
    return [replace(sample, name=page_name(sample.name, n), pages=n) for n in range(n_pages)]


def page_name(name: str, page: int) -> str:
    """What a page of the picture called `name` is called."""
    return f"{name}-{page:03d}"


def check_size(path: Path, image: tuple[int, ...], found: tuple[int, ...]) -> None:
    """Refuse the map in the file `path`, of the shape `found`, unless that is the shape of its image."""
    if image != found:
        raise ValueError(f"{path} is {found[1]} × {found[0]}, but the image is {image[1]} × {image[0]}")


def find_beside(folder: Path, name: str, what: What) -> Path:
    """The file in `folder` that has the regions, or the features, of the image called `name`."""
    suffixes = (".png", NUMPY, ".tif", ".tiff") if what == "regions" else (NUMPY,)
    for suffix in suffixes:
        path = folder / f"{name}{suffix}"
        if path.exists():
            return path
    expected = " or ".join(f"{name}{suffix}" for suffix in suffixes[:2])
    raise ValueError(f"{folder} has no {what} of {name}: expected {expected}")


def read_beside(folder: Path | None, name: str, what: What) -> NDArray[Any] | None:
    """The regions, or the features, of the image called `name`; None where there is no folder of them."""
    if folder is None:
        return None
    path = find_beside(folder, name, what)
    return read_regions(path) if what == "regions" else read_array(path)


def check_split(names: Sequence[str], known: Collection[str], path: Path, labels: Path) -> None:
    """Refuse the split in the file `path` if it names an image twice, or one that is not `known` from `labels`."""
    seen: set[str] = set()
    for name in names:
        if name not in known:
            bare = Path(name).stem
            hint = f": write {bare}, without folder and suffix" if bare in known else ""
            raise ValueError(f"{path} names {name}, which has no label map in {labels}{hint}")
        if name in seen:
            raise ValueError(f"{path} names {name} more than once")
        seen.add(name)


def random_split(names: Sequence[str], shares: Mapping[str, float], random_state: int = 0) -> dict[str, list[str]]:
    """`names` dealt out at random to the splits of `shares`, at least one each while they last; the same for a seed.

    Names stand in the order of their digests, and every split is a section of that order, of its exact share. So a name
    more or less moves at most one other over each border, and none from the first split to the last; by thresholds of
    the digest none would move at all, but small sets would be left with empty splits.
    """

    def digest(name: str) -> bytes:
        return hashlib.blake2b(f"{random_state} {name}".encode(errors="surrogatepass")).digest()  # any file's name

    return deal_out(sorted(names, key=digest), shares)


def deal_out(names: Sequence[str], shares: Mapping[str, float]) -> dict[str, list[str]]:
    """Sections of `names` as they stand, one for each of `shares`, of a name or more while they last; each sorted."""
    ends = np.rint(np.cumsum(list(shares.values())) / sum(shares.values()) * len(names)).astype(int)
    numbers = np.arange(1, len(shares) + 1)
    least = np.minimum(numbers, len(names))
    ends = np.clip(ends, least, np.maximum(least, numbers + len(names) - len(shares)))
    starts = [0, *ends[:-1]]
    return {split: sorted(names[start:end]) for split, start, end in zip(shares, starts, ends, strict=True)}


def _files(folder: Path) -> dict[str, Path]:
    """Image files of a folder by their names without suffix."""
    if not folder.is_dir():
        raise ValueError(f"{folder} is missing: a picture is images/NAME.jpg, its label map labels/NAME.png")
    files: dict[str, Path] = {}
    for path in list_pictures(folder):
        if path.stem in files:
            raise ValueError(f"{files[path.stem]} and {path} have the same name: remove one of them")
        files[path.stem] = path
    return files
