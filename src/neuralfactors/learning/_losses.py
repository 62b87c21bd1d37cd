"""Structured losses as torch modules: potentials and labels in, a differentiable scalar out.

Use them to train any network whose outputs make `Potentials`. `violation` is what estimators share with them, and below
are the checks of labels, weights and options that all of learning uses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from neuralfactors._core.potentials import Potentials
from neuralfactors._core.score_tensors import check_own_labels
from neuralfactors.learning._decode import Decoded, Decoder
from neuralfactors.learning._loss_augmented import check_range, find_rival
from neuralfactors.learning._margin import hamming, node_costs

T = TypeVar("T")
AUTO = "auto"  # a parameter that is to be chosen when the training data are known; see `_auto_parameters`


class LossReport:
    """What the last call of a loss knows of its own quality; shares are computed when they are asked for.

    Parameters
    ----------
    found : Violation
        Of the batch.
    y : Tensor of shape (V,)
        Its labels, −1 for void.
    """

    def __init__(self, found: Violation, y: Tensor) -> None:
        self.decoded = found.decoded
        self.z = found.z  # (V,) the loss-augmented prediction
        self.y = y  # (V,)
        self.below = found.negative  # (G,)

    def __repr__(self) -> str:
        shares = f"optimal={self.optimal:.3g}, within_tol={self.within_tol:.3g}, differing={self.differing:.3g}"
        return f"LossReport({shares}, gap={self.gap:.3g})"

    @property
    def gap(self) -> float:
        """Mean distance between score and bound of the inference, in units of the loss."""
        return _mean(self.decoded.gap)

    @property
    def optimal(self) -> float:
        """Share of graphs whose inference is proved optimal."""
        return _mean(self.decoded.optimal)

    @property
    def within_tol(self) -> float:
        """Share of graphs whose inference is proved optimal or within the decoder's tolerance."""
        return _mean(self.decoded.within_tol)

    @property
    def negative(self) -> float:
        """Share of graphs whose violation fell below zero, which only approximate inference can do."""
        return _mean(self.below)

    @property
    def differing(self) -> float:
        """Share of labelled nodes at which z and y differ."""
        return _mean((self.z != self.y)[self.y >= 0])


@dataclass(frozen=True)
class Violation:
    """Margin violations of a batch before they are clamped at zero."""

    value: Tensor  # (G,) Δ(y, z) + g(x, z) − g(x, y)
    y: Tensor  # (V,) the labels compared with: void nodes completed, or set to 0 where they are dropped
    z: Tensor  # (V,)
    decoded: Decoded

    @property
    def negative(self) -> Tensor:
        """Which graphs fell below zero by more than rounding explains, (G,)."""
        scale = self.decoded.score.abs().clamp_min(1.0)
        return self.value.detach().cpu() < -1e-5 * scale


def violation(
    potentials: Potentials, y: Tensor, costs: Tensor, decoder: Decoder, *, augment: bool = True, void: str = "drop"
) -> Violation:
    """Δ(y, z) + g(x, z) − g(x, y) of every graph for the loss-augmented prediction z; Eqs. (7)–(8).

    It is differentiable in the potentials. `costs` (V,) or (V, L) are those of a wrong label, or of every label.
    Without `augment`, z is the plain prediction and Δ is left out, as in the perceptron. Of `void` nodes, −1 in `y`
    (V,), "drop" leaves out the edges too, and "complete" has inference label them. A ValueError names a true label that
    a potential of −inf forbids.
    """
    y, z, decoded, inside = find_rival(potentials, y, costs, decoder, augment=augment, void=void)
    value = potentials.contrast(z, y, inside)
    if augment:
        value = value + hamming(y, z, costs.to(value.dtype), potentials.node_graph, potentials.n_graphs)
    return Violation(value, y, z, decoded)


class StructuredLoss(nn.Module):
    """What structured losses share: weights of classes and nodes, what becomes of void nodes, and the reduction.

    A subclass gives `_of_graphs`. Where weights must be None, `no_weights` says why.
    """

    def __init__(
        self, class_weight: ArrayLike | Tensor | None, void: str, reduction: str, no_weights: str = ""
    ) -> None:
        super().__init__()
        check_option("void", void, ("drop", "complete"))
        check_option("reduction", reduction, ("mean", "sum", "none"))
        self.void = void
        self.reduction = reduction
        self.no_weights = no_weights
        self._refuse_weight("class_weight", class_weight)
        self.class_weight: Tensor | None
        self.register_buffer("class_weight", check_class_weight(class_weight))

    def forward(self, potentials: Potentials, y: Tensor, node_weight: Tensor | None = None) -> Tensor:
        """Loss of the true labels under these potentials.

        Parameters
        ----------
        potentials : Potentials
            Of a batch of graphs.
        y : Tensor of shape (V,)
            Integers of any type, −1 or −100 where there is no label; or of the shape (B, T) or (B, H, W) that the
            potentials were made from, whatever they are in the padding.
        node_weight : Tensor of shape (V,) or (V, L), default=None
            Multiplies what a wrong node costs; (V, L): what every label costs at every node, 0 for the right ones.

        Returns
        -------
        Tensor
            A scalar, or of shape (G,) with `reduction="none"`; differentiable in the potentials.
        """
        y = as_labels(y, potentials)
        self._refuse_weight("node_weight", node_weight)
        check_node_weight(node_weight, len(y), potentials.n_labels)
        if self.class_weight is not None and len(self.class_weight) != potentials.n_labels:
            expected = f"{potentials.n_labels} entries, one per label"
            raise ValueError(f"class_weight needs {expected}, got {len(self.class_weight)}")
        values = self._of_graphs(potentials, y, node_weight)
        if self.reduction == "none":
            return values
        return values.mean() if self.reduction == "mean" else values.sum()

    def _of_graphs(self, potentials: Potentials, y: Tensor, node_weight: Tensor | None) -> Tensor:
        """The loss of every graph, (G,)."""
        raise NotImplementedError

    def _refuse_weight(self, name: str, weight: object) -> None:
        if weight is not None and self.no_weights:
            raise ValueError(f"{name} must be None{self.no_weights}")


class StructuredHingeLoss(StructuredLoss):
    """Structured hinge max(0, max_z Δ(y, z) + g(x, z) − g(x, y)) with margin rescaling; Eqs. (6)–(7) of the paper.

    Inference runs on the CPU whatever the device of the potentials, and potentials come to it once a batch. It is
    written for CUDA tensors and for autocast as well; here it was run on CPUs only.

    Parameters
    ----------
    decoder : Decoder, default=None
        How to find the prediction that violates the margin most; None: `Decoder()`.
    class_weight : array of shape (L,) or (L, L), default=None
        η: what a wrong label costs, by true class, or by true class (row) and predicted one (column). None: 1.
    void : "complete" or "drop", default="complete"
        What becomes of nodes labelled −1, which carry no loss. "complete": inference labels them as best fits the
        others. "drop": they and the edges that touch them take no part.
    reduction : "mean", "sum" or "none", default="mean"
        Over the graphs; "none" gives one value a graph.

    Attributes
    ----------
    report : LossReport
        Of the last call; None before it.

    Examples
    --------
    >>> unary = torch.zeros(2, 3, requires_grad=True)
    >>> potentials = Potentials(unary, torch.zeros(1, 3, 3), torch.tensor([[0, 1]]))
    >>> loss = StructuredHingeLoss()(potentials, torch.tensor([0, 2]))
    >>> loss.item()
    2.0
    """

    augment = True

    def __init__(
        self,
        decoder: Decoder | None = None,
        *,
        class_weight: ArrayLike | Tensor | None = None,
        void: str = "complete",
        reduction: str = "mean",
    ) -> None:
        no_weights = "" if self.augment else f": it weighs a margin, which {type(self).__name__} does not have"
        super().__init__(class_weight, void, reduction, no_weights)
        self.decoder = check_part("decoder", Decoder() if decoder is None else decoder, Decoder)
        self.report: LossReport | None = None

    def _of_graphs(self, potentials: Potentials, y: Tensor, node_weight: Tensor | None) -> Tensor:
        """The margin violations, clamped at zero."""
        costs = node_costs(y, self.class_weight, node_weight)
        found = violation(potentials, y, costs, self.decoder, augment=self.augment, void=self.void)
        self.report = LossReport(found, y)
        return found.value.clamp_min(0)  # approximate inference may miss y itself and fall below zero


class StructuredPerceptronLoss(StructuredHingeLoss):
    """Perceptron loss max_z g(x, z) − g(x, y): the hinge without margin.

    Weights of classes and nodes scale the margin, so that there is nothing for them here: they must be None.

    Parameters
    ----------
    decoder : Decoder, default=None
        As in `StructuredHingeLoss`.
    class_weight : None, default=None
        Must be None.
    void : "complete" or "drop", default="complete"
        As in `StructuredHingeLoss`.
    reduction : "mean", "sum" or "none", default="mean"
        As in `StructuredHingeLoss`.

    Examples
    --------
    >>> potentials = Potentials(torch.tensor([[0.0, 3.0], [1.0, 0.0]]), torch.zeros(1, 2, 2), torch.tensor([[0, 1]]))
    >>> StructuredPerceptronLoss()(potentials, torch.tensor([0, 0])).item()
    3.0
    """

    augment = False


def check_class_weight(class_weight: ArrayLike | Tensor | None) -> Tensor | None:
    """`class_weight` as a tensor (L,) or (L, L), refused unless it is finite, not negative, and 0 for right labels."""
    if class_weight is None:
        return None
    weight = torch.as_tensor(class_weight)
    weight = weight if weight.is_floating_point() else weight.to(torch.float32)
    square = weight.ndim == 2 and len(weight) == weight.shape[1]
    if not (weight.ndim == 1 or square) or not bool(torch.isfinite(weight).all()) or bool((weight < 0).any()):
        raise ValueError(
            f"class_weight must be one finite number ≥ 0 per label, or per true and predicted label, "
            f"got {weight.tolist()}"
        )
    if square and bool(weight.diagonal().any()):
        raise ValueError(f"a class_weight of shape (L, L) must be 0 on its diagonal, got {weight.diagonal().tolist()}")
    return weight


def refuse_cost_matrix(class_weight: NDArray[np.float64] | None, advice: str) -> None:
    """Refuse a class_weight of shape (L, L) where a wrong label costs the same whatever it is."""
    if class_weight is not None and class_weight.ndim == 2:
        raise ValueError(f"class_weight must have one entry per label here, got shape {class_weight.shape}: {advice}")


def as_labels(y: Tensor, potentials: Potentials) -> Tensor:
    """Labels of the nodes as int64 (V,), −1 where there is none; refused unless they fit the potentials."""
    if not isinstance(potentials, Potentials):
        raise ValueError(f"a loss takes Potentials and labels, in this order, got {type(potentials).__name__} first")
    y = potentials.flatten(y)
    if not torch.compiler.is_compiling():  # else the search looks
        check_range(y, potentials.n_labels)
        if potentials.sizes is not None:
            check_own_labels(y, potentials.sizes)
    return y


def check_node_weight(node_weight: Tensor | None, n_nodes: int, n_labels: int | None = None) -> None:
    """Refuse weights that are not one finite number ≥ 0 per node or, with `n_labels`, per node and label."""
    if node_weight is None:
        return
    if not isinstance(node_weight, Tensor):
        raise ValueError(f"node_weight must be a tensor, got {type(node_weight).__name__}")
    shapes = [(n_nodes,)] if n_labels is None else [(n_nodes,), (n_nodes, n_labels)]
    if tuple(node_weight.shape) not in shapes:
        expected = " or ".join(map(str, shapes))
        raise ValueError(f"node_weight must have shape {expected}, got {tuple(node_weight.shape)}")
    wrong = node_weight[~(torch.isfinite(node_weight) & (node_weight >= 0))]
    if len(wrong):
        raise ValueError(f"node_weight must be finite and not negative, got {wrong[0].item()}")


def check_count(name: str, value: object, least: int = 1) -> None:
    """Refuse a `value` that is not an integer, or is below `least`."""
    if not isinstance(value, (int, np.integer)) or value < least:
        raise ValueError(f"{name} must be an integer ≥ {least}, got {value!r}")


def check_positive(name: str, value: object) -> None:
    """Refuse a `value` that is neither a positive finite number nor "auto"."""
    number = value if isinstance(value, (int, float, np.integer, np.floating)) else 0
    if value != AUTO and not 0 < number < float("inf"):
        raise ValueError(f'{name} must be positive and finite, or "auto", got {value!r}')


def check_part(name: str, value: Any, kind: type[T]) -> T:
    """`value`, refused unless it is a `kind`."""
    if not isinstance(value, kind):
        raise ValueError(f"{name} must be None or a {kind.__name__}, got {value!r}")
    return value


def check_option(name: str, value: str, options: tuple[str, ...]) -> None:
    """Refuse a `value` that is not one of the `options`."""
    if value not in options:
        raise ValueError(f"{name} must be one of {list(options)}, got {value!r}")


def _mean(values: Tensor) -> float:
    return float(values.sum()) / max(1, len(values))
