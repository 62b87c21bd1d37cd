"""Factors over any number of nodes, checked once and packed as the kernels take them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralfactors.inference._scores import as_scores

Factor = tuple[tuple[int, ...], NDArray[np.float64]]  # nodes, table with an axis for each of them


@dataclass(frozen=True)
class Factors:
    """Tables one after the other, table k over the nodes nodes[ptr[k]] to nodes[ptr[k + 1] - 1]."""

    ptr: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, np.int64))  # (F + 1,)
    nodes: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    tables: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def pack(cls, factors: Sequence[Factor]) -> Self:
        """The factors of a list."""
        return cls(
            ptr=np.cumsum([0, *(len(scope) for scope, _ in factors)], dtype=np.int64),
            nodes=np.array([node for scope, _ in factors for node in scope], np.int64),
            tables=np.concatenate([np.zeros(0), *(table.ravel() for _, table in factors)]),
        )

    def unpack(self, sizes: Sequence[int]) -> Iterator[Factor]:
        """The factors one by one, node i having sizes[i] labels."""
        used = 0
        for begin, end in zip(self.ptr[:-1], self.ptr[1:], strict=True):
            scope = tuple(self.nodes[begin:end].tolist())
            shape = tuple(sizes[i] for i in scope)
            stop = used + int(np.prod(shape))
            yield scope, self.tables[used:stop].reshape(shape)
            used = stop


NO_FACTORS = Factors()


def check_factors(factors: Any, sizes: NDArray[np.int64], node_ptr: NDArray[np.int64]) -> Factors:
    """The caller's list of factors, each over nodes of one graph; scores are left to the kernels to look at."""
    if not isinstance(factors, (list, tuple)):
        raise ValueError(f"factors must be a list of pairs (nodes, table), got {type(factors).__name__}")
    return Factors.pack([_check_factor(k, pair, sizes, node_ptr) for k, pair in enumerate(factors)])


def _check_factor(k: int, pair: Any, sizes: NDArray[np.int64], node_ptr: NDArray[np.int64]) -> Factor:
    """The nodes and the table of factor k, refused unless they fit its graph."""
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise ValueError(f"factors[{k}] must be a pair (nodes, table), got {type(pair).__name__}")
    try:
        nodes = np.asarray(pair[0])
    except ValueError as error:
        raise ValueError(f"the nodes of factors[{k}] must be an array, but its rows differ in length") from error
    if nodes.ndim != 1 or nodes.size == 0 or nodes.dtype.kind not in "iu":
        raise ValueError(
            f"factors[{k}] needs a non-empty vector of integers as its nodes, "
            f"got the shape {nodes.shape} and type {nodes.dtype}"
        )
    wrong = nodes[(nodes < 0) | (nodes >= node_ptr[-1])]
    if len(wrong):
        raise ValueError(f"factors[{k}] has node {wrong[0]}, but the nodes are numbered 0 to {node_ptr[-1] - 1}")
    if len(np.unique(nodes)) < len(nodes):
        raise ValueError(f"factors[{k}] needs distinct nodes, got {nodes.tolist()}")
    graphs = np.searchsorted(node_ptr, nodes, side="right") - 1
    if graphs.min() < graphs.max():
        raise ValueError(f"factors[{k}] has nodes of several graphs, from {graphs.min()} to {graphs.max()}")
    return tuple(nodes.tolist()), _check_table(k, pair[1], tuple(sizes[nodes].tolist()))


def _check_table(k: int, values: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float64]:
    table = as_scores(values, f"the table of factors[{k}]")
    if table.shape != shape:
        raise ValueError(f"the table of factors[{k}] must have the shape {shape}, one axis per node, got {table.shape}")
    return np.ascontiguousarray(table, np.float64)
