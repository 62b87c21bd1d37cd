"""Problems with factors of any order as plain Python data, checked once."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralfactors.inference import _kernels
from neuralfactors.inference.result import Status
from neuralfactors.inference.validate import Problem

Factor = tuple[tuple[int, ...], NDArray[np.float64]]  # nodes, table of shape (L,) * len(nodes)
_LARGEST = 1e200  # sums of larger scores could overflow


@dataclass(frozen=True)
class FactorGraph:
    """Scores of the labellings of one graph: unary[i, yᵢ] for each node, table[y of its nodes] for each factor."""

    unary: NDArray[np.float64]  # (V, L)
    factors: list[Factor]  # of distinct nodes; the edges of the problem come first

    def score(self, y: NDArray[np.int64]) -> float:
        """Compatibility g(x, y); -inf if `y` uses a forbidden entry."""
        nodes = self.unary[np.arange(len(y)), y]
        return math.fsum([*nodes, *(table[tuple(y[list(scope)])] for scope, table in self.factors)])

    @cached_property
    def arrays(self) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """What the kernels take: unary scores, first nodes of the factors, nodes and tables, one after the other."""
        ptr = np.cumsum([0, *(len(scope) for scope, _ in self.factors)], dtype=np.int64)
        nodes = np.array([node for scope, _ in self.factors for node in scope], np.int64)
        return self.unary, ptr, nodes, np.concatenate([np.zeros(0), *(table.ravel() for _, table in self.factors)])

    def rounding(self, y: NDArray[np.int64]) -> float:
        """What rounding may change in the score of an allowed labelling; see `Result.status`."""
        rounding: float = _kernels.measure_labelling(*self.arrays, y)[1]
        return rounding

    def status(self, y: NDArray[np.int64], gap: float, tol: float) -> Status:
        """What a gap between bound and score proves of an allowed labelling."""
        regret, rounding = _kernels.measure_labelling(*self.arrays, y)
        if gap <= rounding:
            return "optimal"
        return "within_tol" if gap <= tol * regret else "approximate"


def split_factors(
    factors: Sequence[tuple[ArrayLike, ArrayLike]], node_ptr: NDArray[np.int64]
) -> list[list[tuple[ArrayLike, ArrayLike]]]:
    """The factors of each graph of a batch, with its own node numbers."""
    parts: list[list[tuple[ArrayLike, ArrayLike]]] = [[] for _ in node_ptr[1:]]
    for k, (nodes, table) in enumerate(factors):
        numbers = np.atleast_1d(nodes)
        graphs = np.searchsorted(node_ptr, numbers, side="right") - 1 if numbers.dtype.kind in "iu" else numbers
        if graphs.dtype.kind != "i" or graphs.size == 0 or graphs.min() < 0 or graphs.max() >= len(parts):
            raise ValueError(f"the nodes of factor {k} must be integers from 0 to {node_ptr[-1] - 1}, got {nodes!r}")
        if graphs.min() < graphs.max():
            raise ValueError(f"the nodes of factor {k} belong to several graphs, from {graphs.min()} to {graphs.max()}")
        parts[graphs[0]].append((numbers - node_ptr[graphs[0]], table))
    return parts


def make_factor_graph(problem: Problem, factors: Sequence[tuple[ArrayLike, ArrayLike]] = ()) -> FactorGraph:
    """Nodes and edges of a problem of one graph together with further factors, all in float64."""
    _check_scores(problem.unary, "unary")
    _check_scores(problem.interaction, "interaction")
    _check_edges(problem)
    unary, tables = problem.unary.astype(np.float64), problem.interaction.astype(np.float64)
    pairs = [((int(i), int(j)), table) for (i, j), table in zip(problem.edges, tables, strict=True)]
    loops = [((i,), np.diagonal(table).copy()) for (i, j), table in pairs if i == j]
    edges: list[Factor] = [(scope, table) for scope, table in pairs if scope[0] != scope[1]]
    others = [_check_factor(k, factor, problem) for k, factor in enumerate(_check_list(factors))]
    return FactorGraph(unary, [*edges, *loops, *others])


def _check_list(factors: Sequence[tuple[ArrayLike, ArrayLike]]) -> list[tuple[ArrayLike, ArrayLike]]:
    pairs = list(factors)
    for k, pair in enumerate(pairs):
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise ValueError(f"factors[{k}] must be a pair (nodes, table), got {type(pair).__name__}")
    return pairs


def _check_factor(k: int, factor: tuple[ArrayLike, ArrayLike], problem: Problem) -> Factor:
    nodes = np.asarray(factor[0])
    if nodes.ndim != 1 or nodes.size == 0 or nodes.dtype.kind not in "iu":
        raise ValueError(
            f"factors[{k}] needs a vector of integers, at least one, as its nodes, "
            f"got the shape {nodes.shape} and type {nodes.dtype}"
        )
    wrong = nodes[(nodes < 0) | (nodes >= problem.n_nodes)]
    if len(wrong):
        raise ValueError(f"factors[{k}] has node {wrong[0]}, but the nodes are numbered 0 to {problem.n_nodes - 1}")
    if len(np.unique(nodes)) < len(nodes):
        raise ValueError(f"factors[{k}] needs distinct nodes, got {nodes.tolist()}")
    table = _check_table(k, factor[1], (problem.n_labels,) * len(nodes))
    return tuple(int(node) for node in nodes), table


def _check_table(k: int, values: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float64]:
    try:
        table = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"the table of factors[{k}] must be an array, but its rows differ in length") from error
    if table.shape != shape:
        raise ValueError(f"the table of factors[{k}] must have the shape {shape}, one axis a node, got {table.shape}")
    if table.dtype not in (np.float32, np.float64):
        raise ValueError(f"the table of factors[{k}] must be of type float32 or float64, got {table.dtype}")
    _check_scores(table, f"factors[{k}][1]")
    return np.ascontiguousarray(table, np.float64)


def _check_scores(values: NDArray[Any], name: str) -> None:
    bad = ~(values < np.float64(_LARGEST)) | ((values < np.float64(-_LARGEST)) & (values != -np.inf))
    if not bad.any():
        return
    place = tuple(int(k) for k in np.argwhere(bad)[0])
    value = values[place]
    what = "NaN" if np.isnan(value) else "+inf" if value == np.inf else f"{value}, beyond ±{_LARGEST:g}"
    where = ", ".join(map(str, place))
    raise ValueError(f"{name}[{where}] is {what}: scores must be finite, or -inf where a label is forbidden")


def _check_edges(problem: Problem) -> None:
    wrong = np.flatnonzero(((problem.edges < 0) | (problem.edges >= problem.n_nodes)).any(axis=1))
    if len(wrong):
        i, j = problem.edges[wrong[0]]
        raise ValueError(
            f"edges[{wrong[0]}] is ({i}, {j}), but the nodes of its graph are numbered 0 to {problem.n_nodes - 1}"
        )
