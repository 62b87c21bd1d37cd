"""Lists of rows and tables of different sizes, checked once and laid out as the kernels take them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralfactors.inference._problem import Places, Scores
from neuralfactors.inference._scores import as_scores


def is_ragged(unary: Any) -> bool:
    """Whether these are rows of different lengths, so that no array can hold them."""
    if not isinstance(unary, (list, tuple)):
        return False
    return len({len(row) if hasattr(row, "__len__") else -1 for row in unary}) > 1


def check_ragged(unary: Any, interaction: Any, edges: NDArray[np.int64]) -> tuple[Scores, Scores, Places]:
    """Rows and tables of scores, each one after the other, and where they begin.

    Every node has at least one label. The table of an edge (u, v) has as many rows as u has labels and as many columns
    as v has; one matrix may be that of all edges. Of `edges`, only the numbers are left to check.
    """
    rows = [_check_row(i, row) for i, row in enumerate(unary)]
    sizes = np.array([len(row) for row in rows], np.int64)
    wrong = np.flatnonzero(((edges < 0) | (edges >= len(sizes))).any(axis=1))
    if len(wrong):
        ends = tuple(edges[wrong[0]].tolist())
        raise ValueError(f"edges[{wrong[0]}] is {ends}, but the nodes are numbered 0 to {len(sizes) - 1}")
    if getattr(interaction, "ndim", None) == 2:
        interaction = [interaction] * len(edges)
    if not hasattr(interaction, "__len__") or len(interaction) != len(edges):
        got = f"{len(interaction)}" if hasattr(interaction, "__len__") else type(interaction).__name__
        raise ValueError(f"interaction must contain a table for each of the {len(edges)} edges, got {got}")
    shapes = sizes[edges].tolist()
    tables = [_check_table(e, *pair) for e, pair in enumerate(zip(interaction, shapes, strict=True))]
    return _join(rows), _join(tables), Places.of(sizes, edges)


def _check_row(i: int, row: Any) -> NDArray[Any]:
    scores = as_scores(row, f"unary[{i}]")
    if scores.ndim != 1 or len(scores) == 0:
        raise ValueError(f"unary[{i}] must be a vector with a score for each label of its node, got {scores.shape}")
    return scores


def _check_table(e: int, table: Any, shape: list[int]) -> NDArray[Any]:
    scores = as_scores(table, f"interaction[{e}]")
    if list(scores.shape) != shape:
        expected = f"{tuple(shape)}, the numbers of labels of its nodes"
        raise ValueError(f"interaction[{e}] must have the shape {expected}, got {scores.shape}")
    return scores.ravel()


def _join(parts: list[NDArray[Any]]) -> Scores:
    """All numbers of the parts, of the type that holds them all."""
    joined: Scores = np.concatenate(parts) if parts else np.zeros(0, np.float32)
    return joined
