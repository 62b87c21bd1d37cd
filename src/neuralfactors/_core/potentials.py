"""Potentials of a batch of graphs, and the score g(x, y) of a labelling.

Factors make potentials, inference maximises them, and losses compare the scores of two labellings, all in torch and
differentiable. The letters are the paper's: y are the true labels, z those that inference finds.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Self

import torch
from torch import Tensor

from neuralfactors._core import score_tensors
from neuralfactors._core.distribution import Distribution, ScoreTensors
from neuralfactors._core.equal_tables import EqualTables
from neuralfactors._core.layouts import LaidOut, Layout
from neuralfactors._core.ragged_tables import RaggedTables, absent_labels


@dataclass(frozen=True, eq=False)
class Potentials(LaidOut, Distribution):
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
    sizes : Tensor of shape (V,), default=None
        int64, how many labels each node has, where nodes differ in that; entries of `unary` beyond them do not count,
        and `interaction` is one vector: the tables (sizes[u], sizes[v]) of all edges, one after the other. `ragged`
        makes such potentials of lists. None: L for every node.

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
    sizes: Tensor | None = None  # (V,) int64; `interaction` is then flat

    _tables: EqualTables | RaggedTables = field(init=False, repr=False)
    _known: dict[Tensor, Tensor] = field(default_factory=dict, init=False, repr=False)  # pointers -> graph of each row

    def __post_init__(self) -> None:
        given = self.unary, self.interaction, self.edges
        tables = EqualTables.checked(*given) if self.sizes is None else RaggedTables.checked(*given, self.sizes)
        pointers = score_tensors.checked_pointers(self.node_ptr, self.edge_ptr, len(self.unary), len(self.edges))
        for name, value in zip(("_tables", "interaction", "node_ptr", "edge_ptr"), (*tables, *pointers), strict=True):
            object.__setattr__(self, name, value)

    @classmethod
    def ragged(
        cls,
        unary: Sequence[Tensor],
        interaction: Sequence[Tensor],
        edges: Tensor,
        node_ptr: Tensor | None = None,
        edge_ptr: Tensor | None = None,
    ) -> Self:
        """Potentials of nodes that have numbers of labels of their own.

        Parameters
        ----------
        unary : sequence of Tensor
            For every node the scores of its labels.
        interaction : sequence of Tensor
            For every edge (u, v) a table with as many rows as u has labels and as many columns as v has.
        edges : Tensor of shape (E, 2)
            int64, node numbers within the batch.
        node_ptr, edge_ptr : Tensor of shape (G + 1,), default=None
            As in the constructor.

        Returns
        -------
        Potentials
            With `sizes`.

        Examples
        --------
        >>> rows, table = [torch.tensor([0.0, 1.0]), torch.tensor([0.0, 0.0, 2.0])], torch.eye(2, 3)
        >>> potentials = Potentials.ragged(rows, [table], torch.tensor([[0, 1]]))
        >>> potentials.argmax().tolist(), potentials.score(torch.tensor([1, 1])).tolist()
        ([1, 2], [2.0])
        """
        sizes = score_tensors.check_lists(unary, interaction, edges)
        rows = torch.nn.utils.rnn.pad_sequence(list(unary), batch_first=True, padding_value=-torch.inf)
        flat = [table.flatten() for table in interaction] or [rows.new_zeros(0)]
        return cls(rows, torch.cat(flat), edges, node_ptr, edge_ptr, sizes=torch.tensor(sizes))  # type: ignore[arg-type]

    @property
    def n_nodes(self) -> int:
        """Number of nodes, V."""
        return len(self.unary)

    @property
    def n_labels(self) -> int:
        """Number of labels, L, of a node or of that which has most."""
        return self.unary.shape[1]

    @property
    def n_graphs(self) -> int:
        """Number of graphs, G."""
        return len(self.node_ptr) - 1

    @property
    def tables(self) -> Tensor:
        """The table of every interaction, (E, L, ..., L), without a copy of one that all share.

        Where nodes have numbers of labels of their own, with zeros for labels that a node does not have.
        """
        return self._tables.padded(self.interaction)

    @property
    def shared(self) -> bool:
        """Whether one table stands for all edges."""
        return self.sizes is None and len(self.interaction) == 1

    @property
    def node_graph(self) -> Tensor:
        """The graph of every node, (V,)."""
        return self._graph_numbers(self.node_ptr, len(self.unary))

    @property
    def edge_graph(self) -> Tensor:
        """The graph of every interaction, (E,)."""
        return self._graph_numbers(self.edge_ptr, len(self.edges))

    def _graph_numbers(self, pointers: Tensor, n_rows: int) -> Tensor:
        known = {} if torch.compiler.is_compiling() else self._known  # torch sees for itself what is computed twice
        if pointers not in known:
            known[pointers] = score_tensors.graph_numbers(pointers, self.unary.device, n_rows)
        return known[pointers]

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
            Labels, none of them void; or of the shape of `unflatten`, whatever they are in the padding.

        Returns
        -------
        Tensor of shape (G,)
            Half precision is added up in float32.
        """
        y = self.flatten(y)
        if not torch.compiler.is_compiling():
            score_tensors.check_labels(y, self.n_labels, self.sizes)
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
        joint = self.joint_labels(y)[:, None]
        return self.unary.gather(1, y[:, None])[:, 0], self._tables.take(self.interaction, joint)[:, 0]

    def joint_labels(self, y: Tensor) -> Tensor:
        """Which entry of its table every interaction takes.

        Parameters
        ----------
        y : Tensor of shape (V,)
            Labels, none of them void.

        Returns
        -------
        Tensor of shape (E,)
            int64, the label of the last node running fastest; with `sizes`, the entry of all tables in their row.
        """
        return self._tables.joint_labels(y)

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
        before, after = self.joint_labels(y), self.joint_labels(z)
        changed = before != after if inside is None else (before != after) & inside[self.edges].all(dim=1)
        nodes = score_tensors.difference(self.unary.gather(1, torch.stack([z, y], dim=1)), z != y)
        taken = self._tables.take(self.interaction, torch.stack([after, before], dim=1))
        edges = score_tensors.difference(taken, changed)
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
        return ScoreTensors(self.unary, self.interaction, self.edges, self.node_ptr, self.edge_ptr, self.sizes)

    def padded(self) -> Potentials:
        """The same without `sizes`: labels that a node does not have are forbidden.

        Returns
        -------
        Potentials
            These themselves if all nodes have as many labels.
        """
        if self.sizes is None:
            return self
        absent = absent_labels(self.sizes.to(self.unary.device), self.n_labels)
        rest = self.tables, self.edges, self.node_ptr, self.edge_ptr
        return Potentials(self.unary.masked_fill(absent, -torch.inf), *rest)

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
        moved = ("unary", "interaction", "edges")
        return replace(self, **{name: getattr(self, name).to(device, non_blocking=non_blocking) for name in moved})

    def graph(self, g: int) -> Potentials:
        """Those of graph `g` alone.

        Parameters
        ----------
        g : int
            From 0 to G - 1.

        Returns
        -------
        Potentials
            Copies, with nodes numbered from 0.
        """
        if not 0 <= g < self.n_graphs:
            raise ValueError(f"g must be from 0 to {self.n_graphs - 1}, got {g}")
        (first, end), (begin, stop) = self.node_ptr[g : g + 2].tolist(), self.edge_ptr[g : g + 2].tolist()
        unary, edges = self.unary[first:end].clone(), self.edges[begin:stop] - first
        sizes = None if self.sizes is None else self.sizes[first:end]
        return Potentials(unary, self._tables.between(self.interaction, begin, stop), edges, sizes=sizes)

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
            edge_ptr = torch.nn.functional.pad(inside.cpu().cumsum(0), (1, 0))[self.edge_ptr]
            return replace(self, unary=unary, edges=self.edges[inside], edge_ptr=edge_ptr)
        return replace(self, unary=unary, interaction=self._tables.masked(self.interaction, inside))
