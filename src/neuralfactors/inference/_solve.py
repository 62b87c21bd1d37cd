"""The one place that turns the name of a method into a solver."""

import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralfactors._common.seeds import RandomState
from neuralfactors.inference import _validate as validate
from neuralfactors.inference._exact import solve_exact
from neuralfactors.inference._kernel import solve_graph_in_kernel, solve_in_kernel
from neuralfactors.inference._problem import Problem
from neuralfactors.inference._result import BatchResult, Result
from neuralfactors.inference._validate import METHODS, Arrays, Options

__all__ = ["METHODS", "solve", "solve_batch", "solve_problem"]


def solve(
    unary: Arrays,
    interaction: Arrays,
    edges: ArrayLike,
    factors: Sequence[tuple[ArrayLike, ArrayLike]] = (),
    *,
    method: str = "auto",
    init: ArrayLike | None = None,
    tol: float = Options.tol,
    random_state: RandomState = 0,
    max_iter: int | None = None,
    time_limit: float | None = None,
    callback: Callable[[float, float, float], object] | None = None,
    reduced_costs: bool = False,
) -> Result:
    """The labelling y of highest score Σᵢ unary[i, yᵢ] + Σₑ interaction[e, yᵤ, yᵥ], with a certificate; Eq. (1).

    Parameters
    ----------
    unary : array of shape (n_nodes, n_labels), or list of vectors
        Scores of the labels of each node, float32, float64 or integers; higher is better, -inf forbids a label. A list
        of vectors of different lengths gives every node a number of labels of its own.
    interaction : array of shape (n_edges, n_labels, n_labels), or list of matrices
        Scores of the label pairs of each edge (u, v): axis 0 is the label of u. -inf forbids a pair. One table that all
        edges share has the shape (n_labels, n_labels) or (1, n_labels, n_labels), and is not copied. Where nodes differ
        in their number of labels, the table of an edge has as many rows as u has labels and as many columns as v has.
    edges : array of integers of shape (n_edges, 2)
        Node numbers. Parallel edges add up, self-loops count for their node, no order is needed.
    factors : list of (nodes, table), default=()
        Further factors over any number Q of nodes, with a table of an axis for each node, for the methods "auto",
        "trws", "bp", "icm", "exact" and "exhaustive".
    method : str, default="auto"
        - "auto": exact on forests and on two labels with submodular tables; otherwise relaxation and exact search in
          turn until the optimum is proved, `tol` is reached, or further effort stops paying off or `time_limit` is up.
          With `factors`: relaxation until the bound stalls, then variable elimination if its tables are small enough,
          otherwise search in large neighbourhoods.
        - "alpha-expansion": expansion moves by roof duality (QPBO), never below its start.
        - "trws": sequential tree-reweighted message passing, with a dual bound.
        - "bp": damped max-product belief propagation. "icm": single-node moves.
        - "tree": dynamic programming, for graphs without cycles. "maxflow": minimum cut, for two labels.
        - "exact": relaxation, pruning, then integer programming (needs `neuralfactors[exact]`).
        - "exhaustive": every labelling is tried.
    init : array of shape (n_nodes,), default=None
        Labelling to start from; the result is never below it.
    tol : float, default=1e-4
        When to stop short of a proof: once bound - score is at most `tol` times the regret of the labelling. The regret
        is what the best entry of every row and table would gain over the one that the labelling uses, summed over all
        rows and tables, each counting at most 100 times the median of those that are not 0. Constants do not change it,
        nor do penalties that the labelling avoids. The status is then "within_tol", or "optimal" if a proof was found
        all the same. "auto" looks for one unless `tol` is above 2.5e-3.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the random moves; None for a fresh one.
    max_iter : int, default=None
        Iterations in place of the method's own budget; "exact" takes neither these nor the seed.
    time_limit : float, default=None
        Seconds after which the best labelling and bound so far are returned. "auto" uses all of them unless it proves
        the optimum: it goes on closing the gap, then searches in large neighbourhoods. Steps are not cut short, so that
        a step on a large problem may overrun the limit. Not for "tree", "maxflow" and "exhaustive", which run to the
        end.
    callback : callable, default=None
        Called as `callback(seconds, score, bound)` when a better labelling or a lower bound has been found; with
        "exact", once at the end. An exception that it raises ends the search.
    reduced_costs : bool, default=False
        Whether to return a bound for each label of each node ("auto", "trws" and "tree").

    Returns
    -------
    Result
        labels, score, bound, gap, status.

    Examples
    --------
    >>> import numpy as np
    >>> unary = np.array([[0.0, 1.0], [0.2, 0.0], [0.4, 0.0]])
    >>> r = solve(unary, np.eye(2), np.array([[0, 1], [1, 2], [2, 0]]))
    >>> r.labels, r.score, r.bound, r.status
    (array([1, 1, 1]), 4.0, 4.0, 'optimal')

    A node with two labels beside one with three:

    >>> solve([np.array([0.0, 1.0]), np.array([0.0, 0.0, 2.0])], [np.eye(2, 3)], [[0, 1]]).labels
    array([1, 2])
    """
    problem = validate.check_problem(unary, interaction, edges, factors=factors)
    options = validate.check_options(method, tol, random_state, max_iter, time_limit, reduced_costs)
    start = validate.check_init(init, problem)
    if options.method != "exact":
        return solve_graph_in_kernel(problem, options, start, callback)
    return solve_problem(problem, options, start, callback=callback)[0]


def solve_batch(
    unary: Arrays,
    interaction: Arrays,
    edges: ArrayLike,
    node_ptr: ArrayLike,
    edge_ptr: ArrayLike,
    factors: Sequence[tuple[ArrayLike, ArrayLike]] = (),
    *,
    method: str = "auto",
    init: ArrayLike | None = None,
    tol: float = Options.tol,
    random_state: RandomState = 0,
    max_iter: int | None = None,
    time_limit: float | None = None,
    reduced_costs: bool = False,
    n_threads: int | None = None,
) -> BatchResult:
    """Labellings of many graphs at once; threads over graphs, the GIL released, the same result for any `n_threads`.

    Parameters
    ----------
    unary : array of shape (n_nodes, n_labels), or list of vectors
        As in `solve`, the graphs one after the other.
    interaction : array of shape (n_edges, n_labels, n_labels), or list of matrices
        As in `solve`, the graphs one after the other.
    edges : array of integers of shape (n_edges, 2)
        As in `solve`, with node numbers of the whole batch.
    node_ptr, edge_ptr : arrays of integers of shape (n_graphs + 1,)
        Graph g has the nodes node_ptr[g] to node_ptr[g + 1] - 1, and edges likewise.
    factors : list of (nodes, table), default=()
        As in `solve`, with node numbers of the whole batch; the nodes of a factor belong to one graph.
    method : str, default="auto"
        As in `solve`.
    init : array of shape (n_nodes,), default=None
        Labelling of all nodes to start from, as in `solve`.
    tol : float, default=1e-4
        As in `solve`.
    random_state : int, RandomState, Generator or None, default=0
        As in `solve`.
    max_iter : int, default=None
        As in `solve`.
    time_limit : float, default=None
        As in `solve`, for each graph.
    reduced_costs : bool, default=False
        As in `solve`.
    n_threads : int, default=None
        None: as many as this process may use.

    Returns
    -------
    BatchResult
        `rs[g]` is what `solve` returns for graph g alone.

    Examples
    --------
    >>> import numpy as np
    >>> unary = np.array([[0.0, 1.0], [0.2, 0.0], [3.0, 0.0], [0.0, 1.0]])
    >>> tables = np.stack([np.eye(2), 5 * np.eye(2)])
    >>> solve_batch(unary, tables, np.array([[0, 1], [2, 3]]), node_ptr=[0, 2, 4], edge_ptr=[0, 1, 2]).labels
    array([1, 1, 0, 0])
    """
    problem = validate.check_problem(unary, interaction, edges, np.asarray(node_ptr), np.asarray(edge_ptr), factors)
    options = validate.check_options(method, tol, random_state, max_iter, time_limit, reduced_costs)
    threads = validate.check_threads(n_threads)
    return solve_problem(problem, options, validate.check_init(init, problem), n_threads=threads)


def solve_problem(
    problem: Problem,
    options: Options,
    init: NDArray[np.int64] | None = None,
    *,
    n_threads: int = 1,
    callback: Callable[[float, float, float], object] | None = None,
) -> BatchResult:
    """The same for a problem and options that need no further check: what training calls again and again."""
    if options.method != "exact":
        return solve_in_kernel(problem, options, init, n_threads=n_threads, callback=callback)
    began = time.monotonic()
    results = solve_exact(problem, init, tol=options.tol, time_limit=options.time_limit, n_threads=n_threads)
    if callback is not None:
        callback(time.monotonic() - began, results.score[0], results.bound[0])
    return results
