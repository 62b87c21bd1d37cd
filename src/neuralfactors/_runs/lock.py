"""One process at a time in a run folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Refuse to work in `folder` while another process does; the lock ends with its process, however that ends.

    The folder is made if need be. Only what it holds from then on can be relied on: others may just have left.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if sys.platform == "win32":  # where folders cannot be locked
        yield
        return
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise ValueError(f"{folder} is in use by another process: wait for it to finish, or stop it") from None
    except OSError:
        pass  # a file system without locks
    try:
        yield
    finally:
        os.close(handle)
