"""Settings of variants as files: written by `tune` or by hand, read by `train` and `compare`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from neuralfactors._common.parameters import Parameter
from neuralfactors._experiment.variants import VARIANTS, check_parameters
from neuralfactors._runs.config import Parameters
from neuralfactors._runs.documents import Document
from neuralfactors._runs.names import ALL_VARIANTS
from neuralfactors._runs.records import Settings


def read_settings(path: str | os.PathLike[str]) -> Parameters:
    """Parameters by variant of the file `path`, refused where it is damaged or names what is unknown."""
    settings = Document(Settings, Path(path)).read(by_hand=True)
    if settings is None:
        raise FileNotFoundError(f"{path} does not exist")
    try:
        return check_parameters(settings.variants)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def read_settings_of(paths: Iterable[str | os.PathLike[str]], variants: Sequence[str]) -> list[Parameters]:
    """Parameters by variant of every file, each refused unless it has some for at least one of `variants`."""
    wanted, layers = {ALL_VARIANTS, *variants}, []
    for path in paths:
        layers.append(read_settings(path))
        if not layers[-1].keys() & wanted:
            told = f"{', '.join(variants)}; it has some for {', '.join(layers[-1])}"
            raise ValueError(f"{path} has no settings for {told}")
    return layers


def parameters_of(variants: Sequence[str], *layers: Parameters) -> Parameters:
    """What all layers say of `variants`: later ones replace what earlier ones say of a parameter."""
    merged: dict[str, dict[str, Parameter]] = {}
    for layer in map(check_parameters, layers):
        for name, changes in layer.items():
            merged[name] = {**merged.get(name, {}), **changes}
    return {name: merged[name] for name in merged if merged[name] and name in (ALL_VARIANTS, *variants)}


def changes_for(variants: Sequence[str], changes: Mapping[str, Parameter]) -> dict[str, dict[str, Parameter]]:
    """`changes` for each of `variants`, by the names that it has; refused where none of them has one."""
    found = {
        name: {key: value for key, value in changes.items() if key in VARIANTS[name].changeable} for name in variants
    }
    unknown = [key for key in changes if not any(key in own for own in found.values())]
    if unknown:
        raise ValueError(f"{', '.join(variants)} has no parameter {unknown[0]!r}, nor do features have such an option")
    return found
