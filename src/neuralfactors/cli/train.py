"""The command that trains a model: train."""

from __future__ import annotations

from typing import Annotated

import typer

from neuralfactors.cli import options
from neuralfactors.cli.app import command, tell
from neuralfactors.cli.tables import show_rows
from neuralfactors.runs import USUAL, RunConfig, RunFolder, typed, variant_key


@command("train", "neuralfactors train photos --out runs/photos --features bow+cnn")
def train(
    data: options.Data,
    out: options.NewRun,
    variant: options.Variant = USUAL,
    features: options.Features = "bow",
    regions: options.Regions = None,
    backbone: options.Backbone = None,
    epochs: Annotated[
        int | None,
        typer.Option(min=1, help="Passes over the images.", show_default="25, or 16 with CNN; unary 50, CP 40"),
    ] = None,
    balance: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="0: classes count by area; 1: the same.", show_default="0, or 0.5 with CNN"),
    ] = None,
    split: Annotated[str, typer.Option(help="What to learn from; join several by +.")] = "train",
    validate: Annotated[str, typer.Option(help="Split to follow and judge the training by.")] = "val",
    mirror: options.Mirror = None,
    void: options.Void = None,
    drop: options.Drop = None,
    seed: Annotated[int, typer.Option(min=0, help="Of words, training and random splits.")] = 0,
    cache: options.Cache = None,
    jobs: options.Jobs = None,
    dask: options.Dask = None,
    settings: options.Settings = None,
) -> None:
    """Train a model on a folder of labelled pictures; Ctrl-C leaves a run that 'resume' continues."""
    from neuralfactors import experiment
    from neuralfactors.segmentation import default_balance

    key = variant_key(variant)
    layers = experiment.read_settings_of(settings or (), [key])
    given = experiment.every_variant([key], max_iter=epochs, balance=balance)
    config = RunConfig(
        str(data), (key,), "train", options.feature_options(features, regions, backbone),
        experiment.parameters_of([key], *layers, given), default_balance(features), split, validate, validate,
        mirror=bool(mirror), void=tuple(void or ()), drop=tuple(drop or ()), seed=seed,
    )  # fmt: skip
    with options.resumable(out):
        experiment.train(config, out, options.means(cache, jobs, dask), options.command_line())
    show_rows(RunFolder(out))
    tell(f"The model is in {out}. Next: neuralfactors predict {typed(out)} IMAGES --out DIR")
