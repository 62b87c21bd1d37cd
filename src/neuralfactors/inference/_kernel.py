"""The call into the compiled kernels: allocates what they fill."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralfactors.inference import _kernels
from neuralfactors.inference._problem import Problem, split_rows
from neuralfactors.inference._result import STATUSES, BatchResult, Result, Status
from neuralfactors.inference._validate import Options, share_work

Progress = Callable[[float, float, float], object]  # seconds, score, bound
_STATUSES = np.array(STATUSES)


def solve_in_kernel(
    problem: Problem,
    options: Options,
    init: NDArray[np.int64] | None = None,
    *,
    n_threads: int = 1,
    callback: Progress | None = None,
) -> BatchResult:
    """Labellings of all graphs by a method of the kernel, which trusts the shapes of `problem`: it is checked already.

    So are the options, of any method but "exact". Of `n_threads`, fewer are used where graphs are small forests. A
    `callback`, as in `solve`, is for a problem of one graph.
    """
    labels, score, bound, status, iterations, costs = _solve(problem, options, init, n_threads, callback)
    return BatchResult(labels, score, bound, _STATUSES.take(status), iterations, problem.node_ptr, costs)


def solve_graph_in_kernel(
    problem: Problem,
    options: Options,
    init: NDArray[np.int64] | None = None,
    callback: Progress | None = None,
) -> Result:
    """The same for a problem of one graph, without a batch on the way, which small problems would notice."""
    labels, score, bound, status, iterations, costs = _solve(problem, options, init, 1, callback)
    return Result(labels, score.item(), bound.item(), STATUSES[status.item()], iterations.item(), costs)


def _solve(
    problem: Problem, options: Options, init: NDArray[np.int64] | None, n_threads: int, callback: Progress | None
) -> tuple[Any, ...]:
    """Arrays of labels, scores, bounds, statuses as numbers, iterations and reduced costs."""
    n_graphs = len(problem.node_ptr) - 1
    labels = np.zeros(problem.n_nodes, np.int64)
    score, bound = np.zeros(n_graphs), np.zeros(n_graphs)
    status, iterations = np.zeros(n_graphs, np.int8), np.zeros(n_graphs, np.int32)
    costs = np.zeros(problem.unary.shape) if options.reduced_costs else None
    flat = None if costs is None else costs.ravel()
    if n_threads > 1:
        n_tables = len(problem.edges) + len(problem.factors.ptr) - 1
        n_threads = share_work(n_threads, problem.n_nodes, n_tables, problem.n_entries)
    _graphs(problem).solve(
        options.method, options.tol, options.seed, options.max_iter, options.time_limit, init, n_threads, callback,
        labels, score, bound, status, iterations, flat,
    )  # fmt: skip
    return labels, score, bound, status, iterations, None if costs is None else split_rows(costs, problem.places)


def judge(
    problem: Problem, labels: NDArray[np.int64], bound: float = np.inf, tol: float = 0.0
) -> tuple[float, float, Status]:
    """Score of a labelling of one graph, what rounding may change in it, and the status that `bound` proves."""
    score, rounding, status = _graphs(problem).judge(labels, bound, tol)
    return score, rounding, STATUSES[status]


def _graphs(problem: Problem) -> _kernels.GraphsFloat32 | _kernels.GraphsFloat64:
    """The problem as the kernel holds it; it refers to these arrays."""
    kernel = _kernels.GraphsFloat32 if problem.unary.dtype == np.float32 else _kernels.GraphsFloat64
    factors, places = problem.factors, problem.places
    row_ptr, table_ptr = (None, None) if places is None else (places.rows, places.tables)
    graphs = kernel(
        problem.unary.ravel(), problem.interaction.ravel(), problem.edges, problem.node_ptr, problem.edge_ptr,
        problem.n_labels, row_ptr, table_ptr,
    )  # fmt: skip
    if len(factors.nodes):
        graphs.add_factors(factors.ptr, factors.nodes, factors.tables)
    return graphs
