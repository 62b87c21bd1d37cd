"""Tables of edges whose nodes have numbers of labels of their own, one after the other in one flat tensor."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class RaggedTables:
    """Where the tables of E edges are in a flat tensor; that of an edge (u, v) has sizes[u] rows and sizes[v] columns.

    Examples
    --------
    >>> tables = RaggedTables.of(torch.tensor([2, 3]), torch.tensor([[0, 1], [1, 0]]))
    >>> tables.first.tolist(), tables.n_entries
    ([0, 6], 12)
    >>> tables.joint_labels(torch.tensor([1, 2])).tolist()
    [5, 11]
    """

    edges: Tensor  # (E, 2)
    columns: Tensor  # (E,) labels of the second node
    entries: Tensor  # (E,) entries of a table
    first: Tensor  # (E,) where it begins

    @classmethod
    def of(cls, sizes: Tensor, edges: Tensor) -> RaggedTables:
        """The places for nodes with `sizes` (V,) labels."""
        rows, columns = sizes.to(edges.device)[edges].unbind(1)
        entries = rows * columns
        return cls(edges, columns, entries, entries.cumsum(0) - entries)

    @property
    def n_entries(self) -> int:
        """Of all tables."""
        return int(self.entries.sum())

    def joint_labels(self, y: Tensor) -> Tensor:
        """The entry (E,) of the flat tensor that every edge takes."""
        tail, head = y[self.edges].unbind(1)
        return self.first + tail * self.columns + head

    def repeat(self, values: Tensor) -> Tensor:
        """A value (E,) of every edge for each entry of its table."""
        return torch.repeat_interleave(values, self.entries)

    def pad(self, flat: Tensor, n_labels: int) -> Tensor:
        """The tables as an array (E, L, L), with zeros for labels that a node does not have."""
        edge = self.repeat(torch.arange(len(self.edges), device=self.edges.device))
        within, columns = torch.arange(len(flat), device=flat.device) - self.first[edge], self.columns[edge]
        place = (edge * n_labels + within // columns) * n_labels + within % columns
        shape = len(self.edges), n_labels, n_labels
        return flat.new_zeros(shape).flatten().index_copy(0, place, flat).view(shape)


def absent_labels(sizes: Tensor, n_labels: int) -> Tensor:
    """Which of L labels nodes with `sizes` (V,) labels do not have, (V, L)."""
    return torch.arange(n_labels, device=sizes.device) >= sizes[:, None]
