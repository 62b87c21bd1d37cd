"""From an image to the graph of its regions: the words are learned on training images, the rest needs no learning."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Self, TypedDict, Unpack

import joblib
import numpy as np
from numpy.typing import NDArray
from torch import nn

from neuralfactors._common.seeds import seed_of
from neuralfactors.vision import _features as features
from neuralfactors.vision._backbones import is_onnx, load_backbone
from neuralfactors.vision._cache import Arrays, Cache, content_key
from neuralfactors.vision._channels import Channels, Picture
from neuralfactors.vision._features import WORD_KINDS, Draft, Words, describe, draft, sample_descriptors
from neuralfactors.vision._image_graph import ImageGraph
from neuralfactors.vision._network_identity import fingerprint
from neuralfactors.vision._parallel import map_items
from neuralfactors.vision._sequence import ImageGraphs
from neuralfactors.vision._settings import FeatureSettings, Options
from neuralfactors.vision._sources import ImageSource, KeyedSource, given_with, image_key, naming, read
from neuralfactors.vision._words import learn_words

MAX_WORD_IMAGES = 500  # their descriptors, some 200 KB an image, must fit in memory together
# Bytes of drafts, some 4 MB an image, that are kept from learning the words to applying them. They come from other
# processes too: moving them takes less than decoding the images again.
DRAFT_MEMORY = 2**30
# Words are counted by kernels that need no interpreter: so many cores are kept busy by threads, which start at once and
# hand over what they have made. More cores would wait for the interpreter, and networks have threads of their own.
MAX_THREADS = 4


class BuilderOptions(TypedDict, total=False):
    """How a `FeatureBuilder` computes, which does not change what comes out, and the network that it may be given."""

    backbone: nn.Module | None
    cache: str | os.PathLike[str] | None
    n_jobs: int
    dask: str | None
    progress: bool


class FeatureBuilder:
    """Turns images into graphs; `fit` learns the words, `transform` does the rest.

    Parameters
    ----------
    settings : FeatureSettings, default=None
        What to compute; None: `FeatureSettings()`.
    backbone : torch module, default=None
        A custom network for CNN features, from images (1, 3, H, W), 0 to 1, to a list of feature maps, finest
        first; None: the one that the settings name. It is used in evaluation mode.
    cache : path, default=None
        Folder that keeps every result under the digest of what it was computed from; None: nothing is kept.
    n_jobs : int, default=1
        Cores to use; −1 is all of them.
    dask : str, default=None
        Address of a Dask scheduler that does the work instead.
    progress : bool, default=False
        Whether to show progress bars.

    Attributes
    ----------
    words_ : dict of str to ndarray or None
        Words by their use and kind, and what channels mean where images are not RGB of 8 bits; None before `fit`.
    n_unkept : int
        Results that the cache could not take.

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
        settings = settings or FeatureSettings()
        self.settings = replace(settings, n_regions=settings.n_regions or settings.usual_regions)
        self.backbone = backbone
        self.cache = cache
        self.n_jobs = n_jobs
        self.dask = dask
        self.progress = progress
        self.words_: dict[str, NDArray[np.float32]] | None = None
        self.n_unkept = 0  # results that the cache could not take

    def fit(self, images: Sequence[ImageSource]) -> Self:
        """Learn the words.

        Parameters
        ----------
        images : sequence of image or of callable that reads one
            Those of the training split only. Of more than 500, about 500 at equal distances in the sequence are used.

        Returns
        -------
        self
            The builder, ready to transform.
        """
        self._fit(images, self._keys(images))
        return self

    def transform(self, image: ImageSource) -> ImageGraph:
        """The graph of one image.

        Parameters
        ----------
        image : uint8 array of shape (H, W, 3), or callable that reads one
            The picture; (H, W, C) of any depth where it was trained on such.

        Returns
        -------
        ImageGraph
            Its regions as a graph.
        """
        return self.transform_many([image])[0]

    def view(self, image: ImageSource) -> NDArray[np.uint8]:
        """An image as its features see it.

        Parameters
        ----------
        image : uint8 array of shape (H, W, 3), or callable that reads one
            The picture, as in `transform`.

        Returns
        -------
        ndarray of shape (h, w, 3)
            uint8, smaller than the picture where that exceeds `max_side`.
        """
        return features.seen(read(image), self.settings, Channels.of(self._words()))[0]

    def transform_many(self, images: Sequence[ImageSource]) -> Sequence[ImageGraph]:
        """The graphs of images.

        Parameters
        ----------
        images : sequence of image or of callable that reads one
            The pictures.

        Returns
        -------
        sequence of ImageGraph
            With a cache they are read from it one by one and need not fit in memory.
        """
        graphs = self.open(images)
        for _ in graphs.first_pass():
            pass
        self.n_unkept += graphs.n_unkept
        return graphs

    def open(self, images: Sequence[ImageSource], *, learn: bool = False) -> ImageGraphs:
        """The graphs of images before they are computed, which their `first_pass` does.

        Parameters
        ----------
        images : sequence of image or of callable that reads one
            The pictures.
        learn : bool, default=False
            Whether to learn the words from them first; what that takes of an image is not done again.

        Returns
        -------
        ImageGraphs
            A sequence of ImageGraph.
        """
        keys = self._keys(images)
        drafts = self._fit(images, keys, room=DRAFT_MEMORY) if learn else {}
        task = partial(_describe, settings=self.settings, words=self._words(), network=self.backbone)

        def compute(numbers: Sequence[int]) -> Iterator[ImageGraph]:
            return self._map(task, (drafts.pop(n, images[n]) for n in numbers), len(numbers), "Features of")

        if self.cache is None:
            return ImageGraphs(compute, len(images))
        identity = self._identity
        return ImageGraphs(compute, len(images), Cache(self.cache), [content_key(identity, key) for key in keys])

    def _fit(self, images: Sequence[ImageSource], keys: Sequence[str], room: int = 0) -> dict[int, Draft]:
        """Drafts of the images that words had to be learned from, by their numbers, of `room` bytes together."""
        if len(images) == 0:
            raise ValueError("images must contain at least one image to learn words from, got none")
        chosen = range(0, len(images), -(-len(images) // MAX_WORD_IMAGES))
        if self.cache is None:
            return self._learn(images, chosen, room)
        store = Cache(self.cache)
        key = content_key("words", features.VERSION, self.settings.of_words, [keys[n] for n in chosen])
        self.words_ = store.get(key)
        if self.words_ is not None:
            return {}
        drafts = self._learn(images, chosen, room)
        self.n_unkept += not store.put(key, self._words())
        return drafts

    def _learn(self, images: Sequence[ImageSource], chosen: Sequence[int], room: int) -> dict[int, Draft]:
        """Words and channels from the `chosen` images; returns their drafts as far as there is `room`."""
        first = read(images[chosen[0]])
        seen = (first, *(images[n] for n in chosen[1:]))
        channels = Channels.learn(map(read, seen))
        task = partial(_sample, settings=self.settings, room=room, channels=channels)
        sources = (_as_read(images[n], first) if n == chosen[0] else images[n] for n in chosen)
        results = self._map(task, sources, len(chosen), "Words of")
        samples, drafts = [], {}
        for n, (sample, made) in zip(chosen, results, strict=True):
            samples.append(sample)
            if made is not None and made.nbytes <= room:
                drafts[n] = made
                room -= made.nbytes
        points = {kind: np.concatenate([sample[kind] for sample in samples]) for kind in WORD_KINDS}
        sizes = {"node": self.settings.words.node_words, "edge": self.settings.words.edge_words}
        self.words_ = {
            f"{use}_{kind}": learn_words(points[kind], n_words, seed_of(self.settings.random_state))
            for use, numbers in sizes.items()
            for kind, n_words in zip(WORD_KINDS, numbers, strict=True)
        }
        self.words_ |= {} if channels is None else channels.to_arrays()
        return drafts

    def _keys(self, images: Sequence[ImageSource]) -> list[str]:
        return [] if self.cache is None else [image_key(source) for source in images]

    def state(self) -> tuple[Options, Arrays]:
        """What a file needs to hold; not a custom backbone.

        Returns
        -------
        settings : dict
            For JSON.
        words : dict of str to ndarray
            What was learned.
        """
        return self.settings.to_dict(), dict(self._words())

    @classmethod
    def from_state(
        cls, settings: Options, words: Mapping[str, NDArray[np.float32]], **options: Unpack[BuilderOptions]
    ) -> Self:
        """The builder that `state` came from.

        Parameters
        ----------
        settings : mapping
            As `state` returns them.
        words : mapping of str to ndarray
            As `state` returns them.
        **options
            Those of the constructor.

        Returns
        -------
        FeatureBuilder
            Ready to transform.
        """
        builder = cls(FeatureSettings.of(settings), **options)
        builder.words_ = {name: np.ascontiguousarray(array, dtype=np.float32) for name, array in words.items()}
        return builder

    @property
    def own_network(self) -> nn.Module | None:
        """The network that its name does not tell: a custom one, or that in an ONNX file; None: there is none."""
        if not self.settings.uses_cnn:
            return None
        return load_backbone(self.settings.backbone) if self._reads_onnx else self.backbone

    @property
    def _reads_onnx(self) -> bool:
        return self.backbone is None and is_onnx(self.settings.backbone)

    @property
    def _is_local(self) -> bool:
        """Whether one process does all the work."""
        cores = joblib.effective_n_jobs(self.n_jobs)
        return self.dask is None and (cores == 1 or (cores <= MAX_THREADS and not self.settings.uses_cnn))

    def _map(self, task: Callable[[Any], Any], items: Iterable[Any], total: int, title: str) -> Iterator[Any]:
        """Results of `task` on the cores or the cluster that this builder may use."""
        several = total > 1
        return map_items(
            task,
            items,
            total=total,
            n_jobs=self.n_jobs if several else 1,
            dask=self.dask if several else None,
            threads=self._is_local,
            progress=f"{title} {total} images" if self.progress and several else None,
        )

    def _words(self) -> dict[str, NDArray[np.float32]]:
        if self.words_ is None:
            raise ValueError("this FeatureBuilder has no words yet: call fit with the training images first")
        return self.words_

    @property
    def _identity(self) -> str:
        network = "" if self.own_network is None else fingerprint(self.own_network)
        words = [content_key(name, array) for name, array in sorted(self._words().items())]
        return content_key("graph", features.VERSION, self.settings.of_graphs, network, words)


def _as_read(source: ImageSource, image: Picture) -> ImageSource:
    """The source of an image that has been read already, and need not be again."""
    return replace(source, read=partial(np.asarray, image)) if isinstance(source, KeyedSource) else image


def _sample(
    source: ImageSource, settings: FeatureSettings, room: int, channels: Channels | None
) -> tuple[dict[str, NDArray[np.float32]], Draft | None]:
    """Descriptors of an image to learn words from; the draft, too, where it takes no more than `room` bytes."""
    with naming(source):
        made = draft(read(source), settings, given_with(source), channels)
    return sample_descriptors(made), made if made.nbytes <= room else None


def _describe(
    source: ImageSource | Draft, settings: FeatureSettings, words: Words, network: nn.Module | None
) -> ImageGraph:
    if isinstance(source, Draft):
        return describe(source, settings, words, network)
    with naming(source):
        made = draft(read(source), settings, given_with(source), Channels.of(words))
    return describe(made, settings, words, network)
