"""The command that compares predictions with label maps: evaluate."""

from __future__ import annotations

from typing import Annotated

import typer

from neuralfactors._cli import options
from neuralfactors._cli.app import command
from neuralfactors._cli.terminal import echo
from neuralfactors._cli.terminal_tables import counted, percent, show_json, show_table
from neuralfactors._runs import Metrics, RunFolder
from neuralfactors._runs.documents import encode


@command("evaluate", "neuralfactors evaluate runs/photos photos --split test")
def evaluate(
    run: options.Run,
    data: options.Data,
    split: Annotated[
        str, typer.Option(metavar="SPLIT", help="Split of DATA to evaluate; join several with +.")
    ] = "test",
    variant: options.Trained = None,
    regions_from: options.RegionsFrom = None,
    features_from: options.FeaturesFrom = None,
    cache: options.Cache = None,
    jobs: options.Jobs = None,
    dask: options.Dask = None,
    as_json: options.AsJson = False,
) -> None:
    """Compare a model's predictions with label maps.

    Prints accuracy by pixels and by classes, IoU and the confusion matrix.
    """
    from neuralfactors._experiment import evaluate_row

    folder = RunFolder(run)
    row = folder.choose_row(variant)
    given = {"regions": options.as_text(regions_from), "features": options.as_text(features_from)}
    metrics = evaluate_row(folder, row, data, split, options.means(cache, jobs, dask), **given)
    names = [info.name for info in folder.run().classes]
    if as_json:
        show_json({"variant": row.variant, "classes": names, **encode(metrics)})
    else:
        _show(row.variant, names, metrics)


def _show(variant: str, names: list[str], metrics: Metrics) -> None:
    """Print the figures of an evaluation."""
    lines = zip(names, map(percent, metrics.per_class), map(percent, metrics.iou), strict=True)
    show_table(("class", "right %", "IoU %"), list(lines))
    echo("\nConfusion, in % of the true class: rows are true classes, columns predictions in the same order.")
    width = range(len(names))
    shares = [[f"{k} {names[k]}", *_shares(metrics.confusion[k].tolist())] for k in width]
    show_table(("", *map(str, width)), shares)
    figures = {"pixels": metrics.pixel, "classes": metrics.class_mean, "mean IoU": metrics.mean_iou}
    told = ", ".join(f"{name} {100 * share:.1f} %" for name, share in figures.items() if share is not None)
    echo(f"\n{variant} on {counted(metrics.n_images, 'image')} of {metrics.split}: {told}")


def _shares(counts: list[int]) -> list[str]:
    total = sum(counts)
    return [f"{100 * count / total:.0f}" if total else "–" for count in counts]
