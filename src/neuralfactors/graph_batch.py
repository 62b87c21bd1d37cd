"""Batches of graphs: one disconnected graph of torch tensors.

Factors and inference work on whole batches. Pointers say which nodes and edges belong to which graph.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralfactors.extras import needs
from neuralfactors.graph import Counted, Graph, check_agreement

with needs(__name__, "learn"):
    import torch
    from torch import Tensor


@dataclass(frozen=True, eq=False)
class GraphBatch(Counted):
    """G graphs as one disconnected graph of torch tensors; node numbers are those of the batch.

    Parameters
    ----------
    node_features : Tensor of shape (V, D)
        Features of the nodes of all graphs, one after the other.
    edges : Tensor of shape (E, Q)
        int64, node numbers within the batch.
    edge_features : Tensor of shape (E, K)
        Features of the interactions.
    node_ptr : Tensor of shape (G + 1,)
        int64, on the CPU: graph g owns the nodes node_ptr[g] to node_ptr[g + 1] - 1.
    edge_ptr : Tensor of shape (G + 1,)
        The same for interactions.
    node_weight : Tensor of shape (V,), default=None
        What a wrong node costs; None: 1.
    """

    node_features: Tensor  # (V, D)
    edges: Tensor  # (E, Q) int64
    edge_features: Tensor  # (E, K)
    node_ptr: Tensor  # (G + 1,) int64, on the CPU: graph g owns the nodes node_ptr[g]:node_ptr[g + 1]
    edge_ptr: Tensor  # (G + 1,) int64, on the CPU
    node_weight: Tensor | None = None  # (V,)

    def __post_init__(self) -> None:
        if len(self.edges) != len(self.edge_features):
            shapes = f"{tuple(self.edges.shape)} and {tuple(self.edge_features.shape)}"
            advice = ": transpose edges" if self.edges.shape == (2, len(self.edge_features)) else ""
            raise ValueError(f"edges and edge_features need one row per interaction, got shapes {shapes}{advice}")

    @classmethod
    def from_graphs(cls, graphs: Iterable[Graph], dtype: torch.dtype = torch.float32) -> GraphBatch:
        """The batch of `graphs`, which must agree in their numbers of features and in the order of their edges.

        Parameters
        ----------
        graphs : iterable of Graph
            At least one.
        dtype : torch.dtype, default=torch.float32
            Type of features and weights.

        Returns
        -------
        GraphBatch
            On the CPU. It has weights if any graph has some; nodes of the others weigh 1.

        Examples
        --------
        >>> batch = GraphBatch.from_graphs([Graph([[0.0], [1.0]], [[0, 1]]), Graph([[2.0]])])
        >>> batch.n_graphs, batch.node_ptr.tolist()
        (2, [0, 2, 3])
        """
        graphs = list(graphs)
        _, n_edge_features, order = check_agreement(graphs)
        joined = [graph for graph in graphs if graph.n_edges]
        node_ptr = _pointers([graph.n_nodes for graph in graphs])
        edge_ptr = _pointers([graph.n_edges for graph in graphs])
        shifted = [g.edges + start for g, start in zip(graphs, node_ptr[:-1], strict=True) if g.n_edges]
        edges = np.concatenate(shifted) if joined else np.zeros((0, order), dtype=np.int64)
        features = [g.edge_features for g in joined] or [np.zeros((0, n_edge_features), dtype=np.float32)]
        weight = None
        if any(graph.node_weight is not None for graph in graphs):
            rows = [np.ones(g.n_nodes) if g.node_weight is None else g.node_weight for g in graphs]
            weight = torch.from_numpy(np.concatenate(rows)).to(dtype)
        return cls(
            _stack([graph.node_features for graph in graphs], dtype),
            torch.from_numpy(edges),
            _stack(features, dtype),
            torch.from_numpy(node_ptr),
            torch.from_numpy(edge_ptr),
            weight,
        )

    @property
    def n_graphs(self) -> int:
        """Number of graphs, G."""
        return len(self.node_ptr) - 1

    @property
    def sizes(self) -> list[int]:
        """Number of nodes of every graph."""
        return self.node_ptr.diff().tolist()

    def to(self, device: torch.device | str) -> GraphBatch:
        """The batch with its tensors on another device.

        Parameters
        ----------
        device : torch.device or str
            Where features, edges and weights go.

        Returns
        -------
        GraphBatch
            The pointers stay on the CPU, where inference reads them.
        """
        moved = {name: getattr(self, name) for name in ("node_features", "edges", "edge_features", "node_weight")}
        return replace(self, **{name: value.to(device) for name, value in moved.items() if value is not None})


def _pointers(sizes: list[int]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _stack(arrays: list[NDArray[Any]], dtype: torch.dtype) -> Tensor:
    return torch.from_numpy(np.concatenate(arrays)).to(dtype)
