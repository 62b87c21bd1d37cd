"""Published image sets turned into the folder layout that `ImageFolder` reads.

Each converter reads one set as its authors publish it, and `write_folder` writes what it found, in one step.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import scipy  # which loads its parts when they are used
from numpy.typing import NDArray

from neuralfactors._common.extras import needs
from neuralfactors.datasets._classes import ClassEntry, Classes, read_utf8, spaced_colours
from neuralfactors.datasets._folder import IMAGES, LABELS, check_split, write_lists
from neuralfactors.datasets._images import read_image, read_labels, write_label_map

with needs("neuralfactors.datasets", "segment"):
    from PIL import Image


# (name, colour) by index, as in the documents that come with the sets; the order is that of their benchmarks.
MSRC21 = (
    ("void", (0, 0, 0)), ("building", (128, 0, 0)), ("grass", (0, 128, 0)), ("tree", (128, 128, 0)),
    ("cow", (0, 0, 128)), ("sheep", (0, 128, 128)), ("sky", (128, 128, 128)), ("aeroplane", (192, 0, 0)),
    ("water", (64, 128, 0)), ("face", (192, 128, 0)), ("car", (64, 0, 128)), ("bicycle", (192, 0, 128)),
    ("flower", (64, 128, 128)), ("sign", (192, 128, 128)), ("bird", (0, 64, 0)), ("book", (128, 64, 0)),
    ("chair", (0, 192, 0)), ("road", (128, 64, 128)), ("cat", (0, 192, 128)), ("dog", (128, 192, 128)),
    ("body", (64, 64, 0)), ("boat", (192, 64, 0)), ("horse", (128, 0, 128)), ("mountain", (64, 0, 0)),
)  # fmt: skip
KITTI = (
    ("ignore", (0, 0, 0)), ("sky", (128, 128, 128)), ("building", (128, 0, 0)), ("road", (128, 64, 128)),
    ("sidewalk", (0, 0, 192)), ("fence", (64, 64, 128)), ("vegetation", (128, 128, 0)), ("pole", (192, 192, 128)),
    ("car", (64, 0, 128)), ("sign", (192, 128, 128)), ("pedestrian", (64, 64, 0)), ("cyclist", (0, 128, 192)),
)  # fmt: skip
SIFTFLOW_FOLDER = "spatial_envelope_256x256_static_8outdoorcategories"

Pair = tuple[str, Path, NDArray[np.integer]]  # name, picture, class indices (H, W)


def convert_msrc21(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> int:
    """Convert MSRC-21 as published: ``Images/*.bmp`` and ``GroundTruth/*_GT.bmp``.

    Where ``Train.txt``, ``Validation.txt`` and ``Test.txt`` of the TextonBoost splits lie in `source` or in its folder
    ``TextonBoostSplits``, they become the splits train, val and test.

    Parameters
    ----------
    source : path
        The folder of the set.
    target : path
        The folder to make; it must not hold anything yet.

    Returns
    -------
    int
        Number of pictures.
    """
    source = _folder(source)
    classes = _classes(MSRC21)
    maps = {path.stem.removesuffix("_GT"): path for path in _list(source / "GroundTruth", "*.bmp")}
    pairs = ((name, source / "Images" / f"{name}.bmp", _read_indices(path, classes)) for name, path in maps.items())
    splits = {}
    for split, file in (("train", "Train.txt"), ("val", "Validation.txt"), ("test", "Test.txt")):
        found = next((p for p in (source / file, source / "TextonBoostSplits" / file) if p.exists()), None)
        if found:
            splits[split] = [Path(line).stem for line in read_utf8(found).split()]
            check_split(splits[split], maps, found, source / "GroundTruth")
    return write_folder(target, pairs, classes, splits)


def convert_kitti(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> int:
    """Convert KITTI as labelled by Ros et al.: ``SEQUENCE/RGB/*.png``, ``SEQUENCE/GT/*.png``.

    Label maps may be RGB or class indices. Sequences whose names begin with ``Train`` become the split train, the
    others test.

    Parameters
    ----------
    source : path
        The folder of the set.
    target : path
        The folder to make; it must not hold anything yet.

    Returns
    -------
    int
        Number of pictures.
    """
    source = _folder(source)
    classes = _classes(KITTI)
    sequences = sorted(path.parent for path in source.glob("*/RGB") if path.is_dir())
    if not sequences:
        raise ValueError(f"{source} has no folder SEQUENCE/RGB")
    maps = {f"{folder.name}_{path.stem}": path for folder in sequences for path in _list(folder / "GT", "*.png")}
    pairs = (
        (name, path.parent.parent / "RGB" / path.name, _read_indices(path, classes)) for name, path in maps.items()
    )
    splits: dict[str, list[str]] = {"train": [], "test": []}
    for name, path in maps.items():
        splits["train" if path.parent.parent.name.lower().startswith("train") else "test"].append(name)
    return write_folder(target, pairs, classes, {split: names for split, names in splits.items() if names})


def convert_siftflow(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> int:
    """Convert SIFT Flow as published: ``Images/*.jpg`` and ``SemanticLabels/*.mat``.

    A MATLAB file of labels holds ``S``, the class of each pixel from 1, 0 where there is none, and ``names``. Where
    there is a list ``TestSet1.txt`` (or ``TestSet.txt``), it becomes the split test, and the rest train.

    Parameters
    ----------
    source : path
        The folder of the set.
    target : path
        The folder to make; it must not hold anything yet.

    Returns
    -------
    int
        Number of pictures.
    """
    source = _folder(source)
    images, labels = (
        next((f for f in (source / part / SIFTFLOW_FOLDER, source / part) if f.is_dir()), source / part)
        for part in ("Images", "SemanticLabels")
    )
    maps = {path.stem: path for path in _list(labels, "*.mat")}
    first = next(iter(maps.values()))
    names = _load_mat(first)[1]
    colours = spaced_colours(len(names))
    classes = _classes([("void", (0, 0, 0)), *zip(names, colours, strict=True)])
    pairs = ((name, images / f"{name}.jpg", _indices_of(path, names, first)) for name, path in maps.items())
    splits = {}
    listed = next((p for p in (source / "TestSet1.txt", source / "TestSet.txt") if p.exists()), None)
    if listed:
        # Written on Windows: the separators are backslashes.
        test = [line.replace("\\", "/").split("/")[-1].rsplit(".", 1)[0] for line in read_utf8(listed).split()]
        check_split(test, maps, listed, labels)
        splits = {"train": sorted(maps.keys() - {*test}), "test": sorted(test)}
    return write_folder(target, pairs, classes, splits)


CONVERTERS = {"msrc21": convert_msrc21, "kitti": convert_kitti, "siftflow": convert_siftflow}


def write_folder(
    target: str | os.PathLike[str], pairs: Iterable[Pair], classes: Classes, splits: Mapping[str, Iterable[str]]
) -> int:
    """Write the layout of `ImageFolder`, and count the pictures, which are never compressed with loss.

    The folder is made if need be, and refused where it already holds something; where writing fails, it is left as it
    was. `pairs` of a name, the path of a picture and class indices are read one by one, so that they need not fit in
    memory together. Without names in `splits`, none are written, and `ImageFolder` splits at random.
    """
    target = Path(target)
    if target.exists() and any(target.iterdir()):
        raise ValueError(f"{target} is not empty")
    target.parent.mkdir(parents=True, exist_ok=True)
    # Where files may be made, and on the same disk, so that what is whole is moved there in an instant.
    around = target if target.exists() else target.parent
    with tempfile.TemporaryDirectory(dir=around, prefix=f".{target.name}.") as made:
        place = Path(made)
        count = _write_pairs(place, pairs, classes)
        write_lists(place, classes, splits)
        target.mkdir(exist_ok=True)
        for part in sorted(place.iterdir(), key=Path.is_file):  # last classes.txt, without which nothing is a set
            part.rename(target / part.name)
    return count


def _write_pairs(place: Path, pairs: Iterable[Pair], classes: Classes) -> int:
    """Write images and label maps as an `ImageFolder` has them; returns how many."""
    for part in (IMAGES, LABELS):
        (place / part).mkdir()
    palette = np.zeros((256, 3), dtype=np.uint8)
    for entry in classes.entries:
        if entry.index < len(palette):
            palette[entry.index] = entry.colour or (0, 0, 0)
    count = 0
    for name, picture, indices in pairs:
        if picture.suffix.lower() in (".jpg", ".jpeg", ".png", ".webp") and picture.exists():
            shutil.copyfile(picture, place / IMAGES / f"{name}{picture.suffix.lower()}")
        else:
            Image.fromarray(read_image(picture)).save(place / IMAGES / f"{name}.png")
        write_label_map(place / LABELS / f"{name}.png", indices, palette)
        count += 1
    return count


def _classes(rows: Iterable[tuple[str, tuple[int, int, int]]]) -> Classes:
    return Classes(tuple(ClassEntry(index, name, colour) for index, (name, colour) in enumerate(rows)))


def _folder(path: str | os.PathLike[str]) -> Path:
    folder = Path(path)
    if not folder.is_dir():
        raise ValueError(f"{folder} is not a folder")
    return folder


def _list(folder: Path, pattern: str) -> list[Path]:
    found = sorted(folder.glob(pattern))
    if not found:
        raise ValueError(f"{folder} contains no {pattern}")
    return found


def _read_indices(path: Path, classes: Classes) -> NDArray[np.int64]:
    """Class indices (H, W) of a label map."""
    # The label of a class that counts is its place among those; void is 0 in the sets converted here, others follow.
    labels = read_labels(path, classes)
    return np.append([entry.index for entry in classes.kept], 0)[labels]


def _indices_of(path: Path, names: list[str], first: Path) -> NDArray[np.integer]:
    """The class of each pixel in a file, refused unless it has the same classes as the `first` one."""
    indices, own = _load_mat(path)
    if own != names or indices.max(initial=0) > len(names):
        raise ValueError(f"{path} has other classes than {first}, or pixels of none of them")
    return indices


def _load_mat(path: Path) -> tuple[NDArray[np.integer], list[str]]:
    """Numbers of the classes of the pixels (H, W), and the names of these classes."""
    try:
        content = scipy.io.loadmat(path, squeeze_me=True)
        indices, names = (
            np.atleast_2d(content["S"]).astype(np.int64),
            [str(name) for name in np.atleast_1d(content["names"])],
        )
    except (scipy.io.matlab.MatReadError, KeyError, ValueError, OSError) as error:
        raise ValueError(f"{path} is not a label file with 'S' and 'names': {error}") from error
    return np.maximum(indices, 0), names
