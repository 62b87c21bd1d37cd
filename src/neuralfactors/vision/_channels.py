"""Pictures of any depth and number of channels: values from 0 to 1, and the three colours that stand for them.

Colour words are learnt from all channels. Regions, gradients and networks look at three: those there are, one channel
three times, or the first three principal components, of which the first is green, most of what luminance is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray
from PIL import Image as PILImage

from neuralfactors._common.labels import refuse_masked

Picture = NDArray[np.generic]  # (H, W, C)
MOST_CHANNELS = 256  # more are taken for a picture whose channels come first
DEEP = ("uint16", "uint32", "int16", "int32", "float16", "float32", "float64")
RANGE = (0.1, 99.9)  # percentiles that become 0 and 1: single hot pixels must not decide how dark the others are
LOOKED_AT, SAMPLED = 50, 8  # so many pictures are looked at, and every 8th pixel each way
ROWS = 256  # converted at once, to bound memory on large pictures
PREFIX = "channel_"


def check_picture(image: object) -> Picture:
    """`image` (H, W, C), contiguous: uint8, another type of `DEEP`, or float32; grey of 8 bits becomes RGB."""
    refuse_masked(image, "image", "values that may count")
    given = np.asarray(image)
    array = given[..., None] if given.ndim == 2 else given
    if array.ndim != 3 or array.dtype.name not in ("uint8", *DEEP) or array.size == 0:
        expected = "uint8 of shape (H, W, 3), or (H, W, C) of 8, 16 or 32 bits or float"
        raise ValueError(f"image must be {expected}, got {array.dtype} of shape {given.shape}")
    if array.shape[2] > MOST_CHANNELS:
        raise ValueError(f"image must have at most {MOST_CHANNELS} channels, which come last, got {array.shape}")
    if array.dtype.kind == "f":
        with np.errstate(over="ignore"):  # what overflows is refused
            array = array.astype(np.float32, copy=False)
        if not np.isfinite(array).all():
            raise ValueError("image must have finite values, but some are not")
    elif array.dtype == np.uint8 and array.shape[2] == 1:
        array = np.repeat(array, 3, axis=2)
    return np.ascontiguousarray(array)


def is_plain(picture: Picture) -> bool:
    """Whether it is RGB of 8 bits, which needs no conversion."""
    return picture.dtype == np.uint8 and picture.shape[2] == 3


def rgb_of(image: object) -> NDArray[np.uint8]:
    """An image as it may be shown (H, W, 3): as it is, or by the range of its own values."""
    picture = check_picture(image)
    channels = Channels.learn([picture])
    return np.asarray(picture, dtype=np.uint8) if channels is None else channels.view(picture)


def reduce_to(picture: Picture, max_side: int) -> Picture:
    """`picture`, averaged down where its longer side exceeds `max_side` pixels; to float32 unless it is plain."""
    longest = max(picture.shape[:2])
    if longest <= max_side:
        return picture
    height, width = (max(1, round(n * max_side / longest)) for n in picture.shape[:2])

    def reduced(part: Picture) -> Picture:
        return np.asarray(PILImage.fromarray(part).resize((width, height), PILImage.Resampling.BOX))

    if is_plain(picture):
        return reduced(picture)
    planes = (np.ascontiguousarray(picture[..., n], dtype=np.float32) for n in range(picture.shape[2]))
    return np.stack([reduced(plane) for plane in planes], axis=2)


@dataclass(frozen=True, eq=False)
class Channels:
    """How the values of C channels become numbers from 0 to 1, and these three colours; learnt from training images."""

    depth: NDArray[np.float32]  # (1,) bits of a value, negative where it is a float
    low: NDArray[np.float32]  # (C,) the value that becomes 0
    high: NDArray[np.float32]  # (C,) and 1
    mixing: NDArray[np.float32]  # (C, 3)
    offset: NDArray[np.float32]  # (3,)

    @classmethod
    def learn(cls, pictures: Iterable[Picture]) -> Channels | None:
        """Those of the first 50 pictures; None where the first needs none, being RGB of 8 bits.

        The range is that of 8 bits, or else where 99.8 % of the pixels' values lie, channel by channel.
        """
        samples: list[Picture] = []
        for picture in pictures:
            if not samples and is_plain(picture):
                return None
            if samples and _kind(picture) != _kind(samples[0]):
                continue  # `check` refuses it, where its name is known
            samples.append(picture[::SAMPLED, ::SAMPLED])
            if len(samples) == LOOKED_AT:
                break
        points = np.concatenate([sample.reshape(-1, sample.shape[2]) for sample in samples]).astype(np.float64)
        if samples[0].dtype == np.uint8:
            low, high = np.zeros(points.shape[1]), np.full(points.shape[1], 255.0)
        else:
            low, high = np.percentile(points, RANGE, axis=0)
            high = np.where(high > low, high, low + 1.0)
        mixing, offset = _mixing(np.clip((points - low) / (high - low), 0.0, 1.0))
        found = ([_depth(samples[0])], low, high, mixing, offset)
        return cls(*(np.asarray(array, dtype=np.float32) for array in found))

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[np.float32]]) -> Channels | None:
        """Those that `to_arrays` named; None where there are none."""
        names = [field.name for field in fields(cls)]
        return cls(*(arrays[PREFIX + name] for name in names)) if PREFIX + names[0] in arrays else None

    def to_arrays(self) -> dict[str, NDArray[np.float32]]:
        """All arrays by name, for a file."""
        return {PREFIX + name: array for name, array in vars(self).items()}

    def check(self, picture: Picture) -> Picture:
        """`picture`, refused unless it has the channels and the depth that this was learnt from."""
        known = (len(self.low), int(self.depth[0]))
        if _kind(picture) != known:
            raise ValueError(_unlike(known, picture))
        return picture

    def values(self, picture: Picture) -> NDArray[np.float32]:
        """Values (H, W, C) from 0 to 1."""
        numbers = picture.astype(np.float32, copy=False)
        return np.asarray(np.clip((numbers - self.low) / (self.high - self.low), 0, 1))

    def view(self, picture: Picture) -> NDArray[np.uint8]:
        """The three colours (H, W, 3) that stand for the channels."""
        colours = np.empty((*picture.shape[:2], 3), dtype=np.uint8)
        for first in range(0, len(picture), ROWS):
            part = slice(first, first + ROWS)
            mixed = self.values(picture[part]) @ self.mixing + self.offset
            colours[part] = np.rint(255 * np.clip(mixed, 0, 1))
        return colours


def check_plain(picture: Picture) -> Picture:
    """`picture`, refused unless it is RGB of 8 bits, as those that a model without channels was trained on."""
    if not is_plain(picture):
        raise ValueError(_unlike((3, 8), picture))
    return picture


def _mixing(points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The matrix (C, 3) and the offset (3,) that make colours of values (N, C)."""
    n_channels = points.shape[1]
    if n_channels in (1, 3):
        return np.eye(3)[:n_channels] if n_channels == 3 else np.ones((1, 3)), np.zeros(3)
    mean = points.mean(axis=0)
    _, axes = np.linalg.eigh((points - mean).T @ (points - mean))
    found = axes[:, ::-1][:, :3]  # the largest come last
    found = found * np.where(found.sum(axis=0) < 0, -1.0, 1.0)
    along = (points - mean) @ found[:, 0]
    low, high = np.percentile(along, RANGE)
    mixing = np.zeros((n_channels, 3))
    mixing[:, [1, 0, 2][: found.shape[1]]] = found / max(high - low, 1e-6)
    centre = np.array([0.5, -low / max(high - low, 1e-6), 0.5])
    return mixing, centre - mean @ mixing


def _depth(picture: Picture) -> int:
    return -32 if picture.dtype.kind == "f" else 8 * picture.dtype.itemsize


def _kind(picture: Picture) -> tuple[int, int]:
    return picture.shape[2], _depth(picture)


def _described(n_channels: int, depth: int) -> str:
    bits = "of floats" if depth < 0 else f"of {depth} bits"
    return f"{n_channels} channel{'s' * (n_channels > 1)} {bits}"


def _unlike(known: tuple[int, int], picture: Picture) -> str:
    return f"the training images have {_described(*known)}, but this image has {_described(*_kind(picture))}"
