"""Scores of a batch of graphs, as the kernels take them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralfactors.inference._factor_graph import NO_FACTORS, Factor, Factors

Scores = NDArray[Any]  # of type float32 or float64
Rows = Sequence[NDArray[Any]] | NDArray[Any]  # a list, or an array where all are alike


@dataclass(frozen=True)
class Places:
    """Where rows and tables begin in flat arrays, as nodes differ in their number of labels."""

    rows: NDArray[np.int64]  # (V + 1,)
    tables: NDArray[np.int64]  # (E + 1,)

    @classmethod
    def of(cls, sizes: NDArray[np.int64], edges: NDArray[np.int64]) -> "Places":
        """The places for nodes with `sizes` (V,) labels."""
        entries = sizes[edges].prod(axis=1)
        return cls(np.concatenate([[0], np.cumsum(sizes)]), np.concatenate([[0], np.cumsum(entries, dtype=np.int64)]))


@dataclass(frozen=True)
class Problem:
    """Scores of a batch of graphs; `places` is there where nodes differ in their number of labels."""

    unary: Scores  # (V, L), or all rows one after the other
    interaction: Scores  # (E, L, L), or (1, L, L) where all edges share one table, or all tables one after the other
    edges: NDArray[np.int64]  # (E, 2)
    node_ptr: NDArray[np.int64]  # (G + 1,)
    edge_ptr: NDArray[np.int64]  # (G + 1,)

    factors: Factors = NO_FACTORS
    places: Places | None = None

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all graphs."""
        return int(self.node_ptr[-1])

    @property
    def n_labels(self) -> int:
        """Number of labels of a node, or of the one that has most."""
        return int(self.unary.shape[1]) if self.places is None else int(self.sizes.max(initial=1))

    @property
    def n_entries(self) -> int:
        """Scores of all rows, tables and factors, a shared table counted for every edge."""
        entries = self.interaction.size
        if self.places is None:
            entries = len(self.edges) * self.n_labels**2
        return self.unary.size + entries + self.factors.tables.size

    @property
    def sizes(self) -> NDArray[np.int64]:
        """(V,) numbers of labels."""
        return np.full(self.n_nodes, self.n_labels) if self.places is None else np.diff(self.places.rows)

    def rows(self) -> Rows:
        """The scores of the labels of each node."""
        return split_rows(self.unary, self.places)

    def graph(self, g: int) -> "Problem":
        """Graph `g` alone."""
        (first, end), (begin, stop) = self.node_ptr[g : g + 2].tolist(), self.edge_ptr[g : g + 2].tolist()
        edges = self.edges[begin:stop] - first
        own = [(tuple(i - first for i in nodes), t) for nodes, t in self._factors() if first <= nodes[0] < end]
        factors, node_ptr, edge_ptr = Factors.pack(own), np.array([0, end - first]), np.array([0, stop - begin])
        if self.places is None:
            tables = self.interaction if len(self.interaction) == 1 else self.interaction[begin:stop]
            return Problem(self.unary[first:end], tables, edges, node_ptr, edge_ptr, factors)
        at, to = self.places.rows[first : end + 1], self.places.tables[begin : stop + 1]
        rows, tables = self.unary[at[0] : at[-1]], self.interaction[to[0] : to[-1]]
        return Problem(rows, tables, edges, node_ptr, edge_ptr, factors, Places(at - at[0], to - to[0]))

    def tables(self) -> list[Factor]:
        """Rows, edges, self-loops and factors, in this order, as factors in float64 over distinct nodes."""
        rows: list[Factor] = [((i,), row.astype(np.float64)) for i, row in enumerate(self.rows())]
        ends = list(zip(self.edges.tolist(), self._edge_tables(), strict=True))
        pairs: list[Factor] = [((i, j), t.astype(np.float64)) for (i, j), t in ends if i != j]
        loops: list[Factor] = [((i,), np.diagonal(t).astype(np.float64)) for (i, j), t in ends if i == j]
        return [*rows, *pairs, *loops, *self._factors()]

    def _edge_tables(self) -> Rows:
        if self.places is None:
            return np.broadcast_to(self.interaction, (len(self.edges), *self.interaction.shape[1:]))
        return split_tables(self.interaction, self.edges, self.places)

    def _factors(self) -> Iterator[Factor]:
        return self.factors.unpack(self.sizes.tolist())


def split_rows(values: NDArray[Any], places: Places | None) -> Rows:
    """What flat values say of each node: (V, L) as they are, or a list of rows of different lengths."""
    return values if places is None else np.split(values, places.rows[1:-1])


def split_tables(values: NDArray[Any], edges: NDArray[np.int64], places: Places) -> list[NDArray[Any]]:
    """The tables of all edges, which stand one after the other."""
    flat = np.split(values, places.tables[1:-1]) if len(edges) else []
    return [t.reshape(shape) for t, shape in zip(flat, np.diff(places.rows)[edges].tolist(), strict=True)]
