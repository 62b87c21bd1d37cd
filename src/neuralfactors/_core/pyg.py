"""What a batch of graphs is made of, from objects of PyTorch Geometric, which is not needed for it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from neuralfactors._common.labels import VOID
from neuralfactors._core.graph_checks import is_of_graphs
from neuralfactors._core.layouts import as_int64, pointers_of


def pieces_of(data: Any, mask: str | None) -> dict[str, Tensor | None]:
    """The fields of a `GraphBatch`; see `GraphBatch.from_pyg`."""
    x, ends = data.x, data.edge_index
    if ends.ndim != 2 or len(ends) != 2:
        raise ValueError(f"edge_index must have shape (2, E), got {tuple(ends.shape)}")
    node_graph, node_ptr = _graphs(data, len(x))
    ends = ends.to(torch.int64)  # products of narrower numbers would overflow below
    order = _kept(ends, len(x))
    order = order[node_graph[ends[0, order].cpu()].argsort(stable=True).to(order.device)]  # graph by graph
    edges = ends.T[order]
    counts = torch.bincount(node_graph[edges[:, 0].cpu()], minlength=len(node_ptr) - 1)
    return {
        "node_features": x,
        "edges": edges,
        "edge_features": _edge_features(data, ends.shape[1], x)[order],
        "node_ptr": node_ptr,
        "edge_ptr": pointers_of(counts),
        "y": _labels(data, len(x), len(node_ptr) - 1, mask),
    }


def _graphs(data: Any, n_nodes: int) -> tuple[Tensor, Tensor]:
    """The graph of every node, and pointers to the nodes of every graph, both on the CPU."""
    pointers, graph = getattr(data, "ptr", None), getattr(data, "batch", None)
    if pointers is not None:
        pointers = pointers.cpu().to(torch.int64)
    elif graph is not None:
        if bool((graph.diff() < 0).any()):
            raise ValueError("batch must name the nodes of one graph after those of the other")
        pointers = pointers_of(torch.bincount(graph.cpu()))
    else:
        pointers = torch.tensor([0, n_nodes])
    return torch.repeat_interleave(torch.arange(len(pointers) - 1), pointers.diff()), pointers


def _kept(ends: Tensor, n_nodes: int) -> Tensor:
    """Numbers of the edges that stay: all, or the first of each pair of reverse edges where all come in pairs."""
    there, back = ends[0] * n_nodes + ends[1], ends[1] * n_nodes + ends[0]
    every = torch.arange(ends.shape[1], device=ends.device)
    return every[ends[0] <= ends[1]] if bool(torch.isin(there, back).all()) else every


def _edge_features(data: Any, n_edges: int, x: Tensor) -> Tensor:
    given = getattr(data, "edge_attr", None)
    if given is None:
        return x.new_zeros(n_edges, 0)
    if given.shape[:1] != (n_edges,):
        raise ValueError(f"edge_attr needs one row for each of {n_edges} edges, got {tuple(given.shape)}")
    rows: Tensor = given[:, None] if given.ndim == 1 else given.flatten(1)
    return rows


def _labels(data: Any, n_nodes: int, n_graphs: int, mask: str | None) -> Tensor | None:
    """Labels (V,) of nodes, if there are any; those outside the mask are void."""
    y = getattr(data, "y", None)
    if y is None or is_of_graphs(y, n_nodes, n_graphs):
        return None
    if y.numel() != n_nodes or y.is_floating_point():
        raise ValueError(f"y must contain an integer label for each of {n_nodes} nodes, got {y.dtype} {tuple(y.shape)}")
    y = as_int64(y.reshape(-1))
    return y if mask is None else torch.where(getattr(data, mask), y, VOID)
