"""Types of nodes: nodes of one type share their labels and a factor, edges between two types a factor of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralfactors._core.graph_checks import as_numpy
from neuralfactors._core.sparse import is_sparse


@dataclass(frozen=True)
class NodeTypes:
    """How many labels the nodes of every type have, and which types meet in edges.

    Examples
    --------
    >>> types = NodeTypes((2, 3), ((0, 0), (0, 1)))
    >>> types.sizes(np.array([0, 1, 1])).tolist()
    [2, 3, 3]
    """

    n_labels: tuple[int, ...]  # by type
    pairs: tuple[tuple[int, int], ...]  # types of the first and the second node of edges, rising

    def sizes(self, node_types: NDArray[np.int64]) -> NDArray[np.int64]:
        """Numbers of labels of nodes of these types, which must be known."""
        if node_types.max(initial=0) >= len(self.n_labels):
            last = len(self.n_labels) - 1
            raise ValueError(f"node_types must run from 0 to {last}, got {node_types.max()}")
        return np.array(self.n_labels)[node_types]

    def n_entries(self, node_types: NDArray[np.int64], edges: NDArray[np.int64]) -> int:
        """Entries of all tables of a graph."""
        return int(self.sizes(node_types)[edges].prod(axis=1).sum())

    def check_labels(self, y: NDArray[np.int64], node_types: NDArray[np.int64], name: str) -> None:
        """Refuse labels that nodes of their type do not have."""
        wrong = np.flatnonzero(y >= self.sizes(node_types))
        if len(wrong):
            i, kind = wrong[0], node_types[wrong[0]]
            raise ValueError(
                f"{name} has label {y[i]} at node {i}, but nodes of type {kind} have {self.n_labels[kind]} labels"
            )


class TypeCensus:
    """What types of nodes there are in graphs that are seen one after the other."""

    def __init__(self) -> None:
        self.n_typed = self.n_seen = 0
        self.highest: NDArray[np.int64] = np.zeros(0, np.int64)  # label of every type
        self.pairs: set[tuple[int, int]] = set()

    def see(self, node_types: NDArray[np.int64] | None, edges: NDArray[np.int64], y: NDArray[np.int64]) -> None:
        """Count in a graph, with its labels."""
        self.n_seen += 1
        if node_types is None:
            return
        self.n_typed += 1
        missing = int(node_types.max(initial=-1)) + 1 - len(self.highest)
        self.highest = np.concatenate([self.highest, np.zeros(max(0, missing), np.int64)])
        np.maximum.at(self.highest, node_types, y)
        self.pairs |= {(i, j) for i, j in np.unique(node_types[edges], axis=0).tolist()}

    def types(self, n_labels: int | Sequence[int] | None) -> NodeTypes | None:
        """The types of all graphs, with `n_labels` labels each, or as many as were seen; None: there are no types."""
        if not self.n_typed:
            if n_labels is not None and not isinstance(n_labels, (int, np.integer)):
                raise ValueError(f"n_labels must be one number, as X has no node_types, got {n_labels!r}")
            return None
        if self.n_typed < self.n_seen:
            raise ValueError(f"X must have node_types for all graphs or for none, got {self.n_typed} of {self.n_seen}")
        counts = (self.highest + 1).tolist()
        if isinstance(n_labels, (int, np.integer)):
            counts = [int(n_labels)] * len(counts)
        elif n_labels is not None:
            counts = [int(n) for n in n_labels]
        return NodeTypes(tuple(counts), tuple(sorted(self.pairs)))


def check_node_types(values: ArrayLike, n_nodes: int) -> NDArray[np.int64]:
    """Types (V,) as int64 from 0."""
    types = as_numpy(values, "node_types")
    if types.shape != (n_nodes,) or (types.size and types.dtype.kind not in "iu"):
        expected = f"an integer per node: expected shape ({n_nodes},)"
        raise ValueError(f"node_types needs {expected}, got {types.shape} of dtype {types.dtype}")
    if types.size and types.min() < 0:
        raise ValueError(f"node_types must not be negative, got {types.min()} at node {types.argmin()}")
    return np.ascontiguousarray(types, np.int64)


def stack_types(node_features: Sequence[Any]) -> tuple[Any, NDArray[np.int64]]:
    """Features of the nodes type by type, in one matrix with zeros behind those of types that have fewer; the types."""
    if not len(node_features):
        raise ValueError("node_features must contain those of at least one type, got none")
    blocks = [_block(block, f"node_features[{t}]") for t, block in enumerate(node_features)]
    width = max(block.shape[1] for block in blocks)
    types = np.repeat(np.arange(len(blocks)), [block.shape[0] for block in blocks])
    if any(map(is_sparse, blocks)):
        return _stack_sparse(blocks, width), types
    return np.concatenate([np.pad(block, ((0, 0), (0, width - block.shape[1]))) for block in blocks]), types


def _block(values: Any, name: str) -> Any:
    block = values if is_sparse(values) else as_numpy(values, name)
    if block.ndim < 2 and 0 in block.shape:  # an empty list: a type of which the graph has no node
        return np.zeros((0, 0), bool)  # a type that leaves that of the other blocks as it is
    if block.ndim != 2:
        raise ValueError(f"{name} must have 2 dimensions, got shape {block.shape}")
    return block


def _stack_sparse(blocks: Sequence[Any], width: int) -> Any:
    from scipy.sparse import csr_array, vstack

    rows = [csr_array(block) for block in blocks]
    for block in rows:
        block.resize((block.shape[0], width))
    return vstack(rows, format="csr")
