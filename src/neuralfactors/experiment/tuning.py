"""Tuning: settings of a row chosen on validation images, trial by trial, in a folder; a killed search goes on."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from neuralfactors.datasets import ImageFolder
from neuralfactors.experiment.config import RunConfig
from neuralfactors.experiment.folder import RUN_FILE, RunFolder, write_json
from neuralfactors.experiment.lock import alone_in
from neuralfactors.experiment.preparation import (
    Means,
    open_data,
    prepare,
    refuse_changed,
    training_samples,
    used_splits,
)
from neuralfactors.experiment.rehearsal import check_config
from neuralfactors.experiment.rows import build_row
from neuralfactors.experiment.run import now, run_document
from neuralfactors.experiment.settings import write_settings
from neuralfactors.experiment.space import Plan, dimensions
from neuralfactors.experiment.trials import Task, Trial, forget_prepared, run_trial
from neuralfactors.experiment.variants import BALANCE
from neuralfactors.vision.parallel import map_items

TRIALS_FILE, SETTINGS_FILE = "trials.jsonl", "settings.json"
CRITERION = "mean of pixel and class-mean accuracy on the validation images, in percent"


@dataclass(frozen=True)
class Search:
    """How to search: number of trials, names of parameters (None: the usual ones), folds (0: the validation split)."""

    n_trials: int = 30
    names: tuple[str, ...] | None = None
    folds: int = 0

    def __post_init__(self) -> None:
        if self.n_trials < 1:
            raise ValueError(f"trials must be at least 1, got {self.n_trials}")
        if self.folds < 0 or self.folds == 1:
            raise ValueError(f"folds must be at least 2, or 0 for the validation split, got {self.folds}")
        object.__setattr__(self, "names", None if self.names is None else tuple(self.names))


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
    if (folder.path / RUN_FILE).exists():
        former = folder.document()
        folder.refuse_unless(former.get("search") == document["search"] and config.is_that_of(former["settings"]))
        document = former
    write_json(folder.path / RUN_FILE, document)
    return resume_tuning(folder, document, means or Means())


def resume_tuning(folder: RunFolder, document: dict[str, Any], means: Means) -> Path:
    """The path of settings.json, after the trials that are left have been made."""
    with alone_in(folder.path):
        return _go_on(folder, document, means)


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
                _append(folder.path / TRIALS_FILE, trial)
                trials[trial["trial"]] = trial
        forget_prepared()
    return _write_best(folder, config, trials, document)


def plan_of(config: RunConfig, search: Search) -> Plan:
    """The trials of a search."""
    row = config.rows[0]
    space = dimensions(build_row(row, config, n_labels=2), config.balance_of(row), search.names)
    return Plan(space, search.n_trials, config.seed)


def read_trials(path: Path) -> dict[int, Trial]:
    """The trials made so far in the folder `path`, by number; a line that was being written is left out."""
    file = path / TRIALS_FILE
    found: dict[int, Trial] = {}
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        try:
            trial = json.loads(line)
        except ValueError:
            continue
        found[trial["trial"]] = trial
    return found


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


def _append(path: Path, trial: Trial) -> None:
    whole = not path.exists() or path.read_bytes().endswith(b"\n") or path.stat().st_size == 0
    with path.open("a", encoding="utf-8") as file:
        file.write(("" if whole else "\n") + json.dumps(trial) + "\n")
        file.flush()
        os.fsync(file.fileno())


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
