"""Locks on files and folders that end with their process, however that ends.

Where there are none, on Windows and on some network file systems, nothing is locked.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def try_lock(handle: int) -> bool:
    """Lock the open file `handle` until it is closed; False if another process has it, or if there are no locks."""
    if sys.platform == "win32":
        return False
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@contextmanager
def locked(folder: Path, *, shared: bool = False, wait: bool = True) -> Iterator[None]:
    """Hold a lock on `folder`, which must exist; others may hold a `shared` one at the same time.

    Without `wait`, BlockingIOError is raised where another process has it.
    """
    if sys.platform == "win32":  # where folders cannot be locked
        yield
        return
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            raise
        except OSError:
            pass  # a file system without locks
        yield
    finally:
        os.close(handle)
