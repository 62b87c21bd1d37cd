"""What inference returns: a labelling, its score, and what is proved about it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Self, cast, get_args

import numpy as np
from numpy.typing import NDArray

from neuralfactors.inference._problem import Rows

Status = Literal["optimal", "within_tol", "approximate", "infeasible", "unresolved"]
STATUSES: tuple[Status, ...] = get_args(Status)  # in the kernel's order


@dataclass(frozen=True)
class Result:
    """A labelling of one graph with its certificate.

    Parameters
    ----------
    labels : ndarray of shape (n_nodes,)
        The best labelling found.
    score : float
        Its compatibility g(x, y); -inf if it uses a forbidden entry.
    bound : float
        No labelling scores more than this.
    status : str
        "optimal": proved, no labelling scores more than the rounding of scores allows (see Notes). "within_tol": no
        proof, but the gap is within the tolerance of the call. "approximate": an allowed labelling and a bound, no
        more. "infeasible": proved, every labelling is forbidden. "unresolved": no allowed labelling was found, nor a
        proof that there is none.
    iterations : int, default=0
        Sweeps, or moves for alpha-expansion.
    reduced_costs : ndarray of shape (n_nodes, n_labels), list of vectors, or None, default=None
        No labelling in which node i has label a scores more than `bound - reduced_costs[i][a]`: large values for all
        labels but one mean confidence in that one. A list where nodes differ in their number of labels.

    Notes
    -----
    A score is a sum of N numbers, one from each row and table. Where the status is "optimal", no labelling scores more
    than ``score + N · 2⁻⁴⁸ · Σ max(|best|, |used|)``, the sum being over the best entry of every row and table and the
    one that `labels` uses. Scales, constants, large penalties and -inf do not change that. For 1,000 numbers of size 1
    it is 4e-9 beside a score of 1,000.

    Examples
    --------
    >>> import numpy as np
    >>> from neuralfactors.inference import solve
    >>> r = solve(np.array([[0.0, 1.0], [0.2, 0.0]]), np.eye(2)[None], np.array([[0, 1]]))
    >>> r.labels, r.score, r.status
    (array([1, 1]), 2.0, 'optimal')
    """

    labels: NDArray[np.int64]
    score: float
    bound: float
    status: Status
    iterations: int = 0
    reduced_costs: Rows | None = None

    @property
    def gap(self) -> float:
        """How much better than `score` a labelling could be: `bound - score`, 0 where every labelling is forbidden."""
        return 0.0 if self.status == "infeasible" else self.bound - self.score


@dataclass(frozen=True)
class BatchResult:
    """Labellings of the graphs of a batch; `rs[g]` is the `Result` of graph g.

    Parameters
    ----------
    labels : ndarray of shape (n_nodes,)
        Labels of all nodes of the batch.
    score : ndarray of shape (n_graphs,)
        As in `Result`, graph by graph.
    bound : ndarray of shape (n_graphs,)
        As in `Result`, graph by graph.
    status : ndarray of str of shape (n_graphs,)
        As in `Result`, graph by graph.
    iterations : ndarray of int of shape (n_graphs,)
        As in `Result`, graph by graph.
    node_ptr : ndarray of int of shape (n_graphs + 1,)
        Graph g has the nodes node_ptr[g] to node_ptr[g + 1] - 1.
    reduced_costs : ndarray of shape (n_nodes, n_labels), list of vectors, or None, default=None
        As in `Result`, for all nodes of the batch.

    Examples
    --------
    >>> import numpy as np
    >>> from neuralfactors.inference import solve_batch
    >>> unary = np.array([[0.0, 1.0], [0.2, 0.0], [3.0, 0.0]])
    >>> rs = solve_batch(unary, np.eye(2)[None], np.array([[0, 1]]), node_ptr=[0, 2, 3], edge_ptr=[0, 1, 1])
    >>> len(rs), rs.labels, rs[1].score
    (2, array([1, 1, 0]), 3.0)
    """

    labels: NDArray[np.int64]
    score: NDArray[np.float64]
    bound: NDArray[np.float64]
    status: NDArray[np.str_]
    iterations: NDArray[np.int32]
    node_ptr: NDArray[np.int64]
    reduced_costs: Rows | None = None

    @classmethod
    def join(cls, results: Sequence[Result], node_ptr: NDArray[np.int64]) -> Self:
        """The results of graphs one after the other.

        Parameters
        ----------
        results : sequence of Result
            One per graph.
        node_ptr : ndarray of int of shape (n_graphs + 1,)
            Graph g has the nodes node_ptr[g] to node_ptr[g + 1] - 1.

        Returns
        -------
        BatchResult
            With reduced costs if the results have them.
        """
        costs = [r.reduced_costs for r in results if r.reduced_costs is not None]
        return cls(
            labels=np.concatenate([np.zeros(0, np.int64), *(r.labels for r in results)]),
            score=np.array([r.score for r in results]),
            bound=np.array([r.bound for r in results]),
            status=np.array([r.status for r in results], dtype=str),
            iterations=np.array([r.iterations for r in results], np.int32),
            node_ptr=node_ptr,
            reduced_costs=np.concatenate(costs) if costs else None,
        )

    def __len__(self) -> int:
        return len(self.score)

    def __getitem__(self, g: int) -> Result:
        """The result of graph `g`; negative numbers count from the end."""
        if not -len(self) <= g < len(self):
            raise IndexError(f"graph {g} does not exist: this batch has {len(self)}")
        g %= len(self)
        nodes = slice(self.node_ptr.item(g), self.node_ptr.item(g + 1))
        return Result(
            labels=self.labels[nodes],
            score=self.score.item(g),
            bound=self.bound.item(g),
            status=cast(Status, self.status.item(g)),
            iterations=self.iterations.item(g),
            reduced_costs=None if self.reduced_costs is None else self.reduced_costs[nodes],
        )

    def __iter__(self) -> Iterator[Result]:
        return (self[g] for g in range(len(self)))

    @property
    def gap(self) -> NDArray[np.float64]:
        """How much better than `score` a labelling could be, graph by graph."""
        return np.array([r.gap for r in self])
