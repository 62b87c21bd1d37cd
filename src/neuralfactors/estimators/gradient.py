"""What the estimators trained by gradients share: a trainer from parameters, checkpoints, progress, validation data."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Self

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from neuralfactors.estimators.base import StructuredEstimator, _storable, seed_of
from neuralfactors.factors import FactorModel
from neuralfactors.graph import Graph
from neuralfactors.learning.checkpoints import restore_training, training_state
from neuralfactors.learning.history import Callback, ProgressBar, TensorBoard, close
from neuralfactors.learning.losses import check_class_weight
from neuralfactors.learning.samples import Samples
from neuralfactors.learning.subgradient import Settings, Trainer
from neuralfactors.persistence import load_state, save_state

Validation = tuple[Sequence[Graph], Sequence[ArrayLike]]

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
        X, Y, validation = self._split(X, Y, validation)
        settings = self._settings()
        if not isinstance(self.pretrain, (int, np.integer)) or self.pretrain < 0:
            raise ValueError(f"pretrain must be an integer ≥ 0, got {self.pretrain!r}")
        samples = Samples.check(X, Y, self.n_labels, drop_void=settings.void == "drop")
        self._take_sizes(samples)
        if settings.keep == "validation" and validation is None:
            raise ValueError('keep="validation" needs validation data: pass validation=(X, Y) to fit')
        self._start(samples, settings, self.pretrain)
        callbacks = self._callbacks()
        try:
            self._resume(samples, settings)
            evaluate = None if validation is None else lambda: self.score(*validation)
            self.trainer_.run(samples, evaluate, callbacks, self._checkpointer(samples, settings))
        finally:
            close(callbacks)
        self.model_.eval()
        return self

    def partial_fit(self, X: Sequence[Graph], Y: Sequence[ArrayLike], n_labels: int | None = None) -> Self:
        """One more epoch, on these graphs; the first call fixes the number of labels to `n_labels`."""
        settings = self._settings()
        if settings.schedule == "cosine":  # which ends after max_iter epochs, and these calls do not
            settings = replace(settings, schedule="constant")
        started = hasattr(self, "trainer_")
        samples = Samples.check(
            X, Y, self.n_labels_ if started else n_labels or self.n_labels, drop_void=settings.void == "drop"
        )
        if started:
            self._check_widths((samples.n_node_features, samples.n_edge_features, samples.order), True)
        else:
            self._take_sizes(samples)
            self._start(samples, settings)
        self.model_.train()
        self.trainer_.run_epoch(samples)
        self.model_.eval()
        return self

    def _settings(self) -> Settings:
        raise NotImplementedError

    def _split(
        self, X: Sequence[Graph], Y: Sequence[ArrayLike], validation: Validation | None
    ) -> tuple[Sequence[Graph], Sequence[ArrayLike], Validation | None]:
        fraction = self.validation_fraction
        if fraction is None or validation is not None:
            return X, Y, validation
        n_held = round(fraction * len(X))
        if not 0 < n_held < len(X):
            raise ValueError(
                f"validation_fraction={fraction} leaves no graph to learn from or none to judge by, of {len(X)}"
            )
        order = np.random.default_rng(seed_of(self.random_state)).permutation(len(X))
        held, kept = sorted(order[:n_held].tolist()), sorted(order[n_held:].tolist())
        return [X[n] for n in kept], [Y[n] for n in kept], ([X[n] for n in held], [Y[n] for n in held])

    def _start(self, samples: Samples, settings: Settings, pretrain: int = 0) -> None:
        continuing = self.warm_start and hasattr(self, "model_")
        if not continuing:
            self.model_ = self._build_model(torch.Generator().manual_seed(settings.seed))
        weight = check_class_weight(samples.class_weight(self.class_weight))
        reference = next(self.model_.parameters())
        weight = None if weight is None else weight.to(reference.device, reference.dtype)
        self.model_.train()
        if pretrain and not continuing and not self._begun():
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

    def _begun(self) -> bool:
        return self.checkpoint is not None and Path(self.checkpoint).exists()

    def _resume(self, samples: Samples, settings: Settings) -> None:
        if not self._begun():
            return
        document, tensors = load_state(self.checkpoint)
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
                save_state(self.checkpoint, {"run": run, **document}, tensors)
            trainer.ranks.wait()

        return write

    def _fingerprint(self, samples: Samples, settings: Settings) -> str:
        parameters, omitted = _storable({k: v for k, v in self.get_params(deep=False).items() if k not in INCIDENTAL})
        described = [type(self).__name__, parameters, omitted, settings.seed, samples.digest()]
        return hashlib.sha256(json.dumps(described, sort_keys=True, default=str).encode()).hexdigest()
