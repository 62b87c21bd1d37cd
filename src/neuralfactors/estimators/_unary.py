"""UnaryClassifier: every node by itself, by cross-entropy; also a transformer, so that bifurcation is a pipeline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import log_softmax
from sklearn.base import TransformerMixin

from neuralfactors._core.graph import Graph
from neuralfactors._core.graph_batch import GraphBatch
from neuralfactors._core.potentials import Potentials
from neuralfactors.estimators._gradient_learner import GradientEstimator, Objective
from neuralfactors.estimators._labels import Predictions
from neuralfactors.learning._decode import Decoder
from neuralfactors.learning._losses import AUTO
from neuralfactors.learning._training_graphs import ClassWeight, check_sequence


@dataclass(eq=False, repr=False)
class UnaryClassifier(TransformerMixin, GradientEstimator):
    """Multiclass logistic regression on the nodes, or a network with hidden layers; edges are ignored.

    Minimises ½‖w‖² + C/N Σₙ Σᵢ η(yᵢ) cross-entropy(yᵢ, f(xᵢ)) over N graphs. As a transformer it replaces the node
    features by class probabilities, so that the paper's bifurcated training is a pipeline of this and a StructuralSVM.

    Parameters
    ----------
    unary : sequence of int, Network or nn.Module, default=()
        The factor of nodes, as in `StructuralSVM`; `()`: logistic regression.
    n_labels : int, sequence of int or None, default=None
        None: the highest label in Y plus 1. A sequence for graphs with `node_types`, one number per type: every type
        gets a factor of its own.
    callbacks : sequence of callable or None, default=None
        As in `StructuralSVM`.
    verbose : int, default=0
        1 shows a progress bar.
    max_iter : int or "auto", default="auto"
        Passes over the data, as in `StructuralSVM`.
    batch_size : int, "auto" or None, default="auto"
        Graphs a step, as in `StructuralSVM`.
    trainer : Subgradient or None, default=None
        How to train. None: `Subgradient()`.
    warm_start : bool, default=False
        Whether `fit` begins with the parameters of the last one.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the factor and of the order of the graphs.
    output : "probability", "log_probability" or "decision", default="probability"
        What `transform` gives.
    C : float or "auto", default="auto"
        As in `StructuralSVM`. A C of scikit-learn's LogisticRegression is C·N here where graphs have one node each.
    class_weight : None, "balanced", dict or array of shape (L,), default=None
        η, what a wrong node costs by its true class.

    Attributes
    ----------
    C_, learning_rate_, batch_size_, max_iter_
        The values used, whatever "auto" stands for.

    Examples
    --------
    >>> X, Y = [Graph([[1.0], [-1.0]]), Graph([[-2.0], [2.0]])], [[1, 0], [0, 1]]
    >>> UnaryClassifier().fit(X, Y).score(X, Y)
    1.0
    """

    _: KW_ONLY
    output: str = "probability"
    C: float | str = AUTO
    class_weight: ClassWeight = None

    def _predict(self, X: Sequence[Graph], known: Sequence[NDArray[np.int64]] | None = None) -> list[NDArray[np.int64]]:
        predictions = [scores.argmax(axis=1) for scores in self._unary_scores(X)]
        if known is None:
            return predictions
        return [np.where(y < 0, y_pred, y) for y, y_pred in zip(known, predictions, strict=True)]

    def decision_function(self, X: Sequence[Graph]) -> list[NDArray[np.floating[Any]]]:
        """Scores of every label of every node, whose argmax `predict` takes.

        Parameters
        ----------
        X : sequence of Graph
            As in `predict`.

        Returns
        -------
        list of ndarray of shape (V, L)
            The outputs of the factor. Divided by `temperature_`, which is 1 unless `calibrate` has chosen another,
            `predict_proba` is their softmax.
        """
        return Predictions(self._unary_scores(X))

    def transform(self, X: Sequence[Graph]) -> list[Graph]:
        """The graphs with class probabilities (or `output`) in place of their node features.

        Parameters
        ----------
        X : sequence of Graph
            As in `predict`.

        Returns
        -------
        list of Graph
            Edges, their features and the weights of nodes stay. Labels that a node's type does not have get 0.
        """
        outputs: dict[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
            "probability": lambda scores: np.exp(log_softmax(scores, axis=1)),
            "log_probability": lambda scores: log_softmax(scores, axis=1),
            "decision": lambda scores: scores,
        }
        if self.output not in outputs:
            raise ValueError(f"output must be one of {sorted(outputs)}, got {self.output!r}")
        make = outputs[self.output]
        found, X = self._unary_scores(X), check_sequence("X", X)
        made = [np.where(np.isneginf(scores), 0.0, make(scores)).astype(scores.dtype) for scores in found]
        return [X[n].with_node_features(features) for n, features in enumerate(made)]

    def _objective(self) -> Objective:
        return Objective("cross-entropy", (self.C, self.C), self.class_weight, "drop")

    def _decoder(self) -> Decoder:
        return Decoder()  # a descent wants one; cross-entropy never calls it

    @torch.no_grad()
    def _scores(self, batch: GraphBatch) -> Potentials:
        """Scores of nodes without edges, which need tables otherwise."""
        none, ends = torch.zeros_like(batch.node_ptr), batch.edges.new_zeros((0, 2))
        alone = replace(batch, edges=ends, edge_features=batch.edge_features[:0], edge_ptr=none)
        potentials: Potentials = self.model_(alone)
        return potentials

    @torch.no_grad()
    def _unary_scores(self, X: Sequence[Graph]) -> list[NDArray[np.floating[Any]]]:
        found: list[NDArray[np.floating[Any]]] = []
        for batch in self._batches(X):
            scores = self.model_.node_values(batch).cpu().numpy()
            found += np.split(scores, batch.node_ptr[1:-1].numpy())
        return found
