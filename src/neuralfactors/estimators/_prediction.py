"""Prediction: what every estimator does with a fitted model, whatever trained it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from neuralfactors._core.factor_model import FactorModel
from neuralfactors._core.factors import Factor
from neuralfactors._core.graph import Graph, check_agreement
from neuralfactors._core.graph_batch import GraphBatch
from neuralfactors._core.node_types import NodeTypes
from neuralfactors._core.potentials import Potentials
from neuralfactors.estimators._labels import LabelledPredictor, Predictions
from neuralfactors.estimators._probabilities import best_temperature, node_marginals, scaled
from neuralfactors.learning._decode import Decoder, clamp_labelled, node_scores
from neuralfactors.learning._losses import check_class_weight, check_part
from neuralfactors.learning._margin import loss_augment, node_costs
from neuralfactors.learning._training_graphs import Samples, check_sequence, has_edges

Alteration = Callable[[Potentials, Tensor, GraphBatch], Potentials]


class Predictor(LabelledPredictor):
    """Labels, probabilities, scores and potentials of graphs, by a `FactorModel` that a subclass has fitted."""

    model_: FactorModel
    n_node_features_: int
    n_edge_features_: int
    order_: int
    temperature_: float = 1.0
    type_labels_: list[int] | None = None
    type_pairs_: list[list[int]] | None = None

    @property
    def n_features_in_(self) -> int:
        """Number of node features in `fit`."""
        check_is_fitted(self, "model_")
        return self.n_node_features_

    def predict(self, X: Sequence[Graph], known: Sequence[ArrayLike] | None = None) -> list[NDArray[Any]]:
        """The labelling of highest score that inference finds, for every graph.

        Parameters
        ----------
        X : sequence of Graph
            With the numbers of features that the estimator was fitted with.
        known : sequence of arrays, default=None
            Labels that are given, one array per graph, void where there is none: they are kept, and the others are
            those that go best with them.

        Returns
        -------
        list of ndarray of shape (V,)
            Labels, as in `fit`; integers are int64. One array per graph.
        """
        check_is_fitted(self, "model_")
        return self._decode(self._predict(X, self._check_known(X, known)))

    def _predict(self, X: Sequence[Graph], known: Sequence[NDArray[np.int64]] | None = None) -> list[NDArray[np.int64]]:
        return self._decode_altered(X, known, _clamp)

    def predict_proba(
        self, X: Sequence[Graph], known: Sequence[ArrayLike] | None = None
    ) -> list[NDArray[np.floating[Any]]]:
        """Probabilities of the labels of every node: the marginals of p(y) ∝ exp(g(x, y) / T).

        They are exact on graphs of low treewidth, such as chains and trees. Elsewhere they are pseudo-marginals of
        tree-reweighted sums, or what `decoder__marginals` chooses. T is `temperature_`: 1 unless `calibrate` has found
        a better one, without which the probabilities of a model trained for margins are not calibrated.

        Parameters
        ----------
        X : sequence of Graph
            As in `predict`.
        known : sequence of arrays, default=None
            As in `predict`: what others then are given these labels.

        Returns
        -------
        list of ndarray of shape (V, L)
            Rows sum to 1; columns are those of `classes_`. On graphs with cycles the argmax of each row need not be
            what `predict` returns, which is one joint labelling.
        """
        check_is_fitted(self, "model_")
        return Predictions(self._proba(X, self._check_known(X, known), _clamp))

    def marginals(self, potentials: Potentials) -> NDArray[np.floating[Any]]:
        """Probabilities of the labels of every node, as `predict_proba` finds them.

        Parameters
        ----------
        potentials : Potentials
            Such as those of `potentials`, of one graph or of a batch.

        Returns
        -------
        ndarray of shape (V, L)
            Rows sum to 1.
        """
        return node_marginals(scaled(potentials, 1.0 / self.temperature_), self._decoder())

    def calibrate(self, X: Sequence[Graph], Y: Sequence[ArrayLike]) -> Self:
        """Choose the temperature of `predict_proba` by graphs that the model has not learned from.

        The labels that `predict` finds stay the same.

        Parameters
        ----------
        X : sequence of Graph
            Held-out graphs.
        Y : sequence of arrays of shape (V,)
            Their labels, as in `fit`.

        Returns
        -------
        self
            With the `temperature_` T at which the labelled nodes have the highest mean log-probability.
        """
        check_is_fitted(self, "model_")
        samples = self._check_labelled(X, Y)
        y, weight = np.concatenate(samples.Y), np.concatenate([_weights(samples.X[n]) for n in range(len(samples))])
        nodes = np.flatnonzero(y >= 0)
        return self.calibrate_nodes(X, nodes, y[nodes], weight[nodes])

    def calibrate_nodes(
        self, X: Sequence[Graph], nodes: NDArray[np.int64], y: NDArray[np.int64], weight: NDArray[Any]
    ) -> Self:
        """The same as `calibrate`, from labels observed any number of times at a node, such as pixels of a region.

        Parameters
        ----------
        X : sequence of Graph
            Held-out graphs.
        nodes : array of shape (K,)
            The node of every observation; those of all graphs are numbered together.
        y : array of shape (K,)
            The number of the label that was observed there.
        weight : array of shape (K,)
            What the observation counts.

        Returns
        -------
        self
            Calibrated.
        """
        potentials = list(self._altered(X, None, _clamp, self._scores))
        self.temperature_ = best_temperature(potentials, nodes, y, weight, self._decoder())
        return self

    def loss_augmented_predict(self, X: Sequence[Graph], Y: Sequence[ArrayLike]) -> list[NDArray[Any]]:
        """The labelling z that violates the margin most, for every graph: of largest score plus loss Δ(y, z); Eq. (8).

        Parameters
        ----------
        X : sequence of Graph
            As in `predict`.
        Y : sequence of arrays of int
            True labels, one array per graph; void ones cost nothing.

        Returns
        -------
        list of ndarray of shape (V,)
            Labels, one array per graph.
        """
        check_is_fitted(self, "model_")
        samples = self._check_labelled(X, Y)
        weight = check_class_weight(samples.class_weight(getattr(self, "class_weight", None)))

        def augment(given: Potentials, y: Tensor, batch: GraphBatch) -> Potentials:
            return loss_augment(given, y, node_costs(y, weight, batch.node_weight))

        return self._decode(self._decode_altered(X, samples.Y, augment))

    def _check_labelled(self, X: Sequence[Graph], Y: Sequence[ArrayLike]) -> Samples:
        """The graphs X with labels that the model knows, void nodes among them."""
        types = self._types()
        n_labels = self.n_labels_ if types is None else types.n_labels
        return Samples.check(X, Y, n_labels, known=self.n_labels_, classes=self.label_values_, drop_void=False)

    def decode(self, potentials: Potentials) -> NDArray[np.int64]:
        """Numbers of the labels that the decoder finds to score highest; `classes_` has what they stand for.

        Parameters
        ----------
        potentials : Potentials
            Such as those of `potentials`, of one graph or of a batch.

        Returns
        -------
        ndarray of shape (V,)
            int64.
        """
        labels: NDArray[np.int64] = self._decoder()(potentials).labels.cpu().numpy()
        return labels

    def decision_function(self, X: Sequence[Graph]) -> list[NDArray[np.floating[Any]]]:
        """What speaks for every label of every node, all factors considered.

        Parameters
        ----------
        X : sequence of Graph
            As in `predict`.

        Returns
        -------
        list of ndarray of shape (V, L)
            An array per graph. Entry (i, a) is how far the best labelling that gives node i label a stays below the
            best of all: exact on forests, at least that far (a bound) on graphs with cycles. There the argmax of each
            row need not be what `predict` returns, which is one joint labelling.

        See Also
        --------
        potentials : Scores of nodes and edges, before any inference.
        """
        return _by_graph((p, node_scores(p)) for p in map(self._potentials, self._batches(X)))

    def potentials(self, X: Sequence[Graph]) -> list[Potentials]:
        """Scores of nodes and edges, whose joint maximum `predict` looks for.

        Parameters
        ----------
        X : sequence of Graph
            As in `predict`.

        Returns
        -------
        list of Potentials
            One per graph.
        """
        return [whole.graph(g) for whole in map(self._potentials, self._batches(X)) for g in range(whole.n_graphs)]

    def _decode_altered(
        self, X: Sequence[Graph], Y: Sequence[NDArray[np.int64]] | None, alter: Alteration
    ) -> list[NDArray[np.int64]]:
        """Numbers of labels of the graphs X, under the potentials of `_altered`."""
        return _by_graph((p, self.decode(p)) for p in self._altered(X, Y, alter, self._potentials))

    def _proba(
        self, X: Sequence[Graph], Y: Sequence[NDArray[np.int64]] | None, alter: Alteration
    ) -> list[NDArray[np.floating[Any]]]:
        """Probabilities of labels of the graphs X, under the potentials of `_altered`."""
        return _by_graph((p, self.marginals(p)) for p in self._altered(X, Y, alter, self._scores))

    def _altered(
        self,
        X: Sequence[Graph],
        Y: Sequence[NDArray[np.int64]] | None,
        alter: Alteration,
        score: Callable[[GraphBatch], Potentials],
    ) -> Iterator[Potentials]:
        """Scores of X, a batch at a time; where Y is given, `alter` changes them by the labels of the batch."""
        done = 0
        for batch in self._batches(X):
            potentials = score(batch)
            if Y is not None:
                y = torch.from_numpy(np.concatenate(Y[done : done + batch.n_graphs]))
                potentials = alter(potentials, y.to(potentials.unary.device), batch)
            done += batch.n_graphs
            yield potentials

    def _scores(self, batch: GraphBatch) -> Potentials:
        """What probabilities follow from."""
        return self._potentials(batch)

    def _decoder(self) -> Decoder:
        return check_part("decoder", self.part("decoder"), Decoder)

    def _batches(self, X: Sequence[Graph]) -> Iterator[GraphBatch]:
        """Batches of the graphs X, of bounded size, refused unless they are like those of `fit`."""
        check_is_fitted(self, "model_")
        if isinstance(X, Graph):
            raise ValueError("X must be a list of graphs, got a Graph: wrap it in a list")
        X = check_sequence("X", X)
        if not len(X):
            return
        widths = check_agreement(X[n] for n in range(len(X)))
        self._check_widths(widths, has_edges(X))
        empty = [np.zeros(0, dtype=np.int64)] * len(X)
        samples = Samples(X, empty, self.n_labels_, *widths, types=self._types())
        reference = next(self.model_.parameters(), torch.zeros(()))
        for chunk in samples.chunks(range(len(X))):
            graphs, whole = [X[n] for n in chunk], not isinstance(self.model_.unary, Factor)
            batch = GraphBatch.from_graphs(graphs, reference.dtype, convert_sparse=whole)
            self._check_types(batch)
            yield batch.to(reference.device)

    def _types(self) -> NodeTypes | None:
        labels, pairs = getattr(self, "type_labels_", None), getattr(self, "type_pairs_", None)
        if labels is None or pairs is None:
            return None
        return NodeTypes(tuple(labels), tuple((first, second) for first, second in pairs))

    def _check_types(self, batch: GraphBatch) -> None:
        types = self._types()
        if (types is None) != (batch.node_types is None):
            got, expected = ("no ", "") if batch.node_types is None else ("", "out")
            raise ValueError(f"X has {got}node_types, but {type(self).__name__} was fitted with{expected} them")
        if types is not None and batch.node_types is not None:
            types.sizes(batch.node_types.numpy())  # which refuses types that are not known

    def _check_widths(self, widths: tuple[int, int, int], with_edges: bool) -> None:
        names = ("node features", "edge features", "nodes in an edge")
        fitted = (self.n_node_features_, self.n_edge_features_, self.order_)
        for k, (name, got, expected) in enumerate(zip(names, widths, fitted, strict=True)):
            if got != expected and (k == 0 or with_edges):
                raise ValueError(f"X has {got} {name}, but {type(self).__name__} was fitted with {expected}")

    @torch.no_grad()
    def _potentials(self, batch: GraphBatch) -> Potentials:
        potentials: Potentials = self.model_(batch)
        return potentials


def _by_graph(found: Iterable[tuple[Potentials, NDArray[Any]]]) -> list[NDArray[Any]]:
    """The rows of the nodes of each graph, from those of whole batches."""
    return [rows for batch, all_rows in found for rows in np.split(all_rows, batch.node_ptr[1:-1].numpy())]


def _clamp(given: Potentials, y: Tensor, _: GraphBatch) -> Potentials:
    return clamp_labelled(given, y)


def _weights(graph: Graph) -> NDArray[np.float64]:
    return np.ones(graph.n_nodes) if graph.node_weight is None else graph.node_weight.astype(np.float64)
