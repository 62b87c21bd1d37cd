"""UnaryClassifier: every node by itself, by cross-entropy; also a transformer, so that bifurcation is a pipeline."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import TransformerMixin
from torch import nn

from neuralfactors.estimators.base import seed_of
from neuralfactors.estimators.gradient import GradientEstimator
from neuralfactors.factors import Factor, FactorModel
from neuralfactors.graph import Graph
from neuralfactors.learning.decode import Decoder
from neuralfactors.learning.history import Callback
from neuralfactors.learning.optimizers import MakeOptimizer
from neuralfactors.learning.samples import check_sequence
from neuralfactors.learning.subgradient import Settings


class UnaryClassifier(TransformerMixin, GradientEstimator):
    """Multiclass logistic regression on the nodes, or a network with `hidden` layers; edges are ignored.

    Minimises ½‖w‖² + C/N Σₙ Σᵢ η(yᵢ) cross-entropy(yᵢ, f(xᵢ)) over N graphs. As a transformer it replaces the node
    features by class probabilities, so that the paper's bifurcated training is a pipeline of this and a StructuralSVM.

    Parameters
    ----------
    hidden : sequence of int
        Units of the hidden layers; `()`: logistic regression.
    output : str
        What `transform` gives: "probability", "log_probability" or "decision".
    activation, dropout, bias, n_labels, C, learning_rate, momentum, schedule, t0, optimizer, max_iter, batch_size,
    class_weight, keep, averaging, patience, tol, validation_fraction, warm_start, random_state, device, dtype,
    checkpoint, checkpoint_every, tensorboard, callbacks, verbose
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

    def __init__(
        self,
        hidden: Sequence[int] = (),
        *,
        output: str = "probability",
        activation: str | Callable[[], nn.Module] = "tanh",
        dropout: float = 0.0,
        bias: bool = True,
        n_labels: int | None = None,
        C: float | str = "auto",
        learning_rate: float | str = "auto",
        momentum: float = 0.9,
        schedule: str = "cosine",
        t0: float = 0.0,
        optimizer: str | MakeOptimizer = "adam",
        max_iter: int | str = "auto",
        batch_size: int | str | None = "auto",
        class_weight: str | ArrayLike | None = None,
        keep: str = "objective",
        averaging: str | None = None,
        patience: int | None = None,
        tol: float = 1e-4,
        validation_fraction: float | None = None,
        warm_start: bool = False,
        random_state: Any = 0,
        device: str = "cpu",
        dtype: str = "float32",
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 1,
        tensorboard: str | os.PathLike[str] | None = None,
        callbacks: Sequence[Callback] | None = None,
        verbose: int = 0,
    ) -> None:
        self.hidden = hidden
        self.output = output
        self.activation = activation
        self.dropout = dropout
        self.bias = bias
        self.n_labels = n_labels
        self.C = C
        self.learning_rate = learning_rate
        self.momentum = momentum
        self.schedule = schedule
        self.t0 = t0
        self.optimizer = optimizer
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.class_weight = class_weight
        self.keep = keep
        self.averaging = averaging
        self.patience = patience
        self.tol = tol
        self.validation_fraction = validation_fraction
        self.warm_start = warm_start
        self.random_state = random_state
        self.device = device
        self.dtype = dtype
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.tensorboard = tensorboard
        self.callbacks = callbacks
        self.verbose = verbose

    def predict(self, X: Sequence[Graph]) -> list[NDArray[np.int64]]:
        """Label vectors, one per graph: the most probable class of every node."""
        return [scores.argmax(axis=1) for scores in self._unary_scores(X)]

    def predict_proba(self, X: Sequence[Graph]) -> list[NDArray[np.floating[Any]]]:
        """Class probabilities (V, L), one array per graph."""
        return [np.exp(_log_softmax(scores)) for scores in self._unary_scores(X)]

    def transform(self, X: Sequence[Graph]) -> list[Graph]:
        """The graphs with class probabilities (or `output`) in place of their node features."""
        outputs: dict[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
            "probability": lambda scores: np.exp(_log_softmax(scores)),
            "log_probability": _log_softmax,
            "decision": lambda scores: scores,
        }
        if self.output not in outputs:
            raise ValueError(f"output must be one of {sorted(outputs)}, got {self.output!r}")
        make = outputs[self.output]
        found, X = self._unary_scores(X), check_sequence("X", X)
        return [X[n].with_node_features(make(scores)) for n, scores in enumerate(found)]

    def _decoder(self) -> Decoder:
        return Decoder()  # the trainer wants one; cross-entropy never calls it

    @torch.no_grad()
    def _unary_scores(self, X: Sequence[Graph]) -> list[NDArray[np.floating[Any]]]:
        found: list[NDArray[np.floating[Any]]] = []
        for batch in self._batches(X):
            scores = self.model_.unary(batch.node_features).cpu().numpy()
            found += np.split(scores, batch.node_ptr[1:-1].numpy())
        return found

    def _settings(self) -> Settings:
        return Settings(
            C=(self.C, self.C),
            learning_rate=(self.learning_rate, self.learning_rate),
            momentum=(float(self.momentum),) * 2,
            t0=self.t0,
            schedule=self.schedule,
            optimizer=self.optimizer,
            max_iter=self.max_iter,
            batch_size=self.batch_size,
            keep=self.keep,
            averaging=self.averaging,
            patience=self.patience,
            tol=self.tol,
            loss="cross-entropy",
            n_hidden=(len(self.hidden), 0),
            seed=seed_of(self.random_state),
        )

    def _build_model(self, generator: torch.Generator) -> FactorModel:
        unary = Factor(
            self.n_node_features_, self.n_labels_, 1, self.hidden, self.activation,
            bias=self.bias, dropout=self.dropout, generator=generator,
        )  # fmt: skip
        return self._finish(FactorModel(unary, None, self.n_labels_))


def _log_softmax(scores: NDArray[Any]) -> NDArray[Any]:
    shifted = scores - scores.max(axis=1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)))
