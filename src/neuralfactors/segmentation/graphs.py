"""Labelled images as the graphs that estimators learn from: scaled features, regions weighed by area, labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralfactors.graph import Graph
from neuralfactors.segmentation.samples import LabelledImage
from neuralfactors.vision import ImageGraph

MEMORY = 2**31  # bytes of features that are kept; what is beyond is read again whenever it is needed


@dataclass(frozen=True, eq=False)
class Scaling:
    """Mean and standard deviation of every feature of the training graphs, by which all graphs are standardised."""

    node_mean: NDArray[np.float32]
    node_std: NDArray[np.float32]
    edge_mean: NDArray[np.float32]
    edge_std: NDArray[np.float32]

    @classmethod
    def of(cls, graphs: Iterable[Graph]) -> Scaling:
        """The scaling of `graphs`, which are read once, one by one."""
        moments = [_Moments(), _Moments()]
        for graph in graphs:
            moments[0].add(graph.node_features)
            moments[1].add(graph.edge_features)
        return cls(*moments[0].mean_and_std(), *moments[1].mean_and_std())

    def apply(self, graph: Graph, node_weight: NDArray[np.float32] | None = None) -> Graph:
        """`graph` with standardised features and with `node_weight`."""
        nodes = (graph.node_features - self.node_mean) / self.node_std
        edges = (graph.edge_features - self.edge_mean) / self.edge_std
        return Graph(nodes, graph.edges, edges, node_weight)

    def to_arrays(self) -> dict[str, NDArray[np.float32]]:
        """The four arrays by name, for a file; ``Scaling(**arrays)`` is the way back."""
        return dict(vars(self))


class _Moments:
    def __init__(self) -> None:
        self.count = 0
        self.sums: Any = 0.0
        self.squares: Any = 0.0

    def add(self, rows: NDArray[np.floating[Any]]) -> None:
        self.count += len(rows)
        self.sums = self.sums + rows.sum(axis=0, dtype=np.float64)
        self.squares = self.squares + np.square(rows, dtype=np.float64).sum(axis=0)

    def mean_and_std(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        mean = np.asarray(self.sums / max(self.count, 1))
        std = np.sqrt(np.maximum(self.squares / max(self.count, 1) - mean**2, 0.0))
        std = np.where(std > 1e-6, std, 1.0)  # a feature that never varies stays at zero
        return mean.astype(np.float32), std.astype(np.float32)


class ScaledGraphs(Sequence[Graph]):
    """Graphs of images as estimators take them: standardised, and regions weigh what they cover.

    The first ones are kept in memory as far as `memory` reaches; the others are made again whenever they are asked for.
    """

    def __init__(self, graphs: Sequence[ImageGraph], scaling: Scaling, memory: int = MEMORY) -> None:
        self._graphs, self._scaling, self._left = graphs, scaling, memory
        self._kept: dict[int, Graph] = {}

    def __len__(self) -> int:
        return len(self._graphs)

    def __getitem__(self, n: Any) -> Any:
        if isinstance(n, slice):
            return [self[i] for i in range(len(self))[n]]
        n = range(len(self))[n]
        if n in self._kept:
            return self._kept[n]
        source = self._graphs[n]
        graph = self._scaling.apply(source.graph, area_weight(source))
        size = graph.node_features.nbytes + graph.edge_features.nbytes + graph.edges.nbytes
        if size <= self._left:
            self._left -= size
            self._kept[n] = graph
        return graph


@dataclass(frozen=True, eq=False)
class LabelledGraphs:
    """Graphs X and labels Y of labelled images, with the images and their regions to paint labels back."""

    samples: Sequence[LabelledImage]
    images: Sequence[ImageGraph]
    X: Sequence[Graph]
    Y: Sequence[NDArray[np.int64]]

    def class_weight(self, n_labels: int, balance: float) -> NDArray[np.float64] | None:
        """Weight (L,) of every class: its share of the labelled area to the power of −`balance`, 1 on average.

        None for a `balance` of 0; 1 makes all classes count the same. A class that does not occur weighs 0.
        """
        if balance == 0:
            return None
        areas = np.zeros(n_labels)
        for graph, y in zip(self.X, self.Y, strict=True):
            weight = np.ones(len(y)) if graph.node_weight is None else graph.node_weight
            areas += np.bincount(y[y >= 0], weight[y >= 0], minlength=n_labels)
        weights = np.where(areas > 0, np.maximum(areas, 1e-12) ** -float(balance), 0.0)
        return np.asarray(weights * (areas.sum() / max(float((weights * areas).sum()), 1e-12)))


def area_weight(image_graph: ImageGraph) -> NDArray[np.float32]:
    """Area (V,) of every region in mean areas: with it, errors cost by the pixel."""
    areas = image_graph.areas
    return np.asarray(areas / areas.mean(), dtype=np.float32)
