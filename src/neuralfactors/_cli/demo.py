"""The command that shows what context does, on images that it draws: demo."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from neuralfactors._cli import options
from neuralfactors._cli.app import command
from neuralfactors._cli.report import tell_report
from neuralfactors._cli.terminal import progress, tell
from neuralfactors._cli.terminal_tables import show_rows
from neuralfactors._runs import USUAL, RunConfig, RunFolder, Splits
from neuralfactors._runs.names import ALL_VARIANTS, BASELINE


@command("demo", "neuralfactors demo --out runs/demo")
def demo(
    out: options.NewRun = Path("runs/demo"),
    scenes: Annotated[int, typer.Option(metavar="N", min=5, help="Number of scenes to draw.")] = 60,
    epochs: Annotated[int, typer.Option(metavar="N", min=1, help="Passes over the training scenes.")] = 15,
    seed: Annotated[
        int, typer.Option(metavar="N", min=0, help="Random seed of scenes, words and training.")
    ] = RunConfig.seed,
) -> None:
    """Draw scenes in which context matters, and train three models."""
    from neuralfactors import _experiment as experiment
    from neuralfactors.datasets import write_scenes

    folder = RunFolder(out)
    config = RunConfig(
        str(folder.scenes.resolve()), ("unary", BASELINE, USUAL), "demo", {"n_regions": 120},
        {ALL_VARIANTS: {"max_iter": epochs}}, splits=Splits(test="test"), seed=seed,
    )  # fmt: skip
    means = experiment.Means(n_jobs=1, verbose=progress())
    if folder.is_begun:  # and before scenes are written over those of another run
        run = folder.run()
        folder.refuse_unless(run.settings == config and sum(run.splits.values()) == scenes)
        with options.resumable(out):
            experiment.resume(out, means)
    else:
        tell(f"Drawing {scenes} scenes. Sky and water look alike; only the layout separates them.")
        write_scenes(folder.scenes, scenes, random_state=seed)
        with options.resumable(out):
            experiment.train(config, out, means, options.command_line())
    show_rows(folder)
    tell("unary labels each region on its own; SGD adds linear interactions; int+nrl trains neural ones.")
    _explain(folder)
    tell(f"Labels by each part of int+nrl: {folder.figures}")
    tell_report(out)


def _explain(folder: RunFolder, n_images: int = 3) -> None:
    """Pictures of the first examples: image, unary, interaction and joint labels side by side."""
    from neuralfactors.datasets import write_image
    from neuralfactors.segmentation import Segmenter

    folder.figures.mkdir(exist_ok=True)
    segmenter = Segmenter.load(folder.row(USUAL).path, features=folder.features)
    examples = folder.examples.read()
    for name in sorted(examples.names if examples else ())[:n_images]:
        write_image(folder.figures / f"{name}.png", segmenter.explain(folder.example_image(name)).picture())
