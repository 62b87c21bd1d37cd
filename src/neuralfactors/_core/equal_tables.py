"""Tables of interactions whose nodes all have L labels: one for each, or one for all."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from neuralfactors._core.score_tensors import check_shapes, distinct_tables, joint_labels


@dataclass(frozen=True, eq=False)
class EqualTables:
    """How to read tables (E, L, ..., L) of E interactions, or (1, L, ..., L) where they share one.

    Examples
    --------
    >>> import torch
    >>> tables = EqualTables(torch.tensor([[0, 1], [1, 0]]), 3)
    >>> tables.joint_labels(torch.tensor([1, 2])).tolist()
    [5, 7]
    """

    edges: Tensor  # (E, Q)
    n_labels: int

    @classmethod
    def checked(cls, unary: Tensor, interaction: Tensor, edges: Tensor) -> tuple[EqualTables, Tensor]:
        """For the tables `interaction`, refused unless they fit the rest; and these, one alone where all share it."""
        tables = distinct_tables(interaction, edges)
        check_shapes(unary, interaction, tables, edges)
        return cls(edges, unary.shape[1]), tables

    def joint_labels(self, y: Tensor) -> Tensor:
        """Which entry (E,) of its table every interaction takes."""
        return joint_labels(y, self.edges, self.n_labels)

    def take(self, values: Tensor, joint: Tensor) -> Tensor:
        """The entries `joint` (E, N) of the tables, in one step: each would cost a gradient of the size of all."""
        if len(values) == 1:  # by `index_select`, whose gradient is that of the one table
            return values.flatten().index_select(0, joint.reshape(-1)).view(joint.shape)
        return values.flatten(1).gather(1, joint)

    def padded(self, values: Tensor) -> Tensor:
        """The table of every interaction, without a copy of one that all share."""
        return values.expand(len(self.edges), *values.shape[1:])

    def between(self, values: Tensor, begin: int, stop: int) -> Tensor:
        """A copy of the tables of some interactions."""
        return self.padded(values)[begin:stop].clone()

    def masked(self, values: Tensor, inside: Tensor) -> Tensor:
        """The tables with zeros for interactions that are not `inside` (E,); not for one that all share."""
        return values.masked_fill(~inside.view((-1,) + (1,) * self.edges.shape[1]), 0.0)
