"""Files that are there as a whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


class FileFormatError(ValueError):
    """A file is not what it should be: truncated, altered, of another kind or of another version."""


def check_regular(path: Path) -> Path:
    """`path`, refused where it is a pipe or a device, or a link to one, which may have no end."""
    if path.exists() and not path.is_file():
        raise FileFormatError(f"{path} must be a regular file")
    return path


def write_atomically(path: Path, data: bytes) -> None:
    """Write `data` to `path` so that it is there as a whole or not at all, also after a crash."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException as error:
        Path(name).unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename = str(path)  # a full disk does not say what was being written
        raise
