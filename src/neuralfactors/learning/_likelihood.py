"""Losses that compare the labels with all others, and the log-likelihood of a conditional random field among them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from neuralfactors._core.distribution import log_partition
from neuralfactors._core.potentials import Potentials
from neuralfactors.inference import SUM_METHODS
from neuralfactors.inference._sum_problem import MAX_ENTRIES
from neuralfactors.inference._sums import SumOptions
from neuralfactors.learning._decode import clamp_labelled
from neuralfactors.learning._loss_augmented import check_allowed
from neuralfactors.learning._losses import StructuredLoss, check_option
from neuralfactors.learning._margin import loss_augment, node_costs


@dataclass(frozen=True)
class SumReport:
    """What the last call of a loss knows of its sums."""

    status: NDArray[np.str_]  # (G,) of the loss: "exact", "upper_bound" or "approximation"
    converged: NDArray[np.bool_]  # (G,)

    @property
    def exact(self) -> float:
        """Share of graphs whose loss is exact."""
        return float((self.status == "exact").sum()) / max(1, len(self.status))


class LikelihoodLoss(StructuredLoss):
    """Base of losses that compare the labels with all others, among which a margin may make wrong ones count more."""

    def __init__(self, margin: float, class_weight: ArrayLike | Tensor | None, void: str, reduction: str) -> None:
        if not 0 <= margin < float("inf"):
            raise ValueError(f"margin must be a finite number ≥ 0, got {margin!r}")
        no_weights = "" if margin > 0 else " without a margin: a likelihood does not weigh nodes"
        super().__init__(class_weight, void, reduction, no_weights)
        self.margin = float(margin)

    def _of_graphs(self, potentials: Potentials, y: Tensor, node_weight: Tensor | None) -> Tensor:
        """Losses (G,); with a margin, rivals gain what they cost."""
        labelled = y >= 0
        full = bool(labelled.all())
        if not full and self.void == "drop":
            potentials, y, full = drop(potentials, labelled), y.clamp_min(0), True
        check_allowed(potentials if full else potentials.masked(labelled), y.clamp_min(0))
        rivals = potentials
        if self.margin > 0:
            costs = self.margin * node_costs(torch.where(labelled, y, -1), self.class_weight, node_weight)
            rivals = loss_augment(potentials, y, costs)
        return self._compare(rivals, potentials, y, full)

    def _compare(self, rivals: Potentials, potentials: Potentials, y: Tensor, full: bool) -> Tensor:
        """Losses (G,): all labellings of `rivals`, which have the margin, against those of `potentials` that fit `y`.

        Where `full`, the labels `y` (V,) leave no node void.
        """
        raise NotImplementedError


class CRFLoss(LikelihoodLoss):
    """Negative log-likelihood log Z − g(x, y) of the labels, Z being the sum of exp g(x, z) over all labellings z.

    It is exact on chains, trees and all graphs of low treewidth. Elsewhere log Z is an upper bound by tree-reweighted
    sums, so that this is an upper bound of the loss, or Bethe's approximation; `report` says which. Where void nodes
    are summed out of a graph that is too large to be exact, it is an approximation: the difference of two bounds.

    Parameters
    ----------
    method : "auto", "exact", "trw" or "bethe", default="auto"
        How to sum; see `neuralfactors.inference.marginals`, also for `max_entries`, `max_iter`, `tol` and `n_threads`.
    margin : float, default=0.0
        Adds `margin` · Δ(y, z) to g(x, z) within Z (the softmax margin), which makes wrong labels count by their cost.
    class_weight : array of shape (L,) or (L, L), default=None
        η: what a wrong label costs, by true class, or by true class (row) and predicted one (column). None: 1. Needs a
        `margin`, as `node_weight` does.
    void : "complete" or "drop", default="complete"
        What becomes of nodes labelled −1. "complete": they are summed out, and the loss is that of the other labels.
        "drop": they and the edges that touch them take no part.
    reduction : "mean", "sum" or "none", default="mean"
        Over the graphs; "none" gives one value a graph.
    max_entries : float, default=4194304
        Entries of the largest table that an exact sum may make.
    max_iter : int, default=None
        Iterations of "trw" and "bethe" at most; None: 200.
    tol : float, default=1e-6
        When "trw" and "bethe" stop.
    n_threads : int, default=None
        Graphs summed at the same time; None: as many as there are cores.

    Attributes
    ----------
    report : SumReport
        Of the last call; None before it.

    Examples
    --------
    >>> potentials = Potentials(torch.zeros(2, 3), torch.zeros(1, 3, 3), torch.tensor([[0, 1]]))
    >>> loss = CRFLoss()
    >>> round(loss(potentials, torch.tensor([0, 2])).exp().item(), 4), loss.report.exact
    (9.0, 1.0)
    """

    def __init__(
        self,
        method: str = "auto",
        *,
        margin: float = 0.0,
        class_weight: ArrayLike | Tensor | None = None,
        void: str = "complete",
        reduction: str = "mean",
        max_entries: float = MAX_ENTRIES,
        max_iter: int | None = None,
        tol: float = 1e-6,
        n_threads: int | None = None,
    ) -> None:
        super().__init__(margin, class_weight, void, reduction)
        check_option("method", method, SUM_METHODS)
        self.options: SumOptions = {
            "method": method, "max_entries": max_entries, "max_iter": max_iter, "tol": tol, "n_threads": n_threads
        }  # fmt: skip
        self.report: SumReport | None = None

    def _compare(self, rivals: Potentials, potentials: Potentials, y: Tensor, full: bool) -> Tensor:
        """The logarithm of the sum over all labellings less that over those that agree with `y`."""
        value, found = log_partition(rivals.tensors, **self.options)
        self.report = SumReport(found.status, found.converged)
        if full:
            return value - potentials.score(y)
        given, among = log_partition(clamp_labelled(potentials, y).tensors, **self.options)
        status = np.where(among.status == "exact", found.status, "approximation")
        self.report = SumReport(status, found.converged & among.converged)
        return value - given


def drop(potentials: Potentials, labelled: Tensor) -> Potentials:
    """The potentials without the nodes that `labelled` (V,) leaves out: those have label 0, which scores 0."""
    masked = potentials.masked(labelled)
    forbidden = ~labelled[:, None] & (torch.arange(potentials.n_labels, device=labelled.device) > 0)
    return replace(masked, unary=masked.unary.masked_fill(forbidden, -torch.inf))
