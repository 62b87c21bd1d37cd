"""One row of a run: a variant trained, evaluated, written."""

from __future__ import annotations

import logging
import os
import time
import warnings
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from neuralfactors._common.parameters import Parameter
from neuralfactors._experiment.data import Means, Prepared, limited, open_folder
from neuralfactors._experiment.examples import chosen, write_predictions
from neuralfactors._experiment.models import build_model, named_stages, targets_of
from neuralfactors._runs import Ablation, Accuracy, Metrics, Row, RowFolder, RunConfig, RunFolder
from neuralfactors._runs.config import HOLDOUT, REST
from neuralfactors._runs.records import finite
from neuralfactors.datasets._classes import Classes
from neuralfactors.datasets._folder import CLASSES
from neuralfactors.estimators import StructuredEstimator
from neuralfactors.metrics import Scores
from neuralfactors.segmentation import Ceiling, Describer, Evaluation, LabelledGraphs, Segmenter, evaluate
from neuralfactors.segmentation._diagnosis import largest_class_alone, one_class_only
from neuralfactors.segmentation._fine_tuning import as_seen
from neuralfactors.segmentation._labelled_images import refuse_other_classes
from neuralfactors.segmentation._targets import Targets

LEFT_OUT = ("callbacks", "verbose", "warm_start")  # parameters that are not part of the result
logger = logging.getLogger(__name__)


def train_row(folder: RowFolder, config: RunConfig, prepared: Prepared, *, verbose: int = 0) -> None:
    """Train a variant into its folder; an interrupted attempt continues from the last epoch."""
    train, segmenter, targets = _begin(folder, config, prepared, verbose)
    model = segmenter.estimator
    former, start = folder.checked_row(), time.monotonic()
    before = former.seconds if former else 0.0
    settings, n_train = _settings(named_stages(model)), len(train.X) // config.copies
    row = Row(folder.variant, "unfinished", settings, config.seed, n_train=n_train, seconds=before, **vars(targets))
    folder.row.write(row)
    try:
        fit_segmenter(segmenter, prepared.describer, train, prepared.val)
    except KeyboardInterrupt:
        folder.row.write(replace(row, seconds=before + time.monotonic() - start))
        raise
    except (ValueError, RuntimeError, ArithmeticError) as error:
        folder.row.write(replace(row, status="failed", error=str(error)))
        raise
    row = _finished(replace(row, seconds=before + time.monotonic() - start), segmenter, model)
    segmenter.save_model(folder.path)
    if prepared.test is None:
        told = one_class_only(segmenter, train)
    else:
        test = as_seen(segmenter.describer_, prepared.test)
        found = evaluate(segmenter, test, chosen(len(test.X), config.n_examples))
        ceiling = test.ceiling(prepared.describer.n_labels)
        folder.metrics.write(full_metrics(found, prepared.test_split or "", ceiling))
        write_predictions(folder, found, test, segmenter.describer_.classes.palette)
        told = largest_class_alone(found.joint, segmenter.class_names)
    if told:
        logger.warning("%s: %s", folder.variant, told)
    folder.row.write(row)
    folder.remove_checkpoints()


def help_train_row(folder: RowFolder, config: RunConfig, prepared: Prepared, *, verbose: int = 0) -> None:
    """Take part in the training of a variant that another process writes."""
    train, segmenter, _ = _begin(folder, config, prepared, verbose)
    if any("trainer" in stage.get_params() for _, stage in named_stages(segmenter.estimator)):  # others train alone
        fit_segmenter(segmenter, prepared.describer, train, prepared.val)


def _begin(
    folder: RowFolder, config: RunConfig, prepared: Prepared, verbose: int
) -> tuple[LabelledGraphs, Segmenter, Targets]:
    """What a variant learns from, its model before it has learnt, and what it learns of labels."""
    train = limited(prepared.train, config.limit_of(folder.variant), config.seed, config.copies)
    n_labels = prepared.describer.n_labels
    model = build_model(folder.variant, config, n_labels, len(train.X), folder, train.labelled_share)
    targets = targets_of(config, folder.variant)
    return train, Segmenter(estimator=model, random_state=config.seed, verbose=verbose, **vars(targets)), targets


def fit_segmenter(
    segmenter: Segmenter, describer: Describer, train: LabelledGraphs, validation: LabelledGraphs | None
) -> None:
    """Train the model of a variant; without the warning that CP stopped early, which is intended."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        segmenter.fit_graphs(describer, train, validation)


def evaluate_row(
    folder: RunFolder,
    row: RowFolder,
    data: str | os.PathLike[str],
    split: str,
    means: Means,
    *,
    regions: str | None = None,
    features: str | None = None,
) -> Metrics:
    """Figures of a finished row on a split of `data`, an `ImageFolder` of the same classes; those of the run are void.

    `regions` and `features` are folders of those that come with the images, for a model that learnt from such; None:
    those of the run.
    """
    config = folder.run().settings
    holdout = config.splits.holdout if split in (HOLDOUT, REST) else 0  # which other folders do not have
    splits = replace(config.splits, holdout=holdout)
    config = replace(_void_in(config, Path(data)), data=os.fspath(data), splits=splits)
    own = replace(config.images, regions=regions or config.images.regions, features=features or config.images.features)
    images = open_folder(replace(config, images=own))
    segmenter = means.load(row, folder.features, len(images[split]))
    refuse_other_classes(images.classes, segmenter.describer_.classes, os.fspath(data))
    for sample in images[split]:
        sample.check()
    scores = segmenter.score_graphs(segmenter.describer_.describe(images[split]))
    return metrics_of(scores, split, len(images[split]))


def _void_in(config: RunConfig, data: Path) -> RunConfig:
    """`config` without the void classes that the folder `data` does not have."""
    if not data.is_dir():
        return config
    known = {entry.name for entry in Classes.read(data / CLASSES).entries}
    void, drop = (tuple(name for name in names if name in known) for names in (config.images.void, config.images.drop))
    return replace(config, images=replace(config.images, void=void, drop=drop))


def full_metrics(found: Evaluation, split: str, ceiling: Ceiling) -> Metrics:
    """What is recorded of an evaluation on images whose regions have that ceiling."""
    parts = Ablation(accuracy_of(found.unary), accuracy_of(found.interaction), accuracy_of(found.joint))
    table = found.mean_interaction
    metrics = metrics_of(found.joint, split, found.n_images)
    most = Accuracy(ceiling.pixel, ceiling.class_mean)
    return replace(metrics, ablation=parts, ceiling=most, interactions=table if table.any() else None)


def metrics_of(scores: Scores, split: str, n_images: int) -> Metrics:
    """What is recorded of predictions alone."""
    return Metrics(
        split=split,
        n_images=n_images,
        pixel=finite(scores.pixel_accuracy),
        class_mean=finite(scores.class_mean_accuracy),
        mean_iou=finite(scores.mean_iou),
        per_class=tuple(map(finite, scores.class_accuracy.tolist())),
        iou=tuple(map(finite, scores.iou.tolist())),
        confusion=scores.confusion.astype(np.int64),
    )


def accuracy_of(scores: Scores) -> Accuracy:
    """The two figures that variants are compared by."""
    return Accuracy(finite(scores.pixel_accuracy), finite(scores.class_mean_accuracy))


def _finished(row: Row, segmenter: Segmenter, model: Any) -> Row:
    """`row` with the settings that were used, such as those that follow from the data, and what came of the epochs."""
    used = zip([name for name, _ in named_stages(model)], segmenter.stages_, strict=True)
    last = segmenter.stages_[-1]
    seconds = [sum(record.get("seconds", {}).values()) for record in last.history_]
    descent = getattr(last, "descent_", None)
    return replace(
        row,
        status="done",
        settings=_settings(used),
        epochs=len(seconds),
        seconds_per_epoch=sum(seconds) / len(seconds) if seconds else None,
        best_epoch=descent.progress.best_epoch if descent is not None else None,
    )


def _settings(stages: Iterable[tuple[str, StructuredEstimator]]) -> dict[str, dict[str, Parameter]]:
    """Class and parameters of every estimator, as a row records them."""
    found: dict[str, dict[str, Parameter]] = {}
    for name, stage in stages:
        known = {key: value for key, value in stage.plain_params().items() if key not in LEFT_OUT}
        # An array is the class weights that come of the balance, which the row has.
        plain = {key: value for key, value in known.items() if not isinstance(value, np.ndarray)}
        found[name] = {"class": type(stage).__name__, **plain}
    return found
