"""Arguments of the calls that sum over labellings, checked once."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralfactors.inference import _validate as validate
from neuralfactors.inference._problem import Scores
from neuralfactors.inference._ragged import as_scores, is_ragged, pad_ragged

MAX_ENTRIES = 2**22  # of one table of an exact sum: a few hundredths of a second, 32 MB


@dataclass(frozen=True)
class SumProblem:
    """Scores of a batch of graphs whose interactions join Q nodes each, as the kernels take them."""

    unary: Scores  # (V, L)
    tables: Scores  # (E, L ** Q), or (1, L ** Q): one table for all interactions
    edges: NDArray[np.int64]  # (E, Q)
    node_ptr: NDArray[np.int64]  # (G + 1,)
    edge_ptr: NDArray[np.int64]  # (G + 1,)

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """The fields in their order."""
        return self.unary, self.tables, self.edges, self.node_ptr, self.edge_ptr

    @property
    def n_graphs(self) -> int:
        """Number of graphs, G."""
        return len(self.node_ptr) - 1

    @property
    def table_shape(self) -> tuple[int, ...]:
        """(L,) * Q."""
        return (int(self.unary.shape[1]),) * int(self.edges.shape[1])

    @property
    def type_name(self) -> str:
        """The suffix of the kernels for this type of scores."""
        return str(self.unary.dtype)


def check_sums(
    unary: validate.Arrays,
    interaction: validate.Arrays,
    edges: ArrayLike,
    node_ptr: ArrayLike | None = None,
    edge_ptr: ArrayLike | None = None,
) -> SumProblem:
    """A `SumProblem` from the caller's arrays, which are not copied if they are C-contiguous and of one float type.

    Lists for nodes with numbers of labels of their own are padded.
    """
    e = _edges(edges)
    if is_ragged(unary):
        unary, interaction = pad_ragged(unary, interaction, e)
    u, p = as_scores(unary, "unary"), as_scores(interaction, "interaction")
    if u.ndim != 2 or u.shape[1] == 0:
        raise ValueError(f"unary must have the shape (n_nodes, n_labels) with at least one label, got {u.shape}")
    shape = (u.shape[1],) * e.shape[1]
    if p.size == 0 and len(e) == 0:
        p = p.reshape(0, *shape)
    if p.shape not in ((len(e), *shape), (1, *shape)):
        raise ValueError(f"interaction must have the shape {(len(e), *shape)} or {(1, *shape)}, got {p.shape}")
    dtype = np.result_type(u, p)
    problem = SumProblem(
        unary=np.ascontiguousarray(u, dtype),
        tables=np.ascontiguousarray(p, dtype).reshape(len(p), -1 if len(p) else int(np.prod(shape))),
        edges=e,
        node_ptr=validate.as_pointers(node_ptr, len(u), "node_ptr", "nodes"),
        edge_ptr=validate.as_pointers(edge_ptr, len(e), "edge_ptr", "edges"),
    )
    if len(problem.node_ptr) != len(problem.edge_ptr):
        lengths = f"{len(problem.node_ptr)} and {len(problem.edge_ptr)}"
        raise ValueError(f"node_ptr and edge_ptr must have the same length, got {lengths}")
    for values, name in ((u, "unary"), (p, "interaction")):
        _check_finite(values, name)
    return problem


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


def _check_finite(values: Scores, name: str) -> None:
    if values.max(initial=-np.inf) < np.inf:  # which NaN is not
        return
    place = tuple(np.argwhere(~(values < np.inf))[0].tolist())
    where, what = ", ".join(map(str, place)), "NaN" if np.isnan(values[place]) else "+inf"
    raise ValueError(f"{name}[{where}] is {what}: scores must be finite, or -inf where a label is forbidden")


def _edges(edges: ArrayLike) -> NDArray[np.int64]:
    array = np.asarray(edges)
    if array.size == 0 and array.ndim < 2:
        return np.zeros((0, 2), np.int64)
    if array.ndim != 2 or array.shape[1] == 0 or (array.size and array.dtype.kind not in "iu"):
        expected = "integers of the shape (n_edges, 2), or (n_edges, Q) for interactions of Q nodes"
        raise ValueError(f"edges must be {expected}, got the shape {array.shape} and type {array.dtype}")
    return np.ascontiguousarray(array, np.int64)
