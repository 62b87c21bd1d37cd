"""Tables on the terminal."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuralfactors._cli.terminal import echo
from neuralfactors._runs import NAMES, Metrics, Row, RowFolder, RunFolder
from neuralfactors._runs.claims import Interval, claims_document
from neuralfactors._runs.documents import encode

SHOWN_TRIALS = 8


def show_json(content: Any) -> None:
    """Print `content` as JSON."""
    echo(json.dumps(content, indent=1, ensure_ascii=False))


def counted(n: int, noun: str) -> str:
    """`n` and the `noun`, in the plural unless there is one.

    >>> counted(1, "image"), counted(0, "image")
    ('1 image', '0 images')
    """
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def percent(share: float | None) -> float | None:
    """A share in percent, or None."""
    return None if share is None else 100 * share


def show_table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print `rows` under `heads`; the first column to the left, the others to the right."""
    cells = [[_cell(value) for value in row] for row in (heads, *rows)]
    widths = [max(len(row[k]) for row in cells) for k in range(len(heads))]
    for row in cells:
        first, *others = (row[k].ljust(widths[k]) if k == 0 else row[k].rjust(widths[k]) for k in range(len(row)))
        echo("  ".join([first, *others]).rstrip())


def _cell(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:.1f}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class RowProgress:
    """Progress and metrics of a variant of a run."""

    variant: str
    row: Row | None
    n_epochs: int  # so far
    metrics: Metrics | None


def row_progress(folder: RowFolder) -> RowProgress:
    """Progress of the variant in `folder`."""
    return RowProgress(folder.variant, folder.checked_row(), len(folder.history.read()), folder.metrics.read())


def show_rows(folder: RunFolder) -> None:
    """Print the table of a run's variants."""
    lines = []
    for each in map(row_progress, folder.rows()):
        status, seconds = (each.row.status, each.row.seconds) if each.row else ("waiting", None)
        figures = (getattr(each.metrics, key, None) for key in ("pixel", "class_mean", "mean_iou"))
        split = each.metrics.split if each.metrics else None
        lines.append([each.variant, status, split, *map(percent, figures), each.n_epochs or None, seconds])
    show_table(("variant", "status", "split", "pixel %", "class %", "IoU %", "epochs", "seconds"), lines)


def show_results(run: Path) -> None:
    """Print the results: the variants of a run, those of a comparison beside the paper's, the trials of a search."""
    folder = RunFolder(run)
    record = folder.run()
    if record.search:
        show_trials(folder)
    elif record.seeds:
        show_comparison(run)
    else:
        show_rows(folder)


def show_trials(folder: RunFolder, *, as_json: bool = False) -> None:
    """Print the best trials of a search, or with `as_json` all of them and the settings that it has chosen."""
    trials = folder.trials.read()
    if as_json:
        show_json({"settings": encode(folder.settings.read()), "trials": encode(trials)})
        return
    scores = {trial.number: trial.score for trial in trials if trial.score is not None}
    best = sorted((trial for trial in trials if trial.number in scores), key=lambda t: (-scores[t.number], t.number))
    names = list(dict.fromkeys(name for trial in trials for name in trial.parameters))
    lines = []
    for trial in best[:SHOWN_TRIALS]:
        values = [f"{trial.parameters[name]:g}" if name in trial.parameters else "unchanged" for name in names]
        lines.append([trial.number, *map(percent, (trial.score, trial.pixel, trial.class_mean)), *values])
    show_table(("trial", "score %", "pixel %", "class %", *names), lines)
    failed = len(trials) - len(best)
    echo(counted(len(trials), "trial") + (f", {failed} of them failed" if failed else ""))


def show_comparison(run: Path, *, as_json: bool = False) -> None:
    """Print the table of a comparison: mean and standard deviation over the seeds, the paper's figures, differences."""
    from neuralfactors._report import compare_with_paper, read_results
    from neuralfactors._report.charts.svg import percent as told
    from neuralfactors._report.charts.svg import plus_minus, signed

    figures = compare_with_paper(read_results(run))
    if as_json:
        show_json(encode(figures))
        return
    in_paper = any(cell.paper is not None for row in figures.rows for cell in (row.pixel, row.class_mean))
    beside = ("paper", "diff") if in_paper else ()
    lines = []
    for row in figures.rows:
        cells: list[object] = [NAMES[row.variant].printed, len(row.seeds)]
        for cell in (row.pixel, row.class_mean):
            cells += [told(cell.ours) + plus_minus(cell.spread)]
            cells += [told(cell.paper), signed(cell.difference)] if in_paper else []
        how = row.training
        lines.append([*cells, *map(_whole, (how.n_train, how.best_epoch)), how.seconds_per_epoch])
    show_table(("variant", "seeds", "pixel %", *beside, "class %", *beside, "images", "best epoch", "s/epoch"), lines)
    if figures.split:
        echo(f"Accuracies are for {counted(figures.n_images or 0, 'image')} of the split {figures.split}.")
    for problem in figures.problems:
        echo(problem, err=True)


def show_claims(folder: Path, *, as_json: bool = False) -> None:
    """Print what an experiment says of every claim: the differences of its sides in points, and their intervals."""
    report = claims_document(folder).read()
    assert report is not None
    if as_json:
        show_json(encode(report))
        return
    lines = []
    for claim in report.claims:
        found = [_points(claim.difference[key]) for key in ("pixel", "class_mean")]
        lines.append([claim.claim, claim.regression, *found, claim.verdict])
    show_table(("claim", "regression", "pixel", "class mean", "verdict"), lines)
    echo(f"Differences in points on {counted(report.n_images, 'image')}, {counted(len(report.seeds), 'seed')}.")


def _points(found: Interval) -> str:
    return f"{100 * found.value:+.1f} ({100 * found.low:+.1f} to {100 * found.high:+.1f})"


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)
