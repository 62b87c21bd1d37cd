"""The subgradient of the hinge of a batch: forward on all rows, inference, backward on the rows that differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter

import torch
from torch import Tensor
from torch.nn import functional

from neuralfactors._common.labels import VOID
from neuralfactors._core.factor_model import FactorModel
from neuralfactors._core.graph_batch import GraphBatch
from neuralfactors._core.layers import Workspace
from neuralfactors._core.potentials import Potentials
from neuralfactors._core.score_tensors import joint_labels
from neuralfactors.learning._decode import Decoder, clamp_labelled
from neuralfactors.learning._losses import Violation, violation
from neuralfactors.learning._margin import node_costs

BACKWARD_ROWS = 4096  # at a time, so that what lies between the layers stays in the processor's cache
TOLD_LABELS, TOLD_NODES = 0.25, 0.05  # what share of the labels, and of the nodes, inference is told at most
PARTS = ("read", "forward", "inference", "backward", "update")


@dataclass
class Totals:
    """Sums over graphs from which the record of an epoch is made."""

    graphs: float = 0.0
    loss: float = 0.0
    gap: float = 0.0
    optimal: float = 0.0
    within_tol: float = 0.0
    negative: float = 0.0
    labelled: float = 0.0
    differing: float = 0.0
    costs: float = 0.0  # what all labelled nodes cost when all are wrong
    unlike: float = 0.0  # labelled nodes that do not simply cost 1
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PARTS, 0.0))

    COUNTED = ("graphs", "loss", "gap", "optimal", "within_tol", "negative", "labelled", "differing", "costs", "unlike")

    def add(self, found: Violation, y: Tensor, weight: Tensor | None = None) -> None:
        """Count the violations of a batch with labels `y` (V,), whose graphs have the `weight` (G,)."""
        labelled = y >= 0
        self.graphs += len(found.value)
        self.loss += float(_times(found.value.detach().clamp_min(0).double(), weight).sum())
        self.gap += float(_times(found.decoded.gap, weight).sum())
        self.optimal += float(found.decoded.optimal.sum())
        self.within_tol += float(found.decoded.within_tol.sum())
        self.negative += float(found.negative.sum())
        self.labelled += float(labelled.sum())
        self.differing += float(((found.z != y) & labelled).sum())

    def numbers(self) -> Tensor:
        """The counts as a tensor, to be summed over ranks and put back by `replace`."""
        return torch.tensor([getattr(self, name) for name in self.COUNTED], dtype=torch.float64)

    def replace(self, numbers: Tensor) -> None:
        """Put back the counts of `numbers`."""
        for name, value in zip(self.COUNTED, numbers.tolist(), strict=True):
            setattr(self, name, value)


class Clock:
    """Adds the time since the last call to a part of the epoch."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self.seconds = seconds
        self.last = perf_counter()

    def lap(self, part: str) -> None:
        """Count the time since the last lap as time spent on `part`."""
        now = perf_counter()
        self.seconds[part] += now - self.last
        self.last = now


def accumulate(
    model: FactorModel,
    batch: GraphBatch,
    y: Tensor,
    decoder: Decoder,
    totals: Totals,
    clock: Clock,
    *,
    class_weight: Tensor | None = None,
    augment: bool = True,
    void: str = "drop",
    few_labels: bool = False,
    workspace: Workspace | None = None,
    weight: Tensor | None = None,
) -> None:
    """Add Σₙ wₙ ∇ max(0, ℓₙ) over the graphs of `batch` to the gradients of `model`, and its counts to `totals`.

    The weights w are those of `weight` (G,), or 1.

    With `void="drop"` the batch must be free of void nodes already, as `Samples.batch` gives it. With `few_labels`,
    inference is told some of the labels; see `draw_hints`.

    The subgradient is zero wherever z equals y. So the factors run without gradient on everything, and with gradient
    only on the rows that differ, of which only the outputs selected by z and y are computed; `_backward_restricted`.
    A model whose rows may meet (batch normalisation), or that may take chances of its own, goes through autograd as a
    whole; `FactorModel.rowwise`. So do sparse features, of whose tensors no rows can be taken, and weighted graphs.
    """
    workspace = workspace or Workspace()
    by_rows = model.rowwise and batch.node_features.layout is torch.strided and weight is None
    with torch.set_grad_enabled(not by_rows):
        potentials = model(batch, workspace if by_rows else None)
        clock.lap("forward")
        hints = draw_hints(y) if few_labels else torch.full_like(y, VOID)
        costs = node_costs(torch.where(hints < 0, y, VOID), class_weight, batch.node_weight)
        potentials = clamp_labelled(potentials, hints) if few_labels else potentials
        found = violation(potentials, y, costs, decoder, augment=augment, void=void)
        clock.lap("inference")
    if by_rows:
        _backward_restricted(model, batch, potentials, found, workspace)
    elif found.value.requires_grad:
        torch.autograd.backward(_times(found.value.clamp_min(0), weight).sum())
    clock.lap("backward")
    totals.add(found, y, weight)
    worst = _times(_worst(costs), _of_nodes(weight, batch))
    totals.costs += float(worst.sum())
    totals.unlike += float(((y >= 0) & ((worst != 1) | (costs.ndim > 1))).sum())


def draw_hints(y: Tensor) -> Tensor:
    """Labels that inference is told in this step, (V,): drawn at random from those of `y`, −1 elsewhere.

    As in a prediction with known labels, the others are then learned from what they are joined to. Told nothing,
    inference may relabel all of a cluster and pays for no edge within it, so that interactions remain too weak; told
    much, it hardly needs the features, and predicts badly where nothing is known.
    """
    labelled = y >= 0
    chance = min(TOLD_LABELS, TOLD_NODES * len(y) / max(1, int(labelled.sum())))
    return torch.where(torch.rand(len(y)).to(y.device) < chance, y, VOID)


def _backward_restricted(
    model: FactorModel, batch: GraphBatch, potentials: Potentials, found: Violation, workspace: Workspace
) -> None:
    """Gradients of Σ max(0, ℓₙ) from the rows at which z and y differ, in the graphs whose hinge is not clamped."""
    # At exactly zero autograd's clamp passes the gradient too; the perceptron starts there, with z a tie.
    active, y, z = found.value >= 0, found.y, found.z
    rows = torch.nonzero((z != y) & active[potentials.node_graph])[:, 0]
    for block in _blocks(rows):
        model.backward_contrast("unary", batch.node_features, block, z, y, workspace)
    if model.interaction is not None:
        before, after = joint_labels(y, batch.edges, model.n_labels), joint_labels(z, batch.edges, model.n_labels)
        rows = torch.nonzero((before != after) & active[potentials.edge_graph])[:, 0]
        for block in _blocks(rows):
            model.backward_contrast("interaction", batch.edge_features, block, after, before, workspace)


def _times(values: Tensor, weight: Tensor | None) -> Tensor:
    return values if weight is None else values * weight.to(values.device, values.dtype)


def _of_nodes(weight: Tensor | None, batch: GraphBatch) -> Tensor | None:
    """The weight of its graph for every node, (V,)."""
    return None if weight is None else torch.repeat_interleave(weight, batch.node_ptr.diff())


def _worst(costs: Tensor) -> Tensor:
    """The most that a label costs at every node, (V,)."""
    return costs if costs.ndim == 1 else costs.amax(1)


def _blocks(rows: Tensor) -> Sequence[Tensor]:
    return torch.split(rows, BACKWARD_ROWS) if len(rows) else ()


def accumulate_cross_entropy(
    model: FactorModel,
    batch: GraphBatch,
    y: Tensor,
    totals: Totals,
    clock: Clock,
    class_weight: Tensor | None = None,
    weight: Tensor | None = None,
) -> None:
    """Add the gradient of the nodes' cross-entropy, summed over a batch, to the gradients of the unary factor.

    Void nodes, −1 in `y` (V,), cost nothing. Others cost by `class_weight` (L,) and the `weight` (G,) of their graph.
    """
    labelled = y >= 0
    costs = _times(_worst(node_costs(y, class_weight, batch.node_weight)), _of_nodes(weight, batch))
    values = model.node_values(batch)
    clock.lap("forward")
    loss = (functional.cross_entropy(values, y.clamp_min(0), reduction="none") * costs).sum()
    torch.autograd.backward(loss)
    clock.lap("backward")
    totals.graphs += batch.n_graphs
    totals.loss += float(loss.detach())
    totals.costs += float(costs.sum())
    totals.optimal += batch.n_graphs
    totals.within_tol += batch.n_graphs
    totals.labelled += float(labelled.sum())
    totals.differing += float(((values.detach().argmax(1) != y) & labelled).sum())
