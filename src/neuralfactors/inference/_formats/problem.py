"""The problem that a file describes: factors over the same pair are added, those over one node are its row."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralfactors._common.files import FileFormatError
from neuralfactors.inference._formats.scopes import Scopes

MAX_BYTES = 2**32  # of all arrays of a problem
MAX_ORDER = 30
Tables = Sequence[NDArray[np.float64]] | NDArray[np.float64]  # a list, or an array of those that are alike


class MapProblem(NamedTuple):
    """A problem as `solve` takes it: `solve(*problem)`. Scores: higher is better, -inf is forbidden.

    Parameters
    ----------
    unary : ndarray of shape (n_nodes, n_labels), or list of vectors
        A list where nodes differ in their number of labels.
    interaction : ndarray of shape (n_edges, n_labels, n_labels), or list of matrices
        A list where nodes differ in their number of labels.
    edges : ndarray of shape (n_edges, 2)
        No pair of nodes comes twice.
    factors : list of (nodes, table)
        Factors over three or more nodes.
    """

    unary: Tables
    interaction: Tables
    edges: NDArray[np.int64]  # (E, 2)
    factors: list[tuple[NDArray[np.int64], NDArray[np.float64]]]


def check_size(path: Path, sizes: NDArray[np.int64], scopes: Iterable[Scopes]) -> None:
    """Refuse a problem whose tables would not fit into memory, or would have more axes than arrays can have."""
    entries = float(sizes.sum(dtype=np.float64))  # which may be beyond all integers
    for group in scopes:
        if group.order > MAX_ORDER:
            raise FileFormatError(f"{path} has a factor over {group.order} variables, but the limit is {MAX_ORDER}")
        entries += float(sizes[group.nodes].astype(np.float64).prod(axis=1).sum())
    if 8 * entries > MAX_BYTES:
        raise FileFormatError(
            f"{path} needs {8 * entries / 2**30:.3g} GiB as arrays, "
            f"more than the {MAX_BYTES / 2**30:g} GiB that are allowed"
        )


def assemble(sizes: NDArray[np.int64], tables: Iterable[tuple[Scopes, Tables]]) -> MapProblem:
    """The problem of nodes with `sizes` labels and of factors of any order, with their tables."""
    unary = [np.zeros(size) for size in sizes.tolist()]
    edges = np.zeros((0, 2), np.int64)
    interaction: Tables = np.zeros((0, sizes[0], sizes[0]))
    factors = []
    for scopes, values in tables:
        if scopes.order == 0:
            unary[0] += sum(values)  # where a constant stands does not matter
        elif scopes.order == 1:
            for node, row in zip(scopes.nodes[:, 0].tolist(), values, strict=True):
                unary[node] += row
        elif scopes.order == 2:
            edges, interaction = _merge(scopes.nodes, values)
        else:
            factors += list(zip(scopes.members.tolist(), scopes.nodes, values, strict=True))
    factors.sort(key=lambda factor: factor[0])
    own = [(nodes, table) for _, nodes, table in factors]
    if (sizes == sizes[0]).all():
        return MapProblem(np.stack(unary), interaction, edges, own)
    return MapProblem(unary, list(interaction), edges, own)


def _merge(nodes: NDArray[np.int64], tables: Tables) -> tuple[NDArray[np.int64], Tables]:
    """Edges and their tables, one for each pair of nodes: in the order and orientation in which pairs come first."""
    place: dict[tuple[int, int], int] = {}
    edges: list[tuple[int, int]] = []
    merged: list[NDArray[np.float64]] = []
    for (i, j), table in zip(nodes.tolist(), tables, strict=True):
        k = place.setdefault((min(i, j), max(i, j)), len(edges))
        if k == len(edges):
            edges.append((i, j))
            merged.append(table)
        else:
            merged[k] = merged[k] + (table if edges[k] == (i, j) else table.T)
    if len(edges) == len(nodes):
        return nodes, tables
    return np.array(edges, np.int64), np.stack(merged) if isinstance(tables, np.ndarray) else merged
