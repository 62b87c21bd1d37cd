"""Where learning with hidden states begins: k-means of what lies in and around a node."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralfactors._core.graph import Graph
from neuralfactors.learning._training_graphs import Samples

Labels = NDArray[np.int64]


def start_states(samples: Samples, state_label: Labels, seed: int) -> list[Labels]:
    """A state of its label for every node of every graph, and any state for nodes labelled −1.

    Parameters
    ----------
    samples : Samples
        Graphs with their labels.
    state_label : array of shape (S,)
        The label of every state.
    seed : int
        Of k-means.

    Returns
    -------
    list of ndarray of shape (V,)
        States, one array per graph.
    """
    graphs = [samples.X[n] for n in range(len(samples))]
    seen = np.concatenate([_surroundings(g, y, samples.n_labels) for g, y in zip(graphs, samples.Y, strict=True)])
    seen = seen / np.maximum(seen.std(axis=0), 1e-9)
    y = np.concatenate(samples.Y)
    states = np.zeros(len(y), dtype=np.int64)
    for label in np.unique(y):
        nodes = np.flatnonzero(y == label)
        choice = np.flatnonzero(state_label == label) if label >= 0 else np.arange(len(state_label))
        states[nodes] = choice[_clusters(seen[nodes], len(choice), seed)]
    return np.split(states, np.cumsum([len(y) for y in samples.Y])[:-1])


def _surroundings(graph: Graph, y: Labels, n_labels: int) -> NDArray[Any]:
    """Features of every node, their sum over its neighbours, and how many of these have each label."""
    values = np.concatenate([graph.node_features, np.eye(n_labels + 1)[y][:, :n_labels]], axis=1)
    around = np.zeros_like(values)
    for first, second in permutations(range(graph.order), 2):
        np.add.at(around, graph.edges[:, first], values[graph.edges[:, second]])
    return np.concatenate([graph.node_features, around], axis=1)


def _clusters(points: NDArray[Any], n_clusters: int, seed: int) -> Labels:
    from sklearn.cluster import KMeans  # here, since it takes long to import and only training needs it

    n_clusters = min(n_clusters, len(np.unique(points, axis=0)))
    if n_clusters == 1:
        return np.zeros(len(points), dtype=np.int64)
    means = KMeans(n_clusters, n_init=4, random_state=seed % 2**32).fit(points)
    return np.asarray(means.labels_, dtype=np.int64)
