"""Potentials of a batch of graphs, the score g(x, y) of a labelling, the loss Δ(y, z) and its place in inference.

Factors make potentials, inference maximises them, and losses compare the scores of two labellings. All of it is in
torch and differentiable. The letters are the paper's: y are the true labels, z those that inference finds.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field, replace
from typing import Self

from neuralfactors.extras import needs
from neuralfactors.layouts import Layout, chains, grids

with needs(__name__, "learn"):
    import torch
    from torch import Tensor

    from neuralfactors.distribution import Distribution, ScoreTensors


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
        if self.unary.ndim != 2:
            raise ValueError(f"unary must have shape (V, L), got {tuple(self.unary.shape)}")
        n_labels, n_edges = self.unary.shape[1], len(self.edges)
        if self.edges.ndim != 2 or self.edges.dtype != torch.int64:
            got = f"{self.edges.dtype} of shape {tuple(self.edges.shape)}"
            raise ValueError(f"edges must be int64 of shape (E, 2), or (E, Q) for order Q, got {got}")
        expected = (n_edges,) + (n_labels,) * self.edges.shape[1]
        rows = (*self.interaction.shape[:1], self.interaction.ndim - 1)
        if self.interaction.ndim > 2 and rows != self.edges.shape == rows[::-1]:
            raise ValueError(f"edges must have shape {rows} for this interaction, got {rows[::-1]}: transpose them")
        object.__setattr__(self, "interaction", _distinct(self.interaction, len(expected)))
        if self.interaction.shape not in (expected, (1, *expected[1:])):
            raise ValueError(f"interaction must have shape {expected}, got {tuple(self.interaction.shape)}")
        if self.node_ptr is None:
            object.__setattr__(self, "node_ptr", torch.tensor([0, len(self.unary)]))
        if self.edge_ptr is None:
            object.__setattr__(self, "edge_ptr", torch.tensor([0, n_edges]))
        if not torch.compiler.is_compiling():  # else inference checks them
            _check_pointers(self.node_ptr, "node_ptr", len(self.unary), "unary")
            _check_pointers(self.edge_ptr, "edge_ptr", n_edges, "interaction")
        if len(self.node_ptr) != len(self.edge_ptr):
            lengths = f"{len(self.node_ptr)} and {len(self.edge_ptr)}"
            raise ValueError(f"node_ptr and edge_ptr must be of the same length, got {lengths}")

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
            return graph_numbers(pointers, self.unary.device, n_rows)
        if pointers not in self._known:
            self._known[pointers] = graph_numbers(pointers, self.unary.device, n_rows)
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
        return self.sum_by_graph(_to_summands(nodes), _to_summands(edges))

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
        joint = joint_labels(y, self.edges, self.n_labels)
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
        before, after = joint_labels(y, self.edges, self.n_labels), joint_labels(z, self.edges, self.n_labels)
        changed = before != after if inside is None else (before != after) & inside[self.edges].all(dim=1)
        nodes = _difference(self.unary.gather(1, torch.stack([z, y], dim=1)), z != y)
        edges = _difference(self._entries(torch.stack([after, before], dim=1)), changed)
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


def joint_labels(y: Tensor, edges: Tensor, n_labels: int) -> Tensor:
    """Which of the L^Q entries of its table every interaction takes.

    Parameters
    ----------
    y : Tensor of shape (V,)
        Labels.
    edges : Tensor of shape (E, Q)
        Nodes of every interaction.
    n_labels : int
        L.

    Returns
    -------
    Tensor of shape (E,)
        int64, the label of the last node running fastest.
    """
    joint = torch.zeros(len(edges), dtype=torch.int64, device=edges.device)
    for labels in y.index_select(0, edges.reshape(-1)).view(edges.shape).unbind(1):
        joint = joint * n_labels + labels
    return joint


def node_costs(y: Tensor, class_weight: Tensor | None = None, node_weight: Tensor | None = None) -> Tensor:
    """What a wrong label costs at every node: η(yᵢ), or η(yᵢ, ·), times the node's weight; nothing at void nodes.

    Parameters
    ----------
    y : Tensor of shape (V,)
        True labels, -1 for void.
    class_weight : Tensor of shape (L,) or (L, L), default=None
        η by true label, or by true label (row) and predicted one (column), zero where they are the same; None: 1.
    node_weight : Tensor of shape (V,) or (V, L), default=None
        (V, L): what every label costs at every node. None: 1.

    Returns
    -------
    Tensor of shape (V,) or (V, L)
        The costs of a wrong label or, where these differ, of every label; on the device of `y`.
    """
    labelled = y >= 0
    costs = labelled.to(torch.get_default_dtype() if node_weight is None else node_weight.dtype)
    weights = [] if class_weight is None else [class_weight.to(y.device)[y.clamp_min(0)]]
    weights += [] if node_weight is None else [node_weight]
    wide = any(weight.ndim == 2 for weight in weights)
    costs = costs[:, None] if wide else costs
    for weight in weights:
        costs = costs * (weight[:, None] if wide and weight.ndim == 1 else weight)
    return costs


def hamming(y: Tensor, z: Tensor, costs: Tensor, graph: Tensor | None = None, n_graphs: int = 1) -> Tensor:
    """Loss Δ(y, z) of every graph: the sum of the costs of the nodes that differ; Eq. (5).

    Parameters
    ----------
    y, z : Tensor of shape (V,)
        True and predicted labels.
    costs : Tensor of shape (V,) or (V, L)
        See `node_costs`.
    graph : Tensor of shape (V,), default=None
        The graph of every node; None: all belong to one.
    n_graphs : int, default=1
        G, where `graph` is given.

    Returns
    -------
    Tensor of shape (G,)
        The losses.
    """
    wrong = costs * (z != y) if costs.ndim == 1 else costs.gather(1, z[:, None])[:, 0]
    if graph is None:
        return wrong.sum()[None]
    return wrong.new_zeros(n_graphs).index_add(0, graph, wrong)


def loss_augment(potentials: Potentials, y: Tensor, costs: Tensor) -> Potentials:
    """The potentials with Δ(y, ·) added to the unary ones, whose argmax is the loss-augmented prediction; Eq. (8).

    Parameters
    ----------
    potentials : Potentials
        Of a batch.
    y : Tensor of shape (V,)
        True labels; what void nodes have here does not matter, as they cost nothing.
    costs : Tensor of shape (V,) or (V, L)
        See `node_costs`.

    Returns
    -------
    Potentials
        Every wrong label of a node scores its cost more than before.
    """
    scores = _to_summands(potentials.unary)
    costs = costs.to(scores.dtype)
    if costs.ndim == 2:
        return potentials.with_unary(scores + costs)
    costs = costs[:, None]
    return potentials.with_unary((scores + costs).scatter_add(1, y.clamp_min(0)[:, None], -costs))


def graph_numbers(pointers: Tensor, device: torch.device | None = None, n_rows: int | None = None) -> Tensor:
    """The graph of every one of the `n_rows` rows that `pointers` (G + 1,) divide among G graphs."""
    sizes = pointers.diff()
    return torch.repeat_interleave(torch.arange(len(sizes)), sizes, output_size=n_rows).to(device)


def _distinct(tables: Tensor, ndim: int) -> Tensor:
    """The tables that differ: one (1, L, ..., L) where all edges share it."""
    if tables.ndim == ndim - 1:
        return tables[None]
    return tables[:1] if tables.ndim == ndim and len(tables) > 1 and tables.stride(0) == 0 else tables


def _difference(pairs: Tensor, differ: Tensor) -> Tensor:
    """The first less the second of `pairs` (N, 2); zero where nothing differs, also where both are −inf."""
    plus, minus = _to_summands(pairs).unbind(1)
    return torch.where(differ, plus - minus, 0.0)


def _to_summands(values: Tensor) -> Tensor:
    # Half precision is enough to choose labels but not to add up their scores.
    return values.float() if values.dtype in (torch.float16, torch.bfloat16) else values


def _check_pointers(pointers: Tensor, name: str, end: int, counted: str) -> None:
    good = pointers.ndim == 1 and len(pointers) >= 1 and pointers.dtype == torch.int64
    if not good or int(pointers[0]) != 0 or int(pointers[-1]) != end or bool((pointers.diff() < 0).any()):
        raise ValueError(f"{name} must be int64, start at 0, not decrease and end at the {end} rows of {counted}")
