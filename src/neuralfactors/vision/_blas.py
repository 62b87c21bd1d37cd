"""Sums in one thread: how they are rounded depends on the number of threads, and words must not."""

from __future__ import annotations

from functools import cached_property
from threading import Lock
from types import TracebackType
from typing import Any

from threadpoolctl import ThreadpoolController


class OneBlasThread:
    """A context in which BLAS uses one thread, until the last of the callers within has left.

    BLAS has one number of threads for the whole process: were each caller to restore what it found, one that leaves
    would give threads back to another that is still within.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._within = 0
        self._limit: Any = None

    @cached_property
    def _libraries(self) -> ThreadpoolController:
        return ThreadpoolController()  # a search of the loaded libraries, for once

    def __enter__(self) -> None:
        with self._lock:
            if self._within == 0:
                self._limit = self._libraries.limit(limits=1, user_api="blas")
            self._within += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._within -= 1
            if self._within == 0:
                self._limit.restore_original_limits()


one_blas_thread = OneBlasThread()
