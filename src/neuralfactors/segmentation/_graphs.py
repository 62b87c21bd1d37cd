"""Labelled images as the graphs that estimators learn from: scaled features, regions weighed by area, labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralfactors._common.ceiling import Ceiling
from neuralfactors._common.labels import VOID
from neuralfactors._common.sequences import OnDemand, Selection
from neuralfactors._core.graph import Graph
from neuralfactors.metrics import Scores, confusion_matrix
from neuralfactors.segmentation._labelled_images import LabelledImage
from neuralfactors.vision import ImageGraph
from neuralfactors.vision._region_geometry import majority


@dataclass(frozen=True, eq=False)
class Scaling:
    """Mean and standard deviation of every feature of the training graphs, by which all graphs are standardised."""

    node_mean: NDArray[np.float32]
    node_std: NDArray[np.float32]
    edge_mean: NDArray[np.float32]
    edge_std: NDArray[np.float32]

    @classmethod
    def identity(cls) -> Scaling:
        """That which changes nothing."""
        return cls(*(np.full(1, value, dtype=np.float32) for value in (0, 1, 0, 1)))

    def apply(self, graph: Graph) -> Graph:
        """`graph` with standardised features."""
        nodes = (graph.node_features - self.node_mean) / self.node_std
        edges = (graph.edge_features - self.edge_mean) / self.edge_std
        return Graph.unchecked(nodes, graph.edges, edges, graph.node_weight)

    def to_arrays(self) -> dict[str, NDArray[np.float32]]:
        """The four arrays by name, for a file; ``Scaling(**arrays)`` is the way back."""
        return dict(vars(self))


class ScalingLearner:
    """Learns the scaling from one graph after another."""

    def __init__(self) -> None:
        from sklearn.preprocessing import StandardScaler  # which those who only predict need not wait for

        self._nodes, self._edges = StandardScaler(), StandardScaler()

    def see(self, graph: Graph) -> None:
        """Learn from `graph`."""
        self._nodes.partial_fit(graph.node_features)
        if graph.n_edges:
            self._edges.partial_fit(graph.edge_features)

    def scaling(self) -> Scaling:
        """The scaling of what was seen; features of which nothing was stay as they are."""
        return Scaling(*_mean_and_std(self._nodes), *_mean_and_std(self._edges))


class ScaledGraphs(OnDemand[Graph]):
    """Graphs of images as estimators take them: standardised, and regions weigh what they cover.

    Those of `seen`, by number, are kept; the others are made again whenever they are asked for.
    """

    def __init__(self, images: Sequence[ImageGraph], scaling: Scaling, seen: dict[int, Graph]) -> None:
        self._images, self._scaling = images, scaling
        self._kept = {n: scaling.apply(seen.pop(n)) for n in list(seen)}

    def __len__(self) -> int:
        return len(self._images)

    def make(self, n: int) -> Graph:
        """Graph `n`, standardised."""
        return self._kept[n] if n in self._kept else self._scaling.apply(weighted(self._images[n]))


@dataclass(frozen=True, eq=False)
class RegionTruth:
    """The labels of an image's pixels, counted by region: predictions of regions are judged by them, pixel by pixel."""

    y: NDArray[np.int64]  # (V,) label of each region by majority; −1 is void
    node: NDArray[np.int64]  # (K,) a region
    label: NDArray[np.int64]  # (K,) a label that occurs in it
    n_pixels: NDArray[np.int64]  # (K,) how often

    @classmethod
    def of(cls, counts: NDArray[np.int64]) -> RegionTruth:
        """The truth by the `label_counts` of an image."""
        labelled = counts[:, :-1]
        node, label = np.nonzero(labelled)
        return cls(majority(counts), node, label, labelled[node, label])

    @property
    def best(self) -> NDArray[np.int64]:
        """Label (V,) that is right on most labelled pixels of each region; of equally many the lowest, 0 of none."""
        best = np.zeros_like(self.y)
        order = np.lexsort((-self.label, self.n_pixels))  # what is written last, stays
        best[self.node[order]] = self.label[order]
        return best

    @property
    def labelled(self) -> NDArray[np.int64]:
        """Label (V,) of each region by majority of its labelled pixels alone; −1 where there is none."""
        return np.where(np.isin(np.arange(len(self.y)), self.node), self.best, VOID)

    def confusion(self, y_pred: NDArray[np.int64], n_labels: int) -> NDArray[np.float64]:
        """Number of pixels (L, L) of the true label of the row to which `y_pred` (V,) gives that of the column."""
        return confusion_matrix(self.label, y_pred[self.node], n_labels, self.n_pixels)


@dataclass(frozen=True, eq=False)
class LabelledGraphs:
    """Graphs X and labels Y of labelled images, with the images and their regions to paint labels back.

    Parameters
    ----------
    samples : sequence of LabelledImage
        The images.
    images : sequence of ImageGraph
        Their regions.
    X : sequence of Graph
        Standardised features; nodes weigh what their regions cover.
    truth : sequence of RegionTruth
        Labels of the pixels, counted by region.
    """

    samples: Sequence[LabelledImage]
    images: Sequence[ImageGraph]
    X: Sequence[Graph]
    truth: Sequence[RegionTruth]

    @cached_property
    def Y(self) -> list[NDArray[np.int64]]:
        """Labels (V,) of the nodes of each graph."""
        return [truth.y for truth in self.truth]

    @property
    def mean_regions(self) -> int:
        """How many regions an image has, on average."""
        return round(float(np.mean([len(truth.y) for truth in self.truth])))

    @property
    def labelled_share(self) -> float:
        """Share of the regions that have a labelled pixel."""
        n_labelled = sum(len(np.unique(truth.node)) for truth in self.truth)
        return n_labelled / max(1, sum(len(truth.y) for truth in self.truth))

    def take(self, numbers: Sequence[int]) -> LabelledGraphs:
        """Those of the images with these numbers.

        Parameters
        ----------
        numbers : sequence of int
            Counted from 0; one may occur several times.

        Returns
        -------
        LabelledGraphs
            Made on demand.
        """
        return LabelledGraphs(*(Selection(items, numbers) for items in (self.samples, self.images, self.X, self.truth)))

    def ceiling(self, n_labels: int) -> Ceiling:
        """What no labelling of the regions can exceed.

        Parameters
        ----------
        n_labels : int
            Number of labels, L.

        Returns
        -------
        Ceiling
            Over all labelled pixels of these images.
        """
        return ceiling_of(self.truth, n_labels)

    def class_weight(self, n_labels: int, balance: float) -> NDArray[np.float64] | None:
        """Weight of every class: its share of the labelled area to the power of −`balance`, 1 on average.

        Parameters
        ----------
        n_labels : int
            Number of labels, L.
        balance : float
            0: no weights; 1: all classes count the same.

        Returns
        -------
        ndarray of shape (L,) or None
            None for a `balance` of 0. A class that does not occur weighs 0.
        """
        return class_weights(self.areas(n_labels, self.Y), balance)

    def areas(self, n_labels: int, Y: Sequence[NDArray[np.int64]]) -> NDArray[np.float64]:
        """Area of each class, in mean areas of the regions of an image.

        Parameters
        ----------
        n_labels : int
            Number of labels, L.
        Y : sequence of arrays of shape (V,)
            Labels of the regions of each image, such as `Y`.

        Returns
        -------
        ndarray of shape (L,)
            Over all images.
        """
        areas = np.zeros(n_labels)
        for graph, y in zip(self.X, Y, strict=True):
            weight = np.ones(len(y)) if graph.node_weight is None else graph.node_weight
            areas += np.bincount(y[y >= 0], weight[y >= 0], minlength=n_labels)
        return areas


def class_weights(sizes: NDArray[np.float64], balance: float | NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Weight of every class: its share of all `sizes` (L,) to the power of −`balance`, 1 on average; None for 0.

    The `balance` may be that of each class (L,).
    """
    if not np.any(balance):
        return None
    shares = sizes / max(float(sizes.sum()), 1e-12)
    weights = np.where(sizes > 0, np.maximum(shares, 1e-12) ** -np.asarray(balance, dtype=np.float64), 0.0)
    return np.asarray(weights * (sizes.sum() / max(float((weights * sizes).sum()), 1e-12)))


def ceiling_of(truth: Iterable[RegionTruth], n_labels: int) -> Ceiling:
    """The ceiling of the regions of several images."""
    scores = Scores(sum((each.confusion(each.best, n_labels) for each in truth), np.zeros((n_labels, n_labels))))
    known = (share if np.isfinite(share) else None for share in scores.class_accuracy.tolist())
    if not scores.confusion.any():
        return Ceiling(None, None, tuple(known))
    return Ceiling(scores.pixel_accuracy, scores.class_mean_accuracy, tuple(known))


def _mean_and_std(scaler: Any) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    if not hasattr(scaler, "mean_"):
        return np.zeros(1, dtype=np.float32), np.ones(1, dtype=np.float32)
    std = np.sqrt(scaler.var_)
    std = np.where(std > 1e-6, std, 1.0)  # a feature that never varies stays at zero
    return scaler.mean_.astype(np.float32), std.astype(np.float32)


def weighted(image: ImageGraph) -> Graph:
    """The graph of an image whose nodes weigh their areas, in mean areas: errors then cost by the pixel."""
    areas = image.areas
    graph = image.graph
    weight = np.asarray(areas / areas.mean(), dtype=np.float32)
    return Graph.unchecked(graph.node_features, graph.edges, graph.edge_features, weight)
