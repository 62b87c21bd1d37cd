"""Method `exact`: MAP labellings with a proof, whatever the graph."""

import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralfactors.inference.elimination import eliminate, elimination_order
from neuralfactors.inference.factor_graph import FactorGraph, make_factor_graph
from neuralfactors.inference.general_solvers import SOLVERS, find_solver, run_solver
from neuralfactors.inference.higher_order import solve_factor_graph, solve_factors
from neuralfactors.inference.kernel import solve_in_kernel
from neuralfactors.inference.local_problem import Answer, LocalProblem, split
from neuralfactors.inference.result import Result, Status
from neuralfactors.inference.validate import Problem

_MAX_ENTRIES = 2**20  # of a table in variable elimination
_PRECISION = 1e-9  # of the relaxation, relative to what the labelling gives up: what is left open is searched


def solve_exact(
    problem: Problem,
    factors: Sequence[tuple[ArrayLike, ArrayLike]] = (),
    *,
    init: NDArray[np.int64] | None = None,
    tol: float = 1e-4,
    time_limit: float = np.inf,
    solver: str | None = None,
) -> Result:
    """The best labelling of one graph, proved.

    Labels that a relaxation proves to be of no use for anything better than the best labelling known are removed, nodes
    with one label left are fixed, and what remains falls into connected components. Each is solved by variable
    elimination if its treewidth is small, otherwise by a general solver from the extra `neuralfactors[exact]`. toulbar2
    works with whole numbers fine enough for a proof; HiGHS keeps to tolerances, which leave the status "within_tol".

    Parameters
    ----------
    problem : Problem
        One graph.
    factors : sequence of (nodes, table)
        As in `solve_factors`.
    init : ndarray of shape (n_nodes,), optional
        Labelling to start from.
    tol : float, default 1e-4
        As in `solve`; it decides the status of a search that the time limit ended, and does not shorten the search.
    time_limit : float, default infinity
        Seconds after which the best labelling so far is returned, with its bound; checked between the stages.
    solver : {"toulbar2", "highs"}, optional
        The general solver; by default the first that is installed. toulbar2 was the faster one on all the learned
        problems that we measured, by up to thirty times.

    Raises
    ------
    ImportError
        If a component needs a general solver and none is installed.
    """
    if solver is not None and solver not in SOLVERS:
        raise ValueError(f"solver must be one of {', '.join(SOLVERS)}, got {solver!r}")
    search = _Search(make_factor_graph(problem, factors), tol, time_limit)
    search.start(problem, factors, init)
    search.relax()
    if not search.finished:
        search.finish(solver)
    return search.result()


class _Search:
    """The labels still in play, the best labelling and the best bound."""

    def __init__(self, graph: FactorGraph, tol: float, time_limit: float):
        self.graph = graph
        self.tol = tol
        self.equal = 0.0  # scores closer than this are equal but for rounding
        self.deadline = time.monotonic() + time_limit
        self.allowed = np.isfinite(graph.unary)  # (V, L)
        self.labels = np.zeros(len(graph.unary), np.int64)
        self.score = -np.inf
        self.bound = np.inf
        self.iterations = 0

    @property
    def left(self) -> float:
        """Seconds until the deadline, at least 0."""
        return max(0.0, self.deadline - time.monotonic())

    @property
    def finished(self) -> bool:
        """Whether nothing better can be found, or no time is left."""
        return self.bound == -np.inf or self.bound - self.score <= self.equal or self.left == 0

    def offer(self, labels: NDArray[np.int64]) -> None:
        """Takes the labelling if it is better than the one at hand."""
        score = self.graph.score(labels)
        if score > self.score:
            self.labels, self.score, self.equal = labels, score, self.graph.rounding(labels)

    def start(
        self, problem: Problem, factors: Sequence[tuple[ArrayLike, ArrayLike]], init: NDArray[np.int64] | None
    ) -> None:
        """A good labelling: the better it is, the more labels can be removed."""
        if init is not None:
            self.offer(init)
        if factors:
            found = solve_factors(problem, factors, init=init, method="auto", tol=0)
        else:
            found = solve_in_kernel(
                problem, init, method="auto", tol=0, seed=0, max_iter=0, reduced_costs=False, n_threads=1
            )[0]
        self.offer(found.labels)
        self.iterations += found.iterations

    def relax(self) -> None:
        """A bound by message passing in double precision, and the labels removed that it shows to be of no use."""
        init = self.labels if self.score > -np.inf else None
        r = solve_factor_graph(self.graph, "trws", init=init, tol=_PRECISION, max_seconds=self.left, reduced_costs=True)
        self.offer(r.labels)
        self.iterations += r.iterations
        self.bound = max(self.score, min(self.bound, r.bound))
        if self.score > -np.inf and r.reduced_costs is not None:
            self.allowed &= r.bound - r.reduced_costs >= self.score - self.equal
            self.allowed[np.arange(len(self.labels)), self.labels] = True

    def finish(self, solver: str | None) -> None:
        """Solves what is left, one connected component after the other."""
        constant, parts = split(self.graph, self.allowed)
        labels = self.allowed.argmax(axis=1)  # right for the nodes with one label left
        bound = constant
        for part in parts:
            if bound == -np.inf:
                break
            start = part.values(self.labels) if self.score > -np.inf else None
            answer = self._solve_part(part.problem, start, solver)
            values = answer.values if answer.values is not None else start
            if values is not None:
                labels[part.nodes] = part.labels(values)
            bound += answer.bound
        self.offer(labels)
        self.bound = max(self.score, min(self.bound, bound))

    def _solve_part(self, problem: LocalProblem, start: NDArray[np.int64] | None, solver: str | None) -> Answer:
        order = elimination_order(problem, _MAX_ENTRIES)
        if order is not None:
            values = eliminate(problem, order)
            return Answer(values, problem.score(values))
        name = find_solver(solver)
        return run_solver(name, problem, start, self.left) if self.left > 0 else Answer(None, np.inf)

    def result(self) -> Result:
        """The labelling, and what is proved about it."""
        status: Status
        if self.score == -np.inf:
            status = "infeasible" if self.bound == -np.inf else "unresolved"
        else:
            status = self.graph.status(self.labels, self.bound - self.score, self.tol)
        return Result(self.labels, self.score, max(self.bound, self.score), status, self.iterations)
