"""Tables of edges that equal their own transpose, or minus that, feature by feature."""

from __future__ import annotations

from collections.abc import Sequence

from neuralfactors._common.extras import needs

with needs("learning", "learn"):
    import torch
    from torch import Tensor


def mirror_signs(symmetric: Sequence[int], n_features: int, order: int, hidden: Sequence[int]) -> Tensor:
    """With what sign the table of every feature, and that of the bias, equals its own transpose; 0: it is free.

    The bias, last, is symmetric unless a feature is free: reversing an edge then transposes its table. Refused unless
    there is 1, −1 or 0 for each of `n_features`, and the factor joins two nodes (`order`) and has no `hidden` layers.

    >>> mirror_signs([1, -1], 2, 2, ()).tolist(), mirror_signs([0, -1], 2, 2, ()).tolist()
    ([1, -1, 1], [0, -1, 0])
    """
    if order != 2 or len(hidden):
        raise ValueError(
            "symmetric by feature needs a linear factor on edges of two nodes, "
            f"got hidden={tuple(hidden)} on {order} nodes: use symmetric=True"
        )
    signs = list(symmetric)
    if len(signs) != n_features or any(sign not in (-1, 0, 1) for sign in signs):
        raise ValueError(
            f"symmetric must be a bool, or 1, -1 or 0 for each of {n_features} features, got {symmetric!r}"
        )
    return torch.tensor([*signs, int(0 not in signs)], dtype=torch.int8)


def project(tables: Tensor, signs: Tensor) -> Tensor:
    """The nearest tables (L·L, K), one for every feature, that have the symmetry of their `signs` (K,); 0: free."""
    n_labels = round(len(tables) ** 0.5)
    turned = tables.view(n_labels, n_labels, -1).transpose(0, 1).reshape(tables.shape)
    return torch.where(signs == 0, tables, (tables + signs * turned) / 2)
