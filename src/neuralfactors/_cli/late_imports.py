"""Packages that others import but hardly use are loaded when they are used."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType


def load_late(name: str) -> None:
    """Let the module `name` be loaded by its first use and not by its first import.

    scikit-learn imports all distributions of scipy.stats. That takes a third of the time that `predict` needs for a
    small picture beyond importing torch, and `predict` uses none of them. Whatever does use one gets the module as
    ever: should scikit-learn come to need it at once, the start is slower again, and nothing else changes.
    """
    if name not in sys.modules:
        sys.meta_path.insert(0, _LateFinder(name))


class _LateFinder:
    """Finds one module, once, for the import system."""

    def __init__(self, name: str) -> None:
        self.name = name

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Where the module is, and that it is to be loaded late; None for all others."""
        if name != self.name:
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = importlib.util.LazyLoader(spec.loader)
        return spec
