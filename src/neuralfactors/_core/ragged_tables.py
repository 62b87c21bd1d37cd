"""Tables of edges whose nodes have numbers of labels of their own, one after the other in one flat tensor."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from neuralfactors._core.score_tensors import check_entries, check_sizes


@dataclass(frozen=True, eq=False)
class RaggedTables:
    """How to read the tables of E edges in a flat tensor; that of (u, v) has sizes[u] rows and sizes[v] columns.

    The methods are those of `EqualTables`.

    Examples
    --------
    >>> tables = RaggedTables.of(torch.tensor([2, 3]), torch.tensor([[0, 1], [1, 0]]), 3)
    >>> tables.first.tolist(), tables.n_entries
    ([0, 6], 12)
    >>> tables.joint_labels(torch.tensor([1, 2])).tolist()
    [5, 11]
    """

    edges: Tensor  # (E, 2)
    n_labels: int  # of the node that has most
    columns: Tensor  # (E,) labels of the second node
    entries: Tensor  # (E,) entries of a table
    first: Tensor  # (E,) where it begins

    @classmethod
    def of(cls, sizes: Tensor, edges: Tensor, n_labels: int) -> RaggedTables:
        """The places for nodes with `sizes` (V,) labels."""
        rows, columns = sizes.to(edges.device)[edges].unbind(1)
        entries = rows * columns
        return cls(edges, n_labels, columns, entries, entries.cumsum(0) - entries)

    @classmethod
    def checked(cls, unary: Tensor, interaction: Tensor, edges: Tensor, sizes: Tensor) -> tuple[RaggedTables, Tensor]:
        """For the tables `interaction`, refused unless they fit the rest; and these."""
        check_sizes(unary, sizes, edges)
        tables = cls.of(sizes, edges, unary.shape[1])
        check_entries(interaction, tables.n_entries)
        return tables, interaction

    @property
    def n_entries(self) -> int:
        """Of all tables."""
        return int(self.entries.sum())

    def joint_labels(self, y: Tensor) -> Tensor:
        """The entry (E,) of the flat tensor that every edge takes."""
        tail, head = y[self.edges].unbind(1)
        return self.first + tail * self.columns + head

    def take(self, flat: Tensor, joint: Tensor) -> Tensor:
        """The entries `joint` (E, N) of the flat tensor."""
        return flat.index_select(0, joint.reshape(-1)).view(joint.shape)

    def padded(self, flat: Tensor) -> Tensor:
        """The tables as an array (E, L, L), with zeros for labels that a node does not have."""
        edge = self._repeat(torch.arange(len(self.edges), device=self.edges.device))
        within, columns = torch.arange(len(flat), device=flat.device) - self.first[edge], self.columns[edge]
        place = (edge * self.n_labels + within // columns) * self.n_labels + within % columns
        shape = len(self.edges), self.n_labels, self.n_labels
        return flat.new_zeros(shape).flatten().index_copy(0, place, flat).view(shape)

    def between(self, flat: Tensor, begin: int, stop: int) -> Tensor:
        """A copy of the tables of some edges."""
        ends = [*self.first.tolist(), self.n_entries]
        return flat[ends[begin] : ends[stop]].clone()

    def masked(self, flat: Tensor, inside: Tensor) -> Tensor:
        """The tables with zeros for edges that are not `inside` (E,)."""
        return flat.masked_fill(self._repeat(~inside), 0.0)

    def _repeat(self, values: Tensor) -> Tensor:
        """A value (E,) of every edge for each entry of its table."""
        return torch.repeat_interleave(values, self.entries)


def absent_labels(sizes: Tensor, n_labels: int) -> Tensor:
    """Which of L labels nodes with `sizes` (V,) labels do not have, (V, L)."""
    return torch.arange(n_labels, device=sizes.device) >= sizes[:, None]
