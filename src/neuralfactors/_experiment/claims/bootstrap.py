"""Paired bootstrap: how far the difference of two models on the same images may come from the choice of images."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from neuralfactors._runs.claims import Interval

Counts = NDArray[np.float64]  # (S, N, L, L): pixels by true and predicted class, for every seed and image
DRAWS, LEVEL = 2000, 0.95


def pixel_accuracy(confusion: Counts) -> NDArray[np.float64]:
    """Share of the pixels that are right, of confusions (..., L, L)."""
    right = np.trace(confusion, axis1=-2, axis2=-1)
    return np.asarray(right / np.maximum(confusion.sum(axis=(-2, -1)), 1.0))


def class_mean_accuracy(confusion: Counts) -> NDArray[np.float64]:
    """The same, class by class, and then the mean over the classes that occur."""
    sizes = confusion.sum(axis=-1)
    right = np.diagonal(confusion, axis1=-2, axis2=-1) / np.maximum(sizes, 1.0)
    return np.asarray(right.sum(axis=-1) / np.maximum((sizes > 0).sum(axis=-1), 1))


MEASURES: dict[str, Callable[[Counts], NDArray[np.float64]]] = {
    "pixel": pixel_accuracy,
    "class_mean": class_mean_accuracy,
}


def resampled(counts: Counts, measure: str, draws: NDArray[np.float64]) -> NDArray[np.float64]:
    """A measure (S, B) of every seed on each of B draws of the images; `draws` (B, N) says how often each is in one."""
    n_seeds, n_images, n_labels, _ = counts.shape
    flat = counts.reshape(n_seeds, n_images, n_labels * n_labels)
    sums = np.stack([draws @ each for each in flat]).reshape(n_seeds, len(draws), n_labels, n_labels)
    return MEASURES[measure](sums)


def interval(difference: Callable[[NDArray[np.float64]], NDArray[np.float64]], n_seeds: int, n_images: int) -> Interval:
    """The value of `difference` on all images, and its 95 % interval over draws of images and of seeds.

    `difference` goes from numbers (B, N) of every image in each draw to values (S, B) with every seed. Seeds are drawn
    with replacement like images: two models share a draw, so that it is paired by both.
    """
    rng = np.random.default_rng(0)
    draws = rng.multinomial(n_images, np.full(n_images, 1 / n_images), DRAWS).astype(np.float64)
    seeds = rng.multinomial(n_seeds, np.full(n_seeds, 1 / n_seeds), DRAWS).T / n_seeds
    values = (difference(draws) * seeds).sum(axis=0)
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(float(difference(np.ones((1, n_images))).mean()), float(low), float(high))


def paired(better: Counts, worse: Counts, measure: str) -> Interval:
    """How much better the first is than the second, on the same images and with the same seeds."""
    return interval(
        lambda draws: resampled(better, measure, draws) - resampled(worse, measure, draws), *better.shape[:2]
    )
