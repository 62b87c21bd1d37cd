"""One trial of a search: settings of a row judged on validation images, in whatever process."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from neuralfactors.experiment.config import RunConfig
from neuralfactors.experiment.data import Means, Prepared, open_folder, prepare
from neuralfactors.experiment.folder import RunFolder
from neuralfactors.experiment.rows import build_row, fit_row, named_stages
from neuralfactors.experiment.settings_files import merge_parameters
from neuralfactors.experiment.subsets import limited, take, take_images
from neuralfactors.metrics import Scores, confusion_matrix
from neuralfactors.segmentation import LabelledGraphs, Segmenter

Trial = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """A trial to be made, in whatever process: all that it needs is in the folder and in the cache."""

    settings: dict[str, Any]
    folder: str
    cache: str | None
    folds: int
    number: int
    stage: str
    parameters: dict[str, float]


def run_trial(task: Task) -> Trial:
    """The record of a trial: its parameters, its score, and the error where it failed."""
    start = time.monotonic()
    record: Trial = {"trial": task.number, "stage": task.stage, "parameters": task.parameters}
    figures: dict[str, Any] = {"score": None, "pixel": None, "class_mean": None, "error": None}
    config = RunConfig(**task.settings)
    row = config.rows[0]
    config = replace(config, parameters=merge_parameters(config.parameters, {row: task.parameters}))
    try:
        prepared = _prepared(json.dumps(task.settings, sort_keys=True), task.folder, task.cache)
        scores = _validate(config, prepared, task.folds).to_dict()
        if scores["pixel"] is None:
            raise ValueError("the validation images have no labelled pixel")
        figures |= {name: scores[name] for name in ("pixel", "class_mean")}
        figures["score"] = (scores["pixel"] + scores["class_mean"]) / 2
    except (ValueError, RuntimeError, ArithmeticError) as error:
        figures["error"] = str(error)
    return {**record, **figures, "seconds": round(time.monotonic() - start, 2)}


@lru_cache(maxsize=1)
def _prepared(settings: str, folder: str, cache: str | None) -> Prepared:
    config = RunConfig(**json.loads(settings))
    return prepare(config, open_folder(config), RunFolder(Path(folder)), Means(cache, n_jobs=1))


def forget_prepared() -> None:
    """Let go of the images that trials in this process have shared."""
    _prepared.cache_clear()


def _validate(config: RunConfig, prepared: Prepared, folds: int) -> Scores:
    copies = config.copies
    train = limited(prepared.train, config.limit_of(config.rows[0]), config.seed, copies)
    if not folds:
        assert prepared.val is not None
        return _score(config, prepared, train, prepared.val)
    order = np.random.default_rng(config.seed).permutation(len(train.X) // copies)
    n_labels = prepared.describer.n_labels
    total = np.zeros((n_labels, n_labels))
    for fold in range(folds):
        kept, held = order[np.arange(len(order)) % folds != fold], order[fold::folds]
        learnt = take_images(train, sorted(kept), copies)
        judged = take(train, [copies * n for n in sorted(held)])  # as they are, without mirror images
        total += _score(config, prepared, learnt, judged).confusion
    return Scores(total)


def _score(config: RunConfig, prepared: Prepared, train: LabelledGraphs, held: LabelledGraphs) -> Scores:
    row = config.rows[0]
    model = build_row(row, config, prepared.describer.n_labels, len(train.X))
    segmenter = Segmenter(estimator=model, balance=config.balance_of(row), random_state=config.seed)
    follows = any(stage.get_params().get("trainer__keep") == "validation" for _, stage in named_stages(model))
    fit_row(segmenter, prepared.describer, train, held if follows else None)
    n_labels = prepared.describer.n_labels
    counts = np.zeros((n_labels, n_labels))
    for sample, image, graph in zip(held.samples, held.images, held.X, strict=True):
        counts += confusion_matrix(sample.read_labels(), image.paint(segmenter.label_graph(graph)), n_labels)
    return Scores(counts)
