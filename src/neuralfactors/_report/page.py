"""The page: results of a run into one HTML file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from neuralfactors._common.files import write_atomically
from neuralfactors._report import pictures, tables
from neuralfactors._report.charts import bars, curves, heatmaps, svg
from neuralfactors._report.effective import trained_by
from neuralfactors._report.findings import NOT_MEASURED, Finding, findings
from neuralfactors._report.published import PAPER, Published, published
from neuralfactors._report.results import RowResults, RunResults, read_results
from neuralfactors._runs import NAMES, USUAL, RunConfig, RunFolder
from neuralfactors._runs.documents import encode

ASSETS = Path(__file__).with_name("assets")
SETS = {"msrc21": "MSRC-21", "kitti": "KITTI", "siftflow": "SIFT Flow"}
FEATURES = {
    "bow": "bag-of-words features",
    "cnn": "CNN features",
    "bow+cnn": "bag-of-words and CNN features",
    "own": "own features",
}


def write_report(run_folder: str | os.PathLike[str], out: str | os.PathLike[str] | None = None) -> Path:
    """The path of the HTML report of a run: one file that works offline, made without loading a model.

    What is missing or damaged is left out and named in the report. It is `report.html` in the run folder, or `out`,
    replaced in one step. FileNotFoundError says that there is no such folder or no run in it, ValueError that the run
    cannot be read or is of another version.
    """
    results = read_results(run_folder)
    path = Path(out) if out is not None else RunFolder(Path(run_folder)).report
    if path.is_dir():
        raise ValueError(f"out must be a file, but {path} is a folder")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"out must be in a folder that exists, but there is none at {path.parent}")
    write_atomically(path, render(results).encode("utf-8", "replace"))  # a damaged name may hold what UTF-8 cannot
    return path


def render(results: RunResults) -> str:
    """The HTML of a run."""
    return _environment().get_template("page.html").render(**_context(results))


def _context(results: RunResults) -> dict[str, Any]:
    """All that the templates of the page refer to."""
    settings, classes = results.run.settings, results.run.classes
    paper = published(settings.preset, settings.feature_kind)
    lines = tables.lines(results, paper)
    measured = [row for row in results.rows if row.metrics]
    slots = {key: slot % len(svg.MARKS) for slot, key in enumerate(NAMES)}  # always the same colour for a variant
    times, time_parts = bars.seconds_by_part(results.rows)
    names = [(row.variant.key, row.variant.printed) for row in results.rows]
    examples = pictures.shown_examples(results)  # before `problems` is read: it may add some
    return {
        "results": results,
        "run": results.run,
        "title": _title(settings),
        "paper": paper,
        "lines": lines,
        "evaluated_on": tables.evaluated_on(results),
        "rooms": tables.rooms(results.rows),
        "advice": results.regions.advice([info.name for info in classes]) if results.regions else "",
        "slots": slots,
        "best": tables.best_row(results),
        "findings": _findings(results, paper) if len(measured) > 1 else [],
        "literature": tables.literature(results, paper),
        "overview": _overview([line for line in lines if results.row(line.variant) in measured]),
        "measured": measured,
        "classes": tables.class_cells(results, paper, measured),
        "class_figures": _class_figures(results, paper),
        "confusions": _confusions(results),
        "interactions": _interactions(results),
        "panels": curves.panels(results.rows, slots),
        "synergy": _synergy(results),
        "examples": examples,
        "layers": [("image", "picture"), ("truth", "truth"), *names],
        "viewer": {"palette": pictures.palette(classes), "names": [info.name for info in classes]},
        "times": times,
        "time_parts": time_parts,
        "run_settings": _flatten(encode(settings)),
        "row_settings": _aligned(_flatten(encode(row.row.settings)) for row in results.rows),
        "chosen": USUAL if results.row(USUAL) in measured else (measured[-1].variant.key if measured else ""),
    }


def _findings(results: RunResults, paper: Published) -> list[Finding]:
    """The paper's claims; of another set than the paper's, those that the run decides."""
    return [each for each in findings(results, paper) if paper.rows or each.verdict != NOT_MEASURED]


def _title(settings: RunConfig) -> str:
    features = FEATURES.get(settings.feature_kind, settings.feature_kind)
    return f"{SETS.get(settings.preset or '', settings.data_name)}, {features}"


def _overview(lines: list[tables.Line]) -> list[tuple[str, Markup]]:
    titles = {key: (name, f"{name} of each variant, in percent") for key, name in bars.MEASURES}
    return [(name, bars.rows_beside_paper(lines, key, title)) for key, (name, title) in titles.items() if lines]


def _class_figures(results: RunResults, paper: Published) -> list[tuple[RowResults, Markup]]:
    return [
        (row, bars.class_bars(results.run.classes, row, paper.rows.get(row.variant.key)))
        for row in results.rows
        if row.metrics and any(share is not None for share in row.metrics.per_class)
    ]


def _confusions(results: RunResults) -> list[dict[str, Any]]:
    """The confusion matrix of every row that was evaluated, as a figure, and its largest entries."""
    names = [info.name for info in results.run.classes]
    found = []
    for row in results.rows:
        if row.metrics:
            confusion = row.metrics.confusion
            title = f"Confusion matrix of {row.variant.printed}; rows are true classes"
            percent = np.round(100 * heatmaps.row_shares(confusion), 1).tolist()
            found.append(
                {
                    "row": row,
                    "figure": heatmaps.confusion_map(confusion, names, title),
                    "largest": heatmaps.largest_confusions(confusion, names),
                    "cells": {"kind": "confusion", "values": percent, "counts": confusion.tolist()},
                }
            )
    return found


def _interactions(results: RunResults) -> list[dict[str, Any]]:
    """Heat maps of the rows' mean interaction scores, where they have any."""
    names = [info.name for info in results.run.classes]
    tabled = [(row, row.metrics.interactions) for row in results.rows if row.metrics]
    return [
        {
            "row": row,
            "figure": heatmaps.interaction_map(table, names, f"Mean interaction scores of {row.variant.printed}"),
            "mean": float(table.mean()),
            "cells": {"kind": "interaction", "values": np.round(table, 4).tolist()},
        }
        for row, table in tabled
        if table is not None
    ]


def _synergy(results: RunResults) -> list[tuple[str, str, list[tuple[str, Markup]]]]:
    """(key, measure, (training, figure) of bifurcated and integrated variants)."""
    measured = [row for row in results.rows if row.metrics and row.metrics.ablation]
    groups = {kind: [row for row in measured if row.variant.training == kind] for kind in ("bifurcated", "integrated")}
    return [
        (key, name, [(kind, bars.synergy(rows, key, f"{name}, {kind}")) for kind, rows in groups.items() if rows])
        for key, name in bars.MEASURES
        if any(groups.values())
    ]


def _aligned(columns: Iterable[Mapping[str, str]]) -> list[tuple[str, list[str]]]:
    """(key, its value in each column) of all keys that any column has."""
    listed = list(columns)
    keys = dict.fromkeys(key for column in listed for key in column)
    return [(key, [column.get(key, "–") for column in listed]) for key in keys]


def _flatten(table: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """The entries of nested tables under their joined names, as text."""
    flat: dict[str, str] = {}
    for key, value in table.items():
        if isinstance(value, dict) and value:
            flat |= _flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return flat


@cache
def _environment() -> Environment:
    """What renders the templates: their filters, names and assets."""
    loader = FileSystemLoader(ASSETS)
    environment = Environment(
        loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined
    )
    environment.filters |= {"percent": svg.percent, "signed": svg.signed, "short": svg.short}
    environment.filters |= {"plus_minus": svg.plus_minus, "trained_by": trained_by}
    environment.globals |= {"mark": svg.mark, "dashes": svg.DASHES, "parts": bars.PARTS}
    environment.globals |= {"paper_title": PAPER, "names": NAMES}
    environment.globals |= {"style": _asset("page.css"), "script": _asset("page.js")}
    return environment


def _asset(name: str) -> Markup:
    return Markup((ASSETS / name).read_text(encoding="utf-8"))
