"""The figures of a run or a comparison as data: what tables, and `docs/results.json`, are made of."""

from __future__ import annotations

import os
from typing import Any

from neuralfactors.report.comparison import lines
from neuralfactors.report.published import published
from neuralfactors.report.reading import read_run
from neuralfactors.report.run import Run, deviation, mean


def comparison_figures(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Every row of the run or comparison in `folder` with its figures over the seeds and the paper's, for JSON."""
    run = read_run(folder)
    paper = published(run.text("preset"), run.text("features"))
    rows = [
        {
            "row": line.name,
            **accuracies(run, line.folder),
            **{
                f"{key}_{what}": getattr(getattr(line, key), what)
                for key in ("pixel", "class_mean")
                for what in ("paper", "difference")
            },
        }
        for line in lines(run, paper)
        if line.row
    ]
    return {"preset": run.text("preset"), "features": run.text("features"), "rows": rows, "problems": run.problems}


def accuracies(run: Run, folder: str) -> dict[str, Any]:
    """Figures of a row: means over the seeds, standard deviations, and the values of each seed."""
    found: dict[str, Any] = {}
    for key in ("pixel", "class_mean"):
        values = run.by_seed(folder, key)
        found |= {key: mean(values.values()), f"{key}_std": deviation(values.values()), f"{key}_by_seed": values}
    found["seeds"] = sorted(found["pixel_by_seed"])
    for key in ("n_train", "epochs", "best_epoch", "seconds_per_epoch", "seconds"):
        found[key] = mean(run.by_seed(folder, key).values())
    return found
