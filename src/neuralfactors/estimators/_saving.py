"""Estimators as documents: parameters, parts and all, as JSON can hold them, and back."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from torch import Tensor, nn

from neuralfactors._common.files import FileFormatError
from neuralfactors.estimators._parts import Composed

# Callbacks say where to write. They are of the machine that trained: models do not keep them, and cannot bring any.
NEVER_STORED = "callbacks"
PAIRS = "pairs"


def to_document(parameters: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Parameters as JSON can hold them, and the names of those that it cannot: modules, functions, generators."""
    omitted = [name for name, value in parameters.items() if name != NEVER_STORED and _is_object(value)]
    left_out = {NEVER_STORED, *omitted}
    return {name: to_json(value) for name, value in parameters.items() if name not in left_out}, omitted


def from_document(
    estimator: Composed, document: Mapping[str, Any], path: str | os.PathLike[str], given: Mapping[str, Any]
) -> None:
    """Set the parameters of a fresh `estimator` to those of the document, which was read from `path`, and `given` ones.

    A given part replaces that of the document as a whole.
    """
    needed = [name for name in document["omitted"] if name.startswith(("unary", "interaction"))]
    missing = [name for name in needed if name not in given and name.partition("__")[0] not in given]
    if missing:
        raise ValueError(f"{path} was saved with {sorted(missing)} given as Python objects: pass them to load again")
    unknown = document["parameters"].keys() - (estimator.plain_params().keys() - {NEVER_STORED})
    if unknown:
        name = type(estimator).__name__
        raise FileFormatError(f"{path} has parameters that {name} does not know: {sorted(unknown)}")
    kept = {
        name: _from_json(value)
        for name, value in document["parameters"].items()
        if name.partition("__")[0] not in given
    }
    estimator.set_params(**{**kept, **given})


def to_json(value: Any) -> Any:
    """`value` as JSON can hold it; what it cannot hold stays as it is.

    A mapping becomes its pairs, as the keys of JSON's own are strings.
    """
    if isinstance(value, Mapping):
        return {PAIRS: [[to_json(key), to_json(entry)] for key, entry in value.items()]}
    if isinstance(value, (np.ndarray, np.generic, Tensor)):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [to_json(entry) for entry in value]
    return value


def _from_json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value[PAIRS])
    return tuple(value) if isinstance(value, list) else value


def _is_object(value: Any) -> bool:
    return callable(value) or isinstance(value, (nn.Module, np.random.RandomState, np.random.Generator))
