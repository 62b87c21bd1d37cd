"""Method `exact`: MAP labellings with a proof, whatever the graph."""

import time

import numpy as np
from numpy.typing import NDArray

from neuralfactors.inference._general_solvers import SOLVERS, find_solver, run_solver
from neuralfactors.inference._kernel import judge, solve_in_kernel
from neuralfactors.inference._local_problem import Answer, LocalProblem, eliminate, split
from neuralfactors.inference._problem import Problem
from neuralfactors.inference._result import BatchResult, Result
from neuralfactors.inference._validate import Options

_MAX_ENTRIES = 2**20  # of a table in variable elimination
_PRECISION = 1e-9  # of the relaxation, relative to what the labelling gives up: what is left open is searched


def solve_exact(
    problem: Problem,
    init: NDArray[np.int64] | None = None,
    *,
    tol: float = Options.tol,
    time_limit: float = np.inf,
    solver: str | None = None,
    n_threads: int = 1,
) -> BatchResult:
    """The best labellings, proved.

    Method "auto" proves many of them by itself. For the other graphs, labels that a relaxation proves to be of no use
    for anything better than the best labelling known are removed, nodes with one label left are fixed, and what remains
    falls into connected components. Each is solved by variable elimination if its treewidth is small, otherwise by a
    general solver from the extra `neuralfactors[exact]`. toulbar2 works with whole numbers fine enough for a proof;
    HiGHS keeps to tolerances, which leave the status "within_tol".

    Parameters
    ----------
    problem : Problem
        A batch of graphs.
    init : ndarray of shape (n_nodes,), default=None
        Labelling to start from.
    tol : float, default=1e-4
        As in `solve`; it decides the status of a search that the time limit ended, and does not shorten the search.
    time_limit : float, default=infinity
        Seconds for each graph, after which the best labelling so far is returned, with its bound; checked between the
        stages.
    solver : {"toulbar2", "highs"}, default=None
        The general solver; by default the first that is installed. toulbar2 was the faster one on all the learned
        problems that we measured, by up to thirty times.
    n_threads : int, default=1
        For method "auto"; the rest is done one graph after the other.

    Raises
    ------
    ImportError
        If a component needs a general solver and none is installed.
    """
    if solver is not None and solver not in SOLVERS:
        raise ValueError(f"solver must be one of {', '.join(SOLVERS)}, got {solver!r}")
    began = time.monotonic()
    starts = solve_in_kernel(problem, Options(tol=0.0), init, n_threads=n_threads)
    left = time_limit - (time.monotonic() - began) / max(1, len(starts))
    results = [
        r if r.status in ("optimal", "infeasible") else _Search(problem.graph(g), r, tol, left).run(solver)
        for g, r in enumerate(starts)
    ]
    return BatchResult.join(results, problem.node_ptr)


class _Search:
    """The labels still in play, the best labelling and the best bound of one graph."""

    def __init__(self, problem: Problem, start: Result, tol: float, time_limit: float):
        self.problem = problem
        self.tol = tol
        self.equal = 0.0  # scores closer than this are equal but for rounding
        self.deadline = time.monotonic() + time_limit
        self.allowed = [np.isfinite(row) for row in problem.rows()]  # (V), of the labels of each node
        self.labels = start.labels
        self.score = -np.inf
        self.bound = start.bound
        self.iterations = start.iterations
        self.offer(start.labels)

    def run(self, solver: str | None) -> Result:
        """The labelling, and what is proved about it."""
        self.relax()
        if not self.finished:
            self.finish(solver)
        score, _, status = judge(self.problem, self.labels, self.bound, self.tol)
        return Result(self.labels, score, max(self.bound, score), status, self.iterations)

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
        score, rounding, _ = judge(self.problem, labels)
        if score > self.score:
            self.labels, self.score, self.equal = labels, score, rounding

    def relax(self) -> None:
        """A bound by message passing, and the labels removed that it shows to be of no use."""
        options = Options("trws", tol=_PRECISION, time_limit=self.left, reduced_costs=True)
        r = solve_in_kernel(self.problem, options, self.labels)[0]
        self.offer(r.labels)
        self.iterations += r.iterations
        self.bound = max(self.score, min(self.bound, r.bound))
        if self.score > -np.inf and r.reduced_costs is not None:
            for allowed, costs, label in zip(self.allowed, r.reduced_costs, self.labels, strict=True):
                allowed &= r.bound - costs >= self.score - self.equal
                allowed[label] = True

    def finish(self, solver: str | None) -> None:
        """Solves what is left, one connected component after the other."""
        constant, parts = split(self.problem.tables(), self.allowed)
        labels = np.array([row.argmax() for row in self.allowed], np.int64)  # right for the nodes with one label left
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
        values = eliminate(problem, _MAX_ENTRIES)
        if values is not None:
            return Answer(values, problem.score(values))
        name = find_solver(solver)
        return run_solver(name, problem, start, self.left) if self.left > 0 else Answer(None, np.inf)
