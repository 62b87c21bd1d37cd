"""Comparisons: the same variants trained with several seeds, an ordinary run folder for each."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter

from neuralfactors._common.time_left import told_progress
from neuralfactors._experiment.data import Means, open_data, open_folder, refuse_changed, used_splits
from neuralfactors._experiment.models import check_config, usable_run
from neuralfactors._experiment.training import describe_run, leader_alone_in, resume_run, threads_of, train
from neuralfactors._experiment.tuning.search import resume_search
from neuralfactors._runs import Run, RunConfig, RunFolder
from neuralfactors.learning._distributed import Ranks

logger = logging.getLogger(__name__)


def compare(
    config: RunConfig, seeds: Sequence[int], out: str | os.PathLike[str], means: Means | None = None, command: str = ""
) -> Path:
    """Train and evaluate the same variants with several seeds, a run folder each in `out`; the folder.

    A comparison of the same settings that is there already is resumed; it may be given more seeds. Refused where the
    images have neither a split `test` nor `val` to evaluate variants on, or the folder holds another run.
    """
    seeds = tuple(dict.fromkeys(seeds))
    if not seeds:
        raise ValueError("seeds must name at least one seed")
    config = replace(config, seed=seeds[0])
    data = open_folder(config)
    if not used_splits(config, data)["test"]:
        missing, present = config.splits.test, config.splits.val
        config = replace(config, splits=replace(config.splits, test=present))
        if not used_splits(config, data)["test"]:
            raise ValueError(
                f"{data.root} has neither {missing} nor {present} to evaluate on: name a split with --test"
            )
        logger.info("There is no split %s, so rows are evaluated on %s", missing, present)
    folder, ranks = RunFolder(Path(out)), Ranks.current()
    if not ranks.said_by_leader(folder.is_begun):
        check_config(config)
        open_data(config)  # refuses what cannot be learned from before anything is written
    with leader_alone_in(folder.path):
        if ranks.leads:
            begun = folder.is_begun  # perhaps only now, by another process
            run = _begun(folder, config, seeds) if begun else describe_run(config, data, command, seeds=seeds)
            folder.document.write(run)
        ranks.wait()
        _resume_seeds(folder, folder.run(), means or Means())
    return folder.path


def _begun(folder: RunFolder, config: RunConfig, seeds: tuple[int, ...]) -> Run:
    """The comparison in `folder`, with all of `seeds`; refused where it has other settings."""
    run = folder.run()
    folder.refuse_unless(run.seeds is not None and {*run.seeds} <= {*seeds} and run.settings == config.resolved())
    return run if run.seeds == seeds else replace(run, seeds=seeds, finished=None)


def resume(path: str | os.PathLike[str], means: Means | None = None) -> Path:
    """The folder of a run, a comparison or a search for settings, after the remaining work is done."""
    folder, means = RunFolder(Path(path)), means or Means()
    run = usable_run(folder)
    if run.search:
        resume_search(folder, means)
    elif not run.seeds:
        resume_run(folder, means)
    else:
        with leader_alone_in(folder.path):
            _resume_seeds(folder, folder.run(), means)
    return folder.path


def _is_finished(place: RunFolder) -> bool:
    """Whether nothing is left to do for a seed."""
    return place.is_begun and place.run().finished is not None


def _resume_seeds(folder: RunFolder, run: Run, means: Means) -> None:
    """Every seed in turn: continued where it has begun, trained from scratch where not."""
    ranks = Ranks.current()
    with threads_of(run):
        if not run.finished:
            refuse_changed(run, open_folder(run.settings))
        seeds, start = run.seeds or (), perf_counter()
        n_before = sum(_is_finished(folder.seed(seed)) for seed in seeds)
        for number, seed in enumerate(seeds):
            place = folder.seed(seed)
            if len(seeds) > 1 and number >= n_before:
                told = told_progress(number - n_before, len(seeds) - n_before, perf_counter() - start)
                logger.info("seed %d (%s)", seed, told)
            if ranks.said_by_leader(place.is_begun):
                resume_run(place, means)
            else:  # all seeds are judged by the same images
                splits = replace(run.settings.splits, seed=run.settings.seed)
                train(replace(run.settings, seed=seed, splits=splits), place.path, means, run.command)
    if ranks.leads and not run.finished:
        folder.document.write(run.ended())
    ranks.wait()
