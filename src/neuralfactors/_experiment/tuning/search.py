"""Tuning: settings of a variant chosen on validation images, trial by trial; a killed search can be resumed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from neuralfactors._experiment.data import (
    Means,
    open_data,
    prepare,
    refuse_changed,
    training_samples,
    used_splits,
)
from neuralfactors._experiment.models import build_model, changes_of, check_config, targets_of
from neuralfactors._experiment.training import describe_run
from neuralfactors._experiment.tuning.space import Plan, dimensions
from neuralfactors._experiment.tuning.trials import Task, forget_prepared, run_trial
from neuralfactors._experiment.variants import MANY_IMAGES
from neuralfactors._runs import Run, RunConfig, RunFolder, Search, Settings, Trial
from neuralfactors._runs.lock import alone_in
from neuralfactors.datasets import ImageFolder
from neuralfactors.learning._distributed import Ranks
from neuralfactors.vision._parallel import map_items


def tune(
    config: RunConfig, search: Search, out: str | os.PathLike[str], means: Means | None = None, command: str = ""
) -> Path:
    """Choose settings of the first variant of `config` on validation images; the file of the best ones, in `out`.

    The score of a trial is the mean of pixel and class-mean accuracy on the validation images, or over all folds of the
    training images. A third of the trials are drawn close to the best of the others. Words and scaling come from all
    training images. A search of the same settings that is there already is resumed.
    """
    if Ranks.current().size > 1:
        raise ValueError("tune does not run under torchrun: divide its trials among machines with --dask")
    splits = replace(config.splits, test=None)
    if search.folds:
        splits = replace(splits, val=None, holdout=0)
    config = replace(config, variants=config.variants[:1], kind="tune", splits=splits)
    folder = RunFolder(Path(out))
    data = open_data(config)
    check_config(config)
    plan_of(config, search)  # refuses what cannot be searched before anything is written
    _check_validation(config, data, search)
    with alone_in(folder.path):
        if folder.is_begun:
            former = folder.run()
            folder.refuse_unless(former.search == search and former.settings == config.resolved())
        else:
            folder.document.write(describe_run(config, data, command, search=search))
        _make_trials(folder, means or Means())
    return folder.settings.path


def resume_search(folder: RunFolder, means: Means) -> None:
    """Make the trials that are left, and write the settings."""
    with alone_in(folder.path):
        _make_trials(folder, means)


def _make_trials(folder: RunFolder, means: Means) -> None:
    """Coarse trials, then fine ones around the best of these; each is on disk before the next begins."""
    run, trials = folder.run(), {trial.number: trial for trial in folder.trials.read()}
    plan = plan_of(run.settings, run.search or Search())
    if len(trials) < plan.n_trials:
        data = open_data(run.settings)
        refuse_changed(run, data)
        prepare(run.settings, data, folder, means)
        for numbers in (range(plan.n_coarse), range(plan.n_coarse, plan.n_trials)):
            best = best_trial(trials[n] for n in range(plan.n_coarse)).number if numbers.start else None
            left = {n: plan.parameters(n, best) for n in numbers if n not in trials}
            for trial in _run_trials(left, plan, folder, means):
                trials[trial.number] = trial
                folder.trials.write(trials.values())
        forget_prepared()
    _write_best(folder, run, trials)


def plan_of(config: RunConfig, search: Search) -> Plan:
    """The trials of a search."""
    variant = config.variants[0]
    balance = targets_of(config, variant).balance
    space = dimensions(build_model(variant, config, 2, MANY_IMAGES), balance, search.names)
    return Plan(space, search.n_trials, config.seed)


def best_trial(trials: Iterable[Trial]) -> Trial:
    """The trial with the highest score, the first of them; refused where none has succeeded."""
    made = list(trials)
    scored = {trial.number: trial.score for trial in made if trial.score is not None}
    if not scored:
        raise ValueError(f"every trial failed; the error of the first: {made[0].error}")
    best = max(scored, key=lambda number: (scored[number], -number))
    return next(trial for trial in made if trial.number == best)


def _check_validation(config: RunConfig, data: ImageFolder, search: Search) -> None:
    n_images = len(training_samples(config, data))
    if search.folds > n_images:
        raise ValueError(f"folds must be at most the number of training images, {n_images}")
    if not search.folds and used_splits(config, data)["val"] is None:
        raise ValueError("there is no validation split to choose settings by: use --validate, --holdout or --folds")


def _run_trials(
    left: Mapping[int, Mapping[str, float]], plan: Plan, folder: RunFolder, means: Means
) -> Iterable[Trial]:
    """The trials that are left, as they end."""
    cache = None if means.cache is None else os.fspath(means.cache)
    place = os.fspath(folder.path)
    tasks = [Task(place, cache, number, plan.stage(number), parameters) for number, parameters in left.items()]
    bar = "Trials" if means.verbose and tasks else None
    return map_items(
        run_trial, tasks, total=len(tasks), n_jobs=means.n_jobs or 1, dask=means.dask, progress=bar, ordered=False
    )


def _write_best(folder: RunFolder, run: Run, trials: Mapping[int, Trial]) -> None:
    """Write the settings of the best trial, and that the search is over."""
    config, best = run.settings, best_trial(trials.values())
    variant = config.variants[0]
    targets = {name: value for name, value in vars(targets_of(config, variant)).items() if value is not None}
    chosen = {**changes_of(config, variant), **targets, **best.parameters}
    settings = Settings(
        {variant: chosen}, config.data_name, config.preset, config.features, config.seed,
        len(trials), best.number, best.score, best.pixel, best.class_mean,
    )  # fmt: skip
    folder.settings.write(settings)
    folder.document.write(run.ended())
