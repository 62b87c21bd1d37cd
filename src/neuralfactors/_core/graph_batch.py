"""Batches of graphs: one disconnected graph of torch tensors.

Factors and inference work on whole batches. Pointers say which nodes and edges belong to which graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from neuralfactors._core.graph import Counted, Graph, check_agreement
from neuralfactors._core.graph_checks import check_labels
from neuralfactors._core.pyg import pieces_of
from neuralfactors._core.sparse import is_sparse, stack_sparse

MOVED = ("node_features", "edges", "edge_features", "node_weight", "y", "node_types")  # with the batch, to its device


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
    node_weight : Tensor of shape (V,) or (V, L), default=None
        What a wrong node costs; None: 1.
    y : Tensor of shape (V,), default=None
        int64 labels, −1 for void.
    node_types : Tensor of shape (V,), default=None
        int64, the type of every node; None: there are none.

    Examples
    --------
    A DataLoader makes batches of (graph, labels) pairs with `GraphBatch.collate`:

    >>> from torch.utils.data import DataLoader
    >>> pairs = [(Graph([[0.0], [1.0]], [[0, 1]]), [1, 0]), (Graph([[2.0]]), [1])]
    >>> [batch.y.tolist() for batch in DataLoader(pairs, batch_size=2, collate_fn=GraphBatch.collate)]
    [[1, 0, 1]]
    """

    node_features: Tensor  # (V, D)
    edges: Tensor  # (E, Q) int64
    edge_features: Tensor  # (E, K)
    node_ptr: Tensor  # (G + 1,) int64, on the CPU: graph g owns the nodes node_ptr[g]:node_ptr[g + 1]
    edge_ptr: Tensor  # (G + 1,) int64, on the CPU
    node_weight: Tensor | None = None  # (V,) or (V, L)
    y: Tensor | None = None  # (V,) int64, −1 where there is no label
    node_types: Tensor | None = None  # (V,) int64

    def __post_init__(self) -> None:
        if len(self.edges) != len(self.edge_features):
            shapes = f"{tuple(self.edges.shape)} and {tuple(self.edge_features.shape)}"
            advice = ": transpose edges" if self.edges.shape == (2, len(self.edge_features)) else ""
            raise ValueError(f"edges and edge_features need one row per interaction, got shapes {shapes}{advice}")

    @classmethod
    def from_graphs(
        cls,
        graphs: Iterable[Graph],
        dtype: torch.dtype = torch.float32,
        y: Iterable[ArrayLike] | None = None,
        *,
        convert_sparse: bool = True,
    ) -> GraphBatch:
        """The batch of `graphs`, which must agree in their numbers of features and in the order of their edges.

        Parameters
        ----------
        graphs : iterable of Graph
            At least one.
        dtype : torch.dtype, default=torch.float32
            Type of features and weights.
        y : iterable of arrays of shape (V,), default=None
            Labels of every graph, −1 for void.
        convert_sparse : bool, default=True
            False: sparse features keep their type. Factors convert them a part at a time, without gradient.

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
        weight = _weights(graphs)
        types = [graph.node_types for graph in graphs if graph.node_types is not None]
        if 0 < len(types) < len(graphs):
            raise ValueError(f"graphs must all have node_types, or none, got {len(types)} of {len(graphs)}")
        return cls(
            _stack([graph.node_features for graph in graphs], dtype, convert_sparse),
            torch.from_numpy(edges),
            _stack(features, dtype),
            torch.from_numpy(node_ptr),
            torch.from_numpy(edge_ptr),
            None if weight is None else torch.from_numpy(weight).to(dtype),
            None if y is None else _labels(graphs, list(y)),
            torch.from_numpy(np.concatenate(types)) if types else None,
        )

    @classmethod
    def collate(cls, samples: Iterable[Graph | tuple[Graph, ArrayLike]]) -> GraphBatch:
        """The batch of graphs, or of pairs (graph, labels): a `collate_fn` of torch's DataLoader.

        Parameters
        ----------
        samples : iterable of Graph or of (Graph, labels)
            All of one kind.

        Returns
        -------
        GraphBatch
            With labels if they were given.
        """
        samples = list(samples)
        if any(isinstance(sample, Graph) for sample in samples):
            return cls.from_graphs(samples)  # type: ignore[arg-type]  # which refuses a mixture
        graphs, labels = zip(*samples, strict=True)
        return cls.from_graphs(graphs, y=labels)

    @classmethod
    def from_pyg(cls, data: Any, mask: str | None = None) -> GraphBatch:
        """The batch of a PyTorch Geometric `Batch` or `Data`, whose tensors are taken as they are.

        Where every edge has its reverse, as PyTorch Geometric stores undirected ones, the one with the smaller node
        first is kept.

        Parameters
        ----------
        data : Batch or the like
            With `x` (V, D) and `edge_index` (2, E); `edge_attr` (E, K), `y` (V,), and `ptr` or `batch` if it has them.
            A `y` with one entry per graph is none of nodes, and left out.
        mask : str, default=None
            Name of a mask of nodes, such as "train_mask": labels outside it become void.

        Returns
        -------
        GraphBatch
            On the device of `data`, with pointers on the CPU.

        Examples
        --------
        >>> from types import SimpleNamespace
        >>> edge_index = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
        >>> data = SimpleNamespace(x=torch.zeros(4, 1), edge_index=edge_index, batch=torch.tensor([0, 0, 0, 1]))
        >>> batch = GraphBatch.from_pyg(data)
        >>> batch.edges.tolist(), batch.node_ptr.tolist()
        ([[0, 1], [1, 2]], [0, 3, 4])
        """
        return cls(**pieces_of(data, mask))  # type: ignore[arg-type]  # only the labels may be None

    @property
    def n_graphs(self) -> int:
        """Number of graphs, G."""
        return len(self.node_ptr) - 1

    @property
    def sizes(self) -> list[int]:
        """Number of nodes of every graph."""
        return self.node_ptr.diff().tolist()

    def to(self, device: torch.device | str, non_blocking: bool = False) -> GraphBatch:
        """The batch with its tensors on another device.

        Parameters
        ----------
        device : torch.device or str
            Where features, edges, weights and labels go.
        non_blocking : bool, default=False
            Whether to copy in the background, which needs page-locked memory.

        Returns
        -------
        GraphBatch
            The pointers stay on the CPU, where inference reads them.
        """
        return self._with(lambda tensor: tensor.to(device, non_blocking=non_blocking), MOVED)

    def pin_memory(self) -> GraphBatch:
        """The batch in page-locked memory, from which `to(device, non_blocking=True)` copies in the background.

        Returns
        -------
        GraphBatch
            Of tensors that all are pinned.
        """
        return self._with(Tensor.pin_memory, (*MOVED, "node_ptr", "edge_ptr"))

    def _with(self, change: Callable[[Tensor], Tensor], names: Iterable[str]) -> GraphBatch:
        values = {name: getattr(self, name) for name in names}
        return replace(self, **{name: change(value) for name, value in values.items() if value is not None})


def _labels(graphs: list[Graph], y: list[ArrayLike]) -> Tensor:
    if len(y) != len(graphs):
        raise ValueError(f"y needs the labels of every graph: expected {len(graphs)}, got {len(y)}")
    rows = [check_labels(labels, g.n_nodes, f"y[{n}]") for n, (g, labels) in enumerate(zip(graphs, y, strict=True))]
    return torch.from_numpy(np.concatenate(rows))


def _weights(graphs: list[Graph]) -> NDArray[Any] | None:
    if all(graph.node_weight is None for graph in graphs):
        return None
    rows = [np.ones(g.n_nodes) if g.node_weight is None else g.node_weight for g in graphs]
    if len({weight.shape[1:] for weight in rows}) > 1:
        raise ValueError("node_weight must be of shape (V, L) in all graphs of a batch, for the same L, or in none")
    return np.concatenate(rows)


def _pointers(sizes: list[int]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _stack(arrays: list[NDArray[Any]], dtype: torch.dtype, convert_sparse: bool = True) -> Tensor:
    if any(map(is_sparse, arrays)):
        return stack_sparse(arrays, dtype if convert_sparse else None)
    return torch.from_numpy(np.concatenate(arrays)).to(dtype)
