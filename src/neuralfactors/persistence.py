"""Models on disk: a JSON document beside a safetensors file; versioned, checked, written atomically, free of code.

A folder holds `model.json` and the tensors that it names, with their digest. The document is replaced last and in one
step, so that a reader finds the old model or the new one, whole, at whatever moment the writer dies.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors import torch as safetensors
from torch import Tensor

from neuralfactors.files import write_atomically

FORMAT = "neuralfactors"
VERSION = 1
DOCUMENT = "model.json"
HISTORY = "history.jsonl"


class FileFormatError(ValueError):
    """A file is not what it should be: truncated, altered, of another kind or of a newer version."""


def save_model(
    folder: str | os.PathLike[str],
    document: Mapping[str, Any],
    tensors: Mapping[str, Tensor],
    history: list[dict[str, Any]] | None = None,
) -> None:
    """Write a model into `folder`, made if need be; one that is there already is replaced in one step.

    Parameters
    ----------
    folder : path
    document : mapping
        What JSON can hold: the class and its parameters.
    tensors : mapping from name to Tensor
    history : list of dict
        Written beside the model, one record a line, for people and reports; loading does not need it.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    # Copies, for tensors that share memory, such as tied weights, must not meet in one file.
    layout = torch.contiguous_format
    data = safetensors.save({name: value.detach().cpu().clone(memory_format=layout) for name, value in tensors.items()})
    former = _named_tensors(folder)
    name = "model.safetensors" if former != "model.safetensors" else "model-2.safetensors"
    write_atomically(folder / name, data)
    body = {"format": FORMAT, "version": VERSION, "tensors": name, "sha256": _sha256(data), **document}
    body["document_sha256"] = _sha256(_canonical(body))
    write_atomically(folder / DOCUMENT, (json.dumps(body, indent=1, allow_nan=False) + "\n").encode())
    if former and former != name:
        (folder / former).unlink(missing_ok=True)
    if history is not None:
        write_atomically(folder / HISTORY, "".join(json.dumps(record) + "\n" for record in history).encode())


def load_model(folder: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The document and the tensors of the model in `folder`; FileFormatError where they are not whole."""
    path = Path(folder) / DOCUMENT
    body = _read_document(path)
    data = _read(path.parent / str(body["tensors"]))
    if _sha256(data) != body["sha256"]:
        raise FileFormatError(f"{path.parent / body['tensors']} is truncated or altered: its digest differs")
    return body, _parse_tensors(data, path.parent / body["tensors"])


def load_history(folder: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """The records beside the model in `folder`; none where there is no history."""
    path = Path(folder) / HISTORY
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def save_state(path: str | os.PathLike[str], document: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
    """Write a checkpoint: one safetensors file with the document in its header, replaced in one step."""
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    body = {"format": FORMAT, "version": VERSION, "sha256": _tensors_digest(tensors), **document}
    body["document_sha256"] = _sha256(_canonical(body))
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, safetensors.save(tensors, metadata={FORMAT: json.dumps(body)}))


def load_state(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The document and the tensors of a checkpoint; FileFormatError in one sentence where it is not whole."""
    path = Path(path)
    data = _read(path)
    tensors = _parse_tensors(data, path)
    try:
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        body = json.loads(header["__metadata__"][FORMAT])
    except (KeyError, ValueError) as error:
        raise FileFormatError(f"{path} is not a {FORMAT} checkpoint") from error
    _check_document(body, path)
    if body["sha256"] != _tensors_digest(tensors):
        raise FileFormatError(f"{path} is altered: its digest differs")
    return body, tensors


def _read_document(path: Path) -> dict[str, Any]:
    try:
        body = json.loads(_read(path))
    except ValueError as error:
        raise FileFormatError(f"{path} is truncated or altered: it is not JSON") from error
    return _check_document(body, path)


def _check_document(body: Any, path: Path) -> dict[str, Any]:
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        raise FileFormatError(f"{path} was not written by {FORMAT}")
    version = body.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise FileFormatError(f"{path} has format version {version}, newer than {VERSION}: update {FORMAT} to read it")
    stated = body.pop("document_sha256", None)
    if stated != _sha256(_canonical(body)):
        raise FileFormatError(f"{path} is altered: its digest differs")
    return body


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise FileNotFoundError(f"there is no {path.name} in {path.parent}") from error


def _parse_tensors(data: bytes, path: Path) -> dict[str, Tensor]:
    try:
        return safetensors.load(data)
    except SafetensorError as error:
        raise FileFormatError(f"{path} is truncated or altered: {error}") from error


def _named_tensors(folder: Path) -> str | None:
    # What an unreadable document names is not ours to delete.
    try:
        return str(_read_document(folder / DOCUMENT)["tensors"])
    except (FileNotFoundError, FileFormatError, KeyError):
        return None


def _tensors_digest(tensors: Mapping[str, Tensor]) -> str:
    total = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name]
        total.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        total.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return total.hexdigest()


def _canonical(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body, sort_keys=True).encode()


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
