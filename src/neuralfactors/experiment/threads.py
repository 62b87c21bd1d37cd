"""Threads of a run: how sums are rounded depends on their number, so a run keeps the one it began with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch


@contextmanager
def threads_of(document: dict[str, Any]) -> Iterator[None]:
    """Torch with the number of threads that `document`, of run.json, tells, or as many of them as there are."""
    here = torch.get_num_threads()
    torch.set_num_threads(min(document.get("threads", here), here))
    try:
        yield
    finally:
        torch.set_num_threads(here)
