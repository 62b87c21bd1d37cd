"""Sequences whose items are made on demand."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, TypeVar

Item = TypeVar("Item")


class OnDemand(Sequence[Item]):
    """A sequence whose subclass makes an item whenever it is asked for; a slice is a list of new items."""

    @abstractmethod
    def make(self, n: int) -> Item:
        """Item `n`, a number from 0."""

    def __getitem__(self, n: Any) -> Any:
        numbers = range(len(self))[n]
        return self.make(numbers) if isinstance(numbers, int) else [self.make(i) for i in numbers]


class Selection(OnDemand[Any]):
    """Items of a sequence by their numbers."""

    def __init__(self, items: Sequence[Any], numbers: Sequence[int]) -> None:
        self._items, self._numbers = items, numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def make(self, n: int) -> Any:
        """Item `n` of the selected ones."""
        return self._items[self._numbers[n]]
