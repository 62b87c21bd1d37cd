"""The command that turns published image sets into folders that the others read: convert."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from neuralfactors._cli import options
from neuralfactors._cli.app import command
from neuralfactors._cli.terminal import tell
from neuralfactors._cli.terminal_tables import counted, show_json


@command("convert", "neuralfactors convert msrc21 MSRC_ObjCategImageDatabase_v2 msrc21")
def convert(
    published: Annotated[str, typer.Argument(metavar="SET", help="msrc21, kitti or siftflow.")],
    source: Annotated[Path, typer.Argument(metavar="SRC", help="Folder of the data set as published.")],
    target: Annotated[Path, typer.Argument(metavar="DST", help="Folder to write to; must be empty or new.")],
    as_json: options.AsJson = False,
) -> None:
    """Turn a published image set into a folder that 'train' reads."""
    from neuralfactors.datasets import ImageFolder
    from neuralfactors.datasets._convert import CONVERTERS

    if published not in CONVERTERS:
        raise ValueError(f"SET must be one of {', '.join(CONVERTERS)}, got {published!r}")
    count = CONVERTERS[published](source, target)
    splits = {split: len(names) for split, names in ImageFolder(target).splits.items()}
    if as_json:
        show_json({"images": count, "splits": splits, "folder": str(target)})
    else:
        told = ", ".join(f"{n} {split}" for split, n in splits.items())
        tell(f"{counted(count, 'image')} in {target} ({told}).")
