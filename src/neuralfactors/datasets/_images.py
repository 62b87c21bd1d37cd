"""Pictures and label maps in files: read strictly, written in one step.

A label map that could be misread (a JPEG, a palette numbered afresh, a colour that no class has) is refused, with a
sentence that names the file.
"""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from neuralfactors._common.extras import needs
from neuralfactors._common.files import check_regular, write_atomically
from neuralfactors._common.labels import VOID
from neuralfactors.datasets._arrays import NUMPY, check_finite, open_array, read_array
from neuralfactors.datasets._classes import Classes
from neuralfactors.datasets._tiff import read_stack, stack_shape

with needs("neuralfactors.datasets", "segment"):
    from PIL import Image, ImageOps, UnidentifiedImageError

ORIENTATION, SIDEWAYS = 0x0112, (5, 6, 7, 8)  # the EXIF tag, and its values that swap height and width
SAMPLES, BITS, DESCRIPTION = 277, 258, 270  # tags of TIFF
TIFF = (".tif", ".tiff")
SUFFIXES = (".webp", ".jpg", ".jpeg", ".png", ".bmp", *TIFF, ".gif", ".ppm", ".pgm", ".pnm", ".jp2", ".tga", NUMPY)
LOSSY = ("JPEG", "MPO")
Pages = Literal["channels"] | int | None  # of a TIFF of several: all as channels, one, or none is expected


def list_pictures(folder: Path) -> list[Path]:
    """Files of `folder` with the suffix of a picture, sorted, without hidden ones, such as macOS leaves in archives."""
    return sorted(p for p in folder.iterdir() if p.suffix.lower() in SUFFIXES and not p.name.startswith("."))


def read_image(path: Path, *, pages: Pages = None) -> NDArray[Any]:
    """The picture in a file, upright as its EXIF orientation says.

    Parameters
    ----------
    path : Path
        Anything that Pillow reads, an array that ``numpy.save`` wrote, or with the extra ``tiff`` any TIFF.
    pages : "channels" or int, default=None
        What to read of a TIFF of several pages: all of them as channels, or one; None: such files are refused.

    Returns
    -------
    ndarray of shape (H, W, 3)
        uint8: RGB, transparency on white. Of more bits, or more or fewer channels: (H, W, C) of its own type.

    Raises
    ------
    ValueError
        If there is no such file, it cannot be read as a picture, or it contains values that are not finite.
    """
    path = Path(path)
    if path.suffix.lower() == NUMPY:
        return _channels_last(read_array(path), path)
    if is_stack(path):
        return _channels_last(_of_pages(read_stack(path), pages, path), path)
    picture = _open(path)
    if picture.mode.startswith("I") or picture.mode == "F":
        return check_finite(np.asarray(picture), path)[..., None]
    if picture.has_transparency_data:
        layer = picture.convert("RGBA")
        picture = Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer)
    return np.asarray(picture.convert("RGB"))


def _of_pages(stack: NDArray[Any], pages: Pages, path: Path) -> NDArray[Any]:
    """The picture (H, W, C) of the pages (P, H, W, C) of a file."""
    if isinstance(pages, int):
        return np.asarray(stack[pages])
    if len(stack) > 1 and pages is None:
        choice = "whether they are channels of one picture or pictures of their own"
        raise ValueError(f"{path} has {len(stack)} pages: say by pages (--pages) {choice}")
    return stack.transpose(1, 2, 0, 3).reshape(*stack.shape[1:3], -1)


def _channels_last(values: NDArray[Any], path: Path) -> NDArray[Any]:
    if values.ndim not in (2, 3) or values.size == 0:
        raise ValueError(f"{path} must be a picture of shape (H, W) or (H, W, C), got {values.shape}")
    picture = values[..., None] if values.ndim == 2 else values
    return np.repeat(picture, 3, axis=2) if picture.dtype == np.uint8 and picture.shape[2] == 1 else picture


def is_stack(path: Path) -> bool:
    """Whether a file is a TIFF of several pages, or of channels or depths that Pillow would drop without a word."""
    if path.suffix.lower() not in TIFF or not path.is_file():
        return False
    try:
        with Image.open(path) as picture:
            if picture.format != "TIFF":
                return False
            tags = picture.tag_v2  # type: ignore[attr-defined]
            n_samples, bits = tags.get(SAMPLES, 1), max(np.atleast_1d(tags.get(BITS, 1)))
            if tags.next > path.stat().st_size:
                raise ValueError("its pages lie beyond its end")
            many = picture.n_frames > 1 or "images=" in str(tags.get(DESCRIPTION, ""))  # type: ignore[attr-defined]
            return bool(many or n_samples > len(picture.getbands()) or (n_samples > 1 and bits > 8))
    except UnidentifiedImageError:
        return True
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise ValueError(f"{path} could not be read as an image: {error}") from error


def count_pages(path: Path) -> int:
    """Number of pages of the picture in a file."""
    return stack_shape(path).pages if is_stack(path) else 1


def read_labels(path: Path, classes: Classes, *, page: int | None = None) -> NDArray[np.int64]:
    """Label of each pixel from a map of class indices (one channel) or of class colours (RGB).

    Parameters
    ----------
    path : Path
        The label map: a picture, or an array that ``numpy.save`` wrote. A JPEG is refused, since its compression
        changes labels.
    classes : Classes
        What indices and colours mean.
    page : int, default=None
        Which page of a file of several; None: there must be one.

    Returns
    -------
    ndarray of shape (H, W)
        int64, −1 for void.

    Raises
    ------
    ValueError
        If a pixel has an index or a colour that no class has.
    """
    if path.suffix.lower() == NUMPY:
        return classes.labels_of_indices(_whole_numbers(path), path)
    picture = _open(path, page)
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
    """Number of the region of each pixel (H, W), any numbers, not without gaps.

    The file is a picture of one channel, whose values are the numbers, or of colours, one for each region; or an array
    of integers that ``numpy.save`` wrote. Others are refused.
    """
    if path.suffix.lower() == NUMPY:
        return _whole_numbers(path)
    picture = _open(path, None)
    if picture.format in LOSSY:
        raise ValueError(f"{path} is a JPEG, whose compression changes regions: save them as PNG")
    if picture.mode in ("RGB", "RGBA"):
        colours = np.asarray(picture.convert("RGB")).astype(np.int64)
        return np.asarray(colours @ [65536, 256, 1])
    values = np.asarray(picture)
    if values.ndim != 2 or values.dtype.kind not in "biu":
        raise ValueError(f"{path} must have one channel of integers, or be RGB, got the mode {picture.mode}")
    return values.astype(np.int64)


def _whole_numbers(path: Path) -> NDArray[np.int64]:
    numbers = read_array(path)
    if numbers.ndim != 2 or numbers.dtype.kind == "f":
        raise ValueError(f"{path} must contain an array of integers of shape (H, W)")
    return numbers.astype(np.int64)


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
    if path.suffix.lower() == NUMPY:
        shape = open_array(path).shape
        if len(shape) not in (2, 3):
            raise ValueError(f"{path} must be a picture of shape (H, W) or (H, W, C), got {shape}")
        return shape[0], shape[1]
    if is_stack(path):
        stack = stack_shape(path)
        return stack.height, stack.width
    check_regular(Path(path))
    try:
        with Image.open(path) as picture:
            width, height = picture.size
            # Of a TIFF, Pillow tells the upright size already.
            sideways = picture.format != "TIFF" and picture.getexif().get(ORIENTATION, 1) in SIDEWAYS
    except (OSError, EOFError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
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


def _open(path: Path, page: int | None = 0) -> Image.Image:
    """The picture on a page of a file, upright, refused unless the file is whole."""
    # That `page` of a file; None: the only one.
    check_regular(Path(path))
    try:
        with Image.open(path) as picture:
            n_pages = getattr(picture, "n_frames", 1)
            if page is None and n_pages > 1:
                raise ValueError(f"it has {n_pages} pages, where one is expected")
            if page is not None and page >= n_pages:
                raise ValueError(f"it has {n_pages} page{'s' * (n_pages > 1)}, but its picture has more")
            picture.seek(page or 0)
            picture.load()
            upright = ImageOps.exif_transpose(picture)
            upright.format = picture.format  # which a copy has lost
        with Image.open(path) as again:
            again.verify()  # the checksums of a PNG, which decoding ignores: a flipped bit may pass for another label
        return upright
    except FileNotFoundError:
        raise ValueError(f"{path} does not exist") from None
    except UnidentifiedImageError:
        raise ValueError(f"{path} is not an image that Pillow can read") from None
    except (OSError, EOFError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise ValueError(f"{path} could not be read as an image: {error}") from error
