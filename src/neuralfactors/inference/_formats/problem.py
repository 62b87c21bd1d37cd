"""The problem that a file describes, as arrays of one size: labels are padded, factors over the same pair added."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuralfactors._common.files import FileFormatError
from neuralfactors.inference._formats.scopes import Scopes

MAX_BYTES = 2**32  # of all arrays of a problem
MAX_ORDER = 30


class MapProblem(NamedTuple):
    """A problem as `solve` takes it: `solve(*problem)`. Scores: higher is better, -inf is forbidden.

    Parameters
    ----------
    unary : ndarray of shape (n_nodes, n_labels)
        -inf for labels that a node does not have, if others have more.
    interaction : ndarray of shape (n_edges, n_labels, n_labels)
        0 for labels that a node does not have.
    edges : ndarray of shape (n_edges, 2)
        No pair of nodes comes twice.
    factors : list of (nodes, table)
        Factors over three or more nodes; their tables are padded like `interaction`.
    """

    unary: NDArray[np.float64]  # (V, L)
    interaction: NDArray[np.float64]  # (E, L, L)
    edges: NDArray[np.int64]  # (E, 2)
    factors: list[tuple[NDArray[np.int64], NDArray[np.float64]]]


def check_size(path: Path, sizes: NDArray[np.int64], scopes: Iterable[Scopes]) -> None:
    """Refuse a problem whose padded arrays would not fit into memory, or would have more axes than arrays can have."""
    n_labels = int(sizes.max())
    entries = float(len(sizes)) * n_labels
    for group in scopes:
        if group.order > MAX_ORDER:
            raise FileFormatError(f"{path} has a factor over {group.order} variables, but the limit is {MAX_ORDER}")
        entries += len(group.members) * float(n_labels) ** group.order
    if 8 * entries > MAX_BYTES:
        raise FileFormatError(
            f"{path} needs {8 * entries / 2**30:.3g} GiB as arrays of {n_labels} labels for every node, "
            f"more than the {MAX_BYTES / 2**30:g} GiB that are allowed"
        )


def assemble(sizes: NDArray[np.int64], tables: Iterable[tuple[Scopes, NDArray[np.float64]]]) -> MapProblem:
    """The problem of nodes with `sizes` labels and of factors of any order, with their padded tables (n, L, ..., L)."""
    n_labels = int(sizes.max())
    unary = np.where(np.arange(n_labels) < sizes[:, None], 0.0, -np.inf)
    edges, interaction = np.zeros((0, 2), np.int64), np.zeros((0, n_labels, n_labels))
    factors = []
    for scopes, values in tables:
        if scopes.order == 0:
            unary[0] += values.sum()  # where a constant stands does not matter
        elif scopes.order == 1:
            np.add.at(unary, scopes.nodes[:, 0], values)
        elif scopes.order == 2:
            edges, interaction = _merge(scopes.nodes, values, len(sizes))
        else:
            factors += list(zip(scopes.members.tolist(), scopes.nodes, values, strict=True))
    factors.sort(key=lambda factor: factor[0])
    return MapProblem(unary, interaction, edges, [(nodes, table) for _, nodes, table in factors])


def _merge(
    nodes: NDArray[np.int64], tables: NDArray[np.float64], n_nodes: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Edges and their tables, one for each pair of nodes: in the order and orientation in which pairs come first."""
    pairs = nodes.min(axis=1) * n_nodes + nodes.max(axis=1)
    _, first, pair_of = np.unique(pairs, return_index=True, return_inverse=True)
    if len(first) == len(nodes):
        return nodes, tables
    rank = np.argsort(np.argsort(first))
    edges, edge_of = nodes[np.sort(first)], rank[pair_of]
    reversed_ = nodes[:, 0] != edges[edge_of, 0]
    tables[reversed_] = tables[reversed_].transpose(0, 2, 1)
    interaction = np.zeros((len(edges), *tables.shape[1:]))
    np.add.at(interaction, edge_of, tables)
    return edges, interaction
