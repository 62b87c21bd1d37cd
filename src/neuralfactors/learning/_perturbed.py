"""Perturb-and-MAP: what noise on the scores and MAP inference tell of sums that are out of reach."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from neuralfactors._common.seeds import RandomState, seed_of
from neuralfactors._core.distribution import TensorMarginals, sum_type
from neuralfactors._core.potentials import Potentials
from neuralfactors.learning._decode import Decoder, clamp_labelled
from neuralfactors.learning._likelihood import LikelihoodLoss
from neuralfactors.learning._losses import check_count, check_part


class PerturbedLoss(LikelihoodLoss):
    """Perturbed Fenchel–Young loss E[max_z g(x, z) + σ ε(z)] − g(x, y), ε being Gumbel noise at every node.

    It needs nothing but MAP inference, and its gradient is the difference between the share of every label among the
    perturbed predictions and `y` (Berthet et al., 2020). With σ = 1 it is an upper bound of the negative log-likelihood
    on average (Hazan & Jaakkola, 2012), for any graph.

    Parameters
    ----------
    n_samples : int, default=8
        Perturbed predictions a call; gradients have less noise the more there are.
    sigma : float, default=1.0
        Size of the noise; 0 makes it the structured perceptron's loss.
    decoder : Decoder, default=None
        How to find a prediction; None: `Decoder()`.
    margin : float, default=0.0
        As in `CRFLoss`.
    class_weight : array of shape (L,) or (L, L), default=None
        As in `CRFLoss`.
    void : "complete" or "drop", default="complete"
        As in `CRFLoss`; "complete" compares with the best completion under the same noise.
    reduction : "mean", "sum" or "none", default="mean"
        As in `CRFLoss`.
    random_state : int, RandomState, Generator or None, default=0
        Seed. Each call draws fresh noise; losses of equal seed draw the same, call by call.

    Examples
    --------
    >>> unary = torch.zeros(2, 3, requires_grad=True)
    >>> potentials = Potentials(unary, torch.zeros(1, 3, 3), torch.tensor([[0, 1]]))
    >>> PerturbedLoss(n_samples=1000)(potentials, torch.tensor([0, 2])).backward()
    >>> (unary.grad[0] - torch.tensor([-2 / 3, 1 / 3, 1 / 3])).abs().max().item() < 0.05
    True
    """

    def __init__(
        self,
        n_samples: int = 8,
        *,
        sigma: float = 1.0,
        decoder: Decoder | None = None,
        margin: float = 0.0,
        class_weight: ArrayLike | Tensor | None = None,
        void: str = "complete",
        reduction: str = "mean",
        random_state: RandomState = 0,
    ) -> None:
        super().__init__(margin, class_weight, void, reduction)
        check_count("n_samples", n_samples)
        _check_sigma(sigma)
        self.n_samples = n_samples
        self.sigma = float(sigma)
        self.decoder = check_part("decoder", Decoder() if decoder is None else decoder, Decoder)
        self.seed = seed_of(random_state)
        self.n_calls = 0

    def _compare(self, rivals: Potentials, potentials: Potentials, y: Tensor, full: bool) -> Tensor:
        """The mean violation of the perturbed predictions."""
        self.n_calls += 1
        total = torch.zeros((), device=rivals.unary.device)
        for noise in _noise(rivals, self.n_samples, self.sigma, (self.seed, self.n_calls)):
            against = _add(rivals, noise)
            with torch.no_grad():
                z = self.decoder(against).labels
                best = y if full else self.decoder(clamp_labelled(_add(potentials, noise), y)).labels
            total = total + against.contrast(z, best)  # which scores `best` as `potentials` do: the margin is 0 there
        return total / self.n_samples


def perturbed_marginals(
    potentials: Potentials,
    n_samples: int = 100,
    *,
    sigma: float = 1.0,
    decoder: Decoder | None = None,
    random_state: RandomState = 0,
) -> TensorMarginals:
    """How often MAP inference on perturbed scores takes each label: marginals for graphs where sums are out of reach.

    Parameters
    ----------
    potentials : Potentials
        Of one graph or of a batch.
    n_samples : int, default=100
        Perturbed predictions.
    sigma : float, default=1.0
        Size of the noise.
    decoder : Decoder, default=None
        How to find a prediction; None: `Decoder()`.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the noise.

    Returns
    -------
    TensorMarginals
        Of status "approximation". With `sigma` 1 and exact inference its `log_partition` is the estimate of an upper
        bound of log Z.

    Examples
    --------
    >>> potentials = Potentials(torch.tensor([[0.0, 9.0]]), torch.zeros(0, 2, 2), torch.zeros(0, 2).long())
    >>> perturbed_marginals(potentials, 10).nodes.tolist()
    [[0.0, 1.0]]
    """
    check_count("n_samples", n_samples)
    _check_sigma(sigma)
    decoder = check_part("decoder", Decoder() if decoder is None else decoder, Decoder)
    tables = potentials.tables if potentials.sizes is None else potentials.interaction
    dtype = sum_type(potentials.tensors)
    nodes, edges = torch.zeros_like(potentials.unary, dtype=dtype), tables.new_zeros(tables.shape, dtype=dtype)
    value = torch.zeros(potentials.n_graphs, device=nodes.device, dtype=torch.float64)
    with torch.no_grad():
        for noise in _noise(potentials, n_samples, sigma, (seed_of(random_state),)):
            perturbed = _add(potentials, noise)
            z = decoder(perturbed).labels
            nodes.scatter_add_(1, z[:, None], torch.ones_like(nodes[:, :1]))
            _count(edges, potentials.joint_labels(z))
            value += perturbed.score(z)
    approximate = np.full(potentials.n_graphs, "approximation"), np.ones(potentials.n_graphs, np.bool_)
    return TensorMarginals((value / n_samples).to(nodes.dtype), nodes / n_samples, edges / n_samples, *approximate)


def _count(tables: Tensor, joint: Tensor) -> None:
    """Add 1 to the entry that every interaction takes, in tables (E, L, ..., L), or in flat ones."""
    if tables.ndim == 1:
        tables.index_add_(0, joint, tables.new_ones(len(joint)))
    else:
        tables.flatten(1).scatter_add_(1, joint[:, None], tables.new_ones(len(joint), 1))


def _noise(potentials: Potentials, n: int, sigma: float, seed: tuple[int, ...]) -> Iterator[Tensor]:
    """Gumbel noise of mean 0 for every label of every node (V, L), n times."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        noise = rng.gumbel(-np.euler_gamma * sigma, sigma, tuple(potentials.unary.shape))
        yield torch.from_numpy(noise).to(potentials.unary.device, sum_type(potentials.tensors))


def _add(potentials: Potentials, noise: Tensor) -> Potentials:
    return replace(potentials, unary=potentials.unary + noise)


def _check_sigma(sigma: float) -> None:
    if not 0 <= sigma < float("inf"):
        raise ValueError(f"sigma must be a finite number ≥ 0, got {sigma!r}")
