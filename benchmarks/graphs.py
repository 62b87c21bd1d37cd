"""Edges (E, 2) of graphs of many kinds."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Edges = NDArray[np.int64]


def lattice(shape: tuple[int, ...], steps: list[tuple[int, ...]], wrap: bool = False) -> Edges:
    """Edges from each point of a lattice by each of the steps."""
    points = np.stack([axis.ravel() for axis in np.indices(shape)], 1)
    numbers = np.arange(len(points)).reshape(shape)
    edges = []
    for step in steps:
        ends = points + step
        inside = np.full(len(points), True) if wrap else ((ends >= 0) & (ends < shape)).all(axis=1)
        edges.append(np.stack([numbers.ravel()[inside], numbers[tuple((ends[inside] % shape).T)]], 1))
    return np.concatenate(edges)


def four(height: int, width: int, wrap: bool = False) -> Edges:
    return lattice((height, width), [(0, 1), (1, 0)], wrap)


def eight(height: int, width: int) -> Edges:
    return lattice((height, width), [(0, 1), (1, 0), (1, 1), (1, -1)])


def simple(pairs: Edges) -> Edges:
    """Each pair of different nodes once."""
    ordered = np.unique(np.sort(pairs, axis=1), axis=0)
    return ordered[ordered[:, 0] != ordered[:, 1]]


def regular(rng: Generator, n_nodes: int, degree: int) -> Edges:
    """A random graph in which nearly all nodes have this degree."""
    ends = rng.permutation(np.repeat(np.arange(n_nodes), degree))
    return simple(ends[: len(ends) // 2 * 2].reshape(-1, 2))


def sparse(rng: Generator, n_nodes: int, degree: float) -> Edges:
    """Random pairs; `degree` is the mean."""
    return simple(rng.integers(0, n_nodes, (int(n_nodes * degree / 2), 2)))


def small_world(rng: Generator, n_nodes: int, reach: int, share: float) -> Edges:
    """A ring with edges to the next few nodes, a share of which go anywhere instead."""
    near = np.concatenate([np.stack([np.arange(n_nodes), np.arange(n_nodes) + k], 1) for k in range(1, reach + 1)])
    near[:, 1] = np.where(rng.random(len(near)) < share, rng.integers(0, n_nodes, len(near)), near[:, 1]) % n_nodes
    return simple(near)


def hubs(rng: Generator, n_nodes: int, n_hubs: int) -> Edges:
    """Few nodes that meet nearly all others, and a sparse graph among these."""
    spokes = np.stack([rng.integers(0, n_hubs, 2 * n_nodes), rng.integers(0, n_nodes, 2 * n_nodes)], 1)
    return simple(np.concatenate([spokes, sparse(rng, n_nodes, 1.5)]))


def near(rng: Generator, n_nodes: int, dimensions: int, degree: float) -> Edges:
    """Random points of a cube and the closest pairs of them."""
    points = rng.random((n_nodes, dimensions))
    i, j = np.triu_indices(n_nodes, 1)
    distance = np.linalg.norm(points[i] - points[j], axis=1)
    kept = np.argsort(distance)[: int(n_nodes * degree / 2)]
    return np.stack([i[kept], j[kept]], 1)


def complete(n_nodes: int) -> Edges:
    return np.stack(np.triu_indices(n_nodes, 1), 1)


def scale_free(rng: Generator, n_nodes: int, degree: int) -> Edges:
    """Each node joins earlier ones, the more likely the more edges these have."""
    ends = list(range(degree + 1))
    pairs = []
    for i in range(degree + 1, n_nodes):
        chosen = rng.choice(ends, degree)
        pairs += [(i, j) for j in chosen]
        ends += [i] * degree + list(chosen)
    return simple(np.array(pairs))
