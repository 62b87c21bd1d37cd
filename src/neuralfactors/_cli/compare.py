"""The command that trains the rows of the paper's table side by side: compare."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from neuralfactors._cli import choices, options
from neuralfactors._cli.app import command
from neuralfactors._cli.report import tell_report
from neuralfactors._cli.terminal_tables import show_comparison
from neuralfactors._runs import STATE_OF_THE_ART, TABLED, RunConfig, variant_key

Seeds = Annotated[
    int | None,
    typer.Option(
        metavar="N", min=1, help="Number of seeds to train each variant with.", show_default="1, or the preset's"
    ),
]
Test = Annotated[
    str | None, typer.Option(metavar="SPLIT", help="Split to evaluate.", show_default="test if it exists, else val")
]


@command("compare", "neuralfactors compare msrc21 --preset msrc21 --variants unary,SGD,int+nrl --out runs/msrc21")
def compare(
    data: options.Data,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="RUN", help="Folder of the comparison.")],
    preset: choices.PresetName = None,
    variants: Annotated[str, typer.Option(metavar="NAMES", help="Variants, separated by commas, or all.")] = "all",
    features: choices.Features = "bow",
    seeds: Seeds = None,
    settings: options.Settings = None,
    procedure: options.Procedure = RunConfig.procedure,
    changes: options.Changes = None,
    regions: options.Regions = None,
    regions_from: options.RegionsFrom = None,
    features_from: options.FeaturesFrom = None,
    pages: options.Pages = None,
    epochs: choices.Epochs = None,
    limit: choices.Limit = None,
    mirror: options.Mirror = None,
    varied: options.Varied = None,
    split: choices.Split = None,
    validate: choices.Validate = None,
    test: Test = None,
    void: options.Void = None,
    drop: options.Drop = None,
    cache: options.Cache = None,
    jobs: options.Jobs = None,
    dask: options.Dask = None,
    as_json: options.AsJson = False,
) -> None:
    """Train several variants, each with several seeds.

    Shows their accuracy on the test split, beside the paper's figures where a preset has them. Each seed is a run of
    its own, RUN/seed-K. To continue an interrupted comparison, call 'resume RUN' or repeat the command; only the
    variant CP starts again from its beginning.
    """
    from neuralfactors import _experiment as experiment

    chosen = choices.Choices(
        data, preset, features, settings, regions, epochs, limit, mirror, varied, split, validate, void, drop,
        procedure, changes, regions_from, features_from, pages,
    )  # fmt: skip
    config = chosen.config(_keys(variants, features), test=test)
    numbers = range(seeds or (chosen.known.seeds if chosen.known else 1))
    with options.resumable(out):
        experiment.compare(config, numbers, out, options.means(cache, jobs, dask), options.command_line())
    show_comparison(out, as_json=as_json)
    tell_report(out)


def _keys(variants: str, features: str) -> tuple[str, ...]:
    if variants == "all":
        return (*TABLED, STATE_OF_THE_ART) if "cnn" in features else TABLED
    return tuple(dict.fromkeys(map(variant_key, options.listed(variants))))
