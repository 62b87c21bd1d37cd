"""Exact MAP by variable elimination: dynamic programming on graphs of small treewidth."""

import heapq
import math

import numpy as np
from numpy.typing import NDArray

from neuralfactors.inference.factor_graph import Factor
from neuralfactors.inference.local_problem import LocalProblem


def elimination_order(problem: LocalProblem, max_entries: float) -> list[int] | None:
    """An order in which no table with more than `max_entries` arises, found greedily; None if this finds none."""
    neighbours: list[set[int]] = [set() for _ in problem.sizes]
    for scope, _ in problem.tables:
        for v in scope:
            neighbours[v].update(scope)
    for v, others in enumerate(neighbours):
        others.discard(v)

    def entries_of(v: int) -> int:
        return problem.sizes[v] * math.prod(problem.sizes[w] for w in neighbours[v])

    heap = [(entries_of(v), v) for v in range(len(problem.sizes))]
    heapq.heapify(heap)
    order: list[int] = []
    done = [False] * len(problem.sizes)
    while heap:
        entries, v = heapq.heappop(heap)
        if done[v] or entries != entries_of(v):
            continue  # from before its neighbourhood changed; the present number is in the heap too
        if entries > max_entries:
            return None
        done[v] = True
        order.append(v)
        for w in neighbours[v]:
            neighbours[w] |= neighbours[v]
            neighbours[w] -= {v, w}
        for w in neighbours[v]:
            heapq.heappush(heap, (entries_of(w), w))
    return order


def eliminate(problem: LocalProblem, order: list[int]) -> NDArray[np.int64]:
    """The best values, one for each variable; some labelling of score -inf where all are forbidden."""
    waiting: list[list[Factor]] = [[] for _ in problem.sizes]  # by the variable of the scope that goes first
    position = {v: k for k, v in enumerate(order)}
    for scope, table in problem.tables:
        waiting[min(scope, key=position.__getitem__)].append((scope, table))
    choices: list[tuple[tuple[int, ...], NDArray[np.int64]]] = []
    for v in order:
        scope = tuple(sorted({w for tied, _ in waiting[v] for w in tied if w != v}))
        total = np.zeros([problem.sizes[w] for w in scope] + [problem.sizes[v]])
        for tied, table in waiting[v]:
            total += _spread(table, tied, (*scope, v))
        waiting[v] = []  # the tables are no longer needed, and there may be many
        choices.append((scope, total.argmax(axis=-1)))
        if scope:
            waiting[min(scope, key=position.__getitem__)].append((scope, total.max(axis=-1)))
    y = np.zeros(len(problem.sizes), np.int64)
    for v, (scope, best) in zip(reversed(order), reversed(choices), strict=True):
        y[v] = best[tuple(y[list(scope)])]
    return y


def _spread(table: NDArray[np.float64], scope: tuple[int, ...], axes: tuple[int, ...]) -> NDArray[np.float64]:
    """The table with its axes in the order of `axes`, and one of length 1 for each of those it lacks."""
    present = [v for v in axes if v in scope]
    ordered = table.transpose([scope.index(v) for v in present])
    size = dict(zip(present, ordered.shape, strict=True))
    return ordered.reshape([size.get(v, 1) for v in axes])
