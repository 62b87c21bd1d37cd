"""What the estimators trained by gradients share: a trainer from parameters, checkpoints, progress, validation data."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from neuralfactors.estimators.base import StructuredEstimator, _storable, has_edges
from neuralfactors.factors import FactorModel
from neuralfactors.graph import Graph
from neuralfactors.learning.checkpoints import restore_training, training_state
from neuralfactors.learning.history import Callback, ProgressBar, Record, TensorBoard, close
from neuralfactors.learning.losses import check_class_weight
from neuralfactors.learning.samples import Samples
from neuralfactors.learning.subgradient import Progress, Settings, Trainer
from neuralfactors.persistence import load_state, save_state

Validation = tuple[Sequence[Graph], Sequence[ArrayLike]]
Checkpoint = tuple[dict[str, Any], dict[str, Tensor]]

# Parameters that do not change what is learned: a run may be resumed with others.
INCIDENTAL = {"verbose", "callbacks", "n_threads", "checkpoint", "checkpoint_every", "tensorboard"}


class GradientEstimator(StructuredEstimator):
    """Base of estimators that a `Trainer` fits; a subclass gives `_settings` and `_build_model`."""

    pretrain: int = 0  # a parameter of those whose unary factor may learn alone first

    def fit(self, X: Sequence[Graph], Y: Sequence[ArrayLike], *, validation: Validation | None = None) -> Self:
        """Learn from graphs X and label vectors Y; −1 is void.

        Parameters
        ----------
        X : sequence of Graph
        Y : sequence of integer arrays, one label per node
        validation : pair (X, Y)
            Judged after every epoch; its accuracy goes into the history and, with `keep="validation"`, decides which
            iterate is kept and when to stop.
        """
        settings, checkpoint = self._settings(), self._read_checkpoint()
        if self.random_state is None and checkpoint is not None:
            settings = replace(settings, seed=checkpoint[0].get("seed", settings.seed))
        X, Y, validation = self._split(X, Y, validation, settings.seed)
        if not isinstance(self.pretrain, (int, np.integer)) or self.pretrain < 0:
            raise ValueError(f"pretrain must be an integer ≥ 0, got {self.pretrain!r}")
        if settings.keep == "validation" and validation is None:
            raise ValueError('keep="validation" needs validation data: pass validation=(X, Y) to fit')
        continuing = self.warm_start and hasattr(self, "model_")
        samples = self._check(X, Y, settings, self.n_labels, continuing)
        self._start(samples, settings, continuing, 0 if checkpoint else self.pretrain)
        callbacks = self._callbacks()
        try:
            if checkpoint is not None:
                self._resume(checkpoint, samples, settings)
            evaluate = None if validation is None else lambda: self.score(*validation)
            self.trainer_.run(samples, evaluate, callbacks, self._checkpointer(samples, settings))
        finally:
            close(callbacks)
        self.model_.eval()
        return self

    def partial_fit(self, X: Sequence[Graph], Y: Sequence[ArrayLike], n_labels: int | None = None) -> Self:
        """One more epoch, on these graphs; without a model yet, the number of labels is fixed to `n_labels`.

        A model from `fit` or from a file is trained further. In place of the schedule "cosine", which ends after
        `max_iter` epochs, the learning rate is constant.
        """
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            raise ValueError(
                'class_weight="balanced" needs all labels at once, which partial_fit does not see: '
                "give the weights of the classes as an array"
            )
        settings = self._settings()
        continuing = hasattr(self, "model_")
        samples = self._check(X, Y, settings, None if continuing else n_labels or self.n_labels, continuing)
        if not hasattr(self, "trainer_"):
            history: list[Record] = getattr(self, "history_", [])  # a model from a file comes with its own
            self._start(samples, settings, continuing)
            self.trainer_.progress = Progress(epoch=len(history), history=history)
            self.history_ = history
        if self.trainer_.settings.schedule == "cosine":
            self.trainer_.settings = replace(self.trainer_.settings, schedule="constant")
        self.model_.train()
        self.trainer_.run_epoch(samples)
        self.model_.eval()
        return self

    def _settings(self) -> Settings:
        raise NotImplementedError

    def _split(
        self, X: Sequence[Graph], Y: Sequence[ArrayLike], validation: Validation | None, seed: int
    ) -> tuple[Sequence[Graph], Sequence[ArrayLike], Validation | None]:
        fraction = self.validation_fraction
        if fraction is None or validation is not None:
            return X, Y, validation
        n_held = round(fraction * len(X))
        if not 0 < n_held < len(X):
            raise ValueError(
                f"validation_fraction={fraction} leaves no graph to learn from or none to judge by, of {len(X)}"
            )
        order = np.random.default_rng(seed).permutation(len(X))
        held, kept = sorted(order[:n_held].tolist()), sorted(order[n_held:].tolist())
        return [X[n] for n in kept], [Y[n] for n in kept], ([X[n] for n in held], [Y[n] for n in held])

    def _check(
        self, X: Sequence[Graph], Y: Sequence[ArrayLike], settings: Settings, n_labels: int | None, continuing: bool
    ) -> Samples:
        """The samples, which must fit the model if there is one to continue."""
        samples = Samples.check(X, Y, n_labels, drop_void=settings.void == "drop")
        if not continuing:
            return samples
        self._check_widths((samples.n_node_features, samples.n_edge_features, samples.order), has_edges(X))
        if samples.n_labels > self.n_labels_:
            raise ValueError(
                f"the model to continue has {self.n_labels_} labels, but {samples.n_labels} are needed: "
                f"begin anew with n_labels={samples.n_labels}"
            )
        return replace(samples, n_labels=self.n_labels_)

    def _start(self, samples: Samples, settings: Settings, continuing: bool, pretrain: int = 0) -> None:
        weight = check_class_weight(samples.class_weight(self.class_weight))
        if not continuing:
            self._take_sizes(samples)
            self.model_ = self._build_model(torch.Generator().manual_seed(settings.seed))
        reference = next(self.model_.parameters())
        weight = None if weight is None else weight.to(reference.device, reference.dtype)
        self.model_.train()
        if pretrain and not continuing:
            self._pretrain(samples, settings, pretrain, weight)
        self.trainer_ = Trainer(self.model_, settings, self._decoder().for_training(), weight)
        self.history_ = self.trainer_.progress.history

    def _pretrain(self, samples: Samples, settings: Settings, n_epochs: int, weight: Tensor | None) -> None:
        """Let the unary factor learn alone. It is short, and the same each time: an interrupted one begins anew."""
        alone = FactorModel(self.model_.unary, None, self.n_labels_)
        first = replace(
            settings, loss="cross-entropy", max_iter=n_epochs, keep="last", averaging=None, patience=None
        )  # fmt: skip
        trainer = Trainer(alone, first, self._decoder(), weight)
        bars: list[Callback] = [ProgressBar(n_epochs)] if self.verbose and trainer.ranks.rank == 0 else []
        try:
            trainer.run(samples, callbacks=bars)
        finally:
            close(bars)

    def _callbacks(self) -> list[Callback]:
        found: list[Callback] = list(self.callbacks or ())
        if self.trainer_.ranks.rank == 0:
            if self.verbose:
                found.append(ProgressBar(self.max_iter))
            if self.tensorboard is not None:
                found.append(TensorBoard(os.fspath(self.tensorboard)))
        return found

    def _read_checkpoint(self) -> Checkpoint | None:
        begun = self.checkpoint is not None and Path(self.checkpoint).exists()
        return load_state(self.checkpoint) if begun else None

    def _resume(self, checkpoint: Checkpoint, samples: Samples, settings: Settings) -> None:
        document, tensors = checkpoint
        if document.get("run") != self._fingerprint(samples, settings):
            raise ValueError(
                f"checkpoint {self.checkpoint} belongs to a run with other parameters or data: "
                "delete it to start afresh, or name another file"
            )
        restore_training(self.trainer_, document, tensors)
        self.history_ = self.trainer_.progress.history

    def _checkpointer(self, samples: Samples, settings: Settings) -> Callable[[Trainer], None] | None:
        if self.checkpoint is None:
            return None
        run = self._fingerprint(samples, settings)

        def write(trainer: Trainer) -> None:
            if trainer.ranks.rank == 0 and (trainer.progress.done or trainer.epoch % self.checkpoint_every == 0):
                document, tensors = training_state(trainer)
                save_state(self.checkpoint, {"run": run, "seed": settings.seed, **document}, tensors)
            trainer.ranks.wait()

        return write

    def _fingerprint(self, samples: Samples, settings: Settings) -> str:
        parameters, omitted = _storable({k: v for k, v in self.get_params(deep=False).items() if k not in INCIDENTAL})
        described = [type(self).__name__, parameters, omitted, settings.seed, samples.digest()]
        return hashlib.sha256(json.dumps(described, sort_keys=True, default=str).encode()).hexdigest()
