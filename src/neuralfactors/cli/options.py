"""Arguments and options that several commands share, and what they mean to the library."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from neuralfactors.cli.terminal import Interrupted, progress
from neuralfactors.runs import RunFolder, typed

if TYPE_CHECKING:
    from neuralfactors.experiment import Means

Run = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.")]
Data = Annotated[Path, typer.Argument(metavar="DATA", help="Folder with images/, labels/ and classes.txt.")]
NewRun = Annotated[
    Path, typer.Option("--out", "-o", metavar="RUN", help="Folder of the run; it must not hold one yet.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON; accuracies are shares from 0 to 1.")]
Jobs = Annotated[
    int | None, typer.Option("--jobs", "-j", help="Processes for features; -1: one per core.", show_default="as needed")
]
Dask = Annotated[str | None, typer.Option("--dask", metavar="SCHEDULER", help="Compute features on a Dask cluster.")]
Cache = Annotated[
    Path | None,
    typer.Option(
        "--cache",
        metavar="DIR",
        envvar="NEURALFACTORS_CACHE",
        help="Where features are kept.",
        show_default="~/.cache/neuralfactors",
    ),
]
Variant = Annotated[str, typer.Option(help="Row of the paper's table.")]
Trained = Annotated[
    str | None, typer.Option("--variant", help="Which model of the run.", show_default="int+nrl, or the last")
]
Features = Annotated[str, typer.Option(help="bow, cnn or bow+cnn.")]
Regions = Annotated[
    int | None,
    typer.Option(min=1, help="Regions an image is divided into.", show_default="300, or 1000 with CNN features"),
]
Backbone = Annotated[
    str | None,
    typer.Option(
        "--backbone",
        metavar="NAME",
        help="Network of CNN features: efficientnet-lite0 to 2, or timm:MODEL.",
        show_default="efficientnet-lite2",
    ),
]
Epochs = Annotated[
    int | None, typer.Option(min=1, help="Passes over the images.", show_default="25, or 16 with CNN; unary 50, CP 40")
]
Balance = Annotated[
    float | None,
    typer.Option(min=0, max=1, help="0: classes count by area; 1: the same.", show_default="0, or 0.5 with CNN"),
]
Split = Annotated[str, typer.Option(help="What to learn from; join several by +.")]
Validate = Annotated[str, typer.Option(help="Split to follow and judge the training by.")]
Mirror = Annotated[
    bool | None, typer.Option("--mirror/--no-mirror", help="Learn from mirror images too.", show_default="no-mirror")
]
Void = Annotated[list[str] | None, typer.Option("--void", metavar="CLASS", help="Class that counts as void; repeat.")]
Drop = Annotated[list[str] | None, typer.Option("--drop", metavar="CLASS", help="Class not to learn; repeat.")]
Settings = Annotated[
    list[Path] | None, typer.Option("--settings", metavar="FILE", help="Settings that 'tune' wrote; repeat.")
]
Seed = Annotated[int, typer.Option(min=0, help="Of words, training and random splits.")]

Record = TypeVar("Record")


def with_given(record: Record, **values: object) -> Record:
    """`record`, a dataclass, with those of `values` that are not None."""
    given = {name: value for name, value in values.items() if value is not None}
    return replace(record, **given)  # type: ignore[type-var]


def listed(names: str) -> tuple[str, ...]:
    """Names that were joined by commas.

    >>> listed("unary, SGD")
    ('unary', 'SGD')
    """
    return tuple(name.strip() for name in names.split(","))


def feature_options(features: str, regions: int | None, backbone: str | None) -> dict[str, Any]:
    """Options of `FeatureSettings`: those that were given, so that the others keep their defaults."""
    if backbone is not None and "cnn" not in features:
        raise ValueError(f"backbone is for CNN features, but features is {features!r}")
    given = {"n_regions": regions, "backbone": backbone}
    return {"features": features, **{name: value for name, value in given.items() if value is not None}}


def cache_folder(chosen: Path | None) -> Path:
    """The folder that keeps features: `chosen`, or the user's cache."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return chosen or Path(base) / "neuralfactors"


def means(cache: Path | None, jobs: int | None, dask: str | None) -> Means:
    """How to compute, as the options say."""
    from neuralfactors.experiment import Means

    return Means(cache_folder(cache), jobs, dask, progress())


def command_line() -> str:
    """The command that is running, as it could be typed."""
    return shlex.join(["neuralfactors", *sys.argv[1:]])


@contextmanager
def resumable(run: Path) -> Iterator[None]:
    """Where the work inside is interrupted, say how to go on with `run`."""
    try:
        yield
    except KeyboardInterrupt:
        begun = RunFolder(run).is_begun
        told = f"Interrupted: 'neuralfactors resume {typed(run)}' goes on." if begun else "Interrupted."
        raise Interrupted(told) from None
