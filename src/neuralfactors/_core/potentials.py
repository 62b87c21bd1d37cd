"""Potentials of a batch of graphs, and the score g(x, y) of a labelling.

Factors make potentials, inference maximises them, and losses compare the scores of two labellings, all in torch and
differentiable. The letters are the paper's: y are the true labels, z those that inference finds.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field, replace
from typing import Self

import torch
from torch import Tensor

from neuralfactors._core import score_tensors
from neuralfactors._core.distribution import Distribution, ScoreTensors
from neuralfactors._core.layouts import Layout, chains, grids


@dataclass(frozen=True, eq=False)
class Potentials(Distribution):
    """Scores over V nodes, E interactions and L labels of a batch of G graphs; higher is better.

    Parameters
    ----------
    unary : Tensor of shape (V, L)
        Score of every label of every node; -inf forbids a label.
    interaction : Tensor of shape (E, L, L)
        Score of every pair of labels of every edge; (E, L, ..., L) with Q label axes where Q nodes meet. Axis q + 1 is
        the label of `edges[:, q]`. One table that all edges share is given as (1, L, L), (L, L) or an expanded view, is
        kept as (1, L, L) and gets one gradient.
    edges : Tensor of shape (E, Q)
        int64, node numbers within the batch.
    node_ptr : Tensor of shape (G + 1,), default=None
        int64, on the CPU: graph g owns the nodes node_ptr[g] to node_ptr[g + 1] - 1. None: it is all one graph.
    edge_ptr : Tensor of shape (G + 1,), default=None
        The same for interactions.
    layout : Layout, default=None
        Where nodes lie in the array (B, T) or (B, H, W) that they were made from; `chain` and `grid` set it.

    Raises
    ------
    ValueError
        If shapes or types do not match.

    Examples
    --------
    >>> unary, interaction = torch.tensor([[1.0, 0.0], [0.0, 2.0]]), torch.zeros(1, 2, 2)
    >>> Potentials(unary, interaction, torch.tensor([[0, 1]])).score(torch.tensor([0, 1])).tolist()
    [3.0]
    """

    unary: Tensor  # (V, L)
    interaction: Tensor  # (E, L, L), or (E, L, ..., L) with Q label axes; or (1, L, ..., L), shared by all edges
    edges: Tensor  # (E, Q) int64, node numbers within the batch
    node_ptr: Tensor = None  # type: ignore[assignment]  # (G + 1,) int64, on the CPU; never None once constructed
    edge_ptr: Tensor = None  # type: ignore[assignment]  # (G + 1,) int64, on the CPU; never None once constructed
    layout: Layout | None = None  # where nodes lie in the array (B, T) or (B, H, W) that they were made from

    _known: dict[Tensor, Tensor] = field(default_factory=dict, init=False, repr=False)  # pointers -> graph of each row

    def __post_init__(self) -> None:
        tables = score_tensors.distinct_tables(self.interaction, self.edges.ndim and self.edges.shape[-1] + 1)
        score_tensors.check_shapes(self.unary, self.interaction, tables, self.edges)
        object.__setattr__(self, "interaction", tables)
        for name, rows in (("node_ptr", self.unary), ("edge_ptr", self.edges)):
            if getattr(self, name) is None:
                object.__setattr__(self, name, torch.tensor([0, len(rows)]))
        if not torch.compiler.is_compiling():  # else inference checks them
            score_tensors.check_pointers(self.node_ptr, "node_ptr", len(self.unary), "unary")
            score_tensors.check_pointers(self.edge_ptr, "edge_ptr", len(self.edges), "interaction")
        score_tensors.check_same_length(node_ptr=self.node_ptr, edge_ptr=self.edge_ptr)

    @classmethod
    def chain(
        cls,
        emissions: Tensor,
        transitions: Tensor,
        mask: Tensor | None = None,
        start: Tensor | None = None,
        end: Tensor | None = None,
    ) -> Potentials:
        """Potentials of B sequences of at most T steps, as a linear-chain CRF has them.

        Parameters
        ----------
        emissions : Tensor of shape (B, T, L)
            Scores of the labels of every step.
        transitions : Tensor of shape (L, L), or (B, T − 1, L, L) for tables of their own
            Scores of a label (first axis) and the one after it.
        mask : Tensor of shape (B, T), default=None
            True for the steps of a sequence, false for the padding after them; None: no padding.
        start, end : Tensor of shape (L,), default=None
            Scores of the label of the first and of the last step.

        Returns
        -------
        Potentials
            A graph each sequence; its nodes are the steps that `mask` keeps.

        Examples
        --------
        >>> emissions, mask = torch.zeros(2, 3, 2), torch.tensor([[True, True, True], [True, False, False]])
        >>> chain = Potentials.chain(emissions, torch.eye(2), mask, start=torch.tensor([0.0, 1.0]))
        >>> chain.edges.tolist(), chain.node_ptr.tolist()
        ([[0, 1], [1, 2]], [0, 3, 4])
        >>> chain.unflatten(torch.tensor([1, 1, 1, 0])).tolist()
        [[1, 1, 1], [0, -1, -1]]
        """
        return cls(*chains(emissions, transitions, mask, start, end))

    @classmethod
    def grid(
        cls,
        unary: Tensor,
        horizontal: Tensor,
        vertical: Tensor | None = None,
        *,
        diagonal: Tensor | None = None,
        antidiagonal: Tensor | None = None,
    ) -> Potentials:
        """Potentials of a picture, or of B pictures, with 4 neighbours a pixel; with a `diagonal`, 8.

        Parameters
        ----------
        unary : Tensor of shape (B, H, W, L) or (H, W, L)
            Scores of the labels of every pixel.
        horizontal : Tensor of shape (L, L), or (B, H, W − 1, L, L) for tables of their own
            Scores of the labels of a pixel (first axis) and its right neighbour. Pictures without B have no such axis
            here either.
        vertical : Tensor of shape (L, L) or (B, H − 1, W, L, L), default=None
            The same with the neighbour below; None: as `horizontal`.
        diagonal, antidiagonal : Tensor of shape (L, L) or (B, H − 1, W − 1, L, L), default=None
            The same with the neighbour below to the right, and to the left, whose pixel is that above to the right.
            `antidiagonal=None`: as `diagonal`.

        Returns
        -------
        Potentials
            A graph each picture; its nodes are the pixels, row by row.

        Examples
        --------
        >>> grid = Potentials.grid(torch.zeros(2, 3, 4), torch.eye(4))
        >>> grid.edges.tolist()
        [[0, 1], [1, 2], [3, 4], [4, 5], [0, 3], [1, 4], [2, 5]]
        >>> len(Potentials.grid(torch.zeros(5, 2, 3, 4), torch.eye(4), diagonal=0.7 * torch.eye(4)).edges)
        55
        """
        return cls(*grids(unary, horizontal, vertical, diagonal, antidiagonal))

    def unflatten(self, labels: Tensor) -> Tensor:
        """Labels in the shape that `chain` or `grid` was given.

        Parameters
        ----------
        labels : Tensor of shape (V,)
            Of all nodes.

        Returns
        -------
        Tensor of shape (B, T), (B, H, W) or (H, W)
            With -1 in the padding. Potentials that were not made by `chain` or `grid` return `labels` as they are.
        """
        return labels if self.layout is None else self.layout.unflatten(labels)

    @property
    def n_labels(self) -> int:
        """Number of labels, L."""
        return self.unary.shape[1]

    @property
    def n_graphs(self) -> int:
        """Number of graphs, G."""
        return len(self.node_ptr) - 1

    @property
    def tables(self) -> Tensor:
        """The table of every interaction, (E, L, ..., L), without a copy of one that all share."""
        return self.interaction.expand(len(self.edges), *self.interaction.shape[1:])

    @property
    def shared(self) -> bool:
        """Whether one table stands for all edges."""
        return len(self.interaction) == 1

    @property
    def node_graph(self) -> Tensor:
        """The graph of every node, (V,)."""
        return self._graph_numbers(self.node_ptr, len(self.unary))

    @property
    def edge_graph(self) -> Tensor:
        """The graph of every interaction, (E,)."""
        return self._graph_numbers(self.edge_ptr, len(self.edges))

    def _graph_numbers(self, pointers: Tensor, n_rows: int) -> Tensor:
        if torch.compiler.is_compiling():  # torch.compile sees for itself what is computed twice
            return score_tensors.graph_numbers(pointers, self.unary.device, n_rows)
        if pointers not in self._known:
            self._known[pointers] = score_tensors.graph_numbers(pointers, self.unary.device, n_rows)
        return self._known[pointers]

    def with_unary(self, unary: Tensor) -> Potentials:
        """The same with other scores of the labels; nothing is checked again.

        Parameters
        ----------
        unary : Tensor of shape (V, L)
            The other scores.

        Returns
        -------
        Potentials
            A copy, which shares all else.
        """
        changed = copy(self)
        object.__setattr__(changed, "unary", unary)
        return changed

    def score(self, y: Tensor) -> Tensor:
        """Compatibility g(x, y) of every graph: the sum of the factor values that a labelling selects.

        Parameters
        ----------
        y : Tensor of shape (V,)
            Labels, none of them void.

        Returns
        -------
        Tensor of shape (G,)
            Half precision is added up in float32.
        """
        nodes, edges = self.selected(y)
        return self.sum_by_graph(score_tensors.to_summands(nodes), score_tensors.to_summands(edges))

    def selected(self, y: Tensor) -> tuple[Tensor, Tensor]:
        """The factor values that a labelling selects.

        Parameters
        ----------
        y : Tensor of shape (V,)
            Labels, none of them void.

        Returns
        -------
        nodes : Tensor of shape (V,)
            Unary scores.
        edges : Tensor of shape (E,)
            Interaction scores.
        """
        joint = score_tensors.joint_labels(y, self.edges, self.n_labels)
        return self.unary.gather(1, y[:, None])[:, 0], self._entries(joint[:, None])[:, 0]

    def _entries(self, joint: Tensor) -> Tensor:
        """The entries `joint` (E, N) of the tables, in one step: each would cost a gradient of the size of all."""
        if self.shared:  # by `index_select`, whose gradient is that of one table
            return self.interaction.flatten().index_select(0, joint.reshape(-1)).view(joint.shape)
        return self.interaction.flatten(1).gather(1, joint)

    def contrast(self, z: Tensor, y: Tensor, inside: Tensor | None = None) -> Tensor:
        """Difference g(x, z) − g(x, y) of every graph, summed over the rows that differ, so that nothing large cancels.

        Parameters
        ----------
        z : Tensor of shape (V,)
            The labelling whose score counts.
        y : Tensor of shape (V,)
            The labelling whose score is subtracted.
        inside : bool Tensor of shape (V,), default=None
            Edges count that have all their ends inside; None: all.

        Returns
        -------
        Tensor of shape (G,)
            Differentiable; rows at which `z` and `y` agree take no part in the gradient.
        """
        before, after = (score_tensors.joint_labels(labels, self.edges, self.n_labels) for labels in (y, z))
        changed = before != after if inside is None else (before != after) & inside[self.edges].all(dim=1)
        nodes = score_tensors.difference(self.unary.gather(1, torch.stack([z, y], dim=1)), z != y)
        edges = score_tensors.difference(self._entries(torch.stack([after, before], dim=1)), changed)
        return self.sum_by_graph(nodes, edges)

    def sum_by_graph(self, nodes: Tensor, edges: Tensor) -> Tensor:
        """Sums of values of nodes and interactions over every graph.

        Parameters
        ----------
        nodes : Tensor of shape (V,)
            Values of the nodes.
        edges : Tensor of shape (E,)
            Values of the interactions.

        Returns
        -------
        Tensor of shape (G,)
            The sums.
        """
        dtype = torch.promote_types(nodes.dtype, edges.dtype)
        total = nodes.new_zeros(self.n_graphs, dtype=dtype).index_add(0, self.node_graph, nodes.to(dtype))
        return total.index_add(0, self.edge_graph, edges.to(dtype))

    @property
    def tensors(self) -> ScoreTensors:
        """The scores, edges and pointers."""
        return ScoreTensors(self.unary, self.interaction, self.edges, self.node_ptr, self.edge_ptr)

    def to(self, device: torch.device | str, *, non_blocking: bool = False) -> Self:
        """The same on another device.

        Parameters
        ----------
        device : torch.device or str
            Where scores and edges go.
        non_blocking : bool, default=False
            Whether to copy in the background, which needs page-locked memory.

        Returns
        -------
        Potentials
            The pointers stay on the CPU.
        """
        unary, tables, edges = (t.to(device, non_blocking=non_blocking) for t in self.tensors[:3])
        return replace(self, unary=unary, interaction=tables, edges=edges)

    def masked(self, labelled: Tensor) -> Potentials:
        """The potentials with zeros at some nodes and at the edges that touch them.

        Parameters
        ----------
        labelled : bool Tensor of shape (V,)
            The nodes that keep their scores.

        Returns
        -------
        Potentials
            What is masked does not prefer any label. Edges that share one table are left out instead.
        """
        inside = labelled[self.edges].all(dim=1)
        unary = self.unary.masked_fill(~labelled[:, None], 0.0)
        if self.shared:  # edges of zeros are left out, for they would need a table of their own
            counts = torch.zeros_like(self.edge_ptr[1:]).index_add(0, self.edge_graph.cpu(), inside.cpu().long())
            edge_ptr = torch.cat([self.edge_ptr[:1], counts.cumsum(0)])
            return replace(self, unary=unary, edges=self.edges[inside], edge_ptr=edge_ptr)
        rows = inside.view((-1,) + (1,) * self.edges.shape[1])
        return replace(self, unary=unary, interaction=self.interaction.masked_fill(~rows, 0.0))
