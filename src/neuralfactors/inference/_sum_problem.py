"""Arguments of the calls that sum over labellings, checked once."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralfactors.inference import _validate as validate
from neuralfactors.inference._factor_graph import Factors
from neuralfactors.inference._problem import Places, Problem, Scores
from neuralfactors.inference._ragged import check_ragged, is_ragged
from neuralfactors.inference._scores import as_scores

MAX_ENTRIES = 2**22  # of one table of an exact sum: a few hundredths of a second, 32 MB
LARGEST = 1e200  # size of a score: sums of larger ones could overflow


@dataclass(frozen=True)
class SumProblem:
    """Scores of a batch of graphs whose interactions join Q nodes each; `places` as in `Problem`."""

    unary: Scores  # (V, L), or all rows one after the other
    tables: Scores  # (E, L ** Q), or (1, L ** Q): one table for all interactions, or all tables one after the other
    edges: NDArray[np.int64]  # (E, Q)
    node_ptr: NDArray[np.int64]  # (G + 1,)
    edge_ptr: NDArray[np.int64]  # (G + 1,)
    places: Places | None = None

    @property
    def arguments(self) -> tuple[Any, ...]:
        """What the kernels begin with."""
        ptr = (None, None) if self.places is None else (self.places.rows, self.places.tables)
        rows, tables = self.unary.ravel(), self.tables.ravel()
        return rows, tables, self.edges, self.node_ptr, self.edge_ptr, self.n_labels, *ptr

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all graphs."""
        return int(self.node_ptr[-1])

    @property
    def n_entries(self) -> int:
        """Scores of all rows and tables, a shared table counted for every interaction."""
        entries = self.tables.size if self.places is not None else len(self.edges) * self.tables.shape[1]
        return self.unary.size + entries

    @property
    def n_labels(self) -> int:
        """Number of labels of a node, or of the one that has most."""
        return int(self.unary.shape[1]) if self.places is None else int(np.diff(self.places.rows).max(initial=1))

    @property
    def n_graphs(self) -> int:
        """Number of graphs, G."""
        return len(self.node_ptr) - 1

    @property
    def table_shape(self) -> tuple[int, ...]:
        """(L,) * Q."""
        return (self.n_labels,) * int(self.edges.shape[1])

    @property
    def type_name(self) -> str:
        """The suffix of the kernels for this type of scores."""
        return str(self.unary.dtype)

    def to_solve(self) -> Problem:
        """The same problem to the solvers; to them interactions of more or fewer than two nodes are factors."""
        pointers, places = (self.node_ptr, self.edge_ptr), self.places
        n_edges, order = self.edges.shape
        if order == 2:
            tables = self.tables if places is not None else self.tables.reshape(-1, *self.table_shape)
            return Problem(self.unary, tables, self.edges, *pointers, places=places)
        if places is None:
            tables = np.broadcast_to(self.tables, (n_edges, self.tables.shape[1]))
            none = np.zeros((0, self.n_labels, self.n_labels), self.unary.dtype)
        else:
            tables, none, places = self.tables, self.tables[:0], replace(places, tables=np.zeros(1, np.int64))
        factors = Factors(order * np.arange(n_edges + 1), self.edges.ravel(), tables.astype(np.float64).ravel())
        return Problem(self.unary, none, np.zeros((0, 2), np.int64), self.node_ptr, 0 * self.edge_ptr, factors, places)


def check_sums(
    unary: validate.Arrays,
    interaction: validate.Arrays,
    edges: ArrayLike,
    node_ptr: ArrayLike | None = None,
    edge_ptr: ArrayLike | None = None,
    sizes: NDArray[np.int64] | None = None,
) -> SumProblem:
    """A `SumProblem` from the caller's arrays, which are not copied if they are C-contiguous and of one float type.

    Nodes may have numbers of labels of their own: in lists, as in `check_problem`, or in arrays as `Potentials` has
    them with `sizes`.
    """
    e = _edges(edges)
    places: Places | None = None
    if sizes is not None:
        u, p, places = *_without_padding(unary, interaction, sizes), Places.of(sizes, e)
    elif is_ragged(unary):
        u, p, places = check_ragged(unary, interaction, e)
    else:
        u, p = _check_equal(unary, interaction, e)
    problem = SumProblem(*validate.as_batch(u, p, e, places, node_ptr, edge_ptr), places=places)
    if places is not None:
        _check_ragged_range(u, places.rows, "unary")
        _check_ragged_range(p, places.tables, "interaction")
    return problem


def _without_padding(unary: Any, tables: Any, sizes: NDArray[np.int64]) -> tuple[Scores, Scores]:
    """Rows, of a padded array (V, L), one after the other, and the tables as they are."""
    return unary[np.arange(unary.shape[1]) < sizes[:, None]], tables


def _check_equal(unary: Any, interaction: Any, edges: NDArray[np.int64]) -> tuple[Scores, Scores]:
    """Rows (V, L) and tables (E, L ** Q) or (1, L ** Q), where all nodes have as many labels."""
    u, p = as_scores(unary, "unary"), as_scores(interaction, "interaction")
    if u.ndim != 2 or u.shape[1] == 0:
        raise ValueError(f"unary must have the shape (n_nodes, n_labels) with at least one label, got {u.shape}")
    shape = (u.shape[1],) * edges.shape[1]
    if p.size == 0 and len(edges) == 0:
        p = p.reshape(0, *shape)
    if p.shape not in ((len(edges), *shape), (1, *shape)):
        raise ValueError(f"interaction must have the shape {(len(edges), *shape)} or {(1, *shape)}, got {p.shape}")
    for values, name in ((u, "unary"), (p, "interaction")):
        _check_range(values, name)
    return u, p.reshape(len(p), int(np.prod(shape)))


def check_count(value: object, name: str) -> int:
    """A number of labellings: a positive integer."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or not 1 <= value < 2**31:
        raise ValueError(f"{name} must be a positive integer, got {value!r}")
    return int(value)


def check_max_entries(max_entries: float) -> float:
    """A number of entries, at least 1; infinity is welcome."""
    if not isinstance(max_entries, (int, float, np.number)) or isinstance(max_entries, bool) or not max_entries >= 1:
        raise ValueError(f"max_entries must be a number of at least 1, got {max_entries!r}")
    return float(max_entries)


def _check_range(values: Scores, name: str) -> None:
    wrong = _find_wrong(values)
    if wrong is not None:
        place = np.unravel_index(wrong, values.shape)
        _refuse(f"{name}[{', '.join(map(str, place))}]", values[place])


def _check_ragged_range(values: Scores, ptr: NDArray[np.int64], name: str) -> None:
    wrong = _find_wrong(values)
    if wrong is not None:
        _refuse(f"an entry of {name}[{np.searchsorted(ptr, wrong, side='right') - 1}]", values[wrong])


def _find_wrong(values: Scores) -> int | None:
    """The place of a number, counted in C order, that is no score to the solvers either; None: there is none."""
    most = min(LARGEST, float(np.finfo(values.dtype).max))
    if values.max(initial=-np.inf) <= most and values.min(initial=0.0) >= -most:  # which NaN is not
        return None
    wrong = ~((np.abs(values) <= most) | (values == -np.inf))
    return int(wrong.argmax()) if wrong.any() else None


def _refuse(where: str, value: float) -> None:
    if np.isfinite(value):
        raise ValueError(f"{where} is beyond 1e200, the largest size of a score")
    what = "NaN" if np.isnan(value) else "+inf"
    raise ValueError(f"{where} is {what}: scores must be finite, or -inf where a label is forbidden")


def _edges(edges: ArrayLike) -> NDArray[np.int64]:
    array = np.asarray(edges)
    if array.size == 0 and array.ndim < 2:
        return np.zeros((0, 2), np.int64)
    if array.ndim != 2 or array.shape[1] == 0 or (array.size and array.dtype.kind not in "iu"):
        expected = "integers of the shape (n_edges, 2), or (n_edges, Q) for interactions of Q nodes"
        raise ValueError(f"edges must be {expected}, got the shape {array.shape} and type {array.dtype}")
    return np.ascontiguousarray(array, np.int64)
