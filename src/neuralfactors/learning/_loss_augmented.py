"""The labelling that violates the margin most: what losses need of inference, as an operator that torch can compile."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from neuralfactors._core.potentials import Potentials
from neuralfactors.learning._decode import Decoded, Decoder, clamp_labelled, is_traced, tensors_of
from neuralfactors.learning._margin import loss_augment


class Rival(NamedTuple):
    """The labels to learn, and the labelling z that competes with them most."""

    y: Tensor  # (V,) the labels compared with: void nodes completed, or set to 0 where they are dropped
    z: Tensor  # (V,)
    decoded: Decoded
    inside: Tensor | None  # (V,) the nodes whose edges count; None: all


def find_rival(
    potentials: Potentials, y: Tensor, costs: Tensor, decoder: Decoder, *, augment: bool, void: str
) -> Rival:
    """The argmax of Δ(y, z) + g(x, z), without gradient; arguments as those of `losses.violation`.

    What torch compiles or transforms (`torch.compile`, `torch.func`) gets it as the operator `neuralfactors::rival`.
    """
    if is_traced():
        return _find_by_operator(potentials, y, costs, decoder, augment, void)
    return search_rival(potentials, y, costs, decoder, augment, void)


@torch.no_grad()
def search_rival(potentials: Potentials, y: Tensor, costs: Tensor, decoder: Decoder, augment: bool, void: str) -> Rival:
    """The same as `find_rival`, by the kernel itself."""
    labelled = y >= 0
    full = bool(labelled.all())
    if not full and void == "complete":
        decoder = decoder.fine()  # for z as well: were it rougher than the completion, it would often score less
        # Where no completion is allowed, inference keeps to the given labels no more; `check_allowed` names them.
        y = torch.where(labelled, y, decoder(clamp_labelled(potentials, y)).labels)
    dropped = not full and void == "drop"
    if dropped:
        potentials, y = potentials.masked(labelled), y.clamp_min(0)
    decoded = decoder(loss_augment(potentials, y, costs) if augment else potentials)
    z = torch.where(labelled, decoded.labels, y) if dropped else decoded.labels
    check_allowed(potentials, y)
    return Rival(y, z, decoded, labelled if dropped else None)


def _find_by_operator(
    potentials: Potentials, y: Tensor, costs: Tensor, decoder: Decoder, augment: bool, void: str
) -> Rival:
    from neuralfactors.learning import _operators

    options = augment, void, *decoder.arguments(), decoder.fine().tol
    labels, z, *found = _operators.rival(*tensors_of(potentials), y, costs.detach(), *options)
    return Rival(labels, z, Decoded.from_tensors(*found), y >= 0 if void == "drop" else None)


def check_range(y: Tensor, n_labels: int) -> None:
    """Refuse labels `y` that are neither one of 0, …, L − 1 nor −1."""
    if len(y) and (int(y.min()) < -1 or int(y.max()) >= n_labels):
        low, high = int(y.min()), int(y.max())
        raise ValueError(f"y must contain labels from 0 to {n_labels - 1}, or -1 for void; got {low} to {high}")


def check_allowed(potentials: Potentials, y: Tensor) -> None:
    """Refuse labels `y` (V,) that a potential of −inf forbids: the loss would be infinite."""
    places = ("node", "edge"), potentials.selected(y), (potentials.node_ptr, potentials.edge_ptr)
    for what, values, pointers in zip(*places, strict=True):
        rows = torch.nonzero(values == -torch.inf)[:, 0].cpu()
        if len(rows):
            row = int(rows[0])
            graph = int(torch.searchsorted(pointers, row, right=True)) - 1
            labels = y[row if what == "node" else potentials.edges[row]].tolist()
            raise ValueError(
                f"{what} {row - int(pointers[graph])} of graph {graph} in the batch has true label {labels}, "
                "which a potential of −inf forbids: allow it, or make it void (−1)"
            )
