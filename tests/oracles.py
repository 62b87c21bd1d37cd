"""Slow, obvious references that tests compare the library with, and random problems to compare them on."""

import itertools

import torch

from neuralfactors import Potentials


def labelings(n_nodes, n_labels):
    """Every labelling of `n_nodes` nodes."""
    return (torch.tensor(y, dtype=torch.int64) for y in itertools.product(range(n_labels), repeat=n_nodes))


def score(unary, interaction, edges, y):
    """g(x, y), term by term."""
    total = sum((unary[i, y[i]] for i in range(len(y))), torch.zeros((), dtype=unary.dtype))
    for e, nodes in enumerate(edges.tolist()):
        total = total + interaction[(e, *[int(y[i]) for i in nodes])]
    return total


def hinge(unary, interaction, edges, y, costs, augment=True):
    """max(0, max_z Δ(y, z) + g(x, z) − g(x, y)) of one graph by enumeration; void nodes and their edges left out."""
    kept = [i for i in range(len(y)) if y[i] >= 0]
    rows = [e for e, nodes in enumerate(edges.tolist()) if all(i in kept for i in nodes)]
    edges = torch.tensor([[kept.index(i) for i in edges[e].tolist()] for e in rows]).reshape(len(rows), edges.shape[1])
    unary, interaction, y, costs = unary[kept], interaction[rows], y[kept], costs[kept]
    true = score(unary, interaction, edges, y)
    values = [
        augment * (costs * (z != y)).sum() + score(unary, interaction, edges, z) - true
        for z in labelings(len(y), unary.shape[1])
    ]
    return torch.stack(values).max().clamp_min(0)


def random_potentials(seed, sizes=(3, 4), n_labels=3, order=2, scale=1.0):
    """Potentials in float64 of a batch of random graphs with `sizes` nodes, and random labels."""
    generator = torch.Generator().manual_seed(seed)
    edges, node_ptr, edge_ptr = [], [0], [0]
    for size in sizes:
        possible = list(itertools.combinations(range(size), order))
        chosen = [c for c in possible if torch.rand((), generator=generator) < 0.7]
        edges += [[node_ptr[-1] + i for i in nodes] for nodes in chosen]
        node_ptr.append(node_ptr[-1] + size)
        edge_ptr.append(len(edges))
    n_nodes = node_ptr[-1]
    unary = scale * torch.randn(n_nodes, n_labels, dtype=torch.float64, generator=generator)
    shape = (len(edges),) + (n_labels,) * order
    interaction = scale * torch.randn(shape, dtype=torch.float64, generator=generator)
    y = torch.randint(n_labels, (n_nodes,), generator=generator)
    index = torch.tensor(edges, dtype=torch.int64).reshape(-1, order)
    return Potentials(unary, interaction, index, torch.tensor(node_ptr), torch.tensor(edge_ptr)), y


def graphs_of(potentials):
    """The parts (unary, interaction, edges, nodes) of every graph of a batch."""
    nodes, rows = potentials.node_ptr.tolist(), potentials.edge_ptr.tolist()
    for g in range(potentials.n_graphs):
        i, e = slice(nodes[g], nodes[g + 1]), slice(rows[g], rows[g + 1])
        yield potentials.unary[i], potentials.tables[e], potentials.edges[e] - nodes[g], i


def randomised(module, seed=0):
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(generator=generator)
    return module


def contrast_gradients(factor, features, plus, minus):
    values = factor(features)
    dense = values.gather(1, plus[:, None]) - values.gather(1, minus[:, None])
    return torch.autograd.grad(dense.sum(), list(factor.parameters()))
