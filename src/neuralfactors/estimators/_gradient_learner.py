"""What estimators that learn by gradient steps share: `fit`, `partial_fit`, pretraining, checkpoints."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor, nn

from neuralfactors._common.label_values import Classes, sorted_classes
from neuralfactors._common.seeds import RandomState, seed_of
from neuralfactors._common.sequences import Selection
from neuralfactors._core.factor_model import BatchModel
from neuralfactors._core.factors import Network, as_network
from neuralfactors._core.graph import Graph
from neuralfactors.estimators._base import Described, StructuredEstimator
from neuralfactors.estimators._checkpoint import Checkpoint, find_checkpoint, fingerprint
from neuralfactors.estimators._labels import share
from neuralfactors.estimators._parts import Parts, or_default
from neuralfactors.estimators._validation import Labelled, check_validation, hold_out
from neuralfactors.learning._auto_parameters import CHOSEN, by_name, resolve
from neuralfactors.learning._decode import Decoder
from neuralfactors.learning._descent import Descent, Progress
from neuralfactors.learning._history import Callback, ProgressBar, Record, closing
from neuralfactors.learning._losses import AUTO, check_class_weight, check_part, refuse_cost_matrix
from neuralfactors.learning._subgradient import Pair, Subgradient, TrainingSettings
from neuralfactors.learning._training_graphs import (
    ClassWeight,
    Samples,
    digest,
    has_edges,
)
from neuralfactors.learning._training_warnings import warn_of_dropped_edges, warn_of_scales

OWN_MODULE = 3  # hidden layers that a module in place of a factor counts for, where "auto" chooses its learning rate


class Objective(NamedTuple):
    """What an estimator minimises."""

    loss: str
    C: Pair
    class_weight: ClassWeight
    void: str


@dataclass(eq=False, repr=False)
class GradientEstimator(StructuredEstimator):
    """Base of estimators that a `Descent` fits; a subclass gives `_objective`. Parameters as in `StructuralSVM`."""

    unary: Sequence[int] | Described = ()
    _: KW_ONLY
    max_iter: int | str = AUTO
    batch_size: int | str | None = AUTO
    trainer: Subgradient | None = None
    warm_start: bool = False
    random_state: RandomState = 0

    _learning: ClassVar[str] = "unary factor"  # what a progress bar says of the training
    _parts: ClassVar[Parts] = {"unary": as_network, "trainer": or_default(Subgradient)}
    _fitted = (*StructuredEstimator._fitted, *(f"{name}_" for name in CHOSEN))

    def fit(
        self,
        X: Sequence[Graph],
        Y: Sequence[ArrayLike],
        sample_weight: ArrayLike | None = None,
        *,
        validation: Labelled | None = None,
    ) -> Self:
        """Learn from labelled graphs.

        Parameters
        ----------
        X : sequence of Graph
            The samples, with the same numbers of features.
        Y : sequence of arrays of shape (V,)
            Labels, one per node: integers from 0, and −1 for void; or strings, or other values that sort, and None, NaN
            or −1 for void.
        sample_weight : array of shape (N,), default=None
            By which the loss of every graph is multiplied; None: 1.
        validation : pair (X, Y), default=None
            Judged after every epoch; its accuracy goes into the history and, with a trainer that has
            `keep="validation"`, decides which iterate is kept and when to stop.

        Returns
        -------
        self
            The fitted estimator.
        """
        settings, checkpoint = self._settings(), find_checkpoint(self.callbacks)
        stored = None if checkpoint is None else checkpoint.read()
        if self.random_state is None and stored is not None:
            settings = replace(settings, seed=stored[0].get("seed", settings.seed))
        continuing, fraction = self.warm_start and hasattr(self, "model_"), settings.trainer.validation_fraction
        samples = self._check(X, Y, settings, self.n_labels, continuing, sample_weight)
        if validation is not None:
            validation = check_validation(validation, samples)
        elif fraction is not None:
            samples, validation = hold_out(samples, fraction, settings.seed)
        elif settings.trainer.keep == "validation":
            raise ValueError('keep="validation" needs validation data: pass validation=(X, Y) to fit')
        settings = resolve(settings, samples)
        if not isinstance(self.unary, nn.Module):  # which may scale its features itself, or look rows up by them
            warn_of_scales(samples)
        if settings.void == "drop" and settings.loss != "cross-entropy":
            warn_of_dropped_edges(samples, 'void="complete" labels them by inference')
        self._start(samples, settings, continuing, pretrain=stored is None)
        self._run(samples, validation, checkpoint, stored)
        shortfall = self.descent_.shortfall(samples)
        if shortfall is not None:
            warnings.warn(f"{type(self).__name__}: {shortfall}", ConvergenceWarning, stacklevel=2)
        return self

    def partial_fit(
        self,
        X: Sequence[Graph],
        Y: Sequence[ArrayLike],
        n_labels: int | Sequence[int] | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        classes: ArrayLike | None = None,
    ) -> Self:
        """One more epoch, on these graphs.

        A model from `fit` or from a file is trained further. In place of the schedule "cosine", which ends after
        `max_iter` epochs, the learning rate is constant. Parameters changed by `set_params` count from here on; those
        that describe the factors, which exist already, must be the same. What "auto" stood for in the first call or in
        `fit` stays. The optimiser keeps its state; with another `optimizer` or `averaging`, or a first momentum, it and
        the average start again. With `averaging`, the model has the average after every call.

        Parameters
        ----------
        X : sequence of Graph
            The samples of this epoch.
        Y : sequence of arrays of shape (V,)
            Labels, as in `fit`.
        n_labels : int or sequence of int, default=None
            Number of labels, fixed by the first call. None: the parameter of that name, or the highest label in Y plus
            1.
        sample_weight : array of shape (N,), default=None
            As in `fit`.
        classes : array of shape (L,), default=None
            All labels, for the first call, where they are no integers and Y lacks some.

        Returns
        -------
        self
            The estimator after the epoch.
        """
        class_weight = self._objective().class_weight
        if isinstance(class_weight, str) and class_weight == "balanced":
            raise ValueError(
                'class_weight="balanced" needs all labels at once, which partial_fit does not see: '
                "pass the class weights as an array"
            )
        settings = self._settings()
        if settings.trainer.schedule == "cosine":
            settings = replace(settings, trainer=replace(settings.trainer, schedule="constant"))
        continuing = hasattr(self, "model_")
        n_labels = None if continuing else n_labels or self.n_labels
        given = None if classes is None or continuing else sorted_classes(np.asarray(classes).tolist())
        samples = self._check(X, Y, settings, n_labels, continuing, sample_weight, given)
        settings = resolve(settings, samples, self._chosen() if continuing else None)
        if hasattr(self, "descent_") and self.descent_.serves(settings):
            self.temperature_ = 1.0
            self.descent_.adopt(settings, self._decoder().for_training(), self._on_device(self._weights(samples)))
            self._tell_chosen(settings)
        else:
            history: list[Record] = getattr(self, "history_", [])  # of earlier training, or from the model's file
            self._start(samples, settings, continuing, pretrain=False)
            self.descent_.progress = Progress(epoch=len(history), history=history)
            self.history_ = history
        self.descent_.run_epoch(samples)
        self.descent_.iterates.show_average()
        return self

    def _objective(self) -> Objective:
        raise NotImplementedError

    def _networks(self) -> tuple[Described, Described | None]:
        return as_network(self.unary), None

    def _place(self) -> tuple[str, str]:
        trainer = self._trainer()
        return trainer.device, trainer.dtype

    def _trainer(self) -> Subgradient:
        return check_part("trainer", self.part("trainer"), Subgradient)

    def _settings(self) -> TrainingSettings:
        """What training needs to know, with "auto" as it was given."""
        objective = self._objective()
        unary, interaction = self._networks()
        return TrainingSettings(
            trainer=self._trainer(),
            C=objective.C,
            max_iter=self.max_iter,
            batch_size=self.batch_size,
            loss=objective.loss,
            void=objective.void,
            n_hidden=(_depth(unary), _depth(interaction)),
            seed=seed_of(self.random_state),
        )

    def _check(
        self,
        X: Sequence[Graph],
        Y: Sequence[ArrayLike],
        settings: TrainingSettings,
        n_labels: int | Sequence[int] | None,
        continuing: bool,
        sample_weight: ArrayLike | None,
        classes: Classes | None = None,
    ) -> Samples:
        """The samples, which must fit the model if there is one to continue."""
        types = self._types() if continuing else None
        samples = Samples.check(
            X,
            Y,
            n_labels if types is None else types.n_labels,
            known=self.n_labels_ if continuing else 0,
            drop_void=settings.void == "drop",
            classes=self.label_values_ if continuing else classes,
            sample_weight=sample_weight,
        )
        if not continuing:
            return samples
        self._check_description()
        self._check_widths((samples.n_node_features, samples.n_edge_features, samples.order), has_edges(samples.X))
        if samples.n_labels > self.n_labels_:
            raise ValueError(
                f"the model to continue has {self.n_labels_} labels, but {samples.n_labels} are needed: "
                f"start again with n_labels={samples.n_labels}"
            )
        if types is None or samples.types is None:
            return replace(samples, n_labels=self.n_labels_)
        unknown = sorted(set(samples.types.pairs) - set(types.pairs))
        if unknown:
            raise ValueError(f"the model to continue has no factor for edges between nodes of the types {unknown[0]}")
        return replace(samples, n_labels=self.n_labels_, types=types)

    def _start(self, samples: Samples, settings: TrainingSettings, continuing: bool, *, pretrain: bool) -> None:
        """Make the model, unless it learns on, and the descent that trains it."""
        weight = self._weights(samples)
        self._tell_chosen(settings)
        if not continuing:
            self._take_sizes(samples)
            self.model_ = self._build_model(torch.Generator().manual_seed(settings.seed))
        self.temperature_ = 1.0  # another was that of the parameters before
        weight = self._on_device(weight)
        if pretrain and settings.trainer.pretrain and not continuing:
            self._pretrain(samples, settings, weight)
        self.descent_ = Descent(self.model_, settings, self._decoder().for_training(), weight)
        self.history_ = self.descent_.progress.history

    def _run(self, samples: Samples, validation: Labelled | None, checkpoint: Checkpoint | None, stored: Any) -> None:
        """Train until the end, from where the checkpoint stands if anything is `stored` in it."""
        descent, write = self.descent_, None
        callbacks = [callback for callback in self.callbacks or () if not isinstance(callback, Checkpoint)]
        descent.ranks.warn_of_idle(len(samples), descent.settings.batch_size)
        if self.verbose and descent.ranks.leads:
            callbacks.append(ProgressBar(descent.settings.max_iter, self._learning))
        with closing(callbacks):
            if checkpoint is not None:
                digests = [samples.digest()] if validation is None else [samples.digest(), digest(*validation)]
                run = fingerprint(type(self).__name__, self.plain_params(), descent.settings.seed, digests)
                write = checkpoint.writer(run)
                if stored is not None:
                    checkpoint.resume(descent, stored, run)
                    self.history_ = descent.progress.history
            evaluate = None if validation is None else lambda: self._validate(*validation)
            descent.run(samples, evaluate, callbacks, write)

    def _validate(self, X: Sequence[Graph], Y: Sequence[ArrayLike]) -> float:
        """Share of the nodes that are right, each rank counting those of its own graphs."""
        ranks = self.descent_.ranks
        mine = ranks.share(range(len(X)))
        counts = torch.tensor(self._count_right(Selection(X, mine), Selection(Y, mine)), dtype=torch.float64)
        ranks.sum_([counts])
        return share(*counts.tolist())

    def _chosen_names(self) -> list[str]:
        known = {name.removeprefix("trainer__") for name in self.plain_params()}
        if "interaction" not in self._parts:
            known -= {name for name in known if name.startswith("interaction_")}
        return [name for name in CHOSEN if name in known]

    def _chosen(self) -> dict[str, float | None]:
        """What "auto" has become in earlier training."""
        return {name: getattr(self, f"{name}_") for name in self._chosen_names() if hasattr(self, f"{name}_")}

    def _tell_chosen(self, settings: TrainingSettings) -> None:
        for name in self._chosen_names():
            setattr(self, f"{name}_", by_name(settings)[name])

    def _weights(self, samples: Samples) -> Tensor | None:
        objective = self._objective()
        weight = samples.class_weight(objective.class_weight)
        if objective.loss == "cross-entropy":
            refuse_cost_matrix(weight, "a StructuralSVM takes one")
        return check_class_weight(weight)

    def _on_device(self, weight: Tensor | None) -> Tensor | None:
        reference = next(self.model_.parameters())
        return None if weight is None else weight.to(reference.device, reference.dtype)

    def _pretrain(self, samples: Samples, settings: TrainingSettings, weight: Tensor | None) -> None:
        """Let the unary factor learn alone. It is short, and the same each time: if interrupted, it starts again."""
        if isinstance(self.model_, BatchModel):
            raise ValueError("pretrain must be 0 with a BatchModel, which has no unary factor to train alone")
        alone, n_epochs = self.model_.without_interaction(), settings.trainer.pretrain
        rate = settings.trainer.pretrain_learning_rate or settings.trainer.learning_rate
        trainer = replace(settings.trainer, keep="last", averaging=None, patience=None, learning_rate=rate)
        first = replace(settings, trainer=trainer, loss="cross-entropy", max_iter=n_epochs)
        descent = Descent(alone, first, self._decoder(), weight)
        bars: list[Callback] = [ProgressBar(n_epochs, "unary factor")] if self.verbose and descent.ranks.leads else []
        with closing(bars):
            descent.run(samples, callbacks=bars)


@dataclass(eq=False, repr=False)
class JointEstimator(GradientEstimator):
    """Base of those whose unary and interaction factors are trained together, with inference in the loop."""

    interaction: Sequence[int] | Described = ()
    _: KW_ONLY
    void: str = "drop"
    decoder: Decoder | None = None

    _learning = "all factors"
    _parts: ClassVar[Parts] = {**GradientEstimator._parts, "interaction": as_network, "decoder": or_default(Decoder)}

    def _networks(self) -> tuple[Described, Described | None]:
        alone = isinstance(self.unary, BatchModel)
        return as_network(self.unary), None if alone else as_network(self.interaction)


def _depth(described: Described | None) -> int:
    if isinstance(described, nn.Module):
        return OWN_MODULE
    hidden = described.hidden if isinstance(described, Network) else ()
    return len(hidden) if hasattr(hidden, "__len__") else 0  # which the factor will refuse, with a sentence
