"""Commands that train: demo, train, resume; and report, which shows what came out."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from neuralfactors.cli.app import (
    Backbone,
    CacheFolder,
    Dask,
    Drop,
    Interrupted,
    Jobs,
    Mirror,
    Regions,
    RunArgument,
    Settings,
    Void,
    cache_folder,
    command,
    command_line,
    feature_options,
    progress,
    tell,
)
from neuralfactors.cli.tables import show_results, show_rows

if TYPE_CHECKING:
    from neuralfactors.experiment import Means, RunConfig

DEMO_ROWS = ("unary", "SGD", "int+nrl")
Out = Annotated[Path, typer.Option("--out", "-o", metavar="RUN", help="Folder of the run; it must not hold one yet.")]


@command("demo", "neuralfactors demo --out runs/demo")
def demo(
    out: Out = Path("runs/demo"),
    scenes: Annotated[int, typer.Option(min=5, help="Number of scenes to draw.")] = 60,
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the training scenes.")] = 15,
    seed: Annotated[int, typer.Option(min=0, help="Of scenes, words and training.")] = 0,
) -> None:
    """Draw scenes in which only context tells sky from water, and learn them in three ways."""
    from neuralfactors.datasets import write_scenes
    from neuralfactors.experiment import Means, RunConfig

    config = RunConfig(
        str((out / "scenes").resolve()), DEMO_ROWS, "demo", {"n_regions": 120}, {"*": {"max_iter": epochs}},
        test_split="test", seed=seed,
    )  # fmt: skip
    begun = _is_begun(config, out, scenes)  # before scenes are written over those of another run
    if not begun:
        tell(f"Drawing {scenes} scenes: sky and water look alike, and which lies above land decides.")
        write_scenes(out / "scenes", scenes, random_state=seed)
    _train(config, out, Means(n_jobs=1, verbose=progress()), again=begun)
    tell("unary sees every region by itself; SGD adds linear interactions; int+nrl trains neural ones.")
    tell(f"What each part of int+nrl says: {_explain(out)}")
    tell(f"The report, for a browser:      {_write_report(out)}")


@command("train", "neuralfactors train photos --out runs/photos --features bow+cnn")
def train(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Folder with images/, labels/ and classes.txt.")],
    out: Out,
    method: Annotated[str, typer.Option(help="Row of the paper's table.")] = "int+nrl",
    features: Annotated[str, typer.Option(help="bow, cnn or bow+cnn.")] = "bow",
    regions: Regions = None,
    backbone: Backbone = None,
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
    mirror: Mirror = None,
    void: Void = None,
    drop: Drop = None,
    seed: Annotated[int, typer.Option(min=0, help="Of words, training and random splits.")] = 0,
    cache: CacheFolder = None,
    jobs: Jobs = None,
    dask: Dask = None,
    settings: Settings = None,
) -> None:
    """Train a model on a folder of labelled pictures; Ctrl-C leaves a run that 'resume' continues."""
    from neuralfactors.experiment import Means, RunConfig, every_row, merge_parameters, read_settings_of, row_name
    from neuralfactors.experiment.folder import typed
    from neuralfactors.segmentation import default_balance

    row = row_name(method)
    layers = read_settings_of(settings or (), [row])
    merged = merge_parameters(*layers, every_row([row], max_iter=epochs, balance=balance))
    parameters = {name: changes for name, changes in merged.items() if name in ("*", row)}
    config = RunConfig(
        str(data), (method,), "train", feature_options(features, regions, backbone), parameters,
        default_balance(features), split, validate, validate, mirror=bool(mirror), void=tuple(void or ()),
        drop=tuple(drop or ()), seed=seed,
    )  # fmt: skip
    _train(config, out, Means(cache_folder(cache), jobs, dask, progress()))
    tell(f"The model is in {out}. Next: neuralfactors predict {typed(out)} IMAGES --out DIR")


@command("resume", "neuralfactors resume runs/photos")
def resume(
    run: RunArgument,
    cache: CacheFolder = None,
    jobs: Jobs = None,
    dask: Dask = None,
) -> None:
    """Go on with a run that was interrupted; a finished one is left as it is."""
    from neuralfactors import experiment

    means = experiment.Means(cache_folder(cache), jobs, dask, progress())
    with resumable(run):
        experiment.resume(run, means)
    show_results(run)


@command("report", "neuralfactors report runs/demo")
def report(run: RunArgument) -> None:
    """Write a run's report: one HTML file that needs no network."""
    typer.echo(_write_report(run))


def _is_begun(config: RunConfig, out: Path, n_images: int) -> bool:
    """Whether `out` holds a run of `config` on so many images; refused where it holds another."""
    from neuralfactors.experiment import RunFolder

    if not (out / "run.json").exists():
        return False
    folder = RunFolder.open(out)
    document = folder.document()
    folder.refuse_unless(config.is_that_of(document["settings"]) and sum(document["splits"].values()) == n_images)
    return True


def _train(config: RunConfig, out: Path, means: Means, *, again: bool = False) -> None:
    """Run `config` into `out`, or with `again` go on with the run there, and show the result."""
    from neuralfactors import experiment

    with resumable(out):
        if again:
            experiment.resume(out, means)
        else:
            experiment.run(config, out, means, command_line())
    show_rows(out)


@contextmanager
def resumable(run: Path) -> Iterator[None]:
    """Where the work inside is interrupted, say how to go on with `run`."""
    try:
        yield
    except KeyboardInterrupt:
        from neuralfactors.experiment.folder import typed

        begun = (run / "run.json").exists()
        told = f"Interrupted: 'neuralfactors resume {typed(run)}' goes on." if begun else "Interrupted."
        raise Interrupted(told) from None


def _write_report(run: Path) -> str:
    from neuralfactors.report import write_report

    return os.fspath(write_report(run))


def _explain(run: Path, n_images: int = 3) -> Path:
    """Folder of pictures of the first examples: image, unary, interaction and joint labels side by side."""
    from neuralfactors.datasets import write_image
    from neuralfactors.segmentation import Segmenter

    figures = run / "figures"
    figures.mkdir(exist_ok=True)
    segmenter = Segmenter.load(run / "rows" / "int+nrl", features=run / "features")
    for path in sorted((run / "examples").glob("*.jpg"))[:n_images]:
        write_image(figures / f"{path.stem}.png", segmenter.explain(path).picture())
    return figures
