"""What is learned from the training images before any model: words, the scaling of features, the classes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, Unpack

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from neuralfactors._common.ceiling import Stop
from neuralfactors._common.files import FileFormatError
from neuralfactors._common.persistence import State, load_model, readable, save_model
from neuralfactors._common.seeds import seed_of
from neuralfactors._core.graph import Graph
from neuralfactors.datasets._classes import Classes
from neuralfactors.segmentation._auto_regions import choose_regions
from neuralfactors.segmentation._describer_file import (
    check_backbone,
    classes_from_json,
    classes_to_json,
    settings_from_json,
    stop_from_json,
)
from neuralfactors.segmentation._graphs import (
    LabelledGraphs,
    RegionTruth,
    ScaledGraphs,
    Scaling,
    ScalingLearner,
    weighted,
)
from neuralfactors.segmentation._labelled_images import LabelledImage, check_label_map, image_source, reader_of
from neuralfactors.segmentation._pixels import PixelNetwork
from neuralfactors.vision import FeatureBuilder, FeatureSettings, ImageGraph
from neuralfactors.vision._builder import BuilderOptions
from neuralfactors.vision._network_identity import portrait
from neuralfactors.vision._own_features import check_features
from neuralfactors.vision._settings import OWN_REGIONS
from neuralfactors.vision._sources import ImageSource
from neuralfactors.vision._tuned_backbone import TunedBackbone

KIND = "features"  # what its file calls itself
MEMORY = 2**31  # bytes of features that are kept; what is beyond is read again whenever it is needed


class Describer:
    """Turns images into the graphs that models take, and label maps into labels of their nodes.

    Parameters
    ----------
    settings : FeatureSettings
        What features to compute.
    classes : Classes
        What the labels mean.
    **options
        Of `FeatureBuilder`: backbone, cache, n_jobs, dask, progress.

    Attributes
    ----------
    builder : FeatureBuilder
        Makes graphs of images.
    scaling : Scaling or None
        Standardises their features; None before `learn`.
    stop : Stop or None
        Why regions are not finer, where `learn` has chosen them or images came with them.
    pixels : PixelNetwork or None
        Labels pixels near the borders between labels, where the settings want it.
    """

    def __init__(self, settings: FeatureSettings, classes: Classes, **options: Unpack[BuilderOptions]) -> None:
        self.builder = FeatureBuilder(settings, **options)
        self.classes = classes
        self._asked = settings
        self.scaling: Scaling | None = None
        self.stop: Stop | None = None
        self.pixels: PixelNetwork | None = None

    @property
    def n_labels(self) -> int:
        """Number of classes, void ones apart."""
        return len(self.classes.names)

    @property
    def chooses_regions(self) -> bool:
        """Whether `learn` chooses how many regions an image gets."""
        return self._asked.n_regions == 0

    def learn(self, samples: Sequence[LabelledImage]) -> LabelledGraphs:
        """Learn words and scaling from training images; and, where the settings leave it open, how fine regions are.

        Parameters
        ----------
        samples : sequence of LabelledImage
            At least one.

        Returns
        -------
        LabelledGraphs
            Of these images.
        """
        if not samples:
            raise ValueError("there is no image to learn from")
        settings = replace(self._asked, n_own=_n_own(samples))
        if _come_with("regions", samples):
            self.builder.settings, self.stop = replace(settings, n_regions=OWN_REGIONS), "own"
        elif self.chooses_regions:
            chosen = choose_regions(settings, samples, self.n_labels)
            self.builder.settings, self.stop = chosen.settings, chosen.stop
        else:
            self.builder.settings = settings
        graphs = self._labelled(samples, learn=True)
        if self._refines:
            seed = seed_of(self._asked.random_state)
            self.pixels = PixelNetwork.learn(samples, self.view, self.n_labels, seed)
        return graphs

    @property
    def _refines(self) -> bool:
        if self._asked.refine is not None:
            return self._asked.refine
        return self.chooses_regions and not self.builder.settings.own_regions

    def view(self, sample: LabelledImage) -> NDArray[np.uint8]:
        """The picture of a sample as features see it.

        Parameters
        ----------
        sample : LabelledImage
            Any image.

        Returns
        -------
        ndarray of shape (h, w, 3)
            uint8; see `FeatureBuilder.view`.
        """
        return self.builder.view(sample.read_image)

    def describe(self, samples: Sequence[LabelledImage]) -> LabelledGraphs:
        """The labelled graphs of other images.

        Parameters
        ----------
        samples : sequence of LabelledImage
            Of the same classes.

        Returns
        -------
        LabelledGraphs
            Computed in one pass over the images, or read from the cache.
        """
        return self._labelled(samples)

    def graph(self, image: ImageSource) -> tuple[ImageGraph, Graph]:
        """The graph of one image.

        Parameters
        ----------
        image : uint8 array of shape (H, W, 3), or what reads one
            The picture.

        Returns
        -------
        image_graph : ImageGraph
            The regions, to paint labels back.
        graph : Graph
            With standardised features, as a model takes it.
        """
        described = self.builder.transform(image)
        return described, self._scaling().apply(described.graph)

    def _labelled(self, samples: Sequence[LabelledImage], *, learn: bool = False) -> LabelledGraphs:
        """Graphs and labels of images, in one pass in which each graph and each label map is looked at once."""
        images = self.builder.open([image_source(sample) for sample in samples], learn=learn)
        truth, seen, left = [], {}, MEMORY
        learner = ScalingLearner() if learn else None
        for n, (sample, image) in enumerate(zip(samples, images.first_pass(), strict=True)):
            truth.append(RegionTruth.of(_label_counts(sample, image)))
            graph = weighted(image)
            if learner:
                learner.see(graph)
            left -= graph.nbytes
            if left >= 0:
                seen[n] = graph
        self.builder.n_unkept += images.n_unkept
        if learner:
            if not any(len(each.label) for each in truth):
                raise ValueError("every pixel of every training image is void: there is no label to learn")
            self.scaling = learner.scaling() if self.builder.settings.standardise else Scaling.identity()
        return LabelledGraphs(samples, images, ScaledGraphs(images, self._scaling(), seen), truth)

    def _scaling(self) -> Scaling:
        if self.scaling is None:
            raise ValueError("the features have not been learned yet: fit the Segmenter first")
        return self.scaling

    @property
    def tuned(self) -> TunedBackbone | None:
        """The network of CNN features whose last blocks have learnt; None where none has."""
        network = self.builder.backbone
        return network if isinstance(network, TunedBackbone) else None

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write settings, classes, words and scaling: JSON and safetensors.

        Parameters
        ----------
        folder : path
            Made if need be.
        """
        save_model(folder, *self.state())

    def state(self) -> State:
        """What a file needs to hold.

        Returns
        -------
        document : dict
            Settings, classes, the identity of a backbone and why regions are not finer, for JSON.
        tensors : dict of str to Tensor
            Words and scaling, by name.
        """
        own = None if self.tuned else self.builder.own_network
        document = {
            "class": KIND,
            "settings": self.builder.settings.to_dict(),
            "classes": classes_to_json(self.classes),
            "backbone": None if own is None else portrait(own),
            "stop": self.stop,
        }
        return State(document, self.tensors())

    def tensors(self) -> dict[str, Tensor]:
        """What was learned.

        Returns
        -------
        dict of str to Tensor
            Words, scaling and, where there is one, the network of pixels, by name.
        """
        arrays = {f"words.{name}": array for name, array in self.builder.state()[1].items()}
        arrays |= {f"scaling.{name}": array for name, array in self._scaling().to_arrays().items()}
        if self.pixels is not None:
            arrays |= {f"pixels.{name}": array for name, array in vars(self.pixels).items()}
        return {name: torch.from_numpy(array) for name, array in arrays.items()}

    @classmethod
    def load(cls, folder: str | os.PathLike[str], **options: Unpack[BuilderOptions]) -> Self:
        """The describer that `save` wrote.

        Parameters
        ----------
        folder : path
            Where it is.
        **options
            Those of the constructor, including a custom backbone.

        Returns
        -------
        Describer
            Ready to describe.
        """
        document, tensors = load_model(folder)
        with readable(folder):
            return cls.from_state(document, tensors, folder, **options)

    @classmethod
    def from_state(
        cls,
        document: Mapping[str, Any],
        tensors: Mapping[str, Tensor],
        folder: str | os.PathLike[str],
        **options: Unpack[BuilderOptions],
    ) -> Self:
        """The describer that `state` came from.

        Parameters
        ----------
        document : dict
            As `state` returns it.
        tensors : mapping of str to Tensor
            As `state` returns them.
        folder : path
            Where they were read from, for errors.
        **options
            As in `load`.

        Returns
        -------
        Describer
            Ready to describe.
        """
        if document.get("class") != KIND:
            raise FileFormatError(f"{Path(folder)} contains a {document.get('class')!r}, not {KIND}")
        settings = settings_from_json(document["settings"], folder)
        check_backbone(document, settings, options.get("backbone"), Path(folder))
        parts: dict[str, dict[str, NDArray[Any]]] = {"words": {}, "scaling": {}, "pixels": {}}
        for key, tensor in tensors.items():
            part, _, name = key.partition(".")
            parts[part][name] = tensor.numpy()
        describer = cls(settings, classes_from_json(document["classes"]))
        describer.builder = FeatureBuilder.from_state(document["settings"], parts["words"], **options)
        describer.stop = stop_from_json(document, settings, folder)
        describer.scaling = Scaling(**parts["scaling"])
        describer.pixels = PixelNetwork(**parts["pixels"]) if parts["pixels"] else None
        return describer


def _come_with(what: str, samples: Sequence[LabelledImage]) -> bool:
    """Whether all of the images come with "regions" or "features", where either all or none must."""
    given = [sample.name for sample in samples if reader_of(sample, what) is not None]
    if given and len(given) < len(samples):
        raise ValueError(f"{given[0]} comes with {what}, but not all images do: pass them for all or none")
    return bool(given)


def _n_own(samples: Sequence[LabelledImage]) -> int:
    """How many features of a region or pixel the images come with."""
    reader = reader_of(samples[0], "features")
    return check_features(reader()).shape[-1] if _come_with("features", samples) and reader is not None else 0


def _label_counts(sample: LabelledImage, image: ImageGraph) -> NDArray[np.int64]:
    """Pixels (V, K + 1) of an image's regions by label; refused where the label map has another size."""
    labels = check_label_map(sample.read_labels(), sample.name)
    if labels.shape != image.shape:
        sizes = f"{labels.shape[1]} × {labels.shape[0]}, but the image is {image.shape[1]} × {image.shape[0]}"
        raise ValueError(f"the label map of {sample.name} is {sizes}")
    return image.label_counts(labels)
