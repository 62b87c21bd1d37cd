"""One row of a run: trained, evaluated, written."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline

from neuralfactors.datasets.classes import Classes
from neuralfactors.estimators import Checkpoint, StructuredEstimator
from neuralfactors.experiment.config import RunConfig
from neuralfactors.experiment.data import HOLDOUT, REST, Means, Prepared, open_folder
from neuralfactors.experiment.examples import write_predictions
from neuralfactors.experiment.folder import FORMAT, HISTORY_FILE, METRICS_FILE, ROW_FILE, RunFolder, write_json
from neuralfactors.experiment.subsets import limited
from neuralfactors.experiment.variants import MODEL, VARIANTS
from neuralfactors.files import read_records, write_records
from neuralfactors.metrics import Scores
from neuralfactors.segmentation import Describer, LabelledGraphs, Segmenter, evaluate, mean_interaction


class HistoryWriter:
    """Callback that keeps history.jsonl up to date, a line an epoch, also across interruptions."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self, record: Mapping[str, Any]) -> None:
        """Add `record`; lines of its epoch and later ones, from before an interruption, go."""
        kept = [former for former in read_records(self.path, ["epoch"]) if former["epoch"] < record["epoch"]]
        write_records(self.path, [*kept, _told(record)])


def run_row(row: str, config: RunConfig, folder: RunFolder, prepared: Prepared, *, verbose: int = 0) -> None:
    """Train `row` into its folder; where a former attempt was interrupted, it goes on from the last epoch."""
    place = folder.row(row)
    train = limited(prepared.train, config.limit_of(row), config.seed, config.copies)
    estimator = build_row(row, config, prepared.describer.n_labels, len(train.X), place)
    balance = config.balance_of(row)
    before = float(folder.row_document(row).get("seconds", 0.0))
    start = time.monotonic()
    state: dict[str, Any] = {
        "format": FORMAT, "row": row, "settings": _settings(named_stages(estimator)), "status": "running",
        "error": None, "seconds": before, "seconds_per_epoch": None, "epochs": None, "best_epoch": None,
        "seed": config.seed, "balance": balance, "n_train": len(train.X) // config.copies,
    }  # fmt: skip
    write_json(place / ROW_FILE, state)
    segmenter = Segmenter(estimator=estimator, balance=balance, random_state=config.seed, verbose=verbose)
    try:
        fit_row(segmenter, prepared.describer, train, prepared.val)
    except KeyboardInterrupt:
        write_json(place / ROW_FILE, {**state, "seconds": before + time.monotonic() - start})
        raise
    except (ValueError, RuntimeError, ArithmeticError) as error:
        write_json(place / ROW_FILE, {**state, "status": "failed", "error": str(error)})
        raise
    used = zip([name for name, _ in named_stages(estimator)], segmenter.stages_, strict=True)
    state |= {"seconds": before + time.monotonic() - start, "settings": _settings(used)}
    state |= _epochs(segmenter.stages_[-1])
    segmenter.save_model(place)
    if prepared.test is not None:
        _write_results(place, segmenter, prepared.test, prepared.test_split or "")
        write_predictions(place / "predictions", segmenter, prepared.test, config.n_examples)
    write_json(place / ROW_FILE, {**state, "status": "done"})
    for path in place.glob("*.checkpoint"):
        path.unlink()


def fit_row(
    segmenter: Segmenter, describer: Describer, train: LabelledGraphs, validation: LabelledGraphs | None
) -> None:
    """Train the estimator of a row; CP ends after a number of rounds on purpose, of which nobody need be warned."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        segmenter.fit_graphs(describer, train, validation)


def build_row(
    row: str, config: RunConfig, n_labels: int, n_images: int, place: Path | None = None
) -> StructuredEstimator | Pipeline:
    """The estimator of `row` with the changes of `config`, writing checkpoints and history into the folder `place`."""
    cnn = "cnn" in config.features.get("features", "bow")
    model = VARIANTS[row].build(n_labels, n_images, config.changes(row), cnn=cnn)
    for name, stage in named_stages(model):
        if place is not None:
            stage.set_params(callbacks=_callbacks(name, stage, place))
    return model


def _callbacks(name: str, stage: StructuredEstimator, place: Path) -> list[Any]:
    found: list[Any] = [HistoryWriter(place / HISTORY_FILE)] if name == MODEL else []
    if "trainer" in stage.get_params():  # others cannot be resumed
        found.append(Checkpoint(place / f"{name}.checkpoint"))
    return found


def evaluate_row(
    folder: RunFolder, row: str, data: str | os.PathLike[str], split: str, config: RunConfig, means: Means
) -> dict[str, Any]:
    """Figures of a finished row on a split of a labelled folder, as JSON can hold them; void classes as in `config`."""
    holdout = config.holdout if split in (HOLDOUT, REST) else 0  # which other folders do not have
    images = open_folder(replace(_void_in(config, Path(data)), data=os.fspath(data), holdout=holdout))
    options = means.builder_options(len(images[split]))
    segmenter = Segmenter.load(folder.row(row), features=folder.features)
    segmenter.describer_ = Describer.load(folder.features, **options)
    segmenter.check_classes(images.classes, os.fspath(data))
    for sample in images[split]:
        sample.check()
    found = evaluate(segmenter, segmenter.describer_.describe(images[split]))
    return {"row": row, "classes": segmenter.class_names, **metrics_document(found.joint, split, found.n_images)}


def _void_in(config: RunConfig, data: Path) -> RunConfig:
    """`config` without the void classes that the folder `data` does not have."""
    if not data.is_dir():
        return config
    known = {entry.name for entry in Classes.read(data / "classes.txt").entries}
    void, drop = (tuple(name for name in names if name in known) for names in (config.void, config.drop))
    return replace(config, void=void, drop=drop)


def metrics_document(scores: Scores, split: str, n_images: int) -> dict[str, Any]:
    """What metrics.json and `neuralfactors evaluate --json` hold of a split: percentages by label, and the counts."""
    figures = scores.to_dict()
    return {
        "split": split,
        **{name: figures[name] for name in ("pixel", "class_mean", "mean_iou")},
        "per_class": list(figures["per_class"].values()),
        "iou": list(figures["iou"].values()),
        "confusion": scores.confusion.astype(int).tolist(),
        "n_images": n_images,
    }


def _write_results(place: Path, segmenter: Segmenter, test: LabelledGraphs, split: str) -> None:
    found = evaluate(segmenter, test)
    parts = {"unary": found.unary, "interaction": found.interaction, "joint": found.joint}
    figures = {part: scores.to_dict() for part, scores in parts.items()}
    ablation = {part: {name: figures[part][name] for name in ("pixel", "class_mean")} for part in parts}
    document = metrics_document(found.joint, split, found.n_images)
    write_json(place / METRICS_FILE, {**document, "ablation": ablation})
    table = mean_interaction(segmenter, test)
    if table.any():
        write_json(place / "interactions.json", {"labels": segmenter.class_names, "table": table.tolist()})


def _told(record: Mapping[str, Any]) -> dict[str, Any]:
    # Names as reports know them: "accuracy" alone would leave open of what.
    names = {"optimal": "proved", "accuracy": "val_accuracy"}
    return {names.get(name, name): value for name, value in record.items()}


def _epochs(stage: StructuredEstimator) -> dict[str, Any]:
    history = stage.history_
    seconds = [sum(record.get("seconds", {}).values()) for record in history]
    descent = getattr(stage, "descent_", None)
    return {
        "epochs": len(history),
        "seconds_per_epoch": sum(seconds) / len(seconds) if seconds else None,
        "best_epoch": descent.progress.best_epoch if descent is not None else None,
    }


def named_stages(model: StructuredEstimator | Pipeline) -> list[tuple[str, StructuredEstimator]]:
    """The estimators of a row with their names: "model", and before it "first" where training is bifurcated."""
    return list(model.steps) if isinstance(model, Pipeline) else [(MODEL, model)]


def _settings(stages: Iterable[tuple[str, StructuredEstimator]]) -> dict[str, Any]:
    return {name: {"class": type(stage).__name__, **_plain(stage.plain_params())} for name, stage in stages}


def _plain(parameters: Mapping[str, Any]) -> dict[str, Any]:
    left_out = ("callbacks", "verbose", "warm_start")
    # An array is the class weights that come of the balance, which row.json has.
    kept = {k: v for k, v in parameters.items() if k not in left_out and not isinstance(v, np.ndarray)}
    return {k: list(v) if isinstance(v, tuple) else v for k, v in kept.items()}
