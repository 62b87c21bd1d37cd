"""Names that load when they are first used, and what to install where a package is missing."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager


def advice(what: str, error: ModuleNotFoundError, extra: str) -> str:
    """A sentence: which package `what` lacks, and the command that installs it as part of `extra`."""
    return f"{what} needs the package {error.name}: pip install 'neuralfactors[{extra}]'"


@contextmanager
def needs(module: str, extra: str) -> Iterator[None]:
    """Imports of `module` for which packages of `extra` must be there: where one is missing, a sentence says so."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "neuralfactors":  # a part of neuralfactors itself
            raise
        raise ModuleNotFoundError(advice(module, error, extra), name=error.name) from None


def lazy_names(
    package: str, names: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """The `__getattr__` and the `__dir__` of a package with the `names` of its modules, by module."""
    homes = {name: module for module, found in names.items() for name in found}

    def find(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{package}.{homes[name]}"), name)

    return find, lambda: sorted({*vars(sys.modules[package]), *homes})
