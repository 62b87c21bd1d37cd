"""Files that are written completely or not at all, and JSON that carries its own digest.

Models, checkpoints, records of runs, caches and predictions are written by `write_atomically`: a kill at any moment
leaves the old file or the new one. JSON is read back with its digest; what was altered raises `FileFormatError`, which
names it.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

DIGEST = "document_sha256"  # the key of the digest of all else in a JSON object


class FileFormatError(ValueError):
    """A file is not what it should be: truncated, altered, of another kind or of another version."""


def check_regular(path: Path) -> Path:
    """`path`, refused if it is a pipe or a device, or a link to one, which may never end."""
    if path.exists() and not path.is_file():
        raise FileFormatError(f"{path} must be a regular file")
    return path


def write_atomically(path: Path, data: bytes, *, durable: bool = True) -> None:
    """Write a file completely or not at all.

    Parameters
    ----------
    path : Path
        The file. What it held before is replaced in one step.
    data : bytes
        All that it shall hold.
    durable : bool, default=True
        Whether that must be true after a power cut as well, which costs a flush of the disk.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException as error:
        Path(name).unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename = str(path)  # a full disk does not say what was being written
        raise


def file_digest(path: Path) -> str:
    """Digest of the contents of the file `path`."""
    with check_regular(path).open("rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()


def sealed(content: Mapping[str, Any]) -> dict[str, Any]:
    """`content` as JSON can hold it, with the digest by which `unsealed` notices a change."""
    body: dict[str, Any] = json.loads(json.dumps({key: value for key, value in content.items() if key != DIGEST}))
    return {**body, DIGEST: _digest(body)}


def unsealed(body: Any, name: object) -> dict[str, Any]:
    """What `sealed` was given, from the `body` that was read from a file called `name`; FileFormatError if altered."""
    if not isinstance(body, dict):
        raise FileFormatError(f"{name} must contain a JSON object, got {type(body).__name__}")
    content = {key: value for key, value in body.items() if key != DIGEST}
    if body.get(DIGEST) != _digest(content):
        raise FileFormatError(f"{name} has been altered: its digest differs")
    return content


def parse_json(data: bytes, name: object) -> Any:
    """The JSON in `data`, which was read from a file called `name`; FileFormatError if it is not JSON."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{name} is truncated or altered: it is not JSON") from error


def write_records(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Write one record a line, each with its digest, in one step."""
    write_atomically(path, "".join(f"{json.dumps(sealed(record))}\n" for record in records).encode())


def read_records(path: Path) -> list[dict[str, Any]]:
    """The records that `write_records` wrote, none where there is no file; FileFormatError where a line is altered."""
    lines = check_regular(path).read_bytes().splitlines() if path.exists() else []
    names = [f"line {number} of {path}" for number in range(1, len(lines) + 1)]
    return [unsealed(parse_json(line, name), name) for name, line in zip(names, lines, strict=True)]


def _digest(body: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
