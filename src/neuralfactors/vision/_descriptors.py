"""Dense descriptors of an image: DAISY for gradients, on a lattice; a point of the HSV cone for each pixel's colour."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from neuralfactors.vision import _kernels

ORIENTATIONS = 8  # bins of a gradient histogram, fixed in the kernel
# Of the HSV cone, whose base has radius 1: what a thing is changes with its shading less than with its hue.
HEIGHT = 0.5
STRIP = 128  # rows of the lattice described at once, to bound memory on large images

# Half a smoothing kernel, and offsets of the histograms smoothed by it.
Ring = tuple[list[float], list[tuple[int, int]]]


def hsv_cone(image: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Colour (H, W, 3) of each pixel as (S cos H, S sin H, V/2): hue is a circle, and means little in greys."""
    cone = np.empty(image.shape, dtype=np.float32)
    _kernels.rgb_to_hsv_cone(image, cone)
    cone[..., 2] *= HEIGHT
    return cone


def to_grey(image: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Luminance (H, W), 0 to 1."""
    return image @ (np.array([0.2125, 0.7154, 0.0721], dtype=np.float32) / np.float32(255))


def dense_daisy(
    image: NDArray[np.uint8], *, stride: int = 4, radius: int = 15, rings: int = 3, petals: int = 8
) -> NDArray[np.float32]:
    """DAISY descriptors (⌈H/stride⌉, ⌈W/stride⌉, (rings · petals + 1) · 8), one per cell of stride × stride pixels.

    A cell is described at its middle, and the image is continued by its mirror image, so that every pixel has a
    descriptor. Each sums to one. See `daisy` for the arguments.
    """
    height, width = image.shape[:2]
    rows, columns = -(-height // stride), -(-width // stride)
    before = radius - stride // 2
    after = [stride * (n - 1) + 1 + 2 * radius - before - size for n, size in ((rows, height), (columns, width))]
    grey = np.pad(to_grey(image), [(max(before, 0), max(a, 0)) for a in after], mode="symmetric")
    grey = np.ascontiguousarray(grey[max(-before, 0) :, max(-before, 0) :])
    return daisy(grey, stride=stride, radius=radius, rings=rings, petals=petals)


def daisy(
    grey: NDArray[np.float32], *, stride: int = 4, radius: int = 15, rings: int = 3, petals: int = 8
) -> NDArray[np.float32]:
    """DAISY descriptors (h, w, D) on a lattice of points: (i, j) is that of pixel `radius` + `stride` · (i, j).

    They are those of ``skimage.feature.daisy(grey, stride, radius, rings, petals, 8)`` to rounding: around the point,
    out to `radius` pixels, there are so many `rings` of so many histograms, the `petals`. Points keep that far from the
    edges.
    """
    layout = daisy_layout(radius, rings, petals)
    rows, columns = (max(0, -(-(size - 2 * radius) // stride)) for size in grey.shape)
    descriptors = np.empty((rows, columns, (rings * petals + 1) * ORIENTATIONS), dtype=np.float32)
    reach = max(len(kernel) for kernel, _ in layout)  # how far smoothing and the gradient see beyond the outermost ring
    for first in range(0, rows if columns else 0, STRIP):
        part = descriptors[first : first + STRIP]
        top, bottom = first * stride, (first + len(part) - 1) * stride + 2 * radius + 1
        above = min(top, reach)
        strip = grey[top - above : bottom + reach]
        _kernels.daisy(strip, layout, (radius + above, radius), stride, part)
    return descriptors


@lru_cache(maxsize=8)
def daisy_layout(radius: int, rings: int, petals: int) -> list[Ring]:
    """Histograms of a descriptor, grouped by their smoothing: the centre with the first ring, then ring by ring."""
    layout: list[Ring] = []
    for ring in range(1, rings + 1):
        sigma, distance = radius * ring / (2 * rings), radius * ring / rings
        angles = [2 * math.pi * petal / petals for petal in range(petals)]
        offsets = [(round(distance * math.sin(a)), round(distance * math.cos(a))) for a in angles]
        layout.append((_half_gaussian(sigma), [(0, 0), *offsets] if ring == 1 else offsets))
    return layout


def _half_gaussian(sigma: float) -> list[float]:
    """A Gaussian from the middle outwards, cut at four standard deviations; both halves together sum to one."""
    half = np.exp(-0.5 * (np.arange(int(4 * sigma + 0.5) + 1) / sigma) ** 2)
    return [float(weight) for weight in half / (2 * half.sum() - half[0])]
