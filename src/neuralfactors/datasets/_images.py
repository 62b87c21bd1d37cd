"""Pictures and label maps in files: read strictly, written in one step.

A label map that could be misread (a JPEG, a palette numbered afresh, a colour that no class has) is refused, with a
sentence that names the file.
"""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralfactors._common.extras import needs
from neuralfactors._common.files import check_regular, write_atomically
from neuralfactors._common.labels import VOID
from neuralfactors.datasets._arrays import NUMPY, read_array
from neuralfactors.datasets._classes import Classes

with needs("neuralfactors.datasets", "segment"):
    from PIL import Image, ImageOps, UnidentifiedImageError

ORIENTATION, SIDEWAYS = 0x0112, (5, 6, 7, 8)  # the EXIF tag, and its values that swap height and width
SUFFIXES = (".webp", ".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff", ".gif", ".ppm", ".pgm", ".pnm", ".jp2", ".tga")
LOSSY = ("JPEG", "MPO")
# Brightest values of 12 and 16 bits: cameras of microscopes store 12 bits in files of 16, in which they look black. No
# other depths, so that pictures of one camera are rarely scaled in two ways.
DEPTHS = (4095, 65535)


def list_pictures(folder: Path) -> list[Path]:
    """Files of `folder` with the suffix of a picture, sorted, without hidden ones, such as macOS leaves in archives."""
    return sorted(p for p in folder.iterdir() if p.suffix.lower() in SUFFIXES and not p.name.startswith("."))


def read_image(path: Path) -> NDArray[np.uint8]:
    """The picture in a file: RGB, 8 bits, upright as its EXIF orientation says, transparency on white.

    Parameters
    ----------
    path : Path
        Anything that Pillow reads. Of more than 8 bits a channel, the range of the depth is scaled down.

    Returns
    -------
    ndarray of shape (H, W, 3)
        uint8.

    Raises
    ------
    ValueError
        If there is no such file, or it cannot be read as a picture.
    """
    picture = _open(path)
    if picture.mode.startswith("I") or picture.mode == "F":
        return np.repeat(_to_bytes(np.asarray(picture), path)[..., None], 3, axis=2)
    if picture.has_transparency_data:
        layer = picture.convert("RGBA")
        picture = Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer)
    return np.asarray(picture.convert("RGB"))


def read_labels(path: Path, classes: Classes) -> NDArray[np.int64]:
    """Label of each pixel from a map of class indices (one channel) or of class colours (RGB).

    Parameters
    ----------
    path : Path
        The label map; a JPEG is refused, since its compression changes labels.
    classes : Classes
        What indices and colours mean.

    Returns
    -------
    ndarray of shape (H, W)
        int64, −1 for void.

    Raises
    ------
    ValueError
        If a pixel has an index or a colour that no class has.
    """
    picture = _open(path)
    if picture.format in LOSSY:  # what it smears along boundaries may pass for other classes, unnoticed
        raise ValueError(f"{path} is a JPEG, whose compression changes labels: save the label maps as PNG")
    if picture.mode in ("RGB", "RGBA"):
        return classes.labels_of_colours(np.asarray(picture.convert("RGB")), path)
    if picture.mode not in ("L", "P", "1", "I", "I;16", "I;16B"):
        raise ValueError(f"{path} must be a label map of one channel or RGB, got the mode {picture.mode}")
    indices = np.asarray(picture)
    if picture.mode == "P":
        classes.check_palette(np.unique(indices), np.array(picture.getpalette("RGB")).reshape(-1, 3), path)
    return classes.labels_of_indices(indices, path)


def read_regions(path: Path) -> NDArray[np.int64]:
    """Number of the region of each pixel.

    Parameters
    ----------
    path : Path
        A picture of one channel, whose values are the numbers, or of colours, one for each region; or an array of
        integers that ``numpy.save`` wrote.

    Returns
    -------
    ndarray of shape (H, W)
        Any numbers, not without gaps.

    Raises
    ------
    ValueError
        If the file cannot be read as such.
    """
    if path.suffix == NUMPY:
        numbers = read_array(path)
        if numbers.ndim != 2 or numbers.dtype.kind == "f":
            raise ValueError(f"{path} must contain an array of integers of shape (H, W)")
        return numbers.astype(np.int64)
    picture = _open(path)
    if picture.format in LOSSY:
        raise ValueError(f"{path} is a JPEG, whose compression changes regions: save them as PNG")
    if picture.mode in ("RGB", "RGBA"):
        colours = np.asarray(picture.convert("RGB")).astype(np.int64)
        return np.asarray(colours @ [65536, 256, 1])
    values = np.asarray(picture)
    if values.ndim != 2 or values.dtype.kind not in "biu":
        raise ValueError(f"{path} must have one channel of integers, or be RGB, got the mode {picture.mode}")
    return values.astype(np.int64)


def write_label_map(path: Path, indices: NDArray[np.integer], palette: NDArray[np.uint8]) -> None:
    """Write class indices as a PNG of one channel that viewers show in colours.

    Indices beyond 255, for which PNG has no palette, are written as 16 bits of grey.

    Parameters
    ----------
    path : Path
        The file, replaced in one step.
    indices : int array of shape (H, W)
        From 0 to 65535.
    palette : uint8 array of shape (n, 3)
        Colour of each index.
    """
    if indices.min(initial=0) < 0 or indices.max(initial=0) > 65535:
        raise ValueError(f"indices must be 0 to 65535 to fit a PNG, got {indices.min()} to {indices.max()}")
    if indices.max(initial=0) > 255:
        _write(path, Image.fromarray(indices.astype(np.uint16)), "PNG")
        return
    picture = Image.fromarray(indices.astype(np.uint8))
    picture.putpalette(palette.astype(np.uint8).tobytes())
    _write(path, picture, "PNG")


def write_image(path: Path, image: NDArray[np.uint8]) -> None:
    """Write a picture as PNG, or as JPEG of high quality where `path` ends with .jpg.

    Parameters
    ----------
    path : Path
        The file, replaced in one step.
    image : uint8 array of shape (H, W, 3) or (H, W)
        RGB or grey.
    """
    if path.suffix.lower() in (".jpg", ".jpeg"):
        _write(path, Image.fromarray(image), "JPEG", quality=92)
    else:
        _write(path, Image.fromarray(image), "PNG")


def image_shape(path: Path) -> tuple[int, int]:
    """Height and width of the picture in a file, upright, from its header alone."""
    check_regular(Path(path))
    try:
        with Image.open(path) as picture:
            width, height = picture.size
            sideways = picture.getexif().get(ORIENTATION, 1) in SIDEWAYS
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise ValueError(f"{path} could not be read as an image: {error}") from error
    return (width, height) if sideways else (height, width)


def colour_labels(labels: NDArray[np.integer], palette: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The picture of a label map.

    Parameters
    ----------
    labels : int array of shape (H, W)
        Labels; void, −1, becomes black.
    palette : uint8 array of shape (L, 3)
        Colour of each label, such as `Classes.palette`.

    Returns
    -------
    ndarray of shape (H, W, 3)
        uint8.
    """
    return np.where((labels == VOID)[..., None], np.uint8(0), palette[labels])


def _write(path: Path, picture: Image.Image, kind: str, **options: Any) -> None:
    content = BytesIO()
    picture.save(content, kind, **options)
    write_atomically(path, content.getvalue())


def _open(path: Path) -> Image.Image:
    check_regular(Path(path))
    try:
        picture = Image.open(path)
        picture.load()
        with Image.open(path) as again:
            again.verify()  # the checksums of a PNG, which decoding ignores: a flipped bit may pass for another label
        upright = ImageOps.exif_transpose(picture)
        upright.format = picture.format  # which a copy has lost
        return upright
    except FileNotFoundError:
        raise ValueError(f"{path} does not exist") from None
    except UnidentifiedImageError:
        raise ValueError(f"{path} is not an image that Pillow can read") from None
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise ValueError(f"{path} could not be read as an image: {error}") from error


def _to_bytes(values: NDArray[np.generic], path: Path) -> NDArray[np.uint8]:
    # More than 8 bits: integers by the range of their depth; wider ones and floats by the range they use. Pixels that
    # are no number, or infinite, are black: they must not decide how the others look.
    numbers = values.astype(np.float64)
    if values.dtype.kind in "iu" and numbers.min(initial=0) >= 0 and numbers.max(initial=0) <= DEPTHS[-1]:
        brightest = next(depth for depth in DEPTHS if numbers.max(initial=0) <= depth)
        return np.rint(numbers * (255 / brightest)).astype(np.uint8)
    finite = np.isfinite(numbers)
    if not finite.any():
        raise ValueError(f"{path} has no pixel with a finite value")
    low, high = float(numbers[finite].min()), float(numbers[finite].max())
    shades = (np.where(finite, numbers, low) - low) * (255 / max(high - low, 1e-300))
    return np.rint(shades).astype(np.uint8)
