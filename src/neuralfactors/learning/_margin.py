"""The loss Δ(y, z) of a labelling, and its place in inference: what margin rescaling adds to the potentials."""

from __future__ import annotations

import torch
from torch import Tensor

from neuralfactors._core.potentials import Potentials
from neuralfactors._core.score_tensors import to_summands


def node_costs(y: Tensor, class_weight: Tensor | None = None, node_weight: Tensor | None = None) -> Tensor:
    """What a wrong label costs at every node: η(yᵢ), or η(yᵢ, ·), times the node's weight; nothing at void nodes.

    Parameters
    ----------
    y : Tensor of shape (V,)
        True labels, -1 for void.
    class_weight : Tensor of shape (L,) or (L, L), default=None
        η by true label, or by true label (row) and predicted one (column), zero where they are the same; None: 1.
    node_weight : Tensor of shape (V,) or (V, L), default=None
        (V, L): what every label costs at every node. None: 1.

    Returns
    -------
    Tensor of shape (V,) or (V, L)
        The costs of a wrong label or, where these differ, of every label; on the device of `y`.
    """
    labelled = y >= 0
    costs = labelled.to(torch.get_default_dtype() if node_weight is None else node_weight.dtype)
    weights = [] if class_weight is None else [class_weight.to(y.device)[y.clamp_min(0)]]
    weights += [] if node_weight is None else [node_weight]
    wide = any(weight.ndim == 2 for weight in weights)
    costs = costs[:, None] if wide else costs
    for weight in weights:
        costs = costs * (weight[:, None] if wide and weight.ndim == 1 else weight)
    return costs


def hamming(y: Tensor, z: Tensor, costs: Tensor, graph: Tensor | None = None, n_graphs: int = 1) -> Tensor:
    """Loss Δ(y, z) of every graph: the sum of the costs of the nodes that differ; Eq. (5).

    Parameters
    ----------
    y, z : Tensor of shape (V,)
        True and predicted labels.
    costs : Tensor of shape (V,) or (V, L)
        See `node_costs`.
    graph : Tensor of shape (V,), default=None
        The graph of every node; None: all belong to one.
    n_graphs : int, default=1
        G, where `graph` is given.

    Returns
    -------
    Tensor of shape (G,)
        The losses.
    """
    wrong = costs * (z != y) if costs.ndim == 1 else costs.gather(1, z[:, None])[:, 0]
    if graph is None:
        return wrong.sum()[None]
    return wrong.new_zeros(n_graphs).index_add(0, graph, wrong)


def loss_augment(potentials: Potentials, y: Tensor, costs: Tensor) -> Potentials:
    """The potentials with Δ(y, ·) added to the unary ones, whose argmax is the loss-augmented prediction; Eq. (8).

    Parameters
    ----------
    potentials : Potentials
        Of a batch.
    y : Tensor of shape (V,)
        True labels; what void nodes have here does not matter, as they cost nothing.
    costs : Tensor of shape (V,) or (V, L)
        See `node_costs`.

    Returns
    -------
    Potentials
        Every wrong label of a node scores its cost more than before.
    """
    scores = to_summands(potentials.unary)
    costs = costs.to(scores.dtype)
    if costs.ndim == 2:
        return potentials.with_unary(scores + costs)
    costs = costs[:, None]
    return potentials.with_unary((scores + costs).scatter_add(1, y.clamp_min(0)[:, None], -costs))
