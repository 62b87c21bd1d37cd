"""One trial of a search: settings of a variant judged on validation images, in whatever process."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from neuralfactors._experiment.data import Means, Prepared, limited, open_folder, prepare, take_images
from neuralfactors._experiment.models import build_model, named_stages, targets_of
from neuralfactors._experiment.rows import accuracy_of, fit_segmenter
from neuralfactors._experiment.settings_files import parameters_of
from neuralfactors._runs import RunConfig, RunFolder, Trial
from neuralfactors.metrics import Scores
from neuralfactors.segmentation import LabelledGraphs, Segmenter
from neuralfactors.segmentation._fine_tuning import as_seen


@dataclass(frozen=True)
class Task:
    """A trial to be made, in whatever process: all else that it needs is in the folder and in the cache."""

    folder: str
    cache: str | None
    number: int
    stage: str
    parameters: Mapping[str, float]


def run_trial(task: Task) -> Trial:
    """The record of a trial: its parameters, its score, and the error where it failed."""
    start, run = time.monotonic(), RunFolder(Path(task.folder)).run()
    trial, config = Trial(task.number, task.stage, task.parameters), run.settings
    changed = parameters_of(config.variants, config.parameters, {config.variants[0]: task.parameters})
    try:
        prepared, folds = _prepared(task.folder, task.cache), run.search.folds if run.search else 0
        reached = accuracy_of(_validate(replace(config, parameters=changed), prepared, folds))
        if reached.pixel is None or reached.class_mean is None:
            raise ValueError("the validation images have no labelled pixel")
        score = (reached.pixel + reached.class_mean) / 2
        trial = replace(trial, score=score, pixel=reached.pixel, class_mean=reached.class_mean)
    except (ValueError, RuntimeError, ArithmeticError) as error:
        trial = replace(trial, error=str(error))
    return replace(trial, seconds=round(time.monotonic() - start, 2))


@lru_cache(maxsize=1)
def _prepared(folder: str, cache: str | None) -> Prepared:
    place = RunFolder(Path(folder))
    config = place.run().settings
    return prepare(config, open_folder(config), place, Means(cache, n_jobs=1))


def forget_prepared() -> None:
    """Release the images that trials in this process share."""
    _prepared.cache_clear()


def _validate(config: RunConfig, prepared: Prepared, folds: int) -> Scores:
    """Scores on the validation images, or summed over `folds` parts of the training images, each left out once."""
    copies = config.copies
    train = limited(prepared.train, config.limit_of(config.variants[0]), config.seed, copies)
    if not folds:
        assert prepared.val is not None
        return _score(config, prepared, train, prepared.val)
    order = np.random.default_rng(config.seed).permutation(len(train.X) // copies)
    n_labels = prepared.describer.n_labels
    total = np.zeros((n_labels, n_labels))
    for fold in range(folds):
        kept, held = order[np.arange(len(order)) % folds != fold], order[fold::folds]
        learned = take_images(train, sorted(kept), copies)
        judged = train.take([copies * n for n in sorted(held)])  # as they are, without mirror images
        total += _score(config, prepared, learned, judged).confusion
    return Scores(total)


def _score(config: RunConfig, prepared: Prepared, train: LabelledGraphs, held: LabelledGraphs) -> Scores:
    """Figures on held-out images of a model that `train` would make."""
    variant = config.variants[0]
    model = build_model(variant, config, prepared.describer.n_labels, len(train.X), labelled=train.labelled_share)
    targets = targets_of(config, variant)
    segmenter = Segmenter(estimator=model, random_state=config.seed, **vars(targets))
    follows = any(stage.get_params().get("trainer__keep") == "validation" for _, stage in named_stages(model))
    fit_segmenter(segmenter, prepared.describer, train, held if follows else None)
    return segmenter.score_graphs(as_seen(segmenter.describer_, held))
