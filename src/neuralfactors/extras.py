"""Names that load when they are first used, and what to install where a package is missing for one."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping


def advice(what: str, error: ModuleNotFoundError, extra: str) -> str:
    """A sentence: which package `what` lacks, and the command that installs it as part of `extra`."""
    return f"{what} needs the package {error.name}: pip install 'neuralfactors[{extra}]'"


def is_ours(error: ModuleNotFoundError) -> bool:
    """Whether the module that is missing should be part of neuralfactors itself."""
    return (error.name or "").partition(".")[0] == __package__


def lazy_names(package: str, homes: Mapping[str, str], extras: Mapping[str, str]) -> Callable[[str], object]:
    """The `__getattr__` of a package whose names live in its modules.

    Parameters
    ----------
    package : str
        Its `__name__`.
    homes : mapping of str to str
        The module of each name.
    extras : mapping of str to str
        The extra that a module needs.
    """

    def find(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            return getattr(importlib.import_module(f"{package}.{homes[name]}"), name)
        except ModuleNotFoundError as error:
            if is_ours(error):
                raise
            raise ImportError(advice(name, error, extras[homes[name]])) from error

    return find
