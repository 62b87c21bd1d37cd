"""What a model learns from labelled regions: their labels, and what mistakes cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralfactors._common.sequences import OnDemand
from neuralfactors._core.graph import Graph
from neuralfactors.learning._losses import check_option
from neuralfactors.segmentation._copies import original
from neuralfactors.segmentation._defaults import BALANCE, SHOWN, SPARSE
from neuralfactors.segmentation._graphs import LabelledGraphs, RegionTruth, class_weights
from neuralfactors.segmentation._labelled_images import LabelledImage

COSTS = ("area", "pixel", "region")
REGION_LABELS = ("majority", "labelled")


class TrainingData(NamedTuple):
    """Graphs and labels as estimators take them, and η where the weights of nodes do not have it already."""

    X: Sequence[Graph]
    Y: Sequence[NDArray[np.int64]]
    class_weight: NDArray[np.float64] | None


class Reweighted(OnDemand[Graph]):
    """The same graphs, whose nodes have other weights."""

    def __init__(self, graphs: Sequence[Graph], weights: Sequence[NDArray[np.float32] | None]) -> None:
        self._graphs, self._weights = graphs, weights

    def __len__(self) -> int:
        return len(self._graphs)

    def make(self, n: int) -> Graph:
        """Graph `n` with its other weights."""
        graph = self._graphs[n]
        return Graph.unchecked(graph.node_features, graph.edges, graph.edge_features, self._weights[n])


@dataclass(frozen=True)
class Targets:
    """How the labels of pixels become labels of regions and costs of mistakes; as in `Segmenter`."""

    balance: float | None = None  # how much rare classes count; None: by how many images show each
    cost: str = "area"  # what a wrong region costs: "area", "pixel" or "region"
    # "majority" or "labelled": whether void pixels have a vote; they have none where labels are scribbles
    region_label: str = "majority"

    def __post_init__(self) -> None:
        if self.balance is not None and not 0 <= self.balance <= 1:
            raise ValueError(f"balance must be a number from 0 to 1, or None, got {self.balance!r}")
        check_option("cost", self.cost, COSTS)
        check_option("region_label", self.region_label, REGION_LABELS)

    def labels(self, truth: RegionTruth) -> NDArray[np.int64]:
        """Label (V,) of each region; −1 is void."""
        return truth.y if self.region_label == "majority" else truth.labelled

    def suited_to(self, graphs: LabelledGraphs) -> Targets:
        """These, in which void pixels have no vote if the labels of `graphs` are scribbles."""
        return self if graphs.labelled_share >= SPARSE else replace(self, region_label="labelled")

    def all_labels(self, graphs: LabelledGraphs) -> list[NDArray[np.int64]]:
        """Labels (V,) of the regions of every image."""
        return [self.labels(truth) for truth in graphs.truth]

    def of(self, graphs: LabelledGraphs, n_labels: int) -> TrainingData:
        """What to learn from `graphs`."""
        Y = self.suited_to(graphs).all_labels(graphs)
        balance = default_balance(graphs.samples, Y, n_labels) if self.balance is None else self.balance
        weight = class_weights(self._sizes(graphs, Y, n_labels), balance)
        if self.cost == "area":
            return TrainingData(graphs.X, Y, weight)
        if self.cost == "region":
            return TrainingData(Reweighted(graphs.X, [None] * len(Y)), Y, weight)
        eta = np.ones(n_labels) if weight is None else weight
        return TrainingData(Reweighted(graphs.X, [pixel_costs(truth, eta) for truth in graphs.truth]), Y, None)

    def _sizes(self, graphs: LabelledGraphs, Y: Sequence[NDArray[np.int64]], n_labels: int) -> NDArray[np.float64]:
        """How much there is of each class (L,), in what mistakes are counted by."""
        if self.cost == "area":
            return graphs.areas(n_labels, Y)
        if self.cost == "region":
            return counted([y[y >= 0] for y in Y], n_labels)
        return counted([t.label for t in graphs.truth], n_labels, [t.n_pixels for t in graphs.truth])


def default_balance(
    samples: Sequence[LabelledImage], Y: Sequence[NDArray[np.int64]], n_labels: int
) -> NDArray[np.float64]:
    """How much each class (L,) counts: less, the fewer images show it in the labels Y of the regions of `samples`.

    Copies of an image are the same image.
    """
    shown, row_of = np.zeros((len(Y), n_labels), dtype=bool), dict[int, int]()
    for sample, y in zip(samples, Y, strict=True):
        shown[row_of.setdefault(id(original(sample)), len(row_of)), y[y >= 0]] = True
    n_images = shown.sum(axis=0)
    return np.asarray(BALANCE * n_images / (n_images + SHOWN))


def pixel_costs(truth: RegionTruth, eta: NDArray[np.float64]) -> NDArray[np.float32]:
    """What every label costs in each region (V, L): its labelled pixels of other classes, each by the `eta` of its own.

    In units of the mean number of labelled pixels, so that an image costs about as much as its regions are.
    """
    counts = np.zeros((len(truth.y), len(eta)))
    counts[truth.node, truth.label] = truth.n_pixels * eta[truth.label]
    unit = max(float(truth.n_pixels.sum()) / max(1, len(np.unique(truth.node))), 1.0)
    return np.asarray((counts.sum(axis=1, keepdims=True) - counts) / unit, dtype=np.float32)


def counted(
    labels: Sequence[NDArray[np.int64]], n_labels: int, weights: Sequence[NDArray[np.int64]] | None = None
) -> NDArray[np.float64]:
    """How often each label occurs in all arrays, (L,), each time by its weight."""
    joined = None if weights is None else np.concatenate(weights)
    return np.asarray(np.bincount(np.concatenate(labels), joined, minlength=n_labels), dtype=np.float64)
