"""Parts of a set: images held out of training, and a limited number of training images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from neuralfactors.segmentation import LabelledGraphs


def drawn(n_items: int, n_drawn: int, seed: int) -> list[int]:
    """Numbers, in order, of `n_drawn` of `n_items`; fewer ones of the same seed are among more of them.

    >>> set(drawn(100, 5, seed=1)) < set(drawn(100, 50, seed=1))
    True
    """
    order = np.random.default_rng([seed, n_items]).permutation(n_items)
    return sorted(order[:n_drawn].tolist())


class Part(Sequence[Any]):
    """Items of a sequence by their numbers; they are not made before they are asked for."""

    def __init__(self, items: Sequence[Any], numbers: Sequence[int]) -> None:
        self._items, self._numbers = items, numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, n: Any) -> Any:
        if isinstance(n, slice):
            return [self[i] for i in range(len(self))[n]]
        return self._items[self._numbers[n]]


def take(graphs: LabelledGraphs, numbers: Sequence[int]) -> LabelledGraphs:
    """The graphs of the images with these numbers."""
    return LabelledGraphs(*(Part(items, numbers) for items in (graphs.samples, graphs.images, graphs.X, graphs.Y)))


def take_images(graphs: LabelledGraphs, numbers: Sequence[int], copies: int) -> LabelledGraphs:
    """The graphs of the images with these numbers, where there are `copies` of each, one after another."""
    return take(graphs, [copies * n + k for n in numbers for k in range(copies)])


def limited(graphs: LabelledGraphs, limit: int, seed: int, copies: int = 1) -> LabelledGraphs:
    """The graphs of at most `limit` images, drawn by `seed`; all of them where it is 0."""
    n = len(graphs.X) // copies
    return graphs if not 0 < limit < n else take_images(graphs, drawn(n, limit, seed), copies)
