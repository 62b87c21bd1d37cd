"""Random MAP problems and the slow, obvious answers that the solvers are compared with."""

import itertools
from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st

from neuralfactors.inference import _exact as exact
from neuralfactors.inference._kernel import solve_in_kernel
from neuralfactors.inference._local_problem import LocalProblem
from neuralfactors.inference._validate import Options

SLACK = 1e-9  # of the magnitude: what float64 sums may differ by when they are taken in another order


@dataclass(frozen=True)
class MapProblem:
    unary: np.ndarray
    interaction: np.ndarray
    edges: np.ndarray

    @property
    def arrays(self):
        return self.unary, self.interaction, self.edges

    @property
    def magnitude(self):
        values = [a[np.isfinite(a)] for a in (self.unary, self.interaction)]
        return sum(float(np.abs(v).sum()) for v in values)

    def score(self, y):
        y = np.asarray(y, dtype=int)
        u, v = self.edges.T
        rows = self.unary[np.arange(len(y)), y].astype(np.float64)
        return float(rows.sum() + self.interaction[np.arange(len(u)), y[u], y[v]].astype(np.float64).sum())

    def best_and_used(self, y):
        """The best entry of every row and table, and the one that the labelling uses."""
        (u, v), nodes, edges = self.edges.T, np.arange(len(y)), np.arange(len(self.edges))
        best = [*self.unary.max(axis=1), *self.interaction.max(axis=(1, 2))]
        used = [*self.unary[nodes, y], *self.interaction[edges, y[u], y[v]]]
        return np.array(best, np.float64), np.array(used, np.float64)

    def rounding(self, y):
        """How much more than an optimal labelling `y` another may score; the formula of `Result`."""
        best, used = self.best_and_used(y)
        return len(best) * 2.0**-48 * float(np.maximum(np.abs(best), np.abs(used)).sum())

    def regret(self, y):
        """What the tolerance is relative to; the formula of `solve`."""
        best, used = self.best_and_used(y)
        regrets = np.sort((best - used)[best > used])
        return float(np.minimum(regrets, 100 * regrets[len(regrets) // 2]).sum()) if len(regrets) else 0.0


def brute_force(problem):
    n_nodes, n_labels = problem.unary.shape
    return max(problem.score(y) for y in itertools.product(range(n_labels), repeat=n_nodes))


def make_problem(rng, n_nodes, n_labels, edges, *, strength=1.0, dtype=np.float64, integer=False):
    edges = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    draw = (lambda size: rng.integers(-2, 3, size)) if integer else rng.standard_normal
    unary = np.asarray(draw((n_nodes, n_labels)), dtype)
    interaction = np.asarray(strength * draw((len(edges), n_labels, n_labels)), dtype)
    return MapProblem(unary, interaction, edges)


def random_edges(rng, n_nodes, n_edges):
    """Any pairs: parallel edges, both orientations and self-loops included."""
    return rng.integers(0, n_nodes, (n_edges, 2)) if n_nodes else np.zeros((0, 2), np.int64)


def random_tree(rng, n_nodes):
    """A forest in random order and orientation."""
    parents = [(int(rng.integers(0, i)), i) for i in range(1, n_nodes) if rng.random() < 0.9]
    order = rng.permutation(n_nodes)
    edges = [(order[a], order[b]) if rng.random() < 0.5 else (order[b], order[a]) for a, b in parents]
    return np.array(edges, np.int64).reshape(-1, 2)


def planar_graph(rng, n_nodes):
    """Edges of a Delaunay triangulation: about three for each node."""
    from scipy.spatial import Delaunay

    triangles = Delaunay(rng.random((n_nodes, 2))).simplices
    pairs = np.sort(np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]), axis=1)
    return np.unique(pairs, axis=0).astype(np.int64)


@st.composite
def problems(draw, max_nodes=5, max_labels=4, forbid=False, edges_of=None):
    """Small problems of every kind: sizes, scales, offsets, ties, precision, parallel edges, self-loops."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_nodes = draw(st.integers(0, max_nodes))
    n_labels = draw(st.integers(1, max_labels))
    edges = edges_of(rng, n_nodes) if edges_of else random_edges(rng, n_nodes, draw(st.integers(0, 2 * n_nodes)))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    p = make_problem(
        rng, n_nodes, n_labels, edges, strength=draw(st.sampled_from([0.2, 1.0, 5.0])), integer=draw(st.booleans())
    )
    scale = draw(st.sampled_from([1e-12, 1e-3, 1.0, 1e4, 1e12]))
    offset = draw(st.sampled_from([0.0, 0.0, 1e3])) * rng.standard_normal((len(edges), 1, 1))
    unary, interaction = (scale * p.unary).astype(dtype), (scale * (p.interaction + offset)).astype(dtype)
    if forbid:
        share = draw(st.sampled_from([0.0, 0.2, 0.7]))
        unary[rng.random(unary.shape) < share / 2] = -np.inf
        interaction[rng.random(interaction.shape) < share] = -np.inf
    return MapProblem(unary, interaction, p.edges)


def random_graph(seed, n_nodes, n_labels, n_edges, strength=1.0):
    """A problem, and the pairs of its edges; large strengths make the relaxation loose."""
    rng = np.random.default_rng(seed)
    edges = np.array([rng.choice(n_nodes, 2, replace=False) for _ in range(n_edges)])
    tables = strength * rng.normal(size=(n_edges, n_labels, n_labels))
    return rng.normal(size=(n_nodes, n_labels)), tables, edges


def random_local(seed, n_variables, max_size, n_tables, forbid=0.0, scale=1.0):
    """A local problem whose variables have different numbers of values."""
    rng = np.random.default_rng(seed)
    sizes = [int(size) for size in rng.integers(1, max_size + 1, n_variables)]
    scopes = [(v,) for v in range(n_variables)]
    scopes += [tuple(rng.permutation(n_variables)[: rng.integers(1, min(4, n_variables) + 1)]) for _ in range(n_tables)]
    tables = [scale * rng.normal(size=[sizes[v] for v in scope]) for scope in scopes]
    for table in tables:
        table[rng.random(table.shape) < forbid] = -np.inf
    return LocalProblem(sizes, list(zip(scopes, tables, strict=True)))


def best_score(problem):
    return max(problem.score(np.array(y)) for y in itertools.product(*map(range, problem.sizes)))


def leave_all_to_the_solver(monkeypatch, but_small_ones=False):
    """Method "exact" with a poor start and no relaxation, and without elimination unless `but_small_ones`."""

    def start(problem, options, init=None, n_threads=1):
        found = solve_in_kernel(problem, Options("icm"), init, n_threads=n_threads)
        return replace(found, reduced_costs=np.zeros(problem.unary.shape)) if options.reduced_costs else found

    monkeypatch.setattr(exact, "solve_in_kernel", start)
    if not but_small_ones:
        monkeypatch.setattr(exact, "_MAX_ENTRIES", 0)
