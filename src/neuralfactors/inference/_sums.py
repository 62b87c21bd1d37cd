"""Sums over all labellings: the partition function and the marginals of p(y) = exp(g(x, y)) / Z."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, TypedDict, Unpack, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralfactors.inference import _kernels
from neuralfactors.inference import _validate as validate
from neuralfactors.inference._problem import Rows, split_rows, split_tables
from neuralfactors.inference._sum_problem import MAX_ENTRIES, SumProblem, check_max_entries, check_sums

SumStatus = Literal["exact", "upper_bound", "approximation"]
SUM_STATUSES: tuple[SumStatus, ...] = get_args(SumStatus)  # in the kernel's order
SUM_METHODS = ("auto", "exact", "trw", "bethe")
_MAX_ITER = 200


class SumOptions(TypedDict, total=False):
    """How to sum; see `marginals`."""

    method: str
    max_entries: float
    max_iter: int | None
    tol: float
    n_threads: int | None


@dataclass(frozen=True)
class Marginals:
    """What summing over all labellings of one graph gives.

    Parameters
    ----------
    log_partition : float
        log Z, the logarithm of the sum of exp(g(x, y)) over all labellings y; see `status`.
    nodes : ndarray of shape (n_nodes, n_labels), or list of vectors
        Probability of each label of each node; a list where nodes have numbers of labels of their own.
    edges : ndarray of shape (n_edges, n_labels, ..., n_labels), or list of tables
        Probability of each combination of labels of each interaction.
    status : str
        "exact": exact but for rounding. "upper_bound": by tree-reweighted sums; log Z is at most `log_partition`, and
        the probabilities are pseudo-marginals. "approximation": by loopy belief propagation (Bethe); nothing is proved.
    converged : bool, default=True
        Whether the messages of the last two methods came to rest.

    Examples
    --------
    >>> import numpy as np
    >>> from neuralfactors.inference import marginals
    >>> m = marginals(np.log([[1.0, 3.0], [1.0, 1.0]]), np.zeros((1, 2, 2)), np.array([[0, 1]]))
    >>> m.nodes.round(2).tolist(), round(float(np.exp(m.log_partition)), 6), m.status
    ([[0.25, 0.75], [0.5, 0.5]], 8.0, 'exact')
    """

    log_partition: float
    nodes: Rows
    edges: Rows
    status: SumStatus
    converged: bool = True


@dataclass(frozen=True)
class BatchMarginals:
    """Marginals of the graphs of a batch, with the fields of `Marginals`; `ms[g]` are those of graph g.

    Parameters
    ----------
    log_partition : ndarray of shape (n_graphs,)
        log Z of every graph.
    nodes : ndarray of shape (n_nodes, n_labels), or list of vectors
        Probabilities of labels, for the nodes of the whole batch.
    edges : ndarray of shape (n_edges, n_labels, ..., n_labels), or list of tables
        Probabilities of combinations of labels; one table, (1, ...), where they were to be summed.
    status : ndarray of str of shape (n_graphs,)
        "exact", "upper_bound" or "approximation".
    converged : ndarray of bool of shape (n_graphs,)
        Whether messages came to rest.
    node_ptr, edge_ptr : ndarray of int of shape (n_graphs + 1,)
        Where the rows of every graph begin and end.
    """

    log_partition: NDArray[np.float64]
    nodes: Rows
    edges: Rows
    status: NDArray[np.str_]
    converged: NDArray[np.bool_]
    node_ptr: NDArray[np.int64]
    edge_ptr: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.log_partition)

    def __getitem__(self, g: int) -> Marginals:
        if not -len(self) <= g < len(self):
            raise IndexError(f"graph {g} does not exist: this batch has {len(self)}")
        g %= len(self)
        return Marginals(
            log_partition=float(self.log_partition[g]),
            nodes=self.nodes[self.node_ptr[g] : self.node_ptr[g + 1]],
            edges=self.edges[self.edge_ptr[g] : self.edge_ptr[g + 1]],
            status=cast(SumStatus, str(self.status[g])),
            converged=bool(self.converged[g]),
        )

    def __iter__(self) -> Iterator[Marginals]:
        return (self[g] for g in range(len(self)))


def marginals(
    unary: validate.Arrays, interaction: validate.Arrays, edges: ArrayLike, **options: Unpack[SumOptions]
) -> Marginals:
    """The partition function and the marginals of p(y) ∝ exp(Σᵢ unary[i, yᵢ] + Σₑ interaction[e, yᵤ, yᵥ]).

    Parameters
    ----------
    unary : array of shape (n_nodes, n_labels), or list of vectors
        Scores of the labels of each node, float32, float64 or integers. -inf forbids a label; sums are in float64. A
        list of vectors of different lengths is for nodes with numbers of labels of their own, as in `solve`.
    interaction : array of shape (n_edges, n_labels, n_labels), or (1, n_labels, n_labels); or list of tables
        Scores of the label pairs of each edge, or one table for all; with a label axis more for each further node of
        an edge.
    edges : array of integers of shape (n_edges, 2), or (n_edges, Q)
        Node numbers.
    **options
        How to sum, by name.

        method : str, default="auto"

        - "exact": variable elimination, for graphs of low treewidth. Chains, trees and all forests are.
        - "trw": tree-reweighted message passing, whose value is an upper bound of log Z. Two nodes an edge.
        - "bethe": loopy belief propagation, an approximation that is often closer. Two nodes an edge.
        - "auto": "exact" where `max_entries` allows it, else "trw".

        max_entries : float, default=2**22
            Entries of the largest table that an exact sum may make.
        max_iter : int, default=200
            Iterations of "trw" and "bethe" at most.
        tol : float, default=1e-6
            Change of messages, whose largest entry is 1, at which "trw" and "bethe" stop.
        n_threads : int, default=None
            As in `solve_batch`.

    Returns
    -------
    Marginals
        The log-partition function, and probabilities of the labels of nodes and edges.

    Raises
    ------
    ValueError
        Where scores of -inf forbid every labelling, or "exact" would need larger tables.

    Examples
    --------
    >>> import numpy as np
    >>> cycle = np.array([[0, 1], [1, 2], [2, 0]])
    >>> m = marginals(np.zeros((3, 2)), np.stack([np.eye(2)] * 3), cycle)
    >>> bool(np.isclose(m.log_partition, np.log(2 * np.exp(3) + 6 * np.exp(1))))
    True
    >>> bound = marginals(np.zeros((3, 2)), np.stack([np.eye(2)] * 3), cycle, method="trw")
    >>> bound.log_partition > m.log_partition, bound.status
    (True, 'upper_bound')
    """
    problem = check_sums(unary, interaction, edges)
    return _split(sum_graphs(problem, **options), problem)[0]


def marginals_batch(
    unary: validate.Arrays,
    interaction: validate.Arrays,
    edges: ArrayLike,
    node_ptr: ArrayLike,
    edge_ptr: ArrayLike,
    **options: Unpack[SumOptions],
) -> BatchMarginals:
    """Marginals of many graphs at once; threads over graphs, the GIL released, the same result for any `n_threads`.

    Parameters
    ----------
    unary, interaction, edges : array
        As in `marginals`, the graphs one after the other; `edges` holds node numbers of the whole batch.
    node_ptr, edge_ptr : array of int of shape (n_graphs + 1,)
        Graph g has the nodes node_ptr[g] to node_ptr[g + 1] - 1, and edges likewise.
    **options
        As in `marginals`.

    Returns
    -------
    BatchMarginals
        `ms[g]` is what `marginals` returns for graph g alone.

    Examples
    --------
    >>> import numpy as np
    >>> unary, edges = np.zeros((4, 2)), np.array([[0, 1], [1, 2]])
    >>> ms = marginals_batch(unary, np.zeros((2, 2, 2)), edges, node_ptr=[0, 3, 4], edge_ptr=[0, 2, 2])
    >>> np.exp(ms.log_partition).round(6).tolist()
    [8.0, 2.0]
    """
    problem = check_sums(unary, interaction, edges, node_ptr, edge_ptr)
    return _split(sum_graphs(problem, **options), problem)


def sum_graphs(
    problem: SumProblem,
    *,
    method: str = "auto",
    max_entries: float = MAX_ENTRIES,
    max_iter: int | None = None,
    tol: float = 1e-6,
    n_threads: int | None = None,
    weight: NDArray[np.float64] | None = None,
    summed: bool = False,
    with_marginals: bool = True,
) -> BatchMarginals:
    """Sums of a checked problem, arguments as in `marginals`.

    Where nodes have numbers of labels of their own, rows and tables stand one after the other, flat. The marginals of
    each graph are multiplied by its `weight`. With `summed`, those of the interactions are added up over the whole
    batch. Without `with_marginals`, there are no rows of them, only `log_partition`.
    """
    if method not in SUM_METHODS:
        raise ValueError(f"method must be one of {', '.join(SUM_METHODS)}, got {method!r}")
    if problem.edges.shape[1] != 2:
        method = _for_higher_order(method)
    limits = (
        check_max_entries(max_entries),
        _MAX_ITER if max_iter is None else validate.as_count(max_iter, "max_iter"),
        validate.check_tol(tol),
        validate.share_work(validate.check_threads(n_threads), problem.n_nodes, len(problem.edges), problem.n_entries),
    )
    n_graphs, dtype = problem.n_graphs, problem.unary.dtype
    value = np.zeros(n_graphs)
    status, converged = np.zeros(n_graphs, np.int8), np.zeros(n_graphs, np.int8)
    shapes = _shapes(problem, summed) if with_marginals else [(0, *s[1:]) for s in _shapes(problem, summed)]
    nodes, tables = np.empty(shapes[0], dtype), np.zeros(shapes[1], dtype)
    flat = (nodes.ravel(), tables.ravel()) if with_marginals else (None, None)
    kernel = getattr(_kernels, f"sum_batch_{problem.type_name}")
    kernel(*problem.arguments, method, *limits, weight, value, status, converged, *flat)
    return BatchMarginals(
        log_partition=value,
        nodes=nodes,
        edges=tables,
        status=np.array(SUM_STATUSES)[status],
        converged=converged.astype(np.bool_),
        node_ptr=problem.node_ptr,
        edge_ptr=problem.edge_ptr,
    )


def _shapes(problem: SumProblem, summed: bool) -> list[tuple[int, ...]]:
    """The shapes of the marginals of nodes and interactions."""
    if problem.places is not None:
        return [problem.unary.shape, problem.tables.shape]
    return [problem.unary.shape, (1 if summed else len(problem.edges), *problem.table_shape)]


def _split(found: BatchMarginals, problem: SumProblem) -> BatchMarginals:
    """The same with a list of rows and one of tables where nodes have numbers of labels of their own."""
    if problem.places is None:
        return found
    edges = split_tables(cast(NDArray[Any], found.edges), problem.edges, problem.places)
    return replace(found, nodes=split_rows(cast(NDArray[Any], found.nodes), problem.places), edges=edges)


def _for_higher_order(method: str) -> str:
    if method in ("trw", "bethe"):
        raise ValueError(f"method {method!r} takes edges of two nodes; use 'exact' for interactions of more")
    return "exact"
