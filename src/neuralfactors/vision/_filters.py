"""What lies around every pixel, cheap to compute: colour, edges, ridges and texture at several scales."""

from __future__ import annotations

import numpy as np
import scipy  # which loads its parts when they are used
from numpy.typing import NDArray

from neuralfactors.vision._region_geometry import CLEAR
from neuralfactors.vision._regions import rgb_to_lab

SCALES = (1, 2, 4, 8)  # standard deviations of the smoothing, in pixels; each is twice the one before
N_OF_SCALE = 8
TEXTURE = 1.5  # half the side of the square over which gradients are compared, in scales

Plane = NDArray[np.float32]  # (H, W)


def filter_responses(image: NDArray[np.uint8], pixels: NDArray[np.integer]) -> NDArray[np.float32]:
    """Responses (N, D) of a bank of filters to `image` (H, W, 3) at some `pixels` (N,), numbered row by row.

    At each scale: the smoothed Lab colours; of the luminance the length of the gradient, the eigenvalues of the
    Hessian, which tell ridges from valleys and blobs, and those of the structure tensor, which tell texture from edges.
    Derivatives are multiplied by the scale: all scales weigh alike. Coarse scales are those of smaller pictures.
    """
    planes = [plane / np.float32(CLEAR) for plane in rgb_to_lab(image)]
    rows, columns = np.divmod(pixels, image.shape[1])
    responses = np.empty((len(pixels), N_OF_SCALE * len(SCALES)), dtype=np.float32)
    before = 0  # the smoothing that there is already, in pixels of the planes
    for k, scale in enumerate(SCALES):
        level = max(0, k - 1)  # how often the planes are halved
        planes = [_halved(plane) for plane in planes] if level else planes
        inside = scale >> level
        planes = [_smooth(plane, (inside**2 - before**2) ** 0.5) for plane in planes]
        before = 1
        for n, response in enumerate([*planes, *_shape(planes[0], inside)], N_OF_SCALE * k):
            responses[:, n] = response[rows >> level, columns >> level]
    return responses


def _halved(plane: Plane) -> Plane:
    """Means of 2 × 2 pixels; the last row or column stands for one that is missing."""
    even = np.pad(plane, [(0, size % 2) for size in plane.shape], mode="edge")
    return np.asarray((even[::2, ::2] + even[1::2, ::2] + even[::2, 1::2] + even[1::2, 1::2]) * np.float32(0.25))


def _smooth(plane: Plane, sigma: float) -> Plane:
    return np.asarray(scipy.ndimage.gaussian_filter(plane, sigma, truncate=3.0), dtype=np.float32)


def _shape(plane: Plane, scale: int) -> list[Plane]:
    """Length of the gradient; larger and smaller eigenvalue of the Hessian, then of the structure tensor."""
    down, right = (np.float32(scale) * _slope(plane, axis) for axis in (0, 1))
    twice = [np.float32(scale) * _slope(*of) for of in ((down, 0), (right, 1), (down, 1))]
    side = 2 * int(TEXTURE * scale) + 1  # odd: the pixel is in the middle
    squares = down * down, right * right
    spread = [scipy.ndimage.uniform_filter(product, side) for product in (*squares, down * right)]
    textures = (np.sqrt(np.maximum(value, 0)) for value in _eigenvalues(*spread))
    return [np.sqrt(squares[0] + squares[1]), *_eigenvalues(*twice), *textures]


def _slope(plane: Plane, axis: int) -> Plane:
    """Half the difference of the pixels on both sides; at the border, where there is one only, none."""
    slope = np.zeros_like(plane)
    inner, value = np.moveaxis(slope, axis, 0)[1:-1], np.moveaxis(plane, axis, 0)
    np.subtract(value[2:], value[:-2], out=inner)
    slope *= np.float32(0.5)
    return slope


def _eigenvalues(one: Plane, other: Plane, mixed: Plane) -> tuple[Plane, Plane]:
    """Eigenvalues of the symmetric matrices [[one, mixed], [mixed, other]], the larger first."""
    middle, half = np.float32(0.5) * (one + other), np.float32(0.5) * (one - other)
    apart = np.sqrt(half * half + mixed * mixed)
    return np.asarray(middle + apart, np.float32), np.asarray(middle - apart, np.float32)
