"""Estimators in folders, and as documents: parameters, parts and all, as JSON can hold them, and back."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from torch import Tensor, nn

from neuralfactors._common.files import FileFormatError
from neuralfactors._common.persistence import State, load_model, readable, save_model
from neuralfactors.estimators._parts import Composed

# Callbacks say where to write. They are of the machine that trained: models do not keep them, and cannot bring any.
NEVER_STORED = "callbacks"
PAIRS = "pairs"


class Stored(NamedTuple):
    """What an estimator is made of again."""

    document: Mapping[str, Any]
    tensors: Mapping[str, Tensor]
    path: str | os.PathLike[str]  # where they were read from, for errors
    parameters: Mapping[str, Any]  # in place of those in the document


class Saved:
    """What `save` writes into a folder and `load` reads back: every estimator, each under the name of its class.

    A subclass has `_state`, and `_restore`, which makes the fitted estimator of it.
    """

    _registry: ClassVar[dict[str, type[Saved]]] = {}

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        Saved._registry[cls.__name__] = cls

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator into a folder: JSON and safetensors; no code.

        Parameters
        ----------
        path : path
            The folder, made if need be. A model that it holds already is replaced in one step.
        """
        save_model(path, *self.state())

    @classmethod
    def load(cls, path: str | os.PathLike[str], **parameters: Any) -> Self:
        """The estimator that `save` wrote.

        Parameters
        ----------
        path : path
            The folder.
        **parameters
            Replace those in the file, by names such as `trainer__device`; of a `LatentSVM` and a
            `MultiLabelClassifier`, those of its base. A module or function that was given to the estimator is not in
            the file and must be given again.

        Returns
        -------
        estimator
            Of the class that was saved. `neuralfactors.estimators.load` accepts any; that of a class refuses others.

        Raises
        ------
        FileFormatError
            If the folder holds no such model, or a broken one.
        """
        document, tensors = load_model(path)
        with readable(path):
            return cls.from_state(document, tensors, path, **parameters)

    def state(self) -> State:
        """What a file needs to hold of the fitted estimator.

        Returns
        -------
        document : dict
            Class, parameters, fitted numbers and history, as JSON can hold them.
        tensors : dict of str to Tensor
            Parameters of the factors, by name.
        """
        return self._state()

    def _state(self) -> State:
        raise NotImplementedError

    @classmethod
    def from_state(
        cls, document: Mapping[str, Any], tensors: Mapping[str, Tensor], path: str | os.PathLike[str], **parameters: Any
    ) -> Self:
        """The estimator that `state` came from.

        Parameters
        ----------
        document : mapping
            As `state` returns it.
        tensors : mapping of str to Tensor
            As `state` returns them.
        path : path
            Where they were read from, for errors.
        **parameters
            As in `load`.

        Returns
        -------
        estimator
            Of the class that the document names.
        """
        kind = cls._registry.get(document.get("class", ""))
        if kind is None or not issubclass(kind, cls):
            wanted = "n estimator" if cls is Saved else f" {cls.__name__}"
            raise FileFormatError(f"{path} contains a {document.get('class')!r}, not a{wanted}")
        return kind._restore(Stored(document, tensors, path, parameters))

    @classmethod
    def _restore(cls, stored: Stored) -> Self:
        raise NotImplementedError


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
        return {_from_json(key): _from_json(entry) for key, entry in value[PAIRS]}
    return tuple(value) if isinstance(value, list) else value


def _is_object(value: Any) -> bool:
    return callable(value) or isinstance(value, (nn.Module, np.random.RandomState, np.random.Generator))
