"""Random problems to sum over, and the sums by enumeration that the library is compared with."""

import itertools

import numpy as np
from problems import random_tree


def scores_of_all(unary, interaction, edges):
    """Every labelling and its score."""
    every = list(itertools.product(range(unary.shape[1]), repeat=len(unary)))
    labellings = np.array(every, int).reshape(len(every), len(unary))
    tables = np.broadcast_to(interaction, (len(edges), *interaction.shape[1:])).astype(np.float64)
    total = unary.astype(np.float64)[np.arange(len(unary)), labellings].sum(axis=1)
    for nodes, table in zip(edges, tables, strict=True):
        total = total + table[tuple(labellings[:, i] for i in nodes)]
    return labellings, total


def enumerated(unary, interaction, edges):
    """log Z, and the marginals of the nodes and of the interactions."""
    labellings, total = scores_of_all(unary, interaction, edges)
    top = total.max()
    weight = np.exp(total - top)
    p = weight / weight.sum()
    nodes = np.zeros(unary.shape)
    for i in range(len(unary)):
        np.add.at(nodes[i], labellings[:, i], p)
    pairs = np.zeros((len(edges), *interaction.shape[1:]))
    for e, ends in enumerate(edges):
        np.add.at(pairs[e], tuple(labellings[:, i] for i in ends), p)
    return top + np.log(weight.sum()), nodes, pairs


def make_problem(seed, *, n_labels=3, order=2, shared=False, forbidden=0.0, dtype=np.float64, kind="any"):
    """A random graph of up to five nodes: a chain, a forest or any, with self-loops and parallel edges."""
    rng = np.random.default_rng(seed)
    n_nodes = int(rng.integers(1, 6))
    if kind == "chain":
        edges = np.stack([np.arange(n_nodes - 1), np.arange(1, n_nodes)], axis=1)
    elif kind == "tree":
        edges = random_tree(rng, n_nodes)
    else:
        edges = rng.integers(0, n_nodes, (int(rng.integers(0, 7)), order))
    unary = (2 * rng.standard_normal((n_nodes, n_labels))).astype(dtype)
    rows = 1 if shared else len(edges)
    interaction = (2 * rng.standard_normal((rows, *(n_labels,) * edges.shape[1]))).astype(dtype)
    keep = rng.integers(0, n_labels, n_nodes)  # a labelling that stays allowed
    unary[(rng.random(unary.shape) < forbidden) & (np.arange(n_labels) != keep[:, None])] = -np.inf
    mask = rng.random(interaction.shape) < forbidden
    for e, ends in enumerate(edges):
        mask[(0 if shared else e, *keep[ends])] = False
    interaction[mask] = -np.inf
    return unary, interaction, edges


def grid(size):
    numbers = np.arange(size * size).reshape(size, size)
    rows = np.stack([numbers[:, :-1].ravel(), numbers[:, 1:].ravel()], axis=1)
    columns = np.stack([numbers[:-1].ravel(), numbers[1:].ravel()], axis=1)
    return np.concatenate([rows, columns])
