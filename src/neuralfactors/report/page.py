"""The page: values of a run into one HTML file."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from neuralfactors.files import write_atomically
from neuralfactors.report import pictures, tables
from neuralfactors.report.charts import bars, curves, heatmaps, svg
from neuralfactors.report.findings import findings, plus_minus
from neuralfactors.report.published import PAPER, VARIANTS, published
from neuralfactors.report.reading import read_run
from neuralfactors.report.run import Row, Run

ASSETS = Path(__file__).with_name("assets")
SETS = {"msrc21": "MSRC-21", "kitti": "KITTI", "siftflow": "SIFT Flow"}
FEATURES = {"bow": "bag-of-words features", "cnn": "CNN features", "bow+cnn": "bag-of-words and CNN features"}


def write_report(run_folder: str | os.PathLike[str], out: str | os.PathLike[str] | None = None) -> Path:
    """The path of the HTML report of a run: one file that needs no network and loads no model.

    Parameters
    ----------
    run_folder : path
        The folder of a run, finished or not. What is missing or damaged is left out and named in the report.
    out : path
        The file to write, replaced in one step; None: `report.html` in the run folder.

    Raises
    ------
    FileNotFoundError
        Where there is no such folder.
    ValueError
        Where it is not a run folder, or one of a newer version.
    """
    run = read_run(run_folder)
    path = Path(out) if out is not None else run.folder / "report.html"
    if path.is_dir():
        raise ValueError(f"out must be a file, but {path} is a folder")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"out must be in a folder that exists, but there is none at {path.parent}")
    write_atomically(path, render(run).encode("utf-8", "replace"))  # a damaged name may hold what UTF-8 cannot
    return path


def render(run: Run) -> str:
    """The HTML of a run."""
    return _environment().get_template("page.html").render(**_context(run))


def _context(run: Run) -> dict[str, Any]:
    paper = published(run.text("preset"), run.text("features"))
    lines = tables.lines(run, paper)
    measured = [row for row in run.rows if row.metrics]
    shown = [line for line in lines if line.row in measured]
    slots = _slots(run)
    times, time_parts = bars.seconds_by_part(run.rows)
    examples = pictures.shown_examples(run)  # before `problems` is read: it may add some
    return {
        "run": run,
        "title": _title(run),
        "paper": paper,
        "paper_title": PAPER,
        "lines": lines,
        "evaluated_on": tables.evaluated_on(run),
        "slots": slots,
        "best": tables.best_row(run),
        "findings": findings(run, paper),
        "literature": tables.literature(run, paper),
        "overview": [
            (name, bars.rows_beside_paper(shown, key, f"{name} of each row, in percent"))
            for key, name in bars.MEASURES
            if shown
        ],
        "measured": measured,
        "classes": tables.class_cells(run, paper, measured),
        "class_figures": [
            (row, bars.class_bars(run, row, paper.rows.get(row.folder))) for row in measured if _any_class(row)
        ],
        "confusions": _confusions(run),
        "interactions": _interactions(run),
        "panels": curves.panels(run.rows, slots),
        "synergy": _synergy(run),
        "examples": examples,
        "layers": _layers(run),
        "viewer": {"palette": pictures.palette(run.classes), "names": [info.name for info in run.classes]},
        "times": times,
        "time_parts": time_parts,
        "settings": _settings(run),
        "chosen": "int+nrl" if run.row("int+nrl") in measured else (measured[-1].folder if measured else ""),
        "style": _asset("page.css"),
        "script": _asset("page.js"),
    }


def _any_class(row: Row) -> bool:
    return row.metrics is not None and any(value is not None for value in row.metrics.per_class)


def _slots(run: Run) -> dict[str, int]:
    """Place of each row among the colours: always the same one for a variant of the paper."""
    order = [variant.folder for variant in VARIANTS]
    order += [row.folder for row in run.rows if row.folder not in order]
    return {folder: slot % len(svg.MARKS) for slot, folder in enumerate(order)}


def _title(run: Run) -> str:
    data = run.text("data") or run.folder.name
    name = SETS.get(run.text("preset") or "", data)
    features = run.text("features")
    return f"{name}, {FEATURES.get(features, features)}" if features else name


def _confusions(run: Run) -> list[dict[str, Any]]:
    names = [info.name for info in run.classes]
    found = []
    for row in run.rows:
        confusion = row.metrics.confusion if row.metrics else None
        if confusion is not None:
            shares = heatmaps.row_percent(confusion)
            title = f"Confusion matrix of {row.name}; rows are true classes"
            found.append(
                {
                    "row": row,
                    "figure": heatmaps.confusion_map(confusion, names, title),
                    "largest": heatmaps.largest_confusions(confusion, names),
                    "cells": {"kind": "confusion", "values": _rounded(shares, 1), "counts": _rounded(confusion, 0)},
                }
            )
    return found


def _interactions(run: Run) -> list[dict[str, Any]]:
    names = [info.name for info in run.classes]
    return [
        {
            "row": row,
            "figure": heatmaps.interaction_map(row.interactions, names, f"Mean interaction scores of {row.name}"),
            "mean": float(row.interactions.mean()),
            "cells": {"kind": "interaction", "values": _rounded(row.interactions, 4)},
        }
        for row in run.rows
        if row.interactions is not None
    ]


def _synergy(run: Run) -> list[tuple[str, str, list[tuple[str, Markup]]]]:
    """(key, measure, (training, figure) of bifurcated and integrated rows)."""
    measured = [row for row in run.rows if row.metrics and row.metrics.ablation]
    groups = {kind: [row for row in measured if row.training == kind] for kind in ("bifurcated", "integrated")}
    groups["other"] = [row for row in measured if not row.training]
    return [
        (key, name, [(kind, bars.synergy(rows, key, f"{name}, {kind}")) for kind, rows in groups.items() if rows])
        for key, name in bars.MEASURES
        if any(groups.values())
    ]


def _layers(run: Run) -> list[tuple[str, str]]:
    return [("image", "picture"), ("truth", "truth"), *((row.folder, row.name) for row in run.rows)]


def _settings(run: Run) -> list[tuple[str, list[str]]]:
    """(setting, its value for each row) of all settings that any row has."""
    tables = [row.record.get("settings") for row in run.rows]
    flat = [_flatten(table) if isinstance(table, dict) else {} for table in tables]
    keys = list(dict.fromkeys(key for table in flat for key in table))
    return [(key, [table.get(key, "–") for table in flat]) for key in keys]


def _flatten(table: dict[str, Any], prefix: str = "") -> dict[str, str]:
    flat: dict[str, str] = {}
    for key, value in table.items():
        if isinstance(value, dict) and value:
            flat |= _flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return flat


def _rounded(values: Any, decimals: int) -> list[list[float]]:
    rounded = np.round(values, decimals)
    table: list[list[float]] = (rounded if decimals else rounded.astype(np.int64)).tolist()
    return table


@cache
def _environment() -> Environment:
    loader = FileSystemLoader(ASSETS)
    environment = Environment(
        loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined
    )
    environment.filters |= {"percent": svg.percent, "signed": svg.signed, "short": svg.short, "flatten": _flatten}
    environment.filters["plus_minus"] = plus_minus
    environment.globals |= {"mark": svg.mark, "dashes": svg.DASHES}
    return environment


@cache
def _asset(name: str) -> Markup:
    return Markup((ASSETS / name).read_text(encoding="utf-8"))
