"""Where learning with hidden states begins: k-means of the features of a node and its neighbours."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
from scipy.sparse import csr_array, hstack, vstack

from neuralfactors._core.graph import Graph
from neuralfactors._core.sparse import is_sparse
from neuralfactors.estimators._states import Labels, States
from neuralfactors.learning._training_graphs import Samples


def start_states(samples: Samples, states: States, seed: int) -> list[Labels]:
    """A state of its label for every node of every graph, and any state of its type for nodes labelled −1."""
    graphs = [samples.X[n] for n in range(len(samples))]
    around = [_surroundings(g, y, states) for g, y in zip(graphs, samples.Y, strict=True)]
    seen = _standardised(vstack(around, format="csr") if any(map(is_sparse, around)) else np.concatenate(around))
    y, kinds = np.concatenate(samples.Y), np.concatenate([_kinds(g) for g in graphs])
    found = np.zeros(len(y), dtype=np.int64)
    for k, label in np.unique(np.stack([kinds, y], axis=1), axis=0).tolist():
        nodes, of_label = np.flatnonzero((kinds == k) & (y == label)), states.by_type[k]
        choice = np.flatnonzero((of_label == label) | (label < 0))
        found[nodes] = choice[_clusters(seen[nodes], len(choice), seed)]
    return np.split(found, np.cumsum([len(y) for y in samples.Y])[:-1])


def _kinds(graph: Graph) -> Labels:
    return np.zeros(graph.n_nodes, np.int64) if graph.node_types is None else graph.node_types


def _surroundings(graph: Graph, y: Labels, states: States) -> Any:
    """Features of every node, their sum over its neighbours, and how many of these have each label of each type."""
    begin = np.cumsum([0, *states.n_labels])
    numbers = np.where(y < 0, begin[-1], begin[_kinds(graph)] + y)  # the labels of all types one after the other
    labels = np.eye(begin[-1] + 1)[numbers][:, :-1]
    if is_sparse(graph.node_features):
        values = hstack([graph.node_features, labels], format="csr")
        return hstack([graph.node_features, _neighbours(graph) @ values], format="csr")
    values = np.concatenate([graph.node_features, labels], axis=1)
    around = np.zeros_like(values)
    for first, second in permutations(range(graph.order), 2):
        np.add.at(around, graph.edges[:, first], values[graph.edges[:, second]])
    return np.concatenate([graph.node_features, around], axis=1)


def _neighbours(graph: Graph) -> Any:
    """How often every node meets every other, (V, V)."""
    ends = [graph.edges[:, pair] for pair in permutations(range(graph.order), 2)]
    first, second = np.concatenate(ends).T
    return csr_array((np.ones(len(first)), (first, second)), shape=(graph.n_nodes, graph.n_nodes))


def _standardised(points: Any) -> Any:
    """The points with a deviation of 1 in every feature that has any."""
    if not is_sparse(points):
        return points / np.maximum(points.std(axis=0), 1e-9)
    square = points.power(2).mean(axis=0)
    variance = square - points.mean(axis=0) ** 2
    # Of a feature that is the same everywhere only rounding is left. It becomes 0: k-means does not centre what is
    # sparse, and a large number beside the others would leave no digits for their distances.
    found = csr_array(points.multiply(1 / np.sqrt(np.where(variance > 1e-14 * square, variance, np.inf))))
    narrow = found.data, found.indices.astype(np.int32), found.indptr.astype(np.int32)  # which k-means insists on
    return csr_array(narrow, shape=found.shape)


def _n_distinct(points: Any) -> int:
    if not is_sparse(points):
        return len(np.unique(points, axis=0))
    points.sort_indices()
    bounds = zip(points.indptr[:-1], points.indptr[1:], strict=True)
    return len({(points.indices[a:b].tobytes(), points.data[a:b].tobytes()) for a, b in bounds})


def _clusters(points: Any, n_clusters: int, seed: int) -> Labels:
    from sklearn.cluster import KMeans  # here, since it takes long to import and only training needs it

    n_clusters = min(n_clusters, _n_distinct(points))
    if n_clusters == 1:
        return np.zeros(points.shape[0], dtype=np.int64)
    means = KMeans(n_clusters, n_init=4, random_state=seed % 2**32).fit(points)
    return np.asarray(means.labels_, dtype=np.int64)
