"""Families of invented MAP problems of many kinds, each problem made by a seed.

Rules of the solvers may be set while looking at `LOOKED_AT`; the families in `ASIDE` only judge them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
from graphs import complete, eight, four, hubs, lattice, near, regular, scale_free, small_world, sparse
from instances import planar_graph
from numpy.random import Generator
from numpy.typing import NDArray

from neuralfactors.inference import MapProblem

Array = NDArray[np.float64]


# Tables


def spins(couplings: Array) -> Array:
    """Tables of two labels: a coupling where they agree, less it where they differ."""
    return couplings[:, None, None] * np.array([[1.0, -1.0], [-1.0, 1.0]])


def potts(weights: Array, n_labels: int) -> Array:
    return weights[:, None, None] * np.eye(n_labels)


def signs(rng: Generator, n: int) -> Array:
    return rng.choice([-1.0, 1.0], n)


def truncated(n_labels: int, most: float) -> Array:
    """Distance of labels, up to a limit, as a penalty."""
    labels = np.arange(n_labels)
    return -np.minimum(np.abs(labels[:, None] - labels), most).astype(float)


def noise(rng: Generator, n: int, n_labels: int, size: float) -> Array:
    return size * rng.normal(size=(n, n_labels))


def tables(rng: Generator, n_edges: int, n_labels: int, size: float) -> Array:
    return size * rng.normal(size=(n_edges, n_labels, n_labels))


def between(rng: Generator, low: float, high: float) -> float:
    """A number whose logarithm is uniform."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def size(rng: Generator, low: int, high: int) -> int:
    return round(between(rng, low, high))


# Families that may be looked at


def potts_glass(rng: Generator) -> MapProblem:
    """Couplings of both signs on a random regular graph, two to six labels."""
    n, n_labels = size(rng, 50, 1500), int(rng.integers(2, 7))
    edges = regular(rng, n, int(rng.integers(3, 9)))
    weights = signs(rng, len(edges)) if rng.random() < 0.5 else rng.normal(size=len(edges))
    return MapProblem(noise(rng, n, n_labels, rng.choice([0.01, 0.1, 0.5])), potts(weights, n_labels), edges, [])


def spin_glass(rng: Generator) -> MapProblem:
    n = size(rng, 50, 2000)
    edges = regular(rng, n, int(rng.integers(3, 9)))
    return MapProblem(noise(rng, n, 2, rng.choice([0.01, 0.3])), spins(rng.normal(size=len(edges))), edges, [])


def frustrated_grid(rng: Generator) -> MapProblem:
    side = size(rng, 8, 50)
    edges = eight(side, side) if rng.random() < 0.5 else four(side, side, wrap=rng.random() < 0.5)
    return MapProblem(noise(rng, side**2, 2, 0.3), spins(rng.normal(size=len(edges))), edges, [])


def cube(rng: Generator) -> MapProblem:
    """Spins in three dimensions."""
    side = size(rng, 4, 12)
    edges = lattice((side,) * 3, [(1, 0, 0), (0, 1, 0), (0, 0, 1)], wrap=rng.random() < 0.5)
    couplings = signs(rng, len(edges)) if rng.random() < 0.5 else rng.normal(size=len(edges))
    return MapProblem(noise(rng, side**3, 2, 0.1), spins(couplings), edges, [])


def colouring(rng: Generator) -> MapProblem:
    """Neighbours should differ, near the number of neighbours at which they no longer can."""
    n, n_labels = size(rng, 40, 600), int(rng.integers(3, 7))
    edges = sparse(rng, n, {3: 4.7, 4: 8.5, 5: 12.0, 6: 17.0}[n_labels] * rng.uniform(0.8, 1.3))
    return MapProblem(noise(rng, n, n_labels, 0.01), potts(-np.ones(len(edges)), n_labels), edges, [])


def frequencies(rng: Generator) -> MapProblem:
    """Frequencies of neighbours should keep a distance, at a price for each edge."""
    n, n_labels = size(rng, 30, 300), int(rng.integers(6, 20))
    edges = near(rng, n, 2, rng.uniform(6, 14))
    distance = np.abs(np.subtract.outer(np.arange(n_labels), np.arange(n_labels)))
    close = (distance < rng.integers(1, 4, len(edges))[:, None, None]).astype(float)
    return MapProblem(noise(rng, n, n_labels, 0.05), -rng.exponential(1, (len(edges), 1, 1)) * close, edges, [])


def stereo(rng: Generator) -> MapProblem:
    height, width, n_labels = size(rng, 10, 40), size(rng, 10, 50), int(rng.integers(8, 33))
    edges = four(height, width)
    table = rng.uniform(0.3, 1) * truncated(n_labels, rng.integers(2, 6))
    weights = rng.choice([0.5, 1.0, 2.0], (len(edges), 1, 1))
    return MapProblem(-3 * np.abs(noise(rng, height * width, n_labels, 1)), weights * table, edges, [])


def denoising(rng: Generator) -> MapProblem:
    """A noisy picture with flat parts: neighbours should agree."""
    height, width, n_labels = size(rng, 15, 60), size(rng, 15, 60), int(rng.integers(2, 12))
    coarse = rng.integers(0, n_labels, (height // 6 + 1, width // 6 + 1))
    clean = np.kron(coarse, np.ones((6, 6), int))[:height, :width].ravel()
    edges = eight(height, width)
    unary = np.eye(n_labels)[clean] + noise(rng, height * width, n_labels, 1)
    return MapProblem(unary, potts(between(rng, 0.2, 1) * rng.random(len(edges)), n_labels), edges, [])


def planar(rng: Generator) -> MapProblem:
    n, n_labels = size(rng, 30, 600), int(rng.integers(2, 25))
    edges = planar_graph(n, rng)[1]
    return MapProblem(noise(rng, n, n_labels, 1), tables(rng, len(edges), n_labels, between(rng, 0.1, 3)), edges, [])


def hub(rng: Generator) -> MapProblem:
    n, n_labels = size(rng, 30, 400), int(rng.integers(2, 9))
    edges = hubs(rng, n, int(rng.integers(1, 6)))
    return MapProblem(noise(rng, n, n_labels, 1), tables(rng, len(edges), n_labels, between(rng, 0.1, 2)), edges, [])


def shortcuts(rng: Generator) -> MapProblem:
    """Random tables on a small-world graph."""
    n, n_labels = size(rng, 40, 600), int(rng.integers(2, 9))
    edges = small_world(rng, n, int(rng.integers(2, 5)), between(rng, 0.01, 0.3))
    return MapProblem(noise(rng, n, n_labels, 1), tables(rng, len(edges), n_labels, between(rng, 0.2, 2)), edges, [])


def forbidding(rng: Generator) -> MapProblem:
    """Random tables, many entries of which are forbidden."""
    n, n_labels = size(rng, 30, 300), int(rng.integers(4, 12))
    edges = sparse(rng, n, rng.uniform(2.5, 5))
    interaction = tables(rng, len(edges), n_labels, between(rng, 0.1, 1))
    interaction[rng.random(interaction.shape) < rng.uniform(0.1, 0.35)] = -np.inf
    return MapProblem(noise(rng, n, n_labels, 1), interaction, edges, [])


def ragged(rng: Generator) -> MapProblem:
    n = size(rng, 30, 300)
    counts = rng.integers(1, size(rng, 4, 40), n) + 1
    edges = sparse(rng, n, rng.uniform(3, 6))
    strength = between(rng, 0.2, 2)
    interaction = [strength * rng.normal(size=(counts[i], counts[j])) for i, j in edges]
    return MapProblem([rng.normal(size=count) for count in counts], interaction, edges, [])


def scaled(rng: Generator) -> MapProblem:
    """Random tables with large constants added, in units that are large or small."""
    n, n_labels = size(rng, 30, 300), int(rng.integers(2, 8))
    edges, unit = regular(rng, n, 4), 10.0 ** rng.integers(-8, 9)
    offsets = 10 * rng.normal(size=(len(edges), 1, 1))
    return MapProblem(
        unit * noise(rng, n, n_labels, 1), unit * (tables(rng, len(edges), n_labels, 1) + offsets), edges, []
    )


def matching(rng: Generator) -> MapProblem:
    """Nodes choose among neighbours in a list; no two may choose the same."""
    n, n_labels = size(rng, 8, 40), int(rng.integers(5, 12))
    chosen = np.stack([rng.permutation(round(1.3 * n) + n_labels)[:n_labels] for _ in range(n)])
    edges = complete(n)
    equal = chosen[edges[:, 0]][:, :, None] == chosen[edges[:, 1]][:, None, :]
    meets = equal.any(axis=(1, 2))
    return MapProblem(noise(rng, n, n_labels, 1), np.where(equal, -np.inf, 0.0)[meets], edges[meets], [])


def protein(rng: Generator) -> MapProblem:
    """Side chains: many or few rotamers, neighbours in space, steep penalties where two clash."""
    n = size(rng, 30, 150)
    counts = rng.choice([2, 3, 4, 9, 18, 36, 60], n)
    edges = near(rng, n, 3, rng.uniform(5, 9))
    interaction = []
    for i, j in edges:
        shape = (counts[i], counts[j])
        clash = rng.random(shape) < 0.1
        interaction.append(-np.where(clash, rng.exponential(20, shape), rng.exponential(0.5, shape)))
    return MapProblem([-3 * rng.exponential(1, count) for count in counts], interaction, edges, [])


# Families that only judge


def bipartite(rng: Generator) -> MapProblem:
    """Two layers of spins, every pair of one and the other coupled."""
    n = size(rng, 10, 60)
    edges = np.stack([axis.ravel() for axis in np.meshgrid(np.arange(n), n + np.arange(n))], 1)
    return MapProblem(noise(rng, 2 * n, 2, 1), spins(rng.normal(size=len(edges))), edges, [])


def clustering(rng: Generator) -> MapProblem:
    """Correlation clustering: every pair says how much it wants to agree, or not to."""
    n, n_labels = size(rng, 12, 80), int(rng.integers(3, 10))
    truth, edges = rng.integers(0, n_labels, n), complete(n)
    alike = np.where(truth[edges[:, 0]] == truth[edges[:, 1]], 1.0, -1.0)
    return MapProblem(noise(rng, n, n_labels, 0.01), potts(alike + rng.normal(0, 2, len(edges)), n_labels), edges, [])


def clock(rng: Generator) -> MapProblem:
    """Angles on a grid, each neighbour at an angle of its own to the next: phase unwrapping with noise."""
    side, n_labels = size(rng, 8, 40), int(rng.integers(6, 17))
    edges = four(side, side)
    angles = 2 * np.pi * np.arange(n_labels) / n_labels
    shift = rng.uniform(0, 2 * np.pi, (len(edges), 1, 1)) * rng.choice([0.2, 1.0])
    return MapProblem(noise(rng, side**2, n_labels, 0.1), np.cos(angles[:, None] - angles + shift), edges, [])


def triangles(rng: Generator) -> MapProblem:
    """Three labels that repel on a triangular lattice, in a random field."""
    side = size(rng, 8, 40)
    edges = lattice((side, side), [(0, 1), (1, 0), (1, -1)])
    weights = -rng.uniform(0.5, 1.5, len(edges))
    n_labels = int(rng.integers(2, 4))
    return MapProblem(noise(rng, side**2, n_labels, 0.2), potts(weights, n_labels), edges, [])


def deconvolution(rng: Generator) -> MapProblem:
    """A binary picture that was blurred: near pixels repel each other."""
    side = size(rng, 10, 30)
    truth = np.kron(rng.integers(0, 2, (side // 4 + 1, side // 4 + 1)), np.ones((4, 4)))[:side, :side]
    reach = [(a, b) for a, b in itertools.product(range(-2, 3), repeat=2)]
    blurred = sum(np.roll(truth, step, (0, 1)) for step in reach) / 25 + rng.normal(0, 0.05, truth.shape)
    fit = sum(np.roll(blurred, (-a, -b), (0, 1)) for a, b in reach) / 25
    pairs = [(a, b) for a, b in itertools.product(range(-4, 5), repeat=2) if (a, b) > (0, 0)]
    edges, tables_ = [], []
    for a, b in pairs:
        found = lattice((side, side), [(a, b)])
        weight = 2 * (5 - abs(a)) * (5 - abs(b)) / 625
        edges.append(found)
        tables_.append(np.tile([[0.0, 0.0], [0.0, -weight]], (len(found), 1, 1)))
    unary = np.stack([np.zeros(side**2), (2 * fit - 1 / 25).ravel()], 1)
    return MapProblem(20 * unary, 20 * np.concatenate(tables_), np.concatenate(edges), [])


def flow(rng: Generator) -> MapProblem:
    """Motion: labels are vectors of a small window, neighbours should move alike."""
    height, width, reach = size(rng, 8, 25), size(rng, 8, 25), int(rng.integers(1, 4))
    vectors = np.array(list(itertools.product(range(-reach, reach + 1), repeat=2)))
    distance = np.abs(vectors[:, None] - vectors).sum(axis=2)
    edges = four(height, width)
    table = -between(rng, 0.2, 1) * np.minimum(distance, 3)
    return MapProblem(
        -np.abs(noise(rng, height * width, len(vectors), 2)), np.tile(table, (len(edges), 1, 1)), edges, []
    )


def scale_free_tables(rng: Generator) -> MapProblem:
    n, n_labels = size(rng, 30, 500), int(rng.integers(2, 10))
    edges = scale_free(rng, n, int(rng.integers(1, 5)))
    return MapProblem(noise(rng, n, n_labels, 1), tables(rng, len(edges), n_labels, between(rng, 0.2, 2)), edges, [])


def squares(rng: Generator) -> MapProblem:
    """Latin squares: neighbours in a row or column must differ, with preferences."""
    n = int(rng.integers(4, 10))
    cells = np.arange(n * n).reshape(n, n)
    lines = [*cells, *cells.T]
    edges = np.concatenate([line[complete(n)] for line in lines])
    table = np.where(np.eye(n) > 0, -np.inf if rng.random() < 0.5 else -3.0, 0.0)
    return MapProblem(noise(rng, n * n, n, 1), np.tile(table, (len(edges), 1, 1)), edges, [])


def many_labels(rng: Generator) -> MapProblem:
    """Parts of a figure: few nodes, many places for each, all pairs joined."""
    n, n_labels = int(rng.integers(6, 14)), int(rng.integers(40, 120))
    places = rng.random((n, n_labels, 2))
    edges = complete(n)
    wanted = rng.normal(0, 0.3, (len(edges), 1, 1, 2))
    offset = places[edges[:, 0]][:, :, None] - places[edges[:, 1]][:, None, :]
    return MapProblem(noise(rng, n, n_labels, 1), -5 * np.linalg.norm(offset - wanted, axis=3), edges, [])


def cliques(rng: Generator) -> MapProblem:
    """A ring of small cliques, whose tables are strong inside and weak between."""
    n, k, n_labels = size(rng, 8, 80), int(rng.integers(3, 7)), int(rng.integers(2, 7))
    inner = np.concatenate([i * k + complete(k) for i in range(n)])
    ring = np.stack([np.arange(n) * k, (np.arange(n) * k + k + 1) % (n * k)], 1)
    interaction = [tables(rng, len(inner), n_labels, 2), tables(rng, n, n_labels, 0.5)]
    return MapProblem(noise(rng, n * k, n_labels, 1), np.concatenate(interaction), np.concatenate([inner, ring]), [])


Family = Callable[[Generator], MapProblem]
LOOKED_AT: tuple[Family, ...] = (
    potts_glass,
    spin_glass,
    frustrated_grid,
    cube,
    colouring,
    frequencies,
    stereo,
    denoising,
    planar,
    hub,
    shortcuts,
    forbidding,
    ragged,
    scaled,
    matching,
    protein,
)
ASIDE: tuple[Family, ...] = (
    bipartite,
    clustering,
    clock,
    triangles,
    deconvolution,
    flow,
    scale_free_tables,
    squares,
    many_labels,
    cliques,
)


def invent(family: Family, seed: int) -> MapProblem:
    """The problem of a family with this number."""
    return family(np.random.default_rng([seed, *family.__name__.encode()]))
