"""What potentials are made of: checks of their tensors, entries of tables, and which graph a row belongs to."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def check_shapes(unary: Tensor, interaction: Tensor, tables: Tensor, edges: Tensor) -> None:
    """Refuse scores and edges that do not fit each other; `tables` are the distinct ones of `interaction`."""
    if unary.ndim != 2:
        raise ValueError(f"unary must have shape (V, L), got {tuple(unary.shape)}")
    if edges.ndim != 2 or edges.dtype != torch.int64:
        got = f"{edges.dtype} of shape {tuple(edges.shape)}"
        raise ValueError(f"edges must be int64 of shape (E, 2), or (E, Q) for order Q, got {got}")
    expected = (len(edges),) + (unary.shape[1],) * edges.shape[1]
    rows = (*interaction.shape[:1], interaction.ndim - 1)
    if interaction.ndim > 2 and rows != edges.shape == rows[::-1]:
        raise ValueError(f"edges must have shape {rows} for this interaction, got {rows[::-1]}: transpose them")
    if tables.shape not in (expected, (1, *expected[1:])):
        raise ValueError(f"interaction must have shape {expected}, got {tuple(tables.shape)}")


def check_sizes(unary: Tensor, sizes: Tensor, edges: Tensor) -> None:
    """Refuse numbers of labels that do not fit the scores, and edges that do not join two nodes each."""
    good = sizes.shape == unary.shape[:1] and sizes.dtype == torch.int64
    if unary.ndim != 2 or not good or bool(((sizes < 1) | (sizes > unary.shape[1])).any()):
        raise ValueError(f"sizes must be int64, one per row of unary, from 1 to its {unary.shape[-1]} columns")
    if edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype != torch.int64:
        raise ValueError(f"edges must be int64 of shape (E, 2), got {edges.dtype} of shape {tuple(edges.shape)}")
    beyond = torch.nonzero(((edges < 0) | (edges >= len(sizes))).any(dim=1))  # negative ones would count from the end
    if len(beyond):
        ends = edges[beyond[0, 0]].tolist()
        raise ValueError(f"edges must contain node numbers from 0 to {len(sizes) - 1}, got {ends}")


def check_entries(interaction: Tensor, n_entries: int) -> None:
    """Refuse tables, one after the other, that have another number of entries."""
    if tuple(interaction.shape) != (n_entries,):
        expected = f"a vector of the {n_entries} entries of all tables"
        raise ValueError(f"interaction must be {expected}, as sizes are given, got shape {tuple(interaction.shape)}")


def check_labels(y: Tensor, n_labels: int, sizes: Tensor | None) -> None:
    """Refuse labels `y` (V,) that their nodes do not have."""
    wrong = (y < 0) | (y >= n_labels)
    if bool(wrong.any()):
        raise ValueError(f"y must contain labels from 0 to {n_labels - 1}, got {int(y[wrong][0])}")
    if sizes is not None:
        check_own_labels(y, sizes)


def check_own_labels(y: Tensor, sizes: Tensor) -> None:
    """Refuse labels `y` (V,) beyond those of nodes that have `sizes` (V,) labels."""
    beyond = torch.nonzero(y >= sizes.to(y.device))
    if len(beyond):
        node = int(beyond[0])
        raise ValueError(f"y has label {int(y[node])} at node {node}, whose labels are 0 to {int(sizes[node]) - 1}")


def check_pointers(pointers: Tensor, name: str, end: int, counted: str) -> None:
    """Refuse pointers that do not divide the rows of `counted` among graphs."""
    good = pointers.ndim == 1 and len(pointers) >= 1 and pointers.dtype == torch.int64
    if not good or int(pointers[0]) != 0 or int(pointers[-1]) != end or bool((pointers.diff() < 0).any()):
        raise ValueError(f"{name} must be int64, start at 0, not decrease and end at the {end} rows of {counted}")


def checked_pointers(
    node_ptr: Tensor | None, edge_ptr: Tensor | None, n_nodes: int, n_edges: int
) -> tuple[Tensor, Tensor]:
    """Both pointers, those of one graph where there are none; refused unless they divide nodes and interactions."""
    nodes, edges = (
        torch.tensor([0, end]) if pointers is None else pointers
        for pointers, end in ((node_ptr, n_nodes), (edge_ptr, n_edges))
    )
    if not torch.compiler.is_compiling():  # else inference checks them
        check_pointers(nodes, "node_ptr", n_nodes, "unary")
        check_pointers(edges, "edge_ptr", n_edges, "interaction")
    if len(nodes) != len(edges):
        raise ValueError(f"node_ptr and edge_ptr must be of the same length, got {len(nodes)} and {len(edges)}")
    return nodes, edges


def joint_labels(y: Tensor, edges: Tensor, n_labels: int) -> Tensor:
    """Which of the L^Q entries of its table each interaction takes, (E,); the last node's label runs fastest."""
    joint = torch.zeros(len(edges), dtype=torch.int64, device=edges.device)
    for labels in y.index_select(0, edges.reshape(-1)).view(edges.shape).unbind(1):
        joint = joint * n_labels + labels
    return joint


def graph_numbers(pointers: Tensor, device: torch.device | None = None, n_rows: int | None = None) -> Tensor:
    """The graph of every one of the `n_rows` rows that `pointers` (G + 1,) divide among G graphs."""
    sizes = pointers.diff()
    return torch.repeat_interleave(torch.arange(len(sizes)), sizes, output_size=n_rows).to(device)


def distinct_tables(tables: Tensor, edges: Tensor) -> Tensor:
    """The tables that differ: one (1, L, ..., L) where all `edges` (E, Q) share it."""
    order = edges.ndim and edges.shape[-1]
    if tables.ndim == order:
        return tables[None]
    expanded = tables.ndim == order + 1 and len(tables) == len(edges) > 1 and tables.stride(0) == 0
    return tables[:1] if expanded else tables


def difference(pairs: Tensor, differ: Tensor) -> Tensor:
    """The first less the second of `pairs` (N, 2); zero where nothing differs, also where both are −inf."""
    plus, minus = to_summands(pairs).unbind(1)
    return torch.where(differ, plus - minus, 0.0)


def to_summands(values: Tensor) -> Tensor:
    """Half precision as float32: it is enough to choose labels but not to add up their scores."""
    return values.float() if values.dtype in (torch.float16, torch.bfloat16) else values


def check_lists(unary: Sequence[Tensor], interaction: Sequence[Tensor], edges: Tensor) -> list[int]:
    """The numbers of labels of the nodes, refused unless rows, tables and edges fit each other."""
    if not all(isinstance(part, Tensor) for part in (*unary, *interaction, edges)):
        raise TypeError("unary and interaction must be sequences of Tensors, and edges a Tensor")
    if len(interaction) != len(edges):
        raise ValueError(f"interaction must contain a table for each of the {len(edges)} edges, got {len(interaction)}")
    sizes = [len(row) for row in unary]
    for (u, v), table in zip(edges.tolist(), interaction, strict=True):
        if not (0 <= u < len(sizes) and 0 <= v < len(sizes)):
            raise ValueError(f"edges must contain node numbers from 0 to {len(sizes) - 1}, got {[u, v]}")
        if table.shape != (sizes[u], sizes[v]):
            expected = sizes[u], sizes[v]
            raise ValueError(f"the table of edge ({u}, {v}) must have shape {expected}, got {tuple(table.shape)}")
    return sizes
