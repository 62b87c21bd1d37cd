"""Arguments and options that several commands share, and what they mean to the library."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast, get_args

import typer

from neuralfactors._cli.parameters import cache_folder
from neuralfactors._cli.terminal import Interrupted, progress
from neuralfactors._common.parameters import Parameter
from neuralfactors._runs import NAMES, RunFolder, typed
from neuralfactors._runs.config import ImageOptions, PageUse

if TYPE_CHECKING:
    from neuralfactors._experiment import Means
    from neuralfactors._experiment.procedures import Procedure as Began

Run = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.")]
Data = Annotated[Path, typer.Argument(metavar="DATA", help="Folder with images/, labels/ and classes.txt.")]
NewRun = Annotated[
    Path, typer.Option("--out", "-o", metavar="RUN", help="Folder for the run; must not contain one yet.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON; accuracies are shares from 0 to 1.")]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        "-j",
        metavar="N",
        help="Processes that compute features; -1 for one per core.",
        show_default="as needed",
    ),
]
Dask = Annotated[str | None, typer.Option("--dask", metavar="SCHEDULER", help="Compute features on a Dask cluster.")]
Cache = Annotated[
    Path | None,
    typer.Option(
        "--cache",
        metavar="DIR",
        envvar="NEURALFACTORS_CACHE",
        help="Folder that caches features.",
        show_default="~/.cache/neuralfactors",
    ),
]
Variant = Annotated[
    str,
    typer.Option(metavar="NAME", help=f"Row of the paper's table: {', '.join(NAMES)}."),
]
Trained = Annotated[
    str | None,
    typer.Option("--variant", metavar="NAME", help="Variant whose model to use.", show_default="int+nrl, or the last"),
]
Features = Annotated[
    str, typer.Option(metavar="KIND", help="bow, cnn, bow+cnn, or own: only those of --features-from.")
]
Regions = Annotated[
    str | None,
    typer.Option(
        metavar="N|auto",
        help="Number of regions per image; auto: as many as the labels need.",
        show_default="auto, or the preset's",
    ),
]
RegionsFrom = Annotated[
    Path | None,
    typer.Option(
        "--regions-from",
        metavar="DIR",
        help="Folder of your own regions: NAME.png or NAME.npy, a number or colour for each region.",
        show_default="regions are found",
    ),
]
FeaturesFrom = Annotated[
    Path | None,
    typer.Option(
        "--features-from",
        metavar="DIR",
        help="Folder of your own features: NAME.npy, (H, W, D) or a row for each of your regions.",
        show_default="none",
    ),
]
Pages = Annotated[
    str | None,
    typer.Option(
        metavar="USE", help="What pages of a TIFF are: channels of one picture, or pictures.", show_default="refused"
    ),
]
Backbone = Annotated[
    str | None,
    typer.Option(
        "--backbone",
        metavar="NAME",
        help="Network for CNN features: efficientnet-lite0 to 2, timm:MODEL, or an .onnx file.",
        show_default="efficientnet-lite2",
    ),
]
Finetune = Annotated[
    int | None,
    typer.Option(
        "--finetune",
        metavar="BLOCKS",
        min=0,
        help="Also train this many of the network's last blocks, 1 to 8; needs CNN features.",
        show_default="0",
    ),
]
Epochs = Annotated[
    int | None,
    typer.Option(
        metavar="N", min=1, help="Passes over the images.", show_default="25, or 16 with CNN; unary 50, CP at most 100"
    ),
]
Balance = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE",
        min=0,
        max=1,
        help="0 weights classes by area, 1 equally.",
        show_default="0.5, less for classes that few images show",
    ),
]
Split = Annotated[str, typer.Option(metavar="SPLIT", help="Split to learn from; join several with +.")]
Validate = Annotated[str, typer.Option(metavar="SPLIT", help="Split to monitor training on and to evaluate.")]
Mirror = Annotated[
    bool | None, typer.Option("--mirror/--no-mirror", help="Also learn from mirror images.", show_default="no-mirror")
]
Varied = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=0,
        help="Also learn from N copies of every image at another size, gamma and saturation.",
        show_default="0",
    ),
]
Void = Annotated[list[str] | None, typer.Option("--void", metavar="CLASS", help="Class to treat as void; repeatable.")]
Drop = Annotated[
    list[str] | None, typer.Option("--drop", metavar="CLASS", help="Class to leave out of training; repeatable.")
]
Settings = Annotated[
    list[Path] | None, typer.Option("--settings", metavar="FILE", help="Settings file that 'tune' wrote; repeatable.")
]
Procedure = Annotated[
    str,
    typer.Option(
        metavar="NAME", help="How to train: usual, or literal, the paper's procedure word for word (docs/literal.md)."
    ),
]
Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Change a feature option or a parameter, as in words__root=false or trainer__optimizer=sgd; repeatable.",
    ),
]
Seed = Annotated[int, typer.Option(metavar="N", min=0, help="Random seed of words, training and random splits.")]

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


def changes(assigned: Sequence[str] | None, **given: Parameter) -> tuple[dict[str, Parameter], dict[str, Parameter]]:
    """What --set says of features, and of parameters; values are JSON, or else words. Those `given` replace them.

    >>> changes(["words__root=false", "C=10", "decoder__method=trws"])
    ({'words__root': False}, {'C': 10, 'decoder__method': 'trws'})
    """
    from neuralfactors.vision._settings import is_option

    features: dict[str, Parameter] = {}
    parameters: dict[str, Parameter] = {}
    for each in assigned or ():
        name, equals, value = each.partition("=")
        if not equals:
            raise ValueError(f"set must be NAME=VALUE, got {each!r}")
        of_features = is_option(name)
        (features if of_features else parameters)[name] = _value(value)
    return features, parameters | {name: value for name, value in given.items() if value is not None}


def begin(procedure: str, assigned: Sequence[str] | None, **given: Parameter) -> tuple[Began, dict[str, Parameter]]:
    """The procedure of that name with the features that --set says, and what is said of parameters; see `changes`."""
    from neuralfactors._experiment import procedure_called

    began, (features, parameters) = procedure_called(procedure), changes(assigned, **given)
    if "features" in features:
        raise ValueError("set cannot change features here, which are an option of their own: use --features")
    return replace(began, features={**began.features, **features}), parameters


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def region_options(regions: str | None) -> dict[str, int]:
    """The option of `FeatureSettings` that `regions` means, where it was given: 0 is auto.

    >>> region_options("auto"), region_options("500")
    ({'n_regions': 0}, {'n_regions': 500})
    """
    if regions is None:
        return {}
    if regions != "auto" and not (regions.isdecimal() and int(regions)):
        raise ValueError(f"regions must be a number of at least 1, or auto, got {regions!r}")
    return {"n_regions": 0 if regions == "auto" else int(regions)}


def as_text(path: Path | None) -> str | None:
    """`path` as JSON can hold it."""
    return None if path is None else str(path)


def own_regions(regions_from: Path | None, regions: str | None) -> str | None:
    """The folder of regions of one's own as a run names it; refused where a number of `regions` is given, too."""
    if regions is not None and regions_from is not None:
        raise ValueError("regions and regions-from exclude each other: regions of your own have their number")
    return as_text(regions_from)


def own_features(features_from: Path | None, features: str) -> str | None:
    """The folder of features of one's own as a run names it; refused where there must be one and is none."""
    if features == "own" and features_from is None:
        raise ValueError("features is 'own': say where they are by features-from")
    return as_text(features_from)


def page_use(pages: str | None) -> PageUse | None:
    """What the pages of a TIFF are, if anything was said."""
    if pages is not None and pages not in get_args(PageUse):
        raise ValueError(f"pages must be {' or '.join(get_args(PageUse))}, got {pages!r}")
    return cast(PageUse | None, pages)


def image_options(
    void: Sequence[str] | None,
    drop: Sequence[str] | None,
    regions_from: Path | None,
    regions: str | None,
    features_from: Path | None,
    features: str,
    pages: str | None,
) -> ImageOptions:
    """How images are to be read, as the options say."""
    own = own_regions(regions_from, regions), own_features(features_from, features)
    return ImageOptions(tuple(void or ()), tuple(drop or ()), *own, page_use(pages))


def feature_options(
    features: str, regions: str | None, backbone: str | None, finetune: int | None = None
) -> dict[str, Parameter]:
    """Options of `FeatureSettings`: those that were given, so that the others keep their defaults."""
    if backbone is not None and "cnn" not in features:
        raise ValueError(f"backbone applies only to CNN features, but features is {features!r}")
    if backbone is not None and backbone.lower().endswith(".onnx"):
        backbone = str(Path(backbone).resolve())  # the model may be used from anywhere
    named = {"backbone": backbone, "cnn__finetune": finetune}
    given = {name: value for name, value in named.items() if value is not None}
    return {"features": features, **region_options(regions), **given}


def means(cache: Path | None, jobs: int | None, dask: str | None) -> Means:
    """How to compute, as the options say."""
    from neuralfactors._experiment import Means

    return Means(cache_folder(cache), jobs, dask, progress())


def command_line() -> str:
    """The running command, as a user would type it."""
    return shlex.join(["neuralfactors", *sys.argv[1:]])


@contextmanager
def resumable(run: Path) -> Iterator[None]:
    """If the work inside is interrupted, say how to resume `run`."""
    try:
        yield
    except KeyboardInterrupt:
        begun = RunFolder(run).is_begun
        told = f"Interrupted. To continue: neuralfactors resume {typed(run)}" if begun else "Interrupted."
        raise Interrupted(told) from None
