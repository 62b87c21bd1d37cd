"""Pictures and label maps from files: whatever Pillow reads, upright, as plain arrays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from neuralfactors.datasets.classes import VOID, Classes

SUFFIXES = (".webp", ".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff", ".gif", ".ppm")


def read_image(path: Path) -> NDArray[np.uint8]:
    """The picture (H, W, 3) in a file: RGB, 8 bits, upright as its EXIF orientation says, transparency on white."""
    picture = _open(path)
    if picture.mode.startswith("I") or picture.mode == "F":
        return np.repeat(_to_bytes(np.asarray(picture))[..., None], 3, axis=2)
    if picture.has_transparency_data:
        layer = picture.convert("RGBA")
        picture = Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer)
    return np.asarray(picture.convert("RGB"))


def read_labels(path: Path, classes: Classes) -> NDArray[np.int64]:
    """Label (H, W) of each pixel, −1 for void, from a map of class indices (one channel) or of class colours (RGB)."""
    picture = _open(path)
    if picture.mode in ("RGB", "RGBA"):
        return classes.labels_of_colours(np.asarray(picture.convert("RGB")), path)
    if picture.mode not in ("L", "P", "1", "I", "I;16", "I;16B"):
        raise ValueError(f"{path} must be a label map of one channel or RGB, got the mode {picture.mode}")
    return classes.labels_of_indices(np.asarray(picture), path)


def write_label_map(path: Path, indices: NDArray[np.integer], palette: NDArray[np.uint8]) -> None:
    """Write class indices (H, W) as a PNG of one channel that viewers show in the colours of `palette` (n, 3)."""
    if indices.min(initial=0) < 0 or indices.max(initial=0) > 255:
        raise ValueError(f"indices must be 0 to 255 to fit a PNG palette, got {indices.min()} to {indices.max()}")
    picture = Image.fromarray(indices.astype(np.uint8), mode="P")
    picture.putpalette(palette.astype(np.uint8).tobytes())
    picture.save(path)


def colour_labels(labels: NDArray[np.integer], palette: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The picture (H, W, 3) of `labels` (H, W) in the colours of `palette` (L, 3); void is black."""
    return np.where((labels == VOID)[..., None], np.uint8(0), palette[labels])


def _open(path: Path) -> Image.Image:
    try:
        picture = Image.open(path)
        picture.load()
        return ImageOps.exif_transpose(picture)
    except FileNotFoundError:
        raise ValueError(f"{path} does not exist") from None
    except UnidentifiedImageError:
        raise ValueError(f"{path} is not an image that Pillow can read") from None
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise ValueError(f"{path} cannot be read as an image: {error}") from error


def _to_bytes(values: NDArray[np.generic]) -> NDArray[np.uint8]:
    # More than 8 bits: 16-bit integers by their full range; wider ones and floats by the range they use.
    numbers = values.astype(np.float64)
    if values.dtype.kind in "iu" and numbers.min(initial=0) >= 0 and numbers.max(initial=0) <= 65535:
        return np.rint(numbers / 257).astype(np.uint8)
    low, high = float(numbers.min()), float(numbers.max())
    return np.rint((numbers - low) * (255 / max(high - low, 1e-300))).astype(np.uint8)
