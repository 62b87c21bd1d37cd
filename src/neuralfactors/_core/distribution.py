"""The distribution p(y) ∝ exp(g(x, y)) of a batch of graphs, from tensors: sums, samples and best labellings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Unpack

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from neuralfactors.inference._labellings import best_labels, draw_labels, find_best
from neuralfactors.inference._sum_problem import SumProblem, check_sums
from neuralfactors.inference._sums import BatchMarginals, SumOptions, sum_graphs


class ScoreTensors(NamedTuple):
    """The tensors of `Potentials`, in its order."""

    unary: Tensor  # (V, L)
    interaction: Tensor  # (E, L, ..., L) or (1, L, ..., L)
    edges: Tensor  # (E, Q)
    node_ptr: Tensor  # (G + 1,)
    edge_ptr: Tensor  # (G + 1,)
    sizes: Tensor | None = None  # (V,); `interaction` is then flat

    @property
    def shared(self) -> bool:
        """Whether one table stands for several edges, or for none."""
        return self.sizes is None and len(self.interaction) != len(self.edges)

    def problem(self) -> SumProblem:
        """What inference sums over; half precision becomes single."""
        rest = (None if t is None else t.cpu().contiguous().numpy() for t in self[2:])
        return check_sums(_to_numpy(self.unary), _to_numpy(self.interaction), *rest)  # type: ignore[arg-type]

    def like_scores(self, found: BatchMarginals) -> tuple[NDArray[Any], NDArray[Any]]:
        """Marginals of nodes (V, L), 0 for labels that a node does not have, and of interactions."""
        marginals, tables = np.asarray(found.nodes), np.asarray(found.edges)
        if self.sizes is None:
            return marginals, tables
        has = np.arange(self.unary.shape[1]) < self.sizes.cpu().numpy()[:, None]
        padded = np.zeros(has.shape, marginals.dtype)
        padded[has] = marginals
        return padded, tables

    def sum_tables(self, values: Tensor) -> Tensor:
        """Sums (E,) of the entries of each of the tables `values`."""
        if self.sizes is None:
            return values.flatten(1).sum(dim=1)
        entries = self.sizes.to(self.edges.device)[self.edges].prod(dim=1)
        rows = torch.repeat_interleave(torch.arange(len(entries), device=values.device), entries)
        return values.new_zeros(len(entries)).index_add(0, rows, values)


@dataclass(frozen=True, eq=False)
class TensorMarginals:
    """Marginals of a batch of graphs, without gradients; see `neuralfactors.inference.Marginals`."""

    log_partition: Tensor  # (G,)
    nodes: Tensor  # (V, L)
    edges: Tensor  # (E, L, ..., L); flat, as the interactions are, where nodes have numbers of labels of their own
    status: NDArray[np.str_]  # (G,) "exact", "upper_bound" or "approximation"
    converged: NDArray[np.bool_]  # (G,)

    def expected(self, scores: ScoreTensors) -> tuple[Tensor, Tensor]:
        """The expected scores of the nodes (V,) and of the interactions (E,)."""
        pairs = (self.nodes, scores.unary.detach()), (self.edges, scores.interaction.detach())
        # What is forbidden has probability 0, and 0 · −inf is no number.
        nodes, edges = (torch.where(p > 0, p * values, 0.0) for p, values in pairs)
        return nodes.sum(dim=1), scores.sum_tables(edges)


@dataclass(frozen=True, eq=False)
class TensorTopK:
    """The best labellings of a batch of graphs; see `neuralfactors.inference.TopK`."""

    labels: Tensor  # (k, V)
    score: Tensor  # (k, G)
    status: NDArray[np.str_]  # (G,) "optimal" or "approximate"


class Distribution:
    """What scores of labellings say of p(y) ∝ exp g(x, y); the base of `Potentials`."""

    @property
    def tensors(self) -> ScoreTensors:
        """The scores, edges and pointers."""
        raise NotImplementedError

    def unflatten(self, labels: Tensor) -> Tensor:
        """`labels` (V,) in the shape that users know them by."""
        raise NotImplementedError

    def sum_by_graph(self, nodes: Tensor, edges: Tensor) -> Tensor:
        """Sums (G,) of the values of the nodes (V,) and of the interactions (E,) of every graph."""
        raise NotImplementedError

    def log_partition(self, **options: Unpack[SumOptions]) -> Tensor:
        """The log-partition function log Σ_y exp g(x, y) of every graph, whose gradient are the marginals.

        By default the sum is exact on chains, trees and all graphs of low treewidth, and an upper bound elsewhere;
        `marginals` says which.

        Parameters
        ----------
        **options
            Those of `neuralfactors.inference.marginals`.

        Returns
        -------
        Tensor of shape (G,)
            Differentiable in the scores.
        """
        return log_partition(self.tensors, **options)[0]

    def marginals(self, **options: Unpack[SumOptions]) -> TensorMarginals:
        """Probabilities of the labels of nodes and interactions, and what is proved of them.

        Parameters
        ----------
        **options
            Those of `neuralfactors.inference.marginals`.

        Returns
        -------
        TensorMarginals
            Without gradients.

        Examples
        --------
        >>> from neuralfactors import Potentials
        >>> found = Potentials(torch.tensor([[0.0, 0.0]]), torch.zeros(0, 2, 2), torch.zeros(0, 2).long()).marginals()
        >>> found.nodes.tolist(), found.status.tolist()
        ([[0.5, 0.5]], ['exact'])
        """
        return marginals(self.tensors, **options)

    def entropy(self, **options: Unpack[SumOptions]) -> Tensor:
        """Entropy −Σ_y p(y) log p(y) of every graph: log Z less the expected score.

        Where `marginals` has an upper bound of log Z, this is one of the entropy of its pseudo-marginals.

        Parameters
        ----------
        **options
            Those of `neuralfactors.inference.marginals`.

        Returns
        -------
        Tensor of shape (G,)
            Without gradients.
        """
        found = self.marginals(**options)
        return found.log_partition - self.sum_by_graph(*found.expected(self.tensors))

    def sample(self, n: int = 1, generator: torch.Generator | None = None, **options: Any) -> Tensor:
        """Labellings drawn independently from p(y) ∝ exp g(x, y), exactly.

        Parameters
        ----------
        n : int, default=1
            How many.
        generator : torch.Generator, default=None
            Source of chance; None: torch's own.
        **options
            `max_entries` and `n_threads` of `neuralfactors.inference.sample`, which refuses graphs of high treewidth.

        Returns
        -------
        Tensor of shape (n, V)
            int64; or n times the shape of `unflatten`.
        """
        return self._unflatten_each(draw(self.tensors, n, generator, **options))

    def argmax(self, **options: Any) -> Tensor:
        """The labels of highest score.

        Parameters
        ----------
        **options
            Those of `neuralfactors.inference.solve_batch`.

        Returns
        -------
        Tensor of shape (V,)
            int64; or of the shape of `unflatten`.
        """
        return self.unflatten(argmax(self.tensors, **options))

    def topk(self, k: int, **options: Any) -> TensorTopK:
        """The k labellings of highest score of every graph, with their scores and what is proved of them.

        Parameters
        ----------
        k : int
            How many.
        **options
            `max_entries` and `n_threads` of `neuralfactors.inference.topk`.

        Returns
        -------
        TensorTopK
            Labels, best first, score and status.

        Examples
        --------
        >>> from neuralfactors import Potentials
        >>> best = Potentials.chain(torch.tensor([[[2.0, 0.0], [0.0, 1.0]]]), 3 * torch.eye(2)).topk(2)
        >>> best.labels.tolist(), best.score[:, 0].tolist(), best.status.tolist()
        ([[[0, 0]], [[1, 1]]], [5.0, 4.0], ['optimal'])
        """
        found = best(self.tensors, k, **options)
        return replace(found, labels=self._unflatten_each(found.labels))

    def _unflatten_each(self, labels: Tensor) -> Tensor:
        return torch.stack([self.unflatten(y) for y in labels])


def log_partition(scores: ScoreTensors, **options: Unpack[SumOptions]) -> tuple[Tensor, BatchMarginals]:
    """Log-partition functions log Σ_y exp g(x, y) (G,), whose gradient are the marginals, and what is known of them."""
    differentiable = torch.is_grad_enabled() and (scores.unary.requires_grad or scores.interaction.requires_grad)
    return _LogPartition.apply(*scores, differentiable, options)  # type: ignore[no-any-return, no-untyped-call]


def marginals(scores: ScoreTensors, **options: Unpack[SumOptions]) -> TensorMarginals:
    """The marginals of every node and interaction, one by one also where a table is shared."""
    found = sum_graphs(scores.problem(), **options)
    device, dtype = scores.unary.device, sum_type(scores)
    arrays = found.log_partition, *scores.like_scores(found)
    value, nodes, edges = (torch.from_numpy(a).to(device, dtype) for a in arrays)
    return TensorMarginals(value, nodes, edges, found.status, found.converged)


def draw(scores: ScoreTensors, n: int, generator: torch.Generator | None, **options: Any) -> Tensor:
    """Labellings (n, V) drawn independently from p."""
    device = None if generator is None else generator.device
    seed = int(torch.randint(2**63 - 1, (), generator=generator, device=device))
    return torch.from_numpy(draw_labels(scores.problem(), n, seed, **options)).to(scores.unary.device)


def best(scores: ScoreTensors, k: int, **options: Any) -> TensorTopK:
    """The k labellings of highest score."""
    found = find_best(scores.problem(), k, **options)
    device = scores.unary.device
    score = torch.from_numpy(found.score).to(device, sum_type(scores))
    return TensorTopK(torch.from_numpy(found.labels).to(device), score, found.status)


def argmax(scores: ScoreTensors, **options: Any) -> Tensor:
    """The labelling of highest score (V,); options are those of `solve_batch`."""
    return torch.from_numpy(best_labels(scores.problem(), **options)).to(scores.unary.device)


class _LogPartition(torch.autograd.Function):
    """Log-partition functions of the scores, and what is known of them."""

    @staticmethod
    def forward(*arguments: Any) -> tuple[Tensor, BatchMarginals]:
        *tensors, differentiable, options = arguments
        scores = ScoreTensors(*tensors)
        found = sum_graphs(scores.problem(), summed=scores.shared, with_marginals=differentiable, **options)
        return torch.from_numpy(found.log_partition).to(scores.unary.device, sum_type(scores)), found

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, BatchMarginals]) -> None:
        *tensors, _, ctx.options = inputs
        ctx.save_for_backward(*tensors)
        ctx.found = output[1]

    @staticmethod
    def backward(ctx: Any, weight: Tensor, _: None) -> tuple[Tensor | None, ...]:
        known = *ctx.saved_tensors, ctx.found, ctx.options
        gradients = _WeightedMarginals.apply(weight, *known)  # type: ignore[no-untyped-call]
        return (*gradients, *[None] * (len(ctx.needs_input_grad) - 2))


class _WeightedMarginals(torch.autograd.Function):
    """The gradient of log-partition functions. Its own is not known: torch would take it to be 0 in silence."""

    @staticmethod
    def forward(weight: Tensor, *arguments: Any) -> tuple[Tensor, Tensor]:
        *tensors, found, options = arguments
        scores = ScoreTensors(*tensors)
        nodes, tables = _weighted(scores, found, weight.cpu().double().numpy(), options)
        unary = torch.from_numpy(nodes).to(scores.unary.device, scores.unary.dtype)
        return unary, torch.from_numpy(tables).to(scores.interaction.device, scores.interaction.dtype)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        pass  # nothing is kept, as it cannot be differentiated

    @staticmethod
    def backward(_: Any, *_gradients: Tensor) -> None:
        raise RuntimeError(
            "log_partition, and so CRFLoss, can be differentiated once only: take no gradient of its gradient"
        )


def _weighted(
    scores: ScoreTensors, found: BatchMarginals, weight: NDArray[np.float64], options: SumOptions
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Marginals of nodes and tables, each graph times its weight."""
    if scores.shared and len(set(weight.tolist())) > 1:  # the sum over graphs is taken in the kernel
        found, weight = sum_graphs(scores.problem(), weight=weight, summed=True, **options), np.ones_like(weight)
    rows, tables = scores.like_scores(found)
    if scores.shared:
        factor = weight[:1].sum().astype(rows.dtype)
        return rows * factor, tables * factor
    nodes, edges = (np.repeat(weight.astype(rows.dtype), np.diff(p)) for p in (found.node_ptr, found.edge_ptr))
    if scores.sizes is not None:
        edges = np.repeat(edges, scores.sizes.cpu().numpy()[scores.edges.cpu().numpy()].prod(axis=1))
    return rows * nodes[:, None], tables * edges.reshape((-1,) + (1,) * (tables.ndim - 1))


def sum_type(scores: ScoreTensors) -> torch.dtype:
    """The type of what is added up: half precision is too coarse for it."""
    dtype = torch.promote_types(scores.unary.dtype, scores.interaction.dtype)
    return torch.float64 if dtype == torch.float64 else torch.float32


def _to_numpy(values: Tensor) -> NDArray[Any]:
    values = values.detach()
    if values.dtype not in (torch.float32, torch.float64):
        values = values.float()
    return values.cpu().numpy()
