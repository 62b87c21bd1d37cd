"""Features of regions from a convolutional network: its feature maps averaged over a region and its surroundings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor, nn
from torch.nn.functional import interpolate

from neuralfactors.vision._backbones import evaluating
from neuralfactors.vision._region_geometry import region_areas

Maps = list[NDArray[np.float32]]  # each (h, w, C), finest first


TINY = 1e-12
SIDE = 512  # of the square that has as many pixels as a network sees of an image whose scale is left open


def feature_maps(
    network: nn.Module, image: NDArray[np.uint8], scale: float = 0.0, n_maps: int = 3, *, mirror: bool = False
) -> Maps:
    """The `n_maps` coarsest feature maps (h, w, C) of an image (H, W, 3), coarsest first, each of its own size.

    The image is enlarged by `scale` for the network; 0: to 512² pixels. With `mirror`, maps are the means of those of
    the image and of its mirror image, turned back. A network in training mode is used as if it were not.
    """
    with torch.inference_mode(), evaluating(network):
        pixels = network_input(image, scale)
        device = next((parameter.device for parameter in network.parameters()), pixels.device)
        maps = list(network(pixels.to(device)))[-n_maps:]
        if mirror:
            turned = list(network(pixels.flip(-1).to(device)))[-n_maps:]
            maps = [(one + two.flip(-1)) / 2 for one, two in zip(maps, turned, strict=True)]
    return [np.ascontiguousarray(m[0].permute(1, 2, 0).cpu().numpy()) for m in maps]


def network_input(image: NDArray[np.uint8], scale: float = 0.0) -> Tensor:
    """An image (H, W, 3) as networks take it: (1, 3, H', W'), 0 to 1, enlarged by `scale` or, for 0, to 512² pixels."""
    pixels = torch.from_numpy(np.array(image.transpose(2, 0, 1), dtype=np.float32) / 255)[None]
    scale = scale or SIDE / (image.shape[0] * image.shape[1]) ** 0.5
    size = [max(1, round(n * scale)) for n in image.shape[:2]]
    if size == list(image.shape[:2]):
        return pixels
    return interpolate(pixels, size=size, mode="bilinear", align_corners=False, antialias=scale < 1)


def region_means(maps: Maps, regions: NDArray[np.int32]) -> list[NDArray[np.float32]]:
    """Means (V, C) of each map over each region, interpolated bilinearly to the pixels of `regions` (H, W)."""
    return [mean_operator(regions, m.shape[0], m.shape[1]) @ _rows(m) for m in maps]


def likeness(means: Sequence[NDArray[np.float32]], edges: NDArray[np.int64]) -> NDArray[np.float32]:
    """How alike the two ends of every edge are, (E, 2 · len(means)): two numbers for each of `means` (V, C).

    They are the cosine, and the distance in sums of both lengths: 0 for the same, 1 for opposite ones.
    """
    return tensor_likeness([torch.from_numpy(mean) for mean in means], torch.from_numpy(edges)).float().numpy()


def tensor_likeness(means: Sequence[Tensor], edges: Tensor) -> Tensor:
    """The same of tensors, differentiable in `means`."""
    columns = []
    for mean in means:
        one, other = mean[edges[:, 0]], mean[edges[:, 1]]
        lengths = [torch.linalg.vector_norm(rows, dim=1) for rows in (one, other, one - other)]
        cosine = (one * other).sum(dim=1) / (lengths[0] * lengths[1]).clamp_min(TINY)
        columns += [cosine, lengths[2] / (lengths[0] + lengths[1]).clamp_min(TINY)]
    return torch.stack(columns, dim=1)


def window_means(
    feature_map: NDArray[np.float32], centres: NDArray[np.number], sides: Sequence[float], shape: tuple[int, int]
) -> NDArray[np.float32]:
    """Means (V, len(sides) · C) of one map over squares around `centres` (V, 2), which lie in an image of `shape`."""
    return tensor_window_means(torch.from_numpy(feature_map), centres.astype(np.float64), sides, shape).numpy()


def tensor_window_means(
    feature_map: Tensor, centres: NDArray[np.float64], sides: Sequence[float], shape: tuple[int, int]
) -> Tensor:
    """The same of a tensor (h, w, C), differentiable in it.

    The squares, of `sides` and around `centres` (V, 2) in pixels, are cut at the image's edges, and hold one cell of
    the map at least.
    """
    height, width, n_channels = feature_map.shape
    sums = feature_map.new_zeros((height + 1, width + 1, n_channels), dtype=torch.float64)
    sums[1:, 1:] = feature_map.double().cumsum(dim=0).cumsum(dim=1)
    means = []
    for side in sides:
        (top, bottom), (left, right) = (
            _window(centres[:, axis] * cells / size, side * cells / size, cells)
            for axis, (cells, size) in enumerate(zip((height, width), shape, strict=True))
        )
        total = sums[bottom, right] - sums[top, right] - sums[bottom, left] + sums[top, left]
        means.append(total / torch.from_numpy((bottom - top) * (right - left))[:, None])
    return torch.cat(means, dim=1).float()


def _window(centres: NDArray[np.float64], side: float, n_cells: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """First cell, and the one after the last, of the intervals of length `side` around `centres`, both in cells."""
    first = np.clip(np.rint(centres - side / 2), 0, n_cells - 1).astype(np.intp)
    last = np.clip(np.rint(centres + side / 2), 0, n_cells).astype(np.intp)
    return first, np.maximum(last, first + 1)


def _rows(feature_map: NDArray[np.float32]) -> NDArray[np.float32]:
    return feature_map.reshape(-1, feature_map.shape[2])


def mean_operator(regions: NDArray[np.int32], height: int, width: int) -> csr_array:
    """The matrix (V, height · width) that takes a map's cells to the regions' means of it, interpolated bilinearly."""
    near_row, far_row, down = _interpolation(regions.shape[0], height)
    near_column, far_column, right = _interpolation(regions.shape[1], width)
    corners = [
        (near_row[:, None] * width + near_column, (1 - down)[:, None] * (1 - right)),
        (near_row[:, None] * width + far_column, (1 - down)[:, None] * right),
        (far_row[:, None] * width + near_column, down[:, None] * (1 - right)),
        (far_row[:, None] * width + far_column, down[:, None] * right),
    ]
    areas = region_areas(regions)
    share = (1 / areas)[regions]
    weights = np.concatenate([(weight * share).ravel() for _, weight in corners]).astype(np.float32)
    cells = np.concatenate([cell.ravel() for cell, _ in corners])
    return csr_array((weights, (np.tile(regions.ravel(), 4), cells)), shape=(len(areas), height * width))


def _interpolation(n_pixels: int, n_cells: int) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
    """For each pixel the two cells between whose centres it lies, and the weight of the second."""
    position = np.clip((np.arange(n_pixels) + 0.5) * n_cells / n_pixels - 0.5, 0, n_cells - 1)
    near = position.astype(np.intp)
    return near, np.minimum(near + 1, n_cells - 1), position - near
