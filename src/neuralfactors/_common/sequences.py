"""Views of sequences whose items are made on demand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class Selection(Sequence[Any]):
    """Items of a sequence by their numbers; they are made on demand."""

    def __init__(self, items: Sequence[Any], numbers: Sequence[int]) -> None:
        self._items, self._numbers = items, numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, n: Any) -> Any:
        if isinstance(n, slice):
            return [self[i] for i in range(len(self))[n]]
        return self._items[self._numbers[n]]
