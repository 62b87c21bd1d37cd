"""StructuredPerceptron: no margin, no regulariser, averaged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from neuralfactors.estimators.base import seed_of
from neuralfactors.estimators.gradient import GradientEstimator
from neuralfactors.learning.history import Callback
from neuralfactors.learning.subgradient import Settings


class StructuredPerceptron(GradientEstimator):
    """Averaged structured perceptron with linear factors: w ← w + μ (φ(x, y) − φ(x, z)) wherever the prediction z errs.

    Without a margin there is nothing for weights to scale: there is no `class_weight`, and the `node_weight` of graphs
    counts in `score` only.

    Parameters
    ----------
    learning_rate : float
        μ.
    averaging : str
        "uniform" or "linear" average of all iterates; None: the last iterate.
    void : str
        "drop" or "complete", as in `StructuralSVM`; completions gain a perceptron little, as its first are chance.
    n_labels, bias, max_iter, batch_size, inference, inference_tol, inference_max_iter, validation_fraction,
    warm_start, random_state, dtype, n_threads, checkpoint, checkpoint_every, tensorboard, callbacks, verbose
        As in `StructuralSVM`.

    Examples
    --------
    >>> from neuralfactors.graph import Graph
    >>> X = [Graph([[1.0], [-1.0]], [[0, 1]]), Graph([[-1.0], [1.0]], [[0, 1]])]
    >>> StructuredPerceptron().fit(X, [[1, 0], [0, 1]]).score(X, [[1, 0], [0, 1]])
    1.0
    """

    def __init__(
        self,
        *,
        learning_rate: float = 1.0,
        averaging: str | None = "uniform",
        n_labels: int | None = None,
        bias: bool = True,
        max_iter: int | str = "auto",
        batch_size: int | str | None = "auto",
        void: str = "drop",
        inference: str = "auto",
        inference_tol: float = 1e-4,
        inference_max_iter: int | None = None,
        validation_fraction: float | None = None,
        warm_start: bool = False,
        random_state: Any = 0,
        dtype: str = "float32",
        n_threads: int | None = None,
        checkpoint: str | None = None,
        checkpoint_every: int = 1,
        tensorboard: str | None = None,
        callbacks: Sequence[Callback] | None = None,
        verbose: int = 0,
    ) -> None:
        self.learning_rate = learning_rate
        self.averaging = averaging
        self.n_labels = n_labels
        self.bias = bias
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.void = void
        self.inference = inference
        self.inference_tol = inference_tol
        self.inference_max_iter = inference_max_iter
        self.validation_fraction = validation_fraction
        self.warm_start = warm_start
        self.random_state = random_state
        self.dtype = dtype
        self.n_threads = n_threads
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.tensorboard = tensorboard
        self.callbacks = callbacks
        self.verbose = verbose

    def _settings(self) -> Settings:
        return Settings(
            learning_rate=(self.learning_rate, self.learning_rate),
            momentum=(0.0, 0.0),
            schedule="constant",
            optimizer="sgd",
            max_iter=self.max_iter,
            batch_size=self.batch_size,
            keep="last",
            averaging=self.averaging,
            loss="perceptron",
            regularise=False,
            void=self.void,
            seed=seed_of(self.random_state),
        )
