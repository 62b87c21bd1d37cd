"""The figures of a run or a comparison as data: what tables, and `docs/results.json`, are made of."""

from __future__ import annotations

import os
from typing import Any

from neuralfactors.report.findings import MEASURES
from neuralfactors.report.published import published
from neuralfactors.report.reading import read_run
from neuralfactors.report.run import ACCURACIES, Run, deviation, mean
from neuralfactors.report.tables import lines, training_images


def comparison_figures(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Every row of the run or comparison in `folder` with its figures over the seeds and the paper's, for JSON."""
    run = read_run(folder)
    evaluated = next((row.metrics for row in run.rows if row.metrics), None)
    paper = published(run.text("preset"), run.text("features"))
    rows = [
        {
            "row": line.name,
            **row_figures(run, line.folder),
            **{
                f"{key}_{what}": getattr(getattr(line, key), what)
                for key in MEASURES
                for what in ("paper", "difference")
            },
        }
        for line in lines(run, paper)
        if line.row
    ]
    return {
        "preset": run.text("preset"),
        "features": run.text("features"),
        "classes": [info.name for info in run.classes],
        "options": run.table("settings").get("features", {}),
        "mirror": bool(run.table("settings").get("mirror", False)),
        "n_train": training_images(run),
        "split": evaluated.split if evaluated else None,
        "n_images": evaluated.n_images if evaluated else None,
        "rows": rows,
        "problems": run.problems,
    }


def row_figures(run: Run, folder: str) -> dict[str, Any]:
    """Figures of a row: means over the seeds, standard deviations, the values of each seed, and what it was made of."""
    found: dict[str, Any] = {}
    for key in ACCURACIES:
        values = run.by_seed(folder, key)
        found |= {key: mean(values.values()), f"{key}_std": deviation(values.values())}
        found[f"{key}_by_seed"] = {str(seed): value for seed, value in values.items()}
    found["per_class"] = _per_class(run, folder)
    found["ablation"] = _ablation(run, folder)
    found["seeds"] = sorted(run.by_seed(folder, "pixel"))
    for key in ("n_train", "epochs", "best_epoch", "seconds_per_epoch", "seconds"):
        found[key] = mean(run.by_seed(folder, key).values())
    parameters = run.table("settings").get("parameters")
    tables = [parameters.get(key) for key in ("*", folder)] if isinstance(parameters, dict) else []
    found["settings"] = {name: value for table in tables if isinstance(table, dict) for name, value in table.items()}
    return found


def _per_class(run: Run, folder: str) -> list[float | None]:
    """Mean accuracy of each class over the seeds; None where it does not occur."""
    columns = zip(*(row.metrics.per_class for row in run.repeats(folder).values() if row.metrics), strict=True)
    return [mean(value for value in column if value is not None) for column in columns]


def _ablation(run: Run, folder: str) -> dict[str, dict[str, float | None]]:
    """Accuracy with one kind of factors alone and with both: means and standard deviations over the seeds."""
    tables = [row.metrics.ablation for row in run.repeats(folder).values() if row.metrics and row.metrics.ablation]
    found: dict[str, dict[str, float | None]] = {}
    for part in ("unary", "interaction", "joint") if tables else ():
        found[part] = {}
        for key in MEASURES:
            known = [value for table in tables if (value := table.get(part, {}).get(key)) is not None]
            found[part] |= {key: mean(known), f"{key}_std": deviation(known)}
    return found
