"""Signs that weights of linear factors must have, such as those that keep inference submodular."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Signs = NDArray[np.int8]


def check_signs(name: str, signs: ArrayLike, table: tuple[int, ...], mirror: NDArray[np.int8]) -> Signs:
    """The sign of every weight of a linear factor, 0 for any, feature by feature and the bias last.

    Parameters
    ----------
    name : str
        What errors call them.
    signs : array of shape (L, L) or (T, L, L)
        1 for weights ≥ 0, −1 for weights ≤ 0, 0 for any; of one table, or of those of all features and the bias.
    table : tuple of int
        Shape of a table, such as (L, L).
    mirror : ndarray of shape (T,)
        1 for tables that are symmetric, −1 for antisymmetric ones, as the signs must be; 0 for any.

    Returns
    -------
    ndarray of shape (T, L, L)
        int8.

    Raises
    ------
    ValueError
        If values or shape are others, or a symmetric table would need signs that are not.
    """
    given = np.asarray(signs)
    n_tables = len(mirror)
    if given.shape not in (table, (n_tables, *table)) or not np.isin(given, (-1, 0, 1)).all():
        raise ValueError(f"{name} must hold 1, -1 or 0 in the shape {table} or {(n_tables, *table)}, got {signs!r}")
    tables = np.broadcast_to(given, (n_tables, *table)).astype(np.int8)
    for sign, own in zip(mirror, tables, strict=True):
        if sign and (own != sign * own.T).any():
            kind = "symmetric" if sign > 0 else "antisymmetric"
            raise ValueError(f"{name} must be {kind} where tables are, got {own.tolist()}")
    return tables


def project(weights: NDArray[np.float64], signs: Signs | None) -> NDArray[np.float64]:
    """The nearest weights that have these signs: the wrong ones become 0.

    Parameters
    ----------
    weights : ndarray of shape (dim,)
        Any numbers.
    signs : ndarray of shape (dim,) or None
        1, −1, or 0 for any; None: all are free.

    Returns
    -------
    ndarray of shape (dim,)
        `weights` itself where all are free.
    """
    return weights if signs is None else np.where(signs * weights < 0, 0.0, weights)
