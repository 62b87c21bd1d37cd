"""Images that are read when they are needed, and the digests that tell them apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from neuralfactors.vision._cache import content_key
from neuralfactors.vision._regions import check_image

# An image, or what reads one: a set larger than memory is then read image by image, by the process that needs it.
ImageSource: TypeAlias = NDArray[np.uint8] | Callable[[], NDArray[np.uint8]]


@dataclass(frozen=True)
class KeyedSource:
    """What reads an image and, perhaps, regions of it that users have made; and tells a digest of both."""

    read: Callable[[], NDArray[np.uint8]]
    digest: Callable[[], str]
    read_regions: Callable[[], NDArray[np.integer]] | None = None

    def __call__(self) -> NDArray[np.uint8]:
        """The image (H, W, 3)."""
        return self.read()


def read(source: ImageSource) -> NDArray[np.uint8]:
    """The image that `source` is, or reads."""
    return check_image(source() if callable(source) else source)


def given_regions(source: ImageSource) -> NDArray[np.integer] | None:
    """The regions (H, W) that come with an image, if any do."""
    reader = source.read_regions if isinstance(source, KeyedSource) else None
    return None if reader is None else reader()


def image_key(source: ImageSource) -> str:
    """The digest that `source` tells, or else that of its pixels."""
    return source.digest() if isinstance(source, KeyedSource) else content_key(read(source))
