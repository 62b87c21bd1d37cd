"""What is left of a factor graph when labels are removed: independent problems, each with its own sets of values."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralfactors.inference import _kernels
from neuralfactors.inference._factor_graph import Factor, Factors


@dataclass
class LocalProblem:
    """A small problem of its own: variable v takes one of sizes[v] values, and the scores of all tables add."""

    sizes: list[int]
    tables: list[Factor] = field(default_factory=list)  # of variables in place of nodes

    def packed(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Numbers of values, and the tables one after the other with their variables; see `Factors`."""
        tables = Factors.pack(self.tables)
        return np.array(self.sizes, np.int64), tables.ptr, tables.nodes, tables.tables

    @classmethod
    def unpack(cls, sizes: ArrayLike, *tables: Any) -> Self:
        """What `packed` was made of."""
        own = np.asarray(sizes).tolist()
        return cls(own, list(Factors(*tables).unpack(own)))

    def score(self, y: NDArray[np.int64]) -> float:
        """Sum of the entries that the values `y` select."""
        return math.fsum(table[tuple(y[list(scope)])] for scope, table in self.tables)


@dataclass(frozen=True)
class Answer:
    """What a solver says of a local problem."""

    values: NDArray[np.int64] | None  # None: it found nothing better than what it was given
    bound: float  # no labelling scores more; -inf if none is allowed


@dataclass(frozen=True)
class Part:
    """A connected component; value k of its variable v stands for label domains[v][k] of node nodes[v]."""

    nodes: NDArray[np.int64]
    domains: list[NDArray[np.int64]]
    problem: LocalProblem

    def labels(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Labels of `nodes`, given the values of the local problem."""
        return np.array([domain[k] for domain, k in zip(self.domains, values, strict=True)], np.int64)

    def values(self, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """Values of the local problem, given labels of the whole graph that are all in play."""
        places = [np.searchsorted(domain, labels[i]) for domain, i in zip(self.domains, self.nodes, strict=True)]
        return np.array(places, np.int64)


def eliminate(problem: LocalProblem, max_entries: float) -> NDArray[np.int64] | None:
    """The best values, by elimination in an order that is found greedily, or None if a table had > `max_entries`.

    Some labelling of score -inf where all are forbidden.
    """
    values = np.zeros(len(problem.sizes), np.int64)
    return values if _kernels.eliminate(*problem.packed(), max_entries, values) else None


def split(tables: Sequence[Factor], allowed: Sequence[NDArray[np.bool_]]) -> tuple[float, list[Part]]:
    """The score of the nodes with one label left, and the connected components of the others, given all tables.

    The best score of a labelling that uses only `allowed` labels, a mask for each node, is the sum of the former and of
    the best scores of the components. A node without any allowed label makes all of it -inf.
    """
    domains = [np.flatnonzero(row) for row in allowed]
    if any(len(domain) == 0 for domain in domains):
        return -np.inf, []
    conditioned = [_condition(factor, domains) for factor in tables]
    constant = sum(float(table) for scope, table in conditioned if not scope)
    free = np.flatnonzero([len(domain) > 1 for domain in domains])
    component = _components(len(allowed), [scope for scope, _ in conditioned])
    members: dict[int, list[int]] = {}
    for i in free.tolist():
        members.setdefault(int(component[i]), []).append(i)
    parts = {
        c: Part(np.array(nodes), [domains[i] for i in nodes], LocalProblem([len(domains[i]) for i in nodes]))
        for c, nodes in members.items()
    }
    local = {i: v for nodes in members.values() for v, i in enumerate(nodes)}
    for scope, table in conditioned:
        if scope:
            parts[int(component[scope[0]])].problem.tables.append((tuple(local[i] for i in scope), table))
    return constant, list(parts.values())


def _condition(factor: Factor, domains: list[NDArray[np.int64]]) -> Factor:
    """The factor for the labels still in play, as a factor of those of its nodes that have a choice."""
    scope, table = factor
    chosen = table[np.ix_(*(domains[i] for i in scope))]
    return tuple(i for i in scope if len(domains[i]) > 1), np.squeeze(chosen)


def _components(n_nodes: int, scopes: list[tuple[int, ...]]) -> NDArray[np.int32]:
    """The number of the component of each node; factors tie all of their nodes to the first."""
    from scipy.sparse import coo_array  # takes longer to import than most problems to solve
    from scipy.sparse.csgraph import connected_components

    pairs = [(scope[0], i) for scope in scopes for i in scope[1:]]
    i, j = np.array(pairs, np.int64).reshape(-1, 2).T
    links = coo_array((np.ones(len(i), np.int8), (i, j)), shape=(n_nodes, n_nodes))
    component: NDArray[np.int32] = connected_components(links, directed=False)[1]
    return component
