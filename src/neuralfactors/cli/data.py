"""Commands about data: convert published sets, prepare features."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from neuralfactors.cli.app import (
    AsJson,
    Backbone,
    CacheFolder,
    Dask,
    Drop,
    Jobs,
    Mirror,
    Regions,
    Void,
    cache_folder,
    command,
    feature_options,
    progress,
    tell,
)
from neuralfactors.cli.tables import counted, show_json


@command("convert", "neuralfactors convert msrc21 MSRC_ObjCategImageDatabase_v2 msrc21")
def convert(
    published: Annotated[str, typer.Argument(metavar="SET", help="msrc21, kitti or siftflow.")],
    source: Annotated[Path, typer.Argument(metavar="SRC", help="Folder of the set as published.")],
    target: Annotated[Path, typer.Argument(metavar="DST", help="Folder to write; it must be empty.")],
    as_json: AsJson = False,
) -> None:
    """Turn a published image set into the layout that the other commands read."""
    from neuralfactors.datasets import CONVERTERS, ImageFolder

    if published not in CONVERTERS:
        raise ValueError(f"SET must be one of {', '.join(CONVERTERS)}, got {published!r}")
    count = CONVERTERS[published](source, target)
    splits = {split: len(names) for split, names in ImageFolder(target).splits.items()}
    if as_json:
        show_json({"images": count, "splits": splits, "folder": str(target)})
    else:
        told = ", ".join(f"{n} {split}" for split, n in splits.items())
        tell(f"{counted(count, 'image')} in {target} ({told}).")


@command("prepare", "neuralfactors prepare photos --features bow+cnn --jobs -1")
def prepare(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Folder with images/, labels/ and classes.txt.")],
    features: Annotated[str, typer.Option(help="bow, cnn or bow+cnn.")] = "bow",
    regions: Regions = None,
    backbone: Backbone = None,
    split: Annotated[str, typer.Option(help="What words are learnt from.")] = "train",
    mirror: Mirror = None,
    void: Void = None,
    drop: Drop = None,
    seed: Annotated[int, typer.Option(min=0, help="Of words and random splits.")] = 0,
    cache: CacheFolder = None,
    jobs: Jobs = None,
    dask: Dask = None,
    as_json: AsJson = False,
) -> None:
    """Fill the cache with the features of all images, so that 'train' with the same options starts at once."""
    from neuralfactors.experiment import Means, RunConfig, fill_cache

    config = RunConfig(
        str(data), features=feature_options(features, regions, backbone), train_split=split,
        mirror=bool(mirror), void=tuple(void or ()), drop=tuple(drop or ()), seed=seed,
    )  # fmt: skip
    folder = cache_folder(cache)
    count = fill_cache(config, Means(folder, jobs, dask, progress()))
    if as_json:
        show_json({"images": count, "cache": str(folder)})
    else:
        tell(f"The features of {counted(count, 'image')} are in {folder}.")
