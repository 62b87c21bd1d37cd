"""Tuning: settings of a row chosen on validation images, trial by trial, in a folder; a killed search goes on."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from neuralfactors.datasets import ImageFolder
from neuralfactors.experiment.config import RunConfig, Search
from neuralfactors.experiment.data import (
    Means,
    open_data,
    prepare,
    refuse_changed,
    training_samples,
    used_splits,
)
from neuralfactors.experiment.folder import RUN_FILE, RunFolder, write_json
from neuralfactors.experiment.rehearsal import check_config
from neuralfactors.experiment.rows import build_row
from neuralfactors.experiment.settings_files import write_settings
from neuralfactors.experiment.training import now, run_document
from neuralfactors.experiment.tuning.space import Plan, dimensions
from neuralfactors.experiment.tuning.trials import Task, Trial, forget_prepared, run_trial
from neuralfactors.experiment.variants import BALANCE, MANY_IMAGES
from neuralfactors.files import read_records, write_records
from neuralfactors.runs.lock import alone_in
from neuralfactors.vision.parallel import map_items

TRIALS_FILE, SETTINGS_FILE = "trials.jsonl", "settings.json"
TRIAL_KEYS = ("trial", "parameters", "score", "pixel", "class_mean", "error")
CRITERION = "mean of pixel and class-mean accuracy on the validation images, in percent"


def tune(
    config: RunConfig, search: Search, out: str | os.PathLike[str], means: Means | None = None, command: str = ""
) -> Path:
    """The path of settings.json in the folder `out`: the best settings found for the first row of `config`.

    The score of a trial is the mean of pixel and class-mean accuracy on the validation images, or over all folds of the
    training images. A third of the trials are drawn close to the best of the others. Words and scaling come from all
    training images. A search of the same settings that is there already is gone on with.
    """
    config = replace(config, rows=config.rows[:1], kind="tune", test_split=None)
    if search.folds:
        config = replace(config, val_split=None, holdout=0)
    folder = RunFolder(Path(out))
    data = open_data(config)
    check_config(config)
    plan_of(config, search)  # refuses what cannot be searched before anything is written
    _check_validation(config, data, search)
    document = {**run_document(config, data, command), "search": json.loads(json.dumps(asdict(search)))}
    with alone_in(folder.path):
        if (folder.path / RUN_FILE).exists():
            former = folder.document()
            folder.refuse_unless(former.get("search") == document["search"] and config.is_that_of(former["settings"]))
            document = former
        else:
            write_json(folder.path / RUN_FILE, document)
        return _go_on(folder, document, means or Means())


def resume_tuning(folder: RunFolder, means: Means) -> Path:
    """The path of settings.json, after the trials that are left have been made."""
    with alone_in(folder.path):
        return _go_on(folder, folder.document(), means)


def _go_on(folder: RunFolder, document: dict[str, Any], means: Means) -> Path:
    config, search = RunConfig(**document["settings"]), Search(**document["search"])
    plan = plan_of(config, search)
    trials = read_trials(folder.path)
    if len(trials) < plan.n_trials:
        data = open_data(config)
        refuse_changed(document, config, data)
        prepare(config, data, folder, means)
        for numbers in (range(plan.n_coarse), range(plan.n_coarse, plan.n_trials)):
            best = best_trial(trials[n] for n in range(plan.n_coarse))["trial"] if numbers.start else None
            left = {n: plan.parameters(n, best) for n in numbers if n not in trials}
            for trial in _run_trials(left, plan, folder, document, means):
                trials[trial["trial"]] = trial
                write_records(folder.path / TRIALS_FILE, trials.values())
        forget_prepared()
    return _write_best(folder, config, trials, document)


def plan_of(config: RunConfig, search: Search) -> Plan:
    """The trials of a search."""
    row = config.rows[0]
    space = dimensions(build_row(row, config, n_labels=2, n_images=MANY_IMAGES), config.balance_of(row), search.names)
    return Plan(space, search.n_trials, config.seed)


def read_trials(path: Path) -> dict[int, Trial]:
    """The trials made so far in the folder `path`, by number; refused where a line is altered."""
    return {trial["trial"]: trial for trial in read_records(path / TRIALS_FILE, TRIAL_KEYS)}


def best_trial(trials: Iterable[Trial]) -> Trial:
    """The trial with the highest score, the first of them; refused where none has succeeded."""
    made = list(trials)
    scored = [trial for trial in made if trial["score"] is not None]
    if not scored:
        raise ValueError(f"no trial has succeeded; the first one says: {made[0]['error']}")
    return max(scored, key=lambda trial: (trial["score"], -trial["trial"]))


def _check_validation(config: RunConfig, data: ImageFolder, search: Search) -> None:
    n_images = len(training_samples(config, data))
    if search.folds > n_images:
        raise ValueError(f"folds must be at most the number of training images, {n_images}")
    if not search.folds and used_splits(config, data)["val"] is None:
        raise ValueError("there is no validation split to choose settings by: use --validate, --holdout or --folds")


def _run_trials(
    left: dict[int, dict[str, float]], plan: Plan, folder: RunFolder, document: dict[str, Any], means: Means
) -> Iterable[Trial]:
    cache = None if means.cache is None else os.fspath(means.cache)
    common = (document["settings"], os.fspath(folder.path), cache, document["search"]["folds"])
    tasks = [Task(*common, number, plan.stage(number), parameters) for number, parameters in left.items()]
    bar = "Trials" if means.verbose and tasks else None
    return map_items(
        run_trial, tasks, total=len(tasks), n_jobs=means.n_jobs or 1, dask=means.dask, progress=bar, ordered=False
    )


def _write_best(folder: RunFolder, config: RunConfig, trials: dict[int, Trial], document: dict[str, Any]) -> Path:
    row, best = config.rows[0], best_trial(trials.values())
    chosen = {**config.changes(row), BALANCE: config.balance_of(row), **best["parameters"]}
    facts = {name: best[name] for name in ("score", "pixel", "class_mean", "trial")}
    facts |= {"data": document["data"], "preset": config.preset, "features": dict(config.features), "seed": config.seed}
    path = folder.path / SETTINGS_FILE
    write_settings(path, {row: chosen}, criterion=CRITERION, trials=len(trials), **facts)
    if not document["finished"]:
        write_json(folder.path / RUN_FILE, {**document, "finished": now()})
    return path
