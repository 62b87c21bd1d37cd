"""Signs that weights of linear factors must have, such as those that keep inference submodular."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralfactors._core.factors import Factor

Signs = NDArray[np.int8]


def check_signs(signs: ArrayLike, factor: Factor, table: tuple[int, ...]) -> Signs:
    """The sign of every weight of a linear interaction factor, 0 for any, feature by feature and the bias last.

    Parameters
    ----------
    signs : array of shape (L, L) or (T, L, L)
        1 for weights ≥ 0, −1 for weights ≤ 0, 0 for any; of one table, or of those of all features and the bias.
    factor : Factor
        Linear. Its symmetry must be that of the signs.
    table : tuple of int
        Shape of a table, such as (L, L).

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
    n_tables = factor.weight.shape[1] + (factor.bias is not None)
    if given.shape not in (table, (n_tables, *table)) or not np.isin(given, (-1, 0, 1)).all():
        raise ValueError(
            f"interaction_sign must hold 1, -1 or 0 in the shape {table} or {(n_tables, *table)}, got {signs!r}"
        )
    tables = np.broadcast_to(given, (n_tables, *table)).astype(np.int8)
    mirror = np.zeros(n_tables, np.int8) if factor.signs is None else factor.signs.numpy()[:n_tables]
    for sign, own in zip(mirror, tables, strict=True):
        if sign and (own != sign * own.T).any():
            kind = "symmetric" if sign > 0 else "antisymmetric"
            raise ValueError(f"interaction_sign must be {kind} where tables are, got {own.tolist()}")
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
