"""TIFF beyond what Pillow reads: several pages, many channels, deep colours. Needs the package tifffile."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralfactors._common.files import check_regular
from neuralfactors.datasets._arrays import check_finite

MAX_PIXELS, MAX_BYTES = 2**28, 2**32  # of a picture, and of all that a file unpacks to: more is taken for damage
CHANNEL_AXES = "CS"  # of tifffile: channels and samples; those before Y and X that are neither are pages


class Stack(NamedTuple):
    """What a header says: so many pages of (height, width, channels)."""

    pages: int
    height: int
    width: int
    channels: int


def stack_shape(path: Path) -> Stack:
    """What the header of a TIFF says; refused if that is more than the file can hold."""
    with _opened(path) as series:
        return _stack(series)


def read_stack(path: Path) -> NDArray[Any]:
    """All pages (P, H, W, C) of a TIFF."""
    with _opened(path) as series:
        stack, axes = _stack(series), series.axes
        values = series.asarray()
    channels = [n for n, axis in enumerate(axes) if axis in CHANNEL_AXES]
    pages = [n for n, axis in enumerate(axes) if axis not in "YX" + CHANNEL_AXES]
    ordered = values.transpose(*pages, axes.index("Y"), axes.index("X"), *channels)
    return check_finite(ordered.reshape(stack), path)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """The only series of a TIFF, all of whose data lies within the file."""
    try:
        import tifffile
    except ImportError as error:
        needed = "needs the package tifffile: pip install 'neuralfactors[tiff]'"
        raise ImportError(f"{path} has several pages, many channels or deep colours, which {needed}") from error
    check_regular(path)
    logging.getLogger("tifffile").setLevel(logging.CRITICAL)  # what is wrong is said by the error
    try:
        with tifffile.TiffFile(path) as file:
            _check_extent(file, path)
            if len(file.series) != 1:
                raise ValueError(f"it contains {len(file.series)} pictures of different kinds")
            yield file.series[0]
    except FileNotFoundError:
        raise ValueError(f"{path} does not exist") from None
    except Exception as error:  # of a damaged file, anything may come
        told = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ValueError(f"{path} could not be read as an image: {told}") from error


def _stack(series: Any) -> Stack:
    """Sizes of a series of pages; refused where these are no picture, or too large."""
    sizes = dict(zip(series.axes, series.shape, strict=True))
    if not {"X", "Y"} <= sizes.keys():
        raise ValueError(f"its axes are {series.axes}, without rows and columns")
    channels = prod(size for axis, size in sizes.items() if axis in CHANNEL_AXES)
    found = Stack(prod(series.shape) // max(1, sizes["Y"] * sizes["X"] * channels), sizes["Y"], sizes["X"], channels)
    if found.height * found.width > MAX_PIXELS or prod(series.shape) * series.dtype.itemsize > MAX_BYTES:
        raise ValueError(f"it claims {' × '.join(map(str, series.shape))} values, which is too much")
    if np.dtype(series.dtype).kind not in "iuf":
        raise ValueError(f"its values are {series.dtype}, not numbers of a picture")
    return found


def _check_extent(file: Any, path: Path) -> None:
    size = path.stat().st_size
    for page in file.pages:
        ends = (offset + count for offset, count in zip(page.dataoffsets, page.databytecounts, strict=False))
        if max(ends, default=0) > size:
            raise ValueError("it ends before its data does")
