"""Linear factors as one weight vector: the training graphs as the compiled learners read them, and passes over them.

With linear factors g(x, y) = ⟨w, φ(x, y)⟩. Learners here only ever need ψ(z) = φ(x, y) − φ(x, z), and that only in
products with a vector or in weighted sums; `cpp/linear` reads both off the labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import hstack

from neuralfactors._core.factor_model import FactorModel
from neuralfactors._core.factors import Factor
from neuralfactors._core.sparse import is_sparse, stored_arrays
from neuralfactors.inference import _kernels
from neuralfactors.inference._result import STATUSES
from neuralfactors.inference._validate import check_options, check_threads
from neuralfactors.learning._decode import Decoder, make_problem
from neuralfactors.learning._signs import Signs, check_signs
from neuralfactors.learning._training_graphs import Samples

OPTIMAL, WITHIN_TOL, APPROXIMATE = (STATUSES.index(name) for name in ("optimal", "within_tol", "approximate"))


@dataclass(frozen=True)
class Pass:
    """What a loss-augmented pass over all N samples found."""

    labels: NDArray[np.int32]  # (V,) of all samples, one after the other
    hinge: NDArray[np.float64]  # (N,)
    gap: NDArray[np.float64]  # (N,) by how much inference may have seen the hinge too low
    optimal: float  # share of the samples
    within_tol: float
    differing: float  # share of the nodes


class LinearProblem:
    """Samples and linear factors, seen as a weight vector `w` in R^dim.

    All graphs are read once, and their arrays are held until the problem is gone.
    """

    def __init__(
        self,
        samples: Samples,
        model: FactorModel,
        decoder: Decoder,
        class_weight: NDArray[np.float64] | None = None,
        interaction_sign: ArrayLike | None = None,
    ) -> None:
        self.parts = [part for part in (model.unary, model.interaction) if isinstance(part, Factor)]
        options = check_options(decoder.method, decoder.tol, decoder.random_state, decoder.max_iter)
        # Method "exact", and factors over more than two nodes, are decoded by Python, a graph at a time.
        in_kernel = options.method != "exact" and samples.order == 2
        (n_nodes, n_edges), (node_bias, edge_bias) = _layout(samples, self.parts)
        mirror = _mirror(self.parts[1], samples)
        self.signs = None if interaction_sign is None else self._signs_of_weights(samples, interaction_sign)
        self.kernel = _kernels.LinearProblem(
            model.n_labels, samples.order, n_nodes, n_edges, node_bias, edge_bias,
            options.method, options.tol, options.max_iter, options.seed, check_threads(decoder.n_threads),
            None if in_kernel else partial(_decode, decoder), mirror, self.signs,
        )  # fmt: skip
        labels = [self._add(samples, n, class_weight) for n in range(len(samples))]
        self.y = np.concatenate(labels)
        self.n_nodes = tuple(len(y) for y in labels)
        self.n_labels = samples.n_labels
        self.w = self.kernel.w

    def _signs_of_weights(self, samples: Samples, given: ArrayLike) -> Signs:
        nodes, edges = self.parts
        tables = check_signs(given, edges, samples.n_labels, samples.order)
        free = sum(parameter.numel() for parameter in nodes.parameters())
        return np.concatenate([np.zeros(free, np.int8), tables.ravel()])

    def _add(self, samples: Samples, n: int, class_weight: NDArray[np.float64] | None) -> NDArray[np.int32]:
        graph, y = samples.labelled(n)
        costs = _costs(y, class_weight, graph.node_weight)
        edges, edge_features = graph.edges, graph.edge_features
        if not graph.n_edges:  # such a graph agrees with any width and order, which the kernel does not
            edges = np.zeros((0, samples.order), np.int64)
            edge_features = np.zeros((0, samples.n_edge_features))
        node_features = graph.node_features
        if samples.weight is not None:
            weight, (node_bias, edge_bias) = samples.weight[n], (part.bias is not None for part in self.parts)
            costs = costs * weight
            node_features = _weighted(node_features, weight, node_bias)
            edge_features = _weighted(edge_features, weight, edge_bias)
        values, *pattern = stored_arrays(node_features)
        columns, row_ptr = pattern or (None, None)
        self.kernel.add(values, columns, row_ptr, edges, edge_features, y, costs)
        return y.astype(np.int32)

    def __len__(self) -> int:
        return len(self.n_nodes)

    def most_violated(self) -> Pass:
        """Loss-augmented predictions of all samples under w, with their hinges."""
        labels = np.empty(len(self.y), np.int32)
        hinge, gap, status = np.empty(len(self)), np.empty(len(self)), np.empty(len(self), np.int8)
        self.kernel.most_violated(labels, hinge, gap, status)
        optimal, within_tol = status == OPTIMAL, status <= WITHIN_TOL
        differing = np.count_nonzero(labels != self.y) / max(1, len(self.y))
        return Pass(labels, hinge, gap, float(optimal.mean()), float(within_tol.mean()), differing)

    def mean_constraint(self, labels: NDArray[np.int32]) -> tuple[NDArray[np.float64], float]:
        """ψ̄ and ℓ̄: the means over the samples of ψ(zⁿ) and Δ(yⁿ, zⁿ) for the `labels` (V,) of all of them."""
        psi = np.zeros_like(self.w)
        return psi, self.kernel.add_mean(labels, psi)

    @torch.no_grad()
    def fill_model(self) -> None:
        """Put the weights into the model, whose factors keep those of one output side by side."""
        parameters = [p for part in self.parts for p in (part.weight.T, part.bias) if p is not None]
        pieces = np.split(self.w, np.cumsum([p.numel() for p in parameters])[:-1])
        for parameter, piece in zip(parameters, pieces, strict=True):
            parameter.copy_(torch.from_numpy(piece).view(parameter.shape))


def _layout(samples: Samples, parts: Sequence[Factor]) -> tuple[list[int], list[bool]]:
    """Numbers of features of nodes and edges, and whether the kernel adds a bias to them.

    Where graphs have weights, the bias is the weight of one more feature, which stands in the same place of w.
    """
    widths, biases = [samples.n_node_features, samples.n_edge_features], [part.bias is not None for part in parts]
    if samples.weight is None:
        return widths, biases
    return [width + bias for width, bias in zip(widths, biases, strict=True)], [False, False]


def _mirror(factor: Factor, samples: Samples) -> NDArray[np.int8] | None:
    """Symmetry of the tables of edges: of every feature of the kernel, and of its bias."""
    if factor.signs is None:
        return None
    signs: NDArray[np.int8] = factor.signs.numpy()
    return signs if samples.weight is None or factor.bias is None else np.append(signs, np.int8(0))  # see `_layout`


def _weighted(features: Any, weight: float, bias: bool) -> Any:
    """The features times a graph's weight: with linear factors, times as much is its hinge, if its costs are too."""
    if bias:
        ones = np.ones((features.shape[0], 1), features.dtype)
        features = hstack([features, ones], format="csr") if is_sparse(features) else np.hstack([features, ones])
    return features * features.dtype.type(weight)


def _costs(
    y: NDArray[np.int64], class_weight: NDArray[np.float64] | None, node_weight: NDArray[Any] | None
) -> NDArray[np.float64]:
    """What a wrong label costs at every node, (V, 1), or how much more every label costs than the true one, (V, L)."""
    costs = np.ones((len(y), 1))
    for weight in (None if class_weight is None else class_weight[y], node_weight):
        if weight is not None:
            costs = costs * (weight if weight.ndim == 2 else weight[:, None])
    return costs if costs.shape[1] == 1 else costs - costs[np.arange(len(y)), y][:, None]


def _decode(
    decoder: Decoder, unary: NDArray[np.float64], tables: NDArray[np.float64], edges: NDArray[np.int64]
) -> tuple[NDArray[np.int64], float, float, int]:
    shape = (len(tables),) + (unary.shape[1],) * edges.shape[1]
    ends = np.array([0, len(unary)]), np.array([0, len(tables)])
    found = decoder.decode(make_problem(unary, tables.reshape(shape), edges, *ends))
    status = OPTIMAL if found.optimal[0] else WITHIN_TOL if found.within_tol[0] else APPROXIMATE
    return found.labels.numpy(), float(found.score[0]), float(found.bound[0]), status
