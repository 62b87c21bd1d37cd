"""Signs that weights of linear factors must have, such as those that keep inference submodular."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Signs = NDArray[np.int8]


def check_signs(name: str, signs: ArrayLike, table: tuple[int, ...], mirror: NDArray[np.int8]) -> Signs:
    """The sign of every weight of a linear factor, 0 for any, feature by feature and the bias last: (T, L, L).

    Signs are given for one `table`, or for those of all features and the bias. They are refused, under their `name`,
    unless they are 1 for weights ≥ 0, −1 for weights ≤ 0 or 0, and as symmetric as the tables are: `mirror` (T,) is 1
    for tables that are symmetric, −1 for antisymmetric ones and 0 for any.
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
    """The nearest weights (dim,) that have these signs: the wrong ones become 0. None: all are free."""
    return weights if signs is None else np.where(signs * weights < 0, 0.0, weights)
