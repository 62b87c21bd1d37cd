"""Files that are written completely or not at all, and JSON that carries its own digest.

Models, checkpoints, records of runs, caches and predictions are written by `write_atomically`: a kill at any moment
leaves the old file or the new one, and perhaps a temporary file, which `sweep` removes. JSON is read back with its
digest; what was altered raises `FileFormatError`, which names it.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from neuralfactors._common.locks import try_lock

TEMPORARY = ".nf-tmp"  # suffix of hidden files that lie beside what they become
DIGEST = "document_sha256"  # the key of the digest of all else in a JSON object


class FileFormatError(ValueError):
    """A file is not what it should be: truncated, altered, of another kind or of another version."""


def check_regular(path: Path) -> Path:
    """`path`, refused if it is a pipe or a device, or a link to one, which may never end."""
    if path.exists() and not path.is_file():
        raise FileFormatError(f"{path} must be a regular file")
    return path


def write_atomically(path: Path, data: bytes, *, durable: bool = True) -> None:
    """Write a file completely or not at all; what it held before is replaced in one step.

    With `durable`, that is true after a power cut as well, which costs a flush of the disk.
    """
    temporary = path.parent / f".{path.name}.{secrets.token_hex(4)}{TEMPORARY}"
    try:
        with open(temporary, "xb") as file:
            try_lock(file.fileno())  # while it has a writer, `sweep` leaves it alone
            file.write(data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
            if sys.platform == "win32":  # which renames no open file
                file.close()
            os.replace(temporary, path)
        if durable:
            _sync_folder(path.parent)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename = str(path)  # a full disk does not say what was being written
        raise


def _sync_folder(folder: Path) -> None:
    """Force the names in `folder` to the disk, where the system can."""
    if not hasattr(os, "O_DIRECTORY"):  # Windows
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    except OSError:
        pass  # a file system that cannot
    finally:
        os.close(handle)


def sweep(folder: Path, *, below: bool = False) -> None:
    """Remove the temporary files in `folder`, and `below` it if so asked, of writers that were killed."""
    pattern = f".*{TEMPORARY}"
    for path in folder.rglob(pattern) if below else folder.glob(pattern):
        # One that cannot be opened has just become what it was written for, or is not ours to remove.
        with suppress(OSError), path.open("rb") as file:
            if try_lock(file.fileno()):
                path.unlink()


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
