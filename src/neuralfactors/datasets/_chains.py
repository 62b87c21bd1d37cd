"""Small synthetic problems on chains and grids, for examples and tests; seeded."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuralfactors._common.seeds import RandomState, seed_of
from neuralfactors._core.graph import Graph
from neuralfactors.inference._lattice import chain_edges, grid_directions, grid_edges

GraphsAndLabels = tuple[list[Graph], list[NDArray[np.int64]]]


def make_chains(
    n_graphs: int = 100, length: int = 10, n_labels: int = 4, noise: float = 1.0, random_state: RandomState = 0
) -> GraphsAndLabels:
    """Chains whose labels mostly count upwards, seen through noisy one-hot features; without edge features.

    Parameters
    ----------
    n_graphs : int, default=100
        Number of chains.
    length : int, default=10
        Nodes of each.
    n_labels : int, default=4
        Number of labels, and of features of a node.
    noise : float, default=1.0
        Standard deviation of the noise on the features.
    random_state : int, RandomState, Generator or None, default=0
        Seed of labels and noise.

    Returns
    -------
    X : list of Graph
        The chains.
    Y : list of arrays of shape (length,)
        Their labels.

    Examples
    --------
    >>> X, Y = make_chains(2, length=5)
    >>> X[0].n_nodes, X[0].n_edges, Y[0].shape
    (5, 4, (5,))
    """
    rng = np.random.default_rng(seed_of(random_state))
    X, Y = [], []
    for _ in range(n_graphs):
        steps = np.where(rng.random(length) < 0.9, 1, rng.integers(n_labels, size=length))
        y = (rng.integers(n_labels) + np.cumsum(steps)) % n_labels
        features = np.eye(n_labels)[y] + noise * rng.normal(size=(length, n_labels))
        X.append(Graph(features.astype(np.float32), chain_edges(length)))
        Y.append(y)
    return X, Y


def make_grids(
    n_graphs: int = 50, side: int = 8, n_labels: int = 3, noise: float = 1.5, random_state: RandomState = 0
) -> GraphsAndLabels:
    """Grids of vertical stripes, seen through noisy one-hot features; an edge feature says which way the edge runs.

    Parameters
    ----------
    n_graphs : int, default=50
        Number of grids.
    side : int, default=8
        Nodes along each side.
    n_labels : int, default=3
        Number of labels, and of features of a node.
    noise : float, default=1.5
        Standard deviation of the noise on the features.
    random_state : int, RandomState, Generator or None, default=0
        Seed of labels and noise.

    Returns
    -------
    X : list of Graph
        The grids.
    Y : list of arrays of shape (side²,)
        Their labels, row by row.
    """
    rng = np.random.default_rng(seed_of(random_state))
    edges, directions = grid_edges(side, side), grid_directions(side, side)
    X, Y = [], []
    for _ in range(n_graphs):
        stripes = (np.arange(side) // 2 + rng.integers(n_labels)) % n_labels
        y = np.tile(stripes, side)
        features = np.eye(n_labels)[y] + noise * rng.normal(size=(side * side, n_labels))
        X.append(Graph(features.astype(np.float32), edges, directions))
        Y.append(y)
    return X, Y


def make_synergy(
    n_graphs: int = 100, length: int = 12, noise: float = 0.3, random_state: RandomState = 0
) -> GraphsAndLabels:
    """Chains on which unary and interaction factors must divide the work, as in the paper's example of synergy.

    A label is a pair (part, state) of 2 × 2. The node features tell the part by an exclusive or of two signs, which no
    linear classifier can see, and say nothing of the state. The edge features tell whether the state changes, and say
    nothing of the part. The state of the first node is given away by a third node feature.

    Parameters
    ----------
    n_graphs : int, default=100
        Number of chains.
    length : int, default=12
        Nodes of each.
    noise : float, default=0.3
        Standard deviation of the noise on the features.
    random_state : int, RandomState, Generator or None, default=0
        Seed of labels and noise.

    Returns
    -------
    X : list of Graph
        The chains.
    Y : list of arrays of shape (length,)
        Labels 0 to 3.
    """
    rng = np.random.default_rng(seed_of(random_state))
    X, Y = [], []
    for _ in range(n_graphs):
        signs = rng.choice([-1.0, 1.0], size=(length, 2))
        part = (signs[:, 0] != signs[:, 1]).astype(np.int64)
        state = np.cumsum(rng.integers(2, size=length)) % 2
        hint = np.zeros(length)
        hint[0] = 2.0 * state[0] - 1.0
        change = 2.0 * (state[1:] != state[:-1]) - 1.0
        nodes = np.column_stack([signs + noise * rng.normal(size=signs.shape), hint])
        edge = (change + noise * rng.normal(size=length - 1))[:, None]
        X.append(Graph(nodes.astype(np.float32), chain_edges(length), edge.astype(np.float32)))
        Y.append(2 * part + state)
    return X, Y
