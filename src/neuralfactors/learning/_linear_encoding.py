"""Graphs and linear factors as the compiled learners read them: matrices of features, costs, and one weight vector.

The kernel knows one factor of nodes, one of edges, and one number of labels. Types of nodes, and weights of graphs, are
brought into that form by features: every type has columns of its own, and so has every pair of types.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, hstack

from neuralfactors._core.factor_model import FactorModel
from neuralfactors._core.factors import Factor
from neuralfactors._core.graph import Graph
from neuralfactors._core.sparse import is_sparse
from neuralfactors._core.typed_model import TypedModel
from neuralfactors._core.weight_signs import Signs, check_signs
from neuralfactors.learning._training_graphs import Samples


@dataclass(frozen=True)
class Part:
    """A linear factor: its weights are a row per feature, and a last one for its bias, of a table of labels each."""

    factor: Factor
    table: tuple[int, ...]  # numbers of labels of the nodes that meet in it

    @property
    def n_rows(self) -> int:
        """Features, and the bias if there is one."""
        return int(self.factor.weight.shape[1]) + self.has_bias

    @property
    def has_bias(self) -> bool:
        """Whether the last row is a bias."""
        return self.factor.bias is not None

    @property
    def mirror(self) -> Signs:
        """The symmetry of the table of every row; 0: free."""
        signs = self.factor.signs
        return np.zeros(self.n_rows, np.int8) if signs is None else signs.numpy()[: self.n_rows]

    @torch.no_grad()
    def fill(self, rows: NDArray[np.float64]) -> None:
        """Take over weights (rows, L, ..., L), of which labels that nodes do not have take no part."""
        own = rows[(slice(None), *map(slice, self.table))].reshape(self.n_rows, -1).T
        width = self.factor.weight.shape[1]
        self.factor.weight.copy_(torch.from_numpy(own[:, :width]))
        if self.factor.bias is not None:
            self.factor.bias.copy_(torch.from_numpy(own[:, width]))


@dataclass(frozen=True)
class Encoding:
    """How samples and the linear factors of a model become what the kernel reads.

    Its weight vector has all parts of the nodes, then all of the edges. A table has room for the largest number of
    labels; where a type has fewer, the others are forbidden, and their weights stay 0.
    """

    samples: Samples
    nodes: list[Part]  # by type
    edges: list[Part]  # by pair of types

    @classmethod
    def of(cls, samples: Samples, model: FactorModel) -> Encoding:
        """That of a model whose factors all are linear."""
        if not isinstance(model, TypedModel) or samples.types is None:
            tables = (samples.n_labels,), (samples.n_labels,) * samples.order
            found = zip((model.unary, model.interaction), tables, strict=True)
            nodes, edges = ([Part(factor, table)] for factor, table in found)  # type: ignore[arg-type]
            return cls(samples, nodes, edges)
        counts = samples.types.n_labels
        between = () if model.interaction is None else model.interaction.children()
        pairs = [(counts[first], counts[second]) for first, second in model.pairs]
        return cls(
            samples,
            [Part(factor, (n,)) for factor, n in zip(model.unary.children(), counts, strict=True)],  # type: ignore[arg-type]
            [Part(factor, pair) for factor, pair in zip(between, pairs, strict=True)],  # type: ignore[arg-type]
        )

    @property
    def bias_in_features(self) -> bool:
        """Whether the bias is the weight of one more feature: the kernel's own knows no types and no weights."""
        return self.samples.types is not None or self.samples.weight is not None

    @property
    def widths(self) -> tuple[int, int]:
        """Features of nodes and of edges."""
        if self.bias_in_features:
            return sum(part.n_rows for part in self.nodes), sum(part.n_rows for part in self.edges)
        return self.samples.n_node_features, self.samples.n_edge_features

    @property
    def biases(self) -> tuple[bool, bool]:
        """Whether the kernel adds a bias to nodes and to edges."""
        if self.bias_in_features:
            return False, False
        return self.nodes[0].has_bias, self.edges[0].has_bias

    @property
    def mirror(self) -> Signs | None:
        """Symmetry of the tables of edges: of every feature of the kernel, and of its bias."""
        if all(part.factor.signs is None for part in self.edges):
            return None
        signs = np.zeros(self.widths[1] + 1, np.int8)
        found = np.concatenate([part.mirror for part in self.edges])
        signs[: len(found)] = found
        return signs

    def signs(self, given: ArrayLike | Mapping[tuple[int, int], ArrayLike] | None) -> Signs | None:
        """The sign of every weight, from those of the tables of edges, or of each pair of types."""
        if given is None:
            return None
        types, n_labels = self.samples.types, self.samples.n_labels
        by_pair = given if isinstance(given, Mapping) else {None: given}
        pairs: list[Any] = [None] if types is None else list(types.pairs)
        unknown = [pair for pair in by_pair if pair not in pairs]
        if unknown:
            expected = "an array, as X has no node_types" if types is None else f"a dict with some of the keys {pairs}"
            raise ValueError(f"interaction_sign must be {expected}, got {given!r}")
        found = [np.zeros(n_labels * sum(part.n_rows for part in self.nodes), np.int8)]
        for pair, part in zip(pairs, self.edges, strict=True):
            rows = np.zeros((part.n_rows, *(n_labels,) * len(part.table)), np.int8)
            if pair in by_pair:
                rows[(slice(None), *map(slice, part.table))] = check_signs(
                    "interaction_sign", by_pair[pair], part.table, part.mirror
                )
            found.append(rows.ravel())
        return np.concatenate(found)

    def features(self, graph: Graph, n: int) -> tuple[Any, NDArray[Any]]:
        """Features of nodes and edges of a graph, which is that of sample n."""
        nodes, edges = graph.node_features, graph.edge_features
        if not graph.n_edges:  # such a graph agrees with any width, which the kernel does not
            edges = np.zeros((0, self.samples.n_edge_features))
        if not self.bias_in_features:
            return nodes, edges
        weight = 1.0 if self.samples.weight is None else self.samples.weight[n]
        nodes = _extended(nodes, weight, self.nodes[0].has_bias)
        edges = _extended(edges, weight, any(part.has_bias for part in self.edges))
        if self.samples.types is None or graph.node_types is None:
            return nodes, edges
        pairs = self._pair_numbers[tuple(graph.node_types[graph.edges].T)]
        return _by_type(nodes, graph.node_types, len(self.nodes)), _by_pair(edges, pairs, len(self.edges))

    @cached_property
    def _pair_numbers(self) -> NDArray[np.int64]:
        """The number of every pair of types, as a table."""
        assert self.samples.types is not None
        numbers = np.zeros((len(self.nodes), len(self.nodes)), np.int64)
        numbers[tuple(np.array(self.samples.types.pairs, np.int64).reshape(-1, 2).T)] = np.arange(len(self.edges))
        return numbers

    def fill(self, w: NDArray[np.float64]) -> None:
        """Put the weights into the factors."""
        for part, rows in self._blocks(w):
            part.fill(rows)

    def _blocks(self, w: NDArray[np.float64]) -> Iterator[tuple[Part, NDArray[np.float64]]]:
        start = 0
        for part in (*self.nodes, *self.edges):
            shape = part.n_rows, *(self.samples.n_labels,) * len(part.table)
            stop = start + int(np.prod(shape))
            yield part, w[start:stop].reshape(shape)
            start = stop

    def costs(
        self, graph: Graph, y: NDArray[np.int64], n: int, class_weight: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        """What a wrong label costs at every node, (V, 1), or how much more every label costs than the true one, (V, L).

        A label that a node does not have costs −inf, so that nothing that violates a margin has it.
        """
        weight = 1.0 if self.samples.weight is None else self.samples.weight[n]
        costs = np.full((len(y), 1), weight)
        for factor in (None if class_weight is None else class_weight[y], graph.node_weight):
            if factor is not None:
                costs = costs * (factor if factor.ndim == 2 else factor[:, None])
        if costs.shape[1] > 1:
            costs = costs - costs[np.arange(len(y)), y][:, None]
        if self.samples.types is None:
            return costs
        labels = np.arange(self.samples.n_labels)
        costs = np.where(labels == y[:, None], 0.0, costs)
        return np.where(labels < self.sizes(graph)[:, None], costs, -np.inf)

    def sizes(self, graph: Graph) -> NDArray[np.int64]:
        """Number of labels of every node of a graph."""
        types = self.samples.types
        if types is None or graph.node_types is None:
            return np.full(graph.n_nodes, self.samples.n_labels)
        return types.sizes(graph.node_types)


def _extended(features: Any, weight: float, bias: bool) -> Any:
    """The features, and one more for the bias, times a graph's weight: times as much is its hinge, if its costs are."""
    if bias:
        ones = np.ones((features.shape[0], 1), features.dtype)
        features = hstack([features, ones], format="csr") if is_sparse(features) else np.hstack([features, ones])
    return features if weight == 1 else features * features.dtype.type(weight)


def _by_type(features: Any, types: NDArray[np.int64], n_types: int) -> Any:
    """Features (V, D) in the columns (V, T·D) of the type of every node."""
    rows, width = csr_array(features), features.shape[1]
    columns = rows.indices + np.repeat(types * width, np.diff(rows.indptr))
    pointers = rows.indptr.astype(columns.dtype)
    return csr_array((rows.data, columns, pointers), shape=(len(types), n_types * width))


def _by_pair(features: NDArray[Any], pairs: NDArray[np.int64], n_pairs: int) -> NDArray[Any]:
    """Features (E, K) in the columns (E, P·K) of the pair of types that every edge joins."""
    n_edges, width = features.shape
    spread = np.zeros((n_edges, n_pairs, width), features.dtype)
    spread[np.arange(n_edges), pairs] = features
    return spread.reshape(n_edges, n_pairs * width)
