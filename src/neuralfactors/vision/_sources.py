"""Images that are read when they are needed, and the digests that identify them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from neuralfactors.vision._cache import content_key
from neuralfactors.vision._channels import Picture, check_picture
from neuralfactors.vision._own_features import check_features

# An image, or what reads one: a set larger than memory is then read image by image, by the process that needs it.
ImageSource: TypeAlias = Picture | Callable[[], Picture]


@dataclass(frozen=True)
class Given:
    """What users have made of an image themselves: regions (H, W), features of regions or pixels, both or neither."""

    regions: NDArray[np.integer] | None = None
    features: NDArray[np.float32] | None = None


@dataclass(frozen=True)
class KeyedSource:
    """What reads an image and, perhaps, regions and features of it that users have made; and tells a digest of all."""

    read: Callable[[], Picture]
    digest: Callable[[], str]
    read_regions: Callable[[], NDArray[np.integer]] | None = None
    read_features: Callable[[], NDArray[np.generic]] | None = None
    name: str = ""  # of its file, for errors

    def __call__(self) -> Picture:
        """The image (H, W, C)."""
        return self.read()


@contextmanager
def naming(source: ImageSource | str) -> Iterator[None]:
    """Let errors about an image begin with the name of its file, where `source` tells one or is one."""
    name = source if isinstance(source, str) else getattr(source, "name", "")
    try:
        yield
    except ValueError as error:
        if not name or name in str(error):
            raise
        raise ValueError(f"{name}: {error}") from error


def read(source: ImageSource) -> Picture:
    """The image (H, W, C) that `source` is, or reads."""
    return check_picture(source() if callable(source) else source)


def given_with(source: ImageSource) -> Given:
    """What comes with an image."""
    if not isinstance(source, KeyedSource):
        return Given()
    return Given(
        None if source.read_regions is None else source.read_regions(),
        None if source.read_features is None else check_features(source.read_features()),
    )


def image_key(source: ImageSource) -> str:
    """The digest that `source` tells, or else that of its pixels."""
    return source.digest() if isinstance(source, KeyedSource) else content_key(read(source))
