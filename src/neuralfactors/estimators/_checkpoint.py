"""Checkpoint: a run of training on disk, from which it can be resumed to the same bits."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from torch import nn

from neuralfactors._common.persistence import State, load_state, save_state
from neuralfactors.estimators._saving import to_document
from neuralfactors.learning._checkpoints import restore_training, training_state
from neuralfactors.learning._descent import Descent
from neuralfactors.learning._losses import check_count

# Parameters that do not change what is learned: a run may be resumed with others.
INCIDENTAL = {"verbose", "callbacks", "decoder__n_threads"}


@dataclass
class Checkpoint:
    """Callback that keeps a run in a file; where the file exists, `fit` continues the run that it holds.

    Parameters
    ----------
    path : path
        The file, replaced in one step at every writing.
    every : int, default=1
        Epochs from one writing to the next; the end of the run is always written.

    Examples
    --------
    >>> from neuralfactors.estimators import StructuralSVM
    >>> svm = StructuralSVM(callbacks=[Checkpoint("run.checkpoint", every=5)])
    """

    path: str | os.PathLike[str]
    every: int = 1

    def __post_init__(self) -> None:
        check_count("every", self.every)

    def read(self) -> State | None:
        """What the file holds.

        Returns
        -------
        tuple of (dict, dict of str to Tensor) or None
            A document and tensors, as `neuralfactors.learning._checkpoints` makes them; None where there is no file.
        """
        return load_state(self.path) if Path(self.path).exists() else None

    def resume(self, descent: Descent, state: State, run: str) -> None:
        """Put what was read into a training run.

        Parameters
        ----------
        descent : Descent
            The run, before its first step.
        state : tuple of (dict, dict of str to Tensor)
            What `read` returned.
        run : str
            Fingerprint of the run; a file of another one is refused.
        """
        document, tensors = state
        if document.get("run") != run:
            raise ValueError(
                f"checkpoint {self.path} belongs to a run with different parameters or data: "
                "delete it to start again, or name another file"
            )
        restore_training(descent, document, tensors)

    def writer(self, run: str) -> Callable[[Descent], None]:
        """What writes the file after an epoch.

        Parameters
        ----------
        run : str
            Fingerprint of the run, by which `resume` knows it.

        Returns
        -------
        callable
            Called with the `Descent` after every epoch; of several processes, the first one writes.
        """

        def write(descent: Descent) -> None:
            if descent.ranks.leads and (descent.progress.done or descent.epoch % self.every == 0):
                document, tensors = training_state(descent)
                save_state(self.path, {"run": run, "seed": descent.settings.seed, **document}, tensors)
            descent.ranks.wait()

        return write


def find_checkpoint(callbacks: Sequence[Any] | None) -> Checkpoint | None:
    """The checkpoint among `callbacks`; None where there is none."""
    found = [callback for callback in callbacks or () if isinstance(callback, Checkpoint)]
    if len(found) > 1:
        raise ValueError(f"callbacks must contain at most one Checkpoint, got {len(found)}")
    return found[0] if found else None


def fingerprint(name: str, parameters: dict[str, Any], seed: int, digests: Sequence[str]) -> str:
    """What identifies a run: the estimator's name, its plain parameters, the seed, and digests of its data."""
    chosen = {name: value for name, value in parameters.items() if name not in INCIDENTAL}
    stored, omitted = to_document(chosen)
    objects = [[name, _identity(chosen[name])] for name in omitted]
    described = [name, stored, objects, seed, *digests]
    return hashlib.sha256(json.dumps(described, sort_keys=True, default=str).encode()).hexdigest()


def _identity(value: Any) -> Any:
    """What identifies a module or function, the same in every process."""
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
