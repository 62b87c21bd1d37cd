"""From torch potentials to labels: the one place where learning calls inference."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from torch import Tensor

from neuralfactors._common.seeds import RandomState, seed_of
from neuralfactors._core.potentials import Potentials
from neuralfactors.inference._factor_graph import Factors
from neuralfactors.inference._problem import Places, Problem
from neuralfactors.inference._solve import solve_problem
from neuralfactors.inference._validate import Options, check_options, check_threads


@dataclass(frozen=True)
class Decoded:
    """Labels of a batch with what is known of their quality, per graph."""

    labels: Tensor  # (V,) int64, on the device of the potentials
    score: Tensor  # (G,) float64, on the CPU like all below
    bound: Tensor  # (G,) no labelling scores higher
    optimal: Tensor  # (G,) bool: proved
    within_tol: Tensor  # (G,) bool: proved, or score and bound within the tolerance of each other

    @classmethod
    def from_tensors(cls, labels: Tensor, score: Tensor, bound: Tensor, proved: Tensor) -> Decoded:
        """What `to_tensors` made tensors of, as an operator of torch returns them."""
        return cls(labels, score, bound, proved[0], proved[1])

    def to_tensors(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Labels (V,), score (G,), bound (G,), and what is proved (2, G)."""
        return self.labels, self.score, self.bound, torch.stack([self.optimal, self.within_tol])

    @property
    def gap(self) -> Tensor:
        """How far the score may be from the maximum, (G,)."""
        return (self.bound - self.score).clamp_min(0.0)


@dataclass(eq=False, repr=False)
class Decoder(BaseEstimator):
    """How to find the labelling of highest score: call it with Potentials, get Decoded.

    Potentials on another device come to the CPU once a batch, and the labels go back once.

    Parameters
    ----------
    method : str, default="auto"
        Inference method; see `neuralfactors.inference.solve`, also for what "auto" becomes, `tol` and `max_iter`.
    tol : float, default=1e-4
        When to stop short of a proof; the default is that of `solve`. Estimators train with 600 times this tolerance,
        to which the share `within_tol` of their history refers.
    max_iter : int, default=None
        Iterations in place of the method's own budget.
    n_threads : int, default=None
        Graphs solved at the same time; None: as many as there are cores.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the method's random moves, and of "perturb".
    marginals : "auto", "exact", "trw", "bethe" or "perturb", default="auto"
        How estimators find probabilities of labels: the methods of `neuralfactors.inference.marginals`, or the shares
        of every label among 100 predictions from perturbed scores, which need no sum. "auto" is exact on graphs of low
        treewidth, such as chains and trees, and "trw" elsewhere.

    Examples
    --------
    >>> potentials = Potentials(torch.tensor([[0.0, 1.0], [2.0, 0.0]]), torch.zeros(1, 2, 2), torch.tensor([[0, 1]]))
    >>> Decoder("trws")(potentials).labels
    tensor([1, 0])
    """

    method: str = "auto"
    tol: float = Options.tol
    max_iter: int | None = None
    n_threads: int | None = None
    random_state: RandomState = 0
    marginals: str = "auto"
    _fine: Self | None = field(default=None, init=False)

    def for_training(self) -> Self:
        """The same decoder with 600 times the tolerance: what is learned from needs no proof to be the maximum.

        On potentials from the midst of training the scores are 0.03 to 0.15 % below those at a tolerance of 1e-6.

        Returns
        -------
        Decoder
            A copy, which knows this one as its `fine`.
        """
        check_options(self.method, self.tol, max_iter=self.max_iter)  # as they were given, not 600 times that
        rough = copy(self)
        rough.tol, rough._fine = 600 * self.tol, self
        return rough

    def fine(self) -> Self:
        """The decoder that `for_training` made this one of; where nodes are clamped it costs hardly more.

        Returns
        -------
        Decoder
            This one itself if it was not made so.
        """
        return self if self._fine is None else self._fine

    def __call__(self, potentials: Potentials) -> Decoded:
        """The labelling of highest score that the method finds, for every graph of the batch."""
        if is_traced():
            from neuralfactors.learning import _operators

            return Decoded.from_tensors(*_operators.decode(*tensors_of(potentials), *self.arguments()))
        found = self.decode(problem_of(potentials))
        return replace(found, labels=found.labels.to(potentials.unary.device))

    def arguments(self) -> tuple[str, float, int | None, int | None, int]:
        """What makes the same decoder again, as an operator of torch takes it.

        Returns
        -------
        tuple
            Values of the parameters, in their order; a generator has become a seed.
        """
        return self.method, self.tol, self.max_iter, self.n_threads, seed_of(self.random_state)

    def decode(self, problem: Problem) -> Decoded:
        """The same from numpy arrays, with labels on the CPU.

        Parameters
        ----------
        problem : Problem
            See `problem_of`.

        Returns
        -------
        Decoded
            Labels with score, bound and status of every graph.
        """
        options = check_options(self.method, self.tol, self.random_state, self.max_iter)
        found = solve_problem(problem, options, n_threads=check_threads(self.n_threads))
        optimal = found.status == "optimal"
        within_tol = optimal | (found.status == "within_tol")
        return Decoded(*map(torch.from_numpy, (found.labels, found.score, found.bound, optimal, within_tol)))


def decode(
    potentials: Potentials,
    method: str = "auto",
    *,
    tol: float = 1e-4,
    max_iter: int | None = None,
    n_threads: int | None = None,
    random_state: RandomState = 0,
) -> Tensor:
    """The labels of highest score; `Decoder` also returns score, bound and what is proved of every graph.

    Parameters
    ----------
    potentials : Potentials
        Of one graph or of a batch.
    method : str, default="auto"
        As in `Decoder`, like all below.
    tol : float, default=1e-4
        When to stop short of a proof.
    max_iter : int, default=None
        Iterations in place of the method's own budget.
    n_threads : int, default=None
        Graphs solved at the same time; None: as many as there are cores.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the method's random moves.

    Returns
    -------
    Tensor of shape (V,)
        int64; or of the shape that `Potentials.chain` or `Potentials.grid` was given.

    Examples
    --------
    >>> decode(Potentials.chain(torch.tensor([[[2.0, 0.0], [0.0, 1.0]]]), 3 * torch.eye(2)))
    tensor([[0, 0]])
    """
    return potentials.unflatten(Decoder(method, tol, max_iter, n_threads, random_state)(potentials).labels)


def is_traced() -> bool:
    """Whether torch compiles or transforms what is called (`torch.compile`, `torch.func`), so that it has no values."""
    return torch.compiler.is_compiling() or torch._C._functorch.maybe_current_level() is not None


def tensors_of(potentials: Potentials) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """The potentials as an operator of torch takes them: without gradient, in the order of `Potentials`."""
    p = potentials.padded()
    return p.unary.detach(), p.interaction.detach(), p.edges, p.node_ptr, p.edge_ptr


def problem_of(potentials: Potentials) -> Problem:
    """The problem that `potentials` pose, on the CPU; integers and half precision become floats."""
    unary, interaction = _to_numpy(potentials.unary), _to_numpy(potentials.interaction)
    edges = potentials.edges.cpu().contiguous().numpy()
    pointers = potentials.node_ptr.contiguous().numpy(), potentials.edge_ptr.contiguous().numpy()
    if potentials.sizes is None:
        return make_problem(unary, interaction, edges, *pointers)
    sizes, dtype = potentials.sizes.cpu().numpy(), np.result_type(unary, interaction)
    rows = unary[np.arange(unary.shape[1]) < sizes[:, None]].astype(dtype, copy=False)
    tables = interaction.astype(dtype, copy=False)
    return Problem(rows, tables, edges, *pointers, places=Places.of(sizes, edges))


def make_problem(
    unary: NDArray[Any],
    interaction: NDArray[Any],
    edges: NDArray[np.int64],
    node_ptr: NDArray[np.int64],
    edge_ptr: NDArray[np.int64],
) -> Problem:
    """A problem from arrays of matching shape, which are not checked again.

    Tables (E, L, ..., L) over Q nodes each, or (1, L, ..., L) that all share, are factors, unless Q is 2.
    """
    dtype = np.result_type(unary, interaction)
    unary, interaction = np.ascontiguousarray(unary, dtype), np.ascontiguousarray(interaction, dtype)
    if edges.shape[1] == 2:
        return Problem(unary, interaction, edges, node_ptr, edge_ptr)
    n_factors, order = edges.shape
    n_labels = unary.shape[1]
    tables = np.broadcast_to(interaction, (n_factors, *interaction.shape[1:]))
    return Problem(
        unary=unary,
        interaction=np.zeros((0, n_labels, n_labels), unary.dtype),
        edges=np.zeros((0, 2), np.int64),
        node_ptr=node_ptr,
        edge_ptr=np.zeros_like(edge_ptr),
        factors=Factors(order * np.arange(n_factors + 1), edges.ravel(), tables.astype(np.float64).ravel()),
    )


def node_scores(potentials: Potentials) -> NDArray[np.float64]:
    """What speaks for every label of every node (V, L), all factors considered; the higher the better.

    The negated reduced costs of inference: no labelling that gives node i label a scores more than the bound on all
    labellings plus entry (i, a). On forests they are the max-marginals less the best score, exactly. On graphs with
    cycles they are bounds on those, and their argmax need not be the joint labelling. They are −inf for a label that is
    proved to be impossible, or that a node does not have.

    >>> tables = torch.tensor([[[3.0, 0.0], [0.0, 0.0]]])
    >>> node_scores(Potentials(torch.tensor([[0.0, 1.0], [1.0, 0.0]]), tables, torch.tensor([[0, 1]])))
    array([[ 0., -2.],
           [ 0., -3.]])
    """
    found = solve_problem(problem_of(potentials), check_options(reduced_costs=True), n_threads=check_threads(None))
    assert found.reduced_costs is not None
    if isinstance(found.reduced_costs, np.ndarray):
        return 0.0 - found.reduced_costs
    scores = np.full(tuple(potentials.unary.shape), -np.inf)
    for row, costs in zip(scores, found.reduced_costs, strict=True):
        row[: len(costs)] = 0.0 - costs
    return scores


def clamp_labelled(potentials: Potentials, y: Tensor) -> Potentials:
    """The potentials in which every labelled node of `y` (V,) must take its label and the void ones are free."""
    allowed = torch.zeros_like(potentials.unary, dtype=torch.bool).scatter_(1, y.clamp_min(0)[:, None], True)
    allowed |= (y < 0)[:, None]
    return potentials.with_unary(potentials.unary.masked_fill(~allowed, -torch.inf))


def _to_numpy(values: Tensor) -> NDArray[Any]:
    values = values.detach()
    if values.dtype not in (torch.float32, torch.float64):
        values = values.float() if values.is_floating_point() else values.double()
    return values.cpu().contiguous().numpy()
