"""Arguments and options of a command that also runs where the packages of the other commands are missing."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Argument:
    """What must be given; it stands in the `Annotated` hint of a parameter."""

    help: str
    metavar: str


@dataclass(frozen=True)
class Option:
    """What may be given."""

    help: str
    flags: tuple[str, ...] = ()  # none: the name of the parameter
    metavar: str | None = None
    told_default: str | None = None  # where it says more than the default itself


QUIET = Option("Print only errors and results.", ("--quiet", "-q"))
VERBOSE = Option("Print more detail.", ("--verbose", "-v"))


def cache_folder(chosen: Path | None) -> Path:
    """The folder that keeps features: `chosen`, or the user's cache."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return chosen or Path(base) / "neuralfactors"
