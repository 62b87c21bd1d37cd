"""The command that describes an installation, for reports of bugs: doctor."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, metadata, requires, version
from pathlib import Path
from typing import Annotated

import neuralfactors
from neuralfactors._cli.parameters import Option, cache_folder
from neuralfactors._cli.terminal import echo
from neuralfactors._cli.terminal_tables import show_json

EXAMPLE = "neuralfactors doctor"
FOR_DEVELOPERS = {"all", "bench", "dev", "docs"}


@dataclass(frozen=True)
class Extra:
    """The packages of an extra: versions of those that are there, and what is missing."""

    name: str
    found: dict[str, str]
    missing: tuple[str, ...]

    @property
    def told(self) -> str:
        """The packages in one line, and how to install what is missing."""
        there = ", ".join(f"{name} {number}" for name, number in self.found.items())
        advice = f"pip install 'neuralfactors[{self.name}]'"
        lacks = f"missing {', '.join(self.missing)}: {advice}" if self.missing else ""
        return "; ".join(filter(None, (there, lacks)))


@dataclass(frozen=True)
class Installation:
    """What may matter when something goes wrong."""

    neuralfactors: str
    python: str
    system: str
    kernel: str
    cores: int
    torch_threads: int | None  # None: no torch
    gpu: str
    cache: str


def doctor(as_json: Annotated[bool, Option("Print JSON.", ("--json",))] = False) -> None:
    """Print versions, extras and more, for a bug report."""
    found, extras = installation(), all_extras()
    if as_json:
        show_json({**asdict(found), "extras": {each.name: asdict(each) for each in extras}})
        return
    facts = {name.replace("_", " "): value for name, value in asdict(found).items() if value is not None}
    for name, value in {**facts, **{f"[{each.name}]": each.told for each in extras}}.items():
        echo(f"{name + ':':<15}{value}")


def installation() -> Installation:
    """What there is on the machine that this runs on."""
    from neuralfactors.inference import _kernels
    from neuralfactors.inference._validate import check_threads

    threads, gpu = _torch()
    checked = ", with the developer's checks" if _kernels.CHECKED else ""
    return Installation(
        neuralfactors.__version__,
        f"{platform.python_implementation()} {platform.python_version()}",
        platform.platform(),
        f"{_kernels.INSTRUCTION_SET}, compiled by {_kernels.COMPILER}{checked}",
        check_threads(None),
        threads,
        gpu,
        _cache(),
    )


def all_extras() -> list[Extra]:
    """What users may ask for, in alphabetical order."""
    named = metadata("neuralfactors").get_all("Provides-Extra") or ()
    return [extra(name) for name in sorted({*named} - FOR_DEVELOPERS)]


def extra(name: str) -> Extra:
    """The packages of an extra; those of other extras that it includes stand there."""
    found, missing = {}, []
    for package in _packages(name):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            missing.append(package)
    return Extra(name, found, tuple(missing))


def _packages(extra: str) -> Iterator[str]:
    for line in requires("neuralfactors") or ():
        requirement, _, marker = line.partition(";")
        if not re.search(rf"extra == ['\"]{extra}['\"]", marker):
            continue
        name = re.match(r"[\w.-]+", requirement)
        if name and name[0] != "neuralfactors":
            yield name[0]


def _torch() -> tuple[int | None, str]:
    try:
        import torch
    except ModuleNotFoundError:
        return None, "unknown, since torch is not installed"
    names = [torch.cuda.get_device_name(k) for k in range(torch.cuda.device_count())]
    return torch.get_num_threads(), ", ".join(names) or "none that torch can use"


def _cache() -> str:
    folder = cache_folder(None)
    sizes = [_size(Path(place) / name) for place, _, names in os.walk(folder) for name in names]
    return f"{folder}, {sum(sizes) / 1e6:.0f} MB in {len(sizes)} files" if folder.is_dir() else f"{folder}, empty"


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # another process has just removed it
        return 0
