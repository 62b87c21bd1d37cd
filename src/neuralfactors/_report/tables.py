"""Ours beside the paper's: the cells of the tables, for pages, terminals and JSON. All figures are shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from neuralfactors._common.parameters import Parameter
from neuralfactors._report.published import Figures, Published, published
from neuralfactors._report.results import ACCURACIES, RowResults, RunResults, deviation, mean
from neuralfactors._runs import NAMES, STATE_OF_THE_ART, Accuracy, Metrics, Row, Run

MEASURES = ("pixel", "class_mean")
PARTS = ("unary", "interaction", "joint")
STRONG = 0.1  # difference that is shaded fully


@dataclass(frozen=True)
class Cell:
    """A figure of ours and the paper's; None where there is none."""

    ours: float | None  # the mean over the seeds
    paper: float | None = None
    spread: float | None = None  # the standard deviation over the seeds; None where there is one only
    by_seed: Mapping[int, float] | None = None

    @property
    def difference(self) -> float | None:
        """Ours minus the paper's."""
        return None if self.ours is None or self.paper is None else self.ours - self.paper

    @property
    def verdict(self) -> str:
        """A class for the style sheet: better, worse, same, or empty where there is nothing to compare."""
        if self.difference is None:
            return ""
        rounded = round(self.difference, 3)
        return "better" if rounded > 0 else "worse" if rounded < 0 else "same"

    @property
    def strength(self) -> float:
        """How deeply the difference is shaded, from 0 to 1."""
        return round(min(1.0, abs(self.difference or 0.0) / STRONG), 2)


@dataclass(frozen=True)
class Training:
    """How a variant was trained, as means over the seeds."""

    n_train: float | None
    epochs: float | None
    best_epoch: float | None
    seconds_per_epoch: float | None
    seconds: float | None
    duality_gap: float | None  # of learners that know it, as a share of the objective
    seen_gap: float | None  # the same without what inference leaves unproved


@dataclass(frozen=True)
class Line:
    """One line of the table of variants: figures over the seeds."""

    variant: str
    seeds: tuple[int, ...]  # none where only the paper has it
    pixel: Cell
    class_mean: Cell
    mean_iou: Cell
    per_class: tuple[float | None, ...]
    ablation: Mapping[str, Mapping[str, Cell]]  # unary, interaction, joint -> pixel, class_mean; may be empty
    settings: Mapping[str, Parameter]  # changes of the estimators' parameters
    effective: Mapping[str, Mapping[str, Parameter]]  # all parameters, by estimator
    targets: Mapping[str, Parameter]  # what was learned from labels
    training: Training


@dataclass(frozen=True)
class Comparison:
    """A run or a comparison beside the paper: what is printed, and what `docs/results.json` is made of."""

    run: Run
    split: str | None
    n_images: int | None
    rows: tuple[Line, ...]
    problems: tuple[str, ...]


def compare_with_paper(results: RunResults) -> Comparison:
    """Every variant of a run or comparison with its figures over the seeds and the paper's."""
    settings, evaluated = results.run.settings, [row.metrics for row in results.rows if row.metrics]
    found = lines(results, published(settings.preset, settings.feature_kind))
    ours = tuple(line for line in found if results.row(line.variant))
    split, n_images = (evaluated[0].split, evaluated[0].n_images) if evaluated else (None, None)
    return Comparison(results.run, split, n_images, ours, tuple(results.problems))


def lines(results: RunResults, paper: Published) -> list[Line]:
    """The variants of the run and, for a comparison with a preset, those that only the paper has; in its order."""
    return [_line(results, key, paper.rows.get(key)) for key in NAMES if results.row(key) or key in paper.rows]


def _line(results: RunResults, key: str, figures: Figures | None) -> Line:
    """The line of a variant: means over its seeds, its settings and how it was trained."""
    metrics = {seed: row.metrics for seed, row in results.repeats(key).items() if row.metrics}
    columns = zip(*(each.per_class for each in metrics.values()), strict=True)
    cells = (_cell(results.by_seed(key, name), getattr(figures, name, None)) for name in ACCURACIES)
    pixel, class_mean, mean_iou = cells
    made = results.row(key)
    return Line(
        variant=key,
        seeds=tuple(sorted(results.by_seed(key, "pixel"))),
        pixel=pixel,
        class_mean=class_mean,
        mean_iou=mean_iou,
        per_class=tuple(mean(value for value in column if value is not None) for column in columns),
        ablation=_ablation(metrics),
        settings=results.run.settings.parameters_of(key),
        effective=made.row.settings if made else {},
        targets=_targets(made.row) if made else {},
        training=_training(results, key),
    )


def _training(results: RunResults, key: str) -> Training:
    numbers = ("n_train", "epochs", "best_epoch", "seconds_per_epoch", "seconds")
    left = [gaps for row in results.repeats(key).values() if (gaps := _gap_shares(row))]
    return Training(
        **{number: mean(results.by_seed(key, number).values()) for number in numbers},
        duality_gap=mean(gaps[0] for gaps in left),
        seen_gap=mean(gaps[1] for gaps in left),
    )


def _targets(row: Row) -> dict[str, Parameter]:
    balance = "auto" if row.balance is None else row.balance
    return {"balance": balance, "cost": row.cost, "region_label": row.region_label}


def _gap_shares(row: RowResults) -> tuple[float, float] | None:
    """How far the objective of a row may be from the least, and how far as its inference sees it, as shares of it."""
    best = min((epoch.objective for epoch in row.history if epoch.objective), default=None)
    last = row.history[-1].more if row.history else {}
    gap, dual = last.get("duality_gap"), last.get("dual")
    return None if best is None or gap is None or dual is None else (gap / best, (best - dual) / best)


def _cell(by_seed: Mapping[int, float], paper: float | None = None) -> Cell:
    return Cell(mean(by_seed.values()), paper, deviation(by_seed.values()), by_seed)


def _ablation(metrics: Mapping[int, Metrics]) -> dict[str, dict[str, Cell]]:
    """Accuracy with one kind of factors alone and with both, over the seeds."""
    found: dict[str, dict[str, Cell]] = {}
    for part in PARTS if any(each.ablation for each in metrics.values()) else ():
        cells = {seed: part_accuracy(each, part) for seed, each in metrics.items()}
        found[part] = {
            key: _cell({seed: value for seed, cell in cells.items() if (value := getattr(cell, key)) is not None})
            for key in MEASURES
        }
    return found


@dataclass(frozen=True)
class Room:
    """How far a row is from the ceiling of its regions, which no labelling of them exceeds by pixels."""

    variant: str  # as it is printed
    unary: Accuracy
    joint: Accuracy
    ceiling: Accuracy


def rooms(rows: Sequence[RowResults]) -> list[Room]:
    """The rows of one seed whose ceiling was measured."""
    return [
        Room(row.variant.printed, part_accuracy(row.metrics, "unary"), part_accuracy(row.metrics, "joint"), ceiling)
        for row in rows
        if (ceiling := row.metrics.ceiling if row.metrics else None)
    ]


def part_accuracy(metrics: Metrics | None, part: str) -> Accuracy:
    """Accuracy with the factors of that part; of nothing where it was not measured."""
    ablation = metrics.ablation if metrics else None
    found: Accuracy = getattr(ablation, part) if ablation else Accuracy(None, None)
    return found


def evaluated_on(results: RunResults) -> str:
    """A sentence about the images that the figures are of; empty where nothing was evaluated."""
    groups: dict[str, list[str]] = {}
    for row in results.rows:
        if row.metrics:
            noun = "image" if row.metrics.n_images == 1 else "images"
            told = f"{row.metrics.n_images} {noun} of the split {row.metrics.split}"
            groups.setdefault(told, []).append(row.variant.printed)
    if len(groups) < 2:
        return "".join(f"The variants were evaluated on {images}." for images in groups)
    told = "; ".join(f"{', '.join(names)} on {images}" for images, names in groups.items())
    return f"The variants were not evaluated on the same images: {told}."


def class_cells(results: RunResults, paper: Published, rows: Sequence[RowResults]) -> list[tuple[str, list[Cell]]]:
    """(class, one cell a row) for each class."""
    return [
        (info.name, [_class_cell(row, paper.rows.get(row.variant.key), label, info.name) for row in rows])
        for label, info in enumerate(results.run.classes)
    ]


def _class_cell(row: RowResults, figures: Figures | None, label: int, name: str) -> Cell:
    ours = row.metrics.per_class[label] if row.metrics else None
    return Cell(ours, figures.per_class.get(name.lower()) if figures else None)


def literature(results: RunResults, paper: Published) -> list[tuple[str, Figures | None, float, float]]:
    """(name, figures or None for ours, pixel, class mean) of the state-of-the-art table, best first."""
    if not paper.others:
        return []
    table: list[tuple[str, Figures | None, float, float]] = [
        (name, figures, figures.pixel, figures.class_mean) for name, figures in paper.others.items()
    ]
    theirs = paper.rows.get(STATE_OF_THE_ART)
    if theirs:
        table.append(("Houthooft & De Turck (the paper)", theirs, theirs.pixel, theirs.class_mean))
    best = best_row(results)
    if best:
        pixel, class_mean = (mean(results.by_seed(best.variant.key, key).values()) for key in MEASURES)
        table.append((f"this run, {best.variant.printed}", None, pixel or 0.0, class_mean or 0.0))
    return sorted(table, key=lambda entry: -entry[2])


def best_row(results: RunResults) -> RowResults | None:
    """The row with the highest pixel accuracy, on average over the seeds."""
    means = [(mean(results.by_seed(row.variant.key, "pixel").values()), row) for row in results.rows]
    measured = [(pixel, row) for pixel, row in means if pixel is not None]
    return max(measured, key=lambda entry: entry[0])[1] if measured else None
