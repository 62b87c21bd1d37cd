"""A backbone whose last blocks can learn, and the columns of a graph's features that it makes, differentiable in it."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from neuralfactors.vision._backbones import last_maps, load_backbone
from neuralfactors.vision._cnn import mean_operator, network_input, tensor_likeness, tensor_window_means
from neuralfactors.vision._image_graph import ImageGraph
from neuralfactors.vision._region_geometry import region_centres, region_medians
from neuralfactors.vision._settings import FeatureSettings

GEOMETRY = 2  # columns of an edge's features between its words and the likeness of its ends
ALL_MAPS = 4  # that an EfficientNet-lite gives


class TunedBackbone(nn.Module):
    """An EfficientNet-lite with last blocks of its own; all else of it, such as statistics of batches, stays fixed."""

    def __init__(self, name: str, n_blocks: int) -> None:
        super().__init__()
        self.network = deepcopy(load_backbone(name)).requires_grad_(False)
        self.n_blocks = n_blocks
        self.tail.requires_grad_(True)
        self.eval()

    @classmethod
    def of(cls, settings: FeatureSettings, tensors: Mapping[str, Tensor] | None = None) -> Self:
        """The network of `settings` with the last blocks that `learnt` gave, or with those that it comes with."""
        network = cls(settings.backbone, settings.cnn.finetune)
        if tensors is not None:
            network.tail.load_state_dict(dict(tensors))
        return network

    @property
    def tail(self) -> nn.ModuleList:
        """The blocks that may learn."""
        blocks: nn.ModuleList = self.network.blocks  # type: ignore[assignment]
        return blocks[len(blocks) - self.n_blocks :]

    def learnt(self) -> dict[str, Tensor]:
        """Parameters and statistics of the last blocks, by name."""
        return dict(self.tail.state_dict())

    def forward(self, images: Tensor) -> list[Tensor]:
        """Maps of `images` (N, 3, H, W), whose values are 0 to 1."""
        maps: list[Tensor] = self.network(images)
        return maps

    @torch.no_grad()
    def before(self, images: Tensor) -> Tensor:
        """What the fixed blocks make of `images`, without gradient."""
        fixed = self.network.blocks[: -self.n_blocks]  # type: ignore[index]
        return last_maps(self.network.stem((images * 255 - 127) / 128), fixed)[-1]  # type: ignore[operator]

    def after(self, x: Tensor) -> list[Tensor]:
        """The coarsest maps, from the size of `x` on, which comes from `before`."""
        return last_maps(x, self.tail)


class Columns(NamedTuple):
    """Columns of the features of an image's graph, with the number of the first one."""

    first: int
    values: Tensor  # (V, D) or (E, K)


class TrainableColumns:
    """Those columns of one image's graph that depend on the blocks that learn; what is fixed of them is kept.

    The fixed blocks of the network see the picture (h, w, 3), as features see it, once.
    """

    def __init__(
        self, network: TunedBackbone, picture: NDArray[np.uint8], image: ImageGraph, settings: FeatureSettings
    ) -> None:
        pixels = network_input(picture, settings.cnn.scale)
        self.settings, self.regions = settings, image.regions
        self.seen = network.before(torch.cat([pixels, pixels.flip(-1)]) if settings.cnn.mirror else pixels)
        centres = region_medians if settings.position else region_centres
        self.centres = centres(image.regions).astype(np.float64)
        self.edges = torch.from_numpy(image.graph.edges)
        self.n_columns = image.graph.node_features.shape[1]
        self._operators: dict[tuple[int, int], Tensor] = {}

    def of(self, network: TunedBackbone) -> tuple[Columns, Columns]:
        """Columns of nodes and of edges, not scaled, differentiable in the last blocks of `network`."""
        cnn, n_maps = self.settings.cnn, min(self.settings.cnn.maps, ALL_MAPS)
        maps = [_of_views(m) for m in network.after(self.seen)[-n_maps:]]
        means = [self._operator(m) @ m.flatten(0, 1) for m in maps]
        ends = tensor_likeness(means, self.edges)
        if cnn.surroundings:
            sides = [side * self.regions.size**0.5 for side in cnn.surroundings]
            means.append(tensor_window_means(maps[-1], self.centres, sides, self.regions.shape))
        nodes = torch.cat(means, dim=1)
        after = self.settings.n_own + 2 * self.settings.position
        words = 2 * sum(self.settings.words.edge_words) + GEOMETRY
        fixed = ends.shape[1] // len(maps) * (n_maps - len(maps))
        return Columns(self.n_columns - after - nodes.shape[1], nodes), Columns(words + fixed, ends)

    def _operator(self, m: Tensor) -> Tensor:
        """The sparse matrix that averages a map of the size of `m` over the regions."""
        size = (m.shape[0], m.shape[1])
        if size not in self._operators:
            found = mean_operator(self.regions, *size).tocoo()
            places = torch.from_numpy(np.stack([found.row, found.col]).astype(np.int64))
            shares = torch.from_numpy(found.data)
            made = torch.sparse_coo_tensor(places, shares, found.shape, check_invariants=False)
            self._operators[size] = made.coalesce()
        return self._operators[size]


def _of_views(m: Tensor) -> Tensor:
    """The map (h, w, C) of an image, or the mean of those (2, C, h, w) of both its views."""
    mean = m[0] if len(m) == 1 else (m[0] + m[1].flip(-1)) / 2
    return mean.permute(1, 2, 0)
