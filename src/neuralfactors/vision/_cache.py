"""Arrays on disk under the digest of what they were computed from; an entry that is not whole counts as absent."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from neuralfactors._common.files import write_atomically

Arrays = dict[str, NDArray[Any]]
DIGEST_SIZE = 20
logger = logging.getLogger(__name__)


def content_key(*parts: object) -> str:
    """Digest of `parts`: arrays by dtype, shape and content, everything else by its JSON."""
    digest = hashlib.blake2b(digest_size=DIGEST_SIZE)
    for part in parts:
        if isinstance(part, np.ndarray):
            digest.update(f"{part.dtype.str}{part.shape}".encode())
            digest.update(np.ascontiguousarray(part).data)
        else:
            digest.update(json.dumps(part, sort_keys=True).encode())
        digest.update(b"\0")
    return digest.hexdigest()


class Cache:
    """A folder of named arrays, one file a key, made when the first is written; deleting any of it costs only time."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def path(self, key: str) -> Path:
        """Where the entry `key` is, or would be."""
        return self.folder / key[:2] / f"{key}.bin"

    def get(self, key: str) -> Arrays | None:
        """The entry `key`; None where it cannot be read, or where it is damaged, which is logged and removed."""
        try:
            data = self.path(key).read_bytes()
        except OSError:
            return None
        digest, body = data[:DIGEST_SIZE], data[DIGEST_SIZE:]
        try:
            if digest == hashlib.blake2b(body, digest_size=DIGEST_SIZE).digest():
                return dict(load(body))
        except SafetensorError:
            pass
        logger.warning("%s is damaged and will be computed again", self.path(key))
        self.path(key).unlink(missing_ok=True)
        return None

    def put(self, key: str, arrays: Arrays) -> bool:
        """Write the entry `key`; False, with a warning in the log, where the disk refuses."""
        body = save({name: np.ascontiguousarray(array) for name, array in arrays.items()})
        path = self.path(key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Not forced to the disk, which takes longer than many an entry: what a power cut leaves has another digest.
            write_atomically(path, hashlib.blake2b(body, digest_size=DIGEST_SIZE).digest() + body, durable=False)
        except OSError as error:
            logger.warning("could not write %s (%s); it will be computed again when needed", path, error.strerror)
            return False
        return True
