"""Edges of chains and grids, and the directions of these."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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


def _edges_by_step(height: int, width: int, neighbours: int) -> list[NDArray[np.int64]]:
    """Edges (E, 2) of a grid, an array for each step from a node to a neighbour."""
    if neighbours not in STEPS:
        raise ValueError(f"neighbours must be one of {sorted(STEPS)}, got {neighbours!r}")
    nodes = np.arange(height * width, dtype=np.int64).reshape(height, width)
    found = []
    for down, right in STEPS[neighbours]:
        first = nodes[: height - down, max(0, -right) : width - max(0, right)]
        second = nodes[down:, max(0, right) : width - max(0, -right)]
        found.append(np.stack([first.ravel(), second.ravel()], axis=1))
    return found
