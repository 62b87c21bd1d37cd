"""One process at a time in a run folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from neuralfactors._common.files import sweep
from neuralfactors._common.locks import locked
from neuralfactors._runs.run_folder import RunFolder


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Refuse to work in `folder` while another process does; the lock ends with its process, however that ends.

    The folder is made if need be; a run is freed of what killed processes left half-written. Only what the folder holds
    from then on can be relied on: others may just have left.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(folder, wait=False))
        except BlockingIOError:
            raise ValueError(f"{folder} is in use by another process: wait for it to finish, or stop it") from None
        if RunFolder(folder).is_begun:
            sweep(folder, below=True)
        yield
