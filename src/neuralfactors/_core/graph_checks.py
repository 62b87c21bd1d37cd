"""The arrays of a graph, checked once: what comes out of here is contiguous, typed and within bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from neuralfactors._common.labels import VOID, refuse_masked


def check_features(values: ArrayLike, name: str, ndim: int) -> NDArray[np.floating[Any]]:
    """Numbers as a C-contiguous array of float32 or float64, which other types become: finite, of `ndim` dimensions.

    Else they are refused, under their `name`; the sentence says where the fault is.
    """
    array = as_numpy(values, name)
    if array.ndim != ndim:
        raise ValueError(f"{name} must have {ndim} dimensions, got shape {array.shape}")
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name} must contain numbers, got dtype {array.dtype}")
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float32)
    if not np.isfinite(array).all():
        place = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"{name} must be finite, got {array[place]} at {place}")
    return np.ascontiguousarray(array)


def check_edges(values: ArrayLike | None, n_nodes: int, order: int) -> NDArray[np.int64]:
    """Edges as a C-contiguous int64 array (E, order); None: no edges.

    They are refused, with the advice to transpose where that would help, unless all nodes exist. Nodes of an edge may
    be equal for order 2 only.
    """
    if not isinstance(order, (int, np.integer)) or order < 2:
        raise ValueError(f"order must be an integer ≥ 2, got {order!r}")
    edges = as_numpy([] if values is None else values, "edges")
    if edges.size == 0 and edges.ndim < 2:
        edges = np.zeros((0, order), dtype=np.int64)
    if edges.ndim != 2 or edges.shape[1] != order:
        raise ValueError(f"edges must have shape (E, {order}), got {edges.shape}{_advice(edges.shape, order)}")
    if edges.size and edges.dtype.kind not in "iu":
        raise ValueError(f"edges must contain integers, got dtype {edges.dtype}")
    edges = np.ascontiguousarray(edges, dtype=np.int64)
    if edges.size and (edges.min() < 0 or edges.max() >= n_nodes):
        row = int(np.argwhere((edges < 0) | (edges >= n_nodes))[0, 0])
        raise ValueError(
            f"edges must contain node numbers from 0 to {n_nodes - 1}, got {edges[row].tolist()} at row {row}"
        )
    if order > 2:  # a table of higher order has one axis a node; an edge from a node to itself is welcome
        twice = (np.diff(np.sort(edges, axis=1), axis=1) == 0).any(axis=1)
        if twice.any():
            row = int(twice.argmax())
            raise ValueError(f"edges of order {order} must join distinct nodes, got {edges[row].tolist()} at row {row}")
    return edges


def _advice(shape: tuple[int, ...], order: int) -> str:
    if len(shape) != 2:
        return ""
    advice = ["transpose them"] if shape[0] == order else []
    advice += [f"pass order={shape[1]} if {shape[1]} nodes share an interaction"] if shape[1] > 1 else []
    return ": " + ", or ".join(advice) if advice else ""


def check_node_weight(values: ArrayLike, n_nodes: int) -> NDArray[np.floating[Any]]:
    """Weights (V,) or (V, L) as floats, refused unless they are finite and not negative."""
    array = as_numpy(values, "node_weight")
    weight = check_features(array, "node_weight", ndim=2 if array.ndim == 2 else 1)
    if len(weight) != n_nodes:
        raise ValueError(
            f"node_weight needs one entry per node: expected shape ({n_nodes},) or ({n_nodes}, L), got {weight.shape}"
        )
    if weight.size and weight.min() < 0:
        at = np.unravel_index(weight.argmin(), weight.shape)[0]
        raise ValueError(f"node_weight must not be negative, got {weight.min()} at node {at}")
    return weight


def check_labels(y: ArrayLike, n_nodes: int, name: str = "y") -> NDArray[np.int64]:
    """Labels of a graph's nodes as int64 (V,); refused unless there is one integer ≥ −1 per node, −1 for void.

    Errors call them `name`. They are `y` itself where it is of that type already.
    """
    refuse_masked(y, name)
    labels = np.asarray(y)
    if labels.shape != (n_nodes,):
        raise ValueError(f"{name} needs one label per node: expected shape ({n_nodes},), got {labels.shape}")
    if labels.size and labels.dtype.kind not in "iub":  # an empty list has no type of its own
        raise ValueError(f"{name} must contain integers, got dtype {labels.dtype}")
    labels = labels.astype(np.int64, copy=False)
    if labels.size and labels.min() < VOID:
        raise ValueError(
            f"{name} contains {labels.min()} at node {labels.argmin()}: labels are 0, 1, ... or -1 for void"
        )
    return labels


def is_of_graphs(y: Any, n_nodes: int, n_graphs: int) -> bool:
    """Whether `y` has one entry per graph, and not one per node: a label or target of the whole graph."""
    return n_nodes != n_graphs == (len(y) if y.ndim else 1)


def as_numpy(values: Any, name: str) -> NDArray[Any]:
    """An array, a tensor or nested lists as a numpy array; a tensor comes to the CPU, and must need no gradient."""
    if isinstance(values, Tensor):
        if values.requires_grad:
            raise ValueError(
                f"{name} requires grad, but no gradient flows through a Graph, which holds plain data: put the "
                "network into the model (StructuralSVM(unary=...)), make Potentials from its output, or detach it"
            )
        values = values.cpu()
        values = values.float() if values.dtype == torch.bfloat16 else values  # numpy has no bfloat16
    refuse_masked(values, name, "numbers that may count")
    try:
        return np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{name} must be an array, but its rows differ in length") from error
