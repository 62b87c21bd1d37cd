"""What a run folder records: the run, its rows, their metrics and epochs, the trials of a search.

Accuracies are shares from 0 to 1 wherever they are stored; percent is for tables and pages alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from neuralfactors._common.ceiling import Ceiling, Stop
from neuralfactors._common.parameters import Parameter
from neuralfactors._runs.config import Parameters, RunConfig, Search

Status = Literal["unfinished", "failed", "done"]
Counts = NDArray[np.int64]
Table = NDArray[np.float64]


@dataclass(frozen=True)
class ClassInfo:
    """Name and colour of a class."""

    name: str
    color: tuple[int, int, int]

    def __post_init__(self) -> None:
        if not all(0 <= value <= 255 for value in self.color):
            raise ValueError(f"color must contain numbers from 0 to 255, got {self.color}")


@dataclass(frozen=True)
class Run:
    """A run, a comparison (which has `seeds`, a run each) or a search for settings (which has `search`)."""

    settings: RunConfig
    splits: Mapping[str, int]  # number of images; "test": 0 where nothing is evaluated
    classes: tuple[ClassInfo, ...]
    threads: int  # of torch
    versions: Mapping[str, str | None]  # of packages
    started: str
    finished: str | None = None
    command: str = ""
    data_digest: str | None = None  # of classes and names of images
    seeds: tuple[int, ...] | None = None
    search: Search | None = None

    def __post_init__(self) -> None:
        if (self.settings.kind == "tune") != (self.search is not None):
            raise ValueError("a run must have a search if its kind is tune, and only then")
        if self.seeds == ():
            raise ValueError("seeds must name at least one seed")

    @property
    def has_test(self) -> bool:
        """Whether there are images to evaluate rows on."""
        return self.splits.get("test") != 0

    @property
    def n_train(self) -> int | None:
        """How many images there are to learn from."""
        return self.splits.get(self.settings.splits.learnt)

    def ended(self) -> Run:
        """The same, finished now unless it was before."""
        return replace(self, finished=self.finished or now())


@dataclass(frozen=True)
class Regions:
    """The regions of a run's training images, and what labels of regions can reach there at most."""

    n_regions: int  # that each image was to have
    compactness: float
    chosen: bool  # by the labels of the training images, or given
    mean: int  # how many an image has
    ceiling: Ceiling
    stop: Stop | None = None  # why regions that were chosen are not finer

    def advice(self, names: Sequence[str]) -> str:
        """What to do where the ceiling is low, with the names of the classes; else empty."""
        return self.ceiling.advice(names, self.mean, self.stop)


@dataclass(frozen=True)
class Row:
    """A variant in a run: how far its training is, and what it was made of."""

    variant: str
    status: Status
    settings: Mapping[str, Mapping[str, Parameter]]  # class and parameters of each estimator
    seed: int
    balance: float | None  # None: by how many images show each class
    n_train: int  # number of images it learns from
    cost: str = "area"  # as in the Segmenter, like the balance
    region_label: str = "majority"
    seconds: float = 0.0
    error: str | None = None
    epochs: int | None = None
    best_epoch: int | None = None
    seconds_per_epoch: float | None = None


@dataclass(frozen=True)
class Accuracy:
    """Shares of all pixels that are right, and mean over the classes; None where nothing is labelled."""

    pixel: float | None
    class_mean: float | None

    def __post_init__(self) -> None:
        _check_shares(pixel=self.pixel, class_mean=self.class_mean)


@dataclass(frozen=True)
class Ablation:
    """Accuracy with one kind of factors alone, and with both."""

    unary: Accuracy
    interaction: Accuracy
    joint: Accuracy


@dataclass(frozen=True, eq=False)
class Metrics:
    """Figures of a row on the images of a split; None for a class that does not occur."""

    split: str
    n_images: int
    pixel: float | None
    class_mean: float | None
    mean_iou: float | None
    per_class: tuple[float | None, ...]  # (L,)
    iou: tuple[float | None, ...]  # (L,)
    confusion: Counts  # (L, L), rows are true classes
    ablation: Ablation | None = None
    ceiling: Accuracy | None = None  # of giving each region of these images its majority label
    interactions: Table | None = None  # (L, L), mean score of a pair of labels; None where a model has no interactions

    def __post_init__(self) -> None:
        _check_shares(pixel=self.pixel, class_mean=self.class_mean, mean_iou=self.mean_iou)
        for name in ("per_class", "iou"):
            _check_shares(**{f"{name} {label}": share for label, share in enumerate(getattr(self, name))})
        n_labels = len(self.per_class)
        tables = [self.confusion] if self.interactions is None else [self.confusion, self.interactions]
        if len(self.iou) != n_labels or any(table.shape != (n_labels, n_labels) for table in tables):
            raise ValueError("per_class, iou and the tables must have the same number of classes")


@dataclass(frozen=True)
class Epoch:
    """An epoch of training, as estimators report it; None where it was not measured or is not finite."""

    epoch: int
    objective: float | None = None
    hinge: float | None = None
    gap: float | None = None
    optimal: float | None = None  # share of graphs, as the next two
    within_tol: float | None = None
    negative: float | None = None
    differing: float | None = None  # share of labelled nodes
    accuracy: float | None = None  # share of the regions of validation images that are right
    seconds: Mapping[str, float] = field(default_factory=dict)  # by part
    more: Mapping[str, float | None] = field(default_factory=dict)  # what only some learners tell: dual, another loss

    @classmethod
    def of(cls, epoch: int, seconds: Mapping[str, float], record: Mapping[str, object]) -> Epoch:
        """An epoch that took so many `seconds` by part, with all other figures of an estimator's `record`."""
        known = {field.name for field in fields(cls)}
        figures = {key: finite(value) for key, value in record.items() if key not in ("epoch", "seconds")}
        named = {key: value for key, value in figures.items() if key in known}
        more = {key: value for key, value in figures.items() if key not in known}
        return cls(epoch, seconds=seconds, more=more, **named)


@dataclass(frozen=True)
class Examples:
    """Names of the images that a run keeps with the predictions of its rows."""

    names: tuple[str, ...]

    def __post_init__(self) -> None:
        for name in self.names:
            if Path(name).name != name or name in ("", ".."):  # or it would be the path of another folder
                raise ValueError(f"an example must have a plain name, got {name!r}")


@dataclass(frozen=True)
class Trial:
    """Settings of a variant that a search has tried, and how well they did; `error` says why they failed."""

    number: int
    stage: str  # "coarse" or "fine"
    parameters: Mapping[str, float]
    score: float | None = None  # the mean of the next two, by which the best trial is chosen
    pixel: float | None = None
    class_mean: float | None = None
    error: str | None = None
    seconds: float = 0.0

    def __post_init__(self) -> None:
        _check_shares(score=self.score, pixel=self.pixel, class_mean=self.class_mean)


@dataclass(frozen=True)
class Settings:
    """Parameters by variant, written by `tune` or by hand for `train` and `compare`, and their origin."""

    variants: Parameters
    data: str | None = None
    preset: str | None = None
    features: Mapping[str, Parameter] = field(default_factory=dict)
    seed: int | None = None
    n_trials: int | None = None
    trial: int | None = None  # the number of the best one, and what it reached
    score: float | None = None
    pixel: float | None = None
    class_mean: float | None = None


def now() -> str:
    """The time, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def finite(value: object) -> float | None:
    """`value`, or None if it is not a finite number."""
    return value if isinstance(value, int | float) and math.isfinite(value) else None


def _check_shares(**shares: float | None) -> None:
    for name, share in shares.items():
        if share is not None and not 0 <= share <= 1:
            raise ValueError(f"{name} must be a share from 0 to 1, got {share}")
