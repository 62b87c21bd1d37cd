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
