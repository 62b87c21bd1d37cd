"""Prediction: what every estimator does with a fitted model, whatever trained it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from neuralfactors._common.labels import VOID
from neuralfactors._core.factor_model import FactorModel
from neuralfactors._core.graph import Graph, check_agreement, check_labels
from neuralfactors._core.graph_batch import GraphBatch
from neuralfactors._core.potentials import Potentials
from neuralfactors.estimators._parts import Composed
from neuralfactors.learning._decode import Decoder, clamp_labelled, node_scores
from neuralfactors.learning._losses import check_class_weight, check_part
from neuralfactors.learning._margin import loss_augment, node_costs
from neuralfactors.learning._training_graphs import Samples, check_pairs, check_sequence, check_void_mark, has_edges


class Predictor(Composed):
    """Labels, scores and potentials of graphs, by a `FactorModel` that a subclass has fitted."""

    model_: FactorModel
    n_labels_: int
    n_node_features_: int
    n_edge_features_: int
    order_: int

    def predict(self, X: Sequence[Graph], known: Sequence[ArrayLike] | None = None) -> list[NDArray[np.int64]]:
        """The labelling of highest score that inference finds, for every graph.

        Parameters
        ----------
        X : sequence of Graph
            With the numbers of features that the estimator was fitted with.
        known : sequence of arrays of int, default=None
            Labels that are given, one array per graph, −1 where there is none: they are kept, and the others are those
            that go best with them.

        Returns
        -------
        list of ndarray of shape (V,)
            Labels, int64, one array per graph.
        """
        check_is_fitted(self, "model_")
        return self._decode_altered(
            X, check_known(X, known, self.n_labels_), lambda given, y, _: clamp_labelled(given, y)
        )

    def loss_augmented_predict(self, X: Sequence[Graph], Y: Sequence[ArrayLike]) -> list[NDArray[np.int64]]:
        """The labelling z that violates the margin most, for every graph: of largest score plus loss Δ(y, z); Eq. (8).

        Parameters
        ----------
        X : sequence of Graph
            As in `predict`.
        Y : sequence of arrays of int
            True labels, one array per graph; −1 for void, which costs nothing.

        Returns
        -------
        list of ndarray of shape (V,)
            Labels, int64, one array per graph.
        """
        check_is_fitted(self, "model_")
        samples = Samples.check(X, Y, self.n_labels_, drop_void=False)
        weight = check_class_weight(samples.class_weight(getattr(self, "class_weight", None)))

        def augment(given: Potentials, y: Tensor, node_weight: Tensor | None) -> Potentials:
            return loss_augment(given, y, node_costs(y, weight, node_weight))

        return self._decode_altered(X, list(samples.Y), augment)

    def decode(self, potentials: Potentials) -> NDArray[np.int64]:
        """Labels that the decoder finds to score highest.

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
        found: list[NDArray[np.floating[Any]]] = []
        for batch in self._batches(X):
            found += np.split(node_scores(self._potentials(batch)), batch.node_ptr[1:-1].numpy())
        return found

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
        found = []
        for batch in self._batches(X):
            whole = self._potentials(batch)
            node_ptr, edge_ptr = whole.node_ptr.tolist(), whole.edge_ptr.tolist()
            for g in range(batch.n_graphs):
                nodes, edges = slice(node_ptr[g], node_ptr[g + 1]), slice(edge_ptr[g], edge_ptr[g + 1])
                ends = whole.edges[edges] - node_ptr[g]
                tables = whole.interaction if whole.shared else whole.interaction[edges]
                found.append(Potentials(whole.unary[nodes].clone(), tables.clone(), ends))
        return found

    def score(self, X: Sequence[Graph], Y: Sequence[ArrayLike]) -> float:
        """Share of the labelled nodes that are predicted right, by their weight where graphs have `node_weight`.

        Parameters
        ----------
        X : sequence of Graph
            As in `predict`.
        Y : sequence of arrays of shape (V,)
            True labels of every graph; −1 is void and not counted.

        Returns
        -------
        float
            From 0 to 1; NaN where no node is labelled.
        """
        X, Y = check_pairs(X, Y)
        labels, right, total = [], 0.0, 0.0
        for n, y_pred in enumerate(self.predict(X)):
            y, weight = check_labels(Y[n], X[n].n_nodes, f"Y[{n}]"), X[n].node_weight
            counted = (y >= 0) if weight is None else np.where(y >= 0, weight, 0.0)
            right += float((counted * (y_pred == y)).sum())
            total += float(counted.sum())
            labels.append(y)
        check_void_mark(labels, self.n_labels_)
        return right / total if total else float("nan")

    def _decode_altered(
        self, X: Sequence[Graph], Y: list[NDArray[np.int64]] | None, alter: Callable[..., Potentials]
    ) -> list[NDArray[np.int64]]:
        """Labels of the graphs X; where there are Y, under potentials that `alter` makes of those, y and weights."""
        found: list[NDArray[np.int64]] = []
        for batch in self._batches(X):
            potentials = self._potentials(batch)
            if Y is not None:
                y = torch.from_numpy(np.concatenate(Y[len(found) : len(found) + batch.n_graphs]))
                potentials = alter(potentials, y.to(potentials.unary.device), batch.node_weight)
            found += np.split(self.decode(potentials), batch.node_ptr[1:-1].numpy())
        return found

    def _decoder(self) -> Decoder:
        return check_part("decoder", self.part("decoder"), Decoder)

    def _batches(self, X: Sequence[Graph]) -> Iterator[GraphBatch]:
        check_is_fitted(self, "model_")
        if isinstance(X, Graph):
            raise ValueError("X must be a list of graphs, got a Graph: wrap it in a list")
        X = check_sequence("X", X)
        if not len(X):
            return
        widths = check_agreement(X[n] for n in range(len(X)))
        self._check_widths(widths, has_edges(X))
        empty = [np.zeros(0, dtype=np.int64)] * len(X)
        samples = Samples(X, empty, self.n_labels_, *widths)
        reference = next(self.model_.parameters(), torch.zeros(()))
        for chunk in samples.chunks(range(len(X))):
            yield GraphBatch.from_graphs([X[n] for n in chunk], reference.dtype).to(reference.device)

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


def check_known(X: Sequence[Graph], known: Sequence[ArrayLike] | None, n_labels: int) -> list[NDArray[np.int64]] | None:
    """Known labels of the graphs X as arrays, refused unless they fit the graphs and lie below `n_labels`."""
    if known is None:
        return None
    X, known = check_pairs(X, known)
    given = [check_labels(known[n], X[n].n_nodes, f"known[{n}]") for n in range(len(X))]
    highest = max((int(y.max()) for y in given if y.size), default=VOID)
    if highest >= n_labels:
        raise ValueError(f"known must hold labels below {n_labels}, got {highest}")
    return given
