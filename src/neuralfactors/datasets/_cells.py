"""Synthetic micrographs: cells whose thin membranes are seen through uneven light and noise, among what looks alike."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import scipy  # which loads its parts when they are used
from numpy.typing import NDArray

from neuralfactors._common.seeds import RandomState, seed_of
from neuralfactors.datasets._writing import Pictures, write_pictures

CELL, MEMBRANE = range(2)
CELL_CLASSES = ("cell", "membrane")
CELL_PALETTE = ((225, 215, 200), (70, 40, 90))

SPACING, JITTER = 48.0, 0.32  # of the cells' centres, in pixels, and how far they stray from a grid, in spacings
HALF_WIDTH, WOBBLE = 2.6, 0.35  # of a membrane, in pixels, and how much it varies
BENT, BEND_LENGTH = 5.0, 14.0  # how far membranes are bent, and over what length, in pixels
PLASMA, PLASMA_SPREAD = 0.66, 0.04  # brightness of cells, and how much they differ
CONTRAST, FADING = 0.40, 0.30  # how much darker membranes are, and how much that varies along them
# Dark round bodies a cell, on average, which are no membrane; their largest radius, and how far they are drawn.
BODIES, LARGEST_BODY, REACH = 0.5, 7.0, 24
GRAIN = 0.035  # strength of the texture of cells, at two scales
HAND, HAND_LENGTH = 0.7, 6.0  # how far labels, as drawn by hand, stray from the border of a membrane, in pixels
LIGHT = 0.18  # how much light varies over the picture


def make_cells(
    n: int, *, shape: tuple[int, int] = (512, 512), noise: float = 0.06, random_state: RandomState = 0
) -> list[tuple[NDArray[np.uint8], NDArray[np.int64]]]:
    """Grey pictures of cells with their labels: thin membranes, a fifth of the pixels, in uneven light and noise.

    About as hard as electron micrographs: few regions cannot follow the membranes, which are some five pixels wide.
    Bodies within cells are as dark as membranes, but thick and round.

    Parameters
    ----------
    n : int
        Number of pictures.
    shape : tuple of (int, int), default=(512, 512)
        Height and width. Cells and membranes have the same size, in pixels, whatever it is.
    noise : float, default=0.06
        Standard deviation of the noise of each pixel, of a range of 1.
    random_state : int, RandomState, Generator or None, default=0
        Picture number k of a seed is the same whatever `n` is.

    Returns
    -------
    list of (image, labels)
        uint8 (H, W, 3) and int64 (H, W); labels number `CELL_CLASSES`, and every pixel has one.

    Examples
    --------
    >>> image, labels = make_cells(1, shape=(96, 128))[0]
    >>> image.shape, sorted(set(labels.ravel().tolist()))
    ((96, 128, 3), [0, 1])
    """
    seeds = np.random.SeedSequence(seed_of(random_state)).spawn(n)
    return [_make_picture(np.random.default_rng(seed), shape, noise) for seed in seeds]


def write_cells(
    folder: str | os.PathLike[str], n: int = 25, *, shape: tuple[int, int] = (512, 512), random_state: RandomState = 0
) -> Path:
    """Write pictures of cells and their splits train, val and test in the layout of `ImageFolder`.

    Parameters
    ----------
    folder : path
        Made if need be.
    n : int, default=25
        Number of pictures.
    shape : tuple of (int, int), default=(512, 512)
        Height and width.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the pictures, as in `make_cells`, and of the splits.

    Returns
    -------
    Path
        The folder.
    """
    seed = seed_of(random_state)
    pictures: Pictures = make_cells(n, shape=shape, random_state=seed)
    return write_pictures(folder, pictures, dict(zip(CELL_CLASSES, CELL_PALETTE, strict=True)), "cells", seed)


def _make_picture(
    rng: np.random.Generator, shape: tuple[int, int], noise: float
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """A picture of cells and the walls between them, and its label map."""
    cell, depth = _partition(rng, shape)
    width = HALF_WIDTH * (1 + WOBBLE * _field(rng, shape, BEND_LENGTH))
    plasma = PLASMA + PLASMA_SPREAD * rng.normal(size=cell.max() + 1)
    image = plasma[cell] + GRAIN * (_field(rng, shape, 2.0) + _field(rng, shape, 7.0))
    image -= CONTRAST * _bodies(rng, depth)
    wall = CONTRAST * np.clip(1 + FADING * _field(rng, shape, 1.5 * BEND_LENGTH), 0, None)
    image -= wall * np.exp(-0.5 * (depth / width) ** 4)
    image *= 1 + LIGHT * _field(rng, shape, max(shape) / 4)
    image = scipy.ndimage.gaussian_filter(image, 0.7) + noise * rng.normal(size=shape)
    grey = np.rint(np.clip(image, 0, 1) * 255).astype(np.uint8)
    drawn = depth + HAND * _field(rng, shape, HAND_LENGTH) < width
    return np.repeat(grey[..., None], 3, axis=2), np.where(drawn, MEMBRANE, CELL).astype(np.int64)


def _partition(rng: np.random.Generator, shape: tuple[int, int]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Cell of each pixel in a bent Voronoi diagram, and its distance from the border to the next cell."""
    rows, columns = (np.arange(-1.5, size / SPACING + 2) for size in shape)
    grid = np.stack(np.meshgrid(rows, columns, indexing="ij"), axis=-1).reshape(-1, 2)
    centres = SPACING * (grid + JITTER * rng.normal(size=grid.shape))
    bends = np.stack([BENT * _field(rng, shape, BEND_LENGTH) for _ in range(2)], axis=-1)
    points = np.moveaxis(np.indices(shape), 0, -1) + bends
    distance, nearest = scipy.spatial.cKDTree(centres).query(points, k=2)
    apart = np.linalg.norm(centres[nearest[..., 0]] - centres[nearest[..., 1]], axis=-1)
    return nearest[..., 0], (distance[..., 1] ** 2 - distance[..., 0] ** 2) / (2 * apart)


def _bodies(rng: np.random.Generator, depth: NDArray[np.float64]) -> NDArray[np.float64]:
    """Dark round bodies that keep away from the membranes, from 0 to 1."""
    dark = np.zeros(depth.shape)
    rows, columns = np.nonzero(depth > LARGEST_BODY + 2 * HALF_WIDTH)
    for _ in range(rng.poisson(BODIES * depth.size / SPACING**2) if len(rows) else 0):
        k, radius, flat = rng.integers(len(rows)), rng.uniform(3, LARGEST_BODY), rng.uniform(0.7, 1.4)
        near = tuple(slice(max(0, place - REACH), place + REACH) for place in (rows[k], columns[k]))
        y, x = (np.arange(size)[part] for size, part in zip(depth.shape, near, strict=True))
        away = np.hypot(y[:, None] - rows[k], (x - columns[k]) * flat)
        shade = rng.uniform(0.4, 1.0) / (1 + np.exp(2 * (away - radius)))
        dark[near] = np.maximum(dark[near], shade)
    return dark


def _field(rng: np.random.Generator, shape: tuple[int, int], length: float) -> NDArray[np.float64]:
    """Smooth noise of mean 0 and standard deviation 1 whose hills are about `length` pixels wide."""
    field = scipy.ndimage.gaussian_filter(rng.normal(size=shape), length, mode="wrap")
    return np.asarray((field - field.mean()) / max(float(field.std()), 1e-12))
