"""The state of a training run as a document and tensors, and back; other modules write them to disk."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor

from neuralfactors._common.persistence import State
from neuralfactors.learning._descent import Descent, Progress


def training_state(descent: Descent) -> State:
    """All that a run needs to continue exactly as it would have: a JSON-able document, and tensors by name.

    The order of the graphs and the random numbers of an epoch follow from the seed and its number, and need no storing.
    """
    tensors: dict[str, Tensor] = {}
    for k, (parameter, best) in enumerate(zip(descent.parameters, descent.iterates.best_values, strict=True)):
        tensors[f"parameter.{k}"] = parameter.detach()
        tensors[f"best.{k}"] = best
    for k, (buffer, best) in enumerate(zip(descent.iterates.buffers, descent.iterates.best_buffers, strict=True)):
        tensors[f"buffer.{k}"] = buffer.detach()
        tensors[f"best_buffer.{k}"] = best
    document: dict[str, Any] = {"progress": asdict(descent.progress), "averaged": None, "optimizer": {}}
    if descent.iterates.average is not None:
        document["averaged"] = descent.iterates.average.count
        tensors |= {f"average.{k}": value for k, value in enumerate(descent.iterates.average.values)}
    for k, state in descent.optimizer.state_dict()["state"].items():
        for name, value in state.items():
            if isinstance(value, Tensor):
                tensors[f"optimizer.{k}.{name}"] = value
            else:
                document["optimizer"][f"optimizer.{k}.{name}"] = value
    # Tensors that share memory must not meet in one file, and what is stored must not change under the writer.
    return State(document, {name: tensor.clone() for name, tensor in tensors.items()})


@torch.no_grad()
def restore_training(descent: Descent, document: dict[str, Any], tensors: dict[str, Tensor]) -> None:
    """Put a `training_state` back into a descent made with the same model and settings."""
    descent.progress = Progress(**document["progress"])
    for k, (parameter, best) in enumerate(zip(descent.parameters, descent.iterates.best_values, strict=True)):
        parameter.copy_(tensors[f"parameter.{k}"])
        best.copy_(tensors[f"best.{k}"])
    for k, (buffer, best) in enumerate(zip(descent.iterates.buffers, descent.iterates.best_buffers, strict=True)):
        buffer.copy_(tensors[f"buffer.{k}"])
        best.copy_(tensors[f"best_buffer.{k}"])
    if descent.iterates.average is not None:
        descent.iterates.average.count = document["averaged"]
        for k, value in enumerate(descent.iterates.average.values):
            value.copy_(tensors[f"average.{k}"])
    stored = {**document["optimizer"], **{key: value for key, value in tensors.items() if key.startswith("optimizer.")}}
    state: dict[int, dict[str, Any]] = {}
    for key, value in stored.items():
        _, number, name = key.split(".", 2)
        state.setdefault(int(number), {})[name] = value
    running = descent.optimizer.state_dict()
    descent.optimizer.load_state_dict({"state": state, "param_groups": running["param_groups"]})
