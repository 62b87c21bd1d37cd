"""What the estimators trained by gradients share: a run from parameters, checkpoints, progress, validation data."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor, nn

from neuralfactors.estimators.base import StructuredEstimator, _storable, has_edges, warn_of_dropped_edges
from neuralfactors.factors import FactorModel
from neuralfactors.graph import Graph
from neuralfactors.learning.auto import CHOSEN, by_name, resolve
from neuralfactors.learning.checkpoints import restore_training, training_state
from neuralfactors.learning.descent import Descent, Progress
from neuralfactors.learning.history import Callback, ProgressBar, Record, TensorBoard, close
from neuralfactors.learning.losses import check_class_weight, check_count
from neuralfactors.learning.samples import Samples, check_pairs, digest
from neuralfactors.learning.subgradient import Settings
from neuralfactors.persistence import load_state, save_state

Validation = tuple[Sequence[Graph], Sequence[ArrayLike]]
Checkpoint = tuple[dict[str, Any], dict[str, Tensor]]

# Parameters that do not change what is learned: a run may be resumed with others.
INCIDENTAL = {"verbose", "callbacks", "n_threads", "checkpoint", "checkpoint_every", "tensorboard"}


class GradientEstimator(StructuredEstimator):
    """Base of estimators that a `Descent` fits; a subclass gives `_settings` and `_build_model`."""

    _fitted = (*StructuredEstimator._fitted, *(f"{name}_" for name in CHOSEN))
    pretrain: int = 0  # a parameter of those whose unary factor may learn alone first
    class_weight: str | ArrayLike | None = None  # a parameter of those whose loss weighs errors

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
        X, Y, validation = self._split(*check_pairs(X, Y), validation, settings.seed)
        check_count("pretrain", self.pretrain, least=0)
        check_count("checkpoint_every", self.checkpoint_every)
        if settings.keep == "validation" and validation is None:
            raise ValueError('keep="validation" needs validation data: pass validation=(X, Y) to fit')
        continuing = self.warm_start and hasattr(self, "model_")
        samples = self._check(X, Y, settings, self.n_labels, continuing)
        settings = resolve(settings, samples)
        if settings.void == "drop" and settings.loss != "cross-entropy":
            warn_of_dropped_edges(samples, 'void="complete" labels them by inference')
        if validation is not None:
            validation = _check_validation(validation, samples)
        self._start(samples, settings, continuing, 0 if checkpoint else self.pretrain)
        run = "" if self.checkpoint is None else self._fingerprint(samples, settings, validation)
        callbacks = self._callbacks()
        try:
            if checkpoint is not None:
                self._resume(checkpoint, run)
            evaluate = None if validation is None else lambda: self.score(*validation)
            self.descent_.run(samples, evaluate, callbacks, self._checkpointer(run))
        finally:
            close(callbacks)
        shortfall = self.descent_.shortfall()
        if shortfall is not None:
            warnings.warn(f"{type(self).__name__}: {shortfall}", ConvergenceWarning, stacklevel=2)
        return self

    def partial_fit(self, X: Sequence[Graph], Y: Sequence[ArrayLike], n_labels: int | None = None) -> Self:
        """One more epoch, on these graphs; without a model yet, the number of labels is fixed to `n_labels`.

        A model from `fit` or from a file is trained further. In place of the schedule "cosine", which ends after
        `max_iter` epochs, the learning rate is constant. Parameters changed by `set_params` count from here on; those
        that describe the factors, which are made already, must be the same. What "auto" stood for in the first call, or
        in `fit`, stays. The optimiser keeps its state; with another
        `optimizer` or `averaging`, or a momentum where there was none, it and the average begin anew. Where `averaging`
        is set, the model has the average after every call, and the optimiser goes on from its own iterate.
        """
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            raise ValueError(
                'class_weight="balanced" needs all labels at once, which partial_fit does not see: '
                "give the weights of the classes as an array"
            )
        settings = self._settings()
        if settings.schedule == "cosine":
            settings = replace(settings, schedule="constant")
        continuing = hasattr(self, "model_")
        samples = self._check(X, Y, settings, None if continuing else n_labels or self.n_labels, continuing)
        settings = resolve(settings, samples, self._chosen() if continuing else None)
        if hasattr(self, "descent_") and self.descent_.serves(settings):
            self.descent_.adopt(settings, self._decoder().for_training(), self._on_device(self._weights(samples)))
        else:
            history: list[Record] = getattr(self, "history_", [])  # of earlier training, or from the model's file
            self._start(samples, settings, continuing)
            self.descent_.progress = Progress(epoch=len(history), history=history)
            self.history_ = history
        self.descent_.run_epoch(samples)
        self.descent_.iterates.show_average()
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
        known = self.n_labels_ if continuing else 0
        samples = Samples.check(X, Y, n_labels, known=known, drop_void=settings.void == "drop")
        if not continuing:
            return samples
        self._check_description()
        self._check_widths((samples.n_node_features, samples.n_edge_features, samples.order), has_edges(samples.X))
        if samples.n_labels > self.n_labels_:
            raise ValueError(
                f"the model to continue has {self.n_labels_} labels, but {samples.n_labels} are needed: "
                f"begin anew with n_labels={samples.n_labels}"
            )
        return replace(samples, n_labels=self.n_labels_)

    def _start(self, samples: Samples, settings: Settings, continuing: bool, pretrain: int = 0) -> None:
        weight = self._weights(samples)
        for name in self._chosen_names():
            setattr(self, f"{name}_", by_name(settings)[name])
        if not continuing:
            self._take_sizes(samples)
            self.model_ = self._build_model(torch.Generator().manual_seed(settings.seed))
        weight = self._on_device(weight)
        if pretrain and not continuing:
            self._pretrain(samples, settings, pretrain, weight)
        self.descent_ = Descent(self.model_, settings, self._decoder().for_training(), weight)
        self.history_ = self.descent_.progress.history

    def _chosen_names(self) -> list[str]:
        return [name for name in CHOSEN if name in self._get_param_names()]

    def _chosen(self) -> dict[str, Any]:
        """What "auto" has become in earlier training."""
        return {name: getattr(self, f"{name}_") for name in self._chosen_names() if hasattr(self, f"{name}_")}

    def _weights(self, samples: Samples) -> Tensor | None:
        return check_class_weight(samples.class_weight(self.class_weight))

    def _on_device(self, weight: Tensor | None) -> Tensor | None:
        reference = next(self.model_.parameters())
        return None if weight is None else weight.to(reference.device, reference.dtype)

    def _pretrain(self, samples: Samples, settings: Settings, n_epochs: int, weight: Tensor | None) -> None:
        """Let the unary factor learn alone. It is short, and the same each time: an interrupted one begins anew."""
        alone = FactorModel(self.model_.unary, None, self.n_labels_)
        first = replace(
            settings, loss="cross-entropy", max_iter=n_epochs, keep="last", averaging=None, patience=None
        )  # fmt: skip
        descent = Descent(alone, first, self._decoder(), weight)
        bars: list[Callback] = [ProgressBar(n_epochs)] if self.verbose and descent.ranks.rank == 0 else []
        try:
            descent.run(samples, callbacks=bars)
        finally:
            close(bars)

    def _callbacks(self) -> list[Callback]:
        found: list[Callback] = list(self.callbacks or ())
        if self.descent_.ranks.rank == 0:
            if self.verbose:
                found.append(ProgressBar(self.max_iter_))
            if self.tensorboard is not None:
                found.append(TensorBoard(os.fspath(self.tensorboard)))
        return found

    def _read_checkpoint(self) -> Checkpoint | None:
        begun = self.checkpoint is not None and Path(self.checkpoint).exists()
        return load_state(self.checkpoint) if begun else None

    def _resume(self, checkpoint: Checkpoint, run: str) -> None:
        document, tensors = checkpoint
        if document.get("run") != run:
            raise ValueError(
                f"checkpoint {self.checkpoint} belongs to a run with other parameters or data: "
                "delete it to start afresh, or name another file"
            )
        restore_training(self.descent_, document, tensors)
        self.history_ = self.descent_.progress.history

    def _checkpointer(self, run: str) -> Callable[[Descent], None] | None:
        if self.checkpoint is None:
            return None

        def write(descent: Descent) -> None:
            if descent.ranks.rank == 0 and (descent.progress.done or descent.epoch % self.checkpoint_every == 0):
                document, tensors = training_state(descent)
                save_state(self.checkpoint, {"run": run, "seed": descent.settings.seed, **document}, tensors)
            descent.ranks.wait()

        return write

    def _fingerprint(self, samples: Samples, settings: Settings, validation: Validation | None) -> str:
        chosen = {name: value for name, value in self.get_params(deep=False).items() if name not in INCIDENTAL}
        parameters, omitted = _storable(chosen)
        objects = [[name, _identity(chosen[name])] for name in omitted]
        described: list[Any] = [type(self).__name__, parameters, objects, settings.seed, samples.digest()]
        if validation is not None:
            described.append(digest(*validation))
        return hashlib.sha256(json.dumps(described, sort_keys=True, default=str).encode()).hexdigest()


def _check_validation(validation: Validation, samples: Samples) -> Validation:
    """The validation data, refused if they cannot judge what is learned from `samples`, before any of it is."""
    if not isinstance(validation, (tuple, list)) or len(validation) != 2:
        raise ValueError(f"validation must be a pair (X, Y) of graphs and labels, got {type(validation).__name__}")
    try:
        held = Samples.check(*validation, known=samples.n_labels)
    except ValueError as error:
        raise ValueError(f"validation data: {error}") from error
    names = {"n_node_features": "node features"}
    if has_edges(held.X):  # graphs without fit any
        names |= {"n_edge_features": "edge features", "order": "nodes in an edge"}
    for name, what in names.items():
        if getattr(held, name) != getattr(samples, name):
            raise ValueError(f"validation data have {getattr(held, name)} {what}, but X has {getattr(samples, name)}")
    return held.X, held.Y


def _identity(value: Any) -> Any:
    """What tells a module or function from others, and is the same in every process."""
    if isinstance(value, nn.Module):
        shapes = [[name, list(getattr(entry, "shape", ()))] for name, entry in value.state_dict().items()]
        # Parameters that learn are in the checkpoint. Those that do not are not, and so must be the same again.
        frozen = hashlib.sha256()
        for parameter in value.parameters():
            frozen.update(b"" if parameter.requires_grad else parameter.detach().double().cpu().numpy().tobytes())
        return [repr(value), shapes, frozen.hexdigest()]
    if isinstance(value, partial):
        return [_identity(value.func), value.args, value.keywords]
    named = value if hasattr(value, "__qualname__") else type(value)
    return f"{named.__module__}.{named.__qualname__}"
