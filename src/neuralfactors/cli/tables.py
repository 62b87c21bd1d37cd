"""Tables on the terminal."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer


def show_json(content: Any) -> None:
    """Print `content` as JSON."""
    typer.echo(json.dumps(content, indent=1, ensure_ascii=False))


def show_table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print `rows` under `heads`; the first column to the left, the others to the right."""
    cells = [[_cell(value) for value in row] for row in (heads, *rows)]
    widths = [max(len(row[k]) for row in cells) for k in range(len(heads))]
    for row in cells:
        first, *others = (row[k].ljust(widths[k]) if k == 0 else row[k].rjust(widths[k]) for k in range(len(row)))
        typer.echo("  ".join([first, *others]).rstrip())


def row_figures(run: Path) -> list[dict[str, Any]]:
    """What is known of every row of a run: status, accuracy, seconds."""
    from neuralfactors.experiment import RunFolder

    folder = RunFolder.open(run)
    found = []
    for row in folder.document()["settings"]["rows"]:
        state = folder.row_document(row)
        path = folder.row(row) / "metrics.json"
        metrics = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        figures = {name: metrics.get(name) for name in ("split", "pixel", "class_mean", "mean_iou")}
        times = {name: state.get(name) for name in ("epochs", "seconds", "seconds_per_epoch")}
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


def is_comparison(run: Path) -> bool:
    """Whether the run is a comparison of several seeds."""
    from neuralfactors.experiment import SEEDS, RunFolder

    return SEEDS in RunFolder.open(run).document()


def show_results(run: Path) -> None:
    """Print the table of a run's rows, or of a comparison's beside the paper's figures."""
    if is_comparison(run):
        show_comparison(run)
    else:
        show_rows(run)


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
    for problem in figures["problems"]:
        typer.echo(problem, err=True)


def _with_spread(value: float | None, spread: float | None) -> str:
    return "–" if value is None else f"{value:.1f}" + ("" if spread is None else f" ± {spread:.1f}")


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


def _signed(value: float | None) -> str:
    return "–" if value is None else f"{value:+.1f}".replace("-", "−")
