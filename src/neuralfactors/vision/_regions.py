"""Regions of an image: SLIC superpixels, connected, of reasonable size and numbered from top to bottom."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuralfactors._common.labels import refuse_masked
from neuralfactors.vision import _kernels
from neuralfactors.vision._region_geometry import enlarge, region_areas, region_centres, region_edges

Image = NDArray[np.uint8]  # (H, W, 3)
Regions = NDArray[np.int32]  # (H, W), numbered 0, 1, ... without gaps

SMALLEST, LARGEST = 0.5, 3.0  # bounds of a region's area, in mean areas: a smaller piece joins a neighbour
LARGEST_MERGED = 8.0  # that of merged regions
LEAST_CONTRAST = (
    10.0  # squared difference of Lab colours that two regions have at least, when the most alike are sought
)


def find_regions(
    image: Image, n_regions: int = 300, *, compactness: float = 30.0, min_area: float = 0.0, merge_from: int = 1
) -> NDArray[np.int32]:
    """Regions of an image: connected superpixels, numbered by their centres from top to bottom.

    Parameters
    ----------
    image : uint8 array of shape (H, W, 3)
        The picture.
    n_regions : int, default=300
        How many to ask for. At the default compactness, 90 to 100 % of that come out.
    compactness : float, default=30.0
        Weight of position against colour; more makes regions squarer and their number steadier.
    min_area : float, default=0.0
        Regions smaller than this share of H W / `n_regions` are merged into the neighbour most like them in colour.
    merge_from : int, default=1
        How many times as many regions are found first, of which neighbours that are most alike in colour are merged:
        what is flat has large regions then, and thin structures have small ones of their own. 1: none are merged.

    Returns
    -------
    ndarray of shape (H, W)
        int32, region of each pixel.
    """
    image = check_image(image)
    regions = slic(image, n_regions * merge_from, compactness=compactness)
    if merge_from > 1:
        regions = merge_alike(image, regions, n_regions)
    if min_area > 0:
        regions = merge_small(image, regions, min_area * regions.size / n_regions)
    return number_from_top(regions)


def adopt_regions(given: NDArray[np.integer], shape: tuple[int, ...], reduced: tuple[int, ...]) -> NDArray[np.int32]:
    """Regions (h, w) that users have made, numbered as those of `find_regions` are, in an image reduced from (H, W).

    What is given has any number for each region, such as those of a watershed; they need not be connected. A region of
    which no pixel is left is gone.
    """
    refuse_masked(given, "regions", "the number of a region")
    array = np.asarray(given)
    if array.dtype.kind not in "biu" or array.shape != tuple(shape):
        got = f"{array.dtype} of shape {array.shape}"
        raise ValueError(f"regions must be integers of the shape of their image, {tuple(shape)}, got {got}")
    numbers = np.unique(enlarge(array, (reduced[0], reduced[1])), return_inverse=True)[1]
    return number_from_top(numbers.reshape(reduced).astype(np.int32))


def check_image(image: NDArray[np.generic]) -> Image:
    """`image`, contiguous, refused unless it is uint8 of shape (H, W, 3) with at least one pixel."""
    array = np.asarray(image)
    if array.dtype != np.uint8 or array.ndim != 3 or array.shape[2] != 3 or array.size == 0:
        raise ValueError(f"image must be uint8 of shape (H, W, 3), got {array.dtype} of shape {array.shape}")
    return np.ascontiguousarray(array)


def slic(image: Image, n_regions: int, *, compactness: float = 30.0, n_iterations: int = 10) -> NDArray[np.int32]:
    """Connected SLIC superpixels (H, W) of `image`, numbered in raster order of their first pixels.

    They are those of ``skimage.segmentation.slic(image, n_regions, compactness, start_label=0)`` but for pixels that
    rounding (float32 here, float64 there) gives to another of two regions equally far away.
    """
    image = check_image(image)
    if n_regions < 1:
        raise ValueError(f"n_regions must be at least 1, got {n_regions}")
    if not compactness > 0:
        raise ValueError(f"compactness must be positive, got {compactness}")
    seeds, steps = _seed_grid(image.shape[0], image.shape[1], n_regions)
    labels = np.empty(image.shape[:2], dtype=np.int32)
    reach = (2 * steps[0], 2 * steps[1])
    _kernels.slic(rgb_to_lab(image, 1.0 / compactness), seeds, reach, max(steps) ** -2, n_iterations, labels)
    regions = np.empty_like(labels)
    mean_area = labels.size / len(seeds)
    _kernels.connect_regions(labels, int(SMALLEST * mean_area), int(LARGEST * mean_area), regions)
    return regions


def rgb_to_lab(image: Image, scale: float = 1.0) -> NDArray[np.float32]:
    """CIE Lab (3, H, W) of `image` after its values are stretched to the full range, times `scale`.

    The stretch makes a compactness mean the same on a dim picture as on a bright one.
    """
    low, high = int(image.min()), int(image.max())
    value = np.clip((np.arange(256) - low) / max(high - low, 1), 0.0, 1.0)
    linear = np.where(value > 0.04045, ((value + 0.055) / 1.055) ** 2.4, value / 12.92).astype(np.float32)
    lab = np.empty((3, *image.shape[:2]), dtype=np.float32)
    _kernels.rgb_to_lab(image, linear, scale, lab)
    return lab


def _seed_grid(height: int, width: int, n_seeds: int) -> tuple[NDArray[np.int64], tuple[int, int]]:
    """Seeds (n, 2) on a grid of about `n_seeds` points, square unless the image is narrower than a step; its steps."""
    if n_seeds >= height * width:
        exact = (1.0, 1.0)
    elif min(height, width) ** 2 * n_seeds < height * width:
        along = max(height, width) / n_seeds
        exact = (float(height), along) if height < width else (along, float(width))
    else:
        exact = ((height * width / n_seeds) ** 0.5,) * 2
    steps = (round(exact[0]), round(exact[1]))
    rows = np.arange(int(exact[0] // 2), height, steps[0])
    columns = np.arange(int(exact[1] // 2), width, steps[1])
    return np.stack(np.meshgrid(rows, columns, indexing="ij"), axis=-1).reshape(-1, 2), steps


def merge_alike(image: Image, regions: Regions, n_regions: int) -> NDArray[np.int32]:
    """`regions` of which neighbours have been merged until `n_regions` are left, those most alike in Lab colour first.

    By Ward's rule small regions go before large ones that are as much alike.
    """
    areas, sums = _areas_and_sums(image, regions)
    target = np.empty(len(areas), dtype=np.int32)
    largest = LARGEST_MERGED * regions.size / n_regions
    _kernels.merge_alike(
        region_edges(regions), areas, sums / areas[:, None], n_regions, largest, LEAST_CONTRAST, target
    )
    return compact(target.astype(np.int64)[regions])


def _areas_and_sums(image: Image, regions: Regions) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Area (V,) of each region and the sum of its pixels' Lab colours (V, 3)."""
    areas = region_areas(regions).astype(float)
    lab = rgb_to_lab(image).reshape(3, -1)
    sums = np.stack([np.bincount(regions.ravel(), plane, minlength=len(areas)) for plane in lab], axis=1)
    return areas, np.asarray(sums, dtype=np.float64)


def merge_small(image: Image, regions: Regions, min_area: float) -> NDArray[np.int32]:
    """`regions` in which each one smaller than `min_area` pixels has joined its neighbour of nearest mean Lab colour.

    The smallest goes first; a region that has grown enough by then is kept.
    """
    areas, sums = _areas_and_sums(image, regions)
    neighbours: list[set[int]] = [set() for _ in areas]
    for i, j in region_edges(regions).tolist():
        neighbours[i].add(j)
        neighbours[j].add(i)
    target = np.arange(len(areas))
    for small in np.argsort(areas, kind="stable").tolist():
        if areas[small] >= min_area or not neighbours[small]:
            continue
        around = np.array(sorted(neighbours[small]))
        gaps = sums[around] / areas[around, None] - sums[small] / areas[small]
        into = int(around[np.argmin((gaps**2).sum(axis=1))])
        areas[into] += areas[small]
        sums[into] += sums[small]
        for other in neighbours[small]:
            neighbours[other].discard(small)
            if other != into:
                neighbours[other].add(into)
                neighbours[into].add(other)
        target[target == small] = into
    return compact(target[regions])


def compact(regions: NDArray[np.int64]) -> NDArray[np.int32]:
    """`regions` renumbered 0, 1, ... without gaps, in their order."""
    present = np.bincount(regions.ravel()) > 0
    number = np.cumsum(present, dtype=np.int32) - np.int32(1)
    return number[regions]


def number_from_top(regions: Regions) -> NDArray[np.int32]:
    """`regions` renumbered by their centres, row first: an edge from a lower to a higher number never points up."""
    centres = region_centres(regions)
    number = np.empty(len(centres), dtype=np.int32)
    number[np.lexsort((centres[:, 1], centres[:, 0]))] = np.arange(len(centres), dtype=np.int32)
    return number[regions]
