"""Linear factors as one weight vector: joint features, loss-augmented passes, and the dual's working sets.

With linear factors g(x, y) = ⟨w, φ(x, y)⟩. Learners here only ever need ψ(z) = φ(x, y) − φ(x, z), and that only in
products with a vector or in weighted sums. Both are read off the labels, so that a constraint is stored as a labelling
and memory does not grow with the number of parameters.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray

from neuralfactors.factor_model import FactorModel
from neuralfactors.factors import Factor
from neuralfactors.learning.decode import Decoder, make_problem
from neuralfactors.learning.losses import violation
from neuralfactors.learning.samples import Samples
from neuralfactors.potentials import node_costs

DTYPE = torch.float64


@dataclass(frozen=True)
class Sample:
    """One training graph as the products read it."""

    node_features: NDArray[np.float64]  # (V, D)
    edges: NDArray[np.int64]  # (E, Q)
    edge_features: NDArray[np.float64]  # (E, K)
    y: NDArray[np.int64]  # (V,)
    costs: NDArray[np.float64]  # (V,) what a wrong label costs


@dataclass
class Pass:
    """What a loss-augmented pass over all samples found."""

    hinge: float = 0.0  # sum over the samples
    gap: float = 0.0
    optimal: float = 0.0
    within_tol: float = 0.0
    differing: float = 0.0
    labelled: float = 0.0
    z: list[NDArray[np.int64]] = field(default_factory=list)  # one labelling a sample


class LinearProblem:
    """Samples and linear factors, seen as a weight vector w in R^dim that the model's parameters are views of."""

    def __init__(
        self, samples: Samples, model: FactorModel, decoder: Decoder, class_weight: NDArray[np.float64] | None = None
    ) -> None:
        self.samples, self.model, self.decoder = samples, model, decoder
        self.class_weight = class_weight
        self._class_weight = None if class_weight is None else torch.from_numpy(class_weight)
        self.parts = [part for part in (model.unary, model.interaction) if isinstance(part, Factor)]
        self.w = np.zeros(sum(p.numel() for p in model.parameters()))
        self.places = _places(model)
        for parameter, part in zip(model.parameters(), self._split(self.w), strict=True):
            parameter.data = torch.from_numpy(part)

    def __len__(self) -> int:
        return len(self.samples)

    def sample(self, n: int) -> Sample:
        """Sample n, read afresh."""
        graph, y = self.samples.labelled(n)
        costs = np.ones(len(y)) if self.class_weight is None else self.class_weight[y]
        costs = costs if graph.node_weight is None else costs * graph.node_weight
        edges, edge_features = graph.edges, graph.edge_features
        if not graph.n_edges:  # such a graph agrees with any width and order, which the products do not
            edges = np.zeros((0, self.samples.order), np.int64)
            edge_features = np.zeros((0, self.samples.n_edge_features))
        node_features, edge_features = (f.astype(np.float64, copy=False) for f in (graph.node_features, edge_features))
        return Sample(node_features, edges, edge_features, y, costs)

    def products(self, sample: Sample, Z: NDArray[np.int64], vector: NDArray[np.float64]) -> NDArray[np.float64]:
        """⟨ψ(z), vector⟩ for every labelling of Z (K, V): (K,)."""
        total = np.zeros(len(Z))
        for (weight, bias), (k, features, right, wrong) in zip(
            self._views(vector), self._differences(sample, Z), strict=True
        ):
            values = np.einsum("nd,nd->n", weight[right] - weight[wrong], features)
            if bias is not None:
                values += bias[right] - bias[wrong]
            total += np.bincount(k, values, minlength=len(Z))
        return total

    def add_(
        self,
        vector: NDArray[np.float64],
        sample: Sample,
        Z: NDArray[np.int64],
        coefficients: NDArray[np.float64],
    ) -> None:
        """Add Σ_k coefficients[k] ψ(Z[k]) to `vector`, in place."""
        for (weight, bias), (k, features, right, wrong) in zip(
            self._views(vector), self._differences(sample, Z), strict=True
        ):
            scale = coefficients[k]
            rows, signed = np.concatenate([right, wrong]), np.concatenate([scale, -scale])
            # torch adds repeated rows much faster than np.add.at.
            scaled = torch.from_numpy(np.concatenate([features, features]) * signed[:, None])
            torch.from_numpy(weight).index_add_(0, torch.from_numpy(rows), scaled)
            if bias is not None:
                bias += np.bincount(rows, signed, minlength=len(bias))

    @staticmethod
    def losses(sample: Sample, Z: NDArray[np.int64]) -> NDArray[np.float64]:
        """Δ(y, z) for every labelling of Z (K, V): (K,)."""
        return np.asarray((sample.y != Z) @ sample.costs)

    def _split(self, vector: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        # Views of a vector of R^dim in the shapes of the model's parameters.
        return [vector[place].reshape(shape) for place, shape in self.places]

    def _views(self, vector: NDArray[np.float64]) -> list[tuple[NDArray[np.float64], NDArray[np.float64] | None]]:
        parts = iter(self._split(vector))
        return [(next(parts), None if part.bias is None else next(parts)) for part in self.parts]

    def _differences(
        self, sample: Sample, Z: NDArray[np.int64]
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]]:
        # Per factor: labelling, features, right and wrong output of every row at which a labelling errs.
        k, i = np.nonzero(sample.y != Z)
        yield k, sample.node_features[i], sample.y[i], Z[k, i]
        powers = self.model.n_labels ** np.arange(sample.edges.shape[1])[::-1]
        right = sample.y[sample.edges] @ powers
        wrong = Z[:, sample.edges] @ powers
        k, e = np.nonzero(wrong != right)
        yield k, sample.edge_features[e], right[e], wrong[k, e]

    def most_violated_of(self, sample: Sample) -> NDArray[np.int64]:
        """Loss-augmented prediction of one sample under w, (V,)."""
        n_labels, order = self.model.n_labels, sample.edges.shape[1]
        (weight, bias), (edge_weight, edge_bias) = self._views(self.w)
        unary = sample.node_features @ weight.T + sample.costs[:, None]
        unary[np.arange(len(unary)), sample.y] -= sample.costs
        interaction = sample.edge_features @ edge_weight.T
        if bias is not None:
            unary += bias
        if edge_bias is not None:
            interaction += edge_bias
        tables = interaction.reshape((len(interaction),) + (n_labels,) * order)
        ends = np.array([0, len(unary)]), np.array([0, len(tables)])
        return self.decoder.decode(make_problem(unary, tables, sample.edges, *ends)).labels.numpy()

    @torch.no_grad()
    def most_violated(self, indices: list[int] | range) -> Pass:
        """Loss-augmented predictions of the samples of `indices` under w, with the sum of their hinges."""
        found = Pass()
        for chunk in self.samples.chunks(indices):
            batch, y = self.samples.batch(chunk, DTYPE)
            costs = node_costs(y, self._class_weight, batch.node_weight)
            seen = violation(self.model(batch), y, costs, self.decoder)
            found.hinge += float(seen.value.clamp_min(0).sum())
            found.gap += float(seen.decoded.gap.sum())
            found.optimal += float(seen.decoded.optimal.sum())
            found.within_tol += float(seen.decoded.within_tol.sum())
            found.differing += float((seen.z != y).sum())
            found.labelled += len(y)
            found.z += np.split(seen.z.numpy(), batch.node_ptr[1:-1].numpy())
        return found


def _places(model: FactorModel) -> list[tuple[slice, tuple[int, ...]]]:
    # Where each parameter stands in the weight vector, and its shape.
    places, start = [], 0
    for parameter in model.parameters():
        places.append((slice(start, start + parameter.numel()), tuple(parameter.shape)))
        start += parameter.numel()
    return places
