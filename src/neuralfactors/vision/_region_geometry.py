"""How regions lie in their image: areas, centres, who touches whom; and labels between pixels and regions."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from neuralfactors._common.labels import VOID

Scalar = TypeVar("Scalar", bound=np.generic)

CLEAR = 10.0  # a clear difference of Lab colours


def region_areas(regions: NDArray[np.int32]) -> NDArray[np.int64]:
    """Number of pixels (V,) of each region."""
    return np.bincount(regions.ravel())


def region_centres(regions: NDArray[np.int32]) -> NDArray[np.float64]:
    """Mean row and column (V, 2) of each region's pixels."""
    areas = region_areas(regions)
    positions = np.indices(regions.shape).reshape(2, -1)
    sums = [np.bincount(regions.ravel(), position) for position in positions]
    return np.stack(sums, axis=1) / areas[:, None]


def region_medians(regions: NDArray[np.int32]) -> NDArray[np.int64]:
    """Median row and column (V, 2) of each region's pixels, the lower one of two."""
    return np.stack([_medians_of_rows(regions), _medians_of_rows(regions.T)], axis=1)


def _medians_of_rows(regions: NDArray[np.int32]) -> NDArray[np.int64]:
    """The row (V,) of each region by which half of its pixels are reached, from the top."""
    # Pixels per region and row, summed down the rows: the median row is the first to reach half of the region.
    n_rows, n_regions = len(regions), int(regions.max()) + 1
    cells = regions.astype(np.int64) * n_rows + np.arange(n_rows)[:, None]
    reached = np.bincount(cells.ravel(), minlength=n_regions * n_rows).reshape(n_regions, n_rows).cumsum(axis=1)
    medians: NDArray[np.int64] = np.sum(2 * reached < reached[:, -1:], axis=1)
    return medians


def region_edges(regions: NDArray[np.int32]) -> NDArray[np.int64]:
    """Pairs of regions that share a side of a pixel.

    Parameters
    ----------
    regions : int32 array of shape (H, W)
        Region of each pixel, numbered from 0.

    Returns
    -------
    ndarray of shape (E, 2)
        Each pair once, i < j, in lexicographic order.

    Examples
    --------
    >>> region_edges(np.array([[0, 0, 1], [2, 2, 1]], dtype=np.int32)).tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    beside = [(regions[:, :-1], regions[:, 1:]), (regions[:-1], regions[1:])]
    ends = [(a[a != b], b[a != b]) for a, b in beside]
    first = np.concatenate([a for a, _ in ends]).astype(np.int64)
    second = np.concatenate([b for _, b in ends]).astype(np.int64)
    n_regions = int(regions.max()) + 1
    codes = np.unique(np.minimum(first, second) * n_regions + np.maximum(first, second))
    return np.stack(np.divmod(codes, n_regions), axis=1)


def edge_geometry(edges: NDArray[np.int64], centres: NDArray[np.number], spacing: float) -> NDArray[np.float32]:
    """Distance, in units of `spacing`, and angle (E, 2) from the centre of an edge's first region to its second.

    The angle is in radians, 0 to the right and π/2 straight down.
    """
    dy, dx = (centres[edges[:, 1]] - centres[edges[:, 0]]).T
    return np.stack([np.hypot(dy, dx) / spacing, np.arctan2(dy, dx)], axis=1).astype(np.float32)


def boundary_features(
    regions: NDArray[np.int32], edges: NDArray[np.int64], planes: NDArray[np.floating[Any]]
) -> NDArray[np.float32]:
    """What lies between the two regions of every edge (E, 8): the length of their boundary, and the contrast along it.

    Columns are the boundary's length, as a logarithm and in units of the side of a square as large as the smaller
    region; the mean contrast of the pixels on both sides of it, and the contrast of the two mean colours, each as a
    logarithm and as exp(−contrast/10); logarithms of the smaller and of the larger area. Edges are all pairs that
    touch, as `region_edges` gives them; `planes` (C, H, W) have colours in which 10 is a clear difference, as in CIE
    Lab.
    """
    lengths, along = _boundaries(regions, planes)
    areas = region_areas(regions)
    colours = np.stack([np.bincount(regions.ravel(), plane.ravel()) for plane in planes], axis=1) / areas[:, None]
    between = np.linalg.norm(colours[edges[:, 0]] - colours[edges[:, 1]], axis=1)
    smaller, larger = np.sort(areas[edges], axis=1).T
    columns = [np.log(lengths), lengths / np.sqrt(smaller)]
    for contrast in (along, between):
        columns += [np.log1p(contrast), np.exp(-contrast / CLEAR)]
    return np.stack([*columns, np.log(smaller), np.log(larger)], axis=1).astype(np.float32)


def _boundaries(
    regions: NDArray[np.int32], planes: NDArray[np.floating[Any]]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Of pairs of regions that touch, in the order of `region_edges`: sides of pixels between them, mean contrast."""
    n_regions, codes, contrasts = int(regions.max()) + 1, [], []
    for numbers, colours in (regions, planes), (regions.T, planes.transpose(0, 2, 1)):
        one, other = numbers[:-1].astype(np.int64), numbers[1:].astype(np.int64)
        apart = one != other
        codes.append((np.minimum(one, other) * n_regions + np.maximum(one, other))[apart])
        contrasts.append(np.linalg.norm(np.diff(colours, axis=1)[:, apart], axis=0))
    _, pair, lengths = np.unique(np.concatenate(codes), return_inverse=True, return_counts=True)
    return lengths, np.bincount(pair, np.concatenate(contrasts), minlength=len(lengths)) / lengths


def majority_labels(regions: NDArray[np.int32], labels: NDArray[np.integer]) -> NDArray[np.int64]:
    """Label that most pixels of each region have.

    Parameters
    ----------
    regions : int32 array of shape (H, W)
        Region of each pixel.
    labels : int array of shape (H, W)
        Label of each pixel; −1, void, counts as a label of its own.

    Returns
    -------
    ndarray of shape (V,)
        Where several are equally frequent, the lowest wins, void last.
    """
    return majority(label_counts(regions, labels))


def label_counts(regions: NDArray[np.int32], labels: NDArray[np.integer]) -> NDArray[np.int64]:
    """Number (V, K + 1) of pixels of each region by their label in `labels` (H, W), 0 to K − 1; void ones come last."""
    if labels.shape != regions.shape:
        raise ValueError(f"labels must have the shape of the image, {regions.shape}, got {labels.shape}")
    labels = labels.astype(np.int64, casting="same_kind", copy=False)  # unsigned ones could not be compared with −1
    if labels.min(initial=VOID) < VOID:
        raise ValueError(f"labels must be 0, 1, ..., or −1 for void, got {labels.min()}")
    n_regions, n_labels = int(regions.max()) + 1, int(labels.max(initial=VOID)) + 1
    column = np.where(labels == VOID, n_labels, labels)
    cells = regions.astype(np.int64) * (n_labels + 1) + column
    return np.bincount(cells.ravel(), minlength=n_regions * (n_labels + 1)).reshape(n_regions, n_labels + 1)


def majority(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Label (V,) of each region by the `label_counts` of its pixels."""
    winner = counts.argmax(axis=1)
    return np.where(winner == counts.shape[1] - 1, VOID, winner)


def paint(regions: NDArray[np.int32], values: NDArray[Scalar]) -> NDArray[Scalar]:
    """Image in which every pixel has the value of its region.

    Parameters
    ----------
    regions : int32 array of shape (H, W)
        Region of each pixel.
    values : ndarray of shape (V, ...)
        A value, or an array of them, per region.

    Returns
    -------
    ndarray of shape (H, W, ...)
        Of the type of `values`.

    Examples
    --------
    >>> paint(np.array([[0, 0, 1]], dtype=np.int32), np.array([5, 7])).tolist()
    [[5, 5, 7]]
    """
    n_regions = int(regions.max()) + 1
    if len(values) != n_regions:
        raise ValueError(f"values needs one entry per region: expected {n_regions}, got {len(values)}")
    return values[regions]


def enlarge(regions: NDArray[Scalar], shape: tuple[int, int]) -> NDArray[Scalar]:
    """`regions` stretched, or shrunk, to `shape` (H, W): each pixel takes the number of the nearest one."""
    if regions.shape == shape:
        return regions
    rows, columns = (((np.arange(n) + 0.5) * m / n).astype(np.intp) for n, m in zip(shape, regions.shape, strict=True))
    return regions[np.ix_(rows, columns)]
