"""How to train by subgradients: what users may choose, and the resulting settings of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.base import BaseEstimator

from neuralfactors.learning._losses import AUTO, check_count, check_option, check_positive
from neuralfactors.learning._optimizers import SCHEDULES, MakeOptimizer

Pair = tuple[Any, Any]  # of the unary and of the interaction factor: numbers, or "auto"


@dataclass(kw_only=True, eq=False, repr=False)
class Subgradient(BaseEstimator):
    """Training by subgradient descent with inference in the loop, Algorithms 1 and 2 of the paper.

    Estimators take it as `trainer`, and `trainer__learning_rate` is the name of one of these parameters in `set_params`
    and `GridSearchCV`. The paper's own setting is `Subgradient(optimizer="sgd", schedule="inverse")` and
    `batch_size=None` in the estimator.

    Parameters
    ----------
    optimizer : str or callable, default="adam"
        "adam", "sgd" (with momentum), "adamw" (the same as "adam": the objective has the decay), "rmsprop", "adagrad";
        or a function from parameter groups to a torch optimiser.
    learning_rate : float or "auto", default="auto"
        μ. "auto": 0.02 for a linear factor, divided by 1 plus the number of hidden layers for others (a custom
        module counts for three); as much in effect for optimisers other than Adam.
    interaction_learning_rate : float, "auto" or None, default=None
        That of the interaction factor; None: what `learning_rate` is. "auto" goes by this factor's own hidden layers.
    momentum : float, default=0.9
        Of "sgd" and "rmsprop".
    interaction_momentum : float or None, default=None
        That of the interaction factor; None: the same.
    schedule : "cosine", "inverse" or "constant", default="cosine"
        What becomes of the rate. "inverse": μ/(t₀ + t) with t the pass over the data, as in the paper.
    t0 : float, default=0.0
        t₀ of that curve.
    pretrain : int, default=0
        Passes before all others in which the unary factor learns alone, by cross-entropy, with the same C and batches.
    pretrain_learning_rate : float or None, default=None
        The rate of these passes; None: what `learning_rate` is. With a far lower `learning_rate` the unary factor then
        stays nearly what it is, and the interaction factor learns what context adds to it.
    keep : "objective", "validation" or "last", default="objective"
        Which iterate is returned: that of the best objective (an estimate where an epoch has several steps), of the
        best accuracy on validation data, or the last.
    averaging : "linear", "uniform" or None, default=None
        Return the average of all iterates instead, weighted by their number or all the same.
    patience : int or None, default=None
        Stop when the best value has not improved by a share of 1e-4 for so many epochs; None: never.
    validation_fraction : float or None, default=None
        Share of the graphs to hold out where `fit` is given no validation data.
    device : str, default="cpu"
        Where the factors are computed.
    dtype : "float32" or "float64", default="float32"
        In what precision they are.

    Examples
    --------
    >>> Subgradient(learning_rate=0.01, averaging="linear")
    Subgradient(averaging='linear', learning_rate=0.01)
    """

    optimizer: str | MakeOptimizer = "adam"
    learning_rate: float | str = AUTO
    interaction_learning_rate: float | str | None = None
    momentum: float = 0.9
    interaction_momentum: float | None = None
    schedule: str = "cosine"
    t0: float = 0.0
    pretrain: int = 0
    pretrain_learning_rate: float | None = None
    keep: str = "objective"
    averaging: str | None = None
    patience: int | None = None
    validation_fraction: float | None = None
    device: str = "cpu"
    dtype: str = "float32"

    @property
    def learning_rates(self) -> Pair:
        """Of the unary and of the interaction factor."""
        return pair(self.learning_rate, self.interaction_learning_rate)

    @property
    def momenta(self) -> tuple[float, float]:
        """Of the unary and of the interaction factor."""
        return pair(self.momentum, self.interaction_momentum)

    def check(self) -> None:
        """Refuse invalid values."""
        for rate in self.learning_rates:
            check_positive("learning_rate", rate)
        if self.pretrain_learning_rate is not None:
            check_positive("pretrain_learning_rate", self.pretrain_learning_rate)
        if not all(0 <= value < 1 for value in self.momenta):
            raise ValueError(f"momentum must be at least 0 and below 1, got {self.momenta}")
        check_count("pretrain", self.pretrain, least=0)
        if self.patience is not None:
            check_count("patience", self.patience)
        if not 0 <= self.t0 < float("inf"):
            raise ValueError(f"t0 must be a finite number ≥ 0, got {self.t0}")
        check_option("keep", self.keep, ("objective", "validation", "last"))
        check_option("schedule", self.schedule, SCHEDULES)


@dataclass(frozen=True)
class TrainingSettings:
    """All that decides a run but model and data; "auto" until `_auto_parameters.resolve` has replaced it."""

    trainer: Subgradient
    C: Pair
    max_iter: Any
    batch_size: Any  # None: all graphs
    loss: str  # "hinge", "perceptron", without margin or regulariser, or "cross-entropy" of every node by itself
    void: str
    n_hidden: tuple[int, int]  # layers, by which "auto" chooses the learning rate
    seed: int
    few_labels: bool = False  # whether inference completes most of the nodes, and is told some labels

    def __post_init__(self) -> None:
        self.trainer.check()
        for C in self.C:
            check_positive("C", C)
        for name in ("max_iter", "batch_size"):
            if getattr(self, name) is not None and getattr(self, name) != AUTO:
                check_count(name, getattr(self, name))
        check_option("void", self.void, ("drop", "complete"))

    @property
    def regularise(self) -> bool:
        """Whether the objective has ½‖w‖²."""
        return self.loss != "perceptron"


def pair(unary: Any, interaction: Any) -> Pair:
    """The values of both factors, where None is the same for the second."""
    return unary, unary if interaction is None else interaction
