"""The steps from an image to its graph: regions, words, CNN features, edges. What is learned is an argument."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import nn

from neuralfactors._core.graph import Graph
from neuralfactors.vision._backbones import load_backbone
from neuralfactors.vision._blas import one_blas_thread
from neuralfactors.vision._channels import Channels, Picture, check_picture, check_plain, reduce_to
from neuralfactors.vision._cnn import feature_maps, likeness, region_means, window_means
from neuralfactors.vision._descriptors import dense_daisy, hsv_cone
from neuralfactors.vision._image_graph import ImageGraph
from neuralfactors.vision._own_features import features_of_regions
from neuralfactors.vision._region_geometry import (
    boundary_features,
    edge_geometry,
    region_centres,
    region_edges,
    region_medians,
)
from neuralfactors.vision._regions import adopt_regions, find_regions, rgb_to_lab
from neuralfactors.vision._settings import FeatureSettings
from neuralfactors.vision._sources import Given
from neuralfactors.vision._words import region_cells, word_histograms

VERSION = 5  # of what these functions compute: raise it when a result changes, so that caches are filled anew
WORD_KINDS = ("gradient", "colour")
# Words are learned on every 4th cell of the DAISY lattice and every 8th pixel, each way.
SAMPLE_CELLS, SAMPLE_PIXELS = 4, 8

NOTHING = Given()

Words = Mapping[str, NDArray[np.float32]]  # "node_gradient", "node_colour", "edge_gradient", "edge_colour", each (K, D)


@dataclass(frozen=True, eq=False)
class Draft:
    """What is known of an image before there are words: the costly part of learning them serves to apply them, too."""

    image: NDArray[np.uint8]  # (h, w, 3), reduced where it exceeds `max_side`; colours that stand for other channels
    shape: tuple[int, int]  # (H, W) of the image itself
    lattice: NDArray[np.float32]  # (⌈h/stride⌉, ⌈w/stride⌉, D), its DAISY descriptors
    regions: NDArray[np.int32] | None = None  # (h, w), where they are given
    given: Given = NOTHING
    values: NDArray[np.float32] | None = None  # (h, w, C) of channels that are not RGB of 8 bits

    def colours(self, step: int = 1) -> NDArray[np.float32]:
        """What colour words are made of (N, C), at every `step`-th pixel: points of the HSV cone, or channels."""
        if self.values is not None:
            return self.values[::step, ::step].reshape(-1, self.values.shape[2])
        return hsv_cone(np.ascontiguousarray(self.image[::step, ::step])).reshape(-1, 3)

    @property
    def nbytes(self) -> int:
        """Memory that it takes."""
        arrays = (self.image, self.values, self.lattice, self.regions, self.given.regions, self.given.features)
        return sum(0 if array is None else array.nbytes for array in arrays)


def draft(image: Picture, settings: FeatureSettings, given: Given = NOTHING, channels: Channels | None = None) -> Draft:
    """The draft of `image`, with the regions and features that are `given` if the settings are for such.

    `channels` say what the values mean; None: they are RGB of 8 bits.
    """
    check_given(given, settings)
    reduced, values = seen(image, settings, channels)
    with one_blas_thread:  # a product as small as the luminance is not worth waking others for
        lattice = dense_daisy(reduced, stride=settings.words.stride, radius=settings.words.radius)
    own = given.regions
    regions = None if own is None else adopt_regions(own, image.shape[:2], reduced.shape[:2])
    return Draft(reduced, (image.shape[0], image.shape[1]), lattice, regions, given, values)


def seen(
    image: Picture, settings: FeatureSettings, channels: Channels | None
) -> tuple[NDArray[np.uint8], NDArray[np.float32] | None]:
    """The three colours (h, w, 3) by which `image` is looked at, and its values (h, w, C) if they are not these."""
    if channels is None:
        return np.asarray(reduce_to(check_plain(check_picture(image)), settings.max_side), dtype=np.uint8), None
    few = reduce_to(channels.check(check_picture(image)), settings.max_side)
    return channels.view(few), channels.values(few)


def check_given(given: Given, settings: FeatureSettings) -> None:
    """Refuse what is given with an image if it is not what the settings are for: they say what a model needs."""
    if settings.own_regions != (given.regions is not None):
        wanted, got = ("of your own", "none") if settings.own_regions else ("that are found", "some of your own")
        raise ValueError(f"the features are those of regions {wanted}, but the image comes with {got}")
    n_given = 0 if given.features is None else given.features.shape[-1]
    if settings.features == "own" and n_given == 0:
        raise ValueError("the features are your own, but the image comes with none")
    if n_given != settings.n_own:
        wanted = f"{settings.n_own} features of your own" if settings.n_own else "no features of your own"
        raise ValueError(f"the model needs {wanted} with every image, but this one comes with {n_given or 'none'}")


def sample_descriptors(draft: Draft) -> dict[str, NDArray[np.float32]]:
    """Descriptors of each kind, (N, D), at a regular lattice of points, to learn words from."""
    half = SAMPLE_CELLS // 2 if min(draft.lattice.shape[:2]) > SAMPLE_CELLS else 0
    gradient = draft.lattice[half::SAMPLE_CELLS, half::SAMPLE_CELLS]
    return {"gradient": gradient.reshape(-1, gradient.shape[2]), "colour": draft.colours(SAMPLE_PIXELS)}


def describe(draft: Draft, settings: FeatureSettings, words: Words, network: nn.Module | None = None) -> ImageGraph:
    """The graph of an image: one node a region, one edge for two regions that touch.

    Node features are, as the settings say, the words within the region (60 + 30 by default), the network's maps
    averaged over it, users' own, and its position. Edge features are the words at both ends (2 · (10 + 5) by default),
    distance and angle, where there are a network or users' own, how alike these are at both ends, and, if the settings
    say so, the boundary between them. A given `network` takes the place of the one that the settings name.
    """
    image = draft.image
    regions = draft.regions
    if regions is None:
        regions = regions_of(image, settings)
    edges = region_edges(regions)
    centres = region_medians(regions).astype(np.float64) if settings.position else region_centres(regions)
    bags = _bags(draft, regions, settings, words)
    nodes = [bags["node"]] if settings.uses_words else []
    ends = [
        bags["edge"][edges[:, 0]],
        bags["edge"][edges[:, 1]],
        edge_geometry(edges, centres, region_spacing(regions)),
    ]
    if settings.uses_cnn:
        means, around = _cnn_columns(image, regions, centres, settings, network or load_backbone(settings.backbone))
        nodes += [*means, *around]
        ends.append(likeness(means, edges))
    if draft.given.features is not None:
        own = features_of_regions(draft.given.features, regions, draft.shape, draft.given.regions)
        nodes.append(own)
        ends.append(likeness([own.astype(np.float64)], edges))  # the squares of any float32 are finite
    if settings.boundaries:
        ends.append(boundary_features(regions, edges, rgb_to_lab(image)))
    if settings.position:
        nodes.append((centres / regions.shape).astype(np.float32))
    return ImageGraph(Graph(np.concatenate(nodes, axis=1), edges, np.concatenate(ends, axis=1)), regions, draft.shape)


def regions_of(image: NDArray[np.uint8], settings: FeatureSettings) -> NDArray[np.int32]:
    """Regions (h, w) of a reduced image, as the settings want them."""
    shape = {"compactness": settings.compactness, "min_area": settings.min_area}
    return find_regions(image, settings.n_regions, **shape, merge_from=settings.merge_from)


def region_spacing(regions: NDArray[np.int32]) -> float:
    """Side of a square of the mean area of `regions`: about the distance of neighbouring centres."""
    return float((regions.size / (int(regions.max()) + 1)) ** 0.5)


def _bags(
    draft: Draft, regions: NDArray[np.int32], settings: FeatureSettings, words: Words
) -> dict[str, NDArray[np.float32]]:
    """Histograms (V, K) of the words of both kinds side by side, for "node" and for "edge"."""
    lattice = draft.lattice.reshape(-1, draft.lattice.shape[2])
    points = {"gradient": lattice, "colour": draft.colours()}
    cells = {"gradient": region_cells(regions, settings.words.stride), "colour": region_cells(regions)}
    bags, softness = {}, settings.words.softness or 0.0
    for use in ("node", "edge") if settings.uses_words else ("edge",):
        histograms = [
            word_histograms(points[kind], words[f"{use}_{kind}"], cells[kind], softness) for kind in WORD_KINDS
        ]
        bag = np.concatenate(histograms, axis=1)
        bags[use] = np.sqrt(bag) if settings.words.root else bag
    return bags


def _cnn_columns(
    image: NDArray[np.uint8],
    regions: NDArray[np.int32],
    centres: NDArray[np.float64],
    settings: FeatureSettings,
    network: nn.Module,
) -> tuple[list[NDArray[np.float32]], list[NDArray[np.float32]]]:
    """Means (V, C) of each map over the regions, and of the coarsest over their surroundings."""
    cnn = settings.cnn
    maps = feature_maps(network, image, cnn.scale, cnn.maps, mirror=cnn.mirror)
    means = [rounded(mean) for mean in region_means(maps, regions)]
    if not cnn.surroundings:
        return means, []
    sides = [side * regions.size**0.5 for side in cnn.surroundings]
    return means, [rounded(window_means(maps[-1], centres, sides, regions.shape))]


def rounded(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """`values` as 16 bits hold them, in which caches store them: a twentieth of a per cent is less than noise."""
    largest = np.finfo(np.float16).max
    return np.clip(values, -largest, largest).astype(np.float16).astype(np.float32)
