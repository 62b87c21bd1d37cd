"""UnaryClassifier: every node by itself, by cross-entropy; also a transformer, so that bifurcation is a pipeline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax
from sklearn.base import TransformerMixin

from neuralfactors.estimators.gradient import GradientEstimator, Objective
from neuralfactors.graph import Graph
from neuralfactors.learning.decode import Decoder
from neuralfactors.learning.losses import AUTO
from neuralfactors.learning.samples import check_sequence


@dataclass(eq=False, repr=False)
class UnaryClassifier(TransformerMixin, GradientEstimator):
    """Multiclass logistic regression on the nodes, or a network with hidden layers; edges are ignored.

    Minimises ½‖w‖² + C/N Σₙ Σᵢ η(yᵢ) cross-entropy(yᵢ, f(xᵢ)) over N graphs. As a transformer it replaces the node
    features by class probabilities, so that the paper's bifurcated training is a pipeline of this and a StructuralSVM.

    Parameters
    ----------
    unary : sequence of int, Network or nn.Module, default=()
        The factor of nodes, as in `StructuralSVM`; `()`: logistic regression.
    n_labels, callbacks, verbose, max_iter, batch_size, trainer, warm_start, random_state, class_weight
        As in `StructuralSVM`, with the same defaults.
    output : "probability", "log_probability" or "decision", default="probability"
        What `transform` gives.
    C : float or "auto", default="auto"
        As in `StructuralSVM`. A C of scikit-learn's LogisticRegression is C·N here where graphs have one node each.

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
    class_weight: str | ArrayLike | None = None

    def predict(self, X: Sequence[Graph]) -> list[NDArray[np.int64]]:
        """Label vectors, one per graph: the most probable class of every node."""
        return [scores.argmax(axis=1) for scores in self._unary_scores(X)]

    def decision_function(self, X: Sequence[Graph]) -> list[NDArray[np.floating[Any]]]:
        """Scores (V, L) of every label of every node, one array per graph; `predict` takes their argmax.

        Parameters
        ----------
        X : sequence of Graph

        Returns
        -------
        list of ndarray of shape (V, L)
            The outputs of the factor, of which `predict_proba` is the softmax.
        """
        return self._unary_scores(X)

    def predict_proba(self, X: Sequence[Graph]) -> list[NDArray[np.floating[Any]]]:
        """Class probabilities (V, L), one array per graph."""
        return [np.exp(log_softmax(scores, axis=1)) for scores in self._unary_scores(X)]

    def transform(self, X: Sequence[Graph]) -> list[Graph]:
        """The graphs with class probabilities (or `output`) in place of their node features."""
        outputs: dict[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
            "probability": lambda scores: np.exp(log_softmax(scores, axis=1)),
            "log_probability": lambda scores: log_softmax(scores, axis=1),
            "decision": lambda scores: scores,
        }
        if self.output not in outputs:
            raise ValueError(f"output must be one of {sorted(outputs)}, got {self.output!r}")
        make = outputs[self.output]
        found, X = self._unary_scores(X), check_sequence("X", X)
        return [X[n].with_node_features(make(scores)) for n, scores in enumerate(found)]

    def _objective(self) -> Objective:
        return Objective("cross-entropy", (self.C, self.C), self.class_weight, "drop")

    def _decoder(self) -> Decoder:
        return Decoder()  # a descent wants one; cross-entropy never calls it

    @torch.no_grad()
    def _unary_scores(self, X: Sequence[Graph]) -> list[NDArray[np.floating[Any]]]:
        found: list[NDArray[np.floating[Any]]] = []
        for batch in self._batches(X):
            scores = self.model_.unary(batch.node_features).cpu().numpy()
            found += np.split(scores, batch.node_ptr[1:-1].numpy())
        return found
