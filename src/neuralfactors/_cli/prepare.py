"""The command that computes features in advance: prepare."""

from __future__ import annotations

from typing import Annotated

import typer

from neuralfactors._cli import options
from neuralfactors._cli.app import command
from neuralfactors._cli.parameters import cache_folder
from neuralfactors._cli.terminal import tell
from neuralfactors._cli.terminal_tables import counted, show_json
from neuralfactors._runs import RunConfig, Splits


@command("prepare", "neuralfactors prepare photos --features bow+cnn --jobs -1")
def prepare(
    data: options.Data,
    features: options.Features = "bow",
    regions: options.Regions = None,
    regions_from: options.RegionsFrom = None,
    features_from: options.FeaturesFrom = None,
    pages: options.Pages = None,
    backbone: options.Backbone = None,
    split: Annotated[str, typer.Option(metavar="SPLIT", help="Split to learn the words from.")] = Splits.train,
    mirror: options.Mirror = None,
    varied: options.Varied = None,
    void: options.Void = None,
    drop: options.Drop = None,
    seed: Annotated[
        int, typer.Option(metavar="N", min=0, help="Random seed of words and random splits.")
    ] = RunConfig.seed,
    cache: options.Cache = None,
    jobs: options.Jobs = None,
    dask: options.Dask = None,
    as_json: options.AsJson = False,
) -> None:
    """Compute features in advance.

    Fills the cache, so that 'train' with the same options starts at once.
    """
    from neuralfactors._experiment import fill_cache

    config = RunConfig(
        str(data), features=options.feature_options(features, regions, backbone), splits=Splits(split),
        mirror=bool(mirror), varied=varied or 0, seed=seed,
        images=options.image_options(void, drop, regions_from, regions, features_from, features, pages),
    )  # fmt: skip
    count, folder = fill_cache(config, options.means(cache, jobs, dask)), cache_folder(cache)
    if as_json:
        show_json({"images": count, "cache": str(folder)})
    else:
        tell(f"The features of {counted(count, 'image')} are in {folder}.")
