"""Pictures with labels, from whatever draws them, written as the folder that `ImageFolder` reads."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from neuralfactors._common.extras import needs
from neuralfactors.datasets._classes import ClassEntry, Classes
from neuralfactors.datasets._folder import IMAGES, LABELS, RANDOM_SPLIT, deal_out, write_lists
from neuralfactors.datasets._images import write_label_map

with needs("neuralfactors.datasets", "segment"):
    from PIL import Image

Colour = tuple[int, int, int]
Pictures = Sequence[tuple[NDArray[np.uint8], NDArray[np.int64]]]  # (H, W, 3) and (H, W) with −1 for void


def write_pictures(
    folder: str | os.PathLike[str], pictures: Pictures, classes: Mapping[str, Colour], stem: str, seed: int
) -> Path:
    """Write pairs of picture and labels, the classes and random splits into a folder, which is returned.

    `classes` has the colour of each label by name, in order; in files, void is 0 and labels begin with 1. File names
    begin with `stem`.
    """
    folder = Path(folder)
    for part in (IMAGES, LABELS):
        (folder / part).mkdir(parents=True, exist_ok=True)
    entries = [ClassEntry(0, "void", (0, 0, 0)), *(ClassEntry(k, *row) for k, row in enumerate(classes.items(), 1))]
    palette = np.array([entry.colour for entry in entries], dtype=np.uint8)
    names = [f"{stem}_{k:04d}" for k in range(len(pictures))]
    for name, (image, labels) in zip(names, pictures, strict=True):
        Image.fromarray(image).save(folder / IMAGES / f"{name}.png")
        write_label_map(folder / LABELS / f"{name}.png", labels + 1, palette)
    order = np.random.default_rng(seed).permutation(len(names))
    write_lists(folder, Classes(tuple(entries)), deal_out([names[k] for k in order], RANDOM_SPLIT))
    return folder
