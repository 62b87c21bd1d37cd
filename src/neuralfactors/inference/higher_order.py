"""MAP inference with factors over any number of nodes."""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralfactors.inference import _kernels
from neuralfactors.inference.factor_graph import FactorGraph, make_factor_graph
from neuralfactors.inference.result import STATUSES, Result
from neuralfactors.inference.validate import Problem

FACTOR_METHODS = ("auto", "trws", "bp", "icm", "exact", "exhaustive")
_MAX_LABELLINGS = 1e8


def solve_factors(
    problem: Problem,
    factors: Sequence[tuple[ArrayLike, ArrayLike]],
    *,
    init: NDArray[np.int64] | None = None,
    method: str = "auto",
    tol: float = 1e-4,
    max_iter: int = 0,
    reduced_costs: bool = False,
    time_limit: float = np.inf,
    seed: int = 0,  # noqa: ARG001  the methods below draw no random numbers
) -> Result:
    """The best labelling found of one graph whose score has `factors` besides those of its nodes and edges.

    Parameters
    ----------
    problem : Problem
        One graph.
    factors : sequence of (nodes, table)
        Distinct node numbers, and a table of shape (n_labels,) * len(nodes) in which axis k is the label of nodes[k].
        Factors over one node or two are welcome and simply add.
    init : ndarray of shape (n_nodes,), optional
        Labelling to start from; the result is never below it.
    method : str, default "auto"
        - "trws": sequential reweighted message passing (SRMP), TRW-S for factors of any order, with a dual bound. A
          factor within the scope of another is added to it, which makes the bound tighter.
        - "bp": damped max-product. "icm": single-node moves.
        - "auto": "trws" and, where that leaves a gap, "bp" from its labelling; every labelling is polished by "icm".
        - "exhaustive": every labelling is tried.
    tol : float, default 1e-4
        As in `solve`.
    max_iter : int, default 0
        Sweeps; 0 for the method's own budget.
    reduced_costs : bool, default False
        Whether to return a bound for each label of each node ("auto" and "trws").
    time_limit : float, default infinity
        Seconds after which no sweep is begun.
    seed : int
        Not used: all of these methods are deterministic.
    """
    if method not in FACTOR_METHODS:
        raise ValueError(f"method {method!r} takes no factors; those that do are {', '.join(FACTOR_METHODS)}")
    graph = make_factor_graph(problem, factors)
    if method == "exhaustive" and problem.n_labels**problem.n_nodes > _MAX_LABELLINGS:
        raise ValueError(f"method 'exhaustive' takes at most {_MAX_LABELLINGS:g} labellings, but this problem has more")
    if method == "auto":
        return _solve_auto(graph, init, tol, max_iter, time_limit, reduced_costs)
    return solve_factor_graph(
        graph, method, init=init, tol=tol, max_iter=max_iter, max_seconds=time_limit, reduced_costs=reduced_costs
    )


def solve_factor_graph(
    graph: FactorGraph,
    method: str,
    *,
    init: NDArray[np.int64] | None = None,
    tol: float = 1e-4,
    max_iter: int = 0,
    max_seconds: float = np.inf,
    reduced_costs: bool = False,
) -> Result:
    """The result of one of the kernel's methods for factor graphs: "trws", "bp", "icm" or "exhaustive"."""
    labels = np.zeros(len(graph.unary), np.int64)
    costs = np.zeros(graph.unary.shape) if reduced_costs else None
    score, bound, status, iterations = _kernels.solve_factor_graph(
        *graph.arrays, method, max_iter, tol, max_seconds, init, labels, costs
    )
    return Result(labels, score, bound, STATUSES[status], iterations, costs)


def _solve_auto(
    graph: FactorGraph,
    init: NDArray[np.int64] | None,
    tol: float,
    max_iter: int,
    time_limit: float,
    reduced_costs: bool,
) -> Result:
    began = time.monotonic()
    limits: dict[str, Any] = {"tol": tol, "max_iter": max_iter}
    relaxed = solve_factor_graph(
        graph, "trws", init=init, max_seconds=time_limit, reduced_costs=reduced_costs, **limits
    )
    left = time_limit - (time.monotonic() - began)
    if relaxed.status in ("optimal", "infeasible") or left <= 0:
        return relaxed
    polished = solve_factor_graph(graph, "bp", init=relaxed.labels, max_seconds=left, **limits)
    bound = max(relaxed.bound, polished.score)
    status = polished.status
    if status != "unresolved":
        status = graph.status(polished.labels, bound - polished.score, tol)
    iterations = relaxed.iterations + polished.iterations
    return Result(polished.labels, polished.score, bound, status, iterations, relaxed.reduced_costs)
