"""The call into the compiled kernels: allocates what they fill."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from neuralfactors.inference import _kernels
from neuralfactors.inference.result import STATUSES, BatchResult
from neuralfactors.inference.validate import Problem


def solve_in_kernel(
    problem: Problem,
    init: NDArray[np.int64] | None,
    *,
    method: str,
    tol: float,
    seed: int,
    max_iter: int,
    reduced_costs: bool,
    n_threads: int,
    time_limit: float = math.inf,
    callback: Callable[[float, float, float], object] | None = None,
) -> BatchResult:
    """Labellings of all graphs by a method of the kernel."""
    n_graphs = len(problem.node_ptr) - 1
    kernel = _kernels.solve_batch_float32 if problem.unary.dtype == np.float32 else _kernels.solve_batch_float64
    labels = np.zeros(problem.n_nodes, np.int64)
    score, bound = np.zeros(n_graphs), np.zeros(n_graphs)
    status, iterations = np.zeros(n_graphs, np.int8), np.zeros(n_graphs, np.int32)
    costs = np.zeros(problem.unary.shape) if reduced_costs else None
    graphs = problem.unary, problem.interaction, problem.edges, problem.node_ptr, problem.edge_ptr
    kernel(
        *graphs, method, init, tol, max_iter, seed, time_limit, callback, n_threads,
        labels, score, bound, status, iterations, costs,
    )  # fmt: skip
    return BatchResult(labels, score, bound, np.array(STATUSES)[status], iterations, problem.node_ptr, costs)
