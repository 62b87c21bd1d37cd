"""Models on disk: a JSON document beside a safetensors file; versioned, checked, written atomically, free of code.

A folder holds `model.json` and the tensors whose digest that has, in a file named by the digest: no name is read from
a file. The document is replaced last and in one step, so that a reader finds the old model or the new one, whole, at
whatever moment the writer dies. Writers wait for each other.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from neuralfactors._common.extras import needs
from neuralfactors._common.files import (
    FileFormatError,
    check_regular,
    parse_json,
    sealed,
    sweep,
    unsealed,
    write_atomically,
)
from neuralfactors._common.locks import locked

with needs("saving models", "learn"):
    import torch
    from safetensors import SafetensorError
    from safetensors import torch as safetensors
    from torch import Tensor

FORMAT = "neuralfactors"
VERSION = 3
DOCUMENT = "model.json"


class State(NamedTuple):
    """What a file holds of an object."""

    document: dict[str, Any]  # as JSON can hold it
    tensors: dict[str, Tensor]  # by name


def save_model(folder: str | os.PathLike[str], document: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
    """Write a model into `folder`, created if needed; an existing model is replaced in one step.

    The document is what JSON can hold: the class, its parameters, the history of its training.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    # Copies, for tensors that share memory, such as tied weights, must not meet in one file.
    layout = torch.contiguous_format
    data = safetensors.save({name: value.detach().cpu().clone(memory_format=layout) for name, value in tensors.items()})
    body = {"format": FORMAT, "version": VERSION, "sha256": _sha256(data), **document}
    tensors_path = _tensors_path(folder, body)
    with locked(folder):
        sweep(folder)
        former = _former_tensors(folder)
        write_atomically(tensors_path, data)
        write_atomically(folder / DOCUMENT, (json.dumps(sealed(body), indent=1) + "\n").encode())
        if former and former != tensors_path:
            former.unlink(missing_ok=True)


def load_model(folder: str | os.PathLike[str]) -> State:
    """The document and the tensors, on the CPU, of the model that `save_model` wrote.

    A FileFormatError says that they are truncated, altered or of another version.
    """
    folder = Path(folder)
    try:
        return _load_model(folder)
    except (FileNotFoundError, FileFormatError):
        if not folder.is_dir():
            raise
    with locked(folder, shared=True):  # another process may have replaced the model between document and tensors
        return _load_model(folder)


def _load_model(folder: Path) -> State:
    body = _read_document(folder / DOCUMENT)
    path = _tensors_path(folder, body)
    data = _read(path)
    if _sha256(data) != body["sha256"]:
        raise FileFormatError(f"{path} is truncated or altered: its digest differs")
    return State(body, _parse_tensors(data, path))


@contextmanager
def readable(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn what goes wrong inside for want of an entry, or for one of another kind, into FileFormatError.

    A digest tells that a document is whole, not that it has the shape of ours: the file may be a stranger's.
    """
    try:
        yield
    except KeyError as error:
        raise FileFormatError(f"{path} does not have the entry {error} of a model") from error
    except (AttributeError, IndexError, TypeError) as error:
        raise FileFormatError(f"{path} has an entry of the wrong type") from error


def save_state(path: str | os.PathLike[str], document: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
    """Write a checkpoint: one safetensors file with the document in its header, replaced in one step."""
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    body = {"format": FORMAT, "version": VERSION, "sha256": tensors_digest(tensors), **document}
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, safetensors.save(tensors, metadata={FORMAT: json.dumps(sealed(body))}))


def load_state(path: str | os.PathLike[str]) -> State:
    """The document and the tensors, on the CPU, of the checkpoint that `save_state` wrote.

    A FileFormatError says that the file is not whole.
    """
    path = Path(path)
    data = _read(path)
    tensors = _parse_tensors(data, path)
    try:
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        body = json.loads(header["__metadata__"][FORMAT])
    except (KeyError, ValueError) as error:
        raise FileFormatError(f"{path} is not a {FORMAT} checkpoint") from error
    body = _check_document(body, path)
    if body["sha256"] != tensors_digest(tensors):
        raise FileFormatError(f"{path} has been altered: its digest differs")
    return State(body, tensors)


def _read_document(path: Path) -> dict[str, Any]:
    return _check_document(parse_json(_read(path), path), path)


def _check_document(body: Any, path: Path) -> dict[str, Any]:
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        raise FileFormatError(f"{path} was not written by {FORMAT}")
    version = body.get("version")
    if version != VERSION:
        raise FileFormatError(f"{path} has format version {version}, but this version of {FORMAT} reads {VERSION}")
    return unsealed(body, path)


def _read(path: Path) -> bytes:
    try:
        return check_regular(path).read_bytes()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise FileNotFoundError(f"there is no {path.name} in {path.parent}") from error


def _parse_tensors(data: bytes, path: Path) -> dict[str, Tensor]:
    try:
        return safetensors.load(data)
    except SafetensorError as error:
        raise FileFormatError(f"{path} is truncated or altered: {error}") from error


def _tensors_path(folder: Path, body: Mapping[str, Any]) -> Path:
    digest = body.get("sha256")
    if not isinstance(digest, str) or not re.fullmatch("[0-9a-f]{64}", digest):
        raise FileFormatError(f"{folder / DOCUMENT} must contain the digest of its tensors, got {digest!r}")
    return folder / f"model-{digest[:16]}.safetensors"


def _former_tensors(folder: Path) -> Path | None:
    """Where the tensors of the model in `folder` are; None where there is none that can be read."""
    # What an unreadable document stands for is not ours to delete.
    try:
        return _tensors_path(folder, _read_document(folder / DOCUMENT))
    except (FileNotFoundError, FileFormatError):
        return None


def tensors_digest(tensors: Mapping[str, Tensor]) -> str:
    """Digest of `tensors`: their names, types, shapes and values."""
    total = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name]
        total.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        total.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return total.hexdigest()


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
