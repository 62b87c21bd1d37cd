"""The commands that compare the rows of the paper's table: compare."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from neuralfactors.cli.app import (
    AsJson,
    CacheFolder,
    Dask,
    Drop,
    Jobs,
    Settings,
    Void,
    cache_folder,
    command,
    command_line,
    progress,
    tell,
)
from neuralfactors.cli.tables import show_comparison
from neuralfactors.cli.training import resumable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuralfactors.experiment import RunConfig

PresetOption = Annotated[
    str | None,
    typer.Option("--preset", help="The paper's set that DATA is: msrc21, kitti or siftflow; gives all settings."),
]
Features = Annotated[str, typer.Option(help="bow, cnn or bow+cnn; with a preset, bow or cnn, its second setting.")]
Regions = Annotated[int | None, typer.Option(min=1, help="Regions an image is divided into.", show_default="300")]


@command("compare", "neuralfactors compare msrc21 --preset msrc21 --methods unary,SGD,int+nrl --out runs/msrc21")
def compare(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Folder with images/, labels/ and classes.txt.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="RUN", help="Folder of the comparison.")],
    preset: PresetOption = None,
    methods: Annotated[str, typer.Option(help="Rows of the paper's table, joined by commas, or all.")] = "all",
    features: Features = "bow",
    seeds: Annotated[
        int | None, typer.Option(min=1, help="How often each row is trained.", show_default="1, or the preset's")
    ] = None,
    settings: Settings = None,
    regions: Regions = None,
    epochs: Annotated[int | None, typer.Option(min=1, help="Passes over the images.", show_default="25")] = None,
    limit: Annotated[
        list[str] | None,
        typer.Option(metavar="[ROW=]N", help="Learn from N training images, drawn at random; of one row; repeat."),
    ] = None,
    split: Annotated[str | None, typer.Option(help="What to learn from.", show_default="train")] = None,
    validate: Annotated[str | None, typer.Option(help="Split to follow training by.", show_default="val")] = None,
    test: Annotated[str | None, typer.Option(help="Split to evaluate.", show_default="test, else val")] = None,
    void: Void = None,
    drop: Drop = None,
    cache: CacheFolder = None,
    jobs: Jobs = None,
    dask: Dask = None,
    as_json: AsJson = False,
) -> None:
    """Train the rows of the paper's table with several seeds, and show them beside the paper's figures.

    Each seed is a run of its own, RUN/seed-K. Interrupted, it goes on with 'resume RUN' or the same command; only the
    row CP starts again from its beginning.
    """
    from neuralfactors import experiment

    rows = _rows(methods, features)
    known = experiment.Preset.read(preset) if preset else None
    config = known.config(str(data), features, rows) if known else _config(data, features, rows)
    config = replace(
        config,
        features={**config.features, **({"n_regions": regions} if regions else {})},
        parameters=_parameters(config, settings or [], epochs),
        limits={**config.limits, **_limits(limit or [])},
        void=(*config.void, *(void or ())),
        drop=(*config.drop, *(drop or ())),
        train_split=split or config.train_split,
        val_split=validate or config.val_split,
        test_split=test or config.test_split,
    )
    numbers = range(seeds or (known.seeds if known else 1))
    means = experiment.Means(cache_folder(cache), jobs, dask, progress())
    with resumable(out):
        experiment.compare(config, numbers, out, means, command_line())
    show_comparison(out, as_json=as_json)
    tell(f"The report, for a browser: neuralfactors report {out}")


def _rows(methods: str, features: str) -> tuple[str, ...]:
    from neuralfactors.experiment import ROWS, STATE_OF_THE_ART, row_name

    if methods == "all":
        return (*ROWS, STATE_OF_THE_ART) if "cnn" in features else ROWS
    return tuple(dict.fromkeys(row_name(name.strip()) for name in methods.split(",")))


def _config(data: Path, features: str, rows: Sequence[str]) -> RunConfig:
    from neuralfactors.experiment import RunConfig

    options = {"features": features, "n_regions": 300}
    return RunConfig(str(data), tuple(rows), "compare", options, test_split="test")


def _parameters(config: RunConfig, files: Sequence[Path], epochs: int | None) -> dict[str, dict[str, object]]:
    """The settings of the rows of `config`: those it has, replaced by those of files, and these by options."""
    from neuralfactors.experiment import every_row, merge_parameters, read_settings

    layers = [read_settings(path) for path in files]
    merged = merge_parameters(config.parameters, *layers, every_row(config.rows, max_iter=epochs))
    return {row: changes for row, changes in merged.items() if changes and row in ("*", *config.rows)}


def _limits(limits: Sequence[str]) -> dict[str, int]:
    found = {}
    for limit in limits:
        row, _, number = limit.rpartition("=")
        if not number.isdecimal():
            raise ValueError(f"limit must be a number of images, or ROW=N, got {limit!r}")
        found[row or "*"] = int(number)
    return found
