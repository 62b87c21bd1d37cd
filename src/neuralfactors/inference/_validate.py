"""Arguments of the solvers, checked once: what comes out of here is contiguous, typed and of matching shape."""

import math
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralfactors._common.seeds import RandomState, seed_of
from neuralfactors.inference._factor_graph import check_factors
from neuralfactors.inference._problem import Places, Problem, Scores
from neuralfactors.inference._ragged import check_ragged, is_ragged
from neuralfactors.inference._scores import as_scores

METHODS = ("auto", "alpha-expansion", "trws", "bp", "icm", "tree", "maxflow", "exact", "exhaustive")
WITH_REDUCED_COSTS = ("auto", "trws", "tree")
Arrays = ArrayLike | Sequence[ArrayLike]
LEAST_SHARE = 20_000  # entries of forests that are worth a thread: fewer are done before it has begun
RUN_TO_THE_END = ("tree", "maxflow", "exhaustive")  # methods whose work is not done in steps


@dataclass(frozen=True)
class Options:
    """The options of a method; 0 iterations stand for its own budget."""

    method: str = "auto"
    tol: float = 1e-4
    seed: int = 0
    max_iter: int = 0
    time_limit: float = math.inf
    reduced_costs: bool = False


def check_problem(
    unary: Arrays,
    interaction: Arrays,
    edges: ArrayLike,
    node_ptr: ArrayLike | None = None,
    edge_ptr: ArrayLike | None = None,
    factors: Any = (),
) -> Problem:
    """A `Problem` from the caller's arrays, as `solve_batch` takes them; without pointers it is one graph.

    Its arrays are contiguous, of one float type, and fit each other; those that are so already are not copied, and
    integers become float64. A ValueError names the argument, what was expected and what came.
    """
    e = _edges(edges)
    places: Places | None = None
    if is_ragged(unary):
        u, p, places = check_ragged(unary, interaction, e)
    else:
        u, p = _check_equal(unary, interaction, e)
    problem = Problem(*as_batch(u, p, e, places, node_ptr, edge_ptr), places=places)
    if isinstance(factors, (list, tuple)) and not factors:
        return problem
    return replace(problem, factors=check_factors(factors, problem.sizes, problem.node_ptr))


def as_batch(
    unary: Scores,
    tables: Scores,
    edges: NDArray[np.int64],
    places: Places | None,
    node_ptr: ArrayLike | None,
    edge_ptr: ArrayLike | None,
) -> tuple[Scores, Scores, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The same, rows and tables contiguous and of one float type, with pointers that fit them and each other."""
    dtype, n_nodes = np.promote_types(unary.dtype, tables.dtype), len(unary) if places is None else len(places.rows) - 1
    of_nodes = as_pointers(node_ptr, n_nodes, "node_ptr", "nodes")
    of_edges = as_pointers(edge_ptr, len(edges), "edge_ptr", "edges")
    if len(of_nodes) != len(of_edges):
        raise ValueError(f"node_ptr and edge_ptr must have the same length, got {len(of_nodes)} and {len(of_edges)}")
    return np.ascontiguousarray(unary, dtype), np.ascontiguousarray(tables, dtype), edges, of_nodes, of_edges


def _check_equal(unary: Any, interaction: Any, edges: NDArray[np.int64]) -> tuple[Scores, Scores]:
    """Rows (V, L) and tables (E, L, L) or (1, L, L), where all nodes have as many labels."""
    u, p = as_scores(unary, "unary"), as_scores(_distinct(interaction, len(edges)), "interaction")
    if u.ndim != 2 or u.shape[1] == 0:
        raise ValueError(f"unary must have the shape (n_nodes, n_labels) with at least one label, got {u.shape}")
    n_labels = u.shape[1]
    if p.ndim == 2:
        p = p[None]
    if p.size == 0 and len(edges) == 0:
        p = p.reshape(0, n_labels, n_labels)
    expected = (len(edges), n_labels, n_labels)
    if p.shape not in (expected, (1, *expected[1:])):
        raise ValueError(
            f"interaction must have the shape (n_edges, n_labels, n_labels) = {expected}, "
            f"or {expected[1:]} for a table that all edges share, got {p.shape}"
        )
    return u, p


def check_options(
    method: str = Options.method,
    tol: float = Options.tol,
    random_state: RandomState = 0,
    max_iter: int | None = None,
    time_limit: float | None = None,
    reduced_costs: bool = False,
) -> Options:
    """`Options` from the caller's arguments."""
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    if reduced_costs and method not in WITH_REDUCED_COSTS:
        raise ValueError(f"reduced_costs needs method {', '.join(WITH_REDUCED_COSTS)}, got {method!r}")
    return Options(
        method=method,
        tol=check_tol(tol),
        seed=seed_of(random_state),
        max_iter=0 if max_iter is None else as_count(max_iter, "max_iter"),
        time_limit=_time_limit(time_limit, method),
        reduced_costs=bool(reduced_costs),
    )


def check_init(init: ArrayLike | None, problem: Problem) -> NDArray[np.int64] | None:
    """Starting labels, one for each node, or None."""
    if init is None:
        return None
    labels = np.asarray(init)
    if labels.size == 0:
        labels = labels.astype(np.int64)
    if labels.shape != (problem.n_nodes,) or labels.dtype.kind not in "iu":
        raise ValueError(
            f"init must contain an integer label for each of the {problem.n_nodes} nodes, "
            f"got the shape {labels.shape} and type {labels.dtype}"
        )
    sizes = problem.n_labels if problem.places is None else problem.sizes
    wrong = np.flatnonzero((labels < 0) | (labels >= sizes))
    if len(wrong):
        i, last = wrong[0], np.broadcast_to(sizes, labels.shape)[wrong[0]] - 1
        raise ValueError(f"init[{i}] is {labels[i]}, but labels run from 0 to {last}")
    return np.ascontiguousarray(labels, np.int64)


def check_tol(tol: float) -> float:
    """A tolerance: a finite number, at least 0."""
    if not isinstance(tol, (int, float, np.floating, np.integer)) or not 0 <= tol <= sys.float_info.max:
        raise ValueError(f"tol must be a finite number, at least 0, got {tol!r}")
    return float(tol)


def _time_limit(time_limit: float | None, method: str) -> float:
    """Seconds; infinite without a limit."""
    if time_limit is None:
        return math.inf
    if method in RUN_TO_THE_END:
        raise ValueError(f"method {method!r} always runs to the end and does not accept time_limit, got {time_limit!r}")
    if not isinstance(time_limit, (int, float, np.number)) or isinstance(time_limit, bool) or not time_limit > 0:
        raise ValueError(f"time_limit must be None or a positive number of seconds, got {time_limit!r}")
    return float(time_limit)


def check_threads(n_threads: int | None) -> int:
    """A number of threads; None stands for the processors this process may use, shared with other ranks of torchrun."""
    if n_threads is None:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return max(1, cores // int(os.environ.get("LOCAL_WORLD_SIZE", "1")))
    return as_count(n_threads, "n_threads")


def share_work(n_threads: int, n_nodes: int, n_edges: int, n_entries: int) -> int:
    """As many of the threads as the problem is worth, which is known of forests; results do not depend on it."""
    return n_threads if n_edges >= n_nodes else min(n_threads, 1 + n_entries // LEAST_SHARE)


def _distinct(tables: ArrayLike, n_edges: int) -> ArrayLike:
    """The first table (1, L, L) of a view that repeats it for all edges, as `np.broadcast_to` does; else all tables."""
    repeated = isinstance(tables, np.ndarray) and tables.ndim == 3 and tables.strides[0] == 0
    return tables[:1] if repeated and len(tables) == n_edges else tables  # type: ignore[index, arg-type]


def _edges(edges: ArrayLike) -> NDArray[np.int64]:
    """Edges (E, 2), int64 and contiguous; refused unless they are integers of that shape."""
    array = np.asarray(edges)
    if array.size == 0:
        return np.zeros((0, 2), np.int64)
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
        raise ValueError(
            f"edges must be integers of the shape (n_edges, 2), got the shape {array.shape} and type {array.dtype}"
        )
    return np.ascontiguousarray(array, np.int64)


def as_pointers(ptr: ArrayLike | None, n_rows: int, name: str, rows: str) -> NDArray[np.int64]:
    """Pointers that divide `n_rows` rows among graphs; None stands for one graph."""
    if ptr is None:
        return np.array([0, n_rows])
    array = np.array(ptr)  # a copy: kernels index by it without looking, so nobody may change it after the check
    if array.ndim != 1 or len(array) == 0 or array.dtype.kind not in "iu":
        raise ValueError(f"{name} must be a vector of integers, got the shape {array.shape} and type {array.dtype}")
    if array[0] != 0 or array[-1] != n_rows or (np.diff(array.astype(np.int64)) < 0).any():
        raise ValueError(f"{name} must rise from 0 to {n_rows}, the number of {rows}, got {array[0]} to {array[-1]}")
    return np.ascontiguousarray(array, np.int64)


def as_count(value: int, name: str) -> int:
    """A positive integer that the kernel can count to."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or not 1 <= value < 2**31:
        raise ValueError(f"{name} must be None or an integer from 1 to 2**31 - 1, got {value!r}")
    return int(value)
