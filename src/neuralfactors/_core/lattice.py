"""Points, chains and grids as graphs, made of plain arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralfactors._core.graph import Graph
from neuralfactors.inference._lattice import chain_edges, grid_directions, grid_edges


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
