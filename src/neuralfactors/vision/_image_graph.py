"""An image as a graph of its regions, and the way between labels of regions and labels of pixels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from neuralfactors._core.graph import Graph
from neuralfactors.vision._region_geometry import Scalar, enlarge, label_counts, paint, region_areas


@dataclass(frozen=True, eq=False)
class ImageGraph:
    """The graph of an image, with the regions that its nodes are.

    Parameters
    ----------
    graph : Graph
        A node per region, an edge per pair of neighbours.
    regions : int32 array of shape (h, w)
        Node of each pixel; smaller than the image where that exceeds `max_side`.
    shape : tuple of (int, int)
        (H, W) of the image.
    """

    graph: Graph
    regions: NDArray[np.int32]  # (h, w) node of each pixel; smaller than the image where that exceeds `max_side`
    shape: tuple[int, int]  # (H, W) of the image

    @cached_property
    def full_regions(self) -> NDArray[np.int32]:
        """Node (H, W) of each pixel of the image at its full size."""
        return enlarge(self.regions, self.shape)

    @property
    def areas(self) -> NDArray[np.int64]:
        """Number of pixels (V,) of each region, in the image at its full size."""
        return region_areas(self.full_regions)

    def label_counts(self, labels: NDArray[np.integer]) -> NDArray[np.int64]:
        """Number of pixels of each region by their labels.

        Parameters
        ----------
        labels : int array of shape (H, W)
            Labels of the pixels; −1 is void.

        Returns
        -------
        ndarray of shape (V, K + 1)
            Void ones come last.
        """
        return label_counts(self.full_regions, labels)

    def paint(self, values: NDArray[Scalar]) -> NDArray[Scalar]:
        """Image in which every pixel has the value of its region.

        Parameters
        ----------
        values : ndarray of shape (V, ...)
            A value, or an array of them, per region.

        Returns
        -------
        ndarray of shape (H, W, ...)
            At the image's full size.
        """
        return paint(self.full_regions, values)

    def to_arrays(self) -> dict[str, NDArray[np.generic]]:
        """Everything as named arrays, for a file.

        Returns
        -------
        dict of str to ndarray
            See `from_arrays`.
        """
        return {
            "node_features": self.graph.node_features,
            "edges": self.graph.edges,
            "edge_features": self.graph.edge_features,
            "regions": self.regions,
            "shape": np.array(self.shape),
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[np.generic]]) -> ImageGraph:
        """The way back from `to_arrays`.

        Parameters
        ----------
        arrays : dict of str to ndarray
            As `to_arrays` made them; the graph is checked again.

        Returns
        -------
        ImageGraph
            An equal one.
        """
        graph = Graph(arrays["node_features"], arrays["edges"], arrays["edge_features"])
        height, width = arrays["shape"].tolist()
        return cls(graph, arrays["regions"].astype(np.int32, copy=False), (height, width))
