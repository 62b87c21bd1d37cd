"""Points, chains and grids as graphs: their edges, the directions of these, and graphs made of plain arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralfactors._core.graph import Graph

# Steps (down, right) to the neighbours of a node that come after it, by the number of all its neighbours.
STEPS = {4: ((0, 1), (1, 0)), 8: ((0, 1), (1, 0), (1, 1), (1, -1))}


def chain_edges(n_nodes: int) -> NDArray[np.int64]:
    """Edges (n_nodes − 1, 2) that join every node to the next.

    Parameters
    ----------
    n_nodes : int
        Length of the chain.

    Returns
    -------
    ndarray of shape (n_nodes − 1, 2)
        Node numbers, int64.

    Examples
    --------
    >>> chain_edges(3).tolist()
    [[0, 1], [1, 2]]
    """
    nodes = np.arange(n_nodes, dtype=np.int64)
    return np.stack([nodes[:-1], nodes[1:]], axis=1)


def grid_edges(height: int, width: int, neighbours: int = 4) -> NDArray[np.int64]:
    """Edges (E, 2) of a grid numbered row by row: all to the right, then all down, then both diagonals.

    Parameters
    ----------
    height, width : int
        Size of the grid.
    neighbours : 4 or 8, default=4
        8 adds the edges down to the right and down to the left.

    Returns
    -------
    ndarray of shape (E, 2)
        Node numbers, int64: all edges to the right, then all down, then both diagonals.

    Examples
    --------
    >>> grid_edges(2, 2).tolist()
    [[0, 1], [2, 3], [0, 2], [1, 3]]
    >>> grid_edges(2, 2, neighbours=8)[4:].tolist()
    [[0, 3], [1, 2]]
    """
    return np.concatenate(_edges_by_step(height, width, neighbours))


def grid_directions(height: int, width: int, neighbours: int = 4) -> NDArray[np.float32]:
    """One-hot features (E, neighbours / 2) that say which way every edge of `grid_edges` runs.

    Parameters
    ----------
    height, width : int
        Size of the grid.
    neighbours : 4 or 8, default=4
        8 adds the edges down to the right and down to the left.

    Returns
    -------
    ndarray of shape (E, neighbours / 2)
        1 in the column of the direction of an edge, 0 elsewhere; float32.

    Examples
    --------
    >>> grid_directions(1, 2).tolist()
    [[1.0, 0.0]]
    """
    counts = [len(edges) for edges in _edges_by_step(height, width, neighbours)]
    return np.repeat(np.eye(len(counts), dtype=np.float32), counts, axis=0)


def point_graphs(X: ArrayLike) -> list[Graph]:
    """A graph of one node for every row of X (N, D), to classify points; their labels Y (N,) go along as `Y[:, None]`.

    Parameters
    ----------
    X : array of shape (N, D)
        Features of the points.

    Returns
    -------
    list of Graph
        One per point.

    Examples
    --------
    >>> [graph.n_nodes for graph in point_graphs([[0.0, 1.0], [1.0, 0.0]])]
    [1, 1]
    """
    return [Graph(x[None]) for x in np.asarray(X)]


def chain_graph(features: ArrayLike, edge_features: ArrayLike | None = None) -> Graph:
    """A chain of the rows of `features` (T, D), each joined to the next.

    Parameters
    ----------
    features : array of shape (T, D)
        Features of the nodes.
    edge_features : array of shape (T − 1, K), default=None
        Features of the edges, if there are any.

    Returns
    -------
    Graph
        The chain.

    Examples
    --------
    >>> chain_graph([[0.0], [1.0], [2.0]]).n_edges
    2
    """
    features = np.asarray(features)
    return Graph(features, chain_edges(len(features)), edge_features)


def grid_graph(
    features: ArrayLike, neighbours: int = 4, *, directional: bool = False, edge_features: ArrayLike | None = None
) -> Graph:
    """A grid of the pixels of `features` (H, W, D), numbered row by row.

    Parameters
    ----------
    features : array of shape (H, W, D)
        Features of the pixels.
    neighbours : 4 or 8, default=4
        8 adds the edges down to the right and down to the left.
    directional : bool, default=False
        Whether edges have the features of `grid_directions`, so that a table is learned for every direction; without
        there is one for all.
    edge_features : array of shape (E, K), default=None
        Of the edges in the order of `grid_edges`; the directions come after them.

    Returns
    -------
    Graph
        The grid.

    Examples
    --------
    >>> graph = grid_graph([[[0.0], [1.0]], [[2.0], [3.0]]], neighbours=8, directional=True)
    >>> graph.n_nodes, graph.n_edges, graph.edge_features.shape
    (4, 6, (6, 4))
    """
    features = np.asarray(features)
    if features.ndim != 3:
        raise ValueError(f"features must have shape (H, W, D), got {features.shape}")
    height, width = features.shape[:2]
    edges = grid_edges(height, width, neighbours)
    columns: list[NDArray[Any]] = [] if edge_features is None else [np.asarray(edge_features)]
    columns += [grid_directions(height, width, neighbours)] if directional else []
    given = np.concatenate(columns, axis=1) if columns else None
    return Graph(features.reshape(height * width, -1), edges, given)


def _edges_by_step(height: int, width: int, neighbours: int) -> list[NDArray[np.int64]]:
    if neighbours not in STEPS:
        raise ValueError(f"neighbours must be one of {sorted(STEPS)}, got {neighbours!r}")
    nodes = np.arange(height * width, dtype=np.int64).reshape(height, width)
    found = []
    for down, right in STEPS[neighbours]:
        first = nodes[: height - down, max(0, -right) : width - max(0, right)]
        second = nodes[down:, max(0, right) : width - max(0, -right)]
        found.append(np.stack([first.ravel(), second.ravel()], axis=1))
    return found
