"""From an image to the graph of its regions: the words are learnt on training images, the rest needs no learning."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from torch import nn

from neuralfactors.vision import features
from neuralfactors.vision.cache import Arrays, Cache, content_key
from neuralfactors.vision.features import WORD_KINDS, describe, sample_descriptors
from neuralfactors.vision.image_graph import ImageGraph
from neuralfactors.vision.parallel import map_items
from neuralfactors.vision.portraits import fingerprint
from neuralfactors.vision.regions import check_image
from neuralfactors.vision.settings import FeatureSettings
from neuralfactors.vision.words import learn_words

MAX_WORD_IMAGES = 500  # their descriptors, some 200 KB an image, must fit in memory together

# An image, or what reads one: a set larger than memory is then read image by image, by the process that needs it.
ImageSource: TypeAlias = NDArray[np.uint8] | Callable[[], NDArray[np.uint8]]


class FeatureBuilder:
    """Turns images into graphs; `fit` learns the words, `transform` does the rest.

    Parameters
    ----------
    settings : FeatureSettings
    backbone : torch module
        A network of one's own for CNN features, from images (1, 3, H, W), 0 to 1, to a list of feature maps, finest
        first; None: the one that the settings name. It is used in evaluation mode.
    cache : path
        Folder that keeps every result under the digest of what it was computed from; None: nothing is kept.
    n_jobs, dask, progress
        See `map_items`; `progress` is a bool here.

    Examples
    --------
    >>> image = np.random.default_rng(0).integers(0, 256, (60, 80, 3), dtype=np.uint8)
    >>> builder = FeatureBuilder(FeatureSettings(n_regions=20)).fit([image])
    >>> builder.transform(image).graph.node_features.shape[1]
    90
    """

    def __init__(
        self,
        settings: FeatureSettings | None = None,
        *,
        backbone: nn.Module | None = None,
        cache: str | os.PathLike[str] | None = None,
        n_jobs: int = 1,
        dask: str | None = None,
        progress: bool = False,
    ) -> None:
        self.settings = settings or FeatureSettings()
        self.backbone = backbone
        self.cache = cache
        self.n_jobs = n_jobs
        self.dask = dask
        self.progress = progress
        self.words_: dict[str, NDArray[np.float32]] | None = None
        self.n_unkept = 0  # results that the cache could not take

    def fit(self, images: Sequence[ImageSource]) -> Self:
        """Learn the words from `images`, which should be those of the training split only.

        Of more than 500 images, about 500 at equal distances in the sequence are used.
        """
        if len(images) == 0:
            raise ValueError("images must hold at least one image to learn words from, got none")
        images = images[:: -(-len(images) // MAX_WORD_IMAGES)]
        if self.cache is None:
            self.words_ = self._learn(images)
            return self
        store = Cache(self.cache)
        key = content_key("words", features.VERSION, self.settings.of_words, [image_key(source) for source in images])
        kept = store.get(key)
        self.words_ = self._learn(images) if kept is None else kept
        if kept is None:
            self.n_unkept += not store.put(key, self.words_)
        return self

    def _learn(self, images: Sequence[ImageSource]) -> dict[str, NDArray[np.float32]]:
        samples = list(self._map(partial(_sample, settings=self.settings), images, "Words"))
        points = {kind: np.concatenate([sample[kind] for sample in samples]) for kind in WORD_KINDS}
        sizes = {"node": self.settings.node_words, "edge": self.settings.edge_words}
        return {
            f"{use}_{kind}": learn_words(points[kind], n_words, self.settings.random_state)
            for use, numbers in sizes.items()
            for kind, n_words in zip(WORD_KINDS, numbers, strict=True)
        }

    def transform(self, image: ImageSource) -> ImageGraph:
        """The graph of one image."""
        return self.transform_many([image])[0]

    def transform_many(self, images: Sequence[ImageSource]) -> Sequence[ImageGraph]:
        """The graphs of `images`; with a cache they are read from it one by one and need not fit in memory."""
        task = partial(_describe, settings=self.settings, words=self._words(), network=self.backbone)
        if self.cache is None:
            return list(self._map(task, images, "Features"))
        store, identity = Cache(self.cache), self._identity
        keys = [content_key(identity, image_key(source)) for source in images]
        absent = [n for n, key in enumerate(keys) if not store.path(key).exists()]
        results = zip(absent, self._map(task, [images[n] for n in absent], "Features"), strict=True)
        unkept = {n: result for n, result in results if not store.put(keys[n], result.to_arrays())}
        self.n_unkept += len(unkept)
        return CachedGraphs(store, keys, images, task, unkept)

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """What a file needs to hold: the settings, for JSON, and the words; not a backbone of one's own."""
        return self.settings.to_dict(), dict(self._words())

    @classmethod
    def from_state(cls, settings: Mapping[str, Any], words: Mapping[str, NDArray[np.float32]], **options: Any) -> Self:
        """The builder that `state` came from; `options` are those of the constructor."""
        builder = cls(FeatureSettings(**{"softness": 0.0, **settings}), **options)  # files may be older than softness
        builder.words_ = {name: np.ascontiguousarray(array, dtype=np.float32) for name, array in words.items()}
        return builder

    def _map(self, task: Callable[[ImageSource], Any], images: Sequence[ImageSource], title: str) -> Iterator[Any]:
        bar = title if self.progress and len(images) > 1 else None
        n_jobs = self.n_jobs if len(images) > 1 else 1
        dask = self.dask if len(images) > 1 else None
        return map_items(task, images, total=len(images), n_jobs=n_jobs, dask=dask, progress=bar)

    def _words(self) -> dict[str, NDArray[np.float32]]:
        if self.words_ is None:
            raise ValueError("this FeatureBuilder has no words yet: call fit with the training images first")
        return self.words_

    @property
    def _identity(self) -> str:
        network = fingerprint(self.backbone) if self.settings.uses_cnn and self.backbone is not None else ""
        words = [content_key(name, array) for name, array in sorted(self._words().items())]
        return content_key("graph", features.VERSION, self.settings.of_graphs, network, words)


class CachedGraphs(Sequence[ImageGraph]):
    """Graphs that are read from a cache when asked for; one that has been damaged since is computed again."""

    def __init__(
        self,
        store: Cache,
        keys: Sequence[str],
        images: Sequence[ImageSource],
        task: Callable[[ImageSource], ImageGraph],
        unkept: Mapping[int, ImageGraph],
    ) -> None:
        self._store, self._keys, self._images, self._task, self._unkept = store, keys, images, task, unkept

    def __len__(self) -> int:
        return len(self._keys)

    def __getitem__(self, n: Any) -> Any:
        if isinstance(n, slice):
            return [self[i] for i in range(len(self))[n]]
        n = range(len(self))[n]
        if n in self._unkept:
            return self._unkept[n]
        arrays = self._store.get(self._keys[n])
        if arrays is None:
            graph = self._task(self._images[n])
            self._store.put(self._keys[n], graph.to_arrays())
            return graph
        return ImageGraph.from_arrays(arrays)


def read(source: ImageSource) -> NDArray[np.uint8]:
    """The image that `source` is, or reads."""
    return check_image(source() if callable(source) else source)


def image_key(source: ImageSource) -> str:
    """Digest of the image's pixels."""
    return content_key(read(source))


def _sample(source: ImageSource, settings: FeatureSettings) -> dict[str, NDArray[np.float32]]:
    return sample_descriptors(read(source), settings)


def _describe(
    source: ImageSource, settings: FeatureSettings, words: Mapping[str, NDArray[np.float32]], network: nn.Module | None
) -> ImageGraph:
    return describe(read(source), settings, words, network)
