"""Settings of rows as files: what `tune` writes, and `train` and `compare` take."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from neuralfactors.experiment.folder import check_format, write_json
from neuralfactors.experiment.variants import ALL_ROWS, check_parameters
from neuralfactors.files import DIGEST, FileFormatError, check_regular, parse_json, unsealed

FORMAT = 1
Parameters = Mapping[str, Mapping[str, Any]]


def read_settings(path: str | os.PathLike[str]) -> dict[str, dict[str, Any]]:
    """Parameters by row of the file `path`, refused in one sentence where it is damaged or names what is unknown.

    People may write such a file too: it need not have a digest, but one that it has must be right.
    """
    body = parse_json(check_regular(Path(path)).read_bytes(), path)
    check_format(body, Path(path), FORMAT)
    try:
        rows = (unsealed(body, path) if DIGEST in body else body).get("rows")
    except FileFormatError as error:
        raise FileFormatError(f"{error}; if you changed it on purpose, delete the line {DIGEST}") from error
    if not isinstance(rows, dict) or not all(isinstance(changes, dict) for changes in rows.values()):
        raise FileFormatError(f'{path} must hold "rows", a mapping from a row to its parameters')
    try:
        return check_parameters(rows)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def read_settings_of(paths: Iterable[str | os.PathLike[str]], rows: Iterable[str]) -> list[dict[str, dict[str, Any]]]:
    """Parameters by row of every file, each refused unless it has some for at least one of `rows`."""
    wanted, layers = {ALL_ROWS, *rows}, []
    for path in paths:
        layers.append(read_settings(path))
        if not layers[-1].keys() & wanted:
            raise ValueError(f"{path} has no settings for {', '.join(rows)}; it has some for {', '.join(layers[-1])}")
    return layers


def write_settings(path: Path, rows: Parameters, **facts: Any) -> None:
    """Write the file that `read_settings` reads, with `facts` about where the settings come from."""
    write_json(path, {"format": FORMAT, **facts, "rows": json.loads(json.dumps(rows))})


def merge_parameters(*layers: Parameters) -> dict[str, dict[str, Any]]:
    """Parameters by row, where later layers replace what earlier ones say of a parameter."""
    merged: dict[str, dict[str, Any]] = {}
    for layer in layers:
        for row, changes in check_parameters(layer).items():
            merged[row] = {**merged.get(row, {}), **changes}
    return merged


def every_row(rows: Iterable[str], **values: Any) -> dict[str, dict[str, Any]]:
    """The same parameters for each of `rows`, without those that are None."""
    given = {name: value for name, value in values.items() if value is not None}
    return {row: dict(given) for row in rows} if given else {}
