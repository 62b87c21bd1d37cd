"""Linear factors as one weight vector: the training graphs as the compiled learners read them, and passes over them.

With linear factors g(x, y) = ⟨w, φ(x, y)⟩. Learners here only ever need ψ(z) = φ(x, y) − φ(x, z), and that only in
products with a vector or in weighted sums; `cpp/linear` reads both off the labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuralfactors._core.factor_model import FactorModel
from neuralfactors._core.sparse import stored_arrays
from neuralfactors.inference import _kernels
from neuralfactors.inference._result import STATUSES
from neuralfactors.inference._validate import check_options, check_threads
from neuralfactors.learning._decode import Decoder, make_problem
from neuralfactors.learning._linear_encoding import Encoding
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
        interaction_sign: ArrayLike | Mapping[tuple[int, int], ArrayLike] | None = None,
    ) -> None:
        self.encoding = Encoding.of(samples, model)
        options = check_options(decoder.method, decoder.tol, decoder.random_state, decoder.max_iter)
        # Method "exact", and factors over more than two nodes, are decoded by Python, a graph at a time.
        in_kernel = options.method != "exact" and samples.order == 2
        self.signs = self.encoding.signs(interaction_sign)
        self.kernel = _kernels.LinearProblem(
            model.n_labels, samples.order, *self.encoding.widths, *self.encoding.biases,
            options.method, options.tol, options.max_iter, options.seed, check_threads(decoder.n_threads),
            None if in_kernel else partial(_decode, decoder), self.encoding.mirror, self.signs,
        )  # fmt: skip
        added = [self._add(samples, n, class_weight) for n in range(len(samples))]
        labels, self._sizes = zip(*added, strict=True)
        self.y = np.concatenate(labels)
        self.n_nodes = tuple(len(y) for y in labels)
        self.w = self.kernel.w

    def _add(
        self, samples: Samples, n: int, class_weight: NDArray[np.float64] | None
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Labels of sample n, and how many its nodes have, once the kernel has it."""
        graph, y = samples.labelled(n)
        node_features, edge_features = self.encoding.features(graph, n)
        edges = graph.edges if graph.n_edges else np.zeros((0, samples.order), np.int64)
        values, *pattern = stored_arrays(node_features)
        columns, row_ptr = pattern or (None, None)
        costs = self.encoding.costs(graph, y, n, class_weight)
        self.kernel.add(values, columns, row_ptr, edges, edge_features, y, costs)
        return y.astype(np.int32), self.encoding.sizes(graph)

    def admits(self, labels: NDArray[Any], n: int | None = None) -> bool:
        """Whether nodes have these `labels` (K, V): those of sample n, or of all of them."""
        sizes = np.concatenate(self._sizes) if n is None else self._sizes[n]
        return labels.shape[1] == len(sizes) and bool((labels < sizes).all())

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

    def fill_model(self) -> None:
        """Put the weights into the model."""
        self.encoding.fill(self.w)


def _decode(
    decoder: Decoder, unary: NDArray[np.float64], tables: NDArray[np.float64], edges: NDArray[np.int64]
) -> tuple[NDArray[np.int64], float, float, int]:
    shape = (len(tables),) + (unary.shape[1],) * edges.shape[1]
    ends = np.array([0, len(unary)]), np.array([0, len(tables)])
    found = decoder.decode(make_problem(unary, tables.reshape(shape), edges, *ends))
    status = OPTIMAL if found.optimal[0] else WITHIN_TOL if found.within_tol[0] else APPROXIMATE
    return found.labels.numpy(), float(found.score[0]), float(found.bound[0]), status
