"""Commands about the rows of the paper's table: compare them, tune one of them."""

from __future__ import annotations

import shlex
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
    Mirror,
    Regions,
    Settings,
    Void,
    cache_folder,
    command,
    command_line,
    progress,
    tell,
)
from neuralfactors.cli.tables import show_comparison, show_trials
from neuralfactors.cli.training import resumable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuralfactors.experiment import Preset, RunConfig

PresetOption = Annotated[
    str | None,
    typer.Option("--preset", help="The paper's set that DATA is: msrc21, kitti or siftflow; gives all settings."),
]
Features = Annotated[str, typer.Option(help="bow, cnn or bow+cnn; with a preset, bow or cnn, its second setting.")]
Epochs = Annotated[int | None, typer.Option(min=1, help="Passes over the images.", show_default="25; unary 50, CP 40")]
Limit = Annotated[
    list[str] | None,
    typer.Option(metavar="[ROW=]N", help="Learn from N training images, drawn at random; of one row; repeat."),
]
Split = Annotated[str | None, typer.Option(help="What to learn from; join several by +.", show_default="train")]
Validate = Annotated[str | None, typer.Option(help="Split to follow training by.", show_default="val")]


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
    epochs: Epochs = None,
    limit: Limit = None,
    mirror: Mirror = None,
    split: Split = None,
    validate: Validate = None,
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
    from neuralfactors.experiment.folder import typed

    known = experiment.Preset.read(preset) if preset else None
    config = _config(data, known, features, _rows(methods, features))
    config = _changed(config, settings, regions, epochs, limit, void, drop)
    config = replace(
        config,
        train_split=split or config.train_split,
        val_split=validate or config.val_split,
        test_split=test or config.test_split,
        mirror=config.mirror if mirror is None else mirror,
    )
    numbers = range(seeds or (known.seeds if known else 1))
    means = experiment.Means(cache_folder(cache), jobs, dask, progress())
    with resumable(out):
        experiment.compare(config, numbers, out, means, command_line())
    show_comparison(out, as_json=as_json)
    tell(f"The report, for a browser: neuralfactors report {typed(out)}")


@command("tune", "neuralfactors tune msrc21 --preset msrc21 --method int+nrl --trials 30 --out runs/tuned")
def tune(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Folder with images/, labels/ and classes.txt.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="TUNED", help="Folder of the search.")],
    method: Annotated[str, typer.Option(help="Row of the paper's table.")] = "int+nrl",
    preset: PresetOption = None,
    features: Features = "bow",
    trials: Annotated[int, typer.Option(min=1, help="How many settings are tried; two thirds coarse, then fine.")] = 30,
    folds: Annotated[int, typer.Option(min=0, help="Cross-validate in so many parts; 0: use the split.")] = 0,
    holdout: Annotated[
        int | None, typer.Option(min=1, help="Validate by so many training images, drawn at random.")
    ] = None,
    search: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Parameters to search, joined by commas.", show_default="all that matter"),
    ] = None,
    settings: Settings = None,
    regions: Regions = None,
    epochs: Epochs = None,
    limit: Limit = None,
    mirror: Mirror = None,
    split: Split = None,
    validate: Annotated[str | None, typer.Option(help="Split to judge by.", show_default="val")] = None,
    void: Void = None,
    drop: Drop = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the search, words, training and random splits.")] = 0,
    cache: CacheFolder = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", help="Trials at a time; -1: one per core.", show_default="1")
    ] = None,
    dask: Annotated[
        str | None, typer.Option("--dask", metavar="SCHEDULER", help="Run on a Dask cluster that sees DATA and TUNED.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Choose the settings of a row on validation images; writes TUNED/settings.json for 'train' and 'compare'.

    Searched are C and the learning rate, of unary and interaction factors apart, the balance of classes, and t0 and
    momentum where the training has them; first coarsely around the present settings, then finely around the best. The
    best has the highest mean of pixel and class-mean accuracy. Test images play no part. Interrupted, the search goes
    on with 'resume TUNED' or the same command.
    """
    from neuralfactors import experiment

    if folds and (holdout or validate):
        raise ValueError("--folds judges by the training images themselves: leave out --holdout and --validate")
    known = experiment.Preset.read(preset) if preset else None
    config = _config(data, known, features, [experiment.row_name(method)], tuning=True)
    config = _changed(config, settings, regions, epochs, limit, void, drop)
    config = replace(
        config,
        train_split=split or config.train_split,
        val_split=validate or config.val_split,
        holdout=holdout or (0 if validate else config.holdout),
        mirror=config.mirror if mirror is None else mirror,
        seed=seed,
    )
    names = None if search is None else tuple(name.strip() for name in search.split(","))
    means = experiment.Means(cache_folder(cache), jobs, dask, progress())
    with resumable(out):
        path = experiment.tune(config, experiment.Search(trials, names, folds), out, means, command_line())
    show_trials(out, as_json=as_json)
    if preset:
        words = ["compare", data, "--preset", preset, "--methods", method]
    else:
        words = ["train", data, "--method", method, *(["--mirror"] if mirror else []), *_given(seed=seed or None)]
    words += _given(features=features if features != "bow" else None, regions=regions, split=split)
    words += [word for name in void or () for word in ("--void", name)]
    words += [word for name in drop or () for word in ("--drop", name)]
    command = shlex.join(map(str, ["neuralfactors", *words, "--settings", path]))
    tell(f"The settings are in {path}. Next: {command} --out RUN")


def _given(**options: object) -> list[object]:
    """Words of a command line for the options that are not None."""
    return [word for name, value in options.items() if value is not None for word in (f"--{name}", value)]


def _rows(methods: str, features: str) -> tuple[str, ...]:
    from neuralfactors.experiment import ROWS, STATE_OF_THE_ART, row_name

    if methods == "all":
        return (*ROWS, STATE_OF_THE_ART) if "cnn" in features else ROWS
    return tuple(dict.fromkeys(row_name(name.strip()) for name in methods.split(",")))


def _config(
    data: Path, preset: Preset | None, features: str, rows: Sequence[str], *, tuning: bool = False
) -> RunConfig:
    from neuralfactors.experiment import RunConfig
    from neuralfactors.segmentation import default_balance

    if preset:
        return preset.config(str(data), features, rows, tuning=tuning)
    options, balance = {"features": features}, default_balance(features)
    return RunConfig(str(data), tuple(rows), "compare", options, balance=balance, test_split="test")


def _changed(
    config: RunConfig,
    settings: Sequence[Path] | None,
    regions: int | None,
    epochs: int | None,
    limits: Sequence[str] | None,
    void: Sequence[str] | None,
    drop: Sequence[str] | None,
) -> RunConfig:
    """`config` with what options say: settings of files replace its own, and the number of epochs replaces theirs."""
    from neuralfactors.experiment import every_row, merge_parameters, read_settings_of

    layers = read_settings_of(settings or (), config.rows)
    merged = merge_parameters(config.parameters, *layers, every_row(config.rows, max_iter=epochs))
    return replace(
        config,
        features={**config.features, **({"n_regions": regions} if regions else {})},
        parameters={row: changes for row, changes in merged.items() if changes and row in ("*", *config.rows)},
        limits={**config.limits, **_limits(limits or (), config.rows)},
        void=(*config.void, *(void or ())),
        drop=(*config.drop, *(drop or ())),
    )


def _limits(limits: Sequence[str], rows: Sequence[str]) -> dict[str, int]:
    from neuralfactors.experiment import row_name

    found = {}
    for limit in limits:
        row, _, number = limit.rpartition("=")
        if not number.isdecimal():
            raise ValueError(f"limit must be a number of images, or ROW=N, got {limit!r}")
        if row and row_name(row) not in rows:
            raise ValueError(f"limit {limit!r} is for a row that is not asked for; the rows are {', '.join(rows)}")
        found[row_name(row) if row else "*"] = int(number)
    return found
