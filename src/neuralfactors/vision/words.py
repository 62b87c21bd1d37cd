"""Bags of words: descriptors clustered into words, and histograms of the words within each region."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import MiniBatchKMeans


def learn_words(points: NDArray[np.float32], n_words: int, random_state: int = 0) -> NDArray[np.float32]:
    """Words (`n_words`, D): the centres of mini-batch k-means on `points` (N, D).

    Where there are fewer distinct points than words, the last words repeat the first and are never anyone's nearest.
    """
    if len(points) == 0:
        raise ValueError("points must hold at least one descriptor to learn words from, got none")
    distinct: dict[bytes, NDArray[np.float32]] = {}
    for point in points:
        distinct[point.tobytes()] = point
        if len(distinct) > n_words:
            break
    else:  # pictures of a few flat colours: each is a word
        words = np.array(list(distinct.values()))
        return np.concatenate([words, np.repeat(words[:1], n_words - len(words), axis=0)])
    means = MiniBatchKMeans(n_words, batch_size=4096, n_init=3, random_state=random_state)
    return np.ascontiguousarray(means.fit(points).cluster_centers_, dtype=np.float32)


def nearest_word(points: NDArray[np.float32], words: NDArray[np.float32]) -> NDArray[np.int64]:
    """Number (N,) of the word (K, D) nearest to each of `points` (N, D); the first of equals."""
    # |p - w|² = |p|² - 2 (p·w - |w|²/2), and |p|² is the same for all words: one matrix product does it.
    closeness: NDArray[np.float32] = points @ words.T
    closeness -= 0.5 * np.einsum("kd,kd->k", words, words)
    nearest: NDArray[np.int64] = np.argmax(closeness, axis=1)
    return nearest


def word_histograms(
    regions: NDArray[np.int32], words: NDArray[np.int64], n_regions: int, n_words: int
) -> NDArray[np.float32]:
    """Share (`n_regions`, `n_words`) of each word among the pixels of each region; every row sums to one."""
    cells = regions.ravel().astype(np.int64) * n_words + words.ravel()
    counts = np.bincount(cells, minlength=n_regions * n_words).reshape(n_regions, n_words)
    shares: NDArray[np.float64] = counts / counts.sum(axis=1, keepdims=True)
    return shares.astype(np.float32)


def to_pixels(cells: NDArray[np.int64], stride: int, shape: tuple[int, int]) -> NDArray[np.int64]:
    """Values (H, W) of the pixels of a lattice whose `cells` cover stride × stride pixels each."""
    return cells.repeat(stride, axis=0)[: shape[0]].repeat(stride, axis=1)[:, : shape[1]]
