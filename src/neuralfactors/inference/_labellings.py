"""Labellings beside the best one: samples of p(y) ∝ exp(g(x, y)), and the k best."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralfactors._common.seeds import RandomState, seed_of
from neuralfactors.inference import _kernels
from neuralfactors.inference import _validate as validate
from neuralfactors.inference._solve import solve_problem
from neuralfactors.inference._sum_problem import (
    MAX_ENTRIES,
    SumProblem,
    check_count,
    check_max_entries,
    check_sums,
)


@dataclass(frozen=True)
class TopK:
    """The best labellings of the graphs of a batch, best first.

    Parameters
    ----------
    labels : ndarray of shape (k, n_nodes)
        Labels of all nodes of the batch; -1 where a graph has fewer allowed labellings, or fewer were found.
    score : ndarray of shape (k, n_graphs)
        Their scores g(x, y), which fall; -inf where there are no labels.
    status : ndarray of str of shape (n_graphs,)
        "optimal": proved to be the k best. "approximate": the best ones in which some nodes keep the label that `solve`
        found for them; others may be better.
    """

    labels: NDArray[np.int64]
    score: NDArray[np.float64]
    status: NDArray[np.str_]


def sample(
    unary: validate.Arrays,
    interaction: validate.Arrays,
    edges: ArrayLike,
    n: int = 1,
    *,
    node_ptr: ArrayLike | None = None,
    edge_ptr: ArrayLike | None = None,
    random_state: RandomState = 0,
    max_entries: float = MAX_ENTRIES,
    n_threads: int | None = None,
) -> NDArray[np.int64]:
    """Labellings drawn independently from p(y) ∝ exp(g(x, y)), exactly.

    Parameters
    ----------
    unary, interaction, edges : array
        As in `marginals`.
    n : int, default=1
        How many.
    node_ptr, edge_ptr : array of int of shape (n_graphs + 1,), default=None
        As in `marginals_batch`; None: one graph.
    random_state : int, RandomState, Generator or None, default=0
        Seed; None for a fresh one. The same seed gives the same labellings for any `n_threads`.
    max_entries : float, default=4194304
        Entries of the largest table that an exact sum may make.
    n_threads : int, default=None
        Graphs done at the same time; None: as many as there are cores.

    Returns
    -------
    ndarray of shape (n, n_nodes)
        int64 labels.

    Raises
    ------
    ValueError
        Where `max_entries` does not suffice for exact sums.

    Examples
    --------
    >>> import numpy as np
    >>> equal = np.where(np.eye(2), 0.0, -np.inf)
    >>> y = sample(np.zeros((3, 2)), np.stack([equal] * 2), np.array([[0, 1], [1, 2]]), n=100)
    >>> bool((y == y[:, :1]).all()), y.shape
    (True, (100, 3))
    """
    problem = check_sums(unary, interaction, edges, node_ptr, edge_ptr)
    return draw_labels(problem, n, random_state, max_entries=max_entries, n_threads=n_threads)


def draw_labels(
    problem: SumProblem,
    n: int,
    random_state: RandomState,
    *,
    max_entries: float = MAX_ENTRIES,
    n_threads: int | None = None,
) -> NDArray[np.int64]:
    """Samples of a checked problem; see `sample`."""
    labels = np.empty((check_count(n, "n"), problem.n_nodes), np.int64)
    limit, seed, threads = (
        check_max_entries(max_entries),
        seed_of(random_state),
        validate.check_threads(n_threads),
    )
    getattr(_kernels, f"sample_batch_{problem.type_name}")(*problem.arguments, limit, seed, threads, labels)
    return labels


def topk(
    unary: validate.Arrays,
    interaction: validate.Arrays,
    edges: ArrayLike,
    k: int,
    *,
    node_ptr: ArrayLike | None = None,
    edge_ptr: ArrayLike | None = None,
    max_entries: float = MAX_ENTRIES,
    n_threads: int | None = None,
) -> TopK:
    """The k labellings of highest score g(x, y), of every graph.

    They are exact on forests and wherever tables of `max_entries` suffice for variable elimination. Elsewhere `solve`
    labels some nodes, and the labellings are the best ones that agree with it there; the status says so.

    Parameters
    ----------
    unary, interaction, edges : array
        As in `marginals`.
    k : int
        How many.
    node_ptr, edge_ptr : array of int of shape (n_graphs + 1,), default=None
        As in `marginals_batch`; None: one graph.
    max_entries : float, default=4194304
        Entries of the largest table that an exact sum may make.
    n_threads : int, default=None
        Graphs done at the same time; None: as many as there are cores.

    Returns
    -------
    TopK
        Labels, score and status.

    Examples
    --------
    >>> import numpy as np
    >>> best = topk(np.array([[0.0, 1.0], [0.5, 0.0]]), np.zeros((1, 2, 2)), np.array([[0, 1]]), k=3)
    >>> best.labels.tolist(), best.score[:, 0].tolist(), best.status[0].item()
    ([[1, 0], [1, 1], [0, 0]], [1.5, 1.0, 0.5], 'optimal')
    """
    problem = check_sums(unary, interaction, edges, node_ptr, edge_ptr)
    return find_best(problem, k, max_entries=max_entries, n_threads=n_threads)


def find_best(problem: SumProblem, k: int, *, max_entries: float = MAX_ENTRIES, n_threads: int | None = None) -> TopK:
    """The best labellings of a checked problem; see `topk`."""
    k, limit, threads = check_count(k, "k"), check_max_entries(max_entries), validate.check_threads(n_threads)
    labels = np.empty((k, problem.n_nodes), np.int64)
    score, n_frozen = np.empty((k, problem.n_graphs)), np.zeros(problem.n_graphs, np.int64)
    kernel = getattr(_kernels, f"topk_batch_{problem.type_name}")
    kernel(*problem.arguments, limit, None, threads, labels, score, n_frozen)
    if n_frozen.any():
        kernel(*problem.arguments, limit, best_labels(problem, n_threads=threads), threads, labels, score, n_frozen)
    status: NDArray[np.str_] = np.where(n_frozen > 0, "approximate", "optimal")
    return TopK(labels, score, status)


def best_labels(
    problem: SumProblem, *, init: ArrayLike | None = None, n_threads: int | None = None, **options: Any
) -> NDArray[np.int64]:
    """The labels that `solve_batch` finds with these options."""
    own = problem.to_solve()
    checked, start = validate.check_options(**options), validate.check_init(init, own)
    return solve_problem(own, checked, start, n_threads=validate.check_threads(n_threads)).labels
