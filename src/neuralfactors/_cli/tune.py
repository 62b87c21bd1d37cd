"""The command that chooses settings on validation images: tune."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from neuralfactors._cli import choices, options
from neuralfactors._cli.app import command
from neuralfactors._cli.terminal import tell
from neuralfactors._cli.terminal_tables import show_trials
from neuralfactors._runs import USUAL, RunConfig, RunFolder, Search, variant_key

Trials = Annotated[
    int, typer.Option(metavar="N", min=1, help="Number of settings to try, first coarsely, then finely.")
]
Folds = Annotated[int, typer.Option(metavar="N", min=0, help="Cross-validation folds; 0 uses the validation split.")]
Holdout = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Validate on this many training images, drawn at random.")
]
Names = Annotated[
    str | None,
    typer.Option(metavar="NAMES", help="Parameters to search, separated by commas.", show_default="all that apply"),
]
Validate = Annotated[str | None, typer.Option(metavar="SPLIT", help="Split to validate on.", show_default="val")]
Seed = Annotated[
    int, typer.Option(metavar="N", min=0, help="Random seed of the search, words, training and random splits.")
]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", "-j", metavar="N", help="Trials to run in parallel; -1 for one per core.", show_default="1"),
]
Dask = Annotated[
    str | None,
    typer.Option("--dask", metavar="SCHEDULER", help="Run on a Dask cluster that can access DATA and TUNED."),
]


@command("tune", "neuralfactors tune msrc21 --preset msrc21 --variant int+nrl --trials 30 --out runs/tuned")
def tune(
    data: options.Data,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="TUNED", help="Folder of the search.")],
    variant: options.Variant = USUAL,
    preset: choices.PresetName = None,
    features: choices.Features = "bow",
    trials: Trials = Search.n_trials,
    folds: Folds = Search.folds,
    holdout: Holdout = None,
    search: Names = None,
    settings: options.Settings = None,
    procedure: options.Procedure = RunConfig.procedure,
    changes: options.Changes = None,
    regions: options.Regions = None,
    epochs: choices.Epochs = None,
    limit: choices.Limit = None,
    mirror: options.Mirror = None,
    varied: options.Varied = None,
    split: choices.Split = None,
    validate: Validate = None,
    void: options.Void = None,
    drop: options.Drop = None,
    seed: Seed = RunConfig.seed,
    cache: options.Cache = None,
    jobs: Jobs = None,
    dask: Dask = None,
    as_json: options.AsJson = False,
) -> None:
    """Choose the settings of a variant on validation images.

    Writes TUNED/settings.json for 'train' and 'compare'. The search covers C and the learning rate, separately for
    unary and interaction factors, the balance of classes, and t0 and momentum if the training uses them: first coarsely
    around the present settings, then finely around the best. The best has the highest mean of pixel and class-mean
    accuracy. Test images are not used. To continue an interrupted search, call 'resume TUNED' or repeat the command.
    """
    from neuralfactors import _experiment as experiment

    chosen = choices.Choices(
        data, preset, features, settings, regions, epochs, limit, mirror, varied, split, validate, void, drop,
        procedure, changes,
    )  # fmt: skip
    config = chosen.config([variant_key(variant)], tuning=True, holdout=_held(holdout, validate, folds), seed=seed)
    plan = Search(trials, None if search is None else options.listed(search), folds)
    with options.resumable(out):
        experiment.tune(config, plan, out, options.means(cache, jobs, dask), options.command_line())
    show_trials(folder := RunFolder(out), as_json=as_json)
    tell(f"The settings are in {folder.settings.path}. Next: {_next_command(chosen, variant, seed, folder)} --out RUN")


def _held(holdout: int | None, validate: str | None, folds: int) -> int | None:
    """Training images to hold out; None: as many as the preset does."""
    if folds and (holdout or validate):
        raise ValueError("--folds validates on the training images: leave out --holdout and --validate")
    return holdout or (0 if validate else None)


def _next_command(chosen: choices.Choices, variant: str, seed: int, folder: RunFolder) -> str:
    """The command that uses the settings that were found on the same data."""
    if chosen.preset:
        words = ["compare", chosen.data, "--preset", chosen.preset, "--variants", variant]
    else:
        words = ["train", chosen.data, "--variant", variant, *(["--mirror"] if chosen.mirror else [])]
        words += _given(seed=seed or None)
    features = chosen.features if chosen.features != "bow" else None
    procedure = chosen.procedure if chosen.procedure != RunConfig.procedure else None
    words += _given(features=features, procedure=procedure, regions=chosen.regions, split=chosen.split)
    words += [word for each in chosen.changes or () for word in ("--set", each)]
    words += [word for name in chosen.void or () for word in ("--void", name)]
    words += [word for name in chosen.drop or () for word in ("--drop", name)]
    return shlex.join(map(str, ["neuralfactors", *words, "--settings", folder.settings.path]))


def _given(**values: object) -> list[object]:
    """Words of a command line for the options that are not None."""
    return [word for name, value in values.items() if value is not None for word in (f"--{name}", value)]
