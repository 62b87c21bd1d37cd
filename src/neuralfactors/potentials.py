"""Potentials of a batch of graphs, the score g(x, y) of a labelling, the loss Δ(y, z) and its place in inference.

Factors make potentials, inference maximises them, and losses compare the scores of two labellings. All of it is in
torch and differentiable. The letters are the paper's: y are the true labels, z those that inference finds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from neuralfactors.extras import needs

with needs(__name__, "learn"):
    import torch
    from torch import Tensor


@dataclass(frozen=True, eq=False)
class Potentials:
    """Scores over V nodes, E interactions and L labels of a batch of G graphs; higher is better.

    Parameters
    ----------
    unary : Tensor of shape (V, L)
        Score of every label of every node; -inf forbids a label.
    interaction : Tensor of shape (E, L, L)
        Score of every pair of labels of every edge; (E, L, ..., L) with Q label axes where Q nodes meet. Axis q + 1 is
        the label of `edges[:, q]`.
    edges : Tensor of shape (E, Q)
        int64, node numbers within the batch.
    node_ptr : Tensor of shape (G + 1,), default=None
        int64, on the CPU: graph g owns the nodes node_ptr[g] to node_ptr[g + 1] - 1. None: it is all one graph.
    edge_ptr : Tensor of shape (G + 1,), default=None
        The same for interactions.

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
    interaction: Tensor  # (E, L, L), or (E, L, ..., L) with Q label axes
    edges: Tensor  # (E, Q) int64, node numbers within the batch
    node_ptr: Tensor = None  # type: ignore[assignment]  # (G + 1,) int64, on the CPU; never None once constructed
    edge_ptr: Tensor = None  # type: ignore[assignment]  # (G + 1,) int64, on the CPU; never None once constructed

    def __post_init__(self) -> None:
        if self.unary.ndim != 2:
            raise ValueError(f"unary must have shape (V, L), got {tuple(self.unary.shape)}")
        n_labels, n_edges = self.unary.shape[1], len(self.edges)
        if self.edges.ndim != 2 or self.edges.dtype != torch.int64:
            got = f"{self.edges.dtype} of shape {tuple(self.edges.shape)}"
            raise ValueError(f"edges must be int64 of shape (E, 2), or (E, Q) for order Q, got {got}")
        expected = (n_edges,) + (n_labels,) * self.edges.shape[1]
        rows = (*self.interaction.shape[:1], self.interaction.ndim - 1)
        if rows != self.edges.shape == rows[::-1]:
            raise ValueError(f"edges must have shape {rows} for this interaction, got {rows[::-1]}: transpose them")
        if self.interaction.shape != expected:
            raise ValueError(f"interaction must have shape {expected}, got {tuple(self.interaction.shape)}")
        if self.node_ptr is None:
            object.__setattr__(self, "node_ptr", torch.tensor([0, len(self.unary)]))
        if self.edge_ptr is None:
            object.__setattr__(self, "edge_ptr", torch.tensor([0, n_edges]))
        _check_pointers(self.node_ptr, "node_ptr", len(self.unary), "unary")
        _check_pointers(self.edge_ptr, "edge_ptr", n_edges, "interaction")
        if len(self.node_ptr) != len(self.edge_ptr):
            lengths = f"{len(self.node_ptr)} and {len(self.edge_ptr)}"
            raise ValueError(f"node_ptr and edge_ptr must be of the same length, got {lengths}")

    @property
    def n_labels(self) -> int:
        """Number of labels, L."""
        return self.unary.shape[1]

    @property
    def n_graphs(self) -> int:
        """Number of graphs, G."""
        return len(self.node_ptr) - 1

    @cached_property
    def node_graph(self) -> Tensor:
        """The graph of every node, (V,)."""
        return graph_numbers(self.node_ptr, self.unary.device)

    @cached_property
    def edge_graph(self) -> Tensor:
        """The graph of every interaction, (E,)."""
        return graph_numbers(self.edge_ptr, self.unary.device)

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
        return self._sum(_to_summands(nodes), _to_summands(edges))

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
        return self.unary.gather(1, y[:, None])[:, 0], self.interaction.flatten(1).gather(1, joint[:, None])[:, 0]

    def contrast(self, z: Tensor, y: Tensor) -> Tensor:
        """Difference g(x, z) − g(x, y) of every graph, summed over the rows that differ, so that nothing large cancels.

        Parameters
        ----------
        z : Tensor of shape (V,)
            The labelling whose score counts.
        y : Tensor of shape (V,)
            The labelling whose score is subtracted.

        Returns
        -------
        Tensor of shape (G,)
            Differentiable; rows at which `z` and `y` agree take no part in the gradient.
        """
        rows = torch.nonzero(z != y)[:, 0]
        nodes = _pick(self.unary, rows, z, y)
        before, after = joint_labels(y, self.edges, self.n_labels), joint_labels(z, self.edges, self.n_labels)
        changed = torch.nonzero(before != after)[:, 0]
        edges = _pick(self.interaction.flatten(1), changed, after, before)
        return self._sum(nodes, edges, rows, changed)

    def _sum(self, nodes: Tensor, edges: Tensor, rows: Tensor | None = None, changed: Tensor | None = None) -> Tensor:
        node_graph = self.node_graph if rows is None else self.node_graph[rows]
        edge_graph = self.edge_graph if changed is None else self.edge_graph[changed]
        dtype = torch.promote_types(nodes.dtype, edges.dtype)
        total = nodes.new_zeros(self.n_graphs, dtype=dtype).index_add(0, node_graph, nodes.to(dtype))
        return total.index_add(0, edge_graph, edges.to(dtype))

    def masked(self, labelled: Tensor) -> Potentials:
        """The potentials with zeros at some nodes and at the edges that touch them.

        Parameters
        ----------
        labelled : bool Tensor of shape (V,)
            The nodes that keep their scores.

        Returns
        -------
        Potentials
            Of the same shape: what is masked does not prefer any label.
        """
        inside = labelled[self.edges].all(dim=1).view((-1,) + (1,) * self.edges.shape[1])
        return replace(
            self,
            unary=self.unary.masked_fill(~labelled[:, None], 0.0),
            interaction=self.interaction.masked_fill(~inside, 0.0),
        )


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
    for nodes in edges.unbind(1):
        joint = joint * n_labels + y[nodes]
    return joint


def node_costs(y: Tensor, class_weight: Tensor | None = None, node_weight: Tensor | None = None) -> Tensor:
    """What a wrong label costs at every node: η(yᵢ) times the node's weight, and nothing at void nodes.

    Parameters
    ----------
    y : Tensor of shape (V,)
        True labels, -1 for void.
    class_weight : Tensor of shape (L,), default=None
        η; None: 1.
    node_weight : Tensor of shape (V,), default=None
        None: 1.

    Returns
    -------
    Tensor of shape (V,)
        The costs, on the device of `y`.
    """
    labelled = y >= 0
    costs = labelled.to(torch.get_default_dtype() if node_weight is None else node_weight.dtype)
    if class_weight is not None:
        costs = costs * class_weight.to(y.device)[y.clamp_min(0)]
    return costs if node_weight is None else costs * node_weight


def hamming(y: Tensor, z: Tensor, costs: Tensor, graph: Tensor | None = None, n_graphs: int = 1) -> Tensor:
    """Loss Δ(y, z) of every graph: the sum of the costs of the nodes that differ; Eq. (5).

    Parameters
    ----------
    y, z : Tensor of shape (V,)
        True and predicted labels.
    costs : Tensor of shape (V,)
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
    wrong = costs * (z != y)
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
    costs : Tensor of shape (V,)
        See `node_costs`.

    Returns
    -------
    Potentials
        Every wrong label of a node scores its cost more than before.
    """
    scores = _to_summands(potentials.unary)
    costs = costs.to(scores.dtype)[:, None]
    unary = (scores + costs).scatter_add(1, y.clamp_min(0)[:, None], -costs)
    return replace(potentials, unary=unary)


def graph_numbers(pointers: Tensor, device: torch.device | None = None) -> Tensor:
    """The graph of every row that `pointers` (G + 1,) divide among G graphs."""
    sizes = pointers.diff()
    return torch.repeat_interleave(torch.arange(len(sizes)), sizes).to(device)


def _pick(table: Tensor, rows: Tensor, plus: Tensor, minus: Tensor) -> Tensor:
    return _to_summands(table[rows, plus[rows]]) - _to_summands(table[rows, minus[rows]])


def _to_summands(values: Tensor) -> Tensor:
    # Half precision is enough to choose labels but not to add up their scores.
    return values.float() if values.dtype in (torch.float16, torch.bfloat16) else values


def _check_pointers(pointers: Tensor, name: str, end: int, counted: str) -> None:
    good = pointers.ndim == 1 and len(pointers) >= 1 and pointers.dtype == torch.int64
    if not good or int(pointers[0]) != 0 or int(pointers[-1]) != end or bool((pointers.diff() < 0).any()):
        raise ValueError(f"{name} must be int64, start at 0, not decrease and end at the {end} rows of {counted}")
