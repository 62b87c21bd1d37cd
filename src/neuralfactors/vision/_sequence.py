"""The graphs of many images, each computed once: in the cache from then on or, without one, in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from neuralfactors._common.sequences import OnDemand
from neuralfactors.vision._cache import Cache
from neuralfactors.vision._image_graph import ImageGraph
from neuralfactors.vision._packing import pack, unpack

# Computes the graphs of the images with these numbers, in order.
Compute = Callable[[Sequence[int]], Iterable[ImageGraph]]


class ImageGraphs(OnDemand[ImageGraph]):
    """Graphs of images; one whose cache entry has been damaged is computed again.

    `compute` goes from numbers of images to their graphs, in order. Of the cache, `keys` has an entry per image;
    without one, graphs stay in memory.
    """

    def __init__(self, compute: Compute, n_images: int, cache: Cache | None = None, keys: Sequence[str] = ()) -> None:
        self._compute, self._n_images, self._cache, self._keys = compute, n_images, cache, keys
        self._held: dict[int, ImageGraph] = {}

    @property
    def n_unkept(self) -> int:
        """Number of graphs that could not be written to the cache."""
        return 0 if self._cache is None else len(self._held)

    def first_pass(self) -> Iterator[ImageGraph]:
        """Each graph once, in order; all those that the cache lacks are computed together."""
        absent = [n for n in range(len(self)) if not self._is_cached(n)]
        missing, computed = set(absent), iter(self._compute(absent))
        for n in range(len(self)):
            yield self._keep(n, next(computed)) if n in missing else self[n]
        next(computed, None)  # ends its progress bar

    def __len__(self) -> int:
        return self._n_images

    def make(self, n: int) -> ImageGraph:
        """Graph `n`, from memory or the cache or, where neither has it, from its image."""
        if n in self._held:
            return self._held[n]
        arrays = None if self._cache is None else self._cache.get(self._keys[n])
        if arrays is None:
            return self._keep(n, next(iter(self._compute([n]))))
        return ImageGraph.from_arrays(unpack(arrays))

    def _is_cached(self, n: int) -> bool:
        return self._cache is not None and self._cache.path(self._keys[n]).exists()

    def _keep(self, n: int, graph: ImageGraph) -> ImageGraph:
        if self._cache is None or not self._cache.put(self._keys[n], pack(graph.to_arrays())):
            self._held[n] = graph
        return graph
