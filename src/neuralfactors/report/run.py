"""The plain values that a report shows: a run, its rows and its examples."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
ACCURACIES = ("pixel", "class_mean", "mean_iou")


@dataclass(frozen=True)
class ClassInfo:
    """Name and colour of a label."""

    name: str
    color: tuple[int, int, int]


@dataclass(frozen=True)
class Metrics:
    """Figures of a row on the images of a split, in percent; None where the file has no usable value."""

    split: str | None
    pixel: float | None
    class_mean: float | None
    mean_iou: float | None
    per_class: tuple[float | None, ...]  # one a class
    confusion: Matrix | None  # (L, L) counts, rows are true labels
    ablation: dict[str, dict[str, float | None]]  # unary, interaction, joint -> pixel, class_mean; may be empty
    n_images: int | None


@dataclass(frozen=True)
class Row:
    """One trained variant."""

    folder: str
    name: str
    training: str  # "unary", "bifurcated", "integrated" or "" for a variant that is not the paper's
    description: str
    status: str  # "done", "running", "failed" or "unknown"
    error: str | None
    record: dict[str, Any]  # row.json
    history: list[dict[str, Any]]
    metrics: Metrics | None
    interactions: Matrix | None  # (L, L) mean score of a pair of labels
    predictions: Path

    def number(self, key: str) -> float | None:
        """A number of row.json, or None."""
        return number(self.record.get(key))


@dataclass(frozen=True)
class Example:
    """Paths of a picture and its true label map."""

    name: str
    image: Path
    truth: Path


@dataclass
class Run:
    """Everything that a report shows."""

    folder: Path
    info: dict[str, Any]  # run.json
    classes: tuple[ClassInfo, ...] = ()
    rows: tuple[Row, ...] = ()
    examples: tuple[Example, ...] = ()
    problems: list[str] = field(default_factory=list)
    seeds: tuple[Run, ...] = ()  # of a comparison, the runs with each seed; what stands above is the first one's

    def text(self, key: str) -> str | None:
        """A text of run.json, or None."""
        value = self.info.get(key)
        return value if isinstance(value, str) and value else None

    def table(self, key: str) -> dict[str, Any]:
        """A mapping of run.json, empty where there is none."""
        value = self.info.get(key)
        return value if isinstance(value, dict) else {}

    def row(self, folder: str) -> Row | None:
        """The row of that folder, if the run has it."""
        return next((row for row in self.rows if row.folder == folder), None)

    def repeats(self, folder: str) -> dict[int, Row]:
        """The row of that folder with each seed that has it."""
        found = {}
        for place, run in enumerate(self.seeds or (self,)):
            row, seed = run.row(folder), run.info.get("seed")
            if row:
                found[seed if isinstance(seed, int) else place] = row
        return found

    def by_seed(self, folder: str, key: str) -> dict[int, float]:
        """A figure of the row of that folder with each seed that has it: an accuracy, or a number of row.json."""
        values = {
            seed: getattr(row.metrics, key, None) if key in ACCURACIES else row.number(key)
            for seed, row in self.repeats(folder).items()
        }
        return {seed: value for seed, value in values.items() if value is not None}


def mean(values: Iterable[float]) -> float | None:
    """Mean, or None where there is nothing."""
    listed = list(values)
    return statistics.fmean(listed) if listed else None


def deviation(values: Iterable[float]) -> float | None:
    """Sample standard deviation, or None where there are fewer than two values."""
    listed = list(values)
    return statistics.stdev(listed) if len(listed) > 1 else None


def number(value: object) -> float | None:
    """`value` as a finite float, or None where it is not one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None
