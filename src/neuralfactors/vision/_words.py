"""Bags of words: descriptors clustered into words, and histograms of the words within each region."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array
from threadpoolctl import threadpool_limits

from neuralfactors.vision._blas import one_blas_thread

STRIP = 2**15  # points whose shares are in memory at once
NARROWEST = 1e-30  # square of the width in which shares fall: less than that overflows float32


def learn_words(points: NDArray[np.float32], n_words: int, random_state: int = 0) -> NDArray[np.float32]:
    """Words (`n_words`, D): the centres of mini-batch k-means on `points` (N, D).

    Where there are fewer distinct points than words, the last words repeat the first and are never anyone's nearest.
    """
    if len(points) == 0:
        raise ValueError("points must contain at least one descriptor to learn words from, got none")
    distinct: dict[bytes, NDArray[np.float32]] = {}
    for point in points:
        distinct[point.tobytes()] = point
        if len(distinct) > n_words:
            break
    else:  # pictures of a few flat colours: each is a word
        words = np.array(list(distinct.values()))
        return np.concatenate([words, np.repeat(words[:1], n_words - len(words), axis=0)])
    from sklearn.cluster import MiniBatchKMeans  # half a second, which those who only predict need not wait

    means = MiniBatchKMeans(n_words, batch_size=4096, n_init=3, random_state=random_state)
    # K-means stops by a sum whose rounding depends on the threads; and its products are too small to share among them.
    with threadpool_limits(1, user_api="openmp"), one_blas_thread:
        means.fit(points)
    return np.ascontiguousarray(means.cluster_centers_, dtype=np.float32)


def word_shares(points: NDArray[np.float32], words: NDArray[np.float32], softness: float = 0.0) -> NDArray[np.float32]:
    """How much each of `points` (N, D) counts for each of `words` (K, D): (N, K), rows sum to one.

    Without `softness`, all of it is for the nearest word, the first of equals. Else shares go as exp(−(d / width)²)
    with the distance d, where the width is `softness` times the distance between neighbouring words.
    """
    # |p - w|² = |p|² - 2 (p·w - |w|²/2), and |p|² is the same for all words: one matrix product does it. With words
    # down the rows, what follows runs along contiguous points.
    closeness: NDArray[np.float32] = words @ points.T
    closeness -= 0.5 * np.einsum("kd,kd->k", words, words)[:, None]
    if softness == 0:
        shares = np.zeros_like(closeness.T)
        shares[np.arange(len(points)), closeness.argmax(axis=0)] = 1
        return shares
    closeness -= closeness.max(axis=0)
    closeness *= 2 / max(softness**2 * _spacing(words.tobytes(), len(words)), NARROWEST)
    np.exp(closeness, out=closeness)
    closeness /= closeness.sum(axis=0)
    return closeness.T


@lru_cache(maxsize=8)
def _spacing(words: bytes, n_words: int) -> float:
    """Mean square of the distance from a word to the nearest other one; 1 where there is only one word.

    Images share their words: it is worked out once, not for each of them.
    """
    distinct = np.unique(np.frombuffer(words, dtype=np.float32).reshape(n_words, -1), axis=0)
    if len(distinct) == 1:
        return 1.0
    squares = np.square(distinct[:, None] - distinct).sum(axis=2)
    np.fill_diagonal(squares, np.inf)
    return float(squares.min(axis=1).mean())


def word_histograms(
    points: NDArray[np.float32], words: NDArray[np.float32], cells: csc_array, softness: float = 0.0
) -> NDArray[np.float32]:
    """Share of each of `words` (K, D) in each region (V, K), whose descriptors are `points` (N, D) of `cells` (V, N).

    See `region_cells` for the cells and `word_shares` for `softness`.
    """
    total = np.zeros((cells.shape[0], len(words)), dtype=np.float32)
    with one_blas_thread:
        for first in range(0, len(points), STRIP):
            part = slice(first, first + STRIP)
            total += cells[:, part] @ word_shares(points[part], words, softness)
    return total


def region_cells(regions: NDArray[np.int32], stride: int = 1) -> csc_array:
    """Share (V, N) of each cell of `stride` × `stride` pixels in the area of each of `regions` (H, W), row by row."""
    areas = np.bincount(regions.ravel())
    rows, columns = (np.arange(n) // stride for n in regions.shape)
    cells = rows[:, None] * (columns[-1] + 1) + columns
    weights = (1 / areas).astype(np.float32)[regions]
    shape = (len(areas), (rows[-1] + 1) * (columns[-1] + 1))
    return csc_array((weights.ravel(), (regions.ravel(), cells.ravel())), shape=shape)
