"""Tables on the terminal."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

SHOWN_TRIALS = 8


def show_json(content: Any) -> None:
    """Print `content` as JSON."""
    typer.echo(json.dumps(content, indent=1, ensure_ascii=False))


def counted(n: int, noun: str) -> str:
    """`n` and the `noun`, in the plural unless there is one.

    >>> counted(1, "image"), counted(0, "image")
    ('1 image', '0 images')
    """
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def show_table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print `rows` under `heads`; the first column to the left, the others to the right."""
    cells = [[_cell(value) for value in row] for row in (heads, *rows)]
    widths = [max(len(row[k]) for row in cells) for k in range(len(heads))]
    for row in cells:
        first, *others = (row[k].ljust(widths[k]) if k == 0 else row[k].rjust(widths[k]) for k in range(len(row)))
        typer.echo("  ".join([first, *others]).rstrip())


def row_figures(run: Path) -> list[dict[str, Any]]:
    """What is known of every row of a run, or of a comparison: status, accuracy, seconds."""
    from neuralfactors.experiment import SEEDS, RunFolder
    from neuralfactors.experiment.folder import HISTORY_FILE, METRICS_FILE, read_object
    from neuralfactors.files import read_records
    from neuralfactors.report import comparison_figures

    folder = RunFolder.open(run)
    if SEEDS in folder.document():
        rows: list[dict[str, Any]] = comparison_figures(run)["rows"]
        return rows
    found = []
    for row in folder.document()["settings"]["rows"]:
        state = folder.row_document(row)
        path = folder.row(row) / METRICS_FILE
        metrics = read_object(path) if path.exists() else {}
        figures = {name: metrics.get(name) for name in ("split", "pixel", "class_mean", "mean_iou")}
        times = {name: state.get(name) for name in ("epochs", "seconds", "seconds_per_epoch")}
        history = folder.row(row) / HISTORY_FILE
        if times["epochs"] is None and history.exists():  # not finished yet
            times["epochs"] = len(read_records(history))
        found.append({"row": row, "status": state.get("status", "waiting"), **figures, **times})
    return found


def show_rows(run: Path) -> None:
    """Print the table of a run's rows."""
    heads = ("row", "status", "split", "pixel %", "class %", "IoU %", "epochs", "seconds")
    names = ("row", "status", "split", "pixel", "class_mean", "mean_iou", "epochs", "seconds")
    show_table(heads, [[figures[name] for name in names] for figures in row_figures(run)])


def _cell(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:.1f}" if isinstance(value, float) else str(value)


def show_results(run: Path) -> None:
    """Print what came out: the rows of a run, those of a comparison beside the paper's, the trials of a search."""
    from neuralfactors.experiment import SEEDS, RunFolder

    document = RunFolder.open(run).document()
    if document["kind"] == "tune":
        show_trials(run)
    elif SEEDS in document:
        show_comparison(run)
    else:
        show_rows(run)


def show_trials(run: Path, *, as_json: bool = False) -> None:
    """Print the settings that a search has chosen, after its best trials."""
    from neuralfactors.experiment import read_trials
    from neuralfactors.experiment.folder import read_object

    trials = list(read_trials(run).values())
    best = sorted((t for t in trials if t["score"] is not None), key=lambda t: (-t["score"], t["trial"]))
    path = run / "settings.json"
    if as_json:
        show_json({"settings": read_object(path) if path.exists() else None, "trials": trials})
        return
    names = list(dict.fromkeys(name for trial in trials for name in trial["parameters"]))
    heads = ("trial", "score", "pixel %", "class %", *names)
    rows = []
    for trial in best[:SHOWN_TRIALS]:
        values = [trial["parameters"].get(name) for name in names]
        figures = (trial["score"], trial["pixel"], trial["class_mean"])
        rows.append([trial["trial"], *figures, *("as it was" if v is None else f"{v:g}" for v in values)])
    show_table(heads, rows)
    failed = len(trials) - len(best)
    typer.echo(counted(len(trials), "trial") + (f", {failed} of them failed" if failed else ""))


def show_comparison(run: Path, *, as_json: bool = False) -> None:
    """Print the table of a comparison: mean and standard deviation over the seeds, the paper's figures, differences."""
    from neuralfactors.report import comparison_figures

    figures = comparison_figures(run)
    if as_json:
        show_json(figures)
        return
    heads = ("row", "seeds", "pixel %", "paper", "diff", "class %", "paper", "diff", "images", "best epoch", "s/epoch")
    rows = []
    for row in figures["rows"]:
        cells: list[object] = [row["row"], len(row["seeds"])]
        for key in ("pixel", "class_mean"):
            cells += [_with_spread(row[key], row[f"{key}_std"]), row[f"{key}_paper"], _signed(row[f"{key}_difference"])]
        rows.append([*cells, *(_whole(row[key]) for key in ("n_train", "best_epoch")), row["seconds_per_epoch"]])
    show_table(heads, rows)
    if figures["split"]:
        typer.echo(f"Accuracies are of {counted(figures['n_images'], 'image')}, the split {figures['split']}.")
    for problem in figures["problems"]:
        typer.echo(problem, err=True)


def _with_spread(value: float | None, spread: float | None) -> str:
    return "–" if value is None else f"{value:.1f}" + ("" if spread is None else f" ± {spread:.1f}")


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


def _signed(value: float | None) -> str:
    return "–" if value is None else f"{value:+.1f}".replace("-", "−")
