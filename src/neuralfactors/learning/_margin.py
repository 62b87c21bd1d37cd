"""The loss Δ(y, z) of a labelling, and its place in inference: what margin rescaling adds to the potentials."""

from __future__ import annotations

import torch
from torch import Tensor

from neuralfactors._core.potentials import Potentials
from neuralfactors._core.score_tensors import to_summands


def node_costs(y: Tensor, class_weight: Tensor | None = None, node_weight: Tensor | None = None) -> Tensor:
    """What a wrong label costs at every node: η(yᵢ), or η(yᵢ, ·), times the node's weight; nothing at void nodes.

    The costs (V,) are those of any wrong label; where these differ, by `class_weight` (L, L) of true and predicted
    label or by `node_weight` (V, L), there is one for every label, (V, L).
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
    """Loss Δ(y, z) of every graph (G,): the sum of the costs, see `node_costs`, of the nodes that differ; Eq. (5).

    `graph` (V,) has the graph of every node; None: all belong to one.
    """
    wrong = costs * (z != y) if costs.ndim == 1 else costs.gather(1, z[:, None])[:, 0]
    if graph is None:
        return wrong.sum()[None]
    return wrong.new_zeros(n_graphs).index_add(0, graph, wrong)


def loss_augment(potentials: Potentials, y: Tensor, costs: Tensor) -> Potentials:
    """The potentials with Δ(y, ·) added to the unary ones, whose argmax is the loss-augmented prediction; Eq. (8).

    Every wrong label of a node scores its cost more than before; see `node_costs`. What void nodes have in `y` does not
    matter, as they cost nothing.
    """
    scores = to_summands(potentials.unary)
    costs = costs.to(scores.dtype)
    if costs.ndim == 2:
        return potentials.with_unary(scores + costs)
    costs = costs[:, None]
    return potentials.with_unary((scores + costs).scatter_add(1, y.clamp_min(0)[:, None], -costs))
