"""Features that users have computed, per region or on a grid of pixels, as columns of the regions' features."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuralfactors._common.labels import refuse_masked
from neuralfactors.vision._cnn import region_means
from neuralfactors.vision._region_geometry import enlarge
from neuralfactors.vision._words import region_cells


def check_features(given: object) -> NDArray[np.float32]:
    """Features (R, D) of regions, or (h, w, D) of a grid of pixels, as float32; others are refused."""
    refuse_masked(given, "features", "numbers that may count")
    array = np.asarray(given)
    if array.dtype.kind not in "biuf" or array.ndim not in (2, 3) or array.size == 0:
        got = f"{array.dtype} of shape {array.shape}"
        raise ValueError(f"features must be numbers of shape (regions, D) or (H, W, D), got {got}")
    with np.errstate(over="ignore"):  # what overflows is refused
        numbers = array.astype(np.float32, copy=False)
    if not np.isfinite(numbers).all():
        raise ValueError("features must be finite numbers that fit float32, but some are not")
    return numbers


def features_of_regions(
    given: NDArray[np.float32], regions: NDArray[np.int32], shape: tuple[int, int], own: NDArray[np.integer] | None
) -> NDArray[np.float32]:
    """Features (V, D) of the regions (h, w) of an image, which may be reduced from (H, W).

    Rows (R, D) that are given are those of the regions that users have made, in the order of their numbers in `own` (H,
    W). A grid (h, w, D) covers the image: of its size, it is averaged over regions; of fewer cells, it is interpolated
    between them.
    """
    if given.ndim == 2:
        return _rows_of(given, regions, own)
    if given.shape[:2] == shape:
        cells = region_cells(enlarge(regions, shape))
        return np.asarray(cells @ given.reshape(-1, given.shape[2]), dtype=np.float32)
    height, width = given.shape[:2]
    if height > shape[0] or abs(height * shape[1] / shape[0] - width) > 1:
        got = f"{width} × {height}, but the image is {shape[1]} × {shape[0]}"
        raise ValueError(f"features of pixels must have the image's size or be a coarser grid of it; they are {got}")
    return region_means([given], regions)[0]


def _rows_of(
    given: NDArray[np.float32], regions: NDArray[np.int32], own: NDArray[np.integer] | None
) -> NDArray[np.float32]:
    """The rows of `given` for the regions in use, which are those of the user, `own`, at another size."""
    if own is None:
        raise ValueError(
            f"features of shape {given.shape} are those of regions, but the regions are found: pass regions too, "
            "or features (H, W, D) of pixels"
        )
    numbers = np.unique(own)
    if len(numbers) != len(given):
        raise ValueError(f"there are {len(numbers)} regions, but features for {len(given)}")
    _, first = np.unique(regions, return_index=True)  # a pixel of each region
    chosen = enlarge(own, (regions.shape[0], regions.shape[1])).ravel()[first]
    return given[np.searchsorted(numbers, chosen)]
