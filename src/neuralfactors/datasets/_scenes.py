"""Synthetic landscapes whose parts look alike: only what lies around a part, and on which side, tells what it is."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy  # which loads its parts when they are used
from numpy.typing import NDArray

from neuralfactors._common.labels import VOID
from neuralfactors._common.seeds import RandomState, seed_of
from neuralfactors.datasets._writing import write_pictures

SKY, WATER, MOUNTAIN, FOREST, MEADOW, BALLOON, BOAT = range(7)
SCENE_CLASSES = ("sky", "water", "mountain", "forest", "meadow", "balloon", "boat")
SCENE_PALETTE = (
    (135, 190, 235),
    (30, 90, 170),
    (130, 110, 100),
    (20, 90, 40),
    (120, 190, 70),
    (230, 60, 140),
    (240, 150, 30),
)

# From top to bottom. What is blue and lies above land is sky, below land water; what is green is forest above the water
# and meadow below it; a red blob in the sky is a balloon, on the water a boat.
LAYOUTS = (
    (SKY, MOUNTAIN, WATER, MEADOW),
    (SKY, FOREST, WATER, MEADOW),
    (SKY, MOUNTAIN, FOREST, WATER),
    (MOUNTAIN, WATER, MEADOW),
    (FOREST, WATER),
    (SKY, MOUNTAIN),
    (SKY, FOREST),
)


@dataclass(frozen=True)
class Look:
    """A kind of surface, shared by all classes that look alike: its mean colour, and how far pictures stray from it."""

    colour: tuple[float, float, float]
    spread: float  # of the mean colour, from picture to picture and part to part
    grain: float  # strength of the texture
    ripple: float  # how much longer its grains are across than up


BLUE = Look((0.45, 0.60, 0.78), 0.07, 0.06, 3.0)
GREEN = Look((0.32, 0.50, 0.24), 0.06, 0.10, 1.0)
STONE = Look((0.52, 0.45, 0.40), 0.05, 0.09, 1.0)
RED = Look((0.78, 0.25, 0.22), 0.05, 0.04, 1.0)
LOOKS = {SKY: BLUE, WATER: BLUE, MOUNTAIN: STONE, FOREST: GREEN, MEADOW: GREEN, BALLOON: RED, BOAT: RED}

Scene = tuple[NDArray[np.uint8], NDArray[np.int64]]


def make_scenes(
    n: int, *, shape: tuple[int, int] = (120, 160), noise: float = 0.03, random_state: RandomState = 0
) -> list[Scene]:
    """Pictures with their labels, in which only context separates some classes.

    Sky and water are drawn alike, and so are forest and meadow, and balloon and boat. Where parts lie varies so much
    that the place in the picture tells little either.

    Parameters
    ----------
    n : int
        Number of scenes.
    shape : tuple of (int, int), default=(120, 160)
        Height and width.
    noise : float, default=0.03
        Standard deviation of the noise of each pixel, of a range of 1.
    random_state : int, RandomState, Generator or None, default=0
        Scene number k of a seed is the same whatever `n` is.

    Returns
    -------
    list of (image, labels)
        uint8 (H, W, 3) and int64 (H, W); labels number `SCENE_CLASSES`, and are −1, void, along boundaries.

    Examples
    --------
    >>> image, labels = make_scenes(1, shape=(48, 64))[0]
    >>> image.shape, labels.shape
    ((48, 64, 3), (48, 64))
    """
    seeds = np.random.SeedSequence(seed_of(random_state)).spawn(n)
    return [_make_scene(np.random.default_rng(seed), shape, noise) for seed in seeds]


def write_scenes(
    folder: str | os.PathLike[str], n: int = 60, *, shape: tuple[int, int] = (120, 160), random_state: RandomState = 0
) -> Path:
    """Write scenes and their splits train, val and test in the layout of `ImageFolder`.

    Parameters
    ----------
    folder : path
        Made if need be.
    n : int, default=60
        Number of scenes.
    shape : tuple of (int, int), default=(120, 160)
        Height and width.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the scenes, as in `make_scenes`, and of the splits.

    Returns
    -------
    Path
        The folder.
    """
    seed = seed_of(random_state)
    scenes = make_scenes(n, shape=shape, random_state=seed)
    return write_pictures(folder, scenes, dict(zip(SCENE_CLASSES, SCENE_PALETTE, strict=True)), "scene", seed)


def _make_scene(rng: np.random.Generator, shape: tuple[int, int], noise: float) -> Scene:
    """A picture of a scene and its label map."""
    bands = LAYOUTS[rng.integers(len(LAYOUTS))]
    labels = _draw_bands(rng, shape, bands)
    for home, blob in ((SKY, BALLOON), (WATER, BOAT)):
        if home in bands and rng.random() < 0.7:
            labels = _draw_blob(rng, labels, home, blob)
    image = np.zeros((*shape, 3))
    for label in np.unique(labels):
        inside = labels == label
        image[inside] = _texture(rng, shape, LOOKS[int(label)])[inside]
    image = scipy.ndimage.gaussian_filter(image, (0.6, 0.6, 0)) + noise * rng.normal(size=image.shape)
    return np.rint(np.clip(image, 0, 1) * 255).astype(np.uint8), _void_boundaries(labels)


def _draw_bands(rng: np.random.Generator, shape: tuple[int, int], bands: Sequence[int]) -> NDArray[np.int64]:
    """Labels (H, W) of bands one below another, with wavy borders."""
    height, width = shape
    shares = rng.dirichlet(np.full(len(bands), 6.0))
    labels = np.full(shape, bands[0], dtype=np.int64)
    rows, across = np.arange(height)[:, None], np.linspace(0, 2 * np.pi, width)
    for band, level in zip(bands[1:], np.cumsum(shares), strict=False):
        waves = [rng.normal() / k * np.sin(k * across + rng.uniform(0, 2 * np.pi)) for k in (1, 2, 3, 5)]
        labels[rows >= height * (level + 0.025 * np.sum(waves, axis=0))] = band
    return labels


def _draw_blob(rng: np.random.Generator, labels: NDArray[np.int64], home: int, blob: int) -> NDArray[np.int64]:
    """The labels with an ellipse somewhere in `home`, of which only what falls on `home` is seen."""
    rows, columns = np.nonzero(labels == home)
    if not len(rows):
        return labels
    centre = rng.integers(len(rows))
    height, width = labels.shape
    y, x = np.ogrid[:height, :width]
    radii = np.array([height, height]) * rng.uniform(0.08, 0.14, size=2)
    inside = ((y - rows[centre]) / radii[0]) ** 2 + ((x - columns[centre]) / radii[1]) ** 2 <= 1
    return np.where(inside & (labels == home), blob, labels)


def _texture(rng: np.random.Generator, shape: tuple[int, int], look: Look) -> NDArray[np.float64]:
    texture = np.zeros(shape)
    for scale in (1.0, 2.5):
        layer = scipy.ndimage.gaussian_filter(rng.normal(size=shape), (scale, scale * look.ripple), mode="wrap")
        texture += layer / max(float(layer.std()), 1e-12)
    colour = np.array(look.colour) + look.spread * rng.normal(size=3)
    return np.asarray(colour + look.grain / 2 * texture[..., None])


def _void_boundaries(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    edge = np.zeros(labels.shape, dtype=bool)
    edge[:-1] |= labels[:-1] != labels[1:]
    edge[:, :-1] |= labels[:, :-1] != labels[:, 1:]
    return np.where(edge, VOID, labels)
